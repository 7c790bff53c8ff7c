//! Enqueued operations: those that have ended, and those that wait for something that
//! the guest has yet to do.
//!
//! An operation is blocked while it waits, directly or through other blocked
//! operations, for a user event that is not set. For other operations the call says
//! whether to wait at once or when they are asked for. An operation keeps its memory
//! until it has ended.

use super::call::{Call, Memory};
use super::table::Pointer;
use crate::board::Ended;
use foldhash::{HashMap, HashSet};
use gil_wire::ending::Ending;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;

/// Where an operation stands in its queue's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// It waits for its wait list, and on an in-order queue for the one before.
    Command,
    /// Without a wait list, it waits for everything before it on the queue.
    Marker,
    /// As a marker, and everything after it waits for it.
    Barrier,
}

/// The queue of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueRef {
    /// The real queue.
    pub queue: Pointer,
    /// Whether it executes in order.
    pub in_order: bool,
}

/// An operation that was enqueued.
#[derive(Debug)]
pub struct Operation {
    /// The guest's number for its event.
    pub number: u64,
    /// Its real event; the operation owns one reference to it and to its queue.
    pub event: Pointer,
    /// Its queue.
    pub queue: QueueRef,
    /// Its order on the queue.
    pub order: Order,
    /// The real events it waits for; once it is blocked, those that block it.
    pub waits: Vec<Pointer>,
    /// The call's memory, which the driver may use until the operation ends.
    pub memory: Memory,
}

/// One that waits for what the guest has yet to cause.
#[derive(Debug)]
struct Blocked {
    operation: Operation,
    /// It waits for everything before it on its queue.
    behind_all: bool,
}

/// The result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Nanoseconds on the device.
    pub duration_ns: u64,
    /// How it ended.
    pub ending: Ending,
}

impl Finished {
    /// Of an operation with this number and memory, in its own call: its output
    /// goes back with the call's answer.
    pub fn report(self, number: u64, memory: Memory, call: &mut Call) {
        call.report(Ended {
            duration_ns: self.duration_ns,
            ..Ended::bare(number, self.ending)
        });
        if !self.ending.is_failure() {
            call.give_back(memory);
        }
    }

    /// The same of one that nobody waited for in its own call.
    pub fn later(self, number: u64, memory: Memory) -> Ended {
        Ended {
            duration_ns: self.duration_ns,
            out: match self.ending.is_failure() {
                false => memory.outputs(),
                true => memory.no_outputs(),
            },
            ..Ended::bare(number, self.ending)
        }
    }
}

/// The part of a driver that waits.
pub trait Device {
    /// Has the device begin what was enqueued on the operation's queue.
    fn begin(&mut self, operation: &Operation);

    /// Waits until an operation that is not blocked ends, and gives up the
    /// operation's references.
    fn finish(&mut self, operation: &Operation) -> Finished;

    /// The same of one that has ended, if it has; waits for nothing.
    fn finish_ended(&mut self, operation: &Operation) -> Option<Finished>;
}

/// Numbers of reported operations that a queue's line may have before they are
/// looked for.
const LINE_SLACK: usize = 64;

/// The operations and user events of a session.
#[derive(Debug, Default)]
pub struct Operations {
    unset: HashSet<Pointer>,
    blocked: Vec<Blocked>,
    /// The numbers of those that are blocked.
    blocked_numbers: HashSet<u64>,
    /// Neither blocked nor reported, by the guest's number.
    under_way: HashMap<u64, Operation>,
    /// Their numbers by queue, in the order in which they were put there; those
    /// of operations that were reported are among them.
    lines: HashMap<Pointer, VecDeque<u64>>,
    /// The queue of the one that was waited for last.
    waited_on: Option<Pointer>,
    has_failed: bool,
}

impl Operations {
    /// A user event was created.
    pub fn user_event(&mut self, event: Pointer) {
        self.unset.insert(event);
    }

    /// Whether this is a user event that is not set.
    pub fn is_unset(&self, event: Pointer) -> bool {
        self.unset.contains(&event)
    }

    /// An event ended.
    pub fn saw(&mut self, ending: Ending) {
        self.has_failed |= ending.is_failure();
    }

