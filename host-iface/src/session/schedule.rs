//! A session's operations: those on the timeline, those that the board has yet to
//! report, and the physical device of each.

use super::Refusal;
use super::calls::{Call, Calls};
use super::exchange::{in_len, moved, out_regions};
use super::lateness::Spent;
use super::place::Places;
use crate::jobs::Place;
use crate::pace::Pace;
use crate::target::{AllCosts, Target};
use foldhash::{HashMap, HashMapExt};
use gil_timing::{Delays, Engine, Event, Operation, Order, Share, Turn};
use gil_wire::Op;
use gil_wire::ending::Ending;
use gil_wire::envelope::{self, Class, Envelope, Observation, State};
use gil_wire::message::{Posted, Report};
use std::sync::Arc;

/// Most queues of which it is known when the last operation was submitted, unless more of
/// them have operations that are yet to be submitted.
const SUBMITTED_MAX: usize = 64;

/// How much later than on the target a thread is taken to be at most, because the guest's
/// library takes longer than the driver: what it waits for next is over earlier by that.
const LATE_MAX_NS: i64 = 200_000;

/// The timeline, with endings as the board says them.
pub(super) type Timeline = gil_timing::Timeline<Ending>;
type Times = gil_timing::Times<Ending>;

/// An operation that the board has yet to report, or the timeline to place.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) seq: u64,
    /// Whether its submission's output is its own: of a submission's calls, only
    /// the last may have any.
    pub(super) has_output: bool,
    /// The entry point that enqueued it.
    pub(super) op: Op,
    pub(super) is_reported: bool,
    /// Whether the driver refused it, and no answer said so.
    pub(super) is_rejected: bool,
    /// What it takes alone, once it is reported.
    pub(super) duration_ns: u64,
    /// How fast its device executes it.
    pub(super) pace: Pace,
    /// The processor that executes it, if it is a job of a kernel driver.
    pub(super) job: Option<Place>,
    pub(super) engine: Engine,
    /// Its device, and whether all processes have that by this number.
    pub(super) device: (u64, bool),
    /// Bytes of its regions.
    pub(super) moved: u64,
    /// The queue it is on.
    pub(super) queue: Option<u64>,
    /// Whether it only orders others, and takes no device time itself.
    pub(super) is_fence: bool,
    /// Whether the program holds its event.
    pub(super) observable: bool,
    /// Whether its sender waits for it although the program does not hold it.
    pub(super) awaited: bool,
    /// Bytes of input that the board keeps until it reports.
    pub(super) input_len: u64,
    /// What the board said before the operation's turn came.
    pub(super) early: Option<Early>,
}

/// A report that nothing may depend on yet: when it came is no part of what is
/// simulated.
#[derive(Debug)]
pub(super) struct Early {
    pub(super) report: Report,
    /// Of each out region, then its text.
    pub(super) bytes: Vec<Vec<u8>>,
}

impl Pending {
    /// The submission whose output it makes.
    pub(super) fn output(&self) -> Option<u64> {
        self.has_output.then_some(self.seq)
    }
}

/// What a board's CPU took for calls, and the guest's for the same, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoardCpu {
    /// For the call that is answered.
    pub(super) own_ns: u64,
    /// For those before that nobody waited for, less what the profile says.
    pub(super) posted_ns: u64,
    /// What the guest's library took, in whose place the target has the driver.
    pub(super) spent: Spent,
}

/// How long a call keeps the thread of the target that makes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Busy {
    /// When it returns, if it waits for nothing: nanoseconds.
    pub(super) returns_ns: u64,
    /// When the thread has called all that it does before what it enqueues: earlier than it
    /// did, if the guest's library took longer than the driver.
    called_ns: u64,
    /// How long after its entry it returns: less than 0 in the same case.
    pub(super) due_ns: i64,
    /// What the call does only behind what it enqueues, as reading what was drawn.
    behind_ns: u64,
}

/// An operation whose end became known.
pub(super) struct End<'a> {
    pub(super) event: Event,
    pub(super) end_ns: u64,
    pub(super) ending: Ending,
    pub(super) operation: &'a Pending,
}

