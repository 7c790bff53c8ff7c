//! What a board's answer means for the timeline, and for the thread that
//! waits.

use super::calls::Call;
use super::exchange::{Brought, Done, in_len, out_regions, wrong};
use super::{Context, Pending, Refusal, Session};
use crate::client::ClientError;
use crate::mailbox::Answer;
use gil_timing::{Engine, Event, Operation, Order};
use gil_uapi::{Status, WaitKind, flag};
use gil_wire::envelope::{self, Class};
use gil_wire::message::CallStatus;

impl Session {
    /// Puts the call and what it reports on the timeline. Nothing is published
    /// yet.
    pub(super) fn note(
        &mut self,
        context: &mut Context<'_>,
        main: &Call<'_>,
        done: &Done,
    ) -> Result<(), ClientError> {
        let is_enqueue = main.envelope.class == Class::Enqueue;
        let is_refused = done.refuses(main);
        let returns_ns = main.entry_ns.saturating_add(done.cpu_ns);
        if done.status == CallStatus::Ran && is_enqueue && !is_refused {
            // Kept until `settle` has looked at it.
            let put = self.enqueue(main, returns_ns, true);
            put.map_err(|_| wrong("an operation that cannot be enqueued".into()))?;
        }
        for report in &done.reports {
            match main.envelope.signals {
                // A synchronous call's own report: the event was set. Where it
                // was before, the board's result says so.
                Some(event) if event == report.event && !is_enqueue => {
                    self.signal(event, returns_ns, report.ending);
                }
                // Nothing was enqueued, whatever it would have waited for.
                Some(event) if event == report.event && is_refused => {}
                _ => self.note_report(context, report)?,
            }
        }
        Ok(())
    }

    /// Puts an operation on the timeline.
    pub(super) fn enqueue(
        &mut self,
        call: &Call<'_>,
        submit_ns: u64,
        awaited: bool,
    ) -> Result<(), Refusal> {
        let envelope = call.envelope;
        let put = self.timeline.enqueue(self.operation(call, submit_ns));
        put.map_err(|error| Refusal::Bad(error.to_string()))?;
        let pending = Pending {
            seq: call.header.seq,
            has_output: out_regions(call).next().is_some(),
            op: envelope.op,
            is_reported: false,
            is_rejected: false,
            queue: envelope.queue.map(|queue| queue.id),
            is_fence: order(envelope.order) != Order::Command,
            observable: envelope.observable,
            awaited,
            input_len: in_len(call),
        };
        let event = envelope.signals.unwrap_or_default();
        self.pending.insert(event, pending);
        Ok(())
    }

    /// Simulated time of an answer: what is published, what output is seen
    /// when, and when the thread goes on.
    pub(super) fn settle(
        &mut self,
        context: &mut Context<'_>,
        main: &Call<'_>,
        waits: bool,
        brought: Brought,
    ) -> Result<Answer, Refusal> {
        let Brought { done, slots, bytes } = brought;
        let returns_ns = main.entry_ns.saturating_add(done.cpu_ns);
        let is_refused = done.refuses(main);
        let is_enqueued = main.envelope.class == Class::Enqueue && !is_refused;
        let is_held = !is_refused && self.hold(main, slots);
        for (report, bytes) in done.reports.iter().zip(bytes) {
            self.keep_bytes(context, report, bytes);
        }
        let mut answer = match main.envelope.signals {
            Some(event) if is_enqueued => {
                self.settle_enqueue(context, main, event, (waits, is_held, returns_ns))?
            }
            _ => {
                self.learn_ends();
                if is_held {
                    self.give(context, main, returns_ns);
                }
                answered(main, returns_ns, WaitKind::Occupy)
            }
        };
        let at_ns = answer.deadline_ns.max(main.header.now_ns);
        let told = self.told(main.envelope, waits);
        answer.reply = self.encode(&done.result, told, main.header, at_ns)?;
        Ok(answer)
    }

    fn settle_enqueue(
        &mut self,
        context: &mut Context<'_>,
        main: &Call<'_>,
        event: Event,
        (waits, is_held, returns_ns): (bool, bool, u64),
    ) -> Result<Answer, Refusal> {
        let now_ns = main.header.now_ns;
        self.publish_until(context, now_ns)?;
        let waits = waits && !self.timeline.is_blocked(event);
        if waits {
            self.publish_for(context, |timeline| timeline.interval(event).is_some())?;
        }
        let interval = self.timeline.interval(event);
        let end_ns = interval.map(|interval| interval.end_ns);
        self.let_go(main, event);
        let mut answer = match end_ns.filter(|_| waits) {
            Some(end_ns) => answered(main, end_ns.max(returns_ns), WaitKind::Sleep),
            None => answered(main, returns_ns, WaitKind::Occupy),
        };
        match end_ns {
            Some(end_ns) if waits || end_ns <= now_ns => {
                if is_held {
                    self.give(context, main, end_ns);
                }
            }
            _ => answer.flags |= Self::held_flags(is_held),
        }
        if end_ns.is_none() {
            answer.flags |= flag::PENDING;
        }
        Ok(answer)
    }

    /// A call's operation, submitted at `submit_ns`.
    pub(super) fn operation(&self, call: &Call<'_>, submit_ns: u64) -> Operation {
        let envelope = call.envelope;
        let queue = envelope.queue;
        Operation {
            event: envelope.signals.unwrap_or_default(),
            entry_ns: call.entry_ns,
            submit_ns,
            queue: queue.map(|queue| self.queue_ref(envelope.op, queue)),
            engine: Engine(envelope.engine.0),
            order: order(envelope.order),
            waits: envelope.waits.clone(),
            // Until its end is known here; `learn_ends` retires it then.
            observable: true,
            attended: out_regions(call).next().is_some(),
        }
    }

    /// `settle` has looked at an operation: from here on only its sender's or
    /// the program's interest counts.
    fn let_go(&mut self, main: &Call<'_>, event: Event) {
        let envelope = main.envelope;
        if self.timeline.interval(event).is_some() {
            self.pending.remove(&event);
            if !envelope.observable {
                self.timeline.retire(event);
            }
        } else if let Some(pending) = self.pending.get_mut(&event) {
            pending.awaited = envelope.blocking && !envelope.observable;
        }
    }
}

fn order(order: envelope::Order) -> Order {
    match order {
        envelope::Order::Command => Order::Command,
        envelope::Order::Marker => Order::Marker,
        envelope::Order::Barrier => Order::Barrier,
    }
}

fn answered(main: &Call<'_>, deadline_ns: u64, wait: WaitKind) -> Answer {
    let is_ahead = deadline_ns > main.header.now_ns;
    Answer {
        deadline_ns: if is_ahead { deadline_ns } else { 0 },
        wait: if is_ahead { wait } else { WaitKind::None },
        ..Answer::status(Status::Ok)
    }
}
