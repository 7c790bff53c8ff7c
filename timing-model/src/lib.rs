//! The simulated GPU's timeline: when each operation starts and ends in
//! simulated time. Pure functions over numbers: no clock is read here, and
//! nothing waits.
//!
//! All times are nanoseconds of the guest's monotonic clock. An operation
//! starts when its submission, its dependencies and its engine allow, and lasts
//! what the board's device timers measured:
//!
//! ```text
//! ready = max(submit + launch,
//!             end of every waited event + gap,
//!             end of what its queue orders before it + gap)
//! start = max(ready, when the engine has room behind the last published one)
//! end   = start + duration
//! ```
//!
//! An engine has room when the last published operation has ended; for one that needs only a
//! [`Share`] of it, behind others of its group, when the last has started and those that run leave
//! so much.
//!
//! `launch` and `gap` are the operation's [`Delays`], which are 0 if nobody measured them.
//!
//! On one of a device's processors the duration is [`Contention`]'s factor times as
//! long if another of them is at work at the start.
//!
//! An operation is a *candidate* once everything that it waits for has an end.
//! Candidates are published one by one, in the order of their starts; at the same
//! start, first those that need no engine, then by readiness, then by enqueueing. A
//! published interval is never revised: later operations queue behind it.
//!
//! The caller decides when candidates are published:
//!
//! - as simulated time passes: at each moment all whose start has passed
//!   ([`Timeline::next_candidate`]), before anything new is enqueued. So the engines
//!   serve operations like a device that checks its queues whenever an engine is
//!   free. An observation publishes further, until its answer is known.
//! - immediately, all of them: the strict mode. Engines then serve operations in
//!   the order in which they were enqueued.
//!
//! Timelines of several processes may share engines ([`Engines`]). Candidates
//! are then published in one order over all of them, by [`Turn`]; a caller that
//! follows it gets the same result as with a single timeline of all operations.
//!
//! The result depends on the order of these steps and on the durations, never on
//! when a duration became known.
#![forbid(unsafe_code)]

mod clocks;
mod contention;
mod costs;
mod delays;
mod engines;
mod known;
mod lane;
mod lanes;
mod occupied;
mod queues;
mod share;
mod timeline;
mod transfer;

pub use clocks::{CHANGES_MAX, Clocks};
pub use contention::Contention;
pub use costs::{Copies, Costs, CpuRatio, Line, Measured, Wake};
pub use delays::Delays;
pub use engines::Engines;
pub use known::MAX_KNOWN;
pub use lanes::Turn;
pub use share::Share;
pub use timeline::{MAX_UNRESOLVED, MAX_WAITS, Timeline};
pub use transfer::Transfer;

/// Number of an event; every operation has one.
pub type Event = u64;

/// Part of a device that one operation occupies at a time, or several that leave room for each
/// other, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Engine(pub u8);

impl Engine {
    /// Occupies nothing.
    pub const NONE: Self = Self(0);
    /// Copies to the device.
    pub const COPY_IN: Self = Self(2);
    /// Copies from the device.
    pub const COPY_OUT: Self = Self(3);
    /// The first of a device's processors, which contend with each other.
    pub const PROCESSOR_FIRST: Self = Self(8);
    /// The last.
    pub const PROCESSOR_LAST: Self = Self(15);

    /// Whether it is one of a device's processors.
    pub const fn is_processor(self) -> bool {
        Self::PROCESSOR_FIRST.0 <= self.0 && self.0 <= Self::PROCESSOR_LAST.0
    }
}

/// How an operation is ordered with the others of its queue, if that is not in
/// order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Only by what it waits for.
    #[default]
    Command,
    /// If it waits for nothing in particular, behind everything before it.
    Marker,
    /// As a marker, and before everything after it.
    Barrier,
}

/// The queue an operation was put on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueRef {
    /// The queue's number.
    pub id: u64,
    /// Whether each operation waits for the one before.
    pub in_order: bool,
    /// The device whose engines it uses.
    pub device: u64,
    /// Whether the timelines that share [`Engines`] know the device by the same
    /// number, and use the same engines of it.
    pub is_shared: bool,
}

/// An operation as it is enqueued.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The event it signals.
    pub event: Event,
    /// When the program entered the call.
    pub entry_ns: u64,
    /// When the operation was submitted: no earlier than `entry_ns`.
    pub submit_ns: u64,
    /// Its queue.
    pub queue: Option<QueueRef>,
    /// The engine that it occupies.
    pub engine: Engine,
    /// How much of it.
    pub share: Share,
    /// How it is ordered on its queue.
    pub order: Order,
    /// What it waits for. Events that are not known are taken for user events
    /// not yet set.
    pub waits: Vec<Event>,
    /// Whether anyone will ask for its event. If not, it is forgotten as soon
    /// as its interval is known.
    pub observable: bool,
    /// Whether something has to happen at its end: output arrives.
    pub attended: bool,
    /// What passes before it starts.
    pub delays: Delays,
}

/// The operation that is published next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its event.
    pub event: Event,
    /// When it starts if nothing else is enqueued before.
    pub start_ns: u64,
    /// Its place among the candidates of all timelines that share engines.
    pub turn: Turn,
    /// Whether its duration is known.
    pub is_reported: bool,
}

/// When an operation runs. Never revised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval<E> {
    /// When the call that enqueued it was entered.
    pub queued_ns: u64,
    /// When it was submitted.
    pub submitted_ns: u64,
    /// When it starts.
    pub start_ns: u64,
    /// When it ends.
    pub end_ns: u64,
    /// How, as the caller says it: the timeline only hands it on.
    pub ending: E,
}

/// What is known of an operation, for a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times<E> {
    /// When the call that enqueued it was entered.
    pub queued_ns: u64,
    /// When it was submitted.
    pub submitted_ns: u64,
    /// When all it waits for has ended, once that is known.
    pub ready_ns: Option<u64>,
    /// When it runs, once that is known.
    pub interval: Option<Interval<E>>,
}

/// When all operations put on a queue so far have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueEnd {
    /// At this time; 0 for a queue that never had one.
    Resolved(u64),
    /// Not known yet: something on it is not published.
    Open,
    /// Not known: something on it waits for what the program has yet to cause.
    Blocked,
}

/// Why the timeline refuses an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimelineError {
    /// An event's number is in use.
    #[error("event {0} is on the timeline already: every operation needs an event of its own")]
    Duplicate(Event),
    /// A report names an event that no operation signals.
    #[error("event {0} is not on the timeline: the board reported an operation nobody enqueued")]
    Unknown(Event),
    /// A second report for the same event.
    #[error("event {0} was resolved already: a published interval is never revised")]
    Revised(Event),
    /// Too much is unresolved.
    #[error("{0} operations are under way or wait, the bound is {MAX_UNRESOLVED}")]
    TooMany(usize),
    /// Too much is waited for.
    #[error("operations under way wait for {0} events, the bound is {MAX_WAITS}")]
    TooManyWaits(usize),
    /// Too many events are known.
    #[error("{MAX_KNOWN} events are known, the bound: release those that are no longer used")]
    Full,
    /// There is nothing to publish whose duration is known.
    #[error("no operation is ready to be published: the next one has not been reported")]
    NotReported,
}
