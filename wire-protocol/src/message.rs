//! The messages of a connection. One connection is one session: the board's
//! side of one guest address space.

use crate::Op;
use crate::checkpoint::{PastEvent, Survey};
use crate::description::Described;
use crate::ending::Ending;
use crate::finish::Finish;
use crate::identity::{DeviceIdentity, DeviceInfo};
use crate::status::Status;
use serde::{Deserialize, Serialize};

/// Which way a region's bytes go, seen from the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u32)]
pub enum Direction {
    /// The board reads it.
    In = 1,
    /// The board writes it.
    Out = 2,
    /// Both.
    InOut = 3,
}

impl Report {
    /// Bytes of payload that it announces; `None` if they overflow.
    pub fn payload_len(&self) -> Option<u64> {
        let mut lens = self.out.iter().copied().chain([self.printed]);
        lens.try_fold(0u64, |sum, len| sum.checked_add(len))
    }
}

impl Direction {
    /// From the number in the driver's structures.
    pub const fn from_raw(raw: u32) -> Option<Self> {
        match raw {
            1 => Some(Self::In),
            2 => Some(Self::Out),
            3 => Some(Self::InOut),
            _ => None,
        }
    }

    /// Whether bytes travel to the board.
    pub const fn is_in(self) -> bool {
        !matches!(self, Self::Out)
    }

    /// Whether bytes come back.
    pub const fn is_out(self) -> bool {
        !matches!(self, Self::In)
    }
}

/// A pointer argument's memory in the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionDesc {
    /// Bytes.
    pub len: u64,
    /// Their direction.
    pub dir: Direction,
}

/// Most regions of a call: as many as a submission of the guest's driver has.
pub const REGIONS_MAX: usize = 64;

/// One call, as a host has a board make it, and as recordings and checkpoints
/// keep it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call<'a> {
    /// The submission's number; a post shares its submission's.
    pub seq: u64,
    /// The entry point.
    pub op: Op,
    /// The guest thread.
    pub thread: u32,
    /// Whether [`Reply::Done`] is wanted. Posts get none.
    pub answer: bool,
    /// Whether operations that the call enqueues or unblocks end before it
    /// is answered, and are in its reports. If not, each is asked for with
    /// [`Request::Await`]. One that waits for a user event nobody has set
    /// is never waited for.
    pub finish: bool,
    /// The event that it signals, if any: names its operation.
    pub event: Option<u64>,
    /// The generated argument type, encoded.
    #[serde(borrow)]
    pub args: &'a [u8],
    /// The regions, `In` and `InOut` bytes in the payload.
    pub regions: Vec<RegionDesc>,
}

impl Call<'_> {
    /// The same call with its arguments elsewhere.
    pub fn with_args(self, args: &[u8]) -> Call<'_> {
        let Self {
            seq,
            op,
            thread,
            answer,
            finish,
            event,
            args: _,
            regions,
        } = self;
        Call {
            seq,
            op,
            thread,
            answer,
            finish,
            event,
            args,
            regions,
        }
    }
}

