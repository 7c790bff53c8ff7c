//! The recording of a run: every request, answer and timing. No I/O here.
//!
//! A file is a header of [`HEADER_LEN`] bytes, then records until its end:
//!
//! | offset | size | header |
//! |---|---|---|
//! | 0 | 9 | magic, `gil-trace` |
//! | 9 | 3 | reserved, 0 |
//! | 12 | 4 | version of this layout |
//!
//! | offset | size | record |
//! |---|---|---|
//! | 0 | 4 | bytes of the head |
//! | 4 | 4 | CRC-32 (IEEE) of the two lengths, the head and the payload |
//! | 8 | 8 | bytes of the payload |
//! | 16 | … | the head: one postcard [`Record`] |
//! | … | … | the payload: region bytes, raw |
//!
//! All little-endian. A record is written whole before the answer it records
//! reaches the guest; after a crash the last one may be cut short or hold
//! bytes that its checksum refuses, and everything before it is good.

use gil_wire::Op;
use gil_wire::api::Described;
use gil_wire::message::{CallStatus, RegionDesc, Report};
use serde::{Deserialize, Serialize};

/// First bytes of a recording.
pub const MAGIC: [u8; 9] = *b"gil-trace";
/// Version of the layout.
pub const VERSION: u32 = 5;
/// Bytes before the first record.
pub const HEADER_LEN: usize = 16;
/// Bytes before a record's head.
pub const PREFIX_LEN: usize = 16;
/// Largest head accepted: a request and an answer of a frame's largest header.
pub const MAX_HEAD: u32 = 2 * gil_wire::frame::MAX_HEADER + 4096;
/// Largest payload accepted: a request's and an answer's.
pub const MAX_PAYLOAD: u64 = 2 * gil_wire::frame::MAX_PAYLOAD;

/// What happened, in the order of the doorbells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Record<'a> {
    /// A session was opened on the board. The run's sessions are numbered from
    /// 1 in this order.
    SessionOpened {
        /// Its number in this recording.
        session: u64,
        /// Guest process.
        process: u32,
        /// 32 or 64.
        pointer_bits: u32,
        /// What the board served.
        apis: Vec<Described>,
    },
    /// A call. Payload: the bytes of its regions that go in, in order; then
    /// the answer's payload as the board sent it.
    Call(#[serde(borrow)] Call<'a>),
    /// An operation that was awaited ended. Payload: its output, then its
    /// text, as the board sent them.
    Ended {
        /// The session's number in this recording.
        session: u64,
        /// How it ended.
        report: Report,
        /// Nanoseconds from decoded request to encoded reply.
        busy_ns: u64,
    },
    /// The session ended.
    SessionClosed {
        /// Its number in this recording.
        session: u64,
    },
}

/// One call and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call<'a> {
    /// The session's number in this recording.
    pub session: u64,
    /// As in [`Request::Call`](gil_wire::message::Request::Call).
    pub seq: u64,
    /// Which entry point.
    pub op: Op,
    /// The guest thread.
    pub thread: u32,
    /// Whether an answer was asked for.
    pub answer: bool,
    /// Whether operations were to end before the answer.
    pub finish: bool,
    /// The event that it signals.
    pub event: Option<u64>,
    /// The generated argument type, encoded.
    #[serde(borrow)]
    pub args: &'a [u8],
    /// The regions.
    pub regions: Vec<RegionDesc>,
    /// What the board answered; `None` for a post, and where the board was
    /// lost before it answered.
    pub done: Option<Done<'a>>,
}

/// A board's answer, as in [`Reply::Done`](gil_wire::message::Reply::Done).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done<'a> {
    /// How it ended.
    pub status: CallStatus,
    /// The generated reply type, encoded.
    #[serde(borrow)]
    pub result: &'a [u8],
    /// Nanoseconds of the API's function on the board's CPU.
    pub cpu_ns: u64,
    /// Nanoseconds from decoded request to encoded reply.
    pub busy_ns: u64,
    /// Bytes of each out region of the call itself.
    pub out: Vec<u64>,
    /// Operations that ended.
    pub reports: Vec<Report>,
    /// Whether the driver said something of a context.
    pub notices: bool,
}

