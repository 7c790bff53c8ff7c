//! The container format of gil's files: a header, then records until the end of
//! the file. All numbers are little-endian.
//!
//! | offset | size | header |
//! |---|---|---|
//! | 0 | 9 | magic: which type of file |
//! | 9 | 3 | reserved, 0 |
//! | 12 | 4 | version |
//!
//! | offset | size | record |
//! |---|---|---|
//! | 0 | 4 | bytes of the head |
//! | 4 | 4 | CRC-32 (IEEE) of the rest of these 32 bytes, the head, and the payload as stored |
//! | 8 | 8 | bytes of the payload as stored |
//! | 16 | 8 | bytes of the payload once decompressed |
//! | 24 | 2 | kind; its file type's table says which |
//! | 26 | 1 | the payload's compression: 0 none, 1 one LZ4 frame |
//! | 27 | 1 | flags: bit 0, a reader that does not know the kind may skip the record |
//! | 28 | 4 | reserved, 0 |
//! | 32 | … | the head: the kind's own struct in postcard's encoding |
//! | … | … | the payload: raw bytes |
//!
//! This layout is final. A later gil adds other kinds of record: numbers of kinds
//! are never reused, and the fields of a kind's head never change. A reader skips
//! a kind that it does not know if the flag allows it. Without the flag, an unknown
//! kind is [`FileError::Newer`], and so is any reserved bit that is set.
//!
//! A record is complete or invalid: after a crash, the last one may be truncated or
//! fail its checksum, and everything before it is valid.

use serde::Deserialize;
use std::io::{self, Read, Write};

mod again;
mod payload;
use again::Summed;
pub use again::{Again, Sum};
pub use payload::Payload;

/// Bytes before the first record.
pub const HEADER_LEN: usize = 16;
/// Bytes before a record's head.
pub const PREFIX_LEN: usize = 32;
/// Largest head accepted: a request and an answer of a frame's largest header.
pub const MAX_HEAD: u32 = 2 * gil_wire::frame::MAX_HEADER + 4096;
/// Largest payload accepted, compressed or not: a request's and an answer's.
pub const MAX_PAYLOAD: u64 = 2 * gil_wire::frame::MAX_PAYLOAD;

/// Bytes read at a time.
const CHUNK: usize = 256 << 10;
/// No LZ4 data grows by more than this factor.
const LZ4_MAX_RATIO: u64 = 255;
/// The flag of a record that a reader may skip.
const SKIPPABLE: u8 = 1;

/// A type of file, as its header names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileType {
    /// The first bytes.
    pub magic: [u8; 9],
    /// The version that this build reads and writes.
    pub version: u32,
    /// Its name for users.
    pub name: &'static str,
    /// What users can do about a file of another version.
    pub advice: &'static str,
}

impl FileType {
    /// The header that this build writes.
    pub fn header(&self) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        out[..9].copy_from_slice(&self.magic);
        out[12..].copy_from_slice(&self.version.to_le_bytes());
        out
    }

    /// Checks a file's header.
    ///
    /// # Errors
    /// [`FileError::Magic`], [`FileError::Version`] or [`FileError::Newer`].
    pub fn check_header(&self, bytes: &[u8; HEADER_LEN]) -> Result<(), FileError> {
        let found: [u8; 9] = bytes[..9].try_into().expect("9 bytes");
        if found != self.magic {
            let name = self.name;
            return Err(FileError::Magic { name, found });
        }
        let theirs = u32::from_le_bytes(bytes[12..].try_into().expect("4 bytes"));
        if theirs != self.version {
            return Err(FileError::Version {
                name: self.name,
                advice: self.advice,
                ours: self.version,
                theirs,
            });
        }
        if bytes[9..12] != [0; 3] {
            return Err(FileError::Newer(Unknown::Reserved));
        }
        Ok(())
    }
}

