//! The destination of received bytes.
//!
//! Encrypted bytes are decrypted in place if the memory is this process's own. Guest
//! RAM is not: a guest may change it meanwhile, and would see bytes that are not yet
//! authenticated. So its bytes are decrypted elsewhere and copied.

use crate::memory::OutOfMemory;
use crate::secure::{RECORD, Records, SecureError};
use crate::vectored::{Patience, Receiving};
use nix::sys::socket::{MsgFlags, recv};
use socket2::SockRef;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Fresh memory that is zeroed at a time before records are opened to it: few
/// enough bytes to be in the cache still when a record replaces them.
const ZEROED: usize = 2 * RECORD;

/// Memory with room for some bytes more.
pub trait Memory {
    /// Receives what the socket has; returns how many bytes, 0 at its end.
    ///
    /// # Errors
    /// The system's.
    fn receive(&mut self, socket: BorrowedFd<'_>, patience: Patience) -> io::Result<usize>;

    /// Opens what came of the records; returns how many bytes, 0 if more has to
    /// come first.
    ///
    /// # Errors
    /// [`SecureError`]; the connection is of no further use.
    fn open(&mut self, records: &mut Records) -> Result<usize, SecureError>;
}

/// The same, for a known number of bytes.
pub trait Target: Memory {
    /// Whether all of them are there.
    fn is_full(&self) -> bool;

    /// Fills the next of them with these; returns how many that took.
    fn put(&mut self, bytes: &[u8]) -> usize;
}

impl Memory for [u8] {
    fn receive(&mut self, socket: BorrowedFd<'_>, patience: Patience) -> io::Result<usize> {
        let flags = MsgFlags::from_bits_truncate(patience.flags());
        Ok(recv(socket.as_raw_fd(), self, flags)?)
    }

    fn open(&mut self, records: &mut Records) -> Result<usize, SecureError> {
        records.open(self)
    }
}

impl Memory for Receiving<'_> {
    fn receive(&mut self, socket: BorrowedFd<'_>, patience: Patience) -> io::Result<usize> {
        self.step(socket, patience)
    }

    fn open(&mut self, records: &mut Records) -> Result<usize, SecureError> {
        let most = self.left().min(RECORD as u64) as usize;
        let opened = records.open_some(most)?;
        Ok(self.put(opened))
    }
}

impl Target for Receiving<'_> {
    fn is_full(&self) -> bool {
        self.left() == 0
    }

    fn put(&mut self, bytes: &[u8]) -> usize {
        Receiving::put(self, bytes)
    }
}

/// A vector whose bytes are replaced, straight in its memory. What it holds is
/// better than nothing: memory to open sealed bytes to has to hold some.
#[derive(Debug)]
pub struct Filling<'a> {
    memory: &'a mut Vec<u8>,
    have: usize,
    len: usize,
}

impl<'a> Filling<'a> {
    /// `memory` is to hold `len` other bytes.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn new(memory: &'a mut Vec<u8>, len: usize) -> Result<Self, OutOfMemory> {
        memory.truncate(len);
        OutOfMemory::reserve(memory, len - memory.len())?;
        let have = 0;
        Ok(Self { memory, have, len })
    }

    /// The rest of what it holds.
    fn old(&mut self) -> &mut [u8] {
        &mut self.memory[self.have..]
    }

    fn receive_new(&mut self, socket: BorrowedFd<'_>, patience: Patience) -> io::Result<usize> {
        let missing = self.len - self.have;
        let room = &mut self.memory.spare_capacity_mut()[..missing];
        let count = SockRef::from(&socket).recv_with_flags(room, patience.flags())?;
        // SAFETY: the system initialised `count` bytes of the spare capacity,
        // and `count` is at most `missing`.
        unsafe { self.memory.set_len(self.memory.len() + count) };
        Ok(count)
    }
}

impl Memory for Filling<'_> {
    fn receive(&mut self, socket: BorrowedFd<'_>, patience: Patience) -> io::Result<usize> {
        let count = match self.old() {
            [] => self.receive_new(socket, patience)?,
            old => old.receive(socket, patience)?,
        };
        self.have += count;
        Ok(count)
    }

    fn open(&mut self, records: &mut Records) -> Result<usize, SecureError> {
        if self.old().is_empty() {
            let len = self.len.min(self.have + ZEROED);
            self.memory.resize(len, 0);
        }
        let count = records.open(self.old())?;
        self.have += count;
        Ok(count)
    }
}

impl Target for Filling<'_> {
    fn is_full(&self) -> bool {
        self.have == self.len
    }

    fn put(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.len - self.have);
        let old = self.old();
        let (over, new) = bytes[..count].split_at(count.min(old.len()));
        old[..over.len()].copy_from_slice(over);
        self.memory.extend_from_slice(new);
        self.have += count;
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_is_filled_over_what_it_holds_and_beyond() {
        for old in 0..9 {
            let mut memory = vec![9; old];
            let mut filling = Filling::new(&mut memory, 6).unwrap();
            assert_eq!((filling.put(b"abcd"), filling.is_full()), (4, false));
            assert_eq!((filling.put(b"efgh"), filling.is_full()), (2, true));
            assert_eq!(memory, b"abcdef");
        }
    }
}
