//! The entry points that the program called, including those that never leave the
//! guest: for reports and for tests of coverage.

use gil_wire::Op;
use gil_wire::generated::{APIS, place};
use std::sync::atomic::{AtomicU32, Ordering};

/// Entry points of an API have smaller numbers.
const ENTRIES: usize = 2048;

/// Those of one API.
type Entries = [AtomicU32; ENTRIES];

/// Each entry point that was called, in its API's place and its own.
static CALLED: [Entries; APIS.len()] =
    [const { [const { AtomicU32::new(0) }; ENTRIES] }; APIS.len()];

/// Notes that the program called an entry point. One store, since the caller
/// gives a constant.
#[inline]
pub fn note(op: Op) {
    let api = place(op.api()).and_then(|place| CALLED.get(place));
    if let Some(called) = api.and_then(|api| api.get(usize::from(op.entry()))) {
        called.store(op.0, Ordering::Relaxed);
    }
}

/// In a noted entry point: that it was called is known to who asked.
const KNOWN: u32 = 1 << 31;

/// Whether any of these entry points was called since this was last asked of it. It costs
/// their calls nothing.
pub fn called_since(ops: &[Op]) -> bool {
    let noted = ops.iter().filter_map(|op| {
        let api = place(op.api()).and_then(|place| CALLED.get(place));
        Some((op.0, api?.get(usize::from(op.entry()))?))
    });
    let is_new = |(op, called): &(u32, &AtomicU32)| {
        let exchanged =
            called.compare_exchange(*op, *op | KNOWN, Ordering::Relaxed, Ordering::Relaxed);
        exchanged.is_ok()
    };
    // Each is asked: the next time, none of this time's counts.
    noted.filter(is_new).count() > 0
}

/// What was called so far, by number.
pub(crate) fn all() -> Vec<Op> {
    let called = CALLED.iter().flatten();
    let called = called.map(|op| Op(op.load(Ordering::Relaxed) & !KNOWN));
    called.filter(|op| op.0 != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_listed_once() {
        let [one, other] = [APIS[0].number, APIS[1].number];
        note(Op::new(other, 9));
        note(Op::new(one, 9));
        note(Op::new(one, 9));
        note(Op::new(one, 1000));
        note(Op::new(one, u16::MAX));
        note(Op::new(u16::MAX, 9));
        let noted = [(one, 9), (one, 1000), (other, 9)];
        let noted = noted.map(|(api, entry)| Op::new(api, entry));
        assert_eq!(all(), noted);
        let two = [noted[0], Op::new(one, 8), noted[2]];
        assert!(called_since(&two) && !called_since(&two));
        assert_eq!(all(), noted, "they were called all the same");
        note(Op::new(other, 9));
        assert!(called_since(&two) && !called_since(&two));
    }
}
