//! The frames of a program that draws.

use serde::{Deserialize, Serialize};

/// One guest thread's frames: what lies between its calls that end one. What came before
/// the first of these calls is not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frames {
    /// The guest process.
    pub process: u32,
    /// The guest thread.
    pub thread: u32,
    /// How many frames.
    pub count: u64,
    /// How long they lasted.
    pub time: FrameTime,
    /// Calls to the board's APIs in all of them, posts included.
    pub calls: u64,
    /// Requests to the host interface in all of them.
    pub forwards: u64,
    /// Bytes of arguments and regions to the board in all of them.
    pub bytes_to_board: u64,
    /// Bytes of results and regions from the board in all of them.
    pub bytes_from_board: u64,
    /// The entry points that took longest in all of them, longest first.
    pub slowest: Vec<FrameCall>,
}

/// Times of frames, in nanoseconds of the guest's monotonic clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameTime {
    /// Of all.
    pub mean_ns: u64,
    /// That of half of the frames is not longer.
    pub p50_ns: u64,
    /// That of 95 of 100 frames is not longer.
    pub p95_ns: u64,
    /// Of the longest.
    pub max_ns: u64,
}

/// One entry point's calls in frames, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameCall {
    /// Its name.
    pub name: String,
    /// How many.
    pub calls: u64,
    /// CPU time on the board.
    pub cpu_ns: u64,
    /// Device time of the work that ended with it.
    pub gpu_ns: u64,
    /// Of the longest call, both together.
    pub longest_ns: u64,
}

impl Frames {
    /// A sum's share of one frame.
    pub fn each(&self, sum: u64) -> f64 {
        sum as f64 / self.count.max(1) as f64
    }
}