impl Record<'_> {
    /// Bytes of payload that the head announces: into the board, and back.
    /// `None` if they overflow.
    pub fn payload_len(&self) -> Option<(u64, u64)> {
        let sum = |mut lens: Box<dyn Iterator<Item = Option<u64>> + '_>| {
            lens.try_fold(0u64, |sum, len| sum.checked_add(len?))
        };
        let call = match self {
            Self::Call(call) => call,
            Self::Ended { report, .. } => return Some((0, report.payload_len()?)),
            Self::SessionOpened { .. } | Self::SessionClosed { .. } => return Some((0, 0)),
        };
        let ins = call.regions.iter().filter(|r| r.dir.is_in());
        let outs = call.done.iter().flat_map(|done| {
            let own = done.out.iter().map(|&len| Some(len));
            own.chain(done.reports.iter().map(Report::payload_len))
        });
        Some((
            sum(Box::new(ins.map(|r| Some(r.len))))?,
            sum(Box::new(outs))?,
        ))
    }
}

/// Why a file is no recording, or where it ends to be one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// Another kind of file.
    #[error("the file is no gil recording (it begins with {0:02x?}): check the name")]
    Magic([u8; 9]),
    /// Another layout.
    #[error(
        "the recording has layout version {theirs}, this gil reads {ours}: record it again, or replay it with the release that made it"
    )]
    Version {
        /// This build's version.
        ours: u32,
        /// The file's version.
        theirs: u32,
    },
    /// A length is out of bounds.
    #[error(
        "a record of {head} + {payload} bytes exceeds the bounds of {MAX_HEAD} + {MAX_PAYLOAD}"
    )]
    Length {
        /// Bytes of the head.
        head: u64,
        /// Bytes of the payload.
        payload: u64,
    },
    /// The checksum disagrees.
    #[error("a record's checksum is {found:#010x}, its bytes have {computed:#010x}")]
    Checksum {
        /// In the file.
        found: u32,
        /// Of the bytes.
        computed: u32,
    },
    /// The head is no record.
    #[error("a record does not decode: {0}")]
    Decode(#[from] postcard::Error),
    /// The head announces other payload than follows.
    #[error("a record announces {announced} bytes of regions and has {found}")]
    Payload {
        /// By its head; `u64::MAX` if they overflow.
        announced: u64,
        /// By its prefix.
        found: u64,
    },
}

/// The header that this build writes.
pub fn header() -> [u8; HEADER_LEN] {
    let mut out = [0; HEADER_LEN];
    out[..9].copy_from_slice(&MAGIC);
    out[12..16].copy_from_slice(&VERSION.to_le_bytes());
    out
}

/// Checks a file's header.
///
/// # Errors
/// [`TraceError::Magic`] or [`TraceError::Version`].
pub fn check_header(bytes: &[u8; HEADER_LEN]) -> Result<(), TraceError> {
    let magic: [u8; 9] = bytes[..9].try_into().expect("9 bytes");
    if magic != MAGIC {
        return Err(TraceError::Magic(magic));
    }
    let theirs = u32::from_le_bytes(bytes[12..16].try_into().expect("4 bytes"));
    if theirs != VERSION {
        return Err(TraceError::Version {
            ours: VERSION,
            theirs,
        });
    }
    Ok(())
}

/// What stands before a record's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Bytes of the head.
    pub head_len: u32,
    /// Checksum of the lengths, the head and the payload.
    pub crc32: u32,
    /// Bytes of the payload.
    pub payload_len: u64,
}

impl Prefix {
    /// The bytes to write.
    pub fn encode(self) -> [u8; PREFIX_LEN] {
        let mut out = [0; PREFIX_LEN];
        out[..4].copy_from_slice(&self.head_len.to_le_bytes());
        out[4..8].copy_from_slice(&self.crc32.to_le_bytes());
        out[8..].copy_from_slice(&self.payload_len.to_le_bytes());
        out
    }

