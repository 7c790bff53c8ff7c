//! Locks of recordings, on file systems that have them: who reads a file shares it, and who
//! writes it has it alone.

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::File;
use std::io::{self, Read};

/// A file that is read.
#[derive(Debug)]
pub enum Held {
    /// Nobody writes to it meanwhile.
    Locked(Flock<File>),
    /// A run writes to it.
    Written(File),
    /// It has no locks.
    Free(File),
}

/// Shares a file, if it is a regular one.
pub fn hold(file: File, is_regular: bool) -> Held {
    if !is_regular {
        return Held::Free(file);
    }
    match Flock::lock(file, FlockArg::LockSharedNonblock) {
        Ok(file) => Held::Locked(file),
        Err((file, Errno::EWOULDBLOCK)) => Held::Written(file),
        Err((file, _)) => Held::Free(file),
    }
}

impl Held {
    /// The file.
    pub fn file(&self) -> &File {
        match self {
            Self::Locked(file) => file,
            Self::Written(file) | Self::Free(file) => file,
        }
    }
}

impl Read for Held {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.file().read(out)
    }
}

/// Takes a file that is written; `Ok(None)` if it has no locks.
///
/// # Errors
/// [`InUse`] if somebody writes or reads it.
pub fn take(file: File) -> Result<Option<Flock<File>>, InUse> {
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(file) => Ok(Some(file)),
        Err((_, Errno::EWOULDBLOCK)) => Err(InUse),
        Err(_) => Ok(None),
    }
}

/// Somebody else has it.
#[derive(Debug)]
pub struct InUse;
