//! One guest address space: its place on the board, its timeline, and its
//! output that is not due yet.

mod calls;
mod exchange;
mod failures;
mod forward;
pub(crate) mod log;
mod observe;
mod output;
mod place;
mod publish;
mod remember;
mod reports;
mod restore;
mod rows;
mod save;
mod served;
mod settle;

use crate::client::{BoardConfig, Client};
use crate::config::Time;
use crate::devices::Devices;
use crate::events::Events;
use crate::executed::Executed;
use crate::held::{Due, Held};
use crate::mailbox::{Answer, Header, Submission};
use crate::memory::{GuestMemory, write_region};
use crate::printed::Printed;
use crate::recorder::Recorder;
use crate::stats::Stats;
use calls::{Call, Calls};
use failures::Failures;
use gil_files::recording::{Record, SessionClosed};
use gil_timing::{Engines, Event};
use gil_uapi::{RELEASED_MAX, Status, WaitKind, flag};
use gil_wire::Op;
use gil_wire::control::LATE_NS;
use gil_wire::ending::Ending;
use gil_wire::envelope::{self, Class};
use gil_wire::message::Request;
use gil_wire::monitor::Event as Monitor;
use log::{Kept, Log};
use place::Places;
use served::Served;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// The timeline, with endings as the board says them.
type Timeline = gil_timing::Timeline<Ending>;
type Times = gil_timing::Times<Ending>;

/// How long output waits for a thread that will collect it.
const PATIENCE_NS: u64 = LATE_NS * 2 / 5;

/// What a session works with while one of its doorbells is served.
pub struct Context<'a> {
    /// Guest RAM.
    pub memory: &'a dyn GuestMemory,
    /// Where boards are.
    pub board: &'a BoardConfig,
    /// When operations' durations are learnt.
    pub time: Time,
    /// Counters.
    pub stats: &'a mut Stats,
    /// The recording.
    pub trace: &'a mut Option<Recorder>,
    /// Who is told.
    pub events: &'a mut Events,
    /// The devices that sessions use.
    pub devices: &'a mut Devices,
    /// The other sessions, whose operations use the same devices.
    pub others: &'a mut HashMap<u64, Session>,
    /// What the doorbell took.
    pub took: Took,
}

/// What a doorbell took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Took {
    /// Time spent waiting for the board.
    pub waited: Duration,
    /// The call that had it ring.
    pub op: Option<Op>,
}

impl Context<'_> {
    /// Records, or ends the recording and the run: a short recording would pass
    /// for a whole one.
    fn record(&mut self, record: &Record<'_>, payload: &[&[u8]]) {
        if let Some(recorder) = self.trace
            && let Err(error) = recorder.write(record, payload)
        {
            let text = error.to_string();
            self.events.tell(Monitor::Fatal { text });
            *self.trace = None;
        }
    }
}

/// A session's place on the board.
#[derive(Debug)]
enum Link {
    /// No call to the board yet.
    Unopened,
    /// Connected.
    Open(Box<Client>),
    /// Gone, for good.
    Lost,
}

/// An operation that the board has yet to report, or the timeline to place.
#[derive(Debug)]
struct Pending {
    seq: u64,
    /// Whether its submission's output is its own: of a submission's calls, only
    /// the last may have any.
    has_output: bool,
    /// The entry point that enqueued it.
    op: Op,
    is_reported: bool,
    /// Whether the driver refused it, and no answer said so.
    is_rejected: bool,
    /// The queue it is on.
    queue: Option<u64>,
    /// Whether it only orders others, and takes no device time itself.
    is_fence: bool,
    /// Whether the program holds its event.
    observable: bool,
    /// Whether its sender waits for it although the program does not hold it.
    awaited: bool,
    /// Bytes of input that the board keeps until it reports.
    input_len: u64,
}

impl Pending {
    /// The submission whose output it makes.
    fn output(&self) -> Option<u64> {
        self.has_output.then_some(self.seq)
    }
}

/// One guest address space.
#[derive(Debug)]
pub struct Session {
    process: u32,
    pointer_bits: u32,
    /// Its number in the recording.
    recorded_as: u64,
    executed: Executed,
    link: Link,
    /// What its board serves, and what the user was told that it does not.
    apis: Served,
    places: Places,
    timeline: Timeline,
    held: Held,
    printed: Printed,
    pending: HashMap<Event, Pending>,
    failures: Failures,
    /// Whether the guest's library is to ask the board what its driver said.
    notices: bool,
    released: VecDeque<u64>,
    /// What a checkpoint needs, if one may be taken.
    log: Option<Log>,
    /// The call under way, for it.
    kept: Option<Kept>,
    /// Whether an event was set in this doorbell: what waits for events nobody
    /// had set may go on.
    progress: bool,
}

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