/// Why bytes are no file of ours, or where they end to be one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// Nothing is in it.
    #[error("the file is empty: check its name, and whether what wrote it had room")]
    Empty,
    /// Less than what each file of ours begins with.
    #[error("the file ends within its header: make it again, or copy it again")]
    Short,
    /// Another type of file.
    #[error("the file is no gil {name} (it begins with \"{}\"): check its name", found.escape_ascii())]
    Magic {
        /// The expected type of file.
        name: &'static str,
        /// Its first bytes.
        found: [u8; 9],
    },
    /// Another version.
    #[error("the {name} has layout version {theirs}, this gil reads {ours}: {advice}")]
    Version {
        /// The type of file.
        name: &'static str,
        /// The remedy.
        advice: &'static str,
        /// This build's version.
        ours: u32,
        /// The file's version.
        theirs: u32,
    },
    /// What only a later build knows.
    #[error(
        "the file was made by a newer gil: a record has {0}, which this gil does not know; use the gil that made it"
    )]
    Newer(Unknown),
    /// A length is out of bounds.
    #[error(
        "a record of {head} + {payload} bytes exceeds the bounds of {MAX_HEAD} + {MAX_PAYLOAD}"
    )]
    Length {
        /// Bytes of the head.
        head: u64,
        /// Bytes of the payload, as stored or decompressed.
        payload: u64,
    },
    /// A payload cannot have these two lengths.
    #[error("a record's payload of {stored} bytes cannot hold the {payload} that it claims")]
    Claim {
        /// Bytes in the file.
        stored: u64,
        /// Bytes claimed.
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
    /// The head is not what its kind says.
    #[error("a record of kind {kind} does not decode: {error}")]
    Decode {
        /// The record's kind.
        kind: u16,
        /// The decoder's error.
        error: postcard::Error,
    },
    /// There is more head than its kind has.
    #[error("a record of kind {kind} has {extra} bytes too many in its head")]
    TooLong {
        /// The record's kind.
        kind: u16,
        /// The number of bytes behind the record.
        extra: usize,
    },
    /// The head announces other payload than follows.
    #[error("a record announces {announced} bytes of payload and has {found}")]
    Payload {
        /// By its head; `u64::MAX` if they overflow.
        announced: u64,
        /// By its prefix.
        found: u64,
    },
}

/// Something in a record that this build does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// Its kind, which must not be skipped.
    #[error("kind {0}")]
    Kind(u16),
    /// How its payload is compressed.
    #[error("compression {0}")]
    Compression(u8),
    /// A flag.
    #[error("flags {0:#04x}")]
    Flags(u8),
    /// Reserved bytes that are not 0.
    #[error("bytes where there were none")]
    Reserved,
}

/// Why the next record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The reader's.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file ends within the record.
    #[error("the file ends within a record")]
    Cut,
    /// The file's contents are invalid.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The compression of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// As it is.
    None,
    /// As one LZ4 frame.
    Lz4,
}

impl Compression {
    const fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Lz4 => 1,
        }
    }

    const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::None),
            1 => Some(Self::Lz4),
            _ => None,
        }
    }
}

/// One type of file's records: a struct a kind.
pub trait Record<'a>: Sized {
    /// The number of its kind.
    fn kind(&self) -> u16;

    /// The encoded head.
    ///
    /// # Errors
    /// Postcard's.
    fn encode(&self) -> Result<Vec<u8>, postcard::Error>;

    /// Decodes a head of this kind; `None` if the kind is not known. What is
    /// left of the bytes comes along.
    fn decode(kind: u16, head: &'a [u8]) -> Option<Result<(Self, &'a [u8]), postcard::Error>>;

    /// Bytes of payload that it announces; `None` if they overflow.
    fn announced(&self) -> Option<u64>;
}

/// Decodes one kind's head and wraps it.
pub(crate) fn head_as<'a, T: Deserialize<'a>, R>(
    head: &'a [u8],
    wrap: impl FnOnce(T) -> R,
) -> Option<Result<(R, &'a [u8]), postcard::Error>> {
    let taken = postcard::take_from_bytes(head);
    Some(taken.map(|(own, rest)| (wrap(own), rest)))
}

