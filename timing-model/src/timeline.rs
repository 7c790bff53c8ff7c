use crate::engines::Engines;
use crate::known::Known;
use crate::lane::Lane;
use crate::lanes::{Head, Lanes};
use crate::queues::Queues;
use crate::share::Share;
use crate::{
    Candidate, Delays, Event, Interval, Operation, QueueEnd, QueueRef, TimelineError, Times,
};
use foldhash::HashMap;
use std::collections::hash_map::Entry;

/// Most operations that may be unresolved at a time: a program that enqueues
/// without end behind an event it never sets must not take all memory.
pub const MAX_UNRESOLVED: usize = 1 << 18;
/// Most events that all of these wait for together.
pub const MAX_WAITS: usize = 1 << 20;

/// One device set's timeline. See the crate's documentation. `E` is how an
/// operation ended, which it does not look at.
#[derive(Debug, Default)]
pub struct Timeline<E> {
    /// Operations without an interval.
    open: HashMap<Event, Record<E>>,
    /// Events that have one, and may be asked for.
    ended: HashMap<Event, Ended<E>>,
    /// Counts both.
    known: Known,
    queues: Queues,
    lanes: Lanes,
    /// Who waits for an event without an end.
    waiters: HashMap<Event, Vec<Event>>,
    /// The lengths of the open operations' wait lists.
    waits: usize,
    last_end_ns: u64,
    newly_resolved: Vec<Event>,
}

#[derive(Debug)]
struct Record<E> {
    queued_ns: u64,
    submitted_ns: u64,
    queue: Option<QueueRef>,
    lane: Lane,
    share: Share,
    /// How many were enqueued before.
    number: u64,
    /// Dependencies without a known end.
    open_waits: usize,
    /// Of these, those that wait for what the program has yet to cause.
    blocked_waits: usize,
    /// When the others, and its submission, let it start.
    ready_ns: u64,
    /// The length of its wait list.
    waits: usize,
    /// The board's report.
    report: Option<(u64, E)>,
    observable: bool,
    attended: bool,
    delays: Delays,
}

/// An event that has an interval.
#[derive(Clone, Copy, Debug)]
struct Ended<E> {
    ready_ns: u64,
    interval: Interval<E>,
}

impl<E: Copy + Default> Timeline<E> {
    /// An empty timeline.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty timeline whose shared devices' engines are others' too; it has the
    /// contention of `engines`.
    pub fn sharing(engines: Engines) -> Self {
        Self {
            known: engines.known(),
            lanes: Lanes::sharing(engines),
            ..Self::default()
        }
    }

    /// Puts an operation on the timeline.
    ///
    /// # Errors
    /// [`TimelineError::Duplicate`], and those of [`room_for`](Self::room_for).
    pub fn enqueue(&mut self, op: Operation) -> Result<(), TimelineError> {
        if self.knows(op.event) {
            return Err(TimelineError::Duplicate(op.event));
        }
        self.room_for(1, op.waits.len(), 0)?;
        let mut record = Record {
            queued_ns: op.entry_ns,
            submitted_ns: op.submit_ns,
            queue: op.queue,
            lane: self.lanes.lane(op.queue, op.engine),
            share: self.lanes.share(op.share),
            number: self.lanes.next_number(),
            open_waits: 0,
            blocked_waits: 0,
            ready_ns: op.delays.launched(op.submit_ns),
            waits: op.waits.len(),
            report: None,
            observable: op.observable,
            attended: op.attended,
            delays: op.delays,
        };
        for &wait in &op.waits {
            self.depend(&mut record, op.event, wait);
        }
        if let Some(queue) = op.queue {
            let has_waits = !op.waits.is_empty();
            let behind = self.queues.join(queue, op.event, op.order, has_waits);
            record.follow(behind.ready_ns);
            for on in behind.open {
                self.depend(&mut record, op.event, on);
            }
            if record.blocked_waits > 0 {
                self.queues.block(queue.id);
            }
        }
        self.known.add();
        self.waits += record.waits;
        if record.open_waits == 0 {
            self.lanes
                .insert((record.lane, record.share), record.rank(), op.event);
        }
        let is_blocked = record.blocked_waits > 0;
        self.open.insert(op.event, record);
        if !is_blocked && self.waiters.contains_key(&op.event) {
            // It was waited for before it was known.
            self.unblock_waiters(op.event);
        }
        Ok(())
    }

