//! What the guest gets besides a call's own answer: output at its simulated end,
//! text, notices, and the numbers of submissions whose memory it can release.

use super::Context;
use super::failures::Failures;
use super::schedule::{End, Pending};
use crate::held::{Due, Held};
use crate::mailbox::Answer;
use crate::memory::write_ranges;
use crate::printed::Printed;
use gil_address_tables::Extents;
use gil_timing::Event;
use gil_uapi::{RELEASED_MAX, WaitKind, flag};
use gil_wire::control::LATE_NS;
use gil_wire::ending::Ending;
use gil_wire::envelope::{Envelope, Observation};
use gil_wire::message::Report;
use std::collections::VecDeque;

/// How long output waits for a thread that will collect it.
const PATIENCE_NS: u64 = LATE_NS * 2 / 5;

/// What is on its way to a session's program.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    pub(super) held: Held,
    pub(super) printed: Printed,
    pub(super) failures: Failures,
    /// Whether the guest's library is to ask the board what its driver said.
    pub(super) notices: bool,
    pub(super) released: VecDeque<u64>,
    /// Whether an event was set in this doorbell: what waits for events nobody
    /// had set may go on.
    pub(super) progress: bool,
}

/// When to ring for output that ends at `end_ns`, where a thread will collect
/// what ended by `deadline_ns`.
fn ring_ns(end_ns: u64, deadline_ns: u64) -> u64 {
    let collected_ns = deadline_ns.saturating_sub(end_ns);
    match end_ns <= deadline_ns && collected_ns < PATIENCE_NS {
        true => deadline_ns.saturating_add(PATIENCE_NS),
        false => end_ns,
    }
}

impl Delivery {
    /// Writes output that is ready into guest RAM.
    pub(super) fn deliver(&mut self, context: &mut Context<'_>, now_ns: u64) {
        for due in self.held.take_due(now_ns) {
            deliver_one(context, now_ns, &due);
            self.released.push_back(due.seq);
        }
    }

    /// Output of these regions is seen by `end_ns`: what is older goes first, so
    /// that the submission's own stays.
    pub(super) fn deliver_over(
        &mut self,
        context: &mut Context<'_>,
        (seq, now_ns): (u64, u64),
        end_ns: u64,
        outs: &[&Extents],
    ) {
        for due in self.held.take_overlapping(end_ns, outs) {
            let is_own = due.seq == seq;
            let at_ns = if is_own { due.end_ns } else { now_ns };
            deliver_one(context, at_ns, &due);
            if !is_own {
                self.released.push_back(due.seq);
            }
        }
    }

    /// An operation's end became known.
    pub(super) fn ended(&mut self, end: &End<'_>) {
        if let Some(seq) = end.operation.output() {
            self.held.resolve(seq, end.end_ns);
        }
        self.printed.resolve(end.event, end.end_ns);
        if let Ending::Failed(code) = end.ending
            && end.operation.is_rejected
        {
            self.failures.note(end.operation.queue, end.event, code);
        }
    }

    /// Keeps what an operation made until its end: its output, then its text.
    pub(super) fn keep_bytes(
        &mut self,
        context: &mut Context<'_>,
        report: &Report,
        operation: Option<&Pending>,
        mut bytes: Vec<Vec<u8>>,
    ) {
        let text = bytes.pop().unwrap_or_default();
        if !self.printed.add(report.event, text) {
            let text = "text that kernels printed is dropped: the program does not take it";
            context.events.warn(text.into());
        }
        let Some(seq) = operation.and_then(Pending::output) else {
            return;
        };
        for (region, bytes) in bytes.into_iter().enumerate() {
            self.fill(context, (seq, region), bytes);
        }
    }

    /// The board made this of a submission's region.
    pub(super) fn fill(
        &mut self,
        context: &mut Context<'_>,
        (seq, region): (u64, usize),
        bytes: Vec<u8>,
    ) {
        if let Err(error) = self.held.fill(seq, region, bytes) {
            let text = format!("output is dropped: the board's differences are none: {error}");
            context.events.warn(text);
        }
    }

    /// Bytes of output that an operation may make, of each region.
    pub(super) fn room_of(&self, operation: &Pending) -> Vec<u64> {
        let seq = operation.output();
        seq.map_or_else(Vec::new, |seq| self.held.lens(seq))
    }

    /// Operations without an end whose output is among these bytes.
    pub(super) fn open_over<'a>(&self, regions: impl Iterator<Item = &'a Extents>) -> Vec<Event> {
        regions
            .flat_map(|region| self.held.open_over(region))
            .collect()
    }

    /// What is reported of it to a call that waits for its queue.
    pub(super) fn told(&mut self, envelope: &Envelope<'_>, waits: bool) -> Vec<Observation> {
        let queue = envelope.queue.filter(|_| waits);
        let told = queue.and_then(|queue| self.failures.take(queue.id));
        told.into_iter().collect()
    }

    /// The session has lost a board: what operations owe for which `is_gone` will
    /// not come.
    pub(super) fn abandon(&mut self, is_gone: impl Fn(Option<Event>) -> bool) {
        self.released.extend(self.held.abandon(is_gone));
        self.progress = true;
    }

    pub(super) fn take_progress(&mut self) -> u32 {
        match std::mem::take(&mut self.progress) {
            true => flag::PROGRESS,
            false => 0,
        }
    }

    /// Adds to an answer what every one carries: released numbers, and whether
    /// output becomes ready by the deadline.
    pub(super) fn finish(&mut self, answer: &mut Answer) {
        let count = self.released.len().min(RELEASED_MAX);
        answer.released = self.released.drain(..count).collect();
        answer.flags |= self.take_progress();
        if !self.released.is_empty() {
            answer.flags |= flag::MORE;
        }
        if answer.wait != WaitKind::None && self.held.is_due_by(answer.deadline_ns) {
            answer.flags |= flag::COLLECT;
        }
    }

    /// Whether no output is outstanding.
    pub(super) fn holds_nothing(&self) -> bool {
        self.held.is_empty()
    }

    /// When the driver has to ring by itself for output. What the answer's own
    /// thread will collect in time needs a ring only if the thread does not get
    /// to it.
    pub(super) fn attention_ns(&self, answer: &Answer) -> Option<u64> {
        let deadline_ns = answer.deadline_ns;
        // Between these, the thread collects what it collects of the first.
        let first = self.held.end_from(0)?;
        let behind = self.held.end_from(deadline_ns.saturating_add(1));
        let ends = [first].into_iter().chain(behind);
        ends.map(|end_ns| ring_ns(end_ns, deadline_ns)).min()
    }
}

fn deliver_one(context: &mut Context<'_>, now_ns: u64, due: &Due) {
    for (extents, made) in &due.regions {
        let made: Vec<_> = made.iter().map(|(at, bytes)| (*at, &bytes[..])).collect();
        if let Err(error) = write_ranges(context.memory, extents, &made) {
            let text = format!("output was not delivered: {error}");
            context.events.warn(text);
        }
    }
    let late_ns = now_ns.saturating_sub(due.end_ns);
    context.stats.delivered(late_ns);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_rung_for_at_its_end_or_when_a_thread_does_not_come() {
        let deadline_ns = 1_000_000;
        for (end_ns, ring) in [
            (deadline_ns, 1_040_000),
            (960_001, 1_040_000),
            (960_000, 960_000),
            (deadline_ns + 1, deadline_ns + 1),
        ] {
            assert_eq!(ring_ns(end_ns, deadline_ns), ring, "{end_ns}");
        }
    }
}
