//! Reads and writes the contents of whole objects, whatever access the program has:
//! through memory of the board's own, piece by piece.

use crate::board::Unable;
use gil_transport::memory::OutOfMemory;

/// Bytes of a buffer that are copied at a time.
const PIECE: usize = 64 << 20;

/// The form of an object's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staging {
    /// So many bytes.
    Buffer(usize),
    /// Elements, rows, slices or layers, and bytes of an element.
    Image([usize; 3], usize),
}

/// A piece of it.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Its origin.
    pub origin: [usize; 3],
    /// Its size in each dimension.
    pub region: [usize; 3],
    /// Where its bytes are in the whole.
    pub at: usize,
    /// Its bytes.
    pub len: usize,
}

impl Staging {
    /// Bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Buffer(len) => *len as u64,
            Self::Image(size, element) => (size.iter().product::<usize>() * element) as u64,
        }
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the longest piece.
    pub fn longest(self) -> usize {
        let longest = self.pieces().iter().map(|piece| piece.len).max();
        longest.unwrap_or(0)
    }

    /// The pieces, in order.
    pub fn pieces(self) -> Vec<Piece> {
        let piece = |origin, region, at, len| Piece {
            origin,
            region,
            at,
            len,
        };
        match self {
            Self::Buffer(len) => (0..len)
                .step_by(PIECE)
                .map(|at| {
                    let now = PIECE.min(len - at);
                    piece([at, 0, 0], [now, 1, 1], at, now)
                })
                .collect(),
            Self::Image([width, rows, slices], element) => (0..slices)
                .map(|z| {
                    let len = width * rows * element;
                    piece([0, 0, z], [width, rows, 1], z * len, len)
                })
                .collect(),
        }
    }
}

/// Memory of the board's own beside an object: as long as the longest piece.
pub trait Stage {
    /// The form of the object's contents.
    fn form(&self) -> Staging;

    /// Copies a piece of the object to the memory's beginning.
    ///
    /// # Errors
    /// [`Unable`].
    fn copy_out(&self, piece: &Piece) -> Result<(), Unable>;

    /// Copies the memory's beginning to a piece of the object.
    ///
    /// # Errors
    /// [`Unable`].
    fn copy_in(&self, piece: &Piece) -> Result<(), Unable>;

    /// Reads the memory's beginning.
    ///
    /// # Errors
    /// [`Unable`].
    fn read(&self, bytes: &mut [u8]) -> Result<(), Unable>;

    /// Writes the memory's beginning.
    ///
    /// # Errors
    /// [`Unable`].
    fn write(&self, bytes: &[u8]) -> Result<(), Unable>;

    /// Waits until all copies have ended: the guest's queues know nothing of
    /// them.
    ///
    /// # Errors
    /// [`Unable`].
    fn finish(&self) -> Result<(), Unable>;
}

/// What an object holds.
///
/// # Errors
/// [`Unable`]; the session goes on.
pub fn fetch(stage: &impl Stage) -> Result<Vec<u8>, Unable> {
    let len = stage.form().len() as usize;
    let mut all = Vec::new();
    OutOfMemory::reserve(&mut all, len).map_err(Unable::because)?;
    all.resize(len, 0);
    for piece in stage.form().pieces() {
        stage.copy_out(&piece)?;
        stage.read(&mut all[piece.at..piece.at + piece.len])?;
    }
    Ok(all)
}

/// The object of this number holds these bytes again.
///
/// # Errors
/// [`Unable`]; the session goes on.
pub fn fill(stage: &impl Stage, number: u64, bytes: &[u8]) -> Result<(), Unable> {
    let (len, found) = (stage.form().len(), bytes.len());
    if len != found as u64 {
        let text = format!("memory object {number:#x} has {len} bytes, the checkpoint {found}");
        return Err(Unable(text));
    }
    for piece in stage.form().pieces() {
        stage.write(&bytes[piece.at..piece.at + piece.len])?;
        stage.copy_in(&piece)?;
    }
    stage.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_every_byte_once() {
        for form in [
            Staging::Buffer(0),
            Staging::Buffer(5),
            Staging::Buffer(PIECE),
            Staging::Buffer(2 * PIECE + 7),
            Staging::Image([5, 3, 4], 16),
            Staging::Image([5, 1, 1], 4),
        ] {
            let mut at = 0;
            for piece in form.pieces() {
                assert_eq!(piece.at, at);
                at += piece.len;
            }
            assert_eq!(at as u64, form.len());
        }
    }
}
