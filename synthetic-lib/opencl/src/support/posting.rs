//! Which enqueues need no answer: those in which the library itself finds every
//! error that the call has to return. Where it is in doubt, the board is asked.

use super::launch::is_of_context;
use super::memory::memory;
use super::objects::Object;
use crate::generated::types::*;
use std::ffi::c_void;

const PATTERN_MAX: usize = 128;

/// Whether the events of a wait list are of the queue's context.
///
/// # Safety
/// `list` names `count` events, or `count` is 0.
pub unsafe fn of_one_context(queue: &Object, count: cl_uint, list: *const cl_event) -> bool {
    // SAFETY: the caller's.
    (0..count as usize).all(|n| is_of_context(queue, unsafe { *list.add(n) }))
}

/// Whether a marker of OpenCL 1.0 gives its event, as it must.
pub fn marks(event: *mut cl_event) -> bool {
    !event.is_null()
}

/// A barrier of OpenCL 1.0 has nothing but its queue, which is one.
pub fn bars(_queue: &Object) -> bool {
    true
}

/// Whether a part of a buffer is filled without any doubt.
///
/// # Safety
/// As [`of_one_context`].
#[allow(clippy::too_many_arguments, reason = "the call's own")]
pub unsafe fn fills(
    queue: &Object,
    buffer: &Object,
    pattern: *const c_void,
    pattern_size: usize,
    offset: usize,
    size: usize,
    count: cl_uint,
    list: *const cl_event,
) -> bool {
    let is_pattern =
        !pattern.is_null() && pattern_size.is_power_of_two() && pattern_size <= PATTERN_MAX;
    is_pattern
        && offset.is_multiple_of(pattern_size)
        && size.is_multiple_of(pattern_size)
        && has(queue, buffer, offset, size)
        // SAFETY: the caller's.
        && unsafe { of_one_context(queue, count, list) }
}

/// Whether a part of a buffer is written without any doubt, and the program does
/// not wait for it.
///
/// # Safety
/// As [`of_one_context`].
#[allow(clippy::too_many_arguments, reason = "the call's own")]
pub unsafe fn writes(
    queue: &Object,
    buffer: &Object,
    blocking: cl_bool,
    offset: usize,
    size: usize,
    ptr: *const c_void,
    count: cl_uint,
    list: *const cl_event,
) -> bool {
    const HIDDEN: cl_mem_flags = CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
    let is_writable = memory(buffer).is_ok_and(|memory| memory.flags() & HIDDEN == 0);
    blocking == CL_FALSE
        && !ptr.is_null()
        && is_writable
        && has(queue, buffer, offset, size)
        // SAFETY: the caller's.
        && unsafe { of_one_context(queue, count, list) }
}

/// Whether these are bytes of a whole buffer of the queue's context: a part of
/// one may be misaligned for the device.
fn has(queue: &Object, buffer: &Object, offset: usize, size: usize) -> bool {
    let context = |object: &Object| object.context().map(|context| context.number());
    let is_inside = |memory: &super::memory::Memory| {
        memory.is_whole() && memory.check_bytes(offset, size).is_ok()
    };
    context(queue) == context(buffer) && memory(buffer).is_ok_and(is_inside)
}
