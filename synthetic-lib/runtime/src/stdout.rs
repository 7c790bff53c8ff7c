//! The program's standard output, through C's `stdout`: text that kernels print
//! keeps its order with the program's own output, however that is buffered.

use crate::process::is_forked;
use libc::FILE;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

unsafe extern "C" {
    static stdout: *mut FILE;
}

/// Everything written, instead of standard output, in tests.
#[cfg(test)]
pub(crate) static WRITTEN: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Held from before text is asked for until it is written.
static TURN: Mutex<()> = Mutex::new(());
/// How many threads have it, or wait for it.
static WRITERS: AtomicUsize = AtomicUsize::new(0);

/// The right to ask for text and to write it.
pub(crate) struct Turn {
    _turn: Option<MutexGuard<'static, ()>>,
}

/// Waits for a turn. In a forked child nobody else has it, though it may seem so.
pub(crate) fn turn() -> Turn {
    WRITERS.fetch_add(1, Ordering::SeqCst);
    let lock = || TURN.lock().unwrap_or_else(PoisonError::into_inner);
    Turn {
        _turn: (!is_forked()).then(lock),
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        WRITERS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits until other threads have written the text that they took. A call that ends comes behind what was
/// ready by then.
#[inline(always)]
pub(crate) fn settle() {
    if WRITERS.load(Ordering::SeqCst) > 0 {
        drop(turn());
    }
}

/// Writes text where the program's `printf` does.
pub(crate) fn write(text: &[u8]) {
    #[cfg(test)]
    WRITTEN.lock().unwrap().extend_from_slice(text);
    #[cfg(not(test))]
    put(text);
}

#[cfg_attr(test, allow(dead_code, reason = "tests keep their output clean"))]
fn put(text: &[u8]) {
    // SAFETY: C's own stream, which lives as long as the process and has its
    // own lock. A program that closed it has no standard output.
    unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout) };
}
