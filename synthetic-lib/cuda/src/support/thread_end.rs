//! When a thread is over. The destructors of a thread's variables, and functions that the program
//! gave to `atexit` or `pthread_key_create`, may call CUDA, and come in any order: what a
//! thread has stays until the last of them. Threads' variables in Rust would be gone before the
//! first. What the thread has at whose end the process exits, stays.

use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use std::sync::OnceLock;

/// As often are a thread's keys gone through, at most, as long as one is set again in between
/// (POSIX, `PTHREAD_DESTRUCTOR_ITERATIONS`).
const ROUNDS: usize = 4;

/// Its value is the round that comes next; 0 for a thread that has nothing.
static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();

fn key() -> Option<libc::pthread_key_t> {
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: there is space for a key, and the function stays as long as the process.
        let result = unsafe { libc::pthread_key_create(&mut key, Some(ends)) };
        (result == 0).then_some(key)
    })
}

/// The calling thread has something from here on, which is to be dropped at its end. It stays for
/// ever if the system has no more keys.
pub fn is_awaited() {
    next_round(1);
}

fn next_round(round: usize) {
    if let Some(key) = key() {
        // SAFETY: a key of this process; nobody follows the value.
        unsafe { libc::pthread_setspecific(key, without_provenance_mut(round)) };
    }
}

/// Before the last round, other keys' functions may come behind this one.
extern "C" fn ends(round: *mut c_void) {
    match round.addr() {
        round if round < ROUNDS => next_round(round + 1),
        _ => super::context::thread_ended(),
    }
}