    /// Reads and bounds a file's lengths.
    ///
    /// # Errors
    /// [`TraceError::Length`].
    pub fn decode(bytes: &[u8; PREFIX_LEN]) -> Result<Self, TraceError> {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let prefix = Self {
            head_len: word(0),
            crc32: word(4),
            payload_len: u64::from_le_bytes(bytes[8..].try_into().expect("8 bytes")),
        };
        prefix.bounded()
    }

    fn bounded(self) -> Result<Self, TraceError> {
        if self.head_len > MAX_HEAD || self.payload_len > MAX_PAYLOAD {
            return Err(TraceError::Length {
                head: self.head_len.into(),
                payload: self.payload_len,
            });
        }
        Ok(self)
    }

    /// Begins the record's checksum; the head and the payload follow with
    /// [`Checksum::update`].
    pub fn checksum(self) -> Checksum {
        let mut crc = Checksum(crc32fast::Hasher::new());
        crc.update(&self.head_len.to_le_bytes());
        crc.update(&self.payload_len.to_le_bytes());
        crc
    }
}

/// A record's checksum on its way.
#[derive(Clone, Debug)]
pub struct Checksum(crc32fast::Hasher);

impl Checksum {
    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Compares with what the file says.
    ///
    /// # Errors
    /// [`TraceError::Checksum`] with both values.
    pub fn check(self, prefix: Prefix) -> Result<(), TraceError> {
        let (found, computed) = (prefix.crc32, self.0.finalize());
        if found != computed {
            return Err(TraceError::Checksum { found, computed });
        }
        Ok(())
    }
}

/// The bytes of prefix and head. The caller writes them, then the payload's
/// pieces in the same order, so that no region byte is copied.
///
/// # Errors
/// [`TraceError::Length`] if a bound is exceeded, [`TraceError::Payload`] if
/// the pieces are not what the head announces.
pub fn begin(record: &Record<'_>, payload: &[&[u8]]) -> Result<Vec<u8>, TraceError> {
    begin_with(record, announced(record), payload)
}

/// The same of a head that announces so many bytes of payload; `None` if they
/// overflow.
pub(crate) fn begin_with(
    record: &impl Serialize,
    announced: Option<u64>,
    payload: &[&[u8]],
) -> Result<Vec<u8>, TraceError> {
    let mut out = postcard::to_extend(record, vec![0; PREFIX_LEN])?;
    let head = &out[PREFIX_LEN..];
    let mut prefix = Prefix {
        head_len: u32::try_from(head.len()).unwrap_or(u32::MAX),
        crc32: 0,
        payload_len: payload.iter().map(|piece| piece.len() as u64).sum(),
    }
    .bounded()?;
    check_payload(announced, prefix.payload_len)?;
    let mut crc = prefix.checksum();
    crc.update(head);
    payload.iter().for_each(|piece| crc.update(piece));
    prefix.crc32 = crc.0.finalize();
    out[..PREFIX_LEN].copy_from_slice(&prefix.encode());
    Ok(out)
}

/// Reads a record's head. The caller checks the checksum.
///
/// # Errors
/// [`TraceError::Decode`], or [`TraceError::Payload`] if it announces other
/// payload than the prefix.
pub fn head<'a>(prefix: Prefix, bytes: &'a [u8]) -> Result<Record<'a>, TraceError> {
    let record = postcard::from_bytes(bytes)?;
    check_payload(announced(&record), prefix.payload_len)?;
    Ok(record)
}

fn announced(record: &Record<'_>) -> Option<u64> {
    let (into, back) = record.payload_len()?;
    into.checked_add(back)
}

/// Compares with what a head announces; `None` if it overflows.
pub(crate) fn check_payload(announced: Option<u64>, found: u64) -> Result<(), TraceError> {
    let announced = announced.unwrap_or(u64::MAX);
    if announced != found {
        return Err(TraceError::Payload { announced, found });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
