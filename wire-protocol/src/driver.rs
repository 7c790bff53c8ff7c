//! Calls of a GPU's kernel driver: one API a driver, whose entries are gil's own calls
//! and the driver's ioctls. All numbers are little-endian, with nothing between them.
//!
//! | entry | class | arguments | answer |
//! |---|---|---|---|
//! | [`OPEN`] | sync | a file's number | [`Opened`] |
//! | [`CLOSE`] | post | [`Closed`] | |
//! | [`FREE`] | post | a buffer's number | |
//! | [`CHANGED`] | post | a buffer's number; its bytes as a region | |
//! | [`FETCH`] | enqueue | [`Fetch`]; a region for each buffer's bytes | [`Fetched`] |
//! | [`IOCTLS`] + an ioctl's number | by its table | [`Ioctl`] | [`Answer`] |
//!
//! The guest's driver numbers files and buffers, from 1, and uses no number twice. Where
//! an argument has a buffer's handle, there is the number instead.
//!
//! [`FETCH`] is a marker that has ended when the driver's wait for its first buffer has.
//! [`WAIT`] is answered by the host. Between host and board, bytes of
//! buffers are [differences](crate::differences) from what the other side has.

use crate::Op;
use crate::state::Effect;
use crate::subject::Subject;

/// The module of a board that serves all of them.
pub const BACK_END: &str = "drivers";

/// A program opened the node.
pub const OPEN: u16 = 1;
/// It closed it.
pub const CLOSE: u16 = 2;
/// Nobody has a buffer any more.
pub const FREE: u16 = 3;
/// A buffer's bytes, which the guest may have written.
pub const CHANGED: u16 = 4;
/// A wait for a job, which the host answers.
pub const WAIT: u16 = 5;
/// What the board has in buffers, when jobs have ended.
pub const FETCH: u16 = 6;
/// The entry of the ioctl of number 0.
pub const IOCTLS: u16 = 16;

/// Set in the length of memory whose bytes are the call's next region.
pub const IN_REGION: u32 = 1 << 31;
/// Most bytes of an ioctl's argument: its number says the size in 14 bits.
pub const ARGUMENT_MAX: usize = (1 << 14) - 1;

/// Most buffers of one [`FETCH`].
pub const FETCH_MOST: usize = 16;

/// What a call leaves behind for a checkpoint: nothing. A driver's memory and its jobs
/// cannot be kept.
pub fn effect(_op: Op, _args: &[u8], _result: Option<&[u8]>) -> Option<Effect> {
    None
}

/// The queue of a call: jobs go to processors, which are no queues of the program's.
pub fn queue(_op: Op, _args: &[u8]) -> Option<u64> {
    None
}

/// What a call says of names: nothing.
pub fn subject(_op: Op, _args: &[u8]) -> Option<Subject<'_>> {
    None
}

/// Bytes that are no call of a driver, or no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// They end too early.
    #[error("{len} bytes at offset {at} run past the call's {total}")]
    Short {
        /// Where they begin.
        at: usize,
        /// How many are missing or not.
        len: usize,
        /// Bytes of the call.
        total: usize,
    },
    /// They do not end.
    #[error("{0} bytes follow the call")]
    Trailing(usize),
    /// An argument that no ioctl has.
    #[error("an argument of {0} bytes: an ioctl has {ARGUMENT_MAX} at most")]
    Argument(u32),
    /// As many buffers as no [`FETCH`] has.
    #[error("{0} buffers: a call fetches 1 to {FETCH_MOST}")]
    Fetch(usize),
    /// An address at which no window begins.
    #[error("a window at GPU address {0:#x}: each begins at a multiple of 1 MiB")]
    Window(u64),
    /// Memory that is written and comes in a region.
    #[error("memory of {0:#x} bytes to write: there is no region for it")]
    Room(u32),
}

