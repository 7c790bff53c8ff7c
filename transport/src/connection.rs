//! One connection after its handshake: frames.

use crate::crew::Crew;
use crate::error::ConnectionError;
use crate::greeting::Shaken;
use crate::secure::{Records, Secrets, SecureError};
use crate::stream::{End, Stream, Way};
use crate::vectored::{Patience, Span};
use crate::window::{MAPPED, NOT_MAPPED, Offer, Taken};
use gil_wire::frame::{self, Prefix};
use gil_wire::message::Reply;
use socket2::Socket;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

/// How long a peer may take for the handshake, and for what it offers behind.
pub const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// Bytes at a time of what is received and forgotten.
const SKIPPED: u64 = 1 << 20;

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
    end: BoardEnd<M>,
    stream: Stream,
    window: Option<Arc<Taken>>,
}

/// The socket, which is waited for as long as it says itself.
#[derive(Debug)]
struct BoardEnd<M> {
    socket: Arc<Socket>,
    meter: M,
}

impl<M: Meter> End for BoardEnd<M> {
    type Error = ConnectionError;

    fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn patience(&self) -> Patience {
        Patience::Socket
    }

    fn stopped(&self, error: io::Error, _: Patience, _: Way) -> Result<(), ConnectionError> {
        match error.kind() {
            ErrorKind::Interrupted => Ok(()),
            _ => Err(error.into()),
        }
    }

    fn cut_short(&self) -> ConnectionError {
        ConnectionError::CutShort
    }

    fn received(&self, bytes: u64) {
        self.meter.received(bytes);
    }
}

impl<M: Meter> Connection<M> {
    /// Goes on where the handshake ended. What crosses is counted by `meter`.
    ///
    /// # Errors
    /// [`ConnectionError`]; the connection is closed when it is dropped.
    pub fn new(socket: Arc<Socket>, shaken: &Shaken, meter: M) -> Result<Self, ConnectionError> {
        let records = match &shaken.secrets {
            Some(secrets) => Some(Box::new(records(secrets, shaken.is_operator)?)),
            None => None,
        };
        let (came, went) = shaken.bytes();
        meter.received(came);
        meter.sent(went);
        let mut connection = Self {
            end: BoardEnd { socket, meter },
            stream: Stream::new(records),
            window: None,
        };
        if shaken.offers_window {
            connection.bound_silence(Some(HANDSHAKE_WITHIN))?;
            connection.receive_offer().map_err(slow)?;
            connection.bound_silence(None)?;
        }
        Ok(connection)
    }

    /// Whose handshake is done.
    #[cfg(test)]
    pub(crate) fn over(socket: Socket, records: Option<Box<Records>>, meter: M) -> Self {
        let socket = Arc::new(socket);
        Self {
            end: BoardEnd { socket, meter },
            stream: Stream::new(records),
            window: None,
        }
    }

    /// Takes the window that the peer offers, if it is safe to.
    fn receive_offer(&mut self) -> Result<(), ConnectionError> {
        let offer = Offer::receive(self.end.socket())?;
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
        &self.end.meter
    }

    /// Bounds how long the peer may be silent; `WouldBlock` says that it was.
    ///
    /// # Errors
    /// The system's.
    pub fn bound_silence(&self, bound: Option<Duration>) -> io::Result<()> {
        self.end.socket.set_read_timeout(bound)
    }

    /// The peer's calls have about so many bytes of regions, which it moves
    /// before the next one: how long that one is asked for before sleeping.
    pub fn expect(&mut self, bytes: u64) {
        self.stream.expect(bytes);
    }

    /// The memory shared with the peer, if there is any.
    pub fn window(&self) -> Option<&Arc<Taken>> {
        self.window.as_ref()
    }

    /// Receives a frame's header instead of what `header` holds; returns the
    /// frame's prefix, or `None` if the peer closed the connection.
    ///
    /// # Errors
    /// [`ConnectionError`]; the connection is of no further use.
    pub fn receive(&mut self, header: &mut Vec<u8>) -> Result<Option<Prefix>, ConnectionError> {
        self.stream.frame(&self.end, header)
    }

    /// Receives `len` bytes of payload instead of what `out` holds, straight
    /// into its memory.
    ///
    /// # Errors
    /// [`ConnectionError`]; the connection is of no further use.
    pub fn fill(&mut self, out: &mut Vec<u8>, len: usize) -> Result<(), ConnectionError> {
        self.stream.fill(&self.end, out, len)
    }

    /// Receives `len` bytes of payload and forgets them.
    ///
    /// # Errors
    /// [`ConnectionError`]; the connection is of no further use.
    pub fn skip(&mut self, mut len: u64) -> Result<(), ConnectionError> {
        let mut sink = Vec::new();
        while len > 0 {
            let step = len.min(SKIPPED);
            self.fill(&mut sink, step as usize)?;
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

    /// Says where the run departs from what was recorded, as the connection's last word.
    pub fn depart(&mut self, reason: &str) {
        let reason = reason.to_owned();
        let _ = self.reply(&Reply::Departed { reason }, &[], false);
    }

    fn send(&mut self, head: &[u8], payload: &[&[u8]]) -> Result<(), ConnectionError> {
        let spans = [head].into_iter().chain(payload.iter().copied());
        self.stream.send(&self.end, spans.map(Span::source))?;
        let pieces = payload.iter().map(|piece| piece.len() as u64);
        let meter = &self.end.meter;
        meter.sent(head.len() as u64 + pieces.sum::<u64>());
        Ok(())
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
        ConnectionError::Io(error) if error.kind() == ErrorKind::WouldBlock => {
            ConnectionError::Slow(HANDSHAKE_WITHIN)
        }
        other => other,
    }
}
