//! A process's posts that wait for the next submission.

use crate::uapi;

/// Most posts that wait.
pub(crate) const POSTS_MAX: usize = 64;

/// Envelopes that wait, in the order in which they were posted.
#[derive(Debug)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    posts: usize,
}

impl Batch {
    /// An empty batch with room for the largest request.
    pub(crate) fn new() -> Self {
        Self {
            bytes: Vec::with_capacity(uapi::REQUEST_MAX),
            posts: 0,
        }
    }

    /// Appends a post. The caller has made sure that it [fits](Self::fits).
    pub(crate) fn push(&mut self, envelope: &[u8]) {
        debug_assert!(self.fits(envelope.len()));
        self.bytes.extend_from_slice(envelope);
        self.posts += 1;
    }

    /// Whether one more envelope of `len` bytes fits behind the posts.
    pub(crate) fn fits(&self, len: usize) -> bool {
        self.bytes.len() + len <= uapi::REQUEST_MAX
    }

    /// Whether the posts should be submitted now.
    pub(crate) fn is_full(&self) -> bool {
        self.posts >= POSTS_MAX
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.posts == 0
    }

    /// The posts with `envelope` behind them, while `f` runs; afterwards the
    /// posts alone, or nothing if `f` says that they were handed over.
    pub(crate) fn with<R>(&mut self, envelope: &[u8], f: impl FnOnce(&[u8]) -> (bool, R)) -> R {
        let posts = self.bytes.len();
        self.bytes.extend_from_slice(envelope);
        let (handed_over, result) = f(&self.bytes);
        self.bytes.truncate(posts);
        if handed_over {
            self.clear();
        }
        result
    }

    /// Forgets every post.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.posts = 0;
    }
}
