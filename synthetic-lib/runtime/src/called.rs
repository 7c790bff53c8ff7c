//! Which entry points the program called, those included that never leave the
//! guest: for reports, and for tests that claim to cover them.

use gil_wire::Op;
use std::sync::atomic::{AtomicU32, Ordering};

/// Entry points of an API have smaller numbers.
const ENTRIES: usize = 1024;

/// Each entry point that was called, in its place.
static CALLED: [AtomicU32; ENTRIES] = [const { AtomicU32::new(0) }; ENTRIES];

/// Notes that the program called an entry point. One store.
#[inline]
pub fn note(op: Op) {
    if let Some(called) = CALLED.get(usize::from(op.entry())) {
        called.store(op.0, Ordering::Relaxed);
    }
}

/// What was called so far, by number.
pub(crate) fn all() -> Vec<Op> {
    let called = CALLED.iter().map(|op| Op(op.load(Ordering::Relaxed)));
    called.filter(|op| op.0 != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_listed_once() {
        note(Op::new(3, 9));
        note(Op::new(3, 9));
        note(Op::new(3, 1000));
        note(Op::new(3, u16::MAX));
        assert_eq!(all(), [Op::new(3, 9), Op::new(3, 1000)]);
    }
}
