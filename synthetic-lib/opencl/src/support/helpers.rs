//! Functions that the API's description names in expressions. Those that decide
//! which enqueues need no answer find every error that the call has to return; in
//! doubt, the board is asked.

use super::context::context_of;
use super::memory::{Memory, memory};
use super::{includes, svm};
use crate::generated::manual::{Guest, Helpers, Object};
use crate::generated::types::*;
use gil_guest::CallResult;
use gil_wire::generated::opencl::Kind;
use std::ffi::{c_char, c_void};

const PATTERN_MAX: usize = 128;

impl Helpers for Guest {
    /// The program's own memory is not the board's: what it holds is copied, and
    /// mapping brings it up to date, which reads what the program itself may not
    /// read.
    fn device_flags(flags: cl_mem_flags) -> cl_mem_flags {
        const HOST: cl_mem_flags =
            CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;
        const HIDDEN: cl_mem_flags = CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
        // A conflict is the board's to refuse.
        let conflict = flags & CL_MEM_USE_HOST_PTR != 0 && flags & HOST != CL_MEM_USE_HOST_PTR;
        let copied = match flags & CL_MEM_USE_HOST_PTR == 0 || conflict {
            true => flags,
            false => flags & !CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR,
        };
        match flags & HIDDEN {
            0 => copied & !CL_MEM_HOST_WRITE_ONLY,
            _ => copied,
        }
    }

    fn host_reads(object: &Object) -> CallResult<()> {
        memory(object)?.check_read()
    }

    fn part_flags(object: &Object, flags: cl_mem_flags) -> CallResult<()> {
        memory(object)?.check_part(flags)
    }

    /// A buffer that is the program's shared virtual memory is so on the board
    /// too.
    unsafe fn svm_buffer(
        entry: u64,
        context: &Object,
        flags: cl_mem_flags,
        size: usize,
        host_ptr: *mut c_void,
    ) -> Option<CallResult<cl_mem>> {
        svm::create_buffer(entry, context, flags, size, host_ptr)
    }

    unsafe fn build_options(
        entry: u64,
        program: &Object,
        options: *const c_char,
    ) -> CallResult<()> {
        // SAFETY: the caller's.
        unsafe { includes::build_options(entry, program, options) }
    }

    /// The events are of the queue's context.
    unsafe fn of_one_context(queue: &Object, count: cl_uint, list: *const cl_event) -> bool {
        // SAFETY: the caller's.
        (0..count as usize).all(|n| is_of_context(queue, unsafe { *list.add(n) }))
    }

    /// A marker of OpenCL 1.0 gives its event, as it must.
    unsafe fn marks(event: *mut cl_event) -> bool {
        !event.is_null()
    }

    /// A barrier of OpenCL 1.0 has nothing but its queue, which is one.
    fn bars(_queue: &Object) -> bool {
        true
    }

    /// A part of a buffer is filled without any doubt.
    unsafe fn fills(
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
            && unsafe { Self::of_one_context(queue, count, list) }
    }

    /// A part of a buffer is written without any doubt, and the program does not
    /// wait for it.
    unsafe fn writes(
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
            && unsafe { Self::of_one_context(queue, count, list) }
    }
}

/// Whether these are bytes of a whole buffer of the queue's context: a part of
/// one may be misaligned for the device.
fn has(queue: &Object, buffer: &Object, offset: usize, size: usize) -> bool {
    let is_inside = |memory: &Memory| memory.is_whole() && memory.check_bytes(offset, size).is_ok();
    context_of(queue) == context_of(buffer) && memory(buffer).is_ok_and(is_inside)
}

/// Whether an event is of the queue's context.
pub(super) fn is_of_context(queue: &Object, event: cl_event) -> bool {
    let event = Object::find(Kind::Event, event);
    event.is_ok_and(|event| context_of(&event) == context_of(queue))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_memory_is_copied() {
        let use_it = CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR;
        assert_eq!(
            Guest::device_flags(use_it),
            CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR
        );
        let plain = CL_MEM_READ_WRITE;
        assert_eq!(Guest::device_flags(plain), CL_MEM_READ_WRITE);
        let conflict = use_it | CL_MEM_ALLOC_HOST_PTR;
        assert_eq!(Guest::device_flags(conflict), conflict);
    }
}
