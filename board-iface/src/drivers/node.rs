//! What a node of a GPU's driver offers. The real one is [`render`](super::render)'s;
//! tests have their own.

use gil_drivers::layout::Layout;
use gil_drivers::{Access, Ioctl};
use gil_wire::gpu;
use gil_wire::identity::DeviceIdentity;
use nix::errno::Errno;
use std::fmt::Debug;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

/// What `DRM_IOCTL_VERSION` says of a driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// Its name.
    pub name: String,
    /// Major, minor, patch level.
    pub numbers: [u32; 3],
    /// Its date.
    pub date: String,
    /// What it says of itself.
    pub description: String,
}

/// A node.
pub trait Node: Debug + Send + Sync {
    /// Where it is.
    fn path(&self) -> &Path;

    /// Its driver.
    fn version(&self) -> &Version;

    /// The device behind it.
    fn identity(&self) -> DeviceIdentity;

    /// Opens it.
    ///
    /// # Errors
    /// The system's.
    fn open(&self) -> Result<Box<dyn Open>, Errno>;

    /// Its GPU, if it can place memory at the guest's GPU addresses: it executes jobs of
    /// the guest's own kernel driver.
    fn gpu(&self) -> Option<&dyn Executes> {
        None
    }
}

/// A GPU that executes what a driver wrote to its registers.
pub trait Executes {
    /// A job begins, whose address space has this memory. Its time counts from when it was
    /// submitted, in nanoseconds of `CLOCK_MONOTONIC`.
    fn execute(&self, job: &gpu::Job, submitted_ns: u64, memory: &mut dyn GpuMemory) -> Started;
}

/// A job that a GPU was given.
#[derive(Debug)]
pub struct Started {
    /// Its fence.
    pub fence: Box<dyn Fence>,
    /// How the GPU ends it: 0 if it is done, or else as its registers say: Mali T6xx's
    /// exception code, bits of Mali-400's raw interrupt status.
    pub status: i32,
    /// Where it fails, if that is known.
    pub fault: Option<gpu::Fault>,
}

/// A GPU address at which nothing is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing is mapped at GPU address {0:#x}")]
pub struct Unmapped(pub u64);

/// Memory at GPU addresses.
pub trait GpuMemory {
    /// So many bytes are mapped from there on.
    ///
    /// # Errors
    /// [`Unmapped`], with the first address that is not.
    fn check(&self, address: u64, len: u64) -> Result<(), Unmapped>;

    /// Copies bytes from there.
    ///
    /// # Errors
    /// [`Unmapped`]: nothing was copied.
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Unmapped>;

    /// Writes bytes there.
    ///
    /// # Errors
    /// [`Unmapped`]: nothing was written.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Unmapped>;
}

