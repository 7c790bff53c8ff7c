//! Which bytes changed, to the byte: what two sides of shared memory changed at the same time
//! is told apart so.

use std::ops::Range;

/// As much is compared before a look at where it differs.
const BLOCK: usize = 512;
/// As many bytes are looked at together: a bit for each.
const BITS: usize = u64::BITS as usize;

/// Where `now` differs from `before`: rising ranges that do not touch.
///
/// # Panics
/// If the lengths differ.
pub fn exact_changes(before: &[u8], now: &[u8]) -> Vec<Range<usize>> {
    assert_eq!(
        before.len(),
        now.len(),
        "a copy has the length of its memory"
    );
    let mut ranges = Vec::new();
    let blocks = before.chunks(BLOCK).zip(now.chunks(BLOCK)).enumerate();
    for (index, (before, now)) in blocks.filter(|(_, (before, now))| before != now) {
        changes_of_block(index * BLOCK, before, now, &mut ranges);
    }
    ranges
}

/// Adds where a block differs that begins at `start`.
fn changes_of_block(start: usize, before: &[u8], now: &[u8], ranges: &mut Vec<Range<usize>>) {
    let groups = before.chunks(BITS).zip(now.chunks(BITS)).enumerate();
    for (index, (before, now)) in groups {
        let start = start + index * BITS;
        let (mut left, mut at) = (differing(before, now), 0);
        while left != 0 {
            let same = left.trailing_zeros();
            let changed = (left >> same).trailing_ones();
            let from = at + same as usize;
            at = from + changed as usize;
            add(ranges, start + from..start + at);
            left = left.checked_shr(same + changed).unwrap_or_default();
        }
    }
}

/// A bit for each byte that differs, the lowest one for the first.
fn differing(before: &[u8], now: &[u8]) -> u64 {
    const WORD: usize = size_of::<u64>();
    let (words, last) = before.as_chunks::<WORD>();
    let (now_words, now_last) = now.as_chunks::<WORD>();
    let of_word = |(before, now): (&[u8; WORD], &[u8; WORD])| {
        not_zero(u64::from_le_bytes(*before) ^ u64::from_le_bytes(*now))
    };
    let of_words = words.iter().zip(now_words).map(of_word);
    let of_last = last.iter().zip(now_last);
    let of_last = of_last.map(|(before, now)| u64::from(before != now));
    let words_bits = of_words.zip((0..).step_by(WORD));
    let last_bits = of_last.zip(words.len() * WORD..);
    let all = words_bits.chain(last_bits);
    all.fold(0, |all, (bits, at)| all | bits << at)
}

/// A bit for each byte that is not 0, the lowest one for the least: the top bit of each byte (Warren,
/// Hacker's Delight, 2nd edition, 6-1), and these beside each other.
fn not_zero(word: u64) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let tops = (((word & LOW) + LOW) | word) & !LOW;
    (tops >> 7).wrapping_mul(GATHER) >> 56
}

fn add(ranges: &mut Vec<Range<usize>>, range: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}

/// The same ranges; those with no more than `gap` bytes between them are one.
pub fn joined(ranges: &[Range<usize>], gap: usize) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last) if range.start - last.end <= gap => last.end = range.end,
            _ => all.push(range.clone()),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_are_those_bytes() {
        let before = vec![0; 1200];
        let mut now = before.clone();
        for at in [3, 4, 6, 511, 512, 1199] {
            now[at] = 1;
        }
        let ranges = exact_changes(&before, &now);
        assert_eq!(ranges, [3..5, 6..7, 511..513, 1199..1200]);
        assert_eq!(joined(&ranges, 1), [3..7, 511..513, 1199..1200]);
        assert_eq!(joined(&ranges, 1200), std::slice::from_ref(&(3..1200)));
        assert_eq!(joined(&ranges, 0), ranges);
        assert!(exact_changes(&now, &now).is_empty());
    }

    proptest! {
        #[test]
        fn every_change_is_in_a_range_and_nothing_else(
            before in prop::collection::vec(any::<u8>(), 0..1500),
            at in prop::collection::vec((0..1500_usize, 1..30_usize), 0..40),
        ) {
            let mut now = before.clone();
            for (at, len) in at {
                now.iter_mut().skip(at).take(len).for_each(|byte| *byte = byte.wrapping_add(1));
            }
            let ranges = exact_changes(&before, &now);
            for at in 0..now.len() {
                let is_in = ranges.iter().any(|range| range.contains(&at));
                prop_assert_eq!(is_in, before[at] != now[at]);
            }
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
        }
    }
}