/// What stands before a record's head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefix {
    /// Bytes of the head.
    pub head_len: u32,
    /// Checksum of all the rest.
    pub crc32: u32,
    /// Bytes of the payload as stored.
    pub stored_len: u64,
    /// Bytes of the payload once decompressed.
    pub payload_len: u64,
    /// The record's kind.
    pub kind: u16,
    /// A [`Compression`]'s number.
    pub compression: u8,
    /// Bit 0: the record may be skipped.
    pub flags: u8,
    /// 0.
    pub reserved: u32,
}

impl Prefix {
    /// The bytes to write.
    pub fn encode(self) -> [u8; PREFIX_LEN] {
        let mut out = [0; PREFIX_LEN];
        out[..4].copy_from_slice(&self.head_len.to_le_bytes());
        out[4..8].copy_from_slice(&self.crc32.to_le_bytes());
        out[8..16].copy_from_slice(&self.stored_len.to_le_bytes());
        out[16..24].copy_from_slice(&self.payload_len.to_le_bytes());
        out[24..26].copy_from_slice(&self.kind.to_le_bytes());
        (out[26], out[27]) = (self.compression, self.flags);
        out[28..].copy_from_slice(&self.reserved.to_le_bytes());
        out
    }

    /// Reads and bounds a file's lengths. The rest has a meaning once the
    /// checksum is right.
    ///
    /// # Errors
    /// [`FileError::Length`] or [`FileError::Claim`].
    pub fn decode(bytes: &[u8; PREFIX_LEN]) -> Result<Self, FileError> {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let prefix = Self {
            head_len: word(0),
            crc32: word(4),
            stored_len: long(8),
            payload_len: long(16),
            kind: u16::from_le_bytes([bytes[24], bytes[25]]),
            compression: bytes[26],
            flags: bytes[27],
            reserved: word(28),
        };
        prefix.check_lengths()?;
        Ok(prefix)
    }

    /// Bytes of the whole record.
    pub fn record_len(&self) -> u64 {
        PREFIX_LEN as u64 + u64::from(self.head_len) + self.stored_len
    }

    fn check_lengths(&self) -> Result<(), FileError> {
        let (stored, payload) = (self.stored_len, self.payload_len);
        if self.head_len > MAX_HEAD || stored.max(payload) > MAX_PAYLOAD {
            return Err(FileError::Length {
                head: self.head_len.into(),
                payload: stored.max(payload),
            });
        }
        let is_possible = match Compression::from_number(self.compression) {
            Some(Compression::None) => stored == payload,
            Some(Compression::Lz4) => stored < payload && payload / LZ4_MAX_RATIO <= stored,
            None => true,
        };
        match is_possible {
            true => Ok(()),
            false => Err(FileError::Claim { stored, payload }),
        }
    }

    /// Whether this build knows what the record is, but for its kind and
    /// compression.
    fn check_flags(&self) -> Result<(), FileError> {
        match (self.flags & !SKIPPABLE, self.reserved) {
            (0, 0) => Ok(()),
            (0, _) => Err(FileError::Newer(Unknown::Reserved)),
            _ => Err(FileError::Newer(Unknown::Flags(self.flags))),
        }
    }

    /// How the payload is stored.
    ///
    /// # Errors
    /// [`FileError::Newer`].
    pub fn compression(&self) -> Result<Compression, FileError> {
        let unknown = FileError::Newer(Unknown::Compression(self.compression));
        Compression::from_number(self.compression).ok_or(unknown)
    }

    /// The same with the checksum of all that follows it: head and payload.
    pub fn sealed<'p>(self, behind: impl IntoIterator<Item = &'p [u8]>) -> Self {
        let mut crc = self.checksum();
        behind.into_iter().for_each(|bytes| crc.update(bytes));
        let crc32 = crc.finalize();
        Self { crc32, ..self }
    }

    /// The checksum so far: head and payload follow.
    fn checksum(&self) -> crc32fast::Hasher {
        let bytes = self.encode();
        let mut crc = crc32fast::Hasher::new();
        crc.update(&bytes[..4]);
        crc.update(&bytes[8..]);
        crc
    }
}

