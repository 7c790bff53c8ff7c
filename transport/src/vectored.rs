//! Vectored socket I/O directly from and to guest RAM.
//!
//! Rules: a [`Span`] is memory that may change at any time, so there is no Rust
//! reference to a guest's bytes; only the operating system follows the pointer. The
//! caller decides whether to wait for a socket ([`Patience`]).

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Most spans in one system call (Linux: `IOV_MAX`).
const BATCH: usize = 1024;
/// No more spans are named for what is received at a time than have so many
/// bytes: more seldom come at once, and the system reads the whole list.
const COMES: usize = 256 << 10;

/// Whether a step waits for its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Does not wait: what would block is an error.
    None,
    /// As long as the socket's own timeout (`SO_RCVTIMEO`, `SO_SNDTIMEO`),
    /// which saves a call of `poll`; then what would block says so.
    Socket,
}

impl Patience {
    pub(crate) fn flags(self) -> libc::c_int {
        match self {
            Self::None => libc::MSG_DONTWAIT,
            Self::Socket => 0,
        }
    }
}

/// Bytes in this process, guest RAM or a buffer, for as long as `'a`.
#[derive(Debug)]
pub struct Span<'a> {
    start: *mut u8,
    len: usize,
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a> Span<'a> {
    /// A buffer to send; only reading is allowed.
    pub fn source(bytes: &'a [u8]) -> SendSpan<'a> {
        SendSpan(Source::Steady(bytes))
    }

    /// A buffer to fill.
    pub fn target(bytes: &'a mut [u8]) -> Self {
        Self {
            start: bytes.as_mut_ptr(),
            len: bytes.len(),
            memory: PhantomData,
        }
    }

    /// `len` bytes at `start`.
    ///
    /// # Safety
    /// They are readable and writable for `'a`, and no Rust reference to them
    /// exists meanwhile.
    pub unsafe fn from_raw(start: *mut u8, len: usize) -> Self {
        Self {
            start,
            len,
            memory: PhantomData,
        }
    }

    /// The same bytes, to send them.
    pub fn to_send(&self) -> SendSpan<'_> {
        SendSpan(Source::Raw(Self { ..*self }))
    }

    /// Copies the beginning to the beginning of `out`, as much as it holds.
    fn copy_to(&mut self, out: &mut [u8]) -> usize {
        let len = self.len.min(out.len());
        // SAFETY: the span is readable for `len` bytes, which `out` has too; no Rust
        // reference to the span's bytes exists, so `out` is no part of it.
        unsafe {
            std::ptr::copy_nonoverlapping(self.start.cast_const(), out.as_mut_ptr(), len);
        }
        self.start = self.start.wrapping_add(len);
        self.len -= len;
        len
    }

    fn take_to(&mut self, out: &mut Vec<u8>, most: usize) -> usize {
        let len = self.len.min(most);
        out.reserve(len);
        // SAFETY: the span is readable for `len` bytes; the vector has room
        // for them, is no part of the span, and has them initialised by the
        // copy.
        unsafe {
            let end = out.spare_capacity_mut().as_mut_ptr().cast();
            std::ptr::copy_nonoverlapping(self.start.cast_const(), end, len);
            out.set_len(out.len() + len);
        }
        self.start = self.start.wrapping_add(len);
        self.len -= len;
        len
    }

    /// Where it is: for copies, never for a reference.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// A span that is only read.
#[derive(Debug)]
pub struct SendSpan<'a>(Source<'a>);

#[derive(Debug)]
enum Source<'a> {
    /// Nobody changes it meanwhile.
    Steady(&'a [u8]),
    /// It may change under us.
    Raw(Span<'a>),
}

impl<'a> SendSpan<'a> {
    /// The bytes, if they do not change under us.
    pub fn steady(&self) -> Option<&'a [u8]> {
        match &self.0 {
            Source::Steady(bytes) => Some(bytes),
            Source::Raw(_) => None,
        }
    }

    /// Copies up to `most` of the bytes behind what `out` holds, and keeps the
    /// rest of the span; returns how many bytes that took.
    pub fn take_to(&mut self, out: &mut Vec<u8>, most: usize) -> usize {
        match &mut self.0 {
            Source::Steady(bytes) => {
                let some = bytes.split_off(..bytes.len().min(most)).unwrap_or_default();
                out.extend_from_slice(some);
                some.len()
            }
            Source::Raw(span) => span.take_to(out, most),
        }
    }

    /// Copies as many of the bytes as `out` holds to its beginning, and keeps the rest
    /// of the span; returns how many bytes that were.
    pub fn copy_to(&mut self, out: &mut [u8]) -> usize {
        match &mut self.0 {
            Source::Steady(bytes) => {
                let len = bytes.len().min(out.len());
                let some = bytes.split_off(..len).unwrap_or_default();
                out[..len].copy_from_slice(some);
                len
            }
            Source::Raw(span) => span.copy_to(out),
        }
    }

    fn into_span(self) -> Span<'a> {
        match self.0 {
            Source::Steady(bytes) => Span {
                start: bytes.as_ptr().cast_mut(),
                len: bytes.len(),
                memory: PhantomData,
            },
            Source::Raw(span) => span,
        }
    }
}

