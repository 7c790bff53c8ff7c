//! Numbers of work on the board's CPU that comes again in each run: equal work has equal
//! numbers, so that it takes the same simulated time, whatever else the machine does.

use crate::board::Outcome;
use gil_wire::identity::DeviceInfo;
use gil_wire::message::CallStatus;
use sha2::{Digest, Sha256};
use std::fs;
use std::time::Duration;

/// Parts that cannot be taken for one another.
#[derive(Debug, Default)]
pub struct Sum(Sha256);

impl Sum {
    /// The next part.
    pub fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    /// The number of what has these parts.
    pub fn number(self) -> u64 {
        let digest = self.0.finalize();
        let first = digest.first_chunk().copied();
        u64::from_le_bytes(first.unwrap_or_default())
    }
}

/// The board's processor, as Linux names it (`proc_cpuinfo(5)`). Other systems are told by
/// their devices alone.
pub fn cpu() -> Vec<u8> {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let of = |line: &&str| line.starts_with("model name") || line.starts_with("CPU part");
    text.lines().find(of).unwrap_or_default().into()
}

/// Work on the board's CPU that no call did, and for which a call pays: its time and its
/// number are the call's, too.
#[derive(Clone, Copy, Debug)]
pub struct Owed {
    number: u64,
    took: Duration,
}

impl Owed {
    /// Work of this number took so long.
    pub const fn new(number: u64, took: Duration) -> Self {
        Self { number, took }
    }

    /// Loading a driver and looking for its devices: the back end of this name found these,
    /// and that took so long. Each process that uses the driver pays it at its first call, as
    /// it would without the bridge, though the agent may have loaded the driver before.
    pub fn load(back_end: &str, devices: &[DeviceInfo], took: Duration) -> Self {
        let mut sum = Sum::default();
        sum.add(b"load");
        sum.add(back_end.as_bytes());
        sum.add(&cpu());
        for device in devices {
            sum.add(device.platform.as_bytes());
            sum.add(device.name.as_bytes());
            sum.add(device.version.as_bytes());
        }
        Self::new(sum.number(), took)
    }

    /// Both.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        Self {
            number: both(self.number, later.number),
            took: self.took + later.took,
        }
    }

    /// Adds it to a call; whether it could, since nobody learns what a call took that did
    /// not run.
    pub fn is_added(self, outcome: &mut Outcome) -> bool {
        if outcome.status != CallStatus::Ran {
            return false;
        }
        outcome.cpu_ns = outcome.cpu_ns.saturating_add(self.took.as_nanos() as u64);
        let own = outcome.work;
        outcome.work = Some(own.map_or(self.number, |own| both(self.number, own)));
        true
    }
}

/// The number of work that is both.
fn both(one: u64, other: u64) -> u64 {
    let mut sum = Sum::default();
    sum.add(&one.to_le_bytes());
    sum.add(&other.to_le_bytes());
    sum.number()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_one_another() {
        let number = |parts: &[&[u8]]| {
            let mut sum = Sum::default();
            parts.iter().for_each(|part| sum.add(part));
            sum.number()
        };
        assert_ne!(number(&[b"ab", b"c"]), number(&[b"a", b"bc"]));
        assert_ne!(number(&[b"ab"]), number(&[b"ab", b""]));
        assert_eq!(number(&[b"ab", b"c"]), number(&[b"ab", b"c"]));
    }

    #[test]
    fn a_call_that_did_not_run_pays_for_no_load() {
        let load = Owed::load("first", &[], Duration::from_millis(3));
        let mut refused = Outcome::refused("no");
        assert!(!load.is_added(&mut refused));
        assert_eq!((refused.cpu_ns, refused.work), (0, None));
    }

    #[test]
    fn a_load_and_what_else_the_call_did_are_other_work_than_each_alone() {
        let load = Owed::load("first", &[], Duration::from_millis(3));
        let added = |work| {
            let mut outcome = Outcome {
                status: CallStatus::Ran,
                cpu_ns: 10,
                work,
                ..Outcome::refused("")
            };
            assert!(load.is_added(&mut outcome));
            assert_eq!(outcome.cpu_ns, 3_000_010);
            outcome.work.unwrap()
        };
        let numbers = [added(None), added(Some(1)), added(Some(2))];
        assert_eq!(numbers[0], load.number);
        assert!(numbers[0] != numbers[1] && numbers[1] != numbers[2]);
    }
}
