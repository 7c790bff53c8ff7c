//! The guest's memory, as a page table walk reads it.

use thiserror::Error;

/// An address that is not RAM of the guest.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("no guest memory at {address:#x} ({bytes} bytes)")]
pub struct NotMemory {
    /// Guest physical address, bytes.
    pub address: u64,
    /// How many bytes were asked for.
    pub bytes: usize,
}

/// Reads the guest's RAM.
pub trait GuestMemory {
    /// Fills `into` from the guest physical address `address`.
    ///
    /// # Errors
    ///
    /// [`NotMemory`] if any of it is not RAM; `into` may then hold anything.
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), NotMemory>;
}
