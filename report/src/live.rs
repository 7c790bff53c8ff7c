//! A run while it goes on: what the host interface says when it is asked.

use crate::Report;
use serde::{Deserialize, Serialize};

/// A run as it is now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Live {
    /// What the report would say if the run were cut short now, but for what takes long to
    /// sum up: times of frames, and jobs.
    pub report: Report,
    /// Wall time from the program's start to the last doorbell's end, of which the
    /// report's simulated time is.
    pub doorbell_ns: u64,
    /// Frames that all threads ended.
    pub frames: u64,
    /// Engines that executed anything.
    pub engines: Vec<Busy>,
    /// The work that is not done.
    pub queue: Queue,
}

/// How long an engine was busy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Busy {
    /// The guest process that it belongs to, if that has it for itself.
    pub process: Option<u32>,
    /// Its device, in the order of their first use.
    pub device: u64,
    /// Its name, such as `compute`.
    pub name: String,
    /// Simulated nanoseconds until the last doorbell, since the first question.
    pub busy_ns: u64,
}

/// The work of all processes that is not done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// Processes that use a board.
    pub sessions: u64,
    /// Operations whose end in simulated time is not known yet.
    pub operations: u64,
    /// Of these, those that the board has not reported.
    pub at_board: u64,
    /// Bytes of input that the board keeps for these.
    pub kept_bytes: u64,
    /// Simulated time until all is done whose end is known.
    pub ahead_ns: u64,
}