/// Iovecs, and how far they are done.
#[derive(Debug)]
struct Progress<'a> {
    list: Vec<libc::iovec>,
    next: usize,
    left: u64,
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a> Progress<'a> {
    fn new(spans: impl Iterator<Item = Span<'a>>) -> Self {
        let mut list = Vec::with_capacity(spans.size_hint().0);
        let spans = spans.filter(|span| !span.is_empty());
        list.extend(spans.map(|span| libc::iovec {
            iov_base: span.start.cast(),
            iov_len: span.len,
        }));
        let left = list.iter().map(|one| one.iov_len as u64).sum();
        Self {
            list,
            next: 0,
            left,
            memory: PhantomData,
        }
    }

    /// The next spans, up to the one with the last of `most` bytes.
    fn message(&mut self, mut most: usize) -> libc::msghdr {
        let batch = &mut self.list[self.next..];
        let more = |one: &&libc::iovec| {
            let some = most > 0;
            most = most.saturating_sub(one.iov_len);
            some
        };
        let count = batch.iter().take(BATCH).take_while(more).count();
        // SAFETY: all zero is a message header without anything in it.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = batch.as_mut_ptr();
        message.msg_iovlen = count as _;
        message
    }

    fn advance(&mut self, mut done: usize) {
        self.left -= done as u64;
        while done > 0 {
            let one = &mut self.list[self.next];
            if done < one.iov_len {
                one.iov_base = one.iov_base.wrapping_byte_add(done);
                one.iov_len -= done;
                return;
            }
            done -= one.iov_len;
            self.next += 1;
        }
    }
}

/// Spans on their way out.
#[derive(Debug)]
pub struct Sending<'a>(Progress<'a>);

impl<'a> Sending<'a> {
    /// Spans to send, in order.
    pub fn new(spans: impl IntoIterator<Item = SendSpan<'a>>) -> Self {
        Self(Progress::new(spans.into_iter().map(SendSpan::into_span)))
    }

    /// Bytes not sent yet.
    pub fn left(&self) -> u64 {
        self.0.left
    }

    /// Sends what the socket takes.
    ///
    /// # Errors
    /// `WouldBlock` if it takes nothing; what the system says otherwise.
    pub fn step(&mut self, socket: BorrowedFd<'_>, patience: Patience) -> io::Result<()> {
        let message = self.0.message(usize::MAX);
        let flags = libc::MSG_NOSIGNAL | patience.flags();
        // SAFETY: the header names spans that live as long as `self`; sending
        // only reads them.
        let done = unsafe { libc::sendmsg(socket.as_raw_fd(), &message, flags) };
        self.0.advance(checked(done)?);
        Ok(())
    }
}

/// Spans being filled.
#[derive(Debug)]
pub struct Receiving<'a>(Progress<'a>);

impl<'a> Receiving<'a> {
    /// Spans to fill, in order.
    pub fn new(spans: impl IntoIterator<Item = Span<'a>>) -> Self {
        Self(Progress::new(spans.into_iter()))
    }

    /// Bytes not filled yet.
    pub fn left(&self) -> u64 {
        self.0.left
    }

    /// Fills the spans' next bytes with these, as far as there are spans;
    /// returns how many bytes that took.
    pub fn put(&mut self, bytes: &[u8]) -> usize {
        let mut rest = bytes;
        while !rest.is_empty()
            && let Some(one) = self.0.list.get(self.0.next)
        {
            let len = rest.len().min(one.iov_len);
            // SAFETY: spans live as long as `self`, are writable and nobody
            // else's (`Span::target`, `Span::from_raw`); `bytes` is a Rust
            // slice, so no part of one.
            unsafe { std::ptr::copy_nonoverlapping(rest.as_ptr(), one.iov_base.cast(), len) };
            self.0.advance(len);
            rest = &rest[len..];
        }
        bytes.len() - rest.len()
    }

