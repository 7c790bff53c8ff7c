//! Sending and receiving at either end of a connection: frames, and payload directly
//! from and to its memory; plain or encrypted.
//!
//! Both ends use this code. The table lists where they differ:
//!
//! | | host | board | why |
//! |---|---|---|---|
//! | memory ([`Memory`], [`SendSpan`]) | spans of guest RAM | its own | guest RAM may change at any time |
//! | waiting ([`End::patience`], [`End::stopped`]) | in slices, up to a bound, until the user quits | until the socket's own timeout | a simulator's thread waits here, and must return when the user quits |
//! | the connection's end between two frames | an error, as elsewhere | ends the session normally | a caller on the host expects an answer |
//! | counting ([`End::received`]) | no | yes | `gil status` |

mod ahead;
mod memory;
mod send;

use crate::memory::OutOfMemory;
use crate::secure::{Records, SecureError};
use crate::spin::{Asking, Spin, came};
use crate::vectored::{Patience, SendSpan};
use ahead::Ahead;
use gil_wire::frame::{FrameError, PREFIX_LEN, Prefix};
pub use memory::{Filling, Memory, Target};
use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// The direction of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// They come.
    In,
    /// They are sent.
    Out,
}

/// What differs between the two ends.
pub trait End {
    /// Why it ends.
    type Error: From<FrameError> + From<OutOfMemory> + From<SecureError>;

    /// Where bytes come from and go to.
    fn socket(&self) -> BorrowedFd<'_>;

    /// Whether the socket may wait.
    fn patience(&self) -> Patience;

    /// Nothing came, or went, for this reason. Waits if that is what the reason
    /// asks for and the socket did not; returns if it is to be tried again.
    ///
    /// # Errors
    /// What the reason means to this end, if it is final.
    fn stopped(&self, error: io::Error, patience: Patience, way: Way) -> Result<(), Self::Error>;

    /// What it means that the connection ended where more was to come.
    fn cut_short(&self) -> Self::Error;

    /// So many bytes came.
    fn received(&self, bytes: u64);
}

/// What crosses a connection, from one end's view.
#[derive(Debug)]
pub struct Stream {
    /// What is exchanged is sealed, if there is a key.
    records: Option<Box<Records>>,
    ahead: Ahead,
    spin: Spin,
    waited: Duration,
}

impl Stream {
    /// Bytes as they are, or sealed.
    pub fn new(records: Option<Box<Records>>) -> Self {
        Self {
            records,
            ahead: Ahead::default(),
            spin: Spin::of_this_machine(),
            waited: Duration::ZERO,
        }
    }

    /// From now on bytes are sealed.
    pub fn seal(&mut self, records: Box<Records>) {
        self.records = Some(records);
    }

