//! Counts the jobs that were done more than [`LATE_NS`](gil_wire::control::LATE_NS)
//! after their time, although the library's thread was idle.

use std::sync::atomic::{AtomicU64, Ordering};

static LATE: AtomicU64 = AtomicU64::new(0);

/// One more, if it was.
pub(crate) fn count(is_late: bool) {
    LATE.fetch_add(u64::from(is_late), Ordering::Relaxed);
}

/// So far.
pub(crate) fn counted() -> u64 {
    LATE.load(Ordering::Relaxed)
}