    /// Receives what the socket has; returns how many bytes, 0 at its end.
    ///
    /// # Errors
    /// `WouldBlock` if it has nothing; what the system says otherwise.
    pub fn step(&mut self, socket: BorrowedFd<'_>, patience: Patience) -> io::Result<usize> {
        let mut message = self.0.message(COMES);
        // SAFETY: the header names spans that live as long as `self`, are
        // writable and nobody else's (`Span::target`, `Span::from_raw`).
        let done = unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, patience.flags()) };
        let done = checked(done)?;
        self.0.advance(done);
        Ok(done)
    }
}

fn checked(done: isize) -> io::Result<usize> {
    usize::try_from(done).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn many_spans_arrive_in_order_whatever_the_pieces() {
        let (one, two) = UnixStream::pair().unwrap();
        let sent: Vec<u8> = (0..5000u32).map(|i| (i * 7) as u8).collect();
        let mut out = Sending::new(sent.chunks(3).map(Span::source));
        while out.left() > 0 {
            out.step(one.as_fd(), Patience::None).unwrap();
        }
        let mut got = vec![0; sent.len()];
        let mut into = Receiving::new(got.chunks_mut(1).map(Span::target));
        while into.left() > 0 {
            into.step(two.as_fd(), Patience::None).unwrap();
        }
        assert_eq!(got, sent);
    }

    #[test]
    fn long_lists_are_received_in_parts() {
        let (one, two) = UnixStream::pair().unwrap();
        let mut got = vec![0; 2 * COMES];
        let mut into = Receiving::new(got.chunks_mut(4096).map(Span::target));
        assert_eq!(into.0.message(COMES).msg_iovlen as usize, COMES / 4096);
        assert_eq!(
            into.0.message(COMES + 1).msg_iovlen as usize,
            COMES / 4096 + 1
        );
        let sending = std::thread::spawn(move || {
            let sent = vec![7; 2 * COMES];
            let mut out = Sending::new([Span::source(&sent)]);
            while out.left() > 0 {
                out.step(one.as_fd(), Patience::Socket).unwrap();
            }
        });
        while into.left() > 0 {
            into.step(two.as_fd(), Patience::Socket).unwrap();
        }
        sending.join().unwrap();
        assert!(got.iter().all(|&byte| byte == 7));
    }

    #[test]
    fn spans_are_copied_and_put_in_pieces() {
        let mut copy = Vec::new();
        let mut span = Span::source(b"abcde");
        assert_eq!((span.take_to(&mut copy, 3), &copy[..]), (3, &b"abc"[..]));
        assert_eq!((span.take_to(&mut copy, 3), &copy[..]), (2, &b"abcde"[..]));
        assert_eq!(span.take_to(&mut copy, 3), 0);
        let mut memory = *b"abcde";
        let target = Span::target(&mut memory);
        for mut span in [Span::source(b"abcde"), target.to_send()] {
            let mut out = [0; 3];
            assert_eq!((span.copy_to(&mut out), &out), (3, b"abc"));
            assert_eq!((span.copy_to(&mut out), &out), (2, b"dec"));
            assert_eq!(span.copy_to(&mut out), 0);
        }
        let mut got = [0; 7];
        let mut into = Receiving::new(got.chunks_mut(2).map(Span::target));
        assert_eq!((into.put(b"one"), into.left()), (3, 4));
        assert_eq!((into.put(b"two!more"), into.left()), (4, 0));
        assert_eq!(&got, b"onetwo!");
    }

    #[test]
    fn nothing_blocks_and_the_end_is_told() {
        let (one, two) = UnixStream::pair().unwrap();
        let mut byte = [0];
        let mut into = Receiving::new([Span::target(&mut byte)]);
        let error = into.step(two.as_fd(), Patience::None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        drop(one);
        assert_eq!(into.step(two.as_fd(), Patience::None).unwrap(), 0);
        let error = Sending::new([Span::source(b"x")])
            .step(two.as_fd(), Patience::None)
            .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
