//! How long engines were busy until a moment of simulated time: intervals are known
//! before that has come.

use gil_files::calls::engine_name;
use gil_report as report;
use std::collections::{BTreeMap, VecDeque};

/// Most engines that are counted: a guest may make up devices.
const ENGINES_MAX: usize = 64;
/// Most intervals of an engine that wait for their time; beyond them the earliest count as
/// over.
const AHEAD_MAX: usize = 1 << 14;

/// An engine: of a device that all processes share, or that one has for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The process that has it for itself.
    pub process: Option<u32>,
    /// The device.
    pub device: u64,
    /// The engine's number.
    pub engine: u8,
}

/// All engines that executed anything since this was made.
#[derive(Debug, Default)]
pub struct Busy(BTreeMap<Place, Engine>);

#[derive(Debug, Default)]
struct Engine {
    name: String,
    /// Nanoseconds of intervals that are over.
    over_ns: u64,
    /// The others, from the earliest.
    ahead: VecDeque<(u64, u64)>,
}

impl Busy {
    /// An engine is busy with an operation of this API in this interval, which begins no
    /// earlier than those before.
    pub fn add(&mut self, place: Place, api: u16, (start_ns, end_ns): (u64, u64)) {
        if self.0.len() >= ENGINES_MAX && !self.0.contains_key(&place) {
            return;
        }
        let engine = self.0.entry(place).or_insert_with(|| Engine {
            name: engine_name(gil_wire::api::api(api), place.engine),
            ..Engine::default()
        });
        engine.add(start_ns, end_ns);
    }

    /// How long each was busy until this moment, which is no earlier than before.
    pub fn until(&mut self, now_ns: u64) -> Vec<report::Busy> {
        let all = self.0.iter_mut();
        all.map(|(place, engine)| report::Busy {
            process: place.process,
            device: place.device,
            name: engine.name.clone(),
            busy_ns: engine.until(now_ns),
        })
        .collect()
    }
}

impl Engine {
    fn add(&mut self, start_ns: u64, end_ns: u64) {
        match self.ahead.back_mut() {
            // Those that share it overlap.
            Some(last) if last.1 >= start_ns => last.1 = last.1.max(end_ns),
            _ => self.ahead.push_back((start_ns, end_ns)),
        }
        if self.ahead.len() > AHEAD_MAX {
            self.pass();
        }
    }

    fn until(&mut self, now_ns: u64) -> u64 {
        while self.ahead.front().is_some_and(|first| first.1 <= now_ns) {
            self.pass();
        }
        let current = self.ahead.front();
        let begun_ns = current.map_or(0, |first| now_ns.saturating_sub(first.0));
        self.over_ns.saturating_add(begun_ns)
    }

    /// The earliest is over.
    fn pass(&mut self) {
        if let Some((start_ns, end_ns)) = self.ahead.pop_front() {
            let lasted_ns = end_ns.saturating_sub(start_ns);
            self.over_ns = self.over_ns.saturating_add(lasted_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPUTE: Place = Place {
        process: None,
        device: 0,
        engine: 1,
    };

    fn busy_ns(busy: &mut Busy, now_ns: u64) -> Vec<u64> {
        let all = busy.until(now_ns);
        all.iter().map(|engine| engine.busy_ns).collect()
    }

    #[test]
    fn what_lies_ahead_counts_when_its_time_has_come() {
        let mut busy = Busy::default();
        busy.add(COMPUTE, 1, (100, 200));
        busy.add(COMPUTE, 1, (200, 300));
        busy.add(COMPUTE, 1, (500, 600));
        let at = [50, 150, 250, 400, 550, 9000].map(|now_ns| busy_ns(&mut busy, now_ns));
        assert_eq!(at.concat(), [0, 50, 150, 200, 250, 300]);
    }

    #[test]
    fn engines_are_counted_apart_and_bounded() {
        let mut busy = Busy::default();
        busy.add(COMPUTE, 1, (0, 10));
        let own = Place {
            process: Some(7),
            ..COMPUTE
        };
        busy.add(own, 1, (0, 4));
        assert_eq!(busy_ns(&mut busy, 100), [10, 4]);
        assert_eq!(busy.until(100)[1].name, "compute");
        (0..1000).for_each(|device| busy.add(Place { device, ..COMPUTE }, 1, (0, 1)));
        assert_eq!(busy.until(100).len(), ENGINES_MAX);
    }

    #[test]
    fn intervals_that_wait_are_bounded() {
        let mut busy = Busy::default();
        let count = AHEAD_MAX as u64 + 5;
        (0..count).for_each(|n| busy.add(COMPUTE, 1, (10 * n, 10 * n + 1)));
        assert_eq!(busy_ns(&mut busy, 0), [5]);
        assert_eq!(busy_ns(&mut busy, u64::MAX), [count]);
    }
}