/// Reads a call from its first byte to its last.
struct Reader<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn of(all: &'a [u8]) -> Self {
        Self { all, at: 0 }
    }

    fn bytes(&mut self, len: u32) -> Result<&'a [u8], DriverError> {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let rest = self.all.get(self.at..).unwrap_or_default();
        let bytes = rest.get(..len).ok_or(DriverError::Short {
            at: self.at,
            len,
            total: self.all.len(),
        })?;
        self.at += len;
        Ok(bytes)
    }

    fn word(&mut self) -> Result<u32, DriverError> {
        let bytes = self.bytes(4)?;
        let word = bytes.first_chunk().copied().unwrap_or_default();
        Ok(u32::from_le_bytes(word))
    }

    /// Bytes behind their number.
    fn argument(&mut self) -> Result<&'a [u8], DriverError> {
        match self.word()? {
            len if len as usize > ARGUMENT_MAX => Err(DriverError::Argument(len)),
            len => self.bytes(len),
        }
    }

    /// As many words as a fetch has buffers, behind their number.
    fn words(&mut self) -> Result<Vec<u32>, DriverError> {
        match self.word()? as usize {
            count @ 1..=FETCH_MOST => (0..count).map(|_| self.word()).collect(),
            count => Err(DriverError::Fetch(count)),
        }
    }

    fn end(self) -> Result<(), DriverError> {
        match self.all.len() - self.at {
            0 => Ok(()),
            trailing => Err(DriverError::Trailing(trailing)),
        }
    }
}

fn push(out: &mut Vec<u8>, word: u32) {
    out.extend_from_slice(&word.to_le_bytes());
}

/// Bytes behind their number. None are longer than a call.
fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    push(out, bytes.len() as u32);
    out.extend_from_slice(bytes);
}

/// The number of a file or a buffer: all that the arguments of most of gil's own calls are.
///
/// # Errors
/// [`DriverError`].
pub fn number(args: &[u8]) -> Result<u32, DriverError> {
    let mut reader = Reader::of(args);
    let number = reader.word()?;
    reader.end()?;
    Ok(number)
}

/// The arguments of [`CLOSE`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Closed {
    /// The file's number.
    pub file: u32,
    /// How many ioctls programs called on it, those included that the guest's kernel
    /// answers by itself.
    pub ioctls: u32,
}

impl Closed {
    /// As they travel.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        push(&mut out, self.file);
        push(&mut out, self.ioctls);
        out
    }

    /// Reads them.
    ///
    /// # Errors
    /// [`DriverError`].
    pub fn parse(args: &[u8]) -> Result<Self, DriverError> {
        let mut reader = Reader::of(args);
        let (file, ioctls) = (reader.word()?, reader.word()?);
        reader.end()?;
        Ok(Self { file, ioctls })
    }
}

/// The answer to [`OPEN`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// 0, or a negative error number.
    pub result: i32,
    /// Of the board's driver: major, minor, patch level.
    pub version: [u32; 3],
}

impl Opened {
    /// As it travels.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        push(&mut out, self.result.cast_unsigned());
        self.version.iter().for_each(|word| push(&mut out, *word));
        out
    }

    /// Reads one.
    ///
    /// # Errors
    /// [`DriverError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, DriverError> {
        let mut reader = Reader::of(bytes);
        let result = reader.word()?.cast_signed();
        let version = [reader.word()?, reader.word()?, reader.word()?];
        reader.end()?;
        Ok(Self { result, version })
    }
}

/// The arguments of [`FETCH`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The file whose wait is called.
    pub file: u32,
    /// The buffers' numbers. The driver waits for the first; of the others, those come
    /// that no job uses then.
    pub buffers: Vec<u32>,
}

impl Fetch {
    /// As they travel.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        push(&mut out, self.file);
        push(&mut out, self.buffers.len() as u32);
        self.buffers.iter().for_each(|word| push(&mut out, *word));
        out
    }

    /// Reads them.
    ///
    /// # Errors
    /// [`DriverError`].
    pub fn parse(args: &[u8]) -> Result<Self, DriverError> {
        let mut reader = Reader::of(args);
        let (file, buffers) = (reader.word()?, reader.words()?);
        reader.end()?;
        Ok(Self { file, buffers })
    }
}

/// The answer to [`FETCH`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// Wall time of the board, in nanoseconds, for reading, comparing and writing buffers
    /// since it answered the last one.
    pub compare_ns: u64,
    /// For each buffer 0, or the negative error number of its wait: it does not come then.
    pub results: Vec<i32>,
}

impl Fetched {
    /// As it travels.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&self.compare_ns.to_le_bytes());
        push(&mut out, self.results.len() as u32);
        let results = self.results.iter();
        results.for_each(|result| push(&mut out, result.cast_unsigned()));
        out
    }

    /// Reads one.
    ///
    /// # Errors
    /// [`DriverError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, DriverError> {
        let mut reader = Reader::of(bytes);
        let [low, high] = [reader.word()?, reader.word()?].map(u64::from);
        let results = reader.words()?.into_iter();
        reader.end()?;
        Ok(Self {
            compare_ns: high << 32 | low,
            results: results.map(u32::cast_signed).collect(),
        })
    }
}