/// A record to be written: these pieces, in this order.
#[derive(Debug)]
pub struct Pieces<'p> {
    front: Vec<u8>,
    packed: Option<Vec<u8>>,
    payload: &'p [&'p [u8]],
}

impl Pieces<'_> {
    /// Prefix and head, then the payload as it is stored.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let plain = if self.packed.is_some() {
            &[]
        } else {
            self.payload
        };
        let packed = self.packed.as_deref();
        let payload = packed.into_iter().chain(plain.iter().copied());
        std::iter::once(&self.front[..]).chain(payload)
    }

    /// All in one.
    pub fn concat(&self) -> Vec<u8> {
        self.iter().collect::<Vec<_>>().concat()
    }
}

/// Makes a record ready to be written. A payload that is stored as it is, is not
/// copied; with [`Compression::Lz4`] it is compressed if that makes it smaller.
///
/// # Errors
/// [`FileError::Length`] if a bound is exceeded, [`FileError::Payload`] if the
/// payload is not what the head announces.
pub fn pieces<'p, 'a>(
    record: &impl Record<'a>,
    payload: &'p [&'p [u8]],
    compression: Compression,
) -> Result<Pieces<'p>, FileError> {
    let kind = record.kind();
    let head = record.encode();
    let head = head.map_err(|error| FileError::Decode { kind, error })?;
    let payload_len = payload.iter().map(|piece| piece.len() as u64).sum();
    check_payload(record.announced(), payload_len)?;
    let packed = match compression {
        Compression::Lz4 => payload::pack(payload, payload_len),
        Compression::None => None,
    };
    let (stored_len, compression) = match &packed {
        Some(packed) => (packed.len() as u64, Compression::Lz4),
        None => (payload_len, Compression::None),
    };
    let prefix = Prefix {
        head_len: u32::try_from(head.len()).unwrap_or(u32::MAX),
        stored_len,
        payload_len,
        kind,
        compression: compression.number(),
        ..Prefix::default()
    };
    prefix.check_lengths()?;
    let mut pieces = Pieces {
        front: head,
        packed,
        payload,
    };
    let prefix = prefix.sealed(pieces.iter()).encode();
    pieces.front.splice(..0, prefix);
    Ok(pieces)
}

/// What is written before a stored payload to give it another head: prefix and head. The
/// payload, as it is stored, is read for the checksum, and checked against the earlier one.
///
/// # Errors
/// [`ReadError`]: the reader's, or as [`pieces`]; [`FileError::Checksum`] if the payload is not
/// the record's.
pub fn with_head<'a>(
    stored: &Stored,
    record: &impl Record<'a>,
    payload: &mut impl Read,
) -> Result<Vec<u8>, ReadError> {
    let kind = record.kind();
    let head = record.encode();
    let head = head.map_err(|error| FileError::Decode { kind, error })?;
    check_payload(record.announced(), stored.prefix.payload_len)?;
    let mut prefix = Prefix {
        head_len: u32::try_from(head.len()).unwrap_or(u32::MAX),
        kind,
        ..stored.prefix
    };
    prefix.check_lengths()?;
    let mut crc = prefix.checksum();
    crc.update(&head);
    let mut payload = Summed::new(payload, stored.sum());
    copy(&mut payload, prefix.stored_len, &mut io::sink(), &mut crc)?;
    payload.check()?;
    prefix.crc32 = crc.finalize();
    Ok([&prefix.encode()[..], &head].concat())
}

fn check_payload(announced: Option<u64>, found: u64) -> Result<(), FileError> {
    let announced = announced.unwrap_or(u64::MAX);
    if announced != found {
        return Err(FileError::Payload { announced, found });
    }
    Ok(())
}