/// A session's operations.
#[derive(Debug)]
pub(super) struct Schedule {
    pub(super) timeline: Timeline,
    pub(super) pending: HashMap<Event, Pending>,
    pub(super) places: Places,
    /// Bytes of input that the board keeps.
    pub(super) kept_input: u64,
    /// How many operations of [`Schedule::pending`] are not reported.
    pub(super) unreported: usize,
    /// What the target adds.
    pub(super) costs: Arc<AllCosts>,
    /// When the last operation of a queue was submitted, by API and queue. A checkpoint does
    /// not have it: it is microseconds ahead of what is enqueued then.
    submitted: HashMap<(u16, u64), u64>,
}

impl Schedule {
    /// Nothing, on devices of this target.
    pub(super) fn new(target: Target) -> Self {
        Self {
            timeline: Timeline::sharing(target.engines),
            pending: HashMap::new(),
            places: Places::new(),
            kept_input: 0,
            unreported: 0,
            costs: target.costs,
            submitted: HashMap::new(),
        }
    }

    /// Whether the timeline takes all that the calls enqueue and set.
    pub(super) fn has_room(&self, calls: &Calls<'_>) -> Result<(), Refusal> {
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

    /// Puts an operation that is expected on the timeline.
    pub(super) fn enqueue(&mut self, call: &Call<'_>, submit_ns: u64) -> Result<(), Refusal> {
        let operation = self.operation(call, submit_ns);
        let envelope = call.envelope;
        if self.submission_ns(envelope) > 0
            && let Some(queue) = envelope.queue
        {
            let place = self.submitted.entry((envelope.op.api(), queue.id));
            *place.or_default() = operation.submit_ns;
            if self.submitted.len() > SUBMITTED_MAX {
                // What is past delays nothing.
                self.submitted.retain(|_, at| *at > submit_ns);
            }
        }
        let put = self.timeline.enqueue(operation);
        put.map_err(|error| Refusal::Bad(error.to_string()))
    }

    /// The board has an operation, and may report it from now on.
    pub(super) fn expect(&mut self, call: &Call<'_>, awaited: bool) {
        let envelope = call.envelope;
        let device = self.device(envelope);
        let pending = Pending {
            seq: call.submission.seq,
            has_output: out_regions(call).next().is_some(),
            op: envelope.op,
            is_reported: false,
            is_rejected: false,
            duration_ns: 0,
            pace: call.submission.pace,
            job: Place::of(envelope.op, device.0, Engine(envelope.engine.0)),
            engine: Engine(envelope.engine.0),
            device,
            moved: moved(call),
            queue: envelope.queue.map(|queue| queue.id),
            is_fence: order(envelope.order) != Order::Command,
            observable: envelope.observable,
            awaited,
            input_len: in_len(call),
            early: None,
        };
        self.kept_input = self.kept_input.saturating_add(pending.input_len);
        self.unreported += 1;
        let event = envelope.signals.unwrap_or_default();
        self.pending.insert(event, pending);
    }

    /// The device of an enqueue, and whether it is shared.
    fn device(&self, envelope: &Envelope<'_>) -> (u64, bool) {
        let queue = envelope.queue;
        let queue = queue.map(|queue| self.queue_ref(envelope.op, queue));
        queue.map_or((0, false), |queue| (queue.device, queue.is_shared))
    }

    /// A call's operation, submitted at `submit_ns`.
    pub(super) fn operation(&self, call: &Call<'_>, submit_ns: u64) -> Operation {
        let envelope = call.envelope;
        let queue = envelope.queue;
        let submit_ns = match self.submission_ns(envelope) {
            0 => submit_ns,
            takes_ns => {
                let place = queue.map(|queue| (envelope.op.api(), queue.id));
                let last_ns = place.and_then(|place| self.submitted.get(&place));
                let from_ns = last_ns.copied().unwrap_or_default().max(submit_ns);
                from_ns.saturating_add(takes_ns)
            }
        };
        Operation {
            event: envelope.signals.unwrap_or_default(),
            // A thread may be later than on the target.
            entry_ns: call.entry_ns.min(submit_ns),
            submit_ns,
            queue: queue.map(|queue| self.queue_ref(envelope.op, queue)),
            engine: Engine(envelope.engine.0),
            share: Share::of_thousand(envelope.share.thousandths(), envelope.share.group()),
            order: order(envelope.order),
            waits: envelope.waits.to_vec(),
            // Until its end is known here; `learn_ends` retires it then.
            observable: true,
            attended: out_regions(call).next().is_some(),
            delays: self.delays(envelope, submit_ns),
        }
    }

    /// How long it is submitted. What only orders others takes none, and what a copy takes
    /// by the target's bus has it in it.
    fn submission_ns(&self, envelope: &Envelope<'_>) -> u64 {
        let costs = self.costs.of(envelope.op);
        let engine = Engine(envelope.engine.0);
        match engine == Engine::NONE || costs.transfer(engine).is_some() {
            true => 0,
            false => costs.submit_ns,
        }
    }

    /// What passes before an operation starts. What only orders others begins at once.
    fn delays(&self, envelope: &Envelope<'_>, submit_ns: u64) -> Delays {
        if Engine(envelope.engine.0) == Engine::NONE {
            return Delays::default();
        }
        let costs = self.costs.of(envelope.op);
        let wake_ns = match self.timeline.unresolved() {
            0 => costs.wake.at(submit_ns, self.timeline.last_end_ns()),
            _ => 0,
        };
        // What a copy by the target's bus adds to a program has the gap in it.
        let has_gap = costs.transfer(Engine(envelope.engine.0)).is_none();
        Delays {
            launch_ns: costs.delays.launch_ns.saturating_add(wake_ns),
            gap_ns: if has_gap { costs.delays.gap_ns } else { 0 },
        }
    }

    /// When an operation starts, if nothing is enqueued before it.
    pub(super) fn start_ns(&mut self, event: Event) -> u64 {
        let next = self.timeline.next_candidate();
        let next = next.filter(|next| next.event == event);
        let times = self.timeline.times(event);
        let ready_ns = || times.and_then(|times| times.ready_ns.or(Some(times.submitted_ns)));
        next.map(|next| next.start_ns)
            .or_else(ready_ns)
            .unwrap_or_default()
    }

    /// What calls that nobody waits for take of the board's CPU, each less what its API's profile
    /// says: a board finds colder caches at each than a program.
    pub(super) fn posted_ns(&self, posted: &[Posted]) -> u64 {
        let each = posted.iter().map(|post| {
            let less_ns = self
                .costs
                .of(post.op)
                .post_ns
                .saturating_mul(post.calls.into());
            post.cpu_ns.saturating_sub(less_ns)
        });
        each.fold(0, u64::saturating_add)
    }

    /// What a call takes of the target's CPU. A copy by the target's bus takes no longer than
    /// that says, which has the driver's work in it.
    pub(super) fn busy(&self, main: &Call<'_>, took: &BoardCpu) -> Busy {
        let envelope = main.envelope;
        let costs = self.costs.of(envelope.op);
        let engine = Engine(envelope.engine.0);
        let transfer = costs.transfer(engine);
        let own_ns = self.costs.cpu.at(took.own_ns);
        let posted_ns = self.costs.cpu.at(took.posted_ns);
        let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        let posted_ns = posted_ns.saturating_sub(took.spent.before_ns);
        let before_ns = signed(posted_ns).saturating_sub(took.spent.late_ns);
        let before_ns = before_ns.max(-LATE_MAX_NS);
        let mut due_ns = before_ns.saturating_add(signed(own_ns));
        if let Some(transfer) = transfer.filter(|_| envelope.class == Class::Enqueue) {
            due_ns = due_ns.min(signed(transfer.of(moved(main))));
        }
        // A board first ends what was drawn.
        let is_behind = envelope.blocking && envelope.engine == envelope::Engine::GRAPHICS;
        let behind_ns = if is_behind { own_ns } else { 0 };
        let called_ns = due_ns.saturating_sub(signed(behind_ns));
        Busy {
            returns_ns: main.entry_ns.saturating_add_signed(due_ns.max(0)),
            called_ns: main
                .entry_ns
                .saturating_add_signed(called_ns)
                .max(took.spent.seen_ns.min(main.entry_ns)),
            due_ns,
            behind_ns,
        }
    }

    /// When an enqueue reaches its queue, which returns then if nothing waits for it. What a
    /// copy takes by the target's bus includes what its driver does for it.
    pub(super) fn submits_ns(&self, main: &Call<'_>, busy: Busy) -> u64 {
        let envelope = main.envelope;
        let costs = self.costs.of(envelope.op);
        match costs.transfer(Engine(envelope.engine.0)) {
            Some(_) => main.entry_ns,
            None => busy.called_ns,
        }
    }

    /// When a thread goes on whose enqueue ends then, for which it waits. What it reads then
    /// was measured with an idle device, to which it was submitted and which began with it as
    /// late as with any work: here all that has passed while the device drew.
    pub(super) fn goes_on_ns(&self, main: &Call<'_>, end_ns: u64, busy: Busy) -> u64 {
        let costs = self.costs.of(main.envelope.op);
        let launched_ns = costs.submit_ns.saturating_add(costs.delays.launch_ns);
        let reads_ns = busy.behind_ns.saturating_sub(launched_ns);
        let read_ns = end_ns.saturating_add(reads_ns);
        self.seen_ns(main, end_ns)
            .max(read_ns)
            .max(self.submits_ns(main, busy))
    }

    /// When a thread goes on that waits in this call for what ends then.
    pub(super) fn seen_ns(&self, main: &Call<'_>, end_ns: u64) -> u64 {
        self.costs.of(main.envelope.op).seen(end_ns)
    }

    /// The call that enqueued an operation is answered: from here on only its
    /// sender's or the program's interest counts.
    pub(super) fn let_go(&mut self, main: &Call<'_>, event: Event) {
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

    /// Nobody will ask for the event any more. One whose end is not known yet
    /// stays until held output has learnt it.
    pub(super) fn retire(&mut self, event: Event) {
        let is_known = self.timeline.interval(event).is_some();
        match self.pending.get_mut(&event) {
            Some(pending) if !is_known => (pending.observable, pending.awaited) = (false, false),
            _ => {
                self.pending.remove(&event);
                self.timeline.retire(event);
            }
        }
    }

    /// Operations for which `is_gone` will not be reported: they take no time.
    pub(super) fn abandon(&mut self, is_gone: impl Fn(Op) -> bool) {
        let all = self.pending.iter_mut();
        for (&event, pending) in all.filter(|(_, pending)| is_gone(pending.op)) {
            if !std::mem::replace(&mut pending.is_reported, true) {
                pending.early = None;
                pending.job = None;
                self.kept_input -= pending.input_len;
                self.unreported -= 1;
                // One that is on no timeline yet is forgotten with its call.
                let _ = self.timeline.report(event, 0, Ending::Done);
            }
        }
    }

    /// The sender of operations whose events nobody holds has seen their end.
    pub(super) fn forget_awaited(&mut self, events: &[Event]) {
        for event in events {
            if self.pending.remove(event).is_some_and(|p| !p.observable) {
                self.timeline.retire(*event);
            }
        }
    }

    /// Tells the ends that became known, and forgets those operations of which
    /// nobody will ask.
    pub(super) fn learn_ends(&mut self, mut tell: impl FnMut(&End<'_>)) {
        for event in self.timeline.newly_resolved() {
            let interval = self.timeline.interval(event);
            let (Some(operation), Some(interval)) = (self.pending.get(&event), interval) else {
                continue;
            };
            tell(&End {
                event,
                end_ns: interval.end_ns,
                ending: interval.ending,
                operation,
            });
            let (observable, awaited) = (operation.observable, operation.awaited);
            if !awaited {
                self.pending.remove(&event);
                if !observable {
                    self.timeline.retire(event);
                }
            }
        }
    }

    /// The turn of what is published next, unless its duration can never be
    /// known.
    pub(super) fn turn(&mut self, has_board: impl Fn(Op) -> bool) -> Option<Turn> {
        let next = self.timeline.next_candidate()?;
        let op = self
            .pending
            .get(&next.event)
            .map_or(Op(0), |known| known.op);
        (next.is_reported || has_board(op)).then_some(next.turn)
    }

    pub(super) fn observation(&self, event: Event, at_ns: u64) -> Observation {
        let times = self.timeline.times(event);
        let interval = times.and_then(|times| times.interval);
        Observation {
            event,
            state: times.map_or(State::Queued, |times| state(times, at_ns)),
            ending: interval.map_or(Ending::Done, |i| i.ending),
            queued_ns: times.map_or(0, |t| t.queued_ns),
            submitted_ns: times.map_or(0, |t| t.submitted_ns),
            start_ns: interval.map_or(0, |i| i.start_ns),
            end_ns: interval.map_or(0, |i| i.end_ns),
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

fn state(times: Times, at_ns: u64) -> State {
    match times.interval {
        Some(interval) if interval.end_ns <= at_ns => State::Complete,
        Some(interval) if interval.start_ns <= at_ns => State::Running,
        _ if times.ready_ns.is_some_and(|ready_ns| ready_ns <= at_ns) => State::Submitted,
        _ => State::Queued,
    }
}
