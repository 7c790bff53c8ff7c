//! When operations' intervals become known. Reports are looked at only here,
//! and only of operations whose turn it is: simulated time does not depend on
//! when a report came.

use super::{Context, Link, Refusal, Session};
use crate::client::ClientError;
use crate::config::Time;
use gil_timing::{Event, Timeline};
use gil_wire::Op;

impl Session {
    /// Publishes every operation that starts by `at_ns`; in strict mode, all
    /// that can be.
    pub(super) fn publish_until(
        &mut self,
        context: &mut Context<'_>,
        at_ns: u64,
    ) -> Result<(), Refusal> {
        let at_ns = match context.time {
            Time::Strict => u64::MAX,
            Time::Async => at_ns,
        };
        while let Some(next) = self.timeline.next()
            && next.start_ns <= at_ns
        {
            self.publish_next(context)?;
        }
        Ok(())
    }

    /// Publishes, in the same order, until what somebody needs is known.
    pub(super) fn publish_for(
        &mut self,
        context: &mut Context<'_>,
        is_known: impl Fn(&Timeline) -> bool,
    ) -> Result<(), Refusal> {
        while !is_known(&self.timeline) {
            self.publish_next(context)?;
        }
        Ok(())
    }

    fn publish_next(&mut self, context: &mut Context<'_>) -> Result<(), Refusal> {
        let next = self.timeline.next().ok_or(Refusal::Unresolved)?;
        if !next.is_reported {
            self.await_report(context, next.event)?;
        }
        let published = self.timeline.publish();
        published.map_err(|error| Refusal::Bad(error.to_string()))?;
        self.learn_ends();
        Ok(())
    }

    fn await_report(&mut self, context: &mut Context<'_>, event: Event) -> Result<(), Refusal> {
        let Link::Open(mut client) = std::mem::replace(&mut self.link, Link::Lost) else {
            return Err(Refusal::Lost);
        };
        client.begin();
        let outcome = self.ask_report(context, &mut client, event);
        context.served.waited += client.take_waited();
        let op = self.pending.get(&event).map_or(Op(0), |pending| pending.op);
        match outcome {
            Ok(()) => {
                self.link = Link::Open(client);
                Ok(())
            }
            Err(error) => Err(self.lose(context, op, &error)),
        }
    }

    /// Learns the ends that became known.
    pub(super) fn learn_ends(&mut self) {
        for event in self.timeline.newly_resolved() {
            let interval = self.timeline.interval(event);
            let (Some(pending), Some(interval)) = (self.pending.get(&event), interval) else {
                continue;
            };
            self.held.resolve(pending.seq, interval.end_ns);
            self.printed.resolve(event, interval.end_ns);
            if pending.is_rejected {
                self.failures.note(pending.queue, event, interval.status);
            }
            let (observable, awaited) = (pending.observable, pending.awaited);
            if !awaited {
                self.pending.remove(&event);
                if !observable {
                    self.timeline.retire(event);
                }
            }
        }
    }

    /// The session has no board any more: nothing that it owes will come.
    pub(super) fn lose(
        &mut self,
        context: &mut Context<'_>,
        op: Op,
        error: &ClientError,
    ) -> Refusal {
        self.link = Link::Lost;
        self.released.extend(self.held.abandon());
        self.progress = true;
        let process = self.process;
        let text = format!("process {process} lost the board in {op}: {error}");
        let lost = &mut context.stats.report.board.lost;
        lost.get_or_insert_with(|| text.clone());
        context.events.warn(text);
        Refusal::Lost
    }
}
