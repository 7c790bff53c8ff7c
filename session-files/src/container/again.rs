//! Payloads that are read after their record was checked, from a file that may have changed
//! since.

use super::{FileError, Payload, Prefix, ReadError};
use std::io::{self, Read};

/// A record's checksum, up to some byte of its stored payload.
#[derive(Clone, Debug)]
pub struct Sum {
    found: u32,
    crc: crc32fast::Hasher,
}

impl Sum {
    /// The stored payload follows.
    pub(super) fn of(prefix: &Prefix, head: &[u8]) -> Self {
        let mut crc = prefix.checksum();
        crc.update(head);
        let found = prefix.crc32;
        Self { found, crc }
    }
}

/// A payload that is read once more. What was read is the record's if
/// [`check`](Self::check) says so.
#[derive(Debug)]
pub struct Again<R: Read>(Payload<Summed<R>>);

impl<R: Read> Again<R> {
    /// The payload of a record whose stored bytes come from `stored`.
    ///
    /// # Errors
    /// [`FileError::Newer`].
    pub fn of(prefix: &Prefix, sum: Sum, stored: R) -> Result<Self, FileError> {
        Payload::of(prefix, Summed::new(stored, sum)).map(Self)
    }

    /// Reads what is left, and checks the record's checksum.
    ///
    /// # Errors
    /// [`FileError::Checksum`] and [`ReadError::Cut`] if the file has changed since the record
    /// was checked; the reader's.
    pub fn check(self) -> Result<(), ReadError> {
        let mut left = self.0.into_stored();
        io::copy(&mut left, &mut io::sink())?;
        if left.limit() > 0 {
            return Err(ReadError::Cut);
        }
        Ok(left.into_inner().check()?)
    }
}

impl<R: Read> Read for Again<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out)
    }
}

/// A stored payload that is summed as it is read.
#[derive(Debug)]
pub(super) struct Summed<R> {
    stored: R,
    sum: Sum,
}

impl<R> Summed<R> {
    pub(super) fn new(stored: R, sum: Sum) -> Self {
        Self { stored, sum }
    }

    /// Whether what was read is all of the record's payload.
    pub(super) fn check(self) -> Result<(), FileError> {
        let (found, computed) = (self.sum.found, self.sum.crc.finalize());
        match found == computed {
            true => Ok(()),
            false => Err(FileError::Checksum { found, computed }),
        }
    }
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.stored.read(out)?;
        self.sum.crc.update(&out[..read]);
        Ok(read)
    }
}
