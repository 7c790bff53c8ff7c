//! Finding changes in shared memory, compared with `memcmp` of equal memory and
//! `memcpy` of the changes on as many threads.

use crate::bench::Effort;
use crate::error::BenchError;
use crate::line::{Measured, Must};
use crate::machine::cores;
use crate::sampling::{Times, gb_per_s, in_turn};
use crate::table;
use gil_address_tables::{Differ, LINE};
use rayon::prelude::*;
use std::hint::black_box;
use std::time::{Duration, Instant};

const SIZES: [usize; 7] = [
    4 << 10,
    32 << 10,
    256 << 10,
    2 << 20,
    16 << 20,
    128 << 20,
    1 << 30,
];
/// Sizes from which scaling is judged: below, threads have nothing to share.
const SCALES_FROM: usize = 16 << 20;
/// Bytes of memory that small sizes are measured on one behind the other, so
/// that they are in the same cache as they would be in use.
const AT_ONCE: usize = 256 << 10;

const UNCHANGED: Must = Must::AtLeast(0.9);
const CHANGED: Must = Must::AtLeast(0.8);
const SCALING: Must = Must::AtLeast(0.95);

/// What changes before each look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Nothing,
    /// One per cent, in one piece.
    Piece,
    /// One line in a hundred.
    Scattered,
    All,
}

const CHANGES: [Change; 4] = [
    Change::Nothing,
    Change::Piece,
    Change::Scattered,
    Change::All,
];

impl Change {
    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "unchanged",
            Self::Piece => "1 % changed in one piece",
            Self::Scattered => "1 % changed, scattered lines",
            Self::All => "all changed",
        }
    }

    /// Where each changed piece begins, and the bytes of one.
    fn pieces(self, len: usize) -> (Vec<usize>, usize) {
        let hundredth = (len / 100).next_multiple_of(LINE);
        match self {
            Self::Nothing => (Vec::new(), 0),
            Self::Piece => (vec![(len / 2) & !(LINE - 1)], hundredth.min(len / 2)),
            Self::Scattered => ((0..len).step_by(100 * LINE).collect(), LINE),
            Self::All => (vec![0], len),
        }
    }
}

/// All sizes, changes and numbers of threads.
pub fn measure(effort: Effort) -> Result<Vec<Measured>, BenchError> {
    let most = match effort {
        Effort::Quick => 2 << 20,
        Effort::Usual => 128 << 20,
        Effort::Full => 1 << 30,
    };
    let mut lines = Vec::new();
    let mut alone = Vec::new();
    for threads in numbers_of_threads(cores()) {
        let bench = Setting::new(threads)?;
        for size in SIZES.into_iter().filter(|&size| size <= most) {
            let mut memory = Memory::new(size);
            for change in CHANGES {
                let count = effort.times(rounds(size));
                let (figures, baselines) = bench.times(&mut memory, change, count);
                let (figure, baseline) = (figures.median(), baselines.median());
                lines.push(line(&memory, change, threads, figure, baseline));
                if change != Change::Nothing || size < SCALES_FROM {
                    continue;
                }
                match threads {
                    1 => alone.push((size, figure, baseline)),
                    _ => lines.extend(scaling(&alone, size, threads, figure, baseline)),
                }
            }
        }
    }
    Ok(lines)
}

/// 1, 2, 4 and so on, and all.
fn numbers_of_threads(cores: usize) -> Vec<usize> {
    let powers = (0..).map(|n| 1 << n).take_while(|&n| n < cores);
    powers.chain([cores]).collect()
}

fn rounds(size: usize) -> usize {
    ((1 << 28) / size.max(AT_ONCE)).clamp(5, 200)
}

fn line(
    memory: &Memory,
    change: Change,
    threads: usize,
    figure: Duration,
    baseline: Duration,
) -> Measured {
    let name = format!("{}, {}", table::size(memory.size as u64), change.name());
    let must = match change {
        Change::Nothing => UNCHANGED,
        _ => CHANGED,
    };
    let whole = memory.now.len() as u64;
    Measured::new("diff", name, "GB/s", gb_per_s(whole, figure))
        .over("memcmp and memcpy", gb_per_s(whole, baseline))
        .bytes(memory.size as u64)
        .threads(threads)
        .must(must)
}

fn scaling(
    alone: &[(usize, Duration, Duration)],
    size: usize,
    threads: usize,
    figure: Duration,
    baseline: Duration,
) -> Option<Measured> {
    let (_, one, one_baseline) = alone.iter().find(|alone| alone.0 == size)?;
    let times = |one: &Duration, all: Duration| one.as_secs_f64() / all.as_secs_f64();
    let name = format!("{}, unchanged, scaling", table::size(size as u64));
    let line = Measured::new("diff", name, "times one thread", times(one, figure))
        .over("memcmp's scaling", times(one_baseline, baseline))
        .bytes(size as u64)
        .threads(threads)
        .must(SCALING);
    Some(line)
}

