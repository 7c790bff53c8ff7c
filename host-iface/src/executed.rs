//! The sequence numbers that a session has executed: each at most once.

use std::collections::BTreeSet;

/// Numbers kept one by one above the watermark.
const WINDOW: usize = 4096;

/// The executed numbers: all up to a watermark, and some above it.
///
/// Numbers come nearly in order; some are never executed (refused, or
/// unresolved and submitted again under another). When too many are kept the
/// watermark rises over the oldest gap, which counts as executed from then.
#[derive(Debug, Default)]
pub struct Executed {
    up_to: u64,
    above: BTreeSet<u64>,
}

impl Executed {
    /// The watermark, and the numbers above it.
    pub fn numbers(&self) -> (u64, Vec<u64>) {
        (self.up_to, self.above.iter().copied().collect())
    }

    /// As another one had them.
    pub fn restored(up_to: u64, above: &[u64]) -> Self {
        let mut executed = Self {
            up_to,
            above: BTreeSet::new(),
        };
        above.iter().for_each(|&seq| executed.insert(seq));
        executed
    }

    /// Whether `seq` was executed.
    pub fn contains(&self, seq: u64) -> bool {
        seq <= self.up_to || self.above.contains(&seq)
    }

    /// `seq` is executed now.
    pub fn insert(&mut self, seq: u64) {
        if seq > self.up_to {
            self.above.insert(seq);
        }
        while let Some(&lowest) = self.above.first() {
            if lowest != self.up_to.wrapping_add(1) && self.above.len() <= WINDOW {
                break;
            }
            self.above.pop_first();
            self.up_to = lowest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn gaps_stay_open_for_a_while() {
        let mut executed = Executed::default();
        for seq in [1, 2, 4, 5] {
            executed.insert(seq);
        }
        assert!(!executed.contains(3) && executed.contains(5));
        executed.insert(3);
        assert_eq!((executed.up_to, executed.above.len()), (5, 0));
        (7..7 + 2 * WINDOW as u64).for_each(|seq| executed.insert(seq));
        assert!(executed.contains(6), "memory is bounded");
    }

    #[test]
    fn another_one_goes_on_with_the_numbers() {
        let mut executed = Executed::default();
        [1, 2, 4, 9]
            .into_iter()
            .for_each(|seq| executed.insert(seq));
        let (up_to, above) = executed.numbers();
        assert_eq!((up_to, &above[..]), (2, &[4, 9][..]));
        let other = Executed::restored(up_to, &above);
        assert_eq!(other.numbers(), executed.numbers());
    }

    proptest! {
        #[test]
        fn what_was_inserted_is_contained(seqs in proptest::collection::vec(any::<u64>(), 0..200)) {
            let mut executed = Executed::default();
            for &seq in &seqs {
                executed.insert(seq);
                prop_assert!(executed.contains(seq));
            }
            for &seq in &seqs {
                prop_assert!(executed.contains(seq));
            }
        }
    }
}
