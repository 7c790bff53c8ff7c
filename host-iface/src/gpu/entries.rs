//! Calls of the driver's functions that start jobs, beside the jobs that registers start.

use gil_report::Starts;
use std::collections::VecDeque;

/// Calls that a job may belong to: it starts before its function returns.
const LATEST: usize = 64;

/// A call, with the GPU addresses at which its jobs may begin.
#[derive(Debug)]
struct Entry {
    addresses: Vec<u64>,
    has_started: bool,
}

/// The calls of a run.
#[derive(Debug, Default)]
pub struct Entries {
    latest: VecDeque<Entry>,
    seen: Starts,
}

impl Entries {
    /// A function is called that starts jobs at some of these addresses.
    pub fn enter(&mut self, addresses: Vec<u64>) {
        self.seen.calls += 1;
        self.latest.push_back(Entry {
            addresses,
            has_started: false,
        });
        if self.latest.len() > LATEST {
            let oldest = self.latest.pop_front();
            self.seen.calls_without += u64::from(oldest.is_some_and(|it| !it.has_started));
        }
    }

    /// Registers start a job at this address: it is the latest call's that has it.
    pub fn start(&mut self, address: u64) {
        self.seen.jobs += 1;
        let mut latest = self.latest.iter_mut().rev();
        match latest.find(|it| it.addresses.contains(&address)) {
            Some(entry) => entry.has_started = true,
            None => self.seen.jobs_without += 1,
        }
    }

    /// What the report says; nothing if no call was seen.
    pub fn report(&self) -> Option<Starts> {
        let without = self.latest.iter().filter(|it| !it.has_started).count() as u64;
        (self.seen.calls > 0).then(|| Starts {
            calls_without: self.seen.calls_without + without,
            ..self.seen
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_starts_no_job_is_told_by_its_registers() {
        let mut entries = Entries::default();
        entries.start(1);
        assert_eq!(entries.report(), None);
        for round in 0..200 {
            entries.enter(vec![7, 8, 9]);
            if round % 4 != 0 {
                [7, 8].into_iter().for_each(|it| entries.start(it));
            }
        }
        entries.start(10);
        let wanted = Starts {
            calls: 200,
            calls_without: 50,
            jobs: 302,
            jobs_without: 2,
        };
        assert_eq!(entries.report(), Some(wanted));
    }
}
