//! What debuggers and profilers would hook into. There are none here: what says whether a tool
//! listens is zero.

use super::super::{context, place};
use super::{Id, Table};
use crate::generated::manual::Guest;
use crate::generated::types::*;
use gil_guest::api::Api;
use std::ffi::c_void;
use std::sync::atomic::AtomicU32;

pub const CALLBACKS_ID: Id = [
    0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a, 0x66,
];

/// Which calls a tool wants to hear of.
pub static CALLBACKS: Table<7> =
    Table::sized(&[(2, calls as *const c_void), (6, kinds as *const c_void)]);

pub const THREADS_ID: Id = [
    0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec, 0xdc,
];

/// What tools keep of threads. The runtime asks for the table and calls none of its functions.
pub static THREADS: Table<4> = Table::sized(&[]);

pub const CHECKS_ID: Id = [
    0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa, 0x7e,
];

/// Whether something is the matter with a context, or with the process.
pub static CHECKS: Table<4> = Table::sized(&[
    (2, of_context as *const c_void),
    (3, of_process as *const c_void),
]);

/// A word for each call that a tool may hear of, written by tools alone.
static CALLS: [AtomicU32; 1024] = [const { AtomicU32::new(0) }; 1024];
/// Words of the same kind.
static KINDS: [AtomicU32; 14] = [const { AtomicU32::new(0) }; 14];

/// Writes where words are, and how many.
///
/// # Safety
/// Each place is null or has space for its value.
unsafe fn tell(words: &'static [AtomicU32], at: *mut *const AtomicU32, count: *mut usize) {
    // SAFETY: the caller's.
    unsafe {
        if !at.is_null() {
            at.write(words.as_ptr());
        }
        if !count.is_null() {
            count.write(words.len());
        }
    }
}

unsafe extern "C" fn calls(at: *mut *const AtomicU32, count: *mut usize) {
    // SAFETY: the caller's.
    unsafe { tell(&CALLS, at, count) };
}

unsafe extern "C" fn kinds(at: *mut *const AtomicU32, count: *mut usize) {
    // SAFETY: the caller's.
    unsafe { tell(&KINDS, at, count) };
}

/// Nothing is the matter with a context. What belongs into the second place is not known; it
/// is read only if something is the matter.
unsafe extern "C" fn of_context(
    handle: CUcontext,
    matter: *mut u32,
    _: *mut *const c_void,
) -> CUresult {
    Guest::returned(|| {
        let to = place(matter)?;
        context::initialized()?;
        context::find(handle)?;
        // SAFETY: the caller's place.
        unsafe { to.write(0) };
        Ok(())
    })
}

/// Nor with the process.
extern "C" fn of_process() -> u32 {
    0
}
