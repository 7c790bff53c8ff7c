//! What of shared memory changed since a copy of it was taken: on one side a
//! program and its CPU wrote, the other side's copy has to follow.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::ops::Range;

/// What is told apart, in bytes: a cache line, so that a change costs one line
/// of memory traffic, and neighbours that change together travel together.
pub const LINE: usize = 64;
/// Where nothing changed lately, as much is compared by one call of the C
/// library, which is quick at equal memory and does not tell where it differs.
const PAGE: usize = 4096;
/// Where something did, as much is compared here: a second look at it costs
/// little.
const BLOCK: usize = 256;
/// Pages without a change until changes are no longer expected: a change in
/// every few pages would have half of each looked at twice.
const CALM: u32 = 4;
/// Bytes that one thread takes at a time. Below two of these there is nothing
/// to share out.
const SHARE: usize = 256 << 10;

/// Compares memory with a copy of it on several threads.
#[derive(Debug)]
pub struct Differ {
    pool: Option<ThreadPool>,
}

impl Differ {
    /// With so many threads; 1 works on the caller's own.
    ///
    /// # Errors
    /// [`ThreadPoolBuildError`] if the system has no more threads.
    pub fn new(threads: usize) -> Result<Self, ThreadPoolBuildError> {
        let pool = match threads {
            0 | 1 => None,
            _ => Some(ThreadPoolBuilder::new().num_threads(threads).build()?),
        };
        Ok(Self { pool })
    }

    /// Brings `copy` up to date with `now`. Returns which bytes were copied:
    /// rising ranges that do not touch, each made of whole lines of [`LINE`]
    /// bytes (but for the last one's end), each with a change in its first and
    /// last line.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn update(&self, copy: &mut [u8], now: &[u8]) -> Vec<Range<usize>> {
        assert_eq!(copy.len(), now.len(), "a copy has the length of its memory");
        match &self.pool {
            Some(pool) if now.len() >= 2 * SHARE => pool.install(|| shared_out(copy, now)),
            _ => one_share(0, copy, now),
        }
    }
}

fn shared_out(copy: &mut [u8], now: &[u8]) -> Vec<Range<usize>> {
    let shares = copy.par_chunks_mut(SHARE).zip(now.par_chunks(SHARE));
    let found: Vec<_> = shares
        .enumerate()
        .map(|(index, (copy, now))| one_share(index * SHARE, copy, now))
        .collect();
    let mut changes = Changes::default();
    for range in found.into_iter().flatten() {
        changes.add(range);
    }
    changes.ranges()
}

/// `first` is where the share begins in the whole.
fn one_share(first: usize, copy: &mut [u8], now: &[u8]) -> Vec<Range<usize>> {
    let mut changes = Changes::default();
    let mut calm = CALM;
    let pages = copy.chunks_mut(PAGE).zip(now.chunks(PAGE));
    for (index, (copy, now)) in pages.enumerate() {
        if calm >= CALM && copy == now {
            continue;
        }
        let changed = page(first + index * PAGE, copy, now, &mut changes);
        calm = if changed { 0 } else { calm + 1 };
    }
    changes.ranges()
}

/// Brings a page up to date; whether it was not.
fn page(first: usize, copy: &mut [u8], now: &[u8], changes: &mut Changes) -> bool {
    let mut at = first;
    let (mut changed, mut last_changed) = (false, false);
    let (copies, copies_end) = copy.as_chunks_mut::<BLOCK>();
    let (nows, nows_end) = now.as_chunks::<BLOCK>();
    for (copy, now) in copies.iter_mut().zip(nows) {
        // Changes are seldom alone: behind one, lines are compared at once.
        last_changed = (last_changed || differs(copy, now)) && lines(at, copy, now, changes);
        changed |= last_changed;
        at += BLOCK;
    }
    lines(at, copies_end, nows_end, changes) || changed
}