    /// Whether any event is known to have failed.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// User events that are not set.
    pub fn unset(&self) -> impl Iterator<Item = Pointer> + '_ {
        self.unset.iter().copied()
    }

    fn blocked_operations(&self) -> impl Iterator<Item = &Operation> {
        self.blocked.iter().map(|blocked| &blocked.operation)
    }

    /// Whether any operation is blocked.
    pub fn has_blocked(&self) -> bool {
        !self.blocked.is_empty()
    }

    /// Whether the operation that has this number is blocked.
    pub fn is_blocked(&self, number: u64) -> bool {
        self.blocked_numbers.contains(&number)
    }

    /// Whether an operation that has this number is blocked, or under way and
    /// not reported.
    pub fn has(&self, number: u64) -> bool {
        self.under_way.contains_key(&number) || self.is_blocked(number)
    }

    /// The operation that has this number, if it is neither blocked nor
    /// reported.
    pub fn under_way(&self, number: u64) -> Option<&Operation> {
        self.under_way.get(&number)
    }

    /// Whether any operation is blocked, or under way and not reported.
    pub fn is_busy(&self) -> bool {
        !self.blocked.is_empty() || !self.under_way.is_empty()
    }

    /// The real events of those under way.
    pub fn events_under_way(&self) -> impl Iterator<Item = Pointer> + '_ {
        self.under_way.values().map(|operation| operation.event)
    }

    /// Whether no operation enqueued now would be blocked.
    pub fn none_blocks(&self) -> bool {
        self.unset.is_empty() && self.blocked.is_empty()
    }

    /// An operation was enqueued. If `finish`, waits for it unless it is
    /// blocked; returns how it ended, with its memory.
    pub fn enqueued(
        &mut self,
        operation: Operation,
        finish: bool,
        device: &mut impl Device,
    ) -> Option<(Operation, Finished)> {
        let behind_all = operation.order != Order::Command && operation.waits.is_empty();
        let blocked = Blocked {
            operation,
            behind_all,
        };
        self.place(blocked, finish, device)
    }

    /// A call enqueued an operation: reports how it ended, if the call waits for
    /// that, and gives the call its memory back.
    pub fn enqueued_by(&mut self, call: &mut Call, operation: Operation, device: &mut impl Device) {
        let ended = self.enqueued(operation, call.finishes(), device);
        if let Some((operation, finished)) = ended {
            finished.report(operation.number, operation.memory, call);
        }
    }

    /// As [`enqueued`](Self::enqueued), of one that may have been blocked.
    fn place(
        &mut self,
        mut blocked: Blocked,
        finish: bool,
        device: &mut impl Device,
    ) -> Option<(Operation, Finished)> {
        // Of those that block nobody now, the session may hold no reference:
        // their addresses may be other events' soon.
        let waits = &mut blocked.operation.waits;
        waits.retain(|event| self.blocks(*event));
        if self.would_block(&blocked) {
            self.blocked_numbers.insert(blocked.operation.number);
            self.blocked.push(blocked);
            return None;
        }
        let operation = blocked.operation;
        if !finish {
            device.begin(&operation);
            self.line_up(&operation);
            let earlier = self.under_way.insert(operation.number, operation);
            if let Some(earlier) = earlier {
                // Nobody can ask for it any more, and its memory is the
                // driver's until it ends.
                self.end(earlier, device);
            }
            return None;
        }
        Some(self.end(operation, device))
    }

    /// Whether what waits for this event is blocked.
    fn blocks(&self, event: Pointer) -> bool {
        self.is_unset(event) || self.blocked_operations().any(|one| one.event == event)
    }

    fn would_block(&self, later: &Blocked) -> bool {
        let operation = &later.operation;
        let queue = operation.queue;
        !operation.waits.is_empty()
            || self.blocked_operations().any(|earlier| {
                earlier.queue.queue == queue.queue
                    && (queue.in_order || earlier.order == Order::Barrier || later.behind_all)
            })
    }

    fn end(&mut self, operation: Operation, device: &mut impl Device) -> (Operation, Finished) {
        let finished = device.finish(&operation);
        self.saw(finished.ending);
        (operation, finished)
    }

    /// Waits for the operation under way that has this number.
    pub fn finish(
        &mut self,
        number: u64,
        device: &mut impl Device,
    ) -> Option<(Operation, Finished)> {
        let operation = self.under_way.remove(&number)?;
        self.waited_on = Some(operation.queue.queue);
        Some(self.end(operation, device))
    }

    /// The next operation under way on the queue of the one that was waited for
    /// last, if it has ended, too.
    pub fn finish_behind(&mut self, device: &mut impl Device) -> Option<(Operation, Finished)> {
        let queue = self.waited_on?;
        let Entry::Occupied(mut line) = self.lines.entry(queue) else {
            return None;
        };
        let next = loop {
            let Some(number) = line.get_mut().pop_front() else {
                line.remove();
                return None;
            };
            let next = self.under_way.get(&number);
            if let Some(next) = next.filter(|next| next.queue.queue == queue) {
                break next;
            }
        };
        let number = next.number;
        let Some(finished) = device.finish_ended(next) else {
            line.get_mut().push_front(number);
            return None;
        };
        self.saw(finished.ending);
        let operation = self.under_way.remove(&number)?;
        Some((operation, finished))
    }

    /// An operation is under way on its queue, behind those before it. Of a
    /// queue whose first operation takes long, most may be reported ones.
    fn line_up(&mut self, operation: &Operation) {
        let line = self.lines.entry(operation.queue.queue).or_default();
        line.push_back(operation.number);
        if line.len() > LINE_SLACK + 2 * self.under_way.len() {
            line.retain(|number| self.under_way.contains_key(number));
            line.push_back(operation.number);
        }
    }

    /// Waits for everything under way.
    pub fn finish_all(&mut self, device: &mut impl Device) {
        for (_, operation) in self.under_way.drain() {
            device.finish(&operation);
        }
    }

    /// A user event was set. If `finish`, waits for what it unblocks, in the
    /// order of enqueueing; returns how each ended.
    pub fn set(
        &mut self,
        event: Pointer,
        finish: bool,
        device: &mut impl Device,
    ) -> Vec<(Operation, Finished)> {
        self.unset.remove(&event);
        let candidates = std::mem::take(&mut self.blocked);
        self.blocked_numbers.clear();
        // An operation waits only for earlier ones: one pass in their order
        // finds all that the event unblocks.
        candidates
            .into_iter()
            .filter_map(|blocked| self.place(blocked, finish, device))
            .collect()
    }
}

#[cfg(test)]
mod tests;
