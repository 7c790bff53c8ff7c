//! The link's cipher alone, on one core: records as large as the link's, sealed
//! in memory and sent nowhere. Opening them is the same work.

use gil_transport::secure::{Handshake, KEY_LEN, Key, Records, SecureError};
use gil_wire::hello::HELLO_LEN;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// One end of a connection that has no socket.
pub struct Cipher {
    records: Records,
    bytes: Vec<u8>,
}

impl Cipher {
    /// For up to `most` bytes.
    ///
    /// # Errors
    /// [`SecureError::Exhausted`] without random numbers.
    pub fn new(most: usize) -> Result<Self, SecureError> {
        let key = Key::from_bytes([7; KEY_LEN]);
        let (host, board) = ([1; HELLO_LEN], [2; HELLO_LEN]);
        let mut ours = Handshake::host(&key, host, board)?;
        let mut theirs = Handshake::board(&key, host, board)?;
        theirs.read(&ours.write()?)?;
        ours.read(&theirs.write()?)?;
        Ok(Self {
            records: ours.finish()?,
            bytes: vec![1; most],
        })
    }

    /// Seals `len` bytes; what is sealed is dropped where the link would send
    /// it.
    ///
    /// # Errors
    /// [`SecureError::Exhausted`].
    pub fn seal(&mut self, len: usize) -> Result<Duration, SecureError> {
        let mut rest = &self.bytes[..len];
        let start = Instant::now();
        while !rest.is_empty() {
            rest = &rest[self.records.seal(rest)?..];
            if self.records.is_full() {
                drop_sealed(&mut self.records);
            }
        }
        self.records.flush()?;
        drop_sealed(&mut self.records);
        Ok(start.elapsed())
    }
}

fn drop_sealed(records: &mut Records) {
    black_box(records.sealed());
    records.sent();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_length_is_sealed_again_and_again() {
        let mut cipher = Cipher::new(3 << 20).unwrap();
        for len in [0, 1, 3 << 20, 3 << 20] {
            cipher.seal(len).unwrap();
            assert!(cipher.records.sealed().is_empty());
        }
    }
}
