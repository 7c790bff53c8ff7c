//! Unsolicited notices from the board. A library subscribes once, and fetches
//! notices whenever an answer says that there are some.

use std::sync::{Mutex, PoisonError};

/// One an API, in the order in which they asked.
static LISTENERS: Mutex<Vec<fn()>> = Mutex::new(Vec::new());

/// Has `ask` called, on the thread of a call whose answer said that the board
/// has something to say. Once, however often it is given.
pub fn listen(ask: fn()) {
    let mut all = LISTENERS.lock().unwrap_or_else(PoisonError::into_inner);
    if !all.iter().any(|known| std::ptr::fn_addr_eq(*known, ask)) {
        all.push(ask);
    }
}

/// An answer said so.
#[cold]
pub(crate) fn due() {
    // They make calls of their own, whose answers may come here again.
    let all = LISTENERS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    all.iter().for_each(|ask| ask());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    static ASKED: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

    #[test]
    fn every_library_asks_once() {
        let one = || {
            ASKED[0].fetch_add(1, Ordering::Relaxed);
        };
        let other = || {
            ASKED[1].fetch_add(1, Ordering::Relaxed);
            // As a call of the library's would find its own listener.
            listen(|| {});
        };
        let (one, other): (fn(), fn()) = (one, other);
        [one, other, one].into_iter().for_each(listen);
        due();
        assert_eq!(ASKED.each_ref().map(|n| n.load(Ordering::Relaxed)), [1, 1]);
    }
}
