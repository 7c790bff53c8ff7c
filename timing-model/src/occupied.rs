//! When an engine is occupied.

use std::collections::VecDeque;

/// Most stretches of time that are remembered of an engine. Those that follow one
/// another without a gap are one; of more, the earliest are forgotten.
const STRETCHES_MAX: usize = 1024;

/// An engine's published operations.
#[derive(Debug, Default)]
pub(crate) struct Occupied {
    /// When the last of them ends.
    pub(crate) free_ns: u64,
    /// From when until when there are any: in their order, none overlaps another.
    /// Kept only of processors that contend.
    stretches: VecDeque<(u64, u64)>,
}

impl Occupied {
    /// One is published, which starts no earlier than the last ends.
    pub(crate) fn until(&mut self, end_ns: u64) {
        self.free_ns = end_ns.max(self.free_ns);
    }

    /// The same, and when it runs is remembered.
    pub(crate) fn during(&mut self, start_ns: u64, end_ns: u64) {
        self.until(end_ns);
        if start_ns >= end_ns {
            return;
        }
        match self.stretches.back_mut() {
            Some(last) if last.1 == start_ns => last.1 = end_ns,
            _ => self.stretches.push_back((start_ns, end_ns)),
        }
        if self.stretches.len() > STRETCHES_MAX {
            self.stretches.pop_front();
        }
    }

    /// Whether it is known to be occupied at this moment.
    pub(crate) fn is_at_work(&self, at_ns: u64) -> bool {
        let next = self
            .stretches
            .partition_point(|(_, end_ns)| *end_ns <= at_ns);
        let next = self.stretches.get(next);
        next.is_some_and(|(start_ns, _)| *start_ns <= at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_works_from_a_start_to_before_an_end() {
        let mut engine = Occupied::default();
        for (start_ns, end_ns) in [(10, 20), (20, 30), (35, 35), (40, 50)] {
            engine.during(start_ns, end_ns);
        }
        let works = |at_ns: &u64| engine.is_at_work(*at_ns);
        let at_work: Vec<u64> = (0..60).filter(works).collect();
        let expected: Vec<u64> = (10..30).chain(40..50).collect();
        assert_eq!(at_work, expected);
        assert_eq!((engine.free_ns, engine.stretches.len()), (50, 2));
    }

    #[test]
    fn the_latest_stretches_are_remembered() {
        let mut engine = Occupied::default();
        let count = 2 * STRETCHES_MAX as u64;
        (0..count).for_each(|n| engine.during(10 * n, 10 * n + 5));
        assert_eq!(engine.stretches.len(), STRETCHES_MAX);
        assert!(!engine.is_at_work(0));
        assert!(engine.is_at_work(10 * (count - 1)));
    }
}
