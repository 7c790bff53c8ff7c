//! The number of events known to the timelines that share engines. It is bounded,
//! because a program may create events without end and release none.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most events known at a time, to all timelines that share engines.
pub const MAX_KNOWN: usize = 1 << 20;

/// One timeline's part of them, given back with it.
#[derive(Debug, Default)]
pub(crate) struct Known {
    all: Arc<AtomicUsize>,
    own: usize,
}

impl Known {
    /// None yet, of a sum that others have in common.
    pub(crate) fn of(all: Arc<AtomicUsize>) -> Self {
        Self { all, own: 0 }
    }

    pub(crate) fn has_room(&self, more: usize) -> bool {
        self.all.load(Ordering::Relaxed).saturating_add(more) <= MAX_KNOWN
    }

    pub(crate) fn add(&mut self) {
        self.own += 1;
        self.all.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn remove(&mut self) {
        self.own -= 1;
        self.all.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        self.all.fetch_sub(self.own, Ordering::Relaxed);
    }
}
