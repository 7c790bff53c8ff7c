//! One guest address space: its connection to the board, its timeline, and its
//! output that waits for its simulated end.

mod called;
mod calls;
mod delivery;
mod exchange;
mod failures;
mod forward;
mod labels;
mod lateness;
mod link;
mod links;
pub(crate) mod log;
mod mirrors;
mod observe;
mod output;
mod place;
mod publish;
mod remember;
mod reports;
mod restore;
mod rows;
mod save;
mod schedule;
mod served;
mod settle;

use crate::boards::Boards;
use crate::call_log::CallLog;
use crate::config::Time;
use crate::devices::Devices;
use crate::events::Events;
use crate::executed::Executed;
use crate::frames::Thread;
use crate::mailbox::Answer;
use crate::memory::GuestMemory;
use crate::recorder::{Recorder, RecorderError};
use crate::stats::Stats;
use crate::submission::Submission;
use crate::target::Target;
use crate::work_times::WorkTimes;
use called::{Called, Cost};
use calls::{Call, Calls};
use delivery::Delivery;
use foldhash::HashMap;
use gil_files::recording::Record;
use gil_report::Queue;
use gil_timing::Event;
use gil_transport::client::ClientError;
use gil_uapi::{GuestLength, Status, WaitKind, flag};
use gil_wire::Op;
use gil_wire::api::is_of_a_driver;
use gil_wire::ending::Ending;
use gil_wire::envelope::Class;
use gil_wire::finish::Finish;
use gil_wire::monitor::Event as Monitor;
use links::Links;
use mirrors::Mirrors;
use schedule::Schedule;
use std::sync::Arc;
use std::time::Duration;

/// What a session works with while one of its doorbells is served.
pub struct Context<'a> {
    /// Guest RAM.
    pub memory: &'a dyn GuestMemory,
    /// When operations' durations are learnt.
    pub time: Time,
    /// When the board waits for its device.
    pub finish: Finish,
    /// Counters.
    pub stats: &'a mut Stats,
    /// The recording.
    pub trace: &'a mut Option<Recorder>,
    /// The log of calls.
    pub calls: &'a mut Option<CallLog>,
    /// What equal work takes.
    pub works: &'a mut WorkTimes,
    /// Where events are reported.
    pub events: &'a mut Events,
    /// The devices that sessions use.
    pub devices: &'a mut Devices,
    /// The other sessions, whose operations use the same devices.
    pub others: &'a mut HashMap<u64, Session>,
    /// The doorbell's wall time of waiting, and its call.
    pub took: Took,
}

/// A doorbell's wall time of waiting, and its call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Took {
    /// Time spent waiting for the board.
    pub waited: Duration,
    /// The call that had it ring.
    pub op: Option<Op>,
    /// What that call's answer says that it took.
    pub cost: Cost,
}

impl Context<'_> {
    /// Records, or ends the recording and the run: a short recording would pass
    /// for a whole one.
    fn record(&mut self, record: &Record<'_>, payload: &[&[u8]]) {
        self.keep(|recorder| recorder.write(record, payload));
    }

    fn keep(&mut self, how: impl FnOnce(&mut Recorder) -> Result<(), RecorderError>) {
        if let Some(recorder) = self.trace
            && let Err(error) = how(recorder)
        {
            let text = error.to_string();
            self.events.tell(Monitor::Fatal { text });
            *self.trace = None;
        }
    }
}

/// What a doorbell recorded is in the file before the doorbell is answered.
impl Drop for Context<'_> {
    fn drop(&mut self) {
        self.keep(Recorder::flush);
    }
}

/// One guest address space: its links to the boards, its schedule, its deliveries,
/// and the rules between them.
#[derive(Debug)]
pub struct Session {
    executed: Executed,
    links: Links,
    schedule: Schedule,
    delivery: Delivery,
    mirrors: Mirrors,
    called: Called,
    /// Until when operations may stay unpublished although they started; 0 unless the
    /// last doorbell left such.
    deferred_ns: u64,
}

