use crate::{Engine, Event, Interval, Operation, QueueEnd, QueueRef, TimelineError, Times};
use std::collections::HashMap;

/// Most operations that may be unresolved at a time: a program that enqueues
/// without end behind an event it never sets must not take all memory.
pub const MAX_UNRESOLVED: usize = 1 << 18;

/// One device set's timeline. See the crate's documentation.
#[derive(Debug, Default)]
pub struct Timeline {
    events: HashMap<Event, Record>,
    queues: HashMap<u64, Queue>,
    /// When each engine of each device is free.
    engines: HashMap<(u64, Engine), u64>,
    /// Who waits for an unresolved event.
    waiters: HashMap<Event, Vec<Event>>,
    unresolved: usize,
    newly_resolved: Vec<Event>,
}

#[derive(Debug)]
struct Record {
    queued_ns: u64,
    submitted_ns: u64,
    queue: Option<QueueRef>,
    engine: Engine,
    /// Dependencies without a known end.
    open_waits: usize,
    /// Latest end of the others, at least the submission.
    ready_ns: u64,
    /// What the board reported.
    report: Option<(u64, i32)>,
    interval: Option<Interval>,
    observable: bool,
}

#[derive(Debug, Default)]
struct Queue {
    unresolved: usize,
    end_ns: u64,
    /// The operation put last, while it is unresolved.
    last_open: Option<Event>,
    last_end_ns: u64,
}

impl Timeline {
    /// An empty timeline.
    pub fn new() -> Self {
        Self::default()
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
            engine: op.engine,
            open_waits: 0,
            ready_ns: op.submit_ns,
            report: None,
            interval: None,
            observable: op.observable,
        };
        for wait in op.waits {
            self.depend(&mut record, op.event, wait);
        }
        if let Some(queue) = op.queue {
            self.join_queue(&mut record, op.event, queue);
        }
        self.unresolved += 1;
        self.events.insert(op.event, record);
        Ok(())
    }

    fn depend(&mut self, record: &mut Record, event: Event, on: Event) {
        match self.events.get(&on).and_then(|r| r.interval) {
            Some(interval) => record.ready_ns = record.ready_ns.max(interval.end_ns),
            None => {
                record.open_waits += 1;
                self.waiters.entry(on).or_default().push(event);
            }
        }
    }

    fn join_queue(&mut self, record: &mut Record, event: Event, at: QueueRef) {
        let queue = self.queues.entry(at.id).or_default();
        let (last_open, last_end_ns) = (queue.last_open, queue.last_end_ns);
        queue.unresolved += 1;
        queue.last_open = Some(event);
        if !at.in_order {
            return;
        }
        match last_open {
            Some(last) => self.depend(record, event, last),
            None => record.ready_ns = record.ready_ns.max(last_end_ns),
        }
    }

    /// The board measured an operation. Its interval is published as soon as
    /// those of its dependencies are.
    ///
    /// # Errors
    /// [`TimelineError::Unknown`], [`TimelineError::Revised`].
    pub fn resolve(
        &mut self,
        event: Event,
        duration_ns: u64,
        status: i32,
    ) -> Result<(), TimelineError> {
        let record = self
            .events
            .get_mut(&event)
            .ok_or(TimelineError::Unknown(event))?;
        if record.report.is_some() || record.interval.is_some() {
            return Err(TimelineError::Revised(event));
        }
        record.report = Some((duration_ns, status));
        self.publish_ready(vec![event]);
        Ok(())
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
        let interval = Interval {
            queued_ns: at_ns,
            submitted_ns: at_ns,
            start_ns: at_ns,
            end_ns: at_ns,
            status,
        };
        self.events.insert(
            event,
            Record {
                queued_ns: at_ns,
                submitted_ns: at_ns,
                queue: None,
                engine: Engine::None,
                open_waits: 0,
                ready_ns: at_ns,
                report: None,
                interval: Some(interval),
                observable: true,
            },
        );
        self.newly_resolved.push(event);
        let ready = self.release_waiters(event, at_ns);
        self.publish_ready(ready);
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
        match self.queues.get(&queue) {
            None => QueueEnd::Resolved(0),
            Some(queue) if queue.unresolved == 0 => QueueEnd::Resolved(queue.end_ns),
            Some(_) => QueueEnd::Unresolved,
        }
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

    fn publish_ready(&mut self, mut candidates: Vec<Event>) {
        let mut next = 0;
        while let Some(&event) = candidates.get(next) {
            next += 1;
            if let Some(end_ns) = self.publish(event) {
                candidates.extend(self.release_waiters(event, end_ns));
            }
        }
    }

    /// Fixes an operation's interval if all it takes is known.
    fn publish(&mut self, event: Event) -> Option<u64> {
        let record = self.events.get_mut(&event)?;
        if record.open_waits > 0 || record.interval.is_some() {
            return None;
        }
        let (duration_ns, status) = record.report?;
        let device = record.queue.map_or(0, |queue| queue.device);
        let mut no_engine = 0;
        let free_ns = match record.engine {
            Engine::None => &mut no_engine,
            engine => self.engines.entry((device, engine)).or_default(),
        };
        let start_ns = record.ready_ns.max(*free_ns);
        let end_ns = start_ns.saturating_add(duration_ns);
        *free_ns = end_ns;
        record.interval = Some(Interval {
            queued_ns: record.queued_ns,
            submitted_ns: record.submitted_ns,
            start_ns,
            end_ns,
            status,
        });
        let (queue, observable) = (record.queue, record.observable);
        if let Some(queue) = queue {
            self.leave_queue(event, queue.id, end_ns);
        }
        self.unresolved -= 1;
        self.newly_resolved.push(event);
        if !observable {
            self.events.remove(&event);
        }
        Some(end_ns)
    }

    fn leave_queue(&mut self, event: Event, id: u64, end_ns: u64) {
        let queue = self.queues.entry(id).or_default();
        queue.unresolved -= 1;
        queue.end_ns = queue.end_ns.max(end_ns);
        if queue.last_open == Some(event) {
            queue.last_open = None;
            queue.last_end_ns = end_ns;
        }
    }

    /// Tells those who wait for `event`; returns who has nothing left to wait
    /// for, in the order in which they were enqueued.
    fn release_waiters(&mut self, event: Event, end_ns: u64) -> Vec<Event> {
        let waiters = self.waiters.remove(&event).unwrap_or_default();
        waiters
            .into_iter()
            .filter(|waiter| {
                let Some(record) = self.events.get_mut(waiter) else {
                    return false;
                };
                record.ready_ns = record.ready_ns.max(end_ns);
                record.open_waits -= 1;
                record.open_waits == 0
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
