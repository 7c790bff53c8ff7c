//! Engines that several timelines share: those of the devices that the processes
//! of one run use together.

use crate::known::Known;
use crate::lane::Lane;
use foldhash::HashMap;
use std::sync::atomic::AtomicUsize;
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
}

#[derive(Debug, Default)]
struct Shared {
    free_ns: HashMap<Lane, u64>,
    /// Operations served so far.
    served: u64,
    /// Operations enqueued so far, on all timelines.
    enqueued: u64,
}

impl Engines {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new timeline's part of the events known to all.
    pub(crate) fn known(&self) -> Known {
        Known::of(self.known.clone())
    }

    /// Whether a lane is, or may be, one of these.
    pub(crate) fn takes(&self, lane: Lane) -> bool {
        let shared = self.shared();
        shared.free_ns.len() < SHARED_MAX || shared.free_ns.contains_key(&lane)
    }

    pub(crate) fn free_ns(&self, lane: Lane) -> u64 {
        self.shared().free_ns.get(&lane).copied().unwrap_or(0)
    }

    /// An engine is occupied until `end_ns`.
    pub(crate) fn occupy(&self, lane: Lane, end_ns: u64) {
        let mut shared = self.shared();
        let free_ns = shared.free_ns.entry(lane).or_default();
        *free_ns = end_ns.max(*free_ns);
        shared.served += 1;
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
