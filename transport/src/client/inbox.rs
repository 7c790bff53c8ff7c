//! Bytes that came before anybody asked for them.

/// Bytes read at a time while a reply's header is incomplete.
const CHUNK: usize = 16 << 10;

/// A buffer that stays, so that it is zeroed once only. It grows to the longest
/// header, which is bounded.
#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    taken: usize,
    filled: usize,
}

impl Inbox {
    /// What came and was not taken.
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

    /// Room for more, so that at least `len` bytes can be ready; never empty.
    pub fn room(&mut self, len: usize) -> &mut [u8] {
        self.bytes.copy_within(self.taken..self.filled, 0);
        self.filled -= self.taken;
        self.taken = 0;
        let needed = len.max(self.filled + 1).max(CHUNK);
        if self.bytes.len() < needed {
            self.bytes.resize(needed, 0);
        }
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

    fn put(inbox: &mut Inbox, len: usize, bytes: &[u8]) {
        inbox.room(len)[..bytes.len()].copy_from_slice(bytes);
        inbox.came(bytes.len());
    }

    #[test]
    fn what_was_not_taken_stays() {
        let mut inbox = Inbox::default();
        put(&mut inbox, 2, b"abcd");
        inbox.take(3);
        put(&mut inbox, 3, b"ef");
        assert_eq!(inbox.ready(), b"def");
        inbox.take(3);
        assert!(inbox.ready().is_empty());
        assert!(inbox.room(5 * CHUNK).len() >= 5 * CHUNK);
    }

    #[test]
    #[should_panic(expected = "more than came")]
    fn nothing_is_taken_that_did_not_come() {
        Inbox::default().take(1);
    }
}
