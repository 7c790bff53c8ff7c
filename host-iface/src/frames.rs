//! Frames: what lies between two calls that end one, counted for each guest thread that
//! ends frames. What came before a thread's first end of a frame is its preparation, and
//! not counted.

use crate::known::known;
use gil_report::{self as report, FrameCall, FrameTime};
use gil_wire::Op;
use std::collections::BTreeMap;

/// Most threads that are counted.
const LANES_MAX: usize = 4096;
/// Most frames of a run whose times are kept, for percentiles; of all others there are
/// mean and maximum.
const TIMES_MAX: usize = 1 << 20;
/// Most calls that a report names of a thread.
const CALLS_MAX: usize = 16;

/// A guest thread: its process and its number.
pub type Thread = (u32, u32);

/// What calls of one entry point took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// How many they were.
    pub calls: u64,
    /// Nanoseconds on the board's CPU.
    pub cpu_ns: u64,
    /// Nanoseconds on the device.
    pub gpu_ns: u64,
    /// Nanoseconds of the longest, on both.
    pub longest_ns: u64,
}

impl Cost {
    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
        self.gpu_ns = self.gpu_ns.saturating_add(other.gpu_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

/// Sums of some frames, or of a part of one.
#[derive(Debug, Default)]
pub struct Part {
    /// Calls to the board's APIs, posts included.
    pub calls: u64,
    /// Requests that the guest handed over.
    pub forwards: u64,
    /// Bytes of arguments and regions to the board.
    pub bytes_to_board: u64,
    /// Bytes of results and regions from the board.
    pub bytes_from_board: u64,
    costs: BTreeMap<Op, Cost>,
}

impl Part {
    /// Calls of `op` took so long.
    pub fn took(&mut self, op: Op, cost: Cost) {
        self.costs.entry(known(op)).or_default().add(&cost);
    }

    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.forwards += other.forwards;
        self.bytes_to_board += other.bytes_to_board;
        self.bytes_from_board += other.bytes_from_board;
        for (op, cost) in other.costs {
            self.took(op, cost);
        }
    }
}

/// One thread's frames.
#[derive(Debug, Default)]
struct Lane {
    /// Since the last end.
    open: Part,
    /// When that was, guest nanoseconds.
    last_ns: Option<u64>,
    /// All whole frames.
    all: Part,
    times: Vec<u64>,
    count: u64,
    sum_ns: u64,
    longest_ns: u64,
}

/// The frames of a run.
#[derive(Debug, Default)]
pub struct Frames {
    lanes: BTreeMap<Thread, Lane>,
    kept: usize,
    /// What is counted of threads beyond the bound.
    beyond: Part,
}

impl Frames {
    /// What a thread has done since its last frame.
    pub fn part(&mut self, thread: Thread) -> &mut Part {
        if self.lanes.len() >= LANES_MAX && !self.lanes.contains_key(&thread) {
            return &mut self.beyond;
        }
        &mut self.lanes.entry(thread).or_default().open
    }

    /// A thread's frame ended at this guest time.
    pub fn ended(&mut self, thread: Thread, at_ns: u64) {
        let Some(lane) = self.lanes.get_mut(&thread) else {
            return;
        };
        let part = std::mem::take(&mut lane.open);
        let Some(last_ns) = lane.last_ns.replace(at_ns) else {
            return;
        };
        let time = at_ns.saturating_sub(last_ns);
        lane.all.add(part);
        lane.count += 1;
        lane.sum_ns = lane.sum_ns.saturating_add(time);
        lane.longest_ns = lane.longest_ns.max(time);
        if self.kept < TIMES_MAX {
            self.kept += 1;
            lane.times.push(time);
        }
    }

    /// Frames that all threads ended.
    pub fn count(&self) -> u64 {
        self.lanes.values().map(|lane| lane.count).sum()
    }

