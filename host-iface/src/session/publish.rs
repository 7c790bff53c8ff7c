//! Publishes operations' intervals. Reports are used only here, and only for the
//! operation whose turn it is, so that simulated time does not depend on when a
//! report arrived.
//!
//! Each session has a timeline, and all share the devices' engines: before an
//! operation of one session is published, earlier ones of the others are. Output for
//! another session's memory then waits for a doorbell of that session.

use super::reports::When;
use super::schedule::{Early, Timeline};
use super::{Context, Refusal, Session};
use crate::busy;
use crate::config::Time;
use gil_timing::{Engine, Event, Turn};
use gil_wire::Op;

/// Most operations that a session leaves unpublished although they started: the board
/// has executed the first of them long before the last is sent, so its reports of them
/// come without a wait.
const DEFERRED_MAX: usize = 2048;

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

    /// Publishes, of what started by `at_ns`, only so much that the board owes no more
    /// than [`DEFERRED_MAX`] reports.
    pub(super) fn publish_excess(
        &mut self,
        context: &mut Context<'_>,
        at_ns: u64,
    ) -> Result<(), Refusal> {
        while self.schedule.unreported > DEFERRED_MAX
            && let Some(next) = self.next_of_all(context)
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
        while !is_known(&self.schedule.timeline) {
            self.publish_one(context)?;
        }
        Ok(())
    }

    /// Publishes what is next, of whichever session, as long as this one has
    /// anything to publish.
    pub(super) fn publish_one(&mut self, context: &mut Context<'_>) -> Result<(), Refusal> {
        match (self.schedule.timeline.next_candidate(), self.turn()) {
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

    /// The turn of what is published next here.
    fn turn(&mut self) -> Option<Turn> {
        let links = &self.links;
        self.schedule.turn(|op| links.of(op).is_open())
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
            return self.publish_or_end(context);
        };
        if other.publish_or_end(context).is_err() {
            other.lose_next();
        }
        context.others.insert(number, other);
        Ok(())
    }

    /// Publishes what is next here, or loses its board, whose operations have
    /// ended then: of several boards the others go on.
    fn publish_or_end(&mut self, context: &mut Context<'_>) -> Result<(), Refusal> {
        match self.publish_own(context) {
            Err(Refusal::Lost) if self.links.are_several() => Ok(()),
            published => published,
        }
    }

    /// What is published next never will be: its board counts as lost.
    fn lose_next(&mut self) {
        let next = self.schedule.timeline.next_candidate();
        let op = next.map_or(Op(0), |next| self.op_of(next.event));
        if !self.links.of(op).is_lost() {
            self.forget_board(op);
        }
    }

    fn publish_own(&mut self, context: &mut Context<'_>) -> Result<(), Refusal> {
        let next = self.schedule.timeline.next_candidate();
        let next = next.ok_or(Refusal::Unresolved)?;
        if !next.is_reported {
            self.learn_report(context, next.event)?;
        }
        let published = self.schedule.timeline.publish();
        let event = published.map_err(|error| Refusal::Bad(error.to_string()))?;
        self.count_job(context, event);
        self.count_busy(context, event);
        self.log_end(context, event);
        self.learn_ends();
        Ok(())
    }

    /// Counts an operation whose interval is known now, if it is a job on a processor,
    /// and the time by which others slow it down.
    fn count_job(&self, context: &mut Context<'_>, event: Event) {
        let pending = self.schedule.pending.get(&event);
        let interval = self.schedule.timeline.interval(event);
        let (Some(pending), Some(interval)) = (pending, interval) else {
            return;
        };
        let Some(place) = pending.job.filter(|_| !pending.is_rejected) else {
            return;
        };
        context.stats.jobs.add(place, &interval, pending.pace);
        let lasted_ns = interval.end_ns.saturating_sub(interval.start_ns);
        let more_ns = lasted_ns.saturating_sub(pending.duration_ns);
        self.count_gpu_time(context, pending.op, more_ns);
    }

    /// Counts for how long an operation whose interval is known now keeps its engine busy,
    /// while the run is looked at.
    fn count_busy(&self, context: &mut Context<'_>, event: Event) {
        let Some(busy) = &mut context.stats.busy else {
            return;
        };
        let pending = self.schedule.pending.get(&event);
        let interval = self.schedule.timeline.interval(event);
        let (Some(pending), Some(interval)) = (pending, interval) else {
            return;
        };
        let (device, is_shared) = pending.device;
        let place = busy::Place {
            process: (!is_shared).then(|| self.process()),
            device,
            engine: pending.engine.0,
        };
        if pending.engine != Engine::NONE {
            let interval = (interval.start_ns, interval.end_ns);
            busy.add(place, pending.op.api(), interval);
        }
    }

    /// Counts time on the device for an entry point, and for the process.
    pub(super) fn count_gpu_time(&self, context: &mut Context<'_>, op: Op, gpu_ns: u64) {
        let entry = context.stats.entry(op);
        entry.gpu_ns = entry.gpu_ns.saturating_add(gpu_ns);
        if let Some(process) = context.stats.process(self.links.first().process()) {
            process.gpu_ns = process.gpu_ns.saturating_add(gpu_ns);
        }
    }

    /// Has an operation reported, by what the board said of it already or says
    /// now.
    fn learn_report(&mut self, context: &mut Context<'_>, event: Event) -> Result<(), Refusal> {
        let pending = self.schedule.pending.get_mut(&event);
        match pending.and_then(|pending| pending.early.take()) {
            Some(early) => self.note_early(context, early),
            None => self.await_report(context, event, When::Now),
        }
    }

    fn note_early(&mut self, context: &mut Context<'_>, early: Early) -> Result<(), Refusal> {
        let noted = self.note_report(context, &early.report);
        let op = self.op_of(early.report.event);
        noted.map_err(|error| self.lose(context, op, &error))?;
        self.keep_bytes(context, &early.report, early.bytes);
        Ok(())
    }

    /// Has the board tell now how these ended, for their turns. It says the same of what
    /// ended before, which it need not be asked for then.
    pub(super) fn ask_ahead(
        &mut self,
        context: &mut Context<'_>,
        events: &[Event],
    ) -> Result<(), Refusal> {
        for &event in events {
            let pending = self.schedule.pending.get(&event);
            let is_known = pending.is_none_or(|it| it.is_reported || it.early.is_some());
            if !is_known && !self.schedule.timeline.is_blocked(event) {
                self.await_report(context, event, When::Later)?;
            }
        }
        Ok(())
    }

    /// The call that enqueued an operation.
    pub(super) fn op_of(&self, event: Event) -> Op {
        let operation = self.schedule.pending.get(&event);
        operation.map_or(Op(0), |operation| operation.op)
    }

    fn await_report(
        &mut self,
        context: &mut Context<'_>,
        event: Event,
        when: When,
    ) -> Result<(), Refusal> {
        let op = self.op_of(event);
        let mut client = self.links.of_mut(op).take().ok_or(Refusal::Lost)?;
        client.begin();
        let outcome = self.ask_report(context, &mut client, (event, when));
        context.took.waited += client.take_waited();
        match outcome {
            Ok(()) => {
                self.links.of_mut(op).put(client);
                Ok(())
            }
            Err(error) => Err(self.lose(context, op, &error)),
        }
    }
}
