//! Why a call is not executed.

use super::table::TableError;
use crate::region::NoRoom;
use gil_transport::memory::OutOfMemory;
use gil_wire::Op;
use gil_wire::api;
use gil_wire::call::PackError;
use std::error::Error;

/// A request that is not run: it does not decode, or asks for what no guest
/// library of this build asks for. What a program can do wrong is not
/// among these: that is the API's error code in an answer.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// No such entry point.
    #[error("{} is no {} call of this board: use the same gil release on both sides", .0, title(*.0))]
    UnknownOp(Op),
    /// The arguments do not decode.
    #[error("its arguments do not decode: {0}")]
    Decode(postcard::Error),
    /// Bytes follow the arguments.
    #[error("{0} bytes follow its arguments")]
    Trailing(usize),
    /// The answer does not encode.
    #[error("its answer does not encode: {0}")]
    Encode(postcard::Error),
    /// A number that stands for nothing, or for something else.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A region that the call does not have.
    #[error("it names region {index} and has {count}")]
    Region {
        /// The region's index.
        index: u32,
        /// The number of regions.
        count: usize,
    },
    /// A region that goes the other way, or is named twice.
    #[error("its region {0} does not go the way its argument needs, or is in use")]
    Direction(u32),
    /// Fewer bytes than the call reads or writes.
    #[error("an argument has {have} bytes and the call needs {needed}")]
    Short {
        /// The number of bytes that came.
        have: usize,
        /// The number of bytes that the API would access.
        needed: usize,
    },
    /// A NUL inside a string.
    #[error("a string has a NUL at offset {0}")]
    Nul(usize),
    /// More inline output than any library of this build asks for.
    #[error("it wants {0} bytes inside the answer, more than the bound")]
    InlineRoom(u32),
    /// A size computed from arguments overflows.
    #[error("the size of its argument {0} overflows")]
    Overflow(&'static str),
    /// A value that is invalid for the argument.
    #[error("{value:#x} is no value of its argument {name}")]
    Parameter {
        /// The argument.
        name: &'static str,
        /// The value.
        value: u64,
    },
    /// A value wider than this machine's `size_t`.
    #[error("{value:#x}, its argument {name}, does not fit this board's size_t")]
    Width {
        /// The argument.
        name: &'static str,
        /// The value.
        value: u64,
    },
    /// The same, of one of several values.
    #[error("a value of its argument {0} does not fit this board's size_t")]
    Wide(&'static str),
    /// A query whose value is absurdly large.
    #[error("the driver's value has {0} bytes, more than the bound")]
    InfoSize(usize),
    /// A packed array that is none.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// No memory.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// An object beyond the session's share of memory.
    #[error(transparent)]
    Objects(#[from] NoRoom),
    /// Another event than its host knows of.
    #[error("its arguments signal event {arguments} and the call {}", announced(*.call))]
    Signals {
        /// In the arguments.
        arguments: u64,
        /// Of the call.
        call: Option<u64>,
    },
    /// The event of an operation that is there.
    #[error("event {0} is of an earlier operation that is blocked, under way or not reported")]
    Signalled(u64),
    /// A driver that enqueues without an event.
    #[error("the driver enqueued it and gave no event: nothing tells when it ends")]
    NoEvent,
    /// A refusal of one API's own.
    #[error(transparent)]
    Api(Box<dyn Error + Send + Sync>),
}

impl Refusal {
    /// A size expression that overflows.
    pub fn missing_size(name: &'static str) -> Self {
        Self::Overflow(name)
    }

    /// Values of which one does not fit.
    pub fn wide(name: &'static str) -> Self {
        Self::Wide(name)
    }

    /// A value that an argument cannot have.
    pub fn parameter(name: &'static str, value: u64) -> Self {
        Self::Parameter { name, value }
    }
}

/// The event that a call signals, in words.
fn announced(event: Option<u64>) -> String {
    event.map_or("none".into(), |event| format!("event {event}"))
}

/// How people call the API that an operation is of.
fn title(op: Op) -> &'static str {
    api::api(op.api()).map_or("known", |api| api.title)
}
