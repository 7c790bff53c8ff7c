//! Dma-bufs of other drivers as memory of calls: the board reads and writes them where
//! they are, without a mapping of the program's.

use crate::uapi::Region;
use crate::{Error, client};
use gil_wire::message::Direction;
use std::os::fd::BorrowedFd;

/// A dma-buf that gil's driver has imported. Its pages stay where they are as long as
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
