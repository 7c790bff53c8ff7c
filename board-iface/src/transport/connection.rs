//! One connection: the handshake, then frames.

use super::window::{Offer, Window};
use crate::region::OutOfMemory;
use gil_wire::frame::{self, FrameError, PREFIX_LEN, Prefix};
use gil_wire::hello::{HELLO_LEN, Hello, HelloError};
use gil_wire::message::Reply;
use gil_wire::window::{CAPABILITY, MAPPED, NOT_MAPPED};
use socket2::{Domain, MsgHdr, Socket};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// How long a peer may take for its hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes read ahead: most messages come whole in one system call, and no more
/// than this of a region is ever copied.
const AHEAD: usize = 16 << 10;
/// Pieces in one vectored write (IOV_MAX).
const MAX_PIECES: usize = 1024;

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The system's word.
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    /// The peer left in the middle of a message.
    #[error("the peer left in the middle of a message")]
    CutShort,
    /// The handshake failed.
    #[error(transparent)]
    Hello(#[from] HelloError),
    /// A frame out of bounds, or one that does not decode.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// No memory for a region.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

/// A connection after the handshake.
#[derive(Debug)]
pub struct Connection {
    socket: Arc<Socket>,
    ahead: Vec<u8>,
    used: usize,
    window: Option<Arc<Window>>,
}

impl Connection {
    /// Exchanges hellos. A peer that speaks gil's protocol and differs is told
    /// so with [`Reply::Refused`].
    ///
    /// # Errors
    /// [`ConnectionError`]; the connection is closed when it is dropped.
    pub fn handshake(socket: Arc<Socket>) -> Result<Self, ConnectionError> {
        socket.set_read_timeout(Some(HELLO_TIMEOUT))?;
        let mut connection = Self {
            socket,
            ahead: Vec::with_capacity(AHEAD),
            used: 0,
            window: None,
        };
        let local = connection.socket.domain()? == Domain::UNIX;
        let ours = Hello::ours().with_capabilities(if local { CAPABILITY } else { 0 });
        connection.send(&ours.encode(), &[])?;
        let theirs = Hello::decode(&connection.receive_hello()?)?;
        if let Err(error) = ours.accept(&theirs) {
            connection.refuse(&error.to_string());
            return Err(error.into());
        }
        if ours.both_offer(&theirs, CAPABILITY) {
            connection.receive_offer()?;
        }
        connection.socket.set_read_timeout(None)?;
        Ok(connection)
    }

    /// Reads the peer's hello, and not a byte of what follows: a file may be
    /// attached to it.
    fn receive_hello(&mut self) -> Result<[u8; HELLO_LEN], ConnectionError> {
        let mut bytes = [MaybeUninit::new(0); HELLO_LEN];
        let mut have = 0;
        while have < HELLO_LEN {
            match recv(&self.socket, &mut bytes[have..])? {
                0 => return Err(ConnectionError::CutShort),
                count => have += count,
            }
        }
        // SAFETY: every byte was initialised when the array was made.
        Ok(bytes.map(|byte| unsafe { byte.assume_init() }))
    }

    /// Takes the window that the peer offers, if it is safe to.
    fn receive_offer(&mut self) -> Result<(), ConnectionError> {
        let offer = Offer::receive(self.socket.as_fd())?;
        self.window = match Window::map(offer) {
            Ok(window) => Some(window),
            Err(error) => {
                tracing::warn!("region bytes go through the socket: {error}");
                None
            }
        };
        let mapped = self.window.is_some();
        self.send(&[if mapped { MAPPED } else { NOT_MAPPED }], &[])
    }

    /// The memory shared with the peer, if there is any.
    pub fn window(&self) -> Option<&Arc<Window>> {
        self.window.as_ref()
    }

    /// Receives a frame's header into `header`; returns the frame's prefix, or
    /// `None` if the peer closed the connection.
    ///
    /// # Errors
    /// [`ConnectionError`]; the connection is of no further use.
    pub fn receive(&mut self, header: &mut Vec<u8>) -> Result<Option<Prefix>, ConnectionError> {
        if self.ahead.len() == self.used && self.recv_ahead()? == 0 {
            return Ok(None);
        }
        self.fill(PREFIX_LEN)?;
        let prefix = Prefix::decode(self.take(PREFIX_LEN).try_into().expect("12 bytes"))?;
        header.clear();
        self.read_to(header, prefix.header_len as usize)?;
        Ok(Some(prefix))
    }

    /// Receives `len` bytes of payload to the end of `out`, straight into its
    /// memory.
    ///
    /// # Errors
    /// [`ConnectionError`]; the connection is of no further use.
    pub fn read_to(&mut self, out: &mut Vec<u8>, len: usize) -> Result<(), ConnectionError> {
        OutOfMemory::reserve(out, len)?;
        let here = len.min(self.ahead.len() - self.used);
        out.extend_from_slice(self.take(here));
        let end = out.len() + len - here;
        while out.len() < end {
            let missing = end - out.len();
            let room = &mut out.spare_capacity_mut()[..missing];
            let count = recv(&self.socket, room)?;
            if count == 0 {
                return Err(ConnectionError::CutShort);
            }
            // SAFETY: recv() initialised `count` bytes of the spare capacity,
            // and `count` is at most `missing`.
            unsafe { out.set_len(out.len() + count) };
        }
        Ok(())
    }

    /// Receives `len` bytes of payload and forgets them.
    ///
    /// # Errors
    /// [`ConnectionError`]; the connection is of no further use.
    pub fn skip(&mut self, mut len: u64) -> Result<(), ConnectionError> {
        let mut sink = Vec::new();
        while len > 0 {
            let step = len.min(1 << 20);
            sink.clear();
            self.read_to(&mut sink, step as usize)?;
            len -= step;
        }
        Ok(())
    }

    /// Sends a reply, and behind it the payload's pieces. `in_window`: the
    /// call's own output is in the window.
    ///
    /// # Errors
    /// [`ConnectionError`]; the connection is of no further use.
    pub fn reply(
        &self,
        reply: &Reply<'_>,
        payload: &[&[u8]],
        in_window: bool,
    ) -> Result<(), ConnectionError> {
        let len = payload.iter().map(|piece| piece.len() as u64).sum();
        let mut head = Vec::with_capacity(512);
        frame::begin_with(reply, len, in_window, &mut head)?;
        self.send(&head, payload)
    }

    /// Says why the connection ends, if the peer still listens.
    pub fn refuse(&self, reason: &str) {
        let reason = reason.to_owned();
        let _ = self.reply(&Reply::Refused { reason }, &[], false);
    }

    fn send(&self, head: &[u8], payload: &[&[u8]]) -> Result<(), ConnectionError> {
        let pieces = std::iter::once(&head).chain(payload);
        let mut pieces: Vec<_> = pieces.map(|piece| IoSlice::new(piece)).collect();
        let mut left = &mut pieces[..];
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            let some = &left[..left.len().min(MAX_PIECES)];
            let message = MsgHdr::new().with_buffers(some);
            match self.socket.sendmsg(&message, libc::MSG_NOSIGNAL) {
                Ok(count) => IoSlice::advance_slices(&mut left, count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Reads ahead until at least `len` bytes are there.
    fn fill(&mut self, len: usize) -> Result<(), ConnectionError> {
        while self.ahead.len() - self.used < len {
            if self.recv_ahead()? == 0 {
                return Err(ConnectionError::CutShort);
            }
        }
        Ok(())
    }

    fn recv_ahead(&mut self) -> Result<usize, ConnectionError> {
        self.ahead.drain(..self.used);
        self.used = 0;
        let count = recv(&self.socket, self.ahead.spare_capacity_mut())?;
        // SAFETY: recv() initialised `count` bytes of the spare capacity.
        unsafe { self.ahead.set_len(self.ahead.len() + count) };
        Ok(count)
    }

    fn take(&mut self, len: usize) -> &[u8] {
        let at = self.used;
        self.used += len;
        &self.ahead[at..self.used]
    }
}

fn recv(socket: &Socket, room: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
    loop {
        match socket.recv(room) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
