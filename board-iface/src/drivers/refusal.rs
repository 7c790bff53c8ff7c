//! Why a call is not executed.

use super::node::Length;
use crate::region::NoRoom;
use gil_wire::differences::DifferencesError;
use gil_wire::driver::DriverError;
use nix::errno::Errno;

/// A call that no driver of the guest's makes, or one that a driver refuses.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The guest's program gets this error number.
    #[error("{0}")]
    Errno(Errno),
    /// Its arguments are none.
    #[error(transparent)]
    Arguments(#[from] DriverError),
    /// Its memory is none.
    #[error(transparent)]
    Length(#[from] Length),
    /// Its region's bytes are no differences.
    #[error(transparent)]
    Differences(#[from] DifferencesError),
    /// No such call.
    #[error("{driver} has no call of the entry {entry}")]
    Entry {
        /// The driver.
        driver: String,
        /// The entry.
        entry: u16,
    },
    /// A region too few or too many, of another direction or length.
    #[error("region {index} is missing, has another direction, or not {wanted} bytes")]
    Region {
        /// Which, from 0.
        index: usize,
        /// Its bytes.
        wanted: usize,
    },
    /// More memory than one call has.
    #[error("memory of {0} bytes beside its argument: a call has {MEMORY_MAX} at most")]
    Memory(usize),
    /// A file or a buffer whose number is another's.
    #[error("{what} {number} is there already, or is none")]
    Taken {
        /// What it is.
        what: &'static str,
        /// Its number.
        number: u32,
    },
    /// A file or a buffer that is not there.
    #[error("there is no {what} {number}")]
    Missing {
        /// What it is.
        what: &'static str,
        /// Its number.
        number: u32,
    },
    /// An event that another job signals.
    #[error("event {0} is another job's")]
    Event(u64),
    /// Arguments that describe no job.
    #[error("its arguments describe no job of a GPU: {0}")]
    Job(postcard::Error),
    /// A processor that the GPU does not have.
    #[error("the driver's GPU has no processor {0}")]
    Processor(u8),
    /// A job whose memory the board cannot place at the guest's GPU addresses.
    #[error(
        "this board's {0} places buffers itself: jobs of the guest's own kernel driver need a board that can place them; use the stand-in, or --driver"
    )]
    Places(String),
    /// More jobs than are kept.
    #[error("{0} jobs have ended that nobody asked for")]
    Jobs(usize),
}

/// Most bytes of memory that one call's pointers have, in either direction.
pub const MEMORY_MAX: usize = 64 << 20;
/// Most bytes that a driver writes to memory in one call: they are in the answer.
pub const WRITTEN_MAX: usize = 256 << 10;

impl From<Errno> for Refusal {
    fn from(error: Errno) -> Self {
        Self::Errno(error)
    }
}

/// A driver says the same.
impl From<NoRoom> for Refusal {
    fn from(_: NoRoom) -> Self {
        Self::Errno(Errno::ENOMEM)
    }
}

impl Refusal {
    /// What a program gets that waits for the answer, if a driver could have said it.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Errno(error) => Some(*error),
            Self::Missing { what: FILE, .. } => Some(Errno::EBADF),
            Self::Missing { .. } => Some(Errno::ENOENT),
            _ => None,
        }
    }
}

/// A file, in messages.
pub const FILE: &str = "file";
/// A buffer, in messages.
pub const BUFFER: &str = "buffer";
