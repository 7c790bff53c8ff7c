//! What of shared memory changed since a copy of it was taken: on one side a
//! program and its CPU wrote, the other side's copy has to follow.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::ops::Range;

/// What is told apart, in bytes: a cache line, so that a change costs one line
/// of memory traffic, and neighbours that change together travel together.
pub const LINE: usize = 64;
/// From large to small: where a block is equal, nothing in it is looked at
/// again; where it is not, its parts are. A page is what one comparison is
/// quick at; 512 bytes keep few changes in a page from costing a second look
/// at all of it.
const BLOCKS: [usize; 3] = [4096, 512, LINE];
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
    let mut changes = Vec::new();
    for range in found.into_iter().flatten() {
        push(&mut changes, range);
    }
    changes
}

/// `first` is where the share begins in the whole.
fn one_share(first: usize, copy: &mut [u8], now: &[u8]) -> Vec<Range<usize>> {
    let mut changes = Vec::new();
    descend(&BLOCKS, first, copy, now, &mut changes);
    changes
}

fn descend(
    blocks: &[usize],
    first: usize,
    copy: &mut [u8],
    now: &[u8],
    changes: &mut Vec<Range<usize>>,
) {
    let Some((&size, smaller)) = blocks.split_first() else {
        copy.copy_from_slice(now);
        push(changes, first..first + now.len());
        return;
    };
    let pairs = copy.chunks_mut(size).zip(now.chunks(size));
    for (index, (copy, now)) in pairs.enumerate() {
        if copy != now {
            descend(smaller, first + index * size, copy, now, changes);
        }
    }
}

/// Adds a range behind the others.
fn push(changes: &mut Vec<Range<usize>>, range: Range<usize>) {
    match changes.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => changes.push(range),
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