/// When to ring for output that ends at `end_ns`, where a thread will collect
/// what ended by `deadline_ns`.
fn ring_ns(end_ns: u64, deadline_ns: u64) -> u64 {
    let collected_ns = deadline_ns.saturating_sub(end_ns);
    match end_ns <= deadline_ns && collected_ns < PATIENCE_NS {
        true => deadline_ns.saturating_add(PATIENCE_NS),
        false => end_ns,
    }
}

/// Whether the program called what it names: not where the library asks how
/// far things are on behalf of a call that is counted by itself.
fn is_a_call(call: &Call<'_>) -> bool {
    let envelope = call.envelope;
    let info = gil_wire::api::info(envelope.op);
    let is_counted = matches!(
        info.and_then(|info| info.class),
        Some(Class::Enqueue | Class::Post)
    );
    !(envelope.class == Class::Poll && is_counted)
}

impl Session {
    /// A session as its `OPEN` mailbox says, on devices with these engines; one
    /// that can be in a checkpoint if `is_logged`.
    pub fn new(header: &Header, engines: Engines, is_logged: bool) -> Self {
        Self::of(header.process, header.pointer_bits, engines, is_logged)
    }

    /// A session of this process.
    pub(crate) fn of(process: u32, pointer_bits: u32, engines: Engines, is_logged: bool) -> Self {
        Self {
            process,
            pointer_bits,
            log: is_logged.then(Log::default),
            kept: None,
            recorded_as: 0,
            executed: Executed::default(),
            link: Link::Unopened,
            apis: Served::default(),
            places: Places::new(),
            timeline: Timeline::sharing(engines),
            held: Held::default(),
            printed: Printed::default(),
            pending: HashMap::new(),
            failures: Failures::default(),
            notices: false,
            released: VecDeque::new(),
            progress: false,
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
    pub fn answer_control(&self, time: Time, status: Status) -> Answer {
        let mut answer = Answer::status(status);
        answer.attention_ns = self.attention_ns(time, &answer);
        answer
    }

    /// `COLLECT`: delivers what is due.
    pub fn collect(&mut self, context: &mut Context<'_>, header: &Header) -> Answer {
        self.pass_time(context, header.now_ns);
        self.finish(context, Answer::status(Status::Ok), header)
    }

    /// `ATTEND`: delivers what is due; its numbers are released later, for
    /// whoever rings cannot unpin.
    pub fn attend(&mut self, context: &mut Context<'_>, header: &Header) -> Answer {
        self.pass_time(context, header.now_ns);
        let mut answer = Answer::status(Status::Ok);
        answer.flags |= self.take_progress();
        answer.attention_ns = self.attention_ns(context.time, &answer);
        answer
    }

    /// `CLOSE`: forgets every region at once; never waits for the board.
    pub fn close(mut self, context: &mut Context<'_>) {
        if let Link::Open(client) = &mut self.link {
            client.send_last(&Request::Close);
        }
        if self.recorded_as != 0 {
            let session = self.recorded_as;
            context.record(&Record::SessionClosed(SessionClosed { session }), &[]);
        }
    }

    /// `SUBMIT`.
    pub fn submit(
        &mut self,
        context: &mut Context<'_>,
        header: &Header,
        submission: &Submission,
    ) -> Answer {
        if self.executed.contains(header.seq) {
            return self.finish(context, Answer::status(Status::Duplicate), header);
        }
        let answer = self.execute(context, header, submission);
        self.deliver(context, header.now_ns);
        let answer = answer.unwrap_or_else(|refusal| self.refused(context, refusal));
        self.finish(context, answer, header)
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
                let process = self.process;
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
        header: &Header,
        submission: &Submission,
    ) -> Result<Answer, Refusal> {
        let bad = |error: envelope::EnvelopeError| Refusal::Bad(error.to_string());
        let envelopes = envelope::parse(&submission.request).map_err(bad)?;
        let regions = rows::regions(&envelopes, &submission.regions)?;
        let mut calls = Calls::new(header, &envelopes, &regions)?;
        context.took.op = Some(calls.last().envelope.op);
        if matches!(self.link, Link::Lost) {
            return Err(Refusal::Lost);
        }
        if !calls.has_enqueues_in_front() {
            self.pass_time(context, header.now_ns);
        }
        self.look_first(context, &calls)?;
        self.executed.insert(header.seq);
        let is_served = self.leave_out_unserved(context, &mut calls)?;
        self.place_devices(context, &calls)?;
        self.execute_front(context, &mut calls)?;
        self.pass_time(context, header.now_ns);
        let answer = match calls.last().envelope.class {
            _ if !is_served => {
                let sent = self.forward(context, calls.unsent_front(), None);
                sent.and(Err(Refusal::Unserved))
            }
            Class::Wait | Class::Poll | Class::Look => self.observe(context, &calls),
            Class::Post => {
                self.apply_post(context, calls.last());
                let sent = self.forward(context, calls.unsent(), None);
                sent.map(|_| Answer::status(Status::Ok))
            }
            Class::Query | Class::Sync | Class::Enqueue => self.call(context, &mut calls),
        };
        for call in calls.all().iter().filter(|call| is_a_call(call)) {
            context.stats.entry(call.envelope.op).count += 1;
        }
        answer
    }

    /// Enqueues in front of the last call are sent and put on the timeline,
    /// each at its own time; posts stay with the last call unless there are
    /// such.
    fn execute_front(
        &mut self,
        context: &mut Context<'_>,
        calls: &mut Calls<'_>,
    ) -> Result<(), Refusal> {
        if calls.has_enqueues_in_front() {
            calls.set_finish(context.time == Time::Strict);
            self.forward(context, calls.front(), None)?;
            calls.front_is_sent();
        }
        for call in calls.front() {
            match call.envelope.class {
                Class::Enqueue => {
                    self.publish_until(context, call.entry_ns)?;
                    self.enqueue(call, call.entry_ns, false)?;
                }
                _ => self.apply_post(context, call),
            }
        }
        match calls.has_enqueues_in_front() && self.is_blocked(calls.last().envelope) {
            true => Err(Refusal::UnresolvedLast),
            false => Ok(()),
        }
    }

    /// Finds every reason to execute nothing, before anything is executed; and
    /// publishes what has to be known of output that is input now.
    fn look_first(&mut self, context: &mut Context<'_>, calls: &Calls<'_>) -> Result<(), Refusal> {
        let regions = calls.all().iter().flat_map(|call| call.regions);
        let inputs = regions.filter(|region| region.dir.is_in());
        let open = inputs.flat_map(|region| self.held.open_over(&region.extents));
        let open: Vec<Event> = open.collect();
        if open.iter().any(|&event| self.timeline.is_blocked(event)) {
            return Err(Refusal::Unresolved);
        }
        if !calls.has_enqueues_in_front() && self.is_blocked(calls.last().envelope) {
            return Err(Refusal::Unresolved);
        }
        self.has_room(calls)?;
        self.publish_for(context, |timeline| {
            open.iter().all(|&event| timeline.interval(event).is_some())
        })
    }

    /// Whether the timeline takes all that the calls enqueue and set.
    fn has_room(&self, calls: &Calls<'_>) -> Result<(), Refusal> {
        let mut events = Vec::new();
        let all = calls.all().iter().map(|call| call.envelope);
        for envelope in all.filter(|envelope| envelope.class == Class::Enqueue) {
            let Some(event) = envelope.signals else {
                return Err(Refusal::Bad("an enqueue without an event".into()));
            };
            if self.timeline.times(event).is_some() || events.contains(&event) {
                return Err(Refusal::Bad(format!("event {event} is in use already")));
            }
            events.push(event);
        }
        let all = || calls.all().iter().map(|call| call.envelope);
        let enqueues = all().filter(|envelope| envelope.class == Class::Enqueue);
        let waits = enqueues.map(|envelope| envelope.waits.len()).sum();
        let set = all().filter(|e| e.class != Class::Enqueue && e.signals.is_some());
        let room = self.timeline.room_for(events.len(), waits, set.count());
        room.map_err(|error| Refusal::Bad(error.to_string()))
    }

    /// What a post means for the timeline.
    fn apply_post(&mut self, context: &mut Context<'_>, post: &Call<'_>) {
        if let Some(event) = post.envelope.signals {
            // Set twice: the board's error to tell, not the timeline's.
            self.signal(event, post.entry_ns, Ending::Done);
        }
        if let Some(event) = post.envelope.retires {
            self.retire(event);
        }
        context.stats.report.totals.posts += 1;
    }

    /// An event is set, if it was not before.
    fn signal(&mut self, event: Event, at_ns: u64, ending: Ending) {
        if self.timeline.signal(event, at_ns, ending).is_ok() {
            self.progress = true;
            self.learn_ends();
        }
    }

    /// Nobody will ask for the event any more. One whose end is not known yet
    /// stays until held output has learnt it.
    fn retire(&mut self, event: Event) {
        let is_known = self.timeline.interval(event).is_some();
        match self.pending.get_mut(&event) {
            Some(pending) if !is_known => (pending.observable, pending.awaited) = (false, false),
            _ => {
                self.pending.remove(&event);
                self.timeline.retire(event);
            }
        }
    }

    /// Simulated time is `now_ns`: what started is published, what ended is
    /// delivered.
    fn pass_time(&mut self, context: &mut Context<'_>, now_ns: u64) {
        // A board lost on the way is found by whoever needs it next.
        let _ = self.publish_until(context, now_ns);
        self.deliver(context, now_ns);
    }

    /// Writes output that is due into guest RAM.
    fn deliver(&mut self, context: &mut Context<'_>, now_ns: u64) {
        for due in self.held.take_due(now_ns) {
            self.deliver_one(context, now_ns, &due);
            self.released.push_back(due.seq);
        }
    }

    fn deliver_one(&mut self, context: &mut Context<'_>, now_ns: u64, due: &Due) {
        for (extents, bytes) in &due.regions {
            if let Err(error) = write_region(context.memory, extents, bytes) {
                let text = format!("output was not delivered: {error}");
                context.events.warn(text);
            }
        }
        let late_ns = now_ns.saturating_sub(due.end_ns);
        context.stats.delivered(late_ns);
    }

    fn take_progress(&mut self) -> u32 {
        match std::mem::take(&mut self.progress) {
            true => flag::PROGRESS,
            false => 0,
        }
    }

    /// Adds what every answer carries: released numbers, whether output
    /// becomes due by the deadline, and when to look again.
    fn finish(&mut self, context: &Context<'_>, mut answer: Answer, header: &Header) -> Answer {
        let count = self.released.len().min(RELEASED_MAX);
        answer.released = self.released.drain(..count).collect();
        answer.flags |= self.take_progress();
        if !self.released.is_empty() {
            answer.flags |= flag::MORE;
        }
        if answer.wait != WaitKind::None && self.held.is_due_by(answer.deadline_ns) {
            answer.flags |= flag::COLLECT;
        }
        debug_assert!(answer.wait == WaitKind::None || answer.deadline_ns > header.now_ns);
        answer.attention_ns = self.attention_ns(context.time, &answer);
        answer
    }

    /// When the driver has to ring by itself; 0: not at all. Output that the
    /// answer's own thread will collect in time needs a ring only if the thread
    /// does not get to it.
    fn attention_ns(&self, time: Time, answer: &Answer) -> u64 {
        let ends = self.held.ends();
        let output = ends.map(|end_ns| ring_ns(end_ns, answer.deadline_ns)).min();
        let is_async = time == Time::Async && matches!(self.link, Link::Open(_));
        let start = self.timeline.attention_ns().filter(|_| is_async);
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
    use gil_wire::envelope::{Engine, Envelope};

    fn session() -> Session {
        Session::of(1, 64, Engines::default(), false)
    }

    fn envelope(class: Class, signals: Option<Event>, waits: &[Event]) -> Envelope<'static> {
        Envelope {
            op: Op::new(1, 1),
            class,
            entry: 0,
            queue: None,
            engine: Engine::NONE,
            order: envelope::Order::Command,
            blocking: false,
            waits: waits.to_vec(),
            signals,
            observable: true,
            retires: None,
            regions: 0,
            rows: Vec::new(),
            args: &[],
        }
    }

    /// Whether there is room for a submission of these.
    fn takes(session: &Session, envelopes: &[Envelope<'_>]) -> bool {
        let header = Header::default();
        let calls = Calls::new(&header, envelopes, &[]).unwrap();
        session.has_room(&calls).is_ok()
    }

    #[test]
    fn every_event_of_a_submission_needs_room_once() {
        let mut session = session();
        for event in 1..MAX_KNOWN as Event {
            session.timeline.signal(event, 0, Ending::Done).unwrap();
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
            order: Order::Command,
            waits: vec![2; MAX_WAITS - 3],
            observable: true,
            attended: false,
        };
        session.timeline.enqueue(operation).unwrap();
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