/// Memory that an argument points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory<'a> {
    /// What the driver reads.
    Bytes(&'a [u8]),
    /// So many bytes that it reads: the call's next region.
    Region(u32),
    /// So many bytes that it may write.
    Room(u32),
}

/// The arguments of an ioctl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ioctl<'a> {
    /// The file.
    pub file: u32,
    /// The argument as the program has it; numbers instead of handles of buffers.
    pub argument: &'a [u8],
    /// The memory that it points to, in the order of the pointers.
    pub memory: Vec<Memory<'a>>,
}

impl<'a> Ioctl<'a> {
    /// As they travel.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        push(&mut out, self.file);
        push_bytes(&mut out, self.argument);
        for memory in &self.memory {
            match memory {
                Memory::Bytes(bytes) => push_bytes(&mut out, bytes),
                Memory::Region(len) => push(&mut out, len | IN_REGION),
                Memory::Room(len) => push(&mut out, *len),
            }
        }
        out
    }

    /// Reads them, of an ioctl whose argument has a pointer for each of `outs`: whether
    /// the driver writes the memory there.
    ///
    /// # Errors
    /// [`DriverError`].
    pub fn parse(
        args: &'a [u8],
        outs: impl IntoIterator<Item = bool>,
    ) -> Result<Self, DriverError> {
        let mut reader = Reader::of(args);
        let (file, argument) = (reader.word()?, reader.argument()?);
        let memory = outs
            .into_iter()
            .map(|is_out| memory(&mut reader, is_out))
            .collect::<Result<_, _>>()?;
        reader.end()?;
        Ok(Self {
            file,
            argument,
            memory,
        })
    }
}

fn memory<'a>(reader: &mut Reader<'a>, is_out: bool) -> Result<Memory<'a>, DriverError> {
    let len = reader.word()?;
    let in_region = len & IN_REGION != 0;
    Ok(match (is_out, in_region) {
        (true, true) => return Err(DriverError::Room(len)),
        (true, false) => Memory::Room(len),
        (false, true) => Memory::Region(len & !IN_REGION),
        (false, false) => Memory::Bytes(reader.bytes(len)?),
    })
}

/// The answer to an ioctl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    /// What the ioctl returned, or a negative error number.
    pub result: i32,
    /// The argument after it, as long as it came; pointers have no meaning.
    pub argument: &'a [u8],
    /// What the driver wrote, for each pointer to such memory; nothing if it refused.
    pub written: Vec<&'a [u8]>,
}

