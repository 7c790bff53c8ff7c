//! Frames that several pixel processors draw: what the board has of memory for the first is
//! the others', too.

use super::memory::Part;
use gil_gpu_registers::{Job, Processor, Tables};

/// How long after the processor before it one starts, at most: longer than a driver's stores
/// in between take, and too short for a program to have its memory back, write there and
/// start something else.
const TOGETHER_NS: u64 = 20_000;

/// The part of a frame that began last.
#[derive(Debug)]
pub struct Frame {
    processor: u8,
    tables: Tables,
    at_ns: u64,
    parts: Vec<Part>,
}

impl Frame {
    /// That of a job which began now, in this memory; none if it is no frame's.
    pub fn of(at_ns: u64, job: &Job, parts: &[Part]) -> Option<Self> {
        let Processor::Pp(processor) = job.processor else {
            return None;
        };
        Some(Self {
            processor,
            tables: job.tables,
            at_ns,
            parts: parts.into(),
        })
    }

    /// Whether this job is the frame's on the next processor: drivers start these one
    /// behind the other, and nobody writes to a frame's memory meanwhile.
    pub fn goes_on(&self, now_ns: u64, job: &Job, parts: &[Part]) -> bool {
        let Self {
            processor,
            tables,
            at_ns,
            ..
        } = self;
        job.processor == Processor::Pp(processor.saturating_add(1))
            && job.tables == *tables
            && now_ns.saturating_sub(*at_ns) <= TOGETHER_NS
            && self.parts == parts
    }
}
