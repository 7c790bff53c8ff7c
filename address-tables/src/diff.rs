//! Finds what changed in shared memory since a copy of it was taken, so that the other
//! side's copy can be updated.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The granularity of a difference, in bytes: a cache line, so that a change costs one line
/// of memory traffic, and neighbours that change together travel together.
pub const LINE: usize = 64;
/// As much is compared before a look at where it differs: a second look at it
/// costs little, and eight in a page leave few branches.
const BLOCK: usize = 512;
/// Bytes that one thread takes at a time. Below two of these there is nothing
/// to share out.
const SHARE: usize = 256 << 10;

/// Most threads that [`Differ::shared`] has.
const SHARED_MOST: usize = 4;

/// Compares memory with a copy of it on several threads.
#[derive(Debug)]
pub struct Differ {
    pool: Option<Arc<ThreadPool>>,
    look: Look,
}

/// What looks through a share of the memory, compiled for this processor. The
/// first argument is where the share begins in the whole; ranges that changed are
/// put behind those that were found before.
type Look = fn(usize, &mut [u8], &[u8], &mut Vec<Range<usize>>);

impl Differ {
    /// With so many threads; 1 works on the caller's own.
    ///
    /// # Errors
    /// [`ThreadPoolBuildError`] if the system has no more threads.
    pub fn new(threads: usize) -> Result<Self, ThreadPoolBuildError> {
        let pool = match threads {
            0 | 1 => None,
            _ => Some(Arc::new(
                ThreadPoolBuilder::new().num_threads(threads).build()?,
            )),
        };
        Ok(Self { pool, look: look() })
    }

    /// With as many threads as this machine has processors, but no more than
    /// [`SHARED_MOST`]: reading memory is what takes the time. Those of all that are made
    /// so are the same. Without threads it works on the caller's own.
    pub fn shared() -> Self {
        static POOL: OnceLock<Option<Arc<ThreadPool>>> = OnceLock::new();
        let pool = POOL.get_or_init(|| {
            let here = std::thread::available_parallelism().map_or(1, usize::from);
            Self::new(here.min(SHARED_MOST)).ok()?.pool
        });
        Self {
            pool: pool.clone(),
            look: look(),
        }
    }

    /// Brings `copy` up to date with `now`, and puts into `changed`, instead of
    /// what it holds, which bytes were copied: rising ranges that do not touch,
    /// each made of whole lines of [`LINE`] bytes (but for the last one's end),
    /// each with a change in its first and last line.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn update(&self, copy: &mut [u8], now: &[u8], changed: &mut Vec<Range<usize>>) {
        assert_eq!(copy.len(), now.len(), "a copy has the length of its memory");
        changed.clear();
        match &self.pool {
            Some(pool) if now.len() >= 2 * SHARE => {
                pool.install(|| self.shared_out(copy, now, changed));
            }
            _ => (self.look)(0, copy, now, changed),
        }
    }

    fn shared_out(&self, copy: &mut [u8], now: &[u8], changed: &mut Vec<Range<usize>>) {
        let shares = copy.par_chunks_mut(SHARE).zip(now.par_chunks(SHARE));
        let found: Vec<_> = shares
            .enumerate()
            .map(|(index, (copy, now))| {
                let mut found = Vec::new();
                (self.look)(index * SHARE, copy, now, &mut found);
                found
            })
            .collect();
        let mut changes = Changes::behind(changed);
        for range in found.into_iter().flatten() {
            changes.add(range);
        }
        changes.end();
    }
}

/// The widest that this processor has.
fn look() -> Look {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return |first, copy, now, changed| {
            #[allow(unsafe_code)]
            // SAFETY: the processor has what the function is compiled for.
            unsafe {
                blocks_avx2(first, copy, now, changed);
            }
        };
    }
    blocks
}

/// [`blocks`] with registers of 32 bytes: those of 64 would slow down the
/// processor, and the simulator with it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn blocks_avx2(first: usize, copy: &mut [u8], now: &[u8], changed: &mut Vec<Range<usize>>) {
    blocks(first, copy, now, changed);
}

#[inline(always)]
fn blocks(first: usize, copy: &mut [u8], now: &[u8], changed: &mut Vec<Range<usize>>) {
    let mut changes = Changes::behind(changed);
    let mut at = first;
    let (copies, copies_end) = copy.as_chunks_mut::<BLOCK>();
    let (nows, nows_end) = now.as_chunks::<BLOCK>();
    let mut pairs = copies.iter_mut().zip(nows);
    while let Some((copy, now)) = pairs.find(|(copy, now)| {
        at += BLOCK;
        differs(copy, now)
    }) {
        lines(at - BLOCK, copy, now, &mut changes);
        // Changes are seldom alone: behind one, lines are compared at once.
        for (copy, now) in pairs.by_ref() {
            at += BLOCK;
            if !lines(at - BLOCK, copy, now, &mut changes) {
                break;
            }
        }
    }
    lines(at, copies_end, nows_end, &mut changes);
    changes.end();
}

/// Whether two blocks differ, without a look at where.
#[inline(always)]
fn differs(one: &[u8; BLOCK], two: &[u8; BLOCK]) -> bool {
    let (ones, _) = one.as_chunks::<8>();
    let (twos, _) = two.as_chunks::<8>();
    let words = ones.iter().zip(twos);
    words.fold(0, |found, (one, two)| {
        found | (u64::from_ne_bytes(*one) ^ u64::from_ne_bytes(*two))
    }) != 0
}

/// Brings lines up to date; whether one was not.
#[inline(always)]
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
    // The C library is not asked about nothing.
    if !nows_end.is_empty() && copies_end != nows_end {
        copies_end.copy_from_slice(nows_end);
        changes.add(at..at + nows_end.len());
        changed = true;
    }
    changed
}

/// Rising ranges that do not touch. The last one is at hand, since most lines
/// that changed only make it longer.
struct Changes<'a> {
    before: &'a mut Vec<Range<usize>>,
    last: Range<usize>,
}

impl<'a> Changes<'a> {
    fn behind(before: &'a mut Vec<Range<usize>>) -> Self {
        Self { before, last: 0..0 }
    }

    /// Adds a range behind the others.
    #[inline(always)]
    fn add(&mut self, range: Range<usize>) {
        if self.last.end != range.start {
            keep(self.before, self.last.clone());
            self.last.start = range.start;
        }
        self.last.end = range.end;
    }

    fn end(self) {
        keep(self.before, self.last);
    }
}

/// Out of the way of the loops, which have the range that grows in registers.
#[inline(never)]
fn keep(before: &mut Vec<Range<usize>>, range: Range<usize>) {
    if !range.is_empty() {
        before.push(range);
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

    fn check(differ: &Differ, copy: Vec<u8>, now: &[u8]) {
        let expected = plainly(&copy, now);
        // The processor's own, and what any has.
        for look in [differ.look, blocks] {
            let mut copy = copy.clone();
            let mut found = Vec::new();
            look(0, &mut copy, now, &mut found);
            assert_eq!((found, &copy[..]), (expected.clone(), now));
        }
        let mut copy = copy;
        let mut changed = Vec::from([7..9, 11..12]);
        differ.update(&mut copy, now, &mut changed);
        assert_eq!((&changed, &copy[..]), (&expected, now));
        differ.update(&mut copy, now, &mut changed);
        assert_eq!(changed, []);
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
        let differ = Differ::new(1).unwrap();
        differ.update(&mut [0; 3], &[0; 4], &mut Vec::new());
    }
}
