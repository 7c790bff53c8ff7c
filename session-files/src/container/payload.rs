//! Payloads, compressed or not.

use super::{Compression, FileError, Prefix};
use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};
use std::io::{self, Read, Take, Write};

/// Smaller payloads are not compressed: their frame alone takes 15 bytes.
const SMALLEST: u64 = 256;

/// A payload being read, decompressed as it comes: it never takes more memory
/// than a few blocks.
///
/// It ends after as many bytes as its record claims; that there are fewer or
/// more is an error of the read that would have noticed.
#[derive(Debug)]
pub struct Payload<R: Read> {
    from: From<R>,
    left: u64,
}

#[derive(Debug)]
enum From<R: Read> {
    Plain(Take<R>),
    Lz4(Box<FrameDecoder<Take<R>>>),
}

impl<R: Read> Payload<R> {
    /// The payload of a record whose stored bytes come from `stored`.
    ///
    /// # Errors
    /// [`FileError::Newer`].
    pub fn of(prefix: &Prefix, stored: R) -> Result<Self, FileError> {
        let stored = stored.take(prefix.stored_len);
        let from = match prefix.compression()? {
            Compression::None => From::Plain(stored),
            Compression::Lz4 => From::Lz4(Box::new(FrameDecoder::new(stored))),
        };
        let left = prefix.payload_len;
        Ok(Self { from, left })
    }

    /// What is left of the stored bytes.
    pub(super) fn into_stored(self) -> Take<R> {
        match self.from {
            From::Plain(stored) => stored,
            From::Lz4(frame) => frame.into_inner(),
        }
    }

    /// Checks that nothing follows the last byte.
    fn check_end(&mut self) -> io::Result<()> {
        let is_end = match &mut self.from {
            From::Plain(_) => true,
            From::Lz4(frame) => {
                let read = frame.read(&mut [0]).map_err(damaged)?;
                read == 0 && frame.get_ref().limit() == 0
            }
        };
        match is_end {
            true => Ok(()),
            false => Err(wrong("goes on behind the length")),
        }
    }
}

impl<R: Read> Read for Payload<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let len = out
            .len()
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if len == 0 {
            return Ok(0);
        }
        let read = match &mut self.from {
            From::Plain(stored) => stored.read(&mut out[..len])?,
            From::Lz4(frame) => frame.read(&mut out[..len]).map_err(damaged)?,
        };
        if read == 0 {
            return Err(wrong("ends before the length"));
        }
        self.left -= read as u64;
        if self.left == 0 {
            self.check_end()?;
        }
        Ok(read)
    }
}

/// What the decoder says of a frame, which is not said of what is around it.
fn damaged(error: io::Error) -> io::Error {
    match error.get_ref() {
        Some(inner) if inner.is::<lz4_flex::frame::Error>() => {
            let text = format!("a record's compressed payload is damaged ({inner})");
            io::Error::new(io::ErrorKind::InvalidData, text)
        }
        _ => error,
    }
}

fn wrong(what: &str) -> io::Error {
    let text = format!("a record's payload {what} that it claims");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// The payload as one LZ4 frame; `None` if that is not smaller.
pub(super) fn pack(payload: &[&[u8]], len: u64) -> Option<Vec<u8>> {
    if len < SMALLEST {
        return None;
    }
    let info = FrameInfo::new()
        .block_mode(BlockMode::Independent)
        .block_size(block_size(len));
    let mut frame = FrameEncoder::with_frame_info(info, AtMost(Vec::new(), len - 1));
    for piece in payload {
        frame.write_all(piece).ok()?;
    }
    Some(frame.finish().ok()?.0)
}

fn block_size(len: u64) -> BlockSize {
    match len {
        ..=0x1_0000 => BlockSize::Max64KB,
        0x1_0001..=0x4_0000 => BlockSize::Max256KB,
        _ => BlockSize::Max1MB,
    }
}

/// Takes so many bytes and no more.
struct AtMost(Vec<u8>, u64);

impl Write for AtMost {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if (self.0.len() + bytes.len()) as u64 > self.1 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
