//! Engines that several timelines share: those of the devices that the processes
//! of one run use together.

use crate::contention::Contention;
use crate::known::Known;
use crate::lane::Lane;
use crate::occupied::Occupied;
use crate::share::Share;
use foldhash::HashMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most engines that are shared; a guest that names more devices than there are
/// has each of the others for itself.
const SHARED_MAX: usize = 1024;

/// When engines are free. Clones are of the same engines.
#[derive(Clone, Debug, Default)]
pub struct Engines {
    shared: Arc<Mutex<Shared>>,
    /// Events known to all timelines.
    known: Arc<AtomicUsize>,
    /// How many timelines there have been.
    timelines: Arc<AtomicU32>,
    /// Of the processors among them.
    contention: Contention,
}

#[derive(Debug, Default)]
struct Shared {
    occupied: HashMap<Lane, Occupied>,
    /// Operations served so far.
    served: u64,
    /// Operations enqueued so far, on all timelines.
    enqueued: u64,
}

impl Engines {
    /// Engines of devices whose processors contend so with each other; also those that
    /// a timeline has for itself.
    pub fn with_contention(contention: Contention) -> Self {
        Self {
            contention,
            ..Self::default()
        }
    }

    pub(crate) fn contention(&self) -> Contention {
        self.contention
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new timeline's number.
    pub(crate) fn next_timeline(&self) -> u32 {
        self.timelines.fetch_add(1, Ordering::Relaxed)
    }

    /// A new timeline's part of the events known to all.
    pub(crate) fn known(&self) -> Known {
        Known::of(self.known.clone())
    }

    /// Whether a lane is, or may be, one of these.
    pub(crate) fn takes(&self, lane: Lane) -> bool {
        let shared = self.shared();
        shared.occupied.len() < SHARED_MAX || shared.occupied.contains_key(&lane)
    }

    pub(crate) fn free_for(&self, lane: Lane, share: Share) -> u64 {
        let shared = self.shared();
        shared
            .occupied
            .get(&lane)
            .map_or(0, |one| one.free_for(share))
    }

    /// Has an engine occupied, as `occupy` says.
    pub(crate) fn occupy(&self, lane: Lane, occupy: impl FnOnce(&mut Occupied)) {
        let mut shared = self.shared();
        occupy(shared.occupied.entry(lane).or_default());
        shared.served += 1;
    }

    /// Whether any of these is at work at this moment.
    pub(crate) fn is_any_at_work(&self, mut lanes: impl Iterator<Item = Lane>, at_ns: u64) -> bool {
        let occupied = &self.shared().occupied;
        let is_at_work = |lane| occupied.get(&lane).is_some_and(|one| one.is_at_work(at_ns));
        lanes.any(is_at_work)
    }

    /// Changes whenever an engine is occupied.
    pub(crate) fn served(&self) -> u64 {
        self.shared().served
    }

    /// The number of the operation that is enqueued now, on any timeline.
    pub(crate) fn next_number(&self) -> u64 {
        let mut shared = self.shared();
        shared.enqueued += 1;
        shared.enqueued
    }
}
