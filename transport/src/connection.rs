//! One connection after its handshake: frames.

use crate::crew::Crew;
use crate::error::ConnectionError;
use crate::greeting::Shaken;
use crate::link::Link;
use crate::memory::OutOfMemory;
use crate::secure::{Records, Secrets, SecureError};
use crate::spin::{Spin, came};
use crate::window::{MAPPED, NOT_MAPPED, Offer, Taken};
use gil_wire::frame::{self, PREFIX_LEN, Prefix};
use gil_wire::message::Reply;
use socket2::Socket;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a peer may take for the handshake, and for what it offers behind.
pub const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// Bytes read ahead: most messages come whole in one system call, and no more
/// than this of a region is ever copied.
const AHEAD: usize = 16 << 10;

/// Counts what crosses a connection.
pub trait Meter {
    /// So many bytes came.
    fn received(&self, bytes: u64);

    /// So many bytes went.
    fn sent(&self, bytes: u64);
}

/// A connection after the handshake.
#[derive(Debug)]
pub struct Connection<M> {
    socket: Arc<Socket>,
    link: Link,
    ahead: Vec<u8>,
    used: usize,
    window: Option<Arc<Taken>>,
    meter: M,
    spin: Spin,
}

impl<M: Meter> Connection<M> {
    /// Goes on where the handshake ended. What crosses is counted by `meter`.
    ///
    /// # Errors
    /// [`ConnectionError`]; the connection is closed when it is dropped.
    pub fn new(socket: Arc<Socket>, shaken: &Shaken, meter: M) -> Result<Self, ConnectionError> {
        let link = match &shaken.secrets {
            Some(secrets) => Link::Sealed(Box::new(records(secrets, shaken.is_operator)?)),
            None => Link::Plain,
        };
        let (came, went) = shaken.bytes();
        meter.received(came);
        meter.sent(went);
        let mut connection = Self {
            socket,
            link,
            ahead: Vec::with_capacity(AHEAD),
            used: 0,
            window: None,
            meter,
            spin: Spin::of_this_machine(),
        };
        if shaken.offers_window {
            connection.bound_silence(Some(HANDSHAKE_WITHIN))?;
            connection.receive_offer().map_err(slow)?;
            connection.bound_silence(None)?;
        }
        Ok(connection)
    }

    /// Takes the window that the peer offers, if it is safe to.
    fn receive_offer(&mut self) -> Result<(), ConnectionError> {
        let offer = Offer::receive(self.socket.as_fd())?;
        self.window = match Taken::map(offer) {
            Ok(window) => Some(window),
            Err(error) => {
                tracing::warn!("region bytes go through the socket: {error}");
                None
            }
        };
        let mapped = self.window.is_some();
        self.send(&[if mapped { MAPPED } else { NOT_MAPPED }], &[])
    }

    /// What counts the connection's bytes and calls.
    pub fn meter(&self) -> &M {
        &self.meter
    }

    /// Bounds how long the peer may be silent; `WouldBlock` says that it was.
    ///
    /// # Errors
    /// The system's.
    pub fn bound_silence(&self, bound: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(bound)
    }

    /// The peer's calls have about so many bytes of regions, which it moves
    /// before the next one: how long that one is asked for before sleeping.
    pub fn expect(&mut self, bytes: u64) {
        self.spin.expect(bytes);
    }

    /// The memory shared with the peer, if there is any.
    pub fn window(&self) -> Option<&Arc<Taken>> {
        self.window.as_ref()
    }