    fn knows(&self, event: Event) -> bool {
        self.ended.contains_key(&event) || self.open.contains_key(&event)
    }

    /// Whether so many more operations, with wait lists of so many events, and
    /// so many events that are set, find room.
    ///
    /// # Errors
    /// [`TimelineError::TooMany`], [`TimelineError::TooManyWaits`],
    /// [`TimelineError::Full`].
    pub fn room_for(
        &self,
        operations: usize,
        waits: usize,
        set: usize,
    ) -> Result<(), TimelineError> {
        match () {
            () if self.open.len() + operations > MAX_UNRESOLVED => {
                Err(TimelineError::TooMany(self.open.len()))
            }
            () if self.waits + waits > MAX_WAITS => Err(TimelineError::TooManyWaits(self.waits)),
            () if !self.known.has_room(operations + set) => Err(TimelineError::Full),
            () => Ok(()),
        }
    }

    fn depend(&mut self, record: &mut Record<E>, event: Event, on: Event) {
        if let Some(interval) = self.interval(on) {
            record.follow(interval.end_ns);
            return;
        }
        record.open_waits += 1;
        record.blocked_waits += usize::from(self.is_blocked(on));
        self.waiters.entry(on).or_default().push(event);
    }

    /// The board measured an operation.
    ///
    /// # Errors
    /// [`TimelineError::Unknown`], [`TimelineError::Revised`].
    pub fn report(
        &mut self,
        event: Event,
        duration_ns: u64,
        ending: E,
    ) -> Result<(), TimelineError> {
        if self.ended.contains_key(&event) {
            return Err(TimelineError::Revised(event));
        }
        let record = self.open.get_mut(&event);
        let record = record.ok_or(TimelineError::Unknown(event))?;
        if record.report.is_some() {
            return Err(TimelineError::Revised(event));
        }
        record.report = Some((duration_ns, ending));
        Ok(())
    }

    /// The operation that is published next, if any can be.
    pub fn next_candidate(&mut self) -> Option<Candidate> {
        self.lanes.catch_up();
        let head = self.lanes.first()?;
        let record = self.open.get(&head.event)?;
        Some(Candidate {
            event: head.event,
            start_ns: head.turn.start_ns(),
            turn: head.turn,
            is_reported: record.report.is_some(),
        })
    }

    /// Fixes the next operation's interval; returns its event.
    ///
    /// # Errors
    /// [`TimelineError::NotReported`].
    pub fn publish(&mut self) -> Result<Event, TimelineError> {
        self.lanes.catch_up();
        let head = self.lanes.first().ok_or(TimelineError::NotReported)?;
        let Entry::Occupied(found) = self.open.entry(head.event) else {
            return Err(TimelineError::Unknown(head.event));
        };
        let interval = found.get().run(head, &self.lanes);
        let interval = interval.ok_or(TimelineError::NotReported)?;
        let record = found.remove();
        self.lanes.serve(head, interval.end_ns);
        self.last_end_ns = self.last_end_ns.max(interval.end_ns);
        if let Some(queue) = record.queue {
            self.queues.leave(queue.id, head.event, interval.end_ns);
        }
        self.waits -= record.waits;
        self.newly_resolved.push(head.event);
        if record.observable {
            let ready_ns = record.ready_ns;
            self.ended.insert(head.event, Ended { ready_ns, interval });
        } else {
            self.known.remove();
        }
        self.release_waiters(head.event, interval.end_ns);
        Ok(head.event)
    }

