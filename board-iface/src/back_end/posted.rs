//! What calls without an answer took, until the next answer says so.

use gil_wire::Op;
use gil_wire::message::{POSTED_MAX, Posted};
use std::collections::BTreeMap;

/// By entry point.
#[derive(Debug, Default)]
pub struct Costs(BTreeMap<Op, Posted>);

impl Costs {
    /// A call took so long.
    pub fn add(&mut self, op: Op, cpu_ns: u64) {
        let full = self.0.len() == POSTED_MAX;
        if full && !self.0.contains_key(&op) {
            return;
        }
        let posted = self.0.entry(op).or_insert(Posted {
            op,
            calls: 0,
            cpu_ns: 0,
            longest_ns: 0,
        });
        posted.calls = posted.calls.saturating_add(1);
        posted.cpu_ns = posted.cpu_ns.saturating_add(cpu_ns);
        posted.longest_ns = posted.longest_ns.max(cpu_ns);
    }

    /// All so far, which are told now; and their time.
    pub fn take(&mut self) -> (Vec<Posted>, u64) {
        let all: Vec<_> = std::mem::take(&mut self.0).into_values().collect();
        let sum = all
            .iter()
            .fold(0u64, |sum, one| sum.saturating_add(one.cpu_ns));
        (all, sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_an_entry_point_are_told_together_and_once() {
        let mut costs = Costs::default();
        let (clear, draw) = (Op::new(3, 24), Op::new(3, 37));
        for (op, ns) in [(draw, 5), (clear, 1), (draw, 7)] {
            costs.add(op, ns);
        }
        let (all, sum) = costs.take();
        let shown: Vec<_> = all.iter().map(|p| (p.op, p.calls, p.cpu_ns)).collect();
        assert_eq!(shown, [(clear, 1, 1), (draw, 2, 12)]);
        assert_eq!((all[1].longest_ns, sum), (7, 13));
        assert_eq!(costs.take(), (Vec::new(), 0));
    }

    #[test]
    fn no_more_are_kept_than_an_answer_says() {
        let mut costs = Costs::default();
        for entry in 0..=POSTED_MAX as u16 {
            costs.add(Op::new(3, entry), 1);
        }
        costs.add(Op::new(3, 0), 1);
        let (all, _) = costs.take();
        assert_eq!((all.len(), all[0].calls), (POSTED_MAX, 2));
    }
}
