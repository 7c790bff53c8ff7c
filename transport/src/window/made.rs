//! The memory that this side shares with an agent on the same machine: made
//! here, handed over after the handshake, filled before a call and emptied
//! after its answer.
//!
//! The agent changes these bytes at any time, so there is never a Rust reference to
//! them. They are copied through raw pointers, once, and are only data.

use super::copies::Copies;
use super::{Bytes, KEPT_LEN as KEPT, OFFER_LEN};
use crate::crew::Crew;
use crate::vectored::Span;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Calls without use of the pages behind, after which they go back.
const UNUSED_CALLS: u32 = 64;

/// A window, mapped.
#[derive(Debug)]
pub struct Made {
    file: File,
    bytes: Bytes,
    /// Bytes that have pages, as far as calls used them.
    high: u64,
    /// Calls since one used more than what is kept.
    unused: u32,
}

impl Made {
    /// A window of `len` bytes, none of which takes memory before it is used.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(len: u64) -> io::Result<Self> {
        let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
        let file = File::from(memfd_create(c"gil-window", flags)?);
        file.set_len(len)?;
        let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
        let bytes = Bytes::map(&file, len)?;
        Ok(Self {
            file,
            bytes,
            high: 0,
            unused: 0,
        })
    }

    /// Bytes.
    pub fn len(&self) -> u64 {
        self.bytes.len()
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A call begins that uses the window's first `len` bytes; the one before
    /// is over. Pages that calls have not used for long go back.
    pub fn begin(&mut self, len: u64) {
        if len > KEPT {
            self.high = self.high.max(len);
            self.unused = 0;
            return;
        }
        self.unused = self.unused.saturating_add(1);
        if self.high > KEPT && self.unused >= UNUSED_CALLS {
            let flags = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            let (from, len) = (KEPT as libc::off_t, (self.high - KEPT) as libc::off_t);
            // If they do not, they cost memory until the session ends. Not through
            // nix, which has no such function for Android.
            // SAFETY: the file is open, and nothing of a call under way is there.
            unsafe { libc::fallocate(self.file.as_raw_fd(), flags, from, len) };
            self.high = 0;
        }
    }

    /// Sends the offer with the file. The socket is new: it takes these few
    /// bytes at once.
    ///
    /// # Errors
    /// What the system says.
    pub fn offer(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let bytes = self.len().to_le_bytes();
        let files = [self.file.as_raw_fd()];
        let attached = [ControlMessage::ScmRights(&files)];
        let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        let data = [IoSlice::new(&bytes)];
        let sent = sendmsg::<()>(socket.as_raw_fd(), &data, &attached, flags, None)?;
        match sent == OFFER_LEN {
            true => Ok(()),
            false => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    /// Copies `bytes` to the window's bytes from `at` on.
    ///
    /// # Panics
    /// If they are not all within the window.
    pub fn put(&self, at: u64, bytes: &[u8]) {
        let to = self.address(at, bytes.len());
        // SAFETY: `address` checked that the bytes lie within the mapping;
        // `bytes` is a Rust slice, so no part of it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    }

    /// Copies spans of guest RAM, one behind the other, to the window's bytes
    /// from `at` on; many bytes with several threads, where there are CPUs.
    ///
    /// # Panics
    /// If they are not all within the window.
    pub fn put_spans(&self, at: u64, spans: &[Span<'_>]) {
        let mut to = self.address(at, total(spans));
        let mut copies = Copies::with_room(spans.len());
        for span in spans {
            copies.push(span.start().cast_const(), to, span.len());
            to = to.wrapping_add(span.len());
        }
        // SAFETY: `address` checked the window's side, which the spans fill once;
        // a span is readable for as long as it lives, and no window's memory is
        // guest RAM.
        unsafe { copies.make(Crew::of_this_machine()) };
    }

    /// Fills spans, one behind the other, from the window's bytes from `at` on;
    /// many bytes with several threads, where there are CPUs.
    ///
    /// # Panics
    /// If they are not all within the window.
    pub fn fill_spans(&self, at: u64, spans: Vec<Span<'_>>) {
        let mut from = self.address(at, total(&spans)).cast_const();
        let mut copies = Copies::with_room(spans.len());
        for span in &spans {
            copies.push(from, span.start(), span.len());
            from = from.wrapping_add(span.len());
        }
        // SAFETY: as in `put_spans`, the other way round: a span is writable
        // and nobody else's while it lives, and these are owned here.
        unsafe { copies.make(Crew::of_this_machine()) };
    }

    fn address(&self, at: u64, len: usize) -> *mut u8 {
        let found = self.bytes.address(at, len);
        found.unwrap_or_else(|| panic!("{len} bytes at {at} of a window of {}", self.len()))
    }
}

/// Bytes of all of them.
fn total(spans: &[Span<'_>]) -> usize {
    spans.iter().map(Span::len).fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(window: &Made, at: u64, bytes: &mut [u8]) {
        window.fill_spans(at, vec![Span::target(bytes)]);
    }

    #[test]
    fn bytes_come_back_and_the_file_cannot_shrink() {
        let window = Made::new(8192).unwrap();
        window.put(4090, b"across pages");
        let mut back = [0; 12];
        fill(&window, 4090, &mut back);
        assert_eq!(&back, b"across pages");
        let mut source = *b"span";
        window.put_spans(8188, &[Span::target(&mut source)]);
        fill(&window, 8184, &mut back[..8]);
        assert_eq!(&back[..8], b"\0\0\0\0span");
        assert!(window.file.set_len(0).is_err());
    }

    #[test]
    fn pages_that_no_call_needs_go_back() {
        let mut window = Made::new(KEPT + 8192).unwrap();
        window.begin(KEPT + 8192);
        window.put(KEPT - 1, b"abc");
        for _ in 1..UNUSED_CALLS {
            window.begin(1);
        }
        let bytes = |window: &Made| {
            let mut back = [0; 3];
            fill(window, KEPT - 1, &mut back);
            back
        };
        assert_eq!(&bytes(&window), b"abc");
        window.begin(1);
        assert_eq!(&bytes(&window), b"a\0\0");
    }

    #[test]
    #[should_panic(expected = "a window of 4096")]
    fn nothing_is_written_behind_the_end() {
        Made::new(4096).unwrap().put(4095, b"ab");
    }
}
