//! Bytes that arrived before they were read.

/// Bytes read ahead: most messages come whole in one system call, and no more
/// than this of a region is ever copied.
const AHEAD: usize = 16 << 10;

/// A buffer of one length that stays, so that it is zeroed once only.
#[derive(Debug)]
pub struct Ahead {
    bytes: Box<[u8]>,
    taken: usize,
    filled: usize,
}

impl Default for Ahead {
    fn default() -> Self {
        Self {
            bytes: vec![0; AHEAD].into_boxed_slice(),
            taken: 0,
            filled: 0,
        }
    }
}

impl Ahead {
    /// The bytes that arrived and were not taken.
    pub fn ready(&self) -> &[u8] {
        &self.bytes[self.taken..self.filled]
    }

    /// The first `len` bytes of [`ready`](Self::ready) are done with.
    ///
    /// # Panics
    /// If they are more than are ready.
    pub fn take(&mut self, len: usize) {
        assert!(len <= self.filled - self.taken, "more than came");
        self.taken += len;
    }

    /// Room for more: empty only if the whole buffer is [`ready`](Self::ready).
    pub fn room(&mut self) -> &mut [u8] {
        self.bytes.copy_within(self.taken..self.filled, 0);
        self.filled -= self.taken;
        self.taken = 0;
        &mut self.bytes[self.filled..]
    }

    /// So many bytes came, to the beginning of [`room`](Self::room).
    ///
    /// # Panics
    /// If there was no room for them.
    pub fn came(&mut self, len: usize) {
        assert!(len <= self.bytes.len() - self.filled, "more than the room");
        self.filled += len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(ahead: &mut Ahead, bytes: &[u8]) {
        ahead.room()[..bytes.len()].copy_from_slice(bytes);
        ahead.came(bytes.len());
    }

    #[test]
    fn what_was_not_taken_stays() {
        let mut ahead = Ahead::default();
        put(&mut ahead, b"abcd");
        ahead.take(3);
        put(&mut ahead, b"ef");
        assert_eq!(ahead.ready(), b"def");
        assert_eq!(ahead.room().len(), AHEAD - 3);
        ahead.take(3);
        assert!(ahead.ready().is_empty());
        assert_eq!(ahead.room().len(), AHEAD);
    }

    #[test]
    #[should_panic(expected = "more than came")]
    fn nothing_is_taken_that_did_not_come() {
        Ahead::default().take(1);
    }
}