    /// Receives a frame's header into `header`; returns the frame's prefix, or
    /// `None` if the peer closed the connection.
    ///
    /// # Errors
    /// [`ConnectionError`]; the connection is of no further use.
    pub fn receive(&mut self, header: &mut Vec<u8>) -> Result<Option<Prefix>, ConnectionError> {
        if self.ahead.len() == self.used && self.wait_ahead()? == 0 {
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
        let mut moving = self.spin.moving();
        while out.len() < end {
            let missing = end - out.len();
            let room = &mut out.spare_capacity_mut()[..missing];
            let (link, socket) = (&mut self.link, &self.socket);
            let count = match moving.ask(|| came(link.receive_now(socket, room))) {
                Some(count) => count?,
                None => link.receive(socket, room)?,
            };
            if count == 0 {
                return Err(ConnectionError::CutShort);
            }
            self.meter.received(count as u64);
            // SAFETY: receive() initialised `count` bytes of the spare capacity,
            // and `count` is at most `missing`.
            unsafe { out.set_len(out.len() + count) };
        }
        Ok(())
    }

    /// Receives `len` bytes of payload instead of what `out` holds. What it
    /// holds is better than nothing: memory to open sealed bytes to has to
    /// hold some.
    ///
    /// # Errors
    /// [`ConnectionError`]; the connection is of no further use.
    pub fn read_over(&mut self, out: &mut Vec<u8>, len: usize) -> Result<(), ConnectionError> {
        out.truncate(len);
        let mut have = out.len().min(self.ahead.len() - self.used);
        out[..have].copy_from_slice(self.take(have));
        let mut moving = self.spin.moving();
        while have < out.len() {
            let room = &mut out[have..];
            let (link, socket) = (&mut self.link, &self.socket);
            let count = match moving.ask(|| came(link.receive_over_now(socket, room))) {
                Some(count) => count?,
                None => link.receive_over(socket, room)?,
            };
            if count == 0 {
                return Err(ConnectionError::CutShort);
            }
            self.meter.received(count as u64);
            have += count;
        }
        self.read_to(out, len - have)
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
        &mut self,
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
    pub fn refuse(&mut self, reason: &str) {
        let reason = reason.to_owned();
        let _ = self.reply(&Reply::Refused { reason }, &[], false);
    }

    fn send(&mut self, head: &[u8], payload: &[&[u8]]) -> Result<(), ConnectionError> {
        self.link.send(&self.socket, head, payload)?;
        let pieces = payload.iter().map(|piece| piece.len() as u64);
        self.meter.sent(head.len() as u64 + pieces.sum::<u64>());
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

    /// Waits for the next frame's beginning.
    fn wait_ahead(&mut self) -> Result<usize, ConnectionError> {
        let start = Instant::now();
        let spin = self.spin;
        let found = spin.ask(|| came(self.recv_ahead_by(Link::receive_now)));
        let count = match found {
            Some(found) => found?,
            None => self.recv_ahead()?,
        };
        self.spin.waited(start.elapsed());
        Ok(count)
    }

    fn recv_ahead(&mut self) -> Result<usize, ConnectionError> {
        Ok(self.recv_ahead_by(Link::receive)?)
    }

    fn recv_ahead_by(
        &mut self,
        receive: fn(&mut Link, &Socket, &mut [MaybeUninit<u8>]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        self.ahead.drain(..self.used);
        self.used = 0;
        let room = self.ahead.spare_capacity_mut();
        let count = receive(&mut self.link, &self.socket, room)?;
        self.meter.received(count as u64);
        // SAFETY: receive() initialised `count` bytes of the spare capacity.
        unsafe { self.ahead.set_len(self.ahead.len() + count) };
        Ok(count)
    }

    fn take(&mut self, len: usize) -> &[u8] {
        let at = self.used;
        self.used += len;
        &self.ahead[at..self.used]
    }
}

/// What a connection is sealed with; the little that an operator asks for needs
/// no crew.
fn records(secrets: &Secrets, is_operator: bool) -> Result<Records, SecureError> {
    let crew = (!is_operator).then(Crew::of_this_machine).flatten();
    Ok(Records::new(secrets)?.with_crew(crew))
}

/// The error of a receive whose time is over.
fn slow(error: ConnectionError) -> ConnectionError {
    match error {
        ConnectionError::Io(error) if error.kind() == io::ErrorKind::WouldBlock => {
            ConnectionError::Slow(HANDSHAKE_WITHIN)
        }
        other => other,
    }
}
