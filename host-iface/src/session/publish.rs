//! When operations' intervals become known. Reports are looked at only here,
//! and only of operations whose turn it is: simulated time does not depend on
//! when a report came.
//!
//! Sessions have a timeline each and the devices' engines in common: whatever
//! is published for one, what comes before it on another's goes first. What the
//! other's own memory is to hold then waits for a doorbell of its own.

use super::{Context, Link, Refusal, Session, Timeline};
use crate::client::ClientError;
use crate::config::Time;
use gil_timing::{Event, Turn};
use gil_wire::Op;
use gil_wire::ending::Ending;

/// The operation that is published next. No two have the same turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Next {
    turn: Turn,
    /// The other session that it is of.
    session: Option<u64>,
}

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
        while let Some(next) = self.next_of_all(context)
            && next.turn.start_ns() <= at_ns
        {
            self.publish_next(context, next.session)?;
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
            self.publish_one(context)?;
        }
        Ok(())
    }

    /// Publishes what is next, of whichever session, as long as this one has
    /// anything to publish.
    pub(super) fn publish_one(&mut self, context: &mut Context<'_>) -> Result<(), Refusal> {
        match (self.timeline.next_candidate(), self.turn()) {
            (None, _) => return Err(Refusal::Unresolved),
            (Some(_), None) => return Err(Refusal::Lost),
            (Some(_), Some(_)) => {}
        }
        let next = self.next_of_all(context).ok_or(Refusal::Lost)?;
        self.publish_next(context, next.session)
    }

    /// Whose turn it is.
    fn next_of_all(&mut self, context: &mut Context<'_>) -> Option<Next> {
        let own = self.turn().map(|turn| Next {
            turn,
            session: None,
        });
        let others = context.others.iter_mut().filter_map(|(number, session)| {
            let turn = session.turn()?;
            let session = Some(*number);
            Some(Next { turn, session })
        });
        others.chain(own).min()
    }

    /// The turn of what is published next here, unless its duration can never
    /// be known.
    fn turn(&mut self) -> Option<Turn> {
        let has_board = matches!(self.link, Link::Open(_));
        let next = self.timeline.next_candidate();
        let next = next.filter(|next| has_board || next.is_reported);
        next.map(|next| next.turn)
    }

    /// Publishes what is next: of this session, or of another, which bears the
    /// loss of its own board alone.
    fn publish_next(
        &mut self,
        context: &mut Context<'_>,
        session: Option<u64>,
    ) -> Result<(), Refusal> {
        let other = session.and_then(|number| context.others.remove_entry(&number));
        let Some((number, mut other)) = other else {
            return self.publish_own(context);
        };
        if other.publish_own(context).is_err() {
            other.link = Link::Lost;
        }
        context.others.insert(number, other);
        Ok(())
    }

    fn publish_own(&mut self, context: &mut Context<'_>) -> Result<(), Refusal> {
        let next = self.timeline.next_candidate().ok_or(Refusal::Unresolved)?;
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
        context.took.waited += client.take_waited();
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
            if let Some(seq) = pending.output() {
                self.held.resolve(seq, interval.end_ns);
            }
            self.printed.resolve(event, interval.end_ns);
            if let Ending::Failed(code) = interval.ending
                && pending.is_rejected
            {
                self.failures.note(pending.queue, event, code);
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