/// After so many nanoseconds without a doorbell, the driver rings for operations that were
/// left unpublished.
const DEFERRED_NS: u64 = 1_000_000;

/// Why a submission is not executed, or not to its end.
#[derive(Debug)]
enum Refusal {
    /// Its own fault; one sentence.
    Bad(String),
    /// It has to wait for an operation.
    Unresolved,
    /// The same, and what stands in front of its last call was executed.
    UnresolvedLast,
    /// The session has no board.
    Lost,
    /// Its board does not serve the last call's API.
    Unserved,
}

/// Whether the program called what it names: not where the library asks how
/// far things are, or waits, on behalf of a call that is counted by itself.
fn is_a_call(call: &Call<'_>) -> bool {
    let envelope = call.envelope;
    let info = gil_wire::api::info(envelope.op);
    let is_counted = matches!(
        info.and_then(|info| info.class),
        Some(Class::Enqueue | Class::Post)
    );
    !(matches!(envelope.class, Class::Poll | Class::Wait) && is_counted)
}

impl Session {
    /// A session of this process, on devices of this target; one that can be in a checkpoint if `is_logged`.
    pub fn new(
        process: u32,
        pointer_bits: u32,
        target: Target,
        is_logged: bool,
        boards: &Arc<Boards>,
    ) -> Self {
        Self {
            executed: Executed::default(),
            links: Links::new(process, pointer_bits, is_logged, boards),
            schedule: Schedule::new(target),
            delivery: Delivery::default(),
            mirrors: Mirrors::default(),
            called: Called::default(),
            deferred_ns: 0,
        }
    }

    /// That of a GPU whose memory this is: the host has a copy of all that the board has of
    /// it, which takes as much memory of the host's at most, and as much again for what
    /// address spaces share.
    pub fn holding(mut self, memory: GuestLength) -> Self {
        self.mirrors.hold(memory);
        self
    }

    /// The guest process that it belongs to.
    pub fn process(&self) -> u32 {
        self.links.first().process()
    }

    /// What the target adds, from now on.
    pub fn have_costs(&mut self, costs: &Arc<crate::target::AllCosts>) {
        self.schedule.costs = costs.clone();
    }

    /// Whether it has a connection to a board.
    pub fn uses_board(&self) -> bool {
        self.links.all().iter().any(|link| link.is_open())
    }

    /// Its work that is not done, as of `now_ns`.
    pub fn queue(&self, now_ns: u64) -> Queue {
        let schedule = &self.schedule;
        Queue {
            sessions: 1,
            operations: schedule.timeline.unresolved() as u64,
            at_board: schedule.unreported as u64,
            kept_bytes: schedule.kept_input,
            ahead_ns: schedule.timeline.last_end_ns().saturating_sub(now_ns),
        }
    }

    /// A submission to the host interface itself is executed now; `false` if
    /// it was before.
    pub fn begin_control(&mut self, seq: u64) -> bool {
        let is_new = !self.executed.contains(seq);
        self.executed.insert(seq);
        is_new
    }

    /// Answers a submission to the host interface itself.
    pub fn answer_control(&self, time: Time, mut answer: Answer) -> Answer {
        answer.attention_ns = self.attention_ns(time, &answer);
        answer
    }

    /// `COLLECT`: delivers the output that has ended.
    pub fn collect(&mut self, context: &mut Context<'_>, now_ns: u64) -> Answer {
        self.deferred_ns = 0;
        self.pass_time(context, now_ns);
        self.finish(context, Answer::status(Status::Ok), now_ns)
    }

    /// `ATTEND`: delivers what is ready; its numbers are released later, because
    /// whoever rings cannot unpin.
    pub fn attend(&mut self, context: &mut Context<'_>, now_ns: u64) -> Answer {
        self.deferred_ns = 0;
        self.pass_time(context, now_ns);
        let mut answer = Answer::status(Status::Ok);
        answer.flags |= self.delivery.take_progress();
        answer.attention_ns = self.attention_ns(context.time, &answer);
        answer
    }

