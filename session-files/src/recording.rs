//! The recording of a run: every request, answer and timing.
//!
//! It is a [`crate::container`] of these kinds of record:
//!
//! | kind | head | payload |
//! |---|---|---|
//! | 1 | [`SessionOpened`] | none |
//! | 2 | [`Called`] | the bytes of its input regions, in order; then the answer's payload as the board sent it |
//! | 3 | [`Ended`] | the operation's output, then its text, as the board sent them |
//! | 4 | [`SessionClosed`] | none |
//! | 5 | [`Device`] | none |
//! | 6 | [`Costs`] | none |
//!
//! A record is written completely before its answer reaches the guest.

use crate::container::{self, FileError, FileType, Stored, head_as};
use gil_wire::api::Described;
use gil_wire::identity::DeviceIdentity;
use gil_wire::message::{Call, Done, Posted, Report};
use serde::{Deserialize, Serialize};

/// The type of file.
pub const FILE: FileType = FileType {
    magic: *b"gil-trace",
    version: 7,
    name: "recording",
    advice: "record it again, or replay it with the release that made it",
};

/// What happened, in the order of the doorbells.
#[derive(Clone, Debug, PartialEq)]
pub enum Record<'a> {
    /// A session was opened on the board.
    SessionOpened(SessionOpened),
    /// A call.
    Call(Called<'a>),
    /// An operation that was awaited ended.
    Ended(Ended),
    /// The session ended.
    SessionClosed(SessionClosed),
    /// The board said which physical device an API's device is.
    Device(Device),
    /// What calls without an answer took, as the session's next answer says.
    Posted(Costs),
}

/// A session was opened on the board. The run's sessions are numbered from 1 in
/// this order. In a run with several boards, a program has one on each that it uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionOpened {
    /// Its number in this recording.
    pub session: u64,
    /// Guest process.
    pub process: u32,
    /// 32 or 64.
    pub pointer_bits: u32,
    /// The APIs that the board served; in a run with several boards, those that it was for.
    pub apis: Vec<Described>,
}

/// An operation that was awaited ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// The session's number in this recording.
    pub session: u64,
    /// How it ended.
    pub report: Report,
    /// Nanoseconds from decoded request to encoded reply.
    pub busy_ns: u64,
}

/// A session ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionClosed {
    /// Its number in this recording.
    pub session: u64,
}

/// Which physical device an API's device is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// The session's number in this recording.
    pub session: u64,
    /// The API.
    pub api: u16,
    /// The device's number in the session.
    pub device: u64,
    /// The device's identity, as far as the board knows it.
    pub identity: Option<DeviceIdentity>,
}

/// What calls without an answer took: parts of the time of the session's next call that
/// has one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// The session's number in this recording.
    pub session: u64,
    /// An entry point each.
    pub posted: Vec<Posted>,
}

/// One call and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Called<'a> {
    /// The session's number in this recording.
    pub session: u64,
    /// As the board got it.
    #[serde(borrow)]
    pub call: Call<'a>,
    /// What the board answered; `None` for a post, and where the board was
    /// lost before it answered.
    pub done: Option<Done<'a>>,
}

impl Record<'_> {
    /// Bytes of payload that the head announces: into the board, and back.
    /// `None` if they overflow.
    pub fn payload_len(&self) -> Option<(u64, u64)> {
        let sum = |mut lens: Box<dyn Iterator<Item = Option<u64>> + '_>| {
            lens.try_fold(0u64, |sum, len| sum.checked_add(len?))
        };
        let called = match self {
            Self::Call(called) => called,
            Self::Ended(ended) => return Some((0, ended.report.payload_len()?)),
            Self::SessionOpened(_) | Self::SessionClosed(_) | Self::Device(_) | Self::Posted(_) => {
                return Some((0, 0));
            }
        };
        let ins = called.call.regions.iter().filter(|r| r.dir.is_in());
        let outs = called.done.iter().flat_map(|done| {
            let own = done.out.iter().map(|&len| Some(len));
            own.chain(done.reports.iter().map(Report::payload_len))
        });
        Some((
            sum(Box::new(ins.map(|r| Some(r.len))))?,
            sum(Box::new(outs))?,
        ))
    }
}

impl<'a> container::Record<'a> for Record<'a> {
    fn kind(&self) -> u16 {
        match self {
            Self::SessionOpened(_) => 1,
            Self::Call(_) => 2,
            Self::Ended(_) => 3,
            Self::SessionClosed(_) => 4,
            Self::Device(_) => 5,
            Self::Posted(_) => 6,
        }
    }

    fn encode(&self) -> Result<Vec<u8>, postcard::Error> {
        match self {
            Self::SessionOpened(opened) => postcard::to_stdvec(opened),
            Self::Call(call) => postcard::to_stdvec(call),
            Self::Ended(ended) => postcard::to_stdvec(ended),
            Self::SessionClosed(closed) => postcard::to_stdvec(closed),
            Self::Device(device) => postcard::to_stdvec(device),
            Self::Posted(costs) => postcard::to_stdvec(costs),
        }
    }

    fn decode(kind: u16, head: &'a [u8]) -> Option<Result<(Self, &'a [u8]), postcard::Error>> {
        match kind {
            1 => head_as(head, Self::SessionOpened),
            2 => head_as(head, Self::Call),
            3 => head_as(head, Self::Ended),
            4 => head_as(head, Self::SessionClosed),
            5 => head_as(head, Self::Device),
            6 => head_as(head, Self::Posted),
            _ => None,
        }
    }

    fn announced(&self) -> Option<u64> {
        let (into, back) = self.payload_len()?;
        into.checked_add(back)
    }
}

/// What a record of a recording says; `None` if its kind is not known and it
/// may be skipped.
///
/// # Errors
/// As [`Stored::record`].
pub fn record(stored: &Stored) -> Result<Option<Record<'_>>, FileError> {
    stored.record()
}

#[cfg(test)]
mod tests;