    /// Sends all of it.
    ///
    /// # Errors
    /// The end's; some of it may have been sent.
    pub fn send<'a, E: End>(
        &mut self,
        end: &E,
        spans: impl IntoIterator<Item = SendSpan<'a>>,
    ) -> Result<(), E::Error> {
        match &mut self.records {
            Some(records) => send::sealed(end, records, spans),
            None => send::plain(end, spans),
        }
    }

    /// Sends a few last bytes if the socket takes them at once. Never waits.
    pub fn send_last(&mut self, end: &impl End, bytes: &[u8]) {
        send::at_once(end.socket(), self.records.as_deref_mut(), bytes);
    }

    /// The peer moves about so many bytes of regions before its next frame: how
    /// long that is asked for before sleeping.
    pub fn expect(&mut self, bytes: u64) {
        self.spin.expect(bytes);
    }

    /// Time spent waiting for frames to begin, since the last time this was
    /// asked.
    pub fn take_waited(&mut self) -> Duration {
        std::mem::take(&mut self.waited)
    }

    /// Receives a frame's prefix, and its header instead of what `header` holds;
    /// `None` if the connection ended before it.
    ///
    /// # Errors
    /// The end's; the connection is of no further use.
    pub fn frame<E: End>(
        &mut self,
        end: &E,
        header: &mut Vec<u8>,
    ) -> Result<Option<Prefix>, E::Error> {
        if self.ahead.ready().is_empty() && !self.wait(end)? {
            return Ok(None);
        }
        let prefix = Prefix::decode(&self.bytes::<PREFIX_LEN, E>(end)?)?;
        self.fill(end, header, prefix.header_len as usize)?;
        Ok(Some(prefix))
    }

    /// Receives the next few bytes.
    ///
    /// # Errors
    /// As [`frame`](Self::frame).
    pub fn bytes<const LEN: usize, E: End>(&mut self, end: &E) -> Result<[u8; LEN], E::Error> {
        loop {
            if let Some(bytes) = self.ahead.ready().first_chunk() {
                let bytes = *bytes;
                self.ahead.take(LEN);
                return Ok(bytes);
            }
            if self.read_ahead(end, &mut Asking::default())? == 0 {
                return Err(end.cut_short());
            }
        }
    }

    /// Receives `len` bytes of payload instead of what `memory` holds, straight
    /// into it.
    ///
    /// # Errors
    /// As [`frame`](Self::frame).
    pub fn fill<E: End>(
        &mut self,
        end: &E,
        memory: &mut Vec<u8>,
        len: usize,
    ) -> Result<(), E::Error> {
        self.payload(end, &mut Filling::new(memory, len)?)
    }

    /// Fills the target from the payload.
    ///
    /// # Errors
    /// As [`frame`](Self::frame); some of it may have been filled.
    pub fn payload<E: End>(&mut self, end: &E, target: &mut impl Target) -> Result<(), E::Error> {
        let here = target.put(self.ahead.ready());
        self.ahead.take(here);
        let mut moving = self.spin.moving();
        while !target.is_full() {
            let records = &mut self.records;
            let step = |patience| step(records, target, end.socket(), patience);
            if receive(end, &mut moving, step)? == 0 {
                return Err(end.cut_short());
            }
        }
        Ok(())
    }

    /// Waits for the next frame's beginning; whether it came.
    fn wait<E: End>(&mut self, end: &E) -> Result<bool, E::Error> {
        let start = Instant::now();
        let mut asking = self.spin.first();
        let came = self.read_ahead(end, &mut asking);
        let waited = start.elapsed();
        self.waited += waited;
        self.spin.waited(waited, &asking);
        Ok(came? > 0)
    }

    /// Receives what the socket has; 0 at the connection's end.
    fn read_ahead<E: End>(&mut self, end: &E, asking: &mut Asking) -> Result<usize, E::Error> {
        let (records, room) = (&mut self.records, self.ahead.room());
        let step = |patience| step(records, room, end.socket(), patience);
        let count = receive(end, asking, step)?;
        self.ahead.came(count);
        Ok(count)
    }
}

/// Receives until something came, or the connection ended, which is 0 bytes:
/// asks first, then waits as the end does.
fn receive<E: End>(
    end: &E,
    asking: &mut Asking,
    mut step: impl FnMut(Patience) -> io::Result<usize>,
) -> Result<usize, E::Error> {
    loop {
        let (outcome, patience) = match asking.ask(|| came(step(Patience::None))) {
            Some(outcome) => (outcome, Patience::None),
            None => {
                let patience = end.patience();
                (step(patience), patience)
            }
        };
        match outcome {
            Ok(count) => {
                end.received(count as u64);
                return Ok(count);
            }
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(end.cut_short()),
            Err(error) => end.stopped(error, patience, Way::In)?,
        }
    }
}

/// Receives what the socket has, opened if it is sealed; 0 at the connection's
/// end, but `UnexpectedEof` inside a record.
fn step(
    records: &mut Option<Box<Records>>,
    memory: &mut (impl Memory + ?Sized),
    socket: BorrowedFd<'_>,
    patience: Patience,
) -> io::Result<usize> {
    let Some(records) = records else {
        return memory.receive(socket, patience);
    };
    loop {
        let count = memory.open(records)?;
        if count > 0 {
            return Ok(count);
        }
        match records.space().receive(socket, patience)? {
            0 if records.has_part() => return Err(ErrorKind::UnexpectedEof.into()),
            0 => return Ok(0),
            count => records.came(count),
        }
    }
}

#[cfg(test)]
mod tests;