    /// `CLOSE`: forgets every region at once; never waits for the board.
    pub fn close(mut self, context: &mut Context<'_>) {
        self.log_rest(context);
        let links = self.links.all_mut().iter_mut();
        links.for_each(|link| link.close(context));
    }

    /// Executes calls, once.
    pub fn submit(&mut self, context: &mut Context<'_>, submission: &Submission) -> Answer {
        let now_ns = submission.now_ns();
        if self.executed.contains(submission.seq) {
            return self.finish(context, Answer::status(Status::Duplicate), now_ns);
        }
        self.deferred_ns = 0;
        let answer = self.execute(context, submission);
        self.delivery.deliver(context, now_ns);
        let answer = answer.unwrap_or_else(|refusal| self.refused(context, refusal));
        self.count_frames(context, submission, &answer);
        self.finish(context, answer, now_ns)
    }

    fn refused(&mut self, context: &mut Context<'_>, refusal: Refusal) -> Answer {
        let mut flags = 0;
        let status = match refusal {
            Refusal::Unresolved => Status::Unresolved,
            Refusal::UnresolvedLast => {
                flags = flag::PENDING;
                Status::Unresolved
            }
            Refusal::Lost => {
                flags = flag::PROGRESS;
                Status::Lost
            }
            Refusal::Unserved => Status::Unserved,
            Refusal::Bad(reason) => {
                let process = self.links.first().process();
                let text = format!("process {process}: a submission was refused: {reason}");
                context.events.warn(text);
                Status::BadRequest
            }
        };
        Answer {
            flags,
            ..Answer::status(status)
        }
    }

    fn execute(
        &mut self,
        context: &mut Context<'_>,
        submission: &Submission,
    ) -> Result<Answer, Refusal> {
        let envelopes = submission.envelopes();
        let envelopes = envelopes.map_err(|error| Refusal::Bad(error.to_string()))?;
        let mut regions = rows::regions(&envelopes, &submission.regions)?;
        self.mirrors.retire(&envelopes);
        let held = &self.delivery.held;
        let compared =
            mirrors::compare(&mut self.mirrors, held, context, &envelopes, &mut regions)?;
        let calls = Calls::new(submission, &envelopes, &regions)?;
        let answer = self.execute_calls(context, submission, calls);
        self.mirrors.sent(compared, answer.is_ok());
        answer
    }

    fn execute_calls(
        &mut self,
        context: &mut Context<'_>,
        submission: &Submission,
        mut calls: Calls<'_>,
    ) -> Result<Answer, Refusal> {
        let now_ns = submission.now_ns();
        context.took.op = Some(calls.last().envelope.op);
        if !self.links.are_several() && self.links.first().is_lost() {
            return Err(Refusal::Lost);
        }
        let needs_no_times = self.needs_no_times(context.time, &calls);
        if !calls.has_enqueues_in_front() && !needs_no_times {
            self.pass_time(context, now_ns);
        }
        self.look_first(context, &calls)?;
        self.executed.insert(submission.seq);
        let served = self.leave_out_unserved(context, &mut calls)?;
        self.place_devices(context, &calls)?;
        let defers = needs_no_times || self.may_defer(context.time, &calls);
        let front = self.execute_front(context, &mut calls, defers);
        if let Err(Refusal::UnresolvedLast) = front {
            self.count_calls(context, calls.front(), None);
        }
        front?;
        if defers {
            // A kernel driver asks for the end of what its programs wait for.
            if !needs_no_times {
                self.deferred_ns = now_ns.saturating_add(DEFERRED_NS);
            }
            self.publish_excess(context, now_ns)?;
        } else {
            self.pass_time(context, now_ns);
        }
        let answer = match calls.last().envelope.class {
            _ if served.is_err() => {
                let sent = self.forward(context, calls.unsent_front(), None);
                sent.and(served.map(|()| Answer::status(Status::Ok)))
            }
            Class::Wait | Class::Poll | Class::Look => self.observe(context, &calls),
            Class::Post => {
                self.apply_post(context, calls.last());
                let sent = self.forward(context, calls.unsent(), None);
                sent.map(|_| Answer::status(Status::Ok))
            }
            Class::Query | Class::Sync | Class::Enqueue => self.call(context, &mut calls),
        };
        // It may have been lost on the way, where it was not this call's turn.
        let is_lost = self.links.are_several() && self.links.of(calls.last().envelope.op).is_lost();
        let answer = match is_lost {
            true => Err(Refusal::Lost),
            false => answer,
        };
        context.stats.frames.part(self.thread(submission)).forwards += 1;
        self.count_calls(context, calls.all(), answer.as_ref().ok());
        answer
    }