/// Host to board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request<'a> {
    /// A session begins. Answered by [`Reply::Opened`].
    Open {
        /// Guest process, for logs.
        process: u32,
        /// 32 or 64: width of the guest program's pointers.
        pointer_bits: u32,
        /// When the board waits for its device.
        finish: Finish,
    },
    /// One call. Payload: the bytes of the regions that go in, in order.
    Call(#[serde(borrow)] Call<'a>),
    /// Waits until an operation ends that was not reported yet. Answered by
    /// [`Reply::Ended`].
    Await {
        /// The event that it signals.
        event: u64,
    },
    /// A round trip that runs nothing. Answered by [`Reply::Pong`].
    Ping {
        /// Returned as it came.
        nonce: u64,
    },
    /// What the board has. Answered by [`Reply::Devices`].
    Devices,
    /// Which physical device an API's device is. Answered by
    /// [`Reply::Identity`].
    Identify {
        /// The API.
        api: u16,
        /// The device's number in this session.
        device: u64,
    },
    /// What a checkpoint of the session has to keep. Answered by
    /// [`Reply::Survey`].
    Survey,
    /// What an object of the survey holds. Answered by [`Reply::Contents`].
    Fetch {
        /// Its API.
        api: u16,
        /// Its number.
        object: u64,
    },
    /// An object holds this again. Payload: as it was fetched. Answered by
    /// [`Reply::Restored`].
    Fill {
        /// Its API.
        api: u16,
        /// Its number.
        object: u64,
        /// Bytes of payload.
        len: u64,
    },
    /// An event of an operation that ended before exists again. Answered by
    /// [`Reply::Restored`].
    Past {
        /// The event.
        event: PastEvent,
    },
    /// The next object of an API that the board numbers gets this number.
    /// Answered by [`Reply::Restored`].
    NumberFrom {
        /// The API.
        api: u16,
        /// The number.
        number: u64,
    },
    /// The session ends; everything it made is released.
    Close,
    /// Asks for the agent's status. Answered by [`Reply::Status`].
    Status,
}

/// Most operations whose ends one [`Reply::Ended`] says.
pub const ENDED_MAX: usize = 1024;

/// Most bytes of text that one operation's kernels print: what exceeds them is
/// cut.
pub const PRINTED_MAX: u64 = 1_048_576;

/// How an operation that the board enqueued ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The event that it signals.
    pub event: u64,
    /// Nanoseconds on the device, from its own timers.
    pub duration_ns: u64,
    /// How it ended.
    pub ending: Ending,
    /// Bytes of each of the call's out regions, in order, that follow in the
    /// payload. Empty for an operation without output, and in the answer to
    /// its own call, whose `out` has them.
    pub out: Vec<u64>,
    /// Bytes of text that its kernels printed, at most [`PRINTED_MAX`]; they
    /// follow its output in the payload.
    pub printed: u64,
    /// Whether its call was refused with this failure: nothing was enqueued. In
    /// the call's own answer, the result says so too; else a notice says more.
    pub rejected: bool,
}

/// How a call ended on the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallStatus {
    /// It ran; the result says how.
    Ran,
    /// It was not run: the arguments do not decode or name what is not there.
    Refused,
    /// The device or its driver is gone; the session is over.
    Lost,
    /// It was not run: the board has nothing that takes calls of its API, for
    /// want of a driver, say. Calls of other APIs go on.
    NotServed,
}

/// A board's answer to one call, as its host uses it and recordings keep it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done<'a> {
    /// How the call ended.
    pub status: CallStatus,
    /// The generated reply type, encoded. If it did not run: one sentence that
    /// says why, in UTF-8.
    #[serde(borrow)]
    pub result: &'a [u8],
    /// Nanoseconds the API's function itself took on the board's CPU.
    pub cpu_ns: u64,
    /// Nanoseconds from the decoded request to the encoded reply, on the
    /// board's clock: what the host subtracts from its own waiting.
    pub busy_ns: u64,
    /// Bytes of each out region of this call that follow now; a region whose
    /// bytes come with a later report, or that the call left untouched, has 0.
    pub out: Vec<u64>,
    /// Operations that ended, this call's own included.
    pub reports: Vec<Report>,
    /// Whether the driver said something of a context since the answer before,
    /// which the guest may ask for.
    pub notices: bool,
}

/// What calls of one entry point took on the board's CPU that have no answer of
/// their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Posted {
    /// The entry point.
    pub op: Op,
    /// How many they were.
    pub calls: u32,
    /// Nanoseconds of all of them.
    pub cpu_ns: u64,
    /// Nanoseconds of the longest.
    pub longest_ns: u64,
}

/// Most entry points that one answer says this of.
pub const POSTED_MAX: usize = 1024;

