//! A node and its open files, whatever their driver.

use crate::buffer::{Buffer, Mapping, PAGE};
use crate::device::{Device, JobFence, wait_until};
use crate::script::Script;
use crate::space::{Fault, Space, word};
use crate::{lima, panfrost};
use gil_board::drivers::jobs::now_ns;
use gil_board::drivers::node::{Mapped, Node, Open, Performed, Raw, Version};
use gil_wire::identity::DeviceIdentity;
use nix::errno::Errno;
use std::cell::RefCell;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A driver that a node stands in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// Mali-400.
    Lima,
    /// Mali-T628.
    Panfrost,
}

impl Driver {
    /// As Linux 6.1 reports it.
    fn version(self) -> Version {
        let (name, numbers, date) = match self {
            Self::Lima => ("lima", [1, 1, 0], "20191231"),
            Self::Panfrost => ("panfrost", [1, 2, 0], "20180908"),
        };
        Version {
            name: name.into(),
            numbers,
            date: date.into(),
            description: format!("{name} DRM"),
        }
    }

    fn addresses(self) -> std::ops::Range<u64> {
        match self {
            Self::Lima => lima::ADDRESSES,
            Self::Panfrost => panfrost::ADDRESSES,
        }
    }
}

/// A node.
#[derive(Debug)]
pub struct StandIn {
    driver: Driver,
    version: Version,
    device: Arc<Device>,
}

impl StandIn {
    /// One whose jobs take these times.
    pub fn new(driver: Driver, script: Script) -> Self {
        Self {
            driver,
            version: driver.version(),
            device: Arc::new(Device::new(script)),
        }
    }
}

impl Node for StandIn {
    fn path(&self) -> &Path {
        Path::new("stand-in")
    }

    fn version(&self) -> &Version {
        &self.version
    }

    fn identity(&self) -> DeviceIdentity {
        DeviceIdentity {
            place: format!("{} stand-in", self.version.name),
            ..DeviceIdentity::default()
        }
    }

    fn open(&self) -> Result<Box<dyn Open>, Errno> {
        let file = OpenFile::new(self.driver, self.device.clone());
        Ok(Box::new(Opened(RefCell::new(file))))
    }
}

/// What an open file has.
#[derive(Debug)]
pub struct OpenFile {
    driver: Driver,
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
    fn new(driver: Driver, device: Arc<Device>) -> Self {
        Self {
            driver,
            space: Space::new(device.file(), driver.addresses()),
            device,
            contexts: Vec::new(),
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
        let name = self.driver.version().name;
        let (processor, number) = (job.processor, started.number);
        let status = match found {
            Ok(found) => {
                tracing::info!("{name}: job {number} on {processor} names {found} places");
                0
            }
            Err((fault, error)) => {
                tracing::warn!("{name}: job {number} on {processor} fails: {fault}");
                -(error as i32)
            }
        };
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

/// A file as the agent has it.
struct Opened(RefCell<OpenFile>);

impl Open for Opened {
    fn ioctl(&self, call: &mut Raw<'_>) -> Result<Performed, Errno> {
        let mut file = self.0.borrow_mut();
        match file.driver {
            Driver::Lima => lima::ioctl(&mut file, call),
            Driver::Panfrost => panfrost::ioctl(&mut file, call),
        }
    }

    fn map(&self, offset: u64, len: usize) -> Result<Box<dyn Mapped>, Errno> {
        let file = self.0.borrow();
        let buffer = file.space.at_place(offset).ok_or(Errno::EINVAL)?;
        match buffer.is_heap || len as u64 > buffer.len {
            true => Err(Errno::EINVAL),
            false => Ok(Box::new(Mapping(buffer.clone()))),
        }
    }

    fn export(&self, handle: u32) -> Result<OwnedFd, Errno> {
        let file = self.0.borrow();
        file.device.export(file.space.buffer(handle)?.clone())
    }

    fn import(&self, buffer: BorrowedFd<'_>) -> Result<u32, Errno> {
        let mut file = self.0.borrow_mut();
        let buffer = file.device.import(buffer)?;
        file.space.add(buffer, PAGE, 1 << 32)
    }

    fn close(&self, handle: u32) -> Result<(), Errno> {
        self.0.borrow_mut().space.remove(handle)
    }
}
