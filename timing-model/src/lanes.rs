//! Candidates, sorted into lanes: one for each engine of each device, and one
//! for what needs none.

use crate::{Engine, Event, QueueRef};
use std::collections::{BTreeSet, HashMap};

/// Where an operation runs: an engine of a device, or nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Lane(Option<(u64, u8)>);

impl Lane {
    /// Of an operation on this queue that occupies this engine.
    pub(crate) fn new(queue: Option<QueueRef>, engine: Engine) -> Self {
        let device = queue.map_or(0, |queue| queue.device);
        Self(match engine {
            Engine::None => None,
            Engine::Compute => Some((device, 0)),
            Engine::CopyIn => Some((device, 1)),
            Engine::CopyOut => Some((device, 2)),
        })
    }
}

/// When an operation was ready, and how many were enqueued before it.
pub(crate) type Rank = (u64, u64);

/// A lane's first candidate, in the order in which lanes are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Head {
    pub(crate) start_ns: u64,
    needs_engine: bool,
    rank: Rank,
    pub(crate) event: Event,
    lane: Lane,
}

#[derive(Debug, Default)]
struct State {
    free_ns: u64,
    waiting: BTreeSet<(Rank, Event)>,
    head: Option<Head>,
}

/// All lanes.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    lanes: HashMap<Lane, State>,
    heads: BTreeSet<Head>,
}

impl Lanes {
    /// An operation became a candidate.
    pub(crate) fn insert(&mut self, lane: Lane, rank: Rank, event: Event) {
        let state = self.lanes.entry(lane).or_default();
        state.waiting.insert((rank, event));
        self.refresh(lane);
    }

    /// A lane's first candidate runs until `end_ns`.
    pub(crate) fn serve(&mut self, head: Head, end_ns: u64) {
        let state = self.lanes.entry(head.lane).or_default();
        state.waiting.remove(&(head.rank, head.event));
        if head.needs_engine {
            state.free_ns = end_ns;
        }
        self.refresh(head.lane);
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

    /// When a lane is free.
    pub(crate) fn free_ns(&self, lane: Lane) -> u64 {
        self.lanes.get(&lane).map_or(0, |state| state.free_ns)
    }

    fn refresh(&mut self, lane: Lane) {
        let Some(state) = self.lanes.get_mut(&lane) else {
            return;
        };
        if let Some(old) = state.head.take() {
            self.heads.remove(&old);
        }
        state.head = state.waiting.first().map(|&(rank, event)| Head {
            start_ns: rank.0.max(state.free_ns),
            needs_engine: lane.0.is_some(),
            rank,
            event,
            lane,
        });
        self.heads.extend(state.head);
    }
}

impl State {
    fn is_crowded(&self) -> bool {
        self.waiting.len() > 1
    }
}
