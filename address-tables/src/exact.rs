//! Which bytes changed, to the byte: what two sides of shared memory changed at the same time
//! is told apart so.

use std::ops::Range;

/// As much is compared before a look at where it differs.
const BLOCK: usize = 512;

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
        for (at, _) in before
            .iter()
            .zip(now)
            .enumerate()
            .filter(|(_, (a, b))| a != b)
        {
            let at = index * BLOCK + at;
            match ranges.last_mut() {
                Some(Range { end, .. }) if *end == at => *end += 1,
                _ => ranges.push(at..at + 1),
            }
        }
    }
    ranges
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
            at in prop::collection::vec(0..1500_usize, 0..40),
        ) {
            let mut now = before.clone();
            for at in at.into_iter().filter(|at| *at < before.len()) {
                now[at] = now[at].wrapping_add(1);
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
