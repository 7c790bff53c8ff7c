//! One guest address space: its place on the board, its timeline, and its
//! output that is not due yet. Strict mode: every enqueued operation is
//! resolved at once, unless it waits for what the program has yet to cause.

mod exchange;
mod forward;
mod observe;
mod rows;

use crate::client::{BoardConfig, Client};
use crate::events::Events;
use crate::executed::Executed;
use crate::held::{Due, Held};
use crate::layout::{RELEASED_MAX, Status, WaitKind, flag};
use crate::mailbox::{Answer, Header, Region, Submission};
use crate::memory::{GuestMemory, write_region};
use crate::printed::Printed;
use crate::recorder::Recorder;
use crate::stats::Stats;
use gil_timing::{Event, Timeline};
use gil_wire::Op;
use gil_wire::envelope::{self, Class, Envelope};
use gil_wire::message::Request;
use gil_wire::trace::Record;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// What a session works with while one of its doorbells is served.
pub struct Context<'a> {
    /// Guest RAM.
    pub memory: &'a dyn GuestMemory,
    /// Where boards are.
    pub board: &'a BoardConfig,
    /// Counters.
    pub stats: &'a mut Stats,
    /// The recording.
    pub trace: &'a mut Option<Recorder>,
    /// Who is told.
    pub events: &'a mut Events,
    /// What the doorbell took.
    pub served: Served,
}

/// What a doorbell took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Served {
    /// Time spent waiting for the board.
    pub waited: Duration,
    /// The call that had it ring.
    pub op: Option<Op>,
}

impl Context<'_> {
    /// Records, or ends the recording with a warning.
    fn record(&mut self, record: &Record<'_>, payload: &[&[u8]]) {
        if let Some(recorder) = self.trace
            && let Err(error) = recorder.write(record, payload)
        {
            self.events.warn(error.to_string());
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
    /// Whether the program holds its event.
    observable: bool,
    /// Whether its sender waits for it although the program does not hold it.
    awaited: bool,
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
    timeline: Timeline,
    held: Held,
    pending: HashMap<Event, Pending>,
    /// Operations without a report: submission and entry point.
    unreported: HashMap<Event, (u64, Op)>,
    printed: Printed,
    released: VecDeque<u64>,
}

/// A class of call that a submission asks for, ready to be executed.
struct Call<'a> {
    header: &'a Header,
    envelope: &'a Envelope<'a>,
    regions: &'a [Region],
    entry_ns: u64,
}

/// Why a submission is not executed, or not to its end.
#[derive(Debug)]
enum Refusal {
    /// Its own fault; one sentence.
    Bad(String),
    /// It has to wait for an operation.
    Unresolved,
    /// The session has no board.
    Lost,
}

impl Session {
    /// A session as its `OPEN` mailbox says.
    pub fn new(header: &Header) -> Self {
        Self {
            process: header.process,
            pointer_bits: header.pointer_bits,
            recorded_as: 0,
            executed: Executed::default(),
            link: Link::Unopened,
            timeline: Timeline::new(),
            held: Held::default(),
            pending: HashMap::new(),
            unreported: HashMap::new(),
            printed: Printed::default(),
            released: VecDeque::new(),
        }
    }

    /// A submission to the host interface itself is executed now; `false` if
    /// it was before.
    pub fn begin_control(&mut self, seq: u64) -> bool {
        let is_new = !self.executed.contains(seq);
        self.executed.insert(seq);
        is_new
    }

    /// `COLLECT`: delivers what is due.
    pub fn collect(&mut self, context: &mut Context<'_>, header: &Header) -> Answer {
        self.deliver(context, header.now_ns);
        self.finish(Answer::status(Status::Ok), header)
    }

    /// `CLOSE`: forgets every region at once; never waits for the board.
    pub fn close(mut self, context: &mut Context<'_>) {
        if let Link::Open(client) = &mut self.link {
            client.send_last(&Request::Close);
        }
        if self.recorded_as != 0 {
            let session = self.recorded_as;
            context.record(&Record::SessionClosed { session }, &[]);
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
            return self.finish(Answer::status(Status::Duplicate), header);
        }
        self.deliver(context, header.now_ns);
        let answer = self.execute(context, header, submission);
        let answer = answer.unwrap_or_else(|refusal| {
            let status = match refusal {
                Refusal::Unresolved => Status::Unresolved,
                Refusal::Lost => Status::Lost,
                Refusal::Bad(reason) => {
                    let process = self.process;
                    let text = format!("process {process}: a submission was refused: {reason}");
                    context.events.warn(text);
                    Status::BadRequest
                }
            };
            Answer::status(status)
        });
        let lost = answer.status == Status::Lost;
        let mut answer = self.finish(answer, header);
        answer.flags |= if lost { flag::PROGRESS } else { 0 };
        answer
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
        let calls = calls(header, &envelopes, &regions)?;
        if matches!(self.link, Link::Lost) {
            return Err(Refusal::Lost);
        }
        let (main, posts) = calls.split_last().expect("parse gives at least one");
        context.served.op = Some(main.envelope.op);
        self.look_first(main, &calls)?;
        self.executed.insert(header.seq);
        for post in posts {
            self.apply_post(context, post);
        }
        let answer = match main.envelope.class {
            Class::Wait | Class::Poll | Class::Look => self.observe(context, main, posts),
            Class::Post => {
                self.apply_post(context, main);
                let sent = self.forward(context, &calls, None);
                sent.map(|_| Answer::status(Status::Ok))
            }
            Class::Query | Class::Sync | Class::Enqueue => self.call(context, main, &calls),
        };
        self.count(context, &calls);
        self.deliver(context, header.now_ns);
        answer
    }

