//! A process's posts, waiting for the next submission.

use crate::counter;
use crate::encode::{self, Arguments};
use crate::sites::Known;
use crate::uapi;
use gil_wire::Op;
use gil_wire::compact::Writer;
use gil_wire::envelope::bytes::NOTE;
use gil_wire::envelope::{self, Class, Envelope};

/// Posts leave so many bytes free, for a note and the call that must follow an enqueue.
const LAST: usize = 64;
const POSTS_END: usize = uapi::REQUEST_MAX - LAST;

/// Most posts that wait.
pub(crate) const POSTS_MAX: usize = 64;

/// Envelopes that wait, in the order in which they were posted, and behind them
/// room for the call that takes them along.
#[derive(Debug)]
pub(crate) struct Batch {
    bytes: Box<[u8; uapi::REQUEST_MAX]>,
    len: usize,
    /// How many they are, from `first` on.
    posts: usize,
    /// What an empty batch counts from: as the process exits, one less than the
    /// bound, so that a post waits for no other.
    first: usize,
    ends_with_enqueue: bool,
    /// Where the latest note ends; 0 if there is none.
    note_end: usize,
    /// The call site in it.
    noted: u64,
    /// What the process has mapped.
    pub(crate) known: Known,
}

impl Batch {
    /// An empty batch with room for the largest request.
    pub(crate) fn new() -> Self {
        Self {
            bytes: Box::new([0; uapi::REQUEST_MAX]),
            len: 0,
            posts: 0,
            first: 0,
            ends_with_enqueue: false,
            note_end: 0,
            noted: 0,
            known: Known::new(),
        }
    }

    /// What is written from here on is called from this place.
    #[inline(always)]
    pub(crate) fn note(&mut self, site: u64) {
        if self.note_end == 0 || self.noted != site {
            self.write_note(site);
        }
    }

    #[cold]
    #[inline(never)]
    fn write_note(&mut self, site: u64) {
        if self.ends_with_note() {
            self.len -= NOTE;
        }
        // Where it does not fit, no envelope does.
        if let Some(room) = self.bytes[self.len..].first_chunk_mut() {
            *room = envelope::bytes::note(site);
            self.len += NOTE;
            (self.note_end, self.noted) = (self.len, site);
        }
    }

    fn ends_with_note(&self) -> bool {
        self.note_end != 0 && self.note_end == self.len
    }

    /// Where the next post is written.
    #[inline(always)]
    fn room(&mut self) -> &mut [u8] {
        &mut self.bytes[self.len.min(POSTS_END)..POSTS_END]
    }

    /// Writes an envelope and its arguments behind the posts, to be
    /// [submitted](Self::request); its length.
    ///
    /// # Errors
    /// Those of encoding: in memory only that there is no room.
    #[inline]
    pub(crate) fn write(
        &mut self,
        envelope: &Envelope<'_>,
        args: &impl Arguments,
    ) -> postcard::Result<usize> {
        encode::envelope(envelope, args, &mut self.bytes[self.len..])
    }

    /// The same, to be [kept](Self::keep).
    #[inline]
    pub(crate) fn write_post(
        &mut self,
        envelope: &Envelope<'_>,
        args: &impl Arguments,
    ) -> postcard::Result<usize> {
        encode::envelope(envelope, args, self.room())
    }

    /// The same, put into its caller.
    #[inline(always)]
    pub(crate) fn write_here(
        &mut self,
        envelope: &Envelope<'_>,
        args: &impl Arguments,
    ) -> postcard::Result<usize> {
        encode::envelope_here(envelope, args, self.room())
    }

    /// The same of arguments that `write` writes.
    ///
    /// # Errors
    /// How long it is, where there is no room.
    #[inline(always)]
    pub(crate) fn write_numbers(
        &mut self,
        envelope: &Envelope<'_>,
        write: &impl Fn(&mut Writer<'_>),
    ) -> Result<usize, usize> {
        encode::numbers_here(envelope, write, self.room())
    }

    /// Makes the envelope of `len` bytes behind the posts one of them. Its call was entered
    /// when the counter showed `entry`.
    #[inline(always)]
    pub(crate) fn keep(&mut self, len: usize, (class, entry): (Class, u64)) {
        // After minutes it begins again; the host bounds what it makes of it.
        let spent = (counter::now() as u32).wrapping_sub(entry as u32);
        envelope::bytes::spend(&mut self.bytes[self.len..], spent);
        self.len += len;
        self.posts += 1;
        self.ends_with_enqueue = class == Class::Enqueue;
    }

    /// Whether the last is an enqueue, which another call must follow: the last
    /// of a submission would be answered.
    #[inline]
    pub(crate) fn ends_with_enqueue(&self) -> bool {
        self.ends_with_enqueue
    }

    /// The posts, and `len` bytes behind them.
    #[inline]
    pub(crate) fn request(&self, len: usize) -> &[u8] {
        &self.bytes[..self.len + len]
    }

    /// Whether the posts should be submitted now.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.posts >= POSTS_MAX
    }

    /// Whether they should, although as many may wait as there is room for: the process
    /// exits.
    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        self.first > 0
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0 || self.len == NOTE && self.ends_with_note()
    }

    /// Makes this the last batch that waits: handlers that run later still may
    /// post, and nobody comes after them. The entry point of the latest post.
    #[cold]
    pub(crate) fn end(&mut self) -> Option<Op> {
        self.first = POSTS_MAX - 1;
        if self.is_empty() {
            self.posts = self.first;
        }
        let waiting = envelope::parse(&self.bytes[..self.len]).ok()?;
        waiting.last().map(|envelope| envelope.op)
    }

    /// Adds to what the first envelope says that the library has spent; it may be the one
    /// behind the posts.
    pub(crate) fn owe(&mut self, ticks: u32) {
        let at = if self.begins_with_note() { NOTE } else { 0 };
        envelope::bytes::spend_more(&mut self.bytes[at..], ticks);
    }

    fn begins_with_note(&self) -> bool {
        self.note_end != 0 && self.bytes.starts_with(&envelope::bytes::NOTE_MARK)
    }

    /// Forgets every post.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.posts = self.first;
        self.ends_with_enqueue = false;
        self.note_end = 0;
    }
}