/// Memory and its copy: of small sizes many, one behind the other.
struct Memory {
    size: usize,
    now: Vec<u8>,
    copy: Vec<u8>,
}

impl Memory {
    fn new(size: usize) -> Self {
        let len = size.max(AT_ONCE);
        Self {
            size,
            now: vec![1; len],
            copy: vec![1; len],
        }
    }

    /// Changes a byte of every line that is to change.
    fn change(&mut self, change: Change) {
        let (starts, len) = change.pieces(self.size);
        for now in self.now.chunks_exact_mut(self.size) {
            for start in &starts {
                let lines = now[*start..*start + len].chunks_mut(LINE);
                lines.for_each(|line| line[0] = line[0].wrapping_add(1));
            }
        }
    }
}

/// The parameters of one comparison.
struct Setting {
    differ: Differ,
    pool: Option<rayon::ThreadPool>,
    threads: usize,
}

impl Setting {
    fn new(threads: usize) -> Result<Self, BenchError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        Ok(Self {
            differ: Differ::new(threads)?,
            pool: (threads > 1).then(|| pool.build()).transpose()?,
            threads,
        })
    }

    fn times(&self, memory: &mut Memory, change: Change, count: usize) -> (Times, Times) {
        let memory = std::cell::RefCell::new(memory);
        let figure = || {
            let memory = &mut **memory.borrow_mut();
            memory.change(change);
            Ok::<_, std::convert::Infallible>(self.look(memory))
        };
        let baseline = || {
            let memory = &mut **memory.borrow_mut();
            // In the caches as the differ finds it.
            memory.change(change);
            self.differ
                .update(&mut memory.copy, &memory.now, &mut Vec::new());
            Ok(self.plainly(memory, change))
        };
        let Ok(times) = in_turn(count, figure, baseline);
        times
    }

    fn look(&self, memory: &mut Memory) -> Duration {
        let Memory { size, now, copy } = memory;
        let mut changed = Vec::new();
        let start = Instant::now();
        for (copy, now) in copy.chunks_exact_mut(*size).zip(now.chunks_exact(*size)) {
            self.differ.update(copy, now, &mut changed);
            black_box(&mut changed);
        }
        start.elapsed()
    }

    /// `memcmp` of equal memory, `memcpy` of what would have changed.
    fn plainly(&self, memory: &mut Memory, change: Change) -> Duration {
        let Memory { size, now, copy } = memory;
        let (starts, len) = change.pieces(*size);
        let start = Instant::now();
        for (copy, now) in copy.chunks_exact_mut(*size).zip(now.chunks_exact(*size)) {
            assert!(self.equal(copy, now));
            self.copy(copy, now, &starts, len);
        }
        start.elapsed()
    }

    fn equal(&self, copy: &[u8], now: &[u8]) -> bool {
        match &self.pool {
            Some(pool) if now.len() >= AT_ONCE => {
                let share = now.len().div_ceil(self.threads);
                let pairs = copy.par_chunks(share).zip(now.par_chunks(share));
                pool.install(|| pairs.all(|(copy, now)| memcmp(copy, now)))
            }
            _ => memcmp(copy, now),
        }
    }

    fn copy(&self, copy: &mut [u8], now: &[u8], starts: &[usize], len: usize) {
        let Some(pool) = self.pool.as_ref().filter(|_| len >= AT_ONCE) else {
            for &start in starts {
                copy[start..start + len].copy_from_slice(&now[start..start + len]);
            }
            return;
        };
        let share = len.div_ceil(self.threads);
        for &start in starts {
            let to = copy[start..start + len].par_chunks_mut(share);
            let pairs = to.zip(now[start..start + len].par_chunks(share));
            pool.install(|| pairs.for_each(|(copy, now)| copy.copy_from_slice(now)));
        }
    }
}

/// C's own, whatever the compiler makes of `==`.
fn memcmp(one: &[u8], two: &[u8]) -> bool {
    assert_eq!(one.len(), two.len());
    // SAFETY: both slices have that many bytes, and are only read.
    unsafe { libc::memcmp(one.as_ptr().cast(), two.as_ptr().cast(), one.len()) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_is_found() {
        let setting = Setting::new(1).unwrap();
        for change in CHANGES {
            let mut memory = Memory::new(AT_ONCE);
            memory.change(change);
            let mut found = Vec::new();
            let Memory { copy, now, .. } = &mut memory;
            setting.differ.update(copy, now, &mut found);
            let (starts, len) = change.pieces(AT_ONCE);
            let found: usize = found.iter().map(std::ops::Range::len).sum();
            assert_eq!(found, starts.len() * len, "{change:?}");
        }
    }

    #[test]
    fn threads_double_up_to_all() {
        assert_eq!(numbers_of_threads(1), [1]);
        assert_eq!(numbers_of_threads(6), [1, 2, 4, 6]);
        assert_eq!(numbers_of_threads(8), [1, 2, 4, 8]);
    }
}
