//! Applies a board's answer to the timeline and to the waiting thread.

use super::calls::Call;
use super::delivery::Delivery;
use super::exchange::{Brought, is_refused, wrong};
use super::schedule::Busy;
use super::{Context, Refusal, Session};
use crate::mailbox::Answer;
use gil_timing::Event;
use gil_transport::client::ClientError;
use gil_uapi::{Status, WaitKind, flag};
use gil_wire::envelope::Class;
use gil_wire::message::{CallStatus, Done};

impl Session {
    /// Puts the call and what it reports on the timeline. Nothing is published
    /// yet.
    pub(super) fn note(
        &mut self,
        context: &mut Context<'_>,
        (main, busy): (&Call<'_>, Busy),
        done: &Done<'_>,
    ) -> Result<(), ClientError> {
        let is_enqueue = main.envelope.class == Class::Enqueue;
        let is_refused = is_refused(main, done);
        if done.status == CallStatus::Ran && is_enqueue && !is_refused {
            // Kept until `settle` has looked at it.
            self.schedule.expect(main, true);
            let submit_ns = self.schedule.submits_ns(main, busy);
            let put = self.schedule.enqueue(main, submit_ns);
            put.map_err(|_| wrong("an operation that cannot be enqueued".into()))?;
        }
        for report in &done.reports {
            match main.envelope.signals {
                // A synchronous call's own report: the event was set. Where it
                // was before, the board's result says so.
                Some(event) if event == report.event && !is_enqueue => {
                    self.signal(event, busy.returns_ns, report.ending);
                }
                // Nothing was enqueued, whatever it would have waited for.
                Some(event) if event == report.event && is_refused => {}
                // Which jobs had ended by then is no part of what is simulated.
                Some(event) if event != report.event && main.brings_differences() => {
                    self.note_later(report.clone(), Vec::new())?;
                }
                _ => self.note_report(context, report)?,
            }
        }
        Ok(())
    }

    /// Simulated time of an answer: what is published, what output is seen
    /// when, and when the thread goes on.
    pub(super) fn settle(
        &mut self,
        context: &mut Context<'_>,
        main: &Call<'_>,
        waits: bool,
        brought: Brought<'_>,
    ) -> Result<Answer, Refusal> {
        let Brought {
            done,
            busy,
            slots,
            bytes,
        } = brought;
        let is_refused = is_refused(main, &done);
        let is_enqueued = main.envelope.class == Class::Enqueue && !is_refused;
        let is_held = !is_refused && self.delivery.hold(context, main, slots);
        for (report, bytes) in done.reports.iter().zip(bytes) {
            self.keep_bytes(context, report, bytes);
        }
        let mut answer = match main.envelope.signals {
            Some(event) if is_enqueued => {
                self.settle_enqueue(context, main, event, (waits, is_held, busy))?
            }
            _ => {
                self.learn_ends();
                if is_held {
                    self.delivery.give(context, main, busy.returns_ns);
                }
                self.returned(main, busy.due_ns, busy.returns_ns, WaitKind::Occupy)
            }
        };
        let at_ns = answer.deadline_ns.max(main.submission.now_ns());
        let told = self.delivery.told(main.envelope, waits);
        let encoded = self
            .delivery
            .encode(done.result, told, main.submission, (at_ns, false));
        answer.reply = encoded?;
        Ok(answer)
    }

    fn settle_enqueue(
        &mut self,
        context: &mut Context<'_>,
        main: &Call<'_>,
        event: Event,
        (waits, is_held, busy): (bool, bool, Busy),
    ) -> Result<Answer, Refusal> {
        let now_ns = main.submission.now_ns();
        self.publish_until(context, now_ns)?;
        let waits = waits && !self.schedule.timeline.is_blocked(event);
        if waits {
            self.publish_for(context, |timeline| timeline.interval(event).is_some())?;
        }
        let interval = self.schedule.timeline.interval(event);
        let end_ns = interval.map(|interval| interval.end_ns);
        self.schedule.let_go(main, event);
        let mut answer = match end_ns.filter(|_| waits) {
            Some(end_ns) => {
                let goes_on_ns = self.schedule.goes_on_ns(main, end_ns, busy);
                self.links
                    .of_mut(main.envelope.op)
                    .lateness
                    .has_seen(end_ns);
                let due_ns = goes_on_ns
                    .cast_signed()
                    .saturating_sub(main.entry_ns.cast_signed());
                self.returned(main, due_ns, goes_on_ns, WaitKind::Sleep)
            }
            None => self.returned(main, busy.due_ns, busy.returns_ns, WaitKind::Occupy),
        };
        match end_ns {
            Some(end_ns) if waits || end_ns <= now_ns => {
                if is_held {
                    self.delivery.give(context, main, end_ns);
                }
            }
            _ => answer.flags |= Delivery::held_flags(is_held),
        }
        if end_ns.is_none() {
            answer.flags |= flag::PENDING;
        }
        Ok(answer)
    }

    /// An answer to a thread that goes on then, which is so long after the call's entry. Where
    /// that has passed, the thread is late by the rest.
    fn returned(&mut self, main: &Call<'_>, due_ns: i64, at_ns: u64, wait: WaitKind) -> Answer {
        let answer = answered(main, at_ns, wait);
        if answer.wait == WaitKind::None {
            self.links.of_mut(main.envelope.op).lateness.owe(due_ns);
        }
        answer
    }
}

fn answered(main: &Call<'_>, deadline_ns: u64, wait: WaitKind) -> Answer {
    let is_ahead = deadline_ns > main.submission.now_ns();
    Answer {
        deadline_ns: if is_ahead { deadline_ns } else { 0 },
        wait: if is_ahead { wait } else { WaitKind::None },
        ..Answer::status(Status::Ok)
    }
}
