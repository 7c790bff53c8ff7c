//! Calls that a guest makes at one moment, from a driver's mailbox or from the
//! arguments of the guest's own functions.

use crate::pace::Pace;
use gil_address_tables::Extents;
use gil_uapi::GuestLength;
use gil_wire::envelope::{self, Envelope, EnvelopeError};
use gil_wire::message::Direction;

/// Some calls of a session, the last of which may be answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Submission {
    /// Its number, from 1, unique in the session.
    pub seq: u64,
    /// Guest thread id.
    pub thread: u32,
    /// The guest's clock at the submission.
    pub clock: Clock,
    /// The envelopes' bytes.
    pub request: Vec<u8>,
    /// The regions, those of the first envelope first.
    pub regions: Vec<Region>,
    /// Bytes of answer that the guest has room for.
    pub reply_cap: usize,
    /// How fast the device executes what it enqueues.
    pub pace: Pace,
}

/// Memory that a call names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Which way its bytes go, seen from the board.
    pub dir: Direction,
    /// Where it lies; all of it is RAM.
    pub extents: Extents,
    /// Input that goes to the board in place of what lies there.
    pub instead: Option<Vec<u8>>,
}

impl Region {
    /// Bytes that travel: of input those that are sent, of output as many as there is
    /// room for.
    pub fn len(&self) -> GuestLength {
        match &self.instead {
            Some(bytes) => GuestLength(bytes.len() as u64),
            None => self.extents.len(),
        }
    }

    /// Whether none do.
    pub fn is_empty(&self) -> bool {
        self.len().is_zero()
    }
}

/// The guest's clocks at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Nanoseconds of its monotonic clock.
    pub now_ns: u64,
    /// Its counter.
    pub counter: u64,
    /// The counter's frequency.
    pub counter_hz: u32,
}

impl Clock {
    /// Guest nanoseconds at which the counter showed `entry`; never after the
    /// moment itself.
    pub fn entry_ns(&self, entry: u64) -> u64 {
        let ago = self.ticks_ns(self.counter.saturating_sub(entry));
        self.now_ns.saturating_sub(ago)
    }

    /// Nanoseconds of so many ticks of the counter.
    pub fn ticks_ns(&self, ticks: u64) -> u64 {
        let ns = u128::from(ticks) * 1_000_000_000 / u128::from(self.counter_hz.max(1));
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

impl Submission {
    /// Guest nanoseconds at which it was made.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns
    }

    /// Its calls.
    ///
    /// # Errors
    /// [`EnvelopeError`] if the bytes are no envelopes.
    pub fn envelopes(&self) -> Result<Vec<Envelope<'_>>, EnvelopeError> {
        envelope::parse(&self.request)
    }
}
