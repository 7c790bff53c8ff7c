//! What a simulator's checkpoint keeps of sessions.
//!
//! The file is a header of [`HEADER_LEN`] bytes, then records, each as in a
//! [recording](crate::recording): a prefix with lengths and checksum, one postcard
//! [`Record`], a payload. [`Record::End`] is the last one: a file without it is
//! not whole.

use crate::recording::{self, HEADER_LEN, Prefix, TraceError};
use gil_wire::Op;
use gil_wire::api::Described;
use gil_wire::checkpoint::{Contents, PastEvent};
use gil_wire::message::{DeviceInfo, RegionDesc};
use serde::{Deserialize, Serialize};

/// First bytes of the file.
pub const MAGIC: [u8; 9] = *b"gil-state";
/// Version of its layout.
pub const VERSION: u32 = 2;
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
    /// 0, or the API's negative error code.
    pub status: i32,
}

/// One record of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Record<'a> {
    /// The first one.
    Begin {
        /// The board's devices.
        devices: Vec<DeviceInfo>,
    },
    /// A session; the records up to the next one are its own. Payload: text
    /// that its kernels printed and the program has not got yet.
    Session(Session),
    /// A call that made objects or said something of them. Payload: the bytes
    /// of its regions that go in, but for the one in `contents`.
    Call(#[serde(borrow)] Call<'a>),
    /// What an object holds: the payload.
    Contents(Contents),
    /// An operation that ended, as the board knows it.
    Past(PastEvent),
    /// The same, as the timeline knows it.
    Ran(Ran),
    /// The last one.
    End {
        /// How many records stand before it.
        records: u64,
    },
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
    /// Whether the driver has something to tell the program.
    pub notices: bool,
    /// Operations that somebody waits for although they ended.
    pub awaited: Vec<Awaited>,
    /// The first failure on a queue that nobody heard of: queue, event, status.
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

/// A call, as the board got it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call<'a> {
    /// As in [`Request::Call`](gil_wire::message::Request::Call).
    pub seq: u64,
    /// Which entry point.
    pub op: Op,
    /// The guest thread.
    pub thread: u32,
    /// The event that it signals.
    pub event: Option<u64>,
    /// The generated argument type, encoded.
    #[serde(borrow)]
    pub args: &'a [u8],
    /// The regions.
    pub regions: Vec<RegionDesc>,
    /// The region that only says what an object holds at first: its bytes are
    /// not here.
    pub contents: Option<u32>,
    /// The number of the first object, if the board numbered it.
    pub found: Option<u64>,
    /// What the board answered; `None` for a post.
    #[serde(borrow)]
    pub result: Option<&'a [u8]>,
}

impl Call<'_> {
    /// Bytes of each region that is here; `None` if they overflow.
    pub fn payload_len(&self) -> Option<u64> {
        let kept = self.regions.iter().enumerate();
        let kept = kept.filter(|(index, region)| {
            region.dir.is_in() && self.contents != u32::try_from(*index).ok()
        });
        kept.map(|(_, region)| region.len)
            .try_fold(0u64, u64::checked_add)
    }
}

impl Record<'_> {
    fn payload_len(&self) -> Option<u64> {
        match self {
            Self::Session(session) => Some(session.printed),
            Self::Call(call) => call.payload_len(),
            Self::Contents(contents) => Some(contents.len),
            Self::Begin { .. } | Self::Past(_) | Self::Ran(_) | Self::End { .. } => Some(0),
        }
    }
}

/// Why a file is no checkpoint of sessions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// Another kind of file.
    #[error("it is no state of gil's sessions (it begins with {0:02x?})")]
    Magic([u8; 9]),
    /// Another layout.
    #[error(
        "its layout is of version {0}, this gil reads {VERSION}: take the checkpoint again, or restore it with the release that made it"
    )]
    Version(u32),
    /// A record is damaged.
    #[error(transparent)]
    Record(#[from] TraceError),
}