/// Board to host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply<'a> {
    /// The session is open.
    Opened {
        /// The APIs that the board serves.
        apis: Vec<Described>,
    },
    /// A call's answer. Payload: first the bytes of the call's own out regions
    /// (`out`), then those of each report, in order: its output, its text.
    Done {
        /// The call's number.
        seq: u64,
        /// The call's result.
        #[serde(borrow)]
        done: Done<'a>,
        /// What calls without an answer took since the answer before, an entry
        /// point each: parts of the call's own time.
        posted: Vec<Posted>,
        /// A number that equal work has in common, such as the compilation of the same
        /// sources with the same options for the same device: in simulated time it takes
        /// what it took the first time. `None` for all else.
        work: Option<u64>,
    },
    /// An awaited operation ended. Payload: of each report, in order, its
    /// output, then its text.
    Ended {
        /// How it ended, and behind that how others ended that had by then, which
        /// are not asked for any more. At most [`ENDED_MAX`].
        reports: Vec<Report>,
        /// Nanoseconds from the decoded request to the encoded reply, on the
        /// board's clock.
        busy_ns: u64,
    },
    /// [`Request::Ping`]'s number.
    Pong {
        /// As it came.
        nonce: u64,
    },
    /// Which physical device it is; `None` if it is known to this session
    /// alone, as one made by partition is, or to nobody.
    Identity {
        /// The device's identity, as far as it is known.
        identity: Option<DeviceIdentity>,
    },
    /// What a checkpoint has to keep.
    Survey(Survey),
    /// What an object holds is the payload.
    Contents,
    /// Something of a checkpoint is there again.
    Restored,
    /// Something of a checkpoint cannot be had; the session goes on. One
    /// sentence says why.
    Unable {
        /// For the user.
        reason: String,
    },
    /// What the board has, a line a device.
    Devices {
        /// One description a device.
        devices: Vec<DeviceInfo>,
    },
    /// The connection ends; one sentence says why.
    Refused {
        /// For the user.
        reason: String,
    },
    /// The agent's status.
    Status(Status),
    /// The connection ends, and so must the run: the board answers from a recording, and
    /// the request is none that was recorded. One sentence says where they part.
    Departed {
        /// For the user.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_have_the_drivers_numbers() {
        let all = [Direction::In, Direction::Out, Direction::InOut];
        assert_eq!(
            all.map(|dir| Direction::from_raw(dir as u32)),
            all.map(Some)
        );
        assert_eq!([0, 4].map(Direction::from_raw), [None, None]);
        assert_eq!(all.map(Direction::is_in), [true, false, true]);
        assert_eq!(all.map(Direction::is_out), [false, true, true]);
    }

    #[test]
    fn an_answer_stands_behind_its_calls_number() {
        let done = Done {
            status: CallStatus::Refused,
            result: b"why",
            cpu_ns: 1,
            busy_ns: 2,
            out: vec![3, 4],
            reports: vec![Report::default()],
            notices: true,
        };
        let alone = postcard::to_stdvec(&done).unwrap();
        assert_eq!(
            alone,
            b"\x01\x03why\x01\x02\x02\x03\x04\x01\0\0\0\0\0\0\x01"
        );
        let posted = vec![Posted {
            op: Op(6),
            calls: 7,
            cpu_ns: 8,
            longest_ns: 9,
        }];
        let reply = Reply::Done {
            seq: 5,
            done,
            posted,
            work: Some(9),
        };
        let reply = postcard::to_stdvec(&reply).unwrap();
        assert_eq!(
            reply,
            [&[1, 5], &alone[..], &[1, 6, 7, 8, 9, 1, 9]].concat(),
            "what recordings keep stands alone"
        );
    }

    #[test]
    fn a_reports_payload_is_its_output_and_its_text() {
        let report = |out, printed| Report {
            out,
            printed,
            ..Report::default()
        };
        assert_eq!(report(vec![3, 5], 7).payload_len(), Some(15));
        assert_eq!(report(vec![u64::MAX], 0).payload_len(), Some(u64::MAX));
        assert_eq!(report(vec![u64::MAX], 1).payload_len(), None);
    }
}