/// An open file of a node's. What it has of buffers is given back when it is dropped.
pub trait Open {
    /// Calls the driver.
    ///
    /// # Errors
    /// The driver's.
    fn ioctl(&self, call: &mut Raw<'_>) -> Result<Performed, Errno>;

    /// Maps a buffer, whose place the driver said.
    ///
    /// # Errors
    /// The system's.
    fn map(&self, offset: u64, len: usize) -> Result<Box<dyn Mapped>, Errno>;

    /// A buffer as a file that other files can import.
    ///
    /// # Errors
    /// The driver's.
    fn export(&self, handle: u32) -> Result<OwnedFd, Errno>;

    /// The handle here of what was exported elsewhere.
    ///
    /// # Errors
    /// The driver's.
    fn import(&self, buffer: BorrowedFd<'_>) -> Result<u32, Errno>;

    /// Gives a buffer's handle back.
    ///
    /// # Errors
    /// The driver's.
    fn close(&self, handle: u32) -> Result<(), Errno>;
}

/// Memory of a buffer's. The GPU may change it at any time.
pub trait Mapped {
    /// Copies as many bytes as there is space, from its first.
    fn read(&self, bytes: &mut [u8]);

    /// Writes bytes, as far as they are inside, from there on.
    fn write(&mut self, at: usize, bytes: &[u8]);
}

/// What an ioctl did.
#[derive(Debug)]
pub struct Performed {
    /// What it returned.
    pub result: i32,
    /// The fence of the job that it started, if it was asked for one.
    pub fence: Option<Box<dyn Fence>>,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// When, in nanoseconds of `CLOCK_MONOTONIC`.
    pub ns: u64,
    /// 0, or the negative error number of a job that failed.
    pub status: i32,
}

/// A job's fence.
pub trait Fence: Debug {
    /// Waits so long, at most; `None` if the job has not ended by then.
    ///
    /// # Errors
    /// The system's.
    fn wait(&self, within: Duration) -> Result<Option<End>, Errno>;
}

/// A call of a driver, whose memory is as large as its argument says: the driver reads
/// and writes nothing else.
#[derive(Debug)]
pub struct Raw<'l> {
    number: u32,
    access: Access,
    layout: &'l Layout,
    argument: Vec<u8>,
    memory: Vec<Vec<u8>>,
    wants_fence: bool,
    submitted_ns: u64,
}

/// Memory of another length than the argument says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its pointer {pointer} has {given} bytes of memory, and its argument says {wanted}")]
pub struct Length {
    /// Which pointer, from 0.
    pub pointer: usize,
    /// Bytes that came.
    pub given: usize,
    /// Bytes that are needed.
    pub wanted: usize,
}

impl<'l> Raw<'l> {
    /// A call with this argument, which ends in zeros where it is shorter than the
    /// driver's, and the memory of each pointer; no memory stands for NULL.
    ///
    /// # Errors
    /// [`Length`].
    pub fn of(
        ioctl: &Ioctl,
        layout: &'l Layout,
        argument: &[u8],
        memory: Vec<Vec<u8>>,
    ) -> Result<Self, Length> {
        let mut whole = argument[..argument.len().min(layout.size)].to_vec();
        whole.resize(layout.size, 0);
        for (pointer, at) in layout.pointers.iter().enumerate() {
            let given = memory.get(pointer).map_or(0, Vec::len);
            let wanted = at.len(&whole).unwrap_or(usize::MAX);
            // A program that points nowhere gets the driver's answer to that.
            if given != wanted && given != 0 {
                return Err(Length {
                    pointer,
                    given,
                    wanted,
                });
            }
        }
        Ok(Self {
            number: ioctl.number,
            access: ioctl.access,
            layout,
            argument: whole,
            memory,
            wants_fence: false,
            submitted_ns: 0,
        })
    }

    /// The ioctl's number, from `DRM_COMMAND_BASE`.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// How it uses its argument.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Its argument's layout.
    pub fn layout(&self) -> &'l Layout {
        self.layout
    }

    /// Its argument. Pointers have no value here.
    pub fn argument(&self) -> &[u8] {
        &self.argument
    }

    /// The memory behind each pointer.
    pub fn memory(&self) -> &[Vec<u8>] {
        &self.memory
    }

    /// Whether a fence is wanted.
    pub fn wants_fence(&self) -> bool {
        self.wants_fence
    }

    /// When its job is submitted, in nanoseconds of `CLOCK_MONOTONIC`.
    pub fn submit_at(&mut self, ns: u64) {
        self.submitted_ns = ns;
    }

    /// From when on its job's time counts: a node whose jobs last as long as a script says
    /// begins them then.
    pub fn submitted_ns(&self) -> u64 {
        self.submitted_ns
    }

    /// Both, for the driver to write.
    pub fn parts_mut(&mut self) -> (&mut [u8], Vec<&mut [u8]>) {
        let memory = self.memory.iter_mut().map(Vec::as_mut_slice);
        (&mut self.argument, memory.collect())
    }

    /// Asks for a fence; whether the argument has a field for one, or for a sync object,
    /// which is the file's own.
    pub fn ask_for_fence(&mut self) -> bool {
        if let Some(fence) = self.layout.fence {
            let flags = fence.flags.read(&self.argument) | fence.signals;
            fence.flags.write(&mut self.argument, flags);
            fence.descriptor.write(&mut self.argument, u64::MAX);
        }
        self.wants_fence = self.layout.fence.is_some() || self.layout.sync_out.is_some();
        self.wants_fence
    }
}