    /// Counts and logs calls that were executed, the last with this answer.
    fn count_calls(
        &mut self,
        context: &mut Context<'_>,
        calls: &[Call<'_>],
        answer: Option<&Answer>,
    ) {
        let process = self.links.first().process();
        let called: Vec<&Call<'_>> = calls.iter().filter(|call| is_a_call(call)).collect();
        let Some(first) = called.first() else {
            return;
        };
        let part = context.stats.frames.part(self.thread(first.submission));
        part.calls += called.len() as u64;
        for call in &called {
            context.stats.counted(process, call.envelope.op);
        }
        self.log_calls(context, &called, answer);
    }

    /// The guest thread of a submission.
    fn thread(&self, submission: &Submission) -> Thread {
        (self.links.first().process(), submission.thread)
    }

    /// A frame lasts until its last call returns.
    fn count_frames(&self, context: &mut Context<'_>, submission: &Submission, answer: &Answer) {
        let last = context.took.op.filter(|_| answer.status == Status::Ok);
        if last.is_some_and(gil_wire::api::ends_frame) {
            let end_ns = submission.now_ns().max(answer.deadline_ns);
            context.stats.frames.ended(self.thread(submission), end_ns);
        }
    }

    /// Enqueues in front of the last call are sent and put on the timeline,
    /// each at its own time; posts stay with the last call unless there are
    /// such.
    fn execute_front(
        &mut self,
        context: &mut Context<'_>,
        calls: &mut Calls<'_>,
        defers: bool,
    ) -> Result<(), Refusal> {
        if calls.has_enqueues_in_front() {
            calls.set_finish(context.time == Time::Strict);
            self.forward(context, calls.front(), None)?;
            calls.front_is_sent();
        }
        let is_enqueue = |call: &&Call<'_>| call.envelope.class == Class::Enqueue;
        // A board that was lost just now has taken none.
        let is_lost: Vec<bool> = {
            let front = calls.front().iter();
            let is_lost = |call: &Call<'_>| self.links.of(call.envelope.op).is_lost();
            front.map(is_lost).collect()
        };
        let taken = || {
            calls
                .front()
                .iter()
                .zip(&is_lost)
                .filter(|(_, lost)| !**lost)
        };
        let taken = || taken().map(|(call, _)| call);
        for call in taken().filter(is_enqueue) {
            self.schedule.expect(call, false);
        }
        for call in taken() {
            match call.envelope.class {
                Class::Enqueue => {
                    if !defers {
                        self.publish_until(context, call.entry_ns)?;
                    }
                    self.schedule.enqueue(call, call.entry_ns)?;
                }
                _ => self.apply_post(context, call),
            }
        }
        match calls.has_enqueues_in_front() && self.is_blocked(calls.last().envelope) {
            true => Err(Refusal::UnresolvedLast),
            false => Ok(()),
        }
    }

    /// Whether nothing of what these calls ask for depends on when operations ran: they
    /// enqueue, and no output is outstanding. Since operations are published in the order
    /// of their starts, whenever that happens, their intervals are the same later, and the
    /// board's reports of many come in one round trip.
    fn may_defer(&self, time: Time, calls: &Calls<'_>) -> bool {
        let last = calls.last().envelope;
        let asks_nothing = last.class == Class::Poll && last.waits.is_empty();
        time == Time::Async
            && asks_nothing
            && calls.has_enqueues_in_front()
            && self.delivery.holds_nothing()
    }

    /// Whether nothing of a kernel driver's calls depends on when jobs ran, but for the
    /// ends of those that the last one waits for; they are published in the order of their
    /// starts then, of which the board may have told several at once.
    fn needs_no_times(&self, time: Time, calls: &Calls<'_>) -> bool {
        time == Time::Async
            && is_of_a_driver(calls.last().envelope.op)
            && self.delivery.holds_nothing()
    }

    /// Finds every reason to execute nothing, before anything is executed; and
    /// publishes what has to be known of output that is input now.
    fn look_first(&mut self, context: &mut Context<'_>, calls: &Calls<'_>) -> Result<(), Refusal> {
        let regions = calls.all().iter().flat_map(|call| call.regions);
        let inputs = regions.filter(|region| region.dir.is_in());
        let inputs: Vec<_> = inputs.map(|region| &region.extents).collect();
        let open = self.delivery.open_over(inputs.iter().copied());
        let timeline = &self.schedule.timeline;
        if open.iter().any(|&event| timeline.is_blocked(event)) {
            return Err(Refusal::Unresolved);
        }
        if !calls.has_enqueues_in_front() && self.is_blocked(calls.last().envelope) {
            return Err(Refusal::Unresolved);
        }
        self.schedule.has_room(calls)?;
        // The timeline forgets the interval of an event that the program does not have.
        while !self.delivery.open_over(inputs.iter().copied()).is_empty() {
            self.publish_one(context)?;
        }
        Ok(())
    }

    /// What a post means for the timeline.
    fn apply_post(&mut self, context: &mut Context<'_>, post: &Call<'_>) {
        if let Some(event) = post.envelope.signals {
            // Set twice: the board's error to tell, not the timeline's.
            self.signal(event, post.entry_ns, Ending::Done);
        }
        if let Some(event) = post.envelope.retires {
            self.schedule.retire(event);
        }
        context.stats.report.totals.posts += 1;
    }

    /// An event is set, if it was not before.
    fn signal(&mut self, event: Event, at_ns: u64, ending: Ending) {
        let signalled = self.schedule.timeline.signal(event, at_ns, ending);
        if signalled.is_ok() {
            self.delivery.progress = true;
            self.learn_ends();
        }
    }

    /// Simulated time is `now_ns`: what started is published, what ended is
    /// delivered.
    fn pass_time(&mut self, context: &mut Context<'_>, now_ns: u64) {
        // A board lost on the way is found by whoever needs it next.
        let _ = self.publish_until(context, now_ns);
        self.delivery.deliver(context, now_ns);
    }

    /// Learns the ends that became known.
    fn learn_ends(&mut self) {
        let Self {
            schedule, delivery, ..
        } = self;
        schedule.learn_ends(|end| delivery.ended(end));
    }

    /// The session has lost the board of this call: nothing that it owes will
    /// come.
    fn lose(&mut self, context: &mut Context<'_>, op: Op, error: &ClientError) -> Refusal {
        self.forget_board(op);
        let link = self.links.of(op);
        let (process, board) = (link.process(), link.at());
        let text = format!("process {process} lost {board} in {op}: {error}");
        context.stats.lost(self.links.place(op), &text);
        match error {
            // What the program did from here on would be nobody's run.
            ClientError::Departed(reason) => {
                let text = reason.to_string();
                context.events.tell(Monitor::Fatal { text });
            }
            _ => context.events.warn(text),
        }
        Refusal::Lost
    }

    /// What the board of this call owes will not come: its operations end at
    /// once, so that those of other boards take their turns.
    fn forget_board(&mut self, op: Op) {
        let place = self.links.place(op);
        self.links.of_mut(op).lose();
        if !self.links.are_several() {
            self.delivery.abandon(|_| true);
            return;
        }
        let links = &self.links;
        let is_gone = |op| links.place(op) == place;
        let pending = &self.schedule.pending;
        let of = |event| {
            pending
                .get(&event)
                .is_none_or(|pending| is_gone(pending.op))
        };
        self.delivery.abandon(|event| event.is_none_or(of));
        self.schedule.abandon(is_gone);
        self.learn_ends();
    }

    /// Adds what every answer carries.
    fn finish(&mut self, context: &Context<'_>, mut answer: Answer, now_ns: u64) -> Answer {
        self.delivery.finish(&mut answer);
        debug_assert!(answer.wait == WaitKind::None || answer.deadline_ns > now_ns);
        answer.attention_ns = self.attention_ns(context.time, &answer);
        answer
    }

    /// When the driver has to ring by itself; 0: not at all.
    fn attention_ns(&self, time: Time, answer: &Answer) -> u64 {
        let output = self.delivery.attention_ns(answer);
        let mut links = self.links.all().iter();
        let is_async = time == Time::Async && links.any(|link| link.is_open());
        let timeline = &self.schedule.timeline;
        let start = timeline.attention_ns().filter(|_| is_async);
        let start = start.map(|start_ns| start_ns.max(self.deferred_ns));
        // 0 is no time: a moment later does as well.
        start
            .into_iter()
            .chain(output)
            .min()
            .map_or(0, |at_ns| at_ns.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_timing::{MAX_KNOWN, MAX_WAITS, Operation, Order};
    use gil_transport::client::Cancel;
    use gil_wire::envelope::Envelope;

    fn session() -> Session {
        let boards = Boards::new(&crate::Config::default(), &Cancel::default());
        let boards = Arc::new(boards.unwrap());
        Session::new(1, 64, Target::default(), false, &boards)
    }

    fn envelope(class: Class, signals: Option<Event>, waits: &[Event]) -> Envelope<'static> {
        Envelope {
            waits: waits.to_vec().into(),
            signals,
            observable: true,
            ..Envelope::new(Op::new(1, 1), class, 0)
        }
    }

    /// Whether there is room for a submission of these.
    fn takes(session: &Session, envelopes: &[Envelope<'_>]) -> bool {
        let submission = Submission::default();
        let calls = Calls::new(&submission, envelopes, &[]).unwrap();
        session.schedule.has_room(&calls).is_ok()
    }

    #[test]
    fn every_event_of_a_submission_needs_room_once() {
        let mut session = session();
        for event in 1..MAX_KNOWN as Event {
            session
                .schedule
                .timeline
                .signal(event, 0, Ending::Done)
                .unwrap();
        }
        let new = MAX_KNOWN as Event;
        let enqueue = |event| envelope(Class::Enqueue, Some(event), &[]);
        let set = |event| envelope(Class::Post, Some(event), &[]);
        let query = || envelope(Class::Query, None, &[]);
        assert!(takes(&session, &[enqueue(new), query()]));
        assert!(takes(&session, &[set(new), query()]));
        assert!(!takes(&session, &[enqueue(new), enqueue(new + 1)]));
        assert!(!takes(&session, &[enqueue(new), set(new + 1)]));
        assert!(!takes(&session, &[set(new), set(new + 1)]));
    }

    #[test]
    fn what_enqueues_wait_for_needs_room() {
        let mut session = session();
        let operation = Operation {
            event: 1,
            entry_ns: 0,
            submit_ns: 0,
            queue: None,
            engine: gil_timing::Engine::NONE,
            share: gil_timing::Share::WHOLE,
            order: Order::Command,
            waits: vec![2; MAX_WAITS - 3],
            observable: true,
            attended: false,
            delays: gil_timing::Delays::default(),
        };
        session.schedule.timeline.enqueue(operation).unwrap();
        let enqueue = |event, waits| envelope(Class::Enqueue, Some(event), waits);
        let wait = envelope(Class::Wait, None, &[1, 2, 3, 4]);
        assert!(takes(
            &session,
            &[enqueue(3, &[2; 1]), enqueue(4, &[2; 2]), wait]
        ));
        assert!(!takes(
            &session,
            &[enqueue(3, &[2; 2]), enqueue(4, &[2; 2])]
        ));
    }
}
