//! Candidates, sorted into lanes: one for each engine of each device, and one for
//! operations that need no engine.

use crate::engines::Engines;
use crate::lane::Lane;
use crate::occupied::Occupied;
use crate::share::Share;
use crate::{Engine, Event, QueueRef};
use foldhash::HashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Most lanes remembered in which nothing waits: a guest may make up devices.
const IDLE_MAX: usize = 1024;

/// When an operation was ready, and how many were enqueued before it.
pub(crate) type Rank = (u64, u64);

/// Whose turn it is: the order in which candidates are published, those of
/// timelines that share engines included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    start_ns: u64,
    needs_engine: bool,
    rank: Rank,
}

impl Turn {
    /// When the candidate starts if nothing else is enqueued before.
    pub const fn start_ns(&self) -> u64 {
        self.start_ns
    }
}

/// A lane's first candidate, in the order in which lanes are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Head {
    pub(crate) turn: Turn,
    pub(crate) event: Event,
    lane: Lane,
    share: Share,
}

#[derive(Debug, Default)]
struct State {
    occupied: Occupied,
    waiting: BTreeMap<(Rank, Event), Share>,
    head: Option<Head>,
}

/// All lanes.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    lanes: HashMap<Lane, State>,
    heads: BTreeSet<Head>,
    engines: Engines,
    /// The timeline's number.
    timeline: u32,
    /// What the shared engines had served when the heads were looked at last.
    looked: u64,
}

impl Lanes {
    /// Lanes of which some are others' too.
    pub(crate) fn sharing(engines: Engines) -> Self {
        Self {
            looked: engines.served(),
            timeline: engines.next_timeline(),
            engines,
            ..Self::default()
        }
    }

    /// The number of the operation that is enqueued now.
    pub(crate) fn next_number(&self) -> u64 {
        self.engines.next_number()
    }

    /// A share of an engine that an operation of this timeline needs.
    pub(crate) fn share(&self, share: Share) -> Share {
        share.on(self.timeline)
    }

    /// The lane of an operation on this queue that occupies this engine.
    pub(crate) fn lane(&self, queue: Option<QueueRef>, engine: Engine) -> Lane {
        let lane = Lane::new(queue, engine);
        match lane.is_shared && !self.engines.takes(lane) {
            true => lane.alone(),
            false => lane,
        }
    }

    /// Others may have occupied engines: their lanes' heads start later.
    pub(crate) fn catch_up(&mut self) {
        let served = self.engines.served();
        if std::mem::replace(&mut self.looked, served) == served {
            return;
        }
        let shared = self.heads.iter().filter(|head| head.lane.is_shared);
        let shared: Vec<Lane> = shared.map(|head| head.lane).collect();
        shared.into_iter().for_each(|lane| self.refresh(lane));
    }

    /// An operation became a candidate.
    pub(crate) fn insert(&mut self, (lane, share): (Lane, Share), rank: Rank, event: Event) {
        self.forget_idle();
        let state = self.lanes.entry(lane).or_default();
        state.waiting.insert((rank, event), share);
        self.refresh(lane);
    }

    /// Of far too many lanes in which nothing waits, forgets those that have
    /// been free for longest.
    fn forget_idle(&mut self) {
        if self.lanes.len() < 2 * IDLE_MAX + self.heads.len() {
            return;
        }
        let idle = self.lanes.values().filter(|s| s.waiting.is_empty());
        let mut free: Vec<u64> = idle.map(|state| state.occupied.free_ns).collect();
        free.sort_unstable();
        let until_ns = free.get(free.len() / 2).copied().unwrap_or(0);
        let lanes = &mut self.lanes;
        lanes.retain(|_, state| !state.waiting.is_empty() || state.occupied.free_ns > until_ns);
    }

    /// What a candidate that is published now lasts, which takes `duration_ns` alone.
    pub(crate) fn duration_ns(&self, head: Head, duration_ns: u64) -> u64 {
        match self.is_contended(head) {
            true => self.engines.contention().stretch(duration_ns),
            false => duration_ns,
        }
    }

    /// Whether another processor of its device is at work when it starts.
    fn is_contended(&self, head: Head) -> bool {
        let (mut others, at_ns) = (head.lane.other_processors(), head.turn.start_ns());
        if !self.engines.contention().counts() {
            return false;
        }
        if head.lane.is_shared {
            return self.engines.is_any_at_work(others, at_ns);
        }
        others.any(|lane| {
            let state = self.lanes.get(&lane);
            state.is_some_and(|state| state.occupied.is_at_work(at_ns))
        })
    }

    /// A lane's first candidate runs until `end_ns`.
    pub(crate) fn serve(&mut self, head: Head, end_ns: u64) {
        let start_ns = head.turn.start_ns();
        let is_remembered = self.engines.contention().counts() && head.lane.is_processor();
        let occupy = |occupied: &mut Occupied| match is_remembered {
            true => occupied.during(start_ns, end_ns),
            false => occupied.part(start_ns, end_ns, head.share),
        };
        let state = self.lanes.entry(head.lane).or_default();
        state.waiting.remove(&(head.turn.rank, head.event));
        if head.lane.is_shared {
            self.engines.occupy(head.lane, occupy);
            self.looked += 1;
        } else if head.turn.needs_engine {
            occupy(&mut state.occupied);
        }
        self.refresh(head.lane);
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lanes.len()
    }

    /// The candidate that is served next.
    pub(crate) fn first(&self) -> Option<Head> {
        self.heads.first().copied()
    }

    /// Each lane's first candidate, in the order of being served, and whether
    /// others wait behind it.
    pub(crate) fn heads(&self) -> impl Iterator<Item = (Head, bool)> + '_ {
        let crowded = |head: &Head| self.lanes.get(&head.lane).is_some_and(State::is_crowded);
        self.heads.iter().map(move |head| (*head, crowded(head)))
    }

    /// When a lane has room for this share.
    pub(crate) fn free_for(&self, lane: Lane, share: Share) -> u64 {
        match lane.is_shared {
            true => self.engines.free_for(lane, share),
            false => self
                .lanes
                .get(&lane)
                .map_or(0, |state| state.occupied.free_for(share)),
        }
    }

    fn refresh(&mut self, lane: Lane) {
        let first = |state: &State| state.waiting.first_key_value().map(|(_, share)| *share);
        let share = self.lanes.get(&lane).and_then(first).unwrap_or_default();
        let free_ns = self.free_for(lane, share);
        let Some(state) = self.lanes.get_mut(&lane) else {
            return;
        };
        if let Some(old) = state.head.take() {
            self.heads.remove(&old);
        }
        let first = state.waiting.first_key_value();
        state.head = first.map(|(&(rank, event), &share)| Head {
            turn: Turn {
                start_ns: rank.0.max(free_ns),
                needs_engine: lane.engine.is_some(),
                rank,
            },
            event,
            lane,
            share,
        });
        self.heads.extend(state.head);
    }
}

impl State {
    fn is_crowded(&self) -> bool {
        self.waiting.len() > 1
    }
}
