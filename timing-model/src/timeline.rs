use crate::engines::Engines;
use crate::lanes::{Head, Lane, Lanes};
use crate::queues::Queues;
use crate::{Candidate, Event, Interval, Operation, QueueEnd, QueueRef, TimelineError, Times};
use std::collections::HashMap;

/// Most operations that may be unresolved at a time: a program that enqueues
/// without end behind an event it never sets must not take all memory.
pub const MAX_UNRESOLVED: usize = 1 << 18;

/// One device set's timeline. See the crate's documentation.
#[derive(Debug, Default)]
pub struct Timeline {
    events: HashMap<Event, Record>,
    queues: Queues,
    lanes: Lanes,
    /// Who waits for an event without an end.
    waiters: HashMap<Event, Vec<Event>>,
    unresolved: usize,
    last_end_ns: u64,
    newly_resolved: Vec<Event>,
}

#[derive(Debug)]
struct Record {
    queued_ns: u64,
    submitted_ns: u64,
    queue: Option<QueueRef>,
    lane: Lane,
    /// How many were enqueued before.
    number: u64,
    /// Dependencies without a known end.
    open_waits: usize,
    /// Of these, those that wait for what the program has yet to cause.
    blocked_waits: usize,
    /// Latest end of the others, at least the submission.
    ready_ns: u64,
    /// What the board reported.
    report: Option<(u64, i32)>,
    interval: Option<Interval>,
    observable: bool,
    attended: bool,
}

impl Timeline {
    /// An empty timeline.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty timeline whose shared devices' engines are others' too.
    pub fn sharing(engines: Engines) -> Self {
        Self {
            lanes: Lanes::sharing(engines),
            ..Self::default()
        }
    }

    /// Puts an operation on the timeline.
    ///
    /// # Errors
    /// [`TimelineError::Duplicate`], [`TimelineError::TooMany`].
    pub fn enqueue(&mut self, op: Operation) -> Result<(), TimelineError> {
        if self.events.contains_key(&op.event) {
            return Err(TimelineError::Duplicate(op.event));
        }
        if self.unresolved >= MAX_UNRESOLVED {
            return Err(TimelineError::TooMany(self.unresolved));
        }
        let mut record = Record {
            queued_ns: op.entry_ns,
            submitted_ns: op.submit_ns,
            queue: op.queue,
            lane: self.lanes.lane(op.queue, op.engine),
            number: self.lanes.next_number(),
            open_waits: 0,
            blocked_waits: 0,
            ready_ns: op.submit_ns,
            report: None,
            interval: None,
            observable: op.observable,
            attended: op.attended,
        };
        for &wait in &op.waits {
            self.depend(&mut record, op.event, wait);
        }
        if let Some(queue) = op.queue {
            let has_waits = !op.waits.is_empty();
            let behind = self.queues.join(queue, op.event, op.order, has_waits);
            record.ready_ns = record.ready_ns.max(behind.ready_ns);
            for on in behind.open {
                self.depend(&mut record, op.event, on);
            }
            if record.blocked_waits > 0 {
                self.queues.block(queue.id);
            }
        }
        self.unresolved += 1;
        if record.open_waits == 0 {
            self.lanes.insert(record.lane, record.rank(), op.event);
        }
        let is_blocked = record.blocked_waits > 0;
        self.events.insert(op.event, record);
        if !is_blocked && self.waiters.contains_key(&op.event) {
            // It was waited for before it was known.
            self.unblock_waiters(op.event);
        }
        Ok(())
    }

