//! Each thread's buffer for answers, reused by every call so that a call allocates
//! nothing.

use crate::uapi;
use std::cell::Cell;

/// Room for one answer. Whole pages, so that the driver probes as few as can be.
#[repr(C, align(4096))]
pub(crate) struct Reply(pub(crate) [u8; uapi::REPLY_MAX]);

thread_local! {
    static SLOT: Cell<Option<Box<Reply>>> = const { Cell::new(None) };
}

/// Calls `f` with this thread's reply buffer. Nested calls get another one; so
/// do those of a thread that is about to end.
#[inline]
pub(crate) fn with<R>(f: impl FnOnce(&mut Reply) -> R) -> R {
    let kept = SLOT.try_with(Cell::take).ok().flatten();
    let mut reply = kept.unwrap_or_else(new);
    let result = f(&mut reply);
    let _ = SLOT.try_with(|slot| slot.set(Some(reply)));
    result
}

#[cold]
fn new() -> Box<Reply> {
    Box::new(Reply([0; uapi::REPLY_MAX]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_inside_a_call_have_their_own_room() {
        with(|outer| {
            outer.0[0] = 1;
            with(|inner| inner.0[0] = 2);
            assert_eq!(outer.0[0], 1);
        });
    }
}