    /// An event without an operation is set: a user event, or a synchronous
    /// call's.
    ///
    /// # Errors
    /// [`TimelineError::Revised`] if the event has an interval or an operation,
    /// [`TimelineError::Full`].
    pub fn signal(&mut self, event: Event, at_ns: u64, ending: E) -> Result<(), TimelineError> {
        if self.knows(event) {
            return Err(TimelineError::Revised(event));
        }
        self.room_for(0, 0, 1)?;
        self.known.add();
        self.ended.insert(event, Ended::set(at_ns, ending));
        self.newly_resolved.push(event);
        self.unblock_waiters(event);
        self.release_waiters(event, at_ns);
        Ok(())
    }

    /// When all that was published has ended.
    pub fn last_end_ns(&self) -> u64 {
        self.last_end_ns
    }

    /// The events that have an interval and may be asked for, in the order of
    /// their numbers.
    pub fn ended(&self) -> Vec<(Event, Interval<E>)> {
        let ended = self.ended.iter();
        let ended = ended.map(|(event, ended)| (*event, ended.interval));
        let mut ended: Vec<_> = ended.collect();
        ended.sort_unstable_by_key(|(event, _)| *event);
        ended
    }

    /// What ended before this timeline began: another's event and interval.
    ///
    /// # Errors
    /// [`TimelineError::Duplicate`], [`TimelineError::Full`].
    pub fn restore(&mut self, event: Event, interval: Interval<E>) -> Result<(), TimelineError> {
        if self.knows(event) {
            return Err(TimelineError::Duplicate(event));
        }
        self.room_for(0, 0, 1)?;
        self.known.add();
        let ready_ns = interval.end_ns;
        self.ended.insert(event, Ended { ready_ns, interval });
        Ok(())
    }

    /// Nobody will ask for this event any more.
    pub fn retire(&mut self, event: Event) {
        if self.ended.remove(&event).is_some() {
            self.known.remove();
        } else if let Some(record) = self.open.get_mut(&event) {
            record.observable = false;
        }
    }

    /// When an event's operation runs; `None` while that is not known, and for
    /// events that are not.
    pub fn interval(&self, event: Event) -> Option<Interval<E>> {
        self.ended.get(&event).map(|ended| ended.interval)
    }

    /// Whether an event waits, directly or not, for one that is not set; also
    /// for those that are not known, which are taken for such.
    pub fn is_blocked(&self, event: Event) -> bool {
        let record = self.open.get(&event);
        record.map_or(!self.ended.contains_key(&event), |record| {
            record.blocked_waits > 0
        })
    }

    /// What is known of an event's operation.
    pub fn times(&self, event: Event) -> Option<Times<E>> {
        if let Some(Ended { ready_ns, interval }) = self.ended.get(&event) {
            return Some(Times {
                queued_ns: interval.queued_ns,
                submitted_ns: interval.submitted_ns,
                ready_ns: Some(*ready_ns),
                interval: Some(*interval),
            });
        }
        let record = self.open.get(&event)?;
        Some(Times {
            queued_ns: record.queued_ns,
            submitted_ns: record.submitted_ns,
            ready_ns: (record.open_waits == 0).then_some(record.ready_ns),
            interval: None,
        })
    }

    /// When all operations put on `queue` so far have ended.
    pub fn queue_end(&self, queue: u64) -> QueueEnd {
        self.queues.end(queue)
    }

    /// When the caller has to look again at the latest, if nothing else
    /// happens: at the start of an operation whose duration is not known, and
    /// at an end that something follows, or before it: contention is not known
    /// until the operation is published.
    pub fn attention_ns(&self) -> Option<u64> {
        let mut earliest = None;
        for (head, is_crowded) in self.lanes.heads() {
            if earliest.is_some_and(|at_ns| at_ns <= head.turn.start_ns()) {
                break;
            }
            let at_ns = self.looked_at(head, is_crowded);
            earliest = at_ns.into_iter().chain(earliest).min();
        }
        earliest
    }

