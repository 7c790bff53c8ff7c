//! An open file of a node: its buffers, contexts and jobs, whatever its driver.

use crate::buffer::{Buffer, Mapping, PAGE};
use crate::device::{Device, JobFence, wait_until};
use crate::space::Space;
use crate::walk::Fault;
use crate::words::word;
use gil_board::drivers::jobs::now_ns;
use gil_board::drivers::node::Performed;
use nix::errno::Errno;
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// What an open file has.
#[derive(Debug)]
pub struct OpenFile {
    driver: &'static str,
    device: Arc<Device>,
    /// Its buffers and their addresses.
    pub space: Space,
    /// Its contexts.
    pub contexts: Vec<u32>,
}

/// A job that is about to start.
#[derive(Debug)]
pub struct Job {
    /// Which processor executes it.
    pub processor: &'static str,
    /// When it was submitted.
    pub submitted_ns: u64,
    /// Its buffers, and which of them it writes.
    pub buffers: Vec<(Arc<Buffer>, bool)>,
    /// Whether it waits for other jobs that use them.
    pub waits: bool,
}

/// A buffer that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct New {
    /// Bytes that are wanted.
    pub size: u64,
    /// Whether it grows when the GPU needs it.
    pub is_heap: bool,
    /// Whether it has shaders.
    pub is_executable: bool,
    /// Of what its address is a multiple.
    pub align: u64,
    /// Of what it crosses no multiple.
    pub within: u64,
}

impl OpenFile {
    /// One of a driver's and a device's, with addresses in a range.
    pub fn new(driver: &'static str, device: Arc<Device>, addresses: Range<u64>) -> Self {
        Self {
            driver,
            space: Space::new(device.file(), addresses),
            device,
            contexts: Vec::new(),
        }
    }

    /// A buffer as a file that others can import.
    ///
    /// # Errors
    /// `ENOENT`, and the system's.
    pub fn export(&self, handle: u32) -> Result<OwnedFd, Errno> {
        self.device.export(self.space.buffer(handle)?.clone())
    }

    /// The handle here of what was exported elsewhere.
    ///
    /// # Errors
    /// `EINVAL`, and the space's.
    pub fn import(&mut self, buffer: BorrowedFd<'_>) -> Result<u32, Errno> {
        let buffer = self.device.import(buffer)?;
        self.space.add(buffer, PAGE, 1 << 32)
    }

    /// The buffer that `mmap` finds there.
    ///
    /// # Errors
    /// `EINVAL`, as for a heap.
    pub fn map(&self, place: u64, len: u64) -> Result<Mapping, Errno> {
        let buffer = self.space.at_place(place).ok_or(Errno::EINVAL)?;
        match buffer.is_heap || len > buffer.len {
            true => Err(Errno::EINVAL),
            false => Ok(Mapping(buffer.clone())),
        }
    }

    /// Makes a buffer; its handle.
    ///
    /// # Errors
    /// As the space has.
    pub fn create(&mut self, new: New) -> Result<u32, Errno> {
        let len = new.size.checked_next_multiple_of(PAGE);
        let len = len.ok_or(Errno::ENOMEM)?;
        let place = self.device.place(len);
        let buffer = Buffer::new(len, new.is_heap, new.is_executable, place);
        self.space.add(Arc::new(buffer), new.align, new.within)
    }

    /// The buffers of a job's handles, of which none is there twice.
    ///
    /// # Errors
    /// As `drm_gem_object_lookup` and `drm_gem_lock_reservations` have.
    pub fn buffers(
        &self,
        handles: impl Iterator<Item = (u32, bool)>,
    ) -> Result<Vec<(Arc<Buffer>, bool)>, Errno> {
        let mut buffers: Vec<(Arc<Buffer>, bool)> = Vec::new();
        let mut twice = false;
        for (handle, writes) in handles {
            let buffer = self.space.buffer(handle)?;
            twice |= buffers.iter().any(|(it, _)| Arc::ptr_eq(it, buffer));
            buffers.push((buffer.clone(), writes));
        }
        match twice {
            true => Err(Errno::EALREADY),
            false => Ok(buffers),
        }
    }

    /// Starts a job, which found so many things or ends with an error.
    pub fn start(&self, job: &Job, found: Result<u64, (Fault, Errno)>) -> Performed {
        let free = |(buffer, writes): &(Arc<Buffer>, bool)| buffer.free_ns(*writes);
        let after = job.buffers.iter().filter(|_| job.waits).map(free).max();
        let after = after.unwrap_or(0);
        let started = self.device.start(job.processor, job.submitted_ns, after);
        for (buffer, writes) in &job.buffers {
            buffer.use_until(started.end_ns, *writes);
        }
        let status = match found {
            Ok(_) => 0,
            Err((_, error)) => -(error as i32),
        };
        let found = found.map_err(|(fault, _)| fault);
        log(self.driver, (job.processor, started.number), found);
        Performed {
            result: 0,
            fence: Some(Box::new(JobFence {
                end_ns: started.end_ns,
                status,
            })),
        }
    }

    /// Waits until a buffer's jobs are over, or a time.
    ///
    /// # Errors
    /// `EBUSY`, `ETIMEDOUT`.
    pub fn wait(&self, handle: u32, writes: bool, deadline_ns: u64) -> Result<(), Errno> {
        let end_ns = self.space.buffer(handle)?.free_ns(writes);
        let within = deadline_ns.saturating_sub(now_ns());
        match wait_until(end_ns, Duration::from_nanos(within)) {
            true => Ok(()),
            false if within == 0 => Err(Errno::EBUSY),
            false => Err(Errno::ETIMEDOUT),
        }
    }
}

/// Says what became of a processor's job: how many things it names, or what it lacks.
pub fn log(driver: &str, (processor, number): (&str, u64), found: Result<u64, Fault>) {
    match found {
        Ok(found) => tracing::info!("{driver}: job {number} on {processor} names {found} places"),
        Err(fault) => tracing::warn!("{driver}: job {number} on {processor} fails: {fault}"),
    }
}

/// Sync objects are the guest's own matter: the board's driver gets none of them, and
/// would not know any.
pub fn knows_no_sync(handle: u32) -> bool {
    handle == 0
}

/// An ioctl whose answer is its argument.
pub fn answered() -> Performed {
    Performed {
        result: 0,
        fence: None,
    }
}

/// A list of numbers in memory, of which there are so many.
///
/// # Errors
/// `EFAULT` if the memory is missing.
pub fn list(memory: Option<&Vec<u8>>, count: u32) -> Result<Vec<u32>, Errno> {
    let memory = memory.map_or(&[][..], Vec::as_slice);
    match memory.len() >= count as usize * 4 {
        true => Ok((0..count as usize).map(|n| word(memory, n * 4)).collect()),
        false => Err(Errno::EFAULT),
    }
}
