//! Large pages for pinned memory. A copy names the pages of its memory to the host: 16 MiB are
//! 4096 small pages, each to be found and copied by itself, or 8 large ones.

use std::ffi::c_void;

/// Bytes of a large page of this machine, with small pages of 4 KiB.
const LARGE: usize = 2 << 20;
/// What pages have, and vectors need.
const SMALL: usize = 4096;
/// Of `madvise`: puts memory into large pages at once (Linux 6.1).
const COLLAPSE: libc::c_int = 25;

/// How memory of so many bytes is aligned, so that large pages fit into it.
pub const fn alignment(bytes: usize) -> usize {
    if bytes < LARGE { SMALL } else { LARGE }
}

/// Has the kernel put memory into large pages, as far as it likes to. What is in it stays. That
/// it refuses harms nothing.
///
/// # Safety
/// All bytes are memory of the program's.
pub unsafe fn gather(place: *mut c_void, bytes: usize) {
    let Some(from) = place.addr().checked_next_multiple_of(LARGE) else {
        return;
    };
    let end = place.addr().saturating_add(bytes) / LARGE * LARGE;
    if from < end {
        let inner = place.with_addr(from);
        for advice in [libc::MADV_HUGEPAGE, COLLAPSE] {
            // SAFETY: whole pages in the caller's memory, whose bytes no advice changes.
            unsafe { libc::madvise(inner, end - from, advice) };
        }
    }
}