impl<'a> Answer<'a> {
    /// As it travels.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        push(&mut out, self.result.cast_unsigned());
        push_bytes(&mut out, self.argument);
        let written = self.written.iter();
        written.for_each(|bytes| push_bytes(&mut out, bytes));
        out
    }

    /// Reads one to an ioctl with so many pointers to memory that is written.
    ///
    /// # Errors
    /// [`DriverError`].
    pub fn parse(bytes: &'a [u8], outs: usize) -> Result<Self, DriverError> {
        let mut reader = Reader::of(bytes);
        let (result, argument) = (reader.word()?.cast_signed(), reader.argument()?);
        let mut written = Vec::new();
        for _ in 0..outs {
            let len = reader.word()?;
            written.push(reader.bytes(len)?);
        }
        reader.end()?;
        Ok(Self {
            result,
            argument,
            written,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api;
    use crate::generated::virtio_gpu;
    use proptest::prelude::*;

    #[test]
    fn calls_have_the_names_that_c_has() {
        let name = |entry| Op::new(virtio_gpu::API, entry).to_string();
        assert_eq!(name(OPEN), "gilDriverOpen");
        assert_eq!(name(CLOSE), "gilDriverClose");
        assert_eq!(name(FREE), "gilDriverFree");
        assert_eq!(name(CHANGED), "gilDriverChanged");
        assert_eq!(name(WAIT), "gilDriverWait");
        assert_eq!(name(FETCH), "gilDriverFetch");
        assert_eq!(name(IOCTLS + 2), "VIRTGPU_EXECBUFFER");
        assert_eq!(virtio_gpu::VIRTGPU_EXECBUFFER.entry(), IOCTLS + 2);
        let api = api::api(virtio_gpu::API).unwrap();
        assert_eq!((api.title, api.back_end), ("virtio_gpu driver", BACK_END));
    }

    #[test]
    fn calls_are_these_bytes() {
        let call = Ioctl {
            file: 7,
            argument: b"arg",
            memory: vec![Memory::Bytes(b"in"), Memory::Room(4), Memory::Region(9)],
        };
        let bytes = b"\x07\0\0\0\x03\0\0\0arg\x02\0\0\0in\x04\0\0\0\x09\0\0\x80";
        assert_eq!(call.encode(), bytes);
        let answer = Answer {
            result: -2,
            argument: b"arg",
            written: vec![b"out"],
        };
        let bytes = b"\xfe\xff\xff\xff\x03\0\0\0arg\x03\0\0\0out";
        assert_eq!(answer.encode(), bytes);
        let opened = Opened {
            result: -13,
            version: [1, 2, 3],
        };
        let bytes = b"\xf3\xff\xff\xff\x01\0\0\0\x02\0\0\0\x03\0\0\0";
        assert_eq!(opened.encode(), bytes);
        assert_eq!(number(b"\x05\0\0\0"), Ok(5));
        let closed = Closed { file: 7, ioctls: 3 };
        assert_eq!(closed.encode(), b"\x07\0\0\0\x03\0\0\0");
        assert_eq!(Closed::parse(&closed.encode()), Ok(closed));
    }

    #[test]
    fn what_is_no_call_says_why() {
        let short = Ioctl::parse(b"\x01\0\0\0\x05\0\0\0abc", []).unwrap_err();
        assert_eq!(
            short.to_string(),
            "5 bytes at offset 8 run past the call's 11"
        );
        assert_eq!(number(b"\x05\0\0\0\0"), Err(DriverError::Trailing(1)));
        let long = Ioctl::parse(b"\x01\0\0\0\0\x40\0\0", []).unwrap_err();
        assert_eq!(long, DriverError::Argument(0x4000));
        let room = Ioctl::parse(b"\x01\0\0\0\0\0\0\0\x01\0\0\x80", [true]);
        assert_eq!(room, Err(DriverError::Room(IN_REGION | 1)));
    }

    fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(any::<u8>(), 0..most)
    }

    fn of_kind((kind, bytes): &(u8, Vec<u8>)) -> Memory<'_> {
        match kind {
            0 => Memory::Bytes(bytes),
            1 => Memory::Region(bytes.len() as u32),
            _ => Memory::Room(bytes.len() as u32),
        }
    }

    proptest! {
        #[test]
        fn calls_round_trip_and_end_nowhere_else(
            file: u32,
            argument in bytes(100),
            memory in prop::collection::vec((0..3_u8, bytes(40)), 0..4),
            cut: prop::sample::Index,
        ) {
            let memory: Vec<_> = memory.iter().map(of_kind).collect();
            let outs: Vec<_> = memory.iter().map(|it| matches!(it, Memory::Room(_))).collect();
            let call = Ioctl { file, argument: &argument, memory };
            let bytes = call.encode();
            prop_assert_eq!(Ioctl::parse(&bytes, outs.iter().copied()), Ok(call));
            let cut = &bytes[..cut.index(bytes.len())];
            prop_assert!(Ioctl::parse(cut, outs.iter().copied()).is_err());
            let longer = [&bytes[..], &[0]].concat();
            prop_assert!(Ioctl::parse(&longer, outs).is_err());
        }

        #[test]
        fn answers_round_trip(
            result: i32,
            argument in bytes(100),
            written in prop::collection::vec(bytes(40), 0..3),
            version: [u32; 3],
            compare_ns: u64,
            file: u32,
        ) {
            let written: Vec<&[u8]> = written.iter().map(Vec::as_slice).collect();
            let answer = Answer { result, argument: &argument, written };
            let bytes = answer.encode();
            prop_assert_eq!(Answer::parse(&bytes, answer.written.len()), Ok(answer));
            let fetched = Fetched { compare_ns, results: vec![result; 1 + file as usize % FETCH_MOST] };
            prop_assert_eq!(Fetched::parse(&fetched.encode()), Ok(fetched));
            let fetch = Fetch { file, buffers: version.to_vec() };
            prop_assert_eq!(Fetch::parse(&fetch.encode()), Ok(fetch));
            let opened = Opened { result, version };
            prop_assert_eq!(Opened::parse(&opened.encode()), Ok(opened));
        }

        #[test]
        fn any_bytes_parse_or_fail(bytes: Vec<u8>, outs: [bool; 2]) {
            let _ = (Ioctl::parse(&bytes, outs), Answer::parse(&bytes, 1));
            let _ = (Opened::parse(&bytes), number(&bytes));
            let _ = (Closed::parse(&bytes), Fetch::parse(&bytes), Fetched::parse(&bytes));
        }
    }
}
