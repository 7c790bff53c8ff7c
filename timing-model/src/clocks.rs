//! Frequencies that change while a target is at work.

use crate::costs::scaled;

/// Most changes.
pub const CHANGES_MAX: usize = 4096;

/// From when on operations last how many times as long as on the board. What has begun goes
/// on as it began. The default: always as long.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clocks {
    /// In the order of time.
    changes: Vec<(u64, f64)>,
}

/// No number in it is what differs from itself.
impl Eq for Clocks {}

impl Clocks {
    /// As on the board.
    pub const SAME: Self = Self {
        changes: Vec::new(),
    };

    /// Another change, at `from_ns`; `None` unless it is later than those before, the
    /// factor is a finite number above 0, and they are at most [`CHANGES_MAX`].
    pub fn change(&mut self, from_ns: u64, factor: f64) -> Option<()> {
        let is_later = self.changes.last().is_none_or(|last| last.0 < from_ns);
        let is_usable = factor.is_finite() && factor > 0.0;
        let is_taken = is_later && is_usable && self.changes.len() < CHANGES_MAX;
        is_taken.then(|| self.changes.push((from_ns, factor)))
    }

    /// A change that somebody makes now, at `from_ns`, whatever was to change from then on.
    /// Of too many the earliest is forgotten, which what starts now does not need. `None`
    /// unless the factor is a finite number above 0.
    pub fn set(&mut self, from_ns: u64, factor: f64) -> Option<()> {
        self.changes.retain(|(from, _)| *from < from_ns);
        if self.changes.len() >= CHANGES_MAX {
            self.changes.remove(0);
        }
        self.change(from_ns, factor)
    }

    /// What an operation lasts that starts at `start_ns`, and `duration_ns` on the board.
    pub fn at(&self, start_ns: u64, duration_ns: u64) -> u64 {
        let later = self.changes.partition_point(|(from, _)| *from <= start_ns);
        match later.checked_sub(1).and_then(|last| self.changes.get(last)) {
            Some((_, factor)) => scaled(duration_ns, *factor),
            None => duration_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_change_before_the_start_counts() {
        let mut clocks = Clocks::SAME;
        assert_eq!(clocks.at(0, u64::MAX - 1), u64::MAX - 1);
        clocks.change(100, 2.0).unwrap();
        clocks.change(200, 0.5).unwrap();
        let at = [0, 99, 100, 199, 200, u64::MAX].map(|start| clocks.at(start, 10));
        assert_eq!(at, [10, 10, 20, 20, 5, 5]);
    }

    #[test]
    fn what_is_set_takes_the_place_of_what_was_to_come() {
        let mut clocks = Clocks::SAME;
        clocks.set(100, 2.0).unwrap();
        clocks.set(100, 3.0).unwrap();
        clocks.set(200, 0.5).unwrap();
        clocks.set(150, 4.0).unwrap();
        let at = [99, 100, 150, 250].map(|start| clocks.at(start, 10));
        assert_eq!(at, [10, 30, 40, 40]);
        assert_eq!(clocks.set(300, 0.0), None);
        (0..2 * CHANGES_MAX as u64).for_each(|n| clocks.set(1000 + n, 5.0).unwrap());
        assert_eq!(clocks.changes.len(), CHANGES_MAX);
    }

    #[test]
    fn changes_have_an_order_and_factors_above_0() {
        let mut clocks = Clocks::SAME;
        clocks.change(100, 2.0).unwrap();
        for (from, factor) in [
            (100, 2.0),
            (99, 2.0),
            (101, 0.0),
            (101, f64::NAN),
            (101, f64::INFINITY),
        ] {
            assert_eq!(clocks.change(from, factor), None);
        }
        let more = (0..).take_while(|n| clocks.change(101 + n, 1.0).is_some());
        assert_eq!(more.count(), CHANGES_MAX - 1);
    }
}
