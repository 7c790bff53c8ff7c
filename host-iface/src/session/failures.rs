//! Operations that the board's driver refused although their calls had returned. The
//! next call that waits for their queue returns the error, once.

use foldhash::HashMap;
use gil_timing::Event;
use gil_wire::ending::Ending;
use gil_wire::envelope::{Observation, State};

/// Queues with a failure that nobody heard of yet; of more, the program learns
/// by the events alone.
const QUEUES_MAX: usize = 4096;

/// The first failure on each queue since the last reported one.
#[derive(Debug, Default)]
pub(super) struct Failures(HashMap<u64, (Event, i32)>);

impl Failures {
    /// An operation on `queue` failed, with the API's own code.
    pub(super) fn note(&mut self, queue: Option<u64>, event: Event, code: i32) {
        if let Some(queue) = queue
            && self.0.len() < QUEUES_MAX
        {
            self.0.entry(queue).or_insert((event, code));
        }
    }

    /// The program sees how these events ended: they need not be reported again.
    pub(super) fn seen(&mut self, observed: &[Observation]) {
        if !self.0.is_empty() {
            let failed = |event| {
                observed
                    .iter()
                    .any(|o| o.event == event && o.ending.is_failure())
            };
            self.0.retain(|_, (event, _)| !failed(*event));
        }
    }

    /// Queue, event and code of each, in the order of the queues.
    pub(super) fn all(&self) -> Vec<(u64, u64, i32)> {
        let all = self.0.iter();
        let mut all: Vec<_> = all
            .map(|(queue, (event, code))| (*queue, *event, *code))
            .collect();
        all.sort_unstable();
        all
    }

    pub(super) fn take(&mut self, queue: u64) -> Option<Observation> {
        let (event, code) = self.0.remove(&queue)?;
        Some(Observation {
            event,
            state: State::Complete,
            ending: Ending::Failed(code),
            queued_ns: 0,
            submitted_ns: 0,
            start_ns: 0,
            end_ns: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_of_a_queue_is_told_once() {
        let mut failures = Failures::default();
        failures.note(Some(1), 10, -54);
        failures.note(Some(1), 11, -5);
        failures.note(Some(2), 12, -4);
        failures.note(None, 13, -4);
        assert_eq!(failures.all(), [(1, 10, -54), (2, 12, -4)]);
        let told = failures.take(1).map(|o| (o.event, o.ending));
        let failed = Ending::Failed(-54);
        assert_eq!((told, failures.take(1)), (Some((10, failed)), None));
        let seen = failures.take(2).into_iter().collect::<Vec<_>>();
        failures.note(Some(2), 12, -4);
        failures.seen(&seen);
        assert_eq!(failures.take(2), None, "its event said so");
    }

    #[test]
    fn only_a_seen_failure_need_not_be_told() {
        let mut failures = Failures::default();
        failures.note(Some(1), 10, -54);
        let failed = Ending::Failed(-54);
        let mut seen = |event, ending| {
            let observation = Observation {
                event,
                ending,
                state: State::Complete,
                queued_ns: 0,
                submitted_ns: 0,
                start_ns: 0,
                end_ns: 0,
            };
            failures.seen(&[observation]);
            failures.all().is_empty()
        };
        assert!(!seen(11, failed), "another event");
        assert!(!seen(10, Ending::Done), "not at its end yet");
        assert!(seen(10, failed));
    }

    #[test]
    fn memory_is_bounded() {
        let mut failures = Failures::default();
        let all = 0..2 * QUEUES_MAX as u64;
        all.for_each(|queue| failures.note(Some(queue), queue, -1));
        assert_eq!(failures.0.len(), QUEUES_MAX);
    }
}
