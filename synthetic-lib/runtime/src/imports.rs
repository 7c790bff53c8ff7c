//! Memory of calls that the driver knows by a number: dma-bufs of other drivers, which the board
//! reads and writes where they are, without a mapping of the program's, and memory of the
//! program's that is pinned once for many calls.

use crate::uapi::Region;
use crate::{Error, client};
use gil_wire::message::Direction;
use std::ffi::c_void;
use std::os::fd::BorrowedFd;

/// Memory that gil's driver has a number for. Its pages stay where they are as long as
/// this lives.
#[derive(Debug)]
pub struct Import {
    number: u32,
    len: u64,
}

impl Import {
    /// Imports a dma-buf, whose descriptor may be closed afterwards.
    ///
    /// # Errors
    /// [`Error`]; [`Error::Driver`] if it is no dma-buf, or one whose memory is not the
    /// guest's.
    pub fn new(buffer: BorrowedFd<'_>) -> Result<Self, Error> {
        let imported = client()?.device.import(buffer);
        let (number, len) = imported.map_err(Error::of_submit)?;
        Ok(Self { number, len })
    }

    /// Pins memory of the program's, so that calls need not find its pages each time. What the
    /// program maps there afterwards is other memory.
    ///
    /// # Errors
    /// [`Error`]; [`Error::Driver`] if not all of it can be pinned.
    ///
    /// # Safety
    /// The memory is the program's, which may be written as long as this lives.
    pub unsafe fn pin(place: *const c_void, len: usize) -> Result<Self, Error> {
        let pinned = client()?.device.pin(place, len);
        let number = pinned.map_err(Error::of_submit)?;
        Ok(Self {
            number,
            len: len as u64,
        })
    }

    /// Bytes.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no byte.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A part of it, as a call names it. The driver compares it with the length.
    pub(crate) const fn region(&self, offset: usize, len: usize, dir: Direction) -> Region {
        Region {
            addr: offset as u64,
            len: len as u64,
            dir: dir as u32,
            import: self.number,
        }
    }
}

impl Drop for Import {
    fn drop(&mut self) {
        // A forked child has no device, and its numbers are the parent's.
        if let Ok(client) = client() {
            client.device.forget(self.number);
        }
    }
}
