//! The device behind a node: each of its processors executes one job at a time.

use crate::buffer::Buffer;
use crate::script::{NEVER, Script};
use gil_board::drivers::jobs::now_ns;
use gil_board::drivers::node::{End, Fence};
use nix::errno::Errno;
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where `mmap` finds the first buffer.
const FIRST_PLACE: u64 = 1 << 32;

/// A device.
#[derive(Debug)]
pub struct Device {
    script: Script,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    processors: HashMap<&'static str, Processor>,
    /// Buffers that were exported, by the number of the file that stands for each.
    shared: HashMap<u64, Arc<Buffer>>,
    places: u64,
    files: u64,
}

#[derive(Debug, Default)]
struct Processor {
    /// When its last job ends.
    free_ns: u64,
    jobs: u64,
}

/// A job that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Started {
    /// Its number on its processor, from 0.
    pub number: u64,
    /// When it ends, or [`NEVER`].
    pub end_ns: u64,
}

impl Device {
    /// One whose jobs take these times.
    pub fn new(script: Script) -> Self {
        Self {
            script,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A processor's name in the script.
    pub fn name(&self, processor: &'static str) -> &'static str {
        self.script.name(processor)
    }

    /// A number for an open file.
    pub fn file(&self) -> u64 {
        let mut state = self.state();
        state.files += 1;
        state.files
    }

    /// Where `mmap` finds a new buffer of so many bytes.
    pub fn place(&self, len: u64) -> u64 {
        let mut state = self.state();
        let place = FIRST_PLACE + state.places;
        state.places += len;
        place
    }

    /// A job that begins once it is submitted, what it waits for is over, and its
    /// processor is free.
    pub fn start(&self, processor: &'static str, submitted_ns: u64, after_ns: u64) -> Started {
        let mut state = self.state();
        let processor_state = state.processors.entry(processor).or_default();
        let number = processor_state.jobs;
        let begin_ns = submitted_ns.max(after_ns).max(processor_state.free_ns);
        let end_ns = begin_ns.saturating_add(self.script.time(processor, number));
        processor_state.jobs += 1;
        processor_state.free_ns = end_ns;
        Started { number, end_ns }
    }

    /// A processor whose last job does not end is free again: its driver reset it.
    pub fn restart(&self, processor: &'static str) {
        let mut state = self.state();
        let processor = state.processors.entry(processor).or_default();
        if processor.free_ns == NEVER {
            processor.free_ns = 0;
        }
    }

    /// A file that stands for a buffer.
    ///
    /// # Errors
    /// The system's.
    pub fn export(&self, buffer: Arc<Buffer>) -> Result<OwnedFd, Errno> {
        let (reader, _) = std::io::pipe().map_err(|error| errno(&error))?;
        let file = File::from(OwnedFd::from(reader));
        let number = file.metadata().map_err(|error| errno(&error))?.ino();
        self.state().shared.insert(number, buffer);
        Ok(file.into())
    }

    /// The buffer for which a file stands.
    ///
    /// # Errors
    /// `EINVAL` if it stands for none.
    pub fn import(&self, file: BorrowedFd<'_>) -> Result<Arc<Buffer>, Errno> {
        let file = file.try_clone_to_owned().map_err(|error| errno(&error))?;
        let file = File::from(file).metadata().map_err(|error| errno(&error))?;
        let found = self.state().shared.get(&file.ino()).cloned();
        found.ok_or(Errno::EINVAL)
    }
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(Errno::EIO as i32))
}

/// Waits until then, or so long; whether it is over.
pub fn wait_until(end_ns: u64, within: Duration) -> bool {
    let left = Duration::from_nanos(end_ns.saturating_sub(now_ns()));
    std::thread::sleep(left.min(within));
    left <= within && end_ns != NEVER
}

/// A job's fence.
#[derive(Debug)]
pub struct JobFence {
    /// When it signals.
    pub end_ns: u64,
    /// 0, or how the job failed.
    pub status: i32,
}

impl Fence for JobFence {
    fn wait(&self, within: Duration) -> Result<Option<End>, Errno> {
        let end = End {
            ns: self.end_ns,
            status: self.status,
        };
        Ok(wait_until(self.end_ns, within).then_some(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_executes_one_job_at_a_time() {
        let device = Device::new("gp=100;pp=30,never".parse().unwrap());
        let ends = |processor, submitted, after| device.start(processor, submitted, after).end_ns;
        assert_eq!(ends("gp", 1000, 0), 1100);
        assert_eq!(ends("gp", 1010, 0), 1200, "the one before ends first");
        assert_eq!(ends("pp", 1010, 1100), 1130, "what it waits for ends first");
        assert_eq!(ends("pp", 2000, 0), NEVER);
        assert_eq!(ends("pp", 3000, 0), NEVER, "it is not free any more");
        device.restart("pp");
        device.restart("gp");
        assert_eq!(ends("pp", 3000, 0), NEVER, "the script says so");
        device.restart("pp");
        assert_eq!(ends("pp", 4000, 0), 4030);
        assert_eq!(ends("gp", 1020, 0), 1300, "its jobs end");
    }

    #[test]
    fn a_fence_says_when_its_job_ended() {
        let fence = |end_ns| JobFence { end_ns, status: -5 };
        let over = fence(7).wait(Duration::ZERO).unwrap();
        assert_eq!(over, Some(End { ns: 7, status: -5 }));
        assert_eq!(fence(NEVER).wait(Duration::from_millis(1)), Ok(None));
    }
}