    fn looked_at(&self, head: Head, is_crowded: bool) -> Option<u64> {
        let record = self.open.get(&head.event)?;
        let Some((duration_ns, _)) = record.report else {
            return Some(head.turn.start_ns());
        };
        let is_followed = is_crowded || self.waiters.contains_key(&head.event);
        let end_ns = head.turn.start_ns().saturating_add(duration_ns);
        (is_followed || record.attended).then_some(end_ns)
    }

    /// Whether an operation enqueued now, submitted at `op.submit_ns`, would
    /// start by `by_ns`.
    pub fn would_start(&self, op: &Operation, by_ns: u64) -> bool {
        let lets_start = |end_ns| op.delays.after(end_ns) <= by_ns;
        let ended = |event: &Event| {
            let end_ns = self.interval(*event).map(|interval| interval.end_ns);
            end_ns.is_some_and(lets_start)
        };
        let in_order = op.queue.filter(|queue| queue.in_order);
        let is_first = in_order.is_none_or(|queue| {
            matches!(self.queue_end(queue.id), QueueEnd::Resolved(end_ns) if lets_start(end_ns))
        });
        let free_ns = self.lanes.free_for(
            self.lanes.lane(op.queue, op.engine),
            self.lanes.share(op.share),
        );
        let launched_ns = op.delays.launched(op.submit_ns);
        launched_ns <= by_ns && free_ns <= by_ns && is_first && op.waits.iter().all(ended)
    }

    /// Events whose interval became known since the last call, in the order in
    /// which it did.
    pub fn newly_resolved(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.newly_resolved)
    }

    /// Operations without a published interval.
    pub fn unresolved(&self) -> usize {
        self.open.len()
    }

    /// Tells those who wait for `event` when it ended.
    fn release_waiters(&mut self, event: Event, end_ns: u64) {
        for waiter in self.waiters.remove(&event).unwrap_or_default() {
            let Some(record) = self.open.get_mut(&waiter) else {
                continue;
            };
            record.follow(end_ns);
            record.open_waits -= 1;
            if record.open_waits == 0 {
                let rank = record.rank();
                self.lanes.insert((record.lane, record.share), rank, waiter);
            }
        }
    }

    /// Tells those who wait for `event` that it is blocked no longer, and those
    /// who wait for them.
    fn unblock_waiters(&mut self, event: Event) {
        let mut unblocked = vec![event];
        while let Some(event) = unblocked.pop() {
            for waiter in self.waiters.get(&event).into_iter().flatten() {
                let Some(record) = self.open.get_mut(waiter) else {
                    continue;
                };
                record.blocked_waits -= 1;
                if record.blocked_waits == 0 {
                    unblocked.push(*waiter);
                    if let Some(queue) = record.queue {
                        self.queues.unblock(queue.id);
                    }
                }
            }
        }
    }
}

impl<E> Ended<E> {
    /// Of an event that was set.
    fn set(at_ns: u64, ending: E) -> Self {
        let interval = Interval {
            queued_ns: at_ns,
            submitted_ns: at_ns,
            start_ns: at_ns,
            end_ns: at_ns,
            ending,
        };
        Self {
            ready_ns: at_ns,
            interval,
        }
    }
}

impl<E: Copy> Record<E> {
    /// It waits for what ends then.
    fn follow(&mut self, end_ns: u64) {
        self.ready_ns = self.ready_ns.max(self.delays.after(end_ns));
    }

    fn rank(&self) -> (u64, u64) {
        (self.ready_ns, self.number)
    }

    /// Its interval; `None` if its duration is not known.
    fn run(&self, head: Head, lanes: &Lanes) -> Option<Interval<E>> {
        let (alone_ns, ending) = self.report?;
        let duration_ns = lanes.duration_ns(head, alone_ns);
        Some(Interval {
            queued_ns: self.queued_ns,
            submitted_ns: self.submitted_ns,
            start_ns: head.turn.start_ns(),
            end_ns: head.turn.start_ns().saturating_add(duration_ns),
            ending,
        })
    }
}

#[cfg(test)]
mod tests;
