//! When an engine is occupied.

use crate::share::Share;
use std::collections::VecDeque;

/// Most stretches of time that are remembered of an engine. Those that follow one
/// another without a gap are one; of more, the earliest are forgotten.
const STRETCHES_MAX: usize = 1024;

/// An engine's published operations.
#[derive(Debug, Default)]
pub(crate) struct Occupied {
    /// When the last of them ends.
    pub(crate) free_ns: u64,
    /// None that is published later starts earlier.
    from_ns: u64,
    /// When those end that have a part of it, and may be at work at `from_ns`. All are of one
    /// group.
    parts: Vec<(u64, Share)>,
    /// From when until when there are any: in their order, none overlaps another.
    /// Kept only of processors that contend.
    stretches: VecDeque<(u64, u64)>,
}

impl Occupied {
    /// The earliest moment at which one more that needs this share may start: those that were
    /// published before have started, and leave so much.
    pub(crate) fn free_for(&self, share: Share) -> u64 {
        let goes_with = |(_, part): &(u64, Share)| part.goes_with(share);
        if !self.parts.first().is_some_and(goes_with) {
            return self.free_ns;
        }
        let has_room = |at_ns: u64| {
            let at_work = self.parts.iter().filter(|(end_ns, _)| *end_ns > at_ns);
            share.fits(at_work.map(|(_, part)| *part))
        };
        let ends = self.parts.iter().map(|(end_ns, _)| *end_ns);
        let moments = ends.filter(|end_ns| *end_ns > self.from_ns);
        let moments = moments.chain([self.from_ns]);
        moments
            .filter(|at_ns| has_room(*at_ns))
            .min()
            .unwrap_or(self.free_ns)
    }

    /// One is published, which starts no earlier than [`free_for`](Self::free_for) says.
    pub(crate) fn part(&mut self, start_ns: u64, end_ns: u64, share: Share) {
        if share.is_whole() {
            return self.until(end_ns);
        }
        self.from_ns = self.from_ns.max(start_ns);
        self.free_ns = self.free_ns.max(end_ns);
        self.parts.retain(|(end_ns, _)| *end_ns > start_ns);
        self.parts.push((end_ns, share));
    }

    /// One that needs all of it is published, which starts no earlier than the last ends.
    pub(crate) fn until(&mut self, end_ns: u64) {
        self.free_ns = end_ns.max(self.free_ns);
        self.from_ns = self.free_ns;
        self.parts.clear();
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
    fn parts_run_together_as_far_as_they_fit() {
        let mut engine = Occupied::default();
        let share = |thousandths| Share::of_thousand(thousandths, 7);
        let [third, half, most] = [333, 500, 900].map(share);
        engine.until(10);
        assert_eq!(engine.free_for(third), 10);
        engine.part(10, 100, half);
        engine.part(10, 40, third);
        // A sixth is left until 40, half until 100.
        assert_eq!(engine.free_for(share(160)), 10);
        assert_eq!(
            [third, half, most].map(|it| engine.free_for(it)),
            [40, 40, 100]
        );
        assert_eq!(engine.free_for(Share::WHOLE), 100);
        // Another group has its turn when all of these have ended.
        assert_eq!(engine.free_for(Share::of_thousand(10, 8)), 100);
        engine.part(50, 60, half);
        // None starts before one that was published earlier.
        assert_eq!(engine.free_for(share(1)), 60);
        engine.until(120);
        assert_eq!(engine.free_for(third), 120);
    }

    #[test]
    fn there_are_only_so_many_parts() {
        let mut engine = Occupied::default();
        let smallest = Share::of_thousand(0, 7);
        for at_ns in 0..1000 {
            let start_ns = engine.free_for(smallest).max(at_ns);
            engine.part(start_ns, start_ns + 1_000_000, smallest);
        }
        assert!(
            engine.parts.len() <= Share::MOST_PARTS,
            "{}",
            engine.parts.len()
        );
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
