//! Numbers and pieces out of a target's bytes.

/// The bytes that are left. Where there are none, numbers are 0 and pieces
/// empty.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// Whether all was taken.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next `len` bytes, or as many as there are.
    pub fn piece(&mut self, len: usize) -> &'a [u8] {
        let (piece, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        piece
    }

    /// Bytes behind their own length of two bytes.
    pub fn counted(&mut self) -> &'a [u8] {
        let len = self.u16();
        self.piece(len.into())
    }

    /// The next byte.
    pub fn u8(&mut self) -> u8 {
        self.number(1) as u8
    }

    /// Two bytes, little-endian.
    pub fn u16(&mut self) -> u16 {
        self.number(2) as u16
    }

    /// Four.
    pub fn u32(&mut self) -> u32 {
        self.number(4) as u32
    }

    /// Eight.
    pub fn u64(&mut self) -> u64 {
        self.number(8)
    }

    fn number(&mut self, len: usize) -> u64 {
        let mut bytes = [0; 8];
        let piece = self.piece(len);
        bytes[..piece.len()].copy_from_slice(piece);
        u64::from_le_bytes(bytes)
    }
}