/// The header that this build writes.
pub fn header() -> [u8; HEADER_LEN] {
    let mut out = recording::header();
    out[..9].copy_from_slice(&MAGIC);
    out[12..16].copy_from_slice(&VERSION.to_le_bytes());
    out
}

/// Checks a file's header.
///
/// # Errors
/// [`StateError::Magic`] or [`StateError::Version`].
pub fn check_header(bytes: &[u8; HEADER_LEN]) -> Result<(), StateError> {
    let magic: [u8; 9] = bytes[..9].try_into().expect("9 bytes");
    let version = u32::from_le_bytes(bytes[12..16].try_into().expect("4 bytes"));
    match () {
        () if magic != MAGIC => Err(StateError::Magic(magic)),
        () if version != VERSION => Err(StateError::Version(version)),
        () => Ok(()),
    }
}

/// The bytes of prefix and head; the payload's pieces follow.
///
/// # Errors
/// [`TraceError::Length`], [`TraceError::Payload`].
pub fn begin(record: &Record<'_>, payload: &[&[u8]]) -> Result<Vec<u8>, StateError> {
    Ok(recording::begin_with(
        record,
        record.payload_len(),
        payload,
    )?)
}

/// Reads a record's head, whose checksum was checked with its payload's.
///
/// # Errors
/// [`TraceError::Decode`], [`TraceError::Payload`].
pub fn head(prefix: Prefix, bytes: &[u8]) -> Result<Record<'_>, StateError> {
    let record: Record<'_> = postcard::from_bytes(bytes).map_err(TraceError::from)?;
    recording::check_payload(record.payload_len(), prefix.payload_len)?;
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::PREFIX_LEN;
    use gil_wire::message::Direction;
    use proptest::prelude::*;

    fn call(contents: Option<u32>) -> Record<'static> {
        let region = |len, dir| RegionDesc { len, dir };
        Record::Call(Call {
            seq: 4,
            op: Op::new(1, 15),
            thread: 2,
            event: None,
            args: b"arguments",
            regions: vec![region(3, Direction::In), region(9, Direction::Out)],
            contents,
            found: None,
            result: Some(&[0]),
        })
    }

    fn read(bytes: &[u8]) -> Result<Record<'_>, StateError> {
        let (prefix, rest) = bytes.split_first_chunk::<PREFIX_LEN>().expect("a prefix");
        let prefix = Prefix::decode(prefix)?;
        let (record, payload) = rest.split_at(prefix.head_len as usize);
        let mut crc = prefix.checksum();
        crc.update(record);
        crc.update(payload);
        crc.check(prefix)?;
        head(prefix, record)
    }

    #[test]
    fn records_come_back_with_their_payload() {
        let mut bytes = begin(&call(None), &[b"ab", b"c"]).unwrap();
        bytes.extend(b"abc");
        assert_eq!(read(&bytes).unwrap(), call(None));
        *bytes.last_mut().unwrap() ^= 1;
        let damaged = StateError::Record(TraceError::Checksum {
            found: 0,
            computed: 0,
        });
        let error = read(&bytes).unwrap_err();
        assert_eq!(
            std::mem::discriminant(&error),
            std::mem::discriminant(&damaged)
        );
        assert!(
            begin(&call(Some(0)), &[]).is_ok(),
            "its first contents are left out"
        );
        assert!(begin(&call(None), &[b"ab"]).is_err());
    }

    #[test]
    fn other_files_are_named() {
        assert_eq!(check_header(&header()), Ok(()));
        let refused = |at: usize| {
            let mut bytes = header();
            bytes[at] ^= 1;
            check_header(&bytes).unwrap_err()
        };
        assert!(matches!(refused(0), StateError::Magic(_)));
        assert_eq!(refused(12), StateError::Version(VERSION ^ 1));
        assert!(check_header(&recording::header()).is_err());
    }

    proptest! {
        #[test]
        fn any_head_is_read_or_refused(bytes: Vec<u8>, payload_len: u64) {
            let prefix = Prefix { head_len: bytes.len() as u32, crc32: 0, payload_len };
            let _ = head(prefix, &bytes);
        }
    }
}