    /// For the report: each thread that ended two frames or more.
    pub fn report(&self) -> Vec<report::Frames> {
        let drew = self.lanes.iter().filter(|(_, lane)| lane.count > 0);
        drew.map(|(thread, lane)| lane.report(*thread)).collect()
    }
}

impl Lane {
    fn report(&self, (process, thread): Thread) -> report::Frames {
        let mut times = self.times.clone();
        times.sort_unstable();
        let all = &self.all;
        report::Frames {
            process,
            thread,
            count: self.count,
            time: FrameTime {
                mean_ns: self.sum_ns / self.count.max(1),
                p50_ns: percentile(&times, 50),
                p95_ns: percentile(&times, 95),
                max_ns: self.longest_ns,
            },
            calls: all.calls,
            forwards: all.forwards,
            bytes_to_board: all.bytes_to_board,
            bytes_from_board: all.bytes_from_board,
            slowest: slowest(&all.costs),
        }
    }
}

/// The least time that so many of a hundred do not exceed.
fn percentile(sorted: &[u64], hundredths: usize) -> u64 {
    let rank = (sorted.len() * hundredths).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0)
}

fn slowest(costs: &BTreeMap<Op, Cost>) -> Vec<FrameCall> {
    let whole = |cost: &Cost| cost.cpu_ns.saturating_add(cost.gpu_ns);
    let mut all: Vec<_> = costs.iter().collect();
    all.sort_by_key(|(op, cost)| (std::cmp::Reverse(whole(cost)), **op));
    let shown = all.into_iter().take(CALLS_MAX);
    shown
        .map(|(op, cost)| FrameCall {
            name: op.to_string(),
            calls: cost.calls,
            cpu_ns: cost.cpu_ns,
            gpu_ns: cost.gpu_ns,
            longest_ns: cost.longest_ns,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWAP: Op = gil_wire::generated::egl::EGL_SWAP_BUFFERS;
    const CLEAR: Op = gil_wire::generated::gles::GL_CLEAR;

    fn cost(cpu_ns: u64, gpu_ns: u64) -> Cost {
        Cost {
            calls: 1,
            cpu_ns,
            gpu_ns,
            longest_ns: cpu_ns + gpu_ns,
        }
    }

    #[test]
    fn a_frame_is_what_lies_between_two_ends() {
        let mut frames = Frames::default();
        let thread = (7, 8);
        for (at_ns, calls, gpu_ns) in [(1_000, 100, 900), (1_100, 3, 20), (1_400, 5, 50)] {
            let part = frames.part(thread);
            part.calls += calls;
            part.forwards += 1;
            part.took(CLEAR, cost(2, 0));
            part.took(SWAP, cost(1, gpu_ns));
            frames.ended(thread, at_ns);
        }
        frames.part(thread).calls += 1000;
        let [all] = &frames.report()[..] else {
            panic!("{frames:?}");
        };
        assert_eq!((all.process, all.thread, all.count), (7, 8, 2));
        assert_eq!((all.calls, all.forwards), (8, 2), "no preparation, no rest");
        let time = &all.time;
        assert_eq!((time.mean_ns, time.p50_ns), (200, 100));
        assert_eq!((time.p95_ns, time.max_ns), (300, 300));
        let calls = all.slowest.iter();
        let calls: Vec<_> = calls
            .map(|c| (&c.name[..], c.calls, c.longest_ns))
            .collect();
        assert_eq!(calls, [("eglSwapBuffers", 2, 51), ("glClear", 2, 2)]);
    }

    #[test]
    fn who_ends_no_frame_is_not_reported() {
        let mut frames = Frames::default();
        frames.part((1, 1)).calls += 1;
        frames.part((1, 2)).calls += 1;
        frames.ended((1, 2), 5);
        frames.ended((1, 3), 5);
        assert!(frames.report().is_empty(), "{frames:?}");
    }

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let times: Vec<u64> = (1..=20).collect();
        let found = [1, 50, 95, 96, 100].map(|part| percentile(&times, part));
        assert_eq!(found, [1, 10, 19, 20, 20]);
        assert_eq!((percentile(&[9], 50), percentile(&[], 50)), (9, 0));
    }

    #[test]
    fn made_up_entry_points_are_counted_together() {
        let mut part = Part::default();
        (0..1000).for_each(|n| part.took(Op::new(200, n), cost(1, 0)));
        part.took(CLEAR, cost(1, 0));
        let calls: Vec<u64> = part.costs.values().map(|cost| cost.calls).collect();
        assert_eq!(calls, [1000, 1]);
    }

    #[test]
    fn made_up_threads_are_bounded() {
        let mut frames = Frames::default();
        for thread in 0..2 * LANES_MAX as u32 {
            frames.part((1, thread)).calls += 1;
        }
        assert_eq!(frames.lanes.len(), LANES_MAX);
    }
}