    fn depend(&mut self, record: &mut Record, event: Event, on: Event) {
        if let Some(interval) = self.events.get(&on).and_then(|r| r.interval) {
            record.ready_ns = record.ready_ns.max(interval.end_ns);
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
        status: i32,
    ) -> Result<(), TimelineError> {
        let record = self.events.get_mut(&event);
        let record = record.ok_or(TimelineError::Unknown(event))?;
        if record.report.is_some() || record.interval.is_some() {
            return Err(TimelineError::Revised(event));
        }
        record.report = Some((duration_ns, status));
        Ok(())
    }

    /// The operation that is published next, if any can be.
    pub fn next_candidate(&mut self) -> Option<Candidate> {
        self.lanes.catch_up();
        let head = self.lanes.first()?;
        let record = self.events.get(&head.event)?;
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
        let record = self.events.get_mut(&head.event);
        let record = record.ok_or(TimelineError::Unknown(head.event))?;
        let interval = record.run(head).ok_or(TimelineError::NotReported)?;
        let (queue, observable) = (record.queue, record.observable);
        self.lanes.serve(head, interval.end_ns);
        self.last_end_ns = self.last_end_ns.max(interval.end_ns);
        if let Some(queue) = queue {
            self.queues.leave(queue.id, head.event, interval.end_ns);
        }
        self.unresolved -= 1;
        self.newly_resolved.push(head.event);
        if !observable {
            self.events.remove(&head.event);
        }
        self.release_waiters(head.event, interval.end_ns);
        Ok(head.event)
    }

    /// An event without an operation is set: a user event, or a synchronous
    /// call's.
    ///
    /// # Errors
    /// [`TimelineError::Revised`] if the event has an interval or an operation.
    pub fn signal(&mut self, event: Event, at_ns: u64, status: i32) -> Result<(), TimelineError> {
        if self.events.contains_key(&event) {
            return Err(TimelineError::Revised(event));
        }
        let record = Record::set(at_ns, status);
        self.events.insert(event, record);
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
    pub fn ended(&self) -> Vec<(Event, Interval)> {
        let events = self.events.iter();
        let ended = events.filter_map(|(event, record)| Some((*event, record.interval?)));
        let mut ended: Vec<_> = ended.collect();
        ended.sort_unstable_by_key(|(event, _)| *event);
        ended
    }

    /// What ended before this timeline began: another's event and interval.
    ///
    /// # Errors
    /// [`TimelineError::Duplicate`].
    pub fn restore(&mut self, event: Event, interval: Interval) -> Result<(), TimelineError> {
        if self.events.contains_key(&event) {
            return Err(TimelineError::Duplicate(event));
        }
        let mut record = Record::set(interval.end_ns, interval.status);
        record.queued_ns = interval.queued_ns;
        record.submitted_ns = interval.submitted_ns;
        record.interval = Some(interval);
        self.events.insert(event, record);
        Ok(())
    }

    /// Nobody will ask for this event any more.
    pub fn retire(&mut self, event: Event) {
        if let Some(record) = self.events.get_mut(&event) {
            record.observable = false;
            if record.interval.is_some() {
                self.events.remove(&event);
            }
        }
    }

    /// When an event's operation runs; `None` while that is not known, and for
    /// events that are not.
    pub fn interval(&self, event: Event) -> Option<Interval> {
        self.events.get(&event)?.interval
    }

    /// Whether an event waits, directly or not, for one that is not set; also
    /// for those that are not known, which are taken for such.
    pub fn is_blocked(&self, event: Event) -> bool {
        let record = self.events.get(&event);
        record.is_none_or(|record| record.blocked_waits > 0)
    }

    /// What is known of an event's operation.
    pub fn times(&self, event: Event) -> Option<Times> {
        let record = self.events.get(&event)?;
        Some(Times {
            queued_ns: record.queued_ns,
            submitted_ns: record.submitted_ns,
            ready_ns: (record.open_waits == 0).then_some(record.ready_ns),
            interval: record.interval,
        })
    }

    /// When all operations put on `queue` so far have ended.
    pub fn queue_end(&self, queue: u64) -> QueueEnd {
        self.queues.end(queue)
    }

    /// When the caller has to look again at the latest, if nothing else
    /// happens: at the start of an operation whose duration is not known, and
    /// at an end that something follows.
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
        let record = self.events.get(&head.event)?;
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
        let ended = |event: &Event| {
            let end_ns = self.interval(*event).map(|interval| interval.end_ns);
            end_ns.is_some_and(|end_ns| end_ns <= by_ns)
        };
        let in_order = op.queue.filter(|queue| queue.in_order);
        let is_first = in_order.is_none_or(|queue| {
            matches!(self.queue_end(queue.id), QueueEnd::Resolved(end_ns) if end_ns <= by_ns)
        });
        let free_ns = self.lanes.free_ns(self.lanes.lane(op.queue, op.engine));
        op.submit_ns <= by_ns && free_ns <= by_ns && is_first && op.waits.iter().all(ended)
    }

    /// Events whose interval became known since the last call, in the order in
    /// which it did.
    pub fn newly_resolved(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.newly_resolved)
    }

    /// Operations without a published interval.
    pub fn unresolved(&self) -> usize {
        self.unresolved
    }

    /// Tells those who wait for `event` when it ended.
    fn release_waiters(&mut self, event: Event, end_ns: u64) {
        for waiter in self.waiters.remove(&event).unwrap_or_default() {
            let Some(record) = self.events.get_mut(&waiter) else {
                continue;
            };
            record.ready_ns = record.ready_ns.max(end_ns);
            record.open_waits -= 1;
            if record.open_waits == 0 {
                let rank = record.rank();
                self.lanes.insert(record.lane, rank, waiter);
            }
        }
    }

    /// Tells those who wait for `event` that it is blocked no longer, and those
    /// who wait for them.
    fn unblock_waiters(&mut self, event: Event) {
        let mut unblocked = vec![event];
        while let Some(event) = unblocked.pop() {
            for waiter in self.waiters.get(&event).into_iter().flatten() {
                let Some(record) = self.events.get_mut(waiter) else {
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

impl Record {
    /// Of an event that was set.
    fn set(at_ns: u64, status: i32) -> Self {
        let interval = Interval {
            queued_ns: at_ns,
            submitted_ns: at_ns,
            start_ns: at_ns,
            end_ns: at_ns,
            status,
        };
        Self {
            queued_ns: at_ns,
            submitted_ns: at_ns,
            queue: None,
            lane: Lane::new(None, crate::Engine::None),
            number: 0,
            open_waits: 0,
            blocked_waits: 0,
            ready_ns: at_ns,
            report: None,
            interval: Some(interval),
            observable: true,
            attended: false,
        }
    }

    fn rank(&self) -> (u64, u64) {
        (self.ready_ns, self.number)
    }

    /// Its interval, now fixed; `None` if its duration is not known.
    fn run(&mut self, head: Head) -> Option<Interval> {
        let (duration_ns, status) = self.report?;
        let interval = Interval {
            queued_ns: self.queued_ns,
            submitted_ns: self.submitted_ns,
            start_ns: head.turn.start_ns(),
            end_ns: head.turn.start_ns().saturating_add(duration_ns),
            status,
        };
        self.interval = Some(interval);
        Some(interval)
    }
}

#[cfg(test)]
mod tests;
