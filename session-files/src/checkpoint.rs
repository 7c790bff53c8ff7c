//! The sessions in a simulator's checkpoint.
//!
//! It is a [`crate::container`] of these kinds of record:
//!
//! | kind | head | payload |
//! |---|---|---|
//! | 1 | [`Begin`], the first one | none |
//! | 2 | [`Session`]; the records up to the next one belong to it | text that its kernels printed and that the program has not received yet |
//! | 3 | [`Made`], a call that created objects or changed their state | the bytes of its input regions, except the one in `contents` |
//! | 4 | [`Contents`] | an object's contents |
//! | 5 | [`PastEvent`], an operation that ended, as the board knows it | none |
//! | 6 | [`Ran`], the same, as the timeline knows it | none |
//! | 7 | [`End`], the last one: a file without it is incomplete | none |
//! | 8 | [`Gpu`], one whose registers are gil's | its state |

use crate::container::{self, FileError, FileType, Stored, head_as};
use gil_wire::Op;
use gil_wire::api::Described;
use gil_wire::checkpoint::{Contents, PastEvent};
use gil_wire::ending::Ending;
use gil_wire::identity::DeviceInfo;
use gil_wire::message::Call;
use serde::{Deserialize, Serialize};

/// The type of file.
pub const FILE: FileType = FileType {
    magic: *b"gil-state",
    version: 5,
    name: "checkpoint",
    advice: "take the checkpoint again, or restore it with the release that made it",
};

/// When an operation ran, in nanoseconds of guest time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// Its event.
    pub event: u64,
    /// When it was enqueued.
    pub queued_ns: u64,
    /// When it was submitted.
    pub submitted_ns: u64,
    /// When it started.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// How it ended.
    pub ending: Ending,
}

/// One record of the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Record<'a> {
    /// The first one.
    Begin(Begin),
    /// A session.
    Session(Session),
    /// A call that made objects or said something of them.
    Call(Made<'a>),
    /// What an object holds.
    Contents(Contents),
    /// An operation that ended, as the board knows it.
    Past(PastEvent),
    /// The same, as the timeline knows it.
    Ran(Ran),
    /// A GPU whose registers are gil's.
    Gpu(Gpu),
    /// The last one.
    End(End),
}

/// A GPU that the guest's kernel drives by its registers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpu {
    /// Its name on the command line.
    pub gpu: String,
    /// Bytes of its state.
    pub len: u64,
}

/// The first record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// The board's devices.
    pub devices: Vec<DeviceInfo>,
}

/// The last record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// How many records stand before it.
    pub records: u64,
}

/// What the host interface knows of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The guest's number for it.
    pub number: u64,
    /// Guest process.
    pub process: u32,
    /// 32 or 64.
    pub pointer_bits: u32,
    /// What the board served; `None` if the session never called it.
    pub apis: Option<Vec<Described>>,
    /// All submissions up to this number were executed.
    pub executed: u64,
    /// And these.
    pub executed_above: Vec<u64>,
    /// Submissions whose memory the driver may have back.
    pub released: Vec<u64>,
    /// Whether the driver has a notice for the program.
    pub notices: bool,
    /// Operations that somebody waits for although they ended.
    pub awaited: Vec<Awaited>,
    /// The first failure on a queue that nobody heard of: queue, event,
    /// the API's own code.
    pub failures: Vec<(u64, u64, i32)>,
    /// Bytes of text.
    pub printed: u64,
}

/// An operation whose sender has yet to see its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaited {
    /// Its event.
    pub event: u64,
    /// The submission.
    pub seq: u64,
    /// The entry point.
    pub op: Op,
    /// Its queue.
    pub queue: Option<u64>,
    /// Whether the program holds its event.
    pub observable: bool,
}

/// A call that is made again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Made<'a> {
    /// As the board got it.
    #[serde(borrow)]
    pub call: Call<'a>,
    /// The region that only says what an object holds at first: its bytes are
    /// not here.
    pub contents: Option<u32>,
    /// The number of the first object, if the board numbered it.
    pub found: Option<u64>,
    /// What the board answered; `None` for a post.
    #[serde(borrow)]
    pub result: Option<&'a [u8]>,
}

impl Made<'_> {
    /// Bytes of each region that is here; `None` if they overflow.
    pub fn payload_len(&self) -> Option<u64> {
        let kept = self.call.regions.iter().enumerate();
        let kept = kept.filter(|(index, region)| {
            region.dir.is_in() && self.contents != u32::try_from(*index).ok()
        });
        kept.map(|(_, region)| region.len)
            .try_fold(0u64, u64::checked_add)
    }
}

impl<'a> container::Record<'a> for Record<'a> {
    fn kind(&self) -> u16 {
        match self {
            Self::Begin(_) => 1,
            Self::Session(_) => 2,
            Self::Call(_) => 3,
            Self::Contents(_) => 4,
            Self::Past(_) => 5,
            Self::Ran(_) => 6,
            Self::End(_) => 7,
            Self::Gpu(_) => 8,
        }
    }

    fn encode(&self) -> Result<Vec<u8>, postcard::Error> {
        match self {
            Self::Begin(begin) => postcard::to_stdvec(begin),
            Self::Session(session) => postcard::to_stdvec(session),
            Self::Call(call) => postcard::to_stdvec(call),
            Self::Contents(contents) => postcard::to_stdvec(contents),
            Self::Past(event) => postcard::to_stdvec(event),
            Self::Ran(ran) => postcard::to_stdvec(ran),
            Self::End(end) => postcard::to_stdvec(end),
            Self::Gpu(gpu) => postcard::to_stdvec(gpu),
        }
    }

    fn decode(kind: u16, head: &'a [u8]) -> Option<Result<(Self, &'a [u8]), postcard::Error>> {
        match kind {
            1 => head_as(head, Self::Begin),
            2 => head_as(head, Self::Session),
            3 => head_as(head, Self::Call),
            4 => head_as(head, Self::Contents),
            5 => head_as(head, Self::Past),
            6 => head_as(head, Self::Ran),
            7 => head_as(head, Self::End),
            8 => head_as(head, Self::Gpu),
            _ => None,
        }
    }

    fn announced(&self) -> Option<u64> {
        match self {
            Self::Session(session) => Some(session.printed),
            Self::Call(call) => call.payload_len(),
            Self::Contents(contents) => Some(contents.len),
            Self::Gpu(gpu) => Some(gpu.len),
            Self::Begin(_) | Self::Past(_) | Self::Ran(_) | Self::End(_) => Some(0),
        }
    }
}

/// What a record of a checkpoint says; `None` if its kind is not known and it
/// may be skipped.
///
/// # Errors
/// As [`Stored::record`].
pub fn record(stored: &Stored) -> Result<Option<Record<'_>>, FileError> {
    stored.record()
}

#[cfg(test)]
mod tests;
