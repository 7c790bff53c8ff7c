//! A session's counters, in memory that the agent can read while the session runs in
//! another process.

use gil_transport::connection;
use gil_wire::status::Counts;
use memmap2::{MmapOptions, MmapRaw};
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The numbers, at the beginning of the file.
#[derive(Debug, Default)]
#[repr(C)]
struct Numbers {
    calls: AtomicU64,
    errors: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
}

/// Counts of one session.
#[derive(Clone, Debug)]
pub struct Meter {
    map: Arc<MmapRaw>,
    file: Arc<File>,
}

impl Meter {
    /// A new one, all zero.
    ///
    /// # Errors
    /// The system's.
    pub fn new() -> io::Result<Self> {
        let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
        let file = File::from(memfd_create(c"gil-meter", flags)?);
        file.set_len(size_of::<Numbers>() as u64)?;
        // A session's process that cut it would end the agent, which reads it.
        let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
        Self::of(file)
    }

    /// One that another process made, which is this process's own agent.
    ///
    /// # Errors
    /// The system's; `InvalidData` for a file that is too short.
    pub fn of(file: File) -> io::Result<Self> {
        let len = size_of::<Numbers>();
        if file.metadata()?.len() < len as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let map = MmapOptions::new().len(len).map_raw(&file)?;
        Ok(Self {
            map: Arc::new(map),
            file: Arc::new(file),
        })
    }

    /// The file, for another process.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn numbers(&self) -> &Numbers {
        // SAFETY: the mapping is as long as the structure, aligned to a page,
        // and lives as long as `self`; it holds zeroes or what atomic
        // operations left there, in this process or the other.
        unsafe { &*self.map.as_ptr().cast::<Numbers>() }
    }

    /// A call was run, or not.
    pub fn call(&self, ran: bool) {
        let numbers = self.numbers();
        numbers.calls.fetch_add(1, Ordering::Relaxed);
        if !ran {
            numbers.errors.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The counters' values.
    pub fn counts(&self) -> Counts {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let numbers = self.numbers();
        Counts {
            calls: read(&numbers.calls),
            errors: read(&numbers.errors),
            received: read(&numbers.received),
            sent: read(&numbers.sent),
        }
    }
}

impl connection::Meter for Meter {
    fn received(&self, bytes: u64) {
        self.numbers().received.fetch_add(bytes, Ordering::Relaxed);
    }

    fn sent(&self, bytes: u64) {
        self.numbers().sent.fetch_add(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_transport::connection::Meter as _;

    #[test]
    fn both_processes_see_the_same_numbers_and_neither_cuts_the_file() {
        let here = Meter::new().unwrap();
        let there = Meter::of(File::from(here.file().try_clone_to_owned().unwrap())).unwrap();
        there.received(5);
        there.sent(7);
        there.call(true);
        there.call(false);
        let expected = Counts {
            calls: 2,
            errors: 1,
            received: 5,
            sent: 7,
        };
        assert_eq!(here.counts(), expected);
        let theirs = File::from(there.file().try_clone_to_owned().unwrap());
        assert!(theirs.set_len(0).is_err() && theirs.set_len(1 << 40).is_err());
        assert_eq!(here.counts(), expected);
        let short = File::from(memfd_create(c"short", MFdFlags::MFD_CLOEXEC).unwrap());
        assert!(Meter::of(short).is_err());
    }
}