/// A record as it is in the file, whole; its payload is elsewhere.
#[derive(Debug)]
pub struct Stored {
    prefix: Prefix,
    head: Vec<u8>,
}

impl Stored {
    /// The bytes before the head.
    pub fn prefix(&self) -> &Prefix {
        &self.prefix
    }

    /// The head's bytes.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The record's checksum so far, for a payload that is read later.
    pub fn sum(&self) -> Sum {
        Sum::of(&self.prefix, &self.head)
    }

    /// What the record says; `None` if its kind is not known and it may be
    /// skipped.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn record<'a, R: Record<'a>>(&'a self) -> Result<Option<R>, FileError> {
        self.prefix.check_flags()?;
        let kind = self.prefix.kind;
        let Some(decoded) = R::decode(kind, &self.head) else {
            return match self.prefix.flags & SKIPPABLE {
                0 => Err(FileError::Newer(Unknown::Kind(kind))),
                _ => Ok(None),
            };
        };
        self.prefix.compression()?;
        let (record, rest) = decoded.map_err(|error| FileError::Decode { kind, error })?;
        if !rest.is_empty() {
            let extra = rest.len();
            return Err(FileError::TooLong { kind, extra });
        }
        check_payload(record.announced(), self.prefix.payload_len)?;
        Ok(Some(record))
    }

    /// The payload, of the bytes that are stored.
    ///
    /// # Errors
    /// [`FileError::Newer`]; [`ReadError::Io`] if they do not decompress to what
    /// was claimed.
    pub fn unpack(&self, stored: Vec<u8>) -> Result<Vec<u8>, ReadError> {
        if self.prefix.compression()? == Compression::None {
            return Ok(stored);
        }
        let mut out = Vec::new();
        Payload::of(&self.prefix, &stored[..])?.read_to_end(&mut out)?;
        Ok(out)
    }
}

/// Reads the next record and checks its checksum; `None` at the end of the
/// file. Its payload goes to `payload` as it is stored.
///
/// # Errors
/// [`ReadError`].
pub fn read(file: &mut impl Read, payload: &mut impl Write) -> Result<Option<Stored>, ReadError> {
    let mut bytes = [0; PREFIX_LEN];
    match fill(file, &mut bytes)? {
        0 => return Ok(None),
        PREFIX_LEN => {}
        _ => return Err(ReadError::Cut),
    }
    let prefix = Prefix::decode(&bytes)?;
    let mut crc = prefix.checksum();
    let mut head = Vec::new();
    copy(file, prefix.head_len.into(), &mut head, &mut crc)?;
    copy(file, prefix.stored_len, payload, &mut crc)?;
    let (found, computed) = (prefix.crc32, crc.finalize());
    if found != computed {
        return Err(FileError::Checksum { found, computed }.into());
    }
    Ok(Some(Stored { prefix, head }))
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(len) => filled += len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Copies what is there, so that no length is believed before its bytes came.
fn copy(
    file: &mut impl Read,
    mut left: u64,
    to: &mut impl Write,
    crc: &mut crc32fast::Hasher,
) -> Result<(), ReadError> {
    let mut chunk = vec![0; left.min(CHUNK as u64) as usize];
    while left > 0 {
        let piece = &mut chunk[..left.min(CHUNK as u64) as usize];
        if fill(file, piece)? < piece.len() {
            return Err(ReadError::Cut);
        }
        crc.update(piece);
        to.write_all(piece)?;
        left -= piece.len() as u64;
    }
    Ok(())
}

/// Reads all records that are left, each with its payload, decompressed.
///
/// # Errors
/// [`ReadError`] of the first one that is not whole.
pub fn read_all(file: &mut impl Read) -> Result<Vec<(Stored, Vec<u8>)>, ReadError> {
    let mut all = Vec::new();
    loop {
        let mut bytes = Vec::new();
        let Some(stored) = read(file, &mut bytes)? else {
            return Ok(all);
        };
        let payload = stored.unpack(bytes)?;
        all.push((stored, payload));
    }
}

#[cfg(test)]
mod tests;
