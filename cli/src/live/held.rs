//! Output that waits until the terminal is free, in the order in which it came. What does
//! not fit in some memory is in a file without a name.

use gil_wire::control::Stream;
use std::io::{self, Read, Seek, SeekFrom, Write};
use tempfile::SpooledTempFile;

/// Bytes that are held in memory.
const MEMORY_MAX: usize = 1 << 20;
/// Bytes read back at once.
const CHUNK: u64 = 64 << 10;

/// What is held back.
#[derive(Debug)]
pub struct Held {
    bytes: SpooledTempFile,
    /// Whose bytes they are, one stream after the other.
    pieces: Vec<(Stream, u64)>,
}

impl Default for Held {
    fn default() -> Self {
        Self {
            bytes: SpooledTempFile::new(MEMORY_MAX),
            pieces: Vec::new(),
        }
    }
}

impl Held {
    /// These as well.
    ///
    /// # Errors
    /// Those of the file; nothing of them is held then.
    pub fn add(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let all = self.pieces.iter().map(|(_, len)| len).sum();
        self.bytes.seek(SeekFrom::Start(all))?;
        self.bytes.write_all(bytes)?;
        let len = bytes.len() as u64;
        match self.pieces.last_mut() {
            Some((last, sum)) if *last == stream => *sum += len,
            _ => self.pieces.push((stream, len)),
        }
        Ok(())
    }

    /// Hands all of it to `write`, until that says that it is enough.
    ///
    /// # Errors
    /// Those of the file.
    pub fn write<T>(
        mut self,
        mut write: impl FnMut(Stream, &[u8]) -> Option<T>,
    ) -> io::Result<Option<T>> {
        self.bytes.rewind()?;
        for (stream, mut left) in self.pieces {
            while left > 0 {
                let mut bytes = vec![0; left.min(CHUNK) as usize];
                self.bytes.read_exact(&mut bytes)?;
                left -= bytes.len() as u64;
                if let Some(enough) = write(stream, &bytes) {
                    return Ok(Some(enough));
                }
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_back_in_its_order() {
        let mut held = Held::default();
        let long = vec![b'x'; MEMORY_MAX + 7];
        for (stream, bytes) in [
            (Stream::Out, &b"a"[..]),
            (Stream::Out, b"b"),
            (Stream::Err, b"c"),
            (Stream::Out, &long),
        ] {
            held.add(stream, bytes).unwrap();
        }
        let (mut out, mut err, mut order) = (Vec::new(), Vec::new(), Vec::new());
        let written = held.write(|stream, bytes| {
            order.push(stream);
            match stream {
                Stream::Out => out.extend(bytes),
                Stream::Err => err.extend(bytes),
            }
            None::<()>
        });
        written.unwrap();
        assert_eq!(order[..3], [Stream::Out, Stream::Err, Stream::Out]);
        assert_eq!(
            (&out[..2], out.len(), err),
            (&b"ab"[..], 2 + long.len(), b"c".to_vec())
        );
    }

    #[test]
    fn whoever_has_enough_gets_no_more() {
        let mut held = Held::default();
        held.add(Stream::Out, b"a").unwrap();
        held.add(Stream::Err, b"b").unwrap();
        let mut count = 0;
        let enough = held.write(|_, _| {
            count += 1;
            Some(count)
        });
        assert_eq!(enough.unwrap(), Some(1));
    }
}
