//! What the board has to say of its own accord: the library that wants to hear
//! of it says so once, and asks the board whenever an answer says that there is
//! something.

use std::sync::OnceLock;

static LISTENER: OnceLock<fn()> = OnceLock::new();

/// Has `ask` called, on the thread of a call whose answer said that the board
/// has something to say. Only the first is.
pub fn listen(ask: fn()) {
    LISTENER.get_or_init(|| ask);
}

/// An answer said so.
#[cold]
pub(crate) fn due() {
    if let Some(ask) = LISTENER.get() {
        ask();
    }
}