    /// Finds every reason to execute nothing, before anything is executed.
    fn look_first(&self, main: &Call<'_>, calls: &[Call<'_>]) -> Result<(), Refusal> {
        let regions = calls.iter().flat_map(|call| call.regions);
        for region in regions.filter(|region| region.dir.is_in()) {
            let overlaps = self.held.overlaps(&region.extents);
            overlaps.map_err(|_| Refusal::Unresolved)?;
        }
        let envelope = main.envelope;
        match envelope.class {
            Class::Wait => self.wait_end(envelope).map(drop),
            Class::Enqueue => self.may_enqueue(envelope),
            _ => Ok(()),
        }
    }

    fn may_enqueue(&self, envelope: &Envelope<'_>) -> Result<(), Refusal> {
        let Some(event) = envelope.signals else {
            return Err(Refusal::Bad("an enqueue without an event".into()));
        };
        if self.timeline.times(event).is_some() {
            return Err(Refusal::Bad(format!("event {event} is in use already")));
        }
        let unresolved = self.timeline.unresolved();
        if unresolved >= gil_timing::MAX_UNRESOLVED {
            let text = format!("{unresolved} operations wait for events nobody has set");
            return Err(Refusal::Bad(text));
        }
        Ok(())
    }

    /// What a post means for the timeline.
    fn apply_post(&mut self, context: &mut Context<'_>, post: &Call<'_>) {
        if let Some(event) = post.envelope.signals {
            // Set twice: the board's error to tell, not the timeline's.
            let _ = self.timeline.signal(event, post.entry_ns, 0);
        }
        if let Some(event) = post.envelope.retires {
            self.retire(event);
        }
        context.stats.report.totals.posts += 1;
    }

    fn count(&self, context: &mut Context<'_>, calls: &[Call<'_>]) {
        for call in calls {
            context.stats.entry(call.envelope.op).count += 1;
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

    /// Learns the ends that became known. Whether any but `own`'s did.
    fn learn_ends(&mut self, own: Option<Event>) -> bool {
        let resolved = self.timeline.newly_resolved();
        for event in &resolved {
            let interval = self.timeline.interval(*event);
            let (Some(pending), Some(interval)) = (self.pending.get(event), interval) else {
                continue;
            };
            self.held.resolve(pending.seq, interval.end_ns);
            self.printed.resolve(*event, interval.end_ns);
            let (observable, awaited) = (pending.observable, pending.awaited);
            if !awaited {
                self.pending.remove(event);
            }
            if !observable && !awaited && Some(*event) != own {
                self.timeline.retire(*event);
            }
        }
        resolved.iter().any(|event| Some(*event) != own)
    }

    /// Writes output that is due into guest RAM.
    fn deliver(&mut self, context: &mut Context<'_>, now_ns: u64) {
        for due in self.held.take_due(now_ns) {
            self.deliver_one(context, now_ns, due);
        }
    }

    fn deliver_one(&mut self, context: &mut Context<'_>, now_ns: u64, due: Due) {
        for (extents, bytes) in &due.regions {
            if let Err(error) = write_region(context.memory, extents, bytes) {
                context
                    .events
                    .warn(format!("output was not delivered: {error}"));
            }
        }
        let late_ns = now_ns.saturating_sub(due.end_ns);
        context.stats.delivered(late_ns);
        self.released.push_back(due.seq);
    }

    /// Adds what every answer carries: released numbers, and whether output
    /// becomes due by the deadline.
    fn finish(&mut self, mut answer: Answer, header: &Header) -> Answer {
        let count = self.released.len().min(RELEASED_MAX);
        answer.released = self.released.drain(..count).collect();
        if !self.released.is_empty() {
            answer.flags |= flag::MORE;
        }
        if answer.wait != WaitKind::None && self.held.is_due_by(answer.deadline_ns) {
            answer.flags |= flag::COLLECT;
        }
        debug_assert!(answer.wait == WaitKind::None || answer.deadline_ns > header.now_ns);
        answer
    }
}

/// Pairs envelopes with their regions, and checks that a submission has the
/// shape it must have: posts, then one call.
fn calls<'a>(
    header: &'a Header,
    envelopes: &'a [Envelope<'a>],
    mut regions: &'a [Region],
) -> Result<Vec<Call<'a>>, Refusal> {
    let bad = |reason: &str| Err(Refusal::Bad(reason.into()));
    let mut calls = Vec::with_capacity(envelopes.len());
    for (index, envelope) in envelopes.iter().enumerate() {
        let Some((own, rest)) = regions.split_at_checked(envelope.regions as usize) else {
            return bad("its envelopes have more regions than the mailbox");
        };
        regions = rest;
        let is_post = envelope.class == Class::Post;
        if !is_post && index + 1 < envelopes.len() {
            return bad("a call that needs an answer is not the last one");
        }
        if is_post && own.iter().any(|region| region.dir.is_out()) {
            return bad("a post has an out region");
        }
        if envelope.op.api() == 0 {
            return bad("a call to the host interface among calls to the board");
        }
        calls.push(Call {
            header,
            envelope,
            regions: own,
            entry_ns: header.entry_ns(envelope.entry),
        });
    }
    match regions.is_empty() {
        true => Ok(calls),
        false => bad("the mailbox has more regions than its envelopes"),
    }
}
