//! The order that a queue imposes on its operations.

use crate::{Event, Order, QueueEnd, QueueRef};
use foldhash::{HashMap, HashSet};

/// Most queues remembered on which nothing is under way: nobody says here that
/// one is released.
const IDLE_MAX: usize = 4096;

/// What an operation waits for on account of its queue.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Behind {
    /// Ends that are known, the latest of them.
    pub(crate) ready_ns: u64,
    /// Operations that have none yet.
    pub(crate) open: Vec<Event>,
}

#[derive(Debug, Default)]
struct Queue {
    /// The latest end of all so far.
    end_ns: u64,
    /// Operations without an end.
    open: HashSet<Event>,
    /// Of these, how many wait for what the program has yet to cause.
    blocked: usize,
    /// In order: the operation put last.
    last: Link,
    /// Out of order: the latest barrier.
    barrier: Link,
    /// Out of order: the latest operation behind everything before it, and what
    /// came after it.
    all: Link,
    since: Vec<Event>,
}

/// An operation that others are behind: open, or ended then.
#[derive(Clone, Copy, Debug)]
enum Link {
    Open(Event),
    Ended(u64),
}

impl Default for Link {
    fn default() -> Self {
        Self::Ended(0)
    }
}

impl Link {
    fn end(&mut self, event: Event, end_ns: u64) {
        if matches!(self, Self::Open(open) if *open == event) {
            *self = Self::Ended(end_ns);
        }
    }
}

impl Behind {
    fn add(&mut self, link: Link) {
        match link {
            Link::Open(event) => self.open.push(event),
            Link::Ended(end_ns) => self.ready_ns = self.ready_ns.max(end_ns),
        }
    }
}

/// All queues.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    all: HashMap<u64, Queue>,
    /// How many have operations without an end.
    busy: usize,
}

impl Queues {
    /// Puts an operation on its queue; `waits`: whether it has a wait list.
    pub(crate) fn join(&mut self, at: QueueRef, event: Event, order: Order, waits: bool) -> Behind {
        self.forget_idle();
        let queue = self.all.entry(at.id).or_default();
        let mut behind = Behind::default();
        if at.in_order {
            behind.add(queue.last);
            queue.last = Link::Open(event);
        } else {
            queue.join_out_of_order(event, order, waits, &mut behind);
        }
        self.busy += usize::from(queue.open.is_empty());
        queue.open.insert(event);
        behind
    }

    /// Of far too many queues on which nothing is under way, forgets those that
    /// were drained first.
    fn forget_idle(&mut self) {
        if self.all.len() < 2 * IDLE_MAX + self.busy {
            return;
        }
        let idle = self.all.values().filter(|queue| queue.open.is_empty());
        let mut ends: Vec<u64> = idle.map(|queue| queue.end_ns).collect();
        ends.sort_unstable();
        let until_ns = ends.get(ends.len() / 2).copied().unwrap_or(0);
        let all = &mut self.all;
        all.retain(|_, queue| !queue.open.is_empty() || queue.end_ns > until_ns);
    }

    /// An operation of this queue waits for what the program has yet to cause.
    pub(crate) fn block(&mut self, id: u64) {
        self.all.entry(id).or_default().blocked += 1;
    }

    /// It does no longer.
    pub(crate) fn unblock(&mut self, id: u64) {
        self.all.entry(id).or_default().blocked -= 1;
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// An operation of this queue has an end.
    pub(crate) fn leave(&mut self, id: u64, event: Event, end_ns: u64) {
        let queue = self.all.entry(id).or_default();
        queue.end_ns = queue.end_ns.max(end_ns);
        if queue.open.remove(&event) && queue.open.is_empty() {
            self.busy -= 1;
        }
        for link in [&mut queue.last, &mut queue.barrier, &mut queue.all] {
            link.end(event, end_ns);
        }
    }

    /// See [`Timeline::queue_end`](crate::Timeline::queue_end).
    pub(crate) fn end(&self, id: u64) -> QueueEnd {
        match self.all.get(&id) {
            None => QueueEnd::Resolved(0),
            Some(queue) if queue.open.is_empty() => QueueEnd::Resolved(queue.end_ns),
            Some(queue) if queue.blocked > 0 => QueueEnd::Blocked,
            Some(_) => QueueEnd::Open,
        }
    }
}

impl Queue {
    fn join_out_of_order(&mut self, event: Event, order: Order, waits: bool, behind: &mut Behind) {
        behind.add(self.barrier);
        if order != Order::Command && !waits {
            // Everything before: what the latest such operation is behind, it,
            // and what came since. So a chain of markers stays short.
            behind.add(self.all);
            let open = self.since.drain(..).filter(|e| self.open.contains(e));
            behind.open.extend(open);
            behind.ready_ns = behind.ready_ns.max(self.end_ns);
            self.all = Link::Open(event);
        } else {
            self.since.push(event);
            if self.since.len() > 2 * self.open.len() + 16 {
                self.since.retain(|e| self.open.contains(e));
            }
        }
        if order == Order::Barrier {
            self.barrier = Link::Open(event);
        }
        behind.open.sort_unstable();
        behind.open.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What ended is forgotten, however many operations were open at once before.
    #[test]
    fn a_queue_remembers_no_more_than_is_open() {
        let at = QueueRef {
            id: 1,
            in_order: false,
            device: 0,
            is_shared: false,
        };
        let mut queues = Queues::default();
        let join = |queues: &mut Queues, event| {
            queues.join(at, event, Order::Command, false);
        };
        (0..100).for_each(|event| join(&mut queues, event));
        assert_eq!(queues.all[&1].since.len(), 100, "all of them are open");
        (0..100).for_each(|event| queues.leave(1, event, event));
        for event in 100..200 {
            join(&mut queues, event);
            assert!(queues.all[&1].since.len() <= 2 + 16);
            queues.leave(1, event, event);
        }
    }
}