/// Whether two blocks differ, without a look at where.
fn differs(one: &[u8; BLOCK], two: &[u8; BLOCK]) -> bool {
    let (ones, _) = one.as_chunks::<8>();
    let (twos, _) = two.as_chunks::<8>();
    let words = ones.iter().zip(twos);
    words.fold(0, |found, (one, two)| {
        found | (u64::from_ne_bytes(*one) ^ u64::from_ne_bytes(*two))
    }) != 0
}

/// Brings lines up to date; whether one was not.
fn lines(first: usize, copy: &mut [u8], now: &[u8], changes: &mut Changes) -> bool {
    let mut at = first;
    let mut changed = false;
    let (copies, copies_end) = copy.as_chunks_mut::<LINE>();
    let (nows, nows_end) = now.as_chunks::<LINE>();
    for (copy, now) in copies.iter_mut().zip(nows) {
        if copy != now {
            *copy = *now;
            changes.add(at..at + LINE);
            changed = true;
        }
        at += LINE;
    }
    if copies_end != nows_end {
        copies_end.copy_from_slice(nows_end);
        changes.add(at..at + nows_end.len());
        changed = true;
    }
    changed
}

/// Rising ranges that do not touch. The last one is at hand, since most lines
/// that changed only make it longer.
#[derive(Default)]
struct Changes {
    before: Vec<Range<usize>>,
    last: Range<usize>,
}

impl Changes {
    /// Adds a range behind the others.
    fn add(&mut self, range: Range<usize>) {
        if self.last.end == range.start {
            self.last.end = range.end;
        } else {
            self.keep_last();
            self.last = range;
        }
    }

    fn keep_last(&mut self) {
        let last = std::mem::take(&mut self.last);
        if !last.is_empty() {
            self.before.push(last);
        }
    }

    fn ranges(mut self) -> Vec<Range<usize>> {
        self.keep_last();
        self.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Line by line, as the words above say.
    fn plainly(copy: &[u8], now: &[u8]) -> Vec<Range<usize>> {
        let mut changes: Vec<Range<usize>> = Vec::new();
        for at in (0..now.len()).step_by(LINE) {
            let line = at..now.len().min(at + LINE);
            if copy[line.clone()] != now[line.clone()] {
                match changes.last_mut() {
                    Some(last) if last.end == at => last.end = line.end,
                    _ => changes.push(line),
                }
            }
        }
        changes
    }

    fn check(differ: &Differ, mut copy: Vec<u8>, now: &[u8]) {
        let expected = plainly(&copy, now);
        assert_eq!(differ.update(&mut copy, now), expected);
        assert_eq!(copy, now);
        assert_eq!(differ.update(&mut copy, now), []);
    }

    proptest! {
        #[test]
        fn changes_are_found_and_copied(
            len in 0usize..20_000,
            changed in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 0..40),
        ) {
            let copy = vec![7u8; len];
            let mut now = copy.clone();
            for (at, by) in changed.iter().filter(|_| len > 0) {
                let at = at.index(len);
                now[at] = now[at].wrapping_add(*by);
            }
            check(&Differ::new(1).unwrap(), copy, &now);
        }

        #[test]
        fn threads_find_the_same(
            len in 2 * SHARE..5 * SHARE,
            changed in prop::collection::vec((any::<prop::sample::Index>(), 1usize..9000), 0..9),
        ) {
            let copy = vec![0u8; len];
            let mut now = copy.clone();
            for (at, count) in &changed {
                let at = at.index(len);
                let end = len.min(at + count);
                now[at..end].fill(1);
            }
            // Over a border between two threads' shares.
            now[SHARE - 1..SHARE + 1].fill(2);
            check(&Differ::new(3).unwrap(), copy, &now);
        }
    }

    #[test]
    #[should_panic(expected = "has the length of its memory")]
    fn a_copy_of_another_length_is_a_defect() {
        Differ::new(1).unwrap().update(&mut [0; 3], &[0; 4]);
    }
}
