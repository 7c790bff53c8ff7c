//! Handles: what is none is refused without asking the board; references and
//! what dies when.

mod common;

use common::*;
use gil_opencl::generated::manual::Object;
use gil_opencl::generated::stubs::*;
use gil_opencl::generated::types::*;
use gil_opencl::support::Details;
use gil_wire::call::Handle;
use gil_wire::envelope::Class;
use gil_wire::generated::opencl::{self as wire, Kind};
use std::ptr::{null, null_mut, without_provenance_mut};

#[test]
fn what_is_no_handle_is_refused_without_the_board() {
    let board = agreeing();
    let w = world(0);
    let odd: *mut u8 = without_provenance_mut(0x123450);
    let mut bytes = [0u8; 64];
    let room = bytes.as_mut_ptr().cast();
    let mut event: cl_event = odd.cast();
    // SAFETY: handles are checked before use; the buffer is valid.
    unsafe {
        assert_eq!(clReleaseMemObject(odd.cast()), CL_INVALID_MEM_OBJECT);
        assert_eq!(clReleaseMemObject(null_mut()), CL_INVALID_MEM_OBJECT);
        assert_eq!(clRetainContext(w.buffer.cast()), CL_INVALID_CONTEXT);
        assert_eq!(clReleaseProgram(odd.cast()), CL_INVALID_PROGRAM);
        assert_eq!(clFinish(odd.cast()), CL_INVALID_COMMAND_QUEUE);
        assert_eq!(clWaitForEvents(1, &event), CL_INVALID_EVENT);
        assert_eq!(clWaitForEvents(0, null()), CL_INVALID_VALUE);
        assert_eq!(clWaitForEvents(0, &event), CL_INVALID_VALUE);
        let info = clGetDeviceInfo(odd.cast(), CL_DEVICE_NAME, 64, room, null_mut());
        assert_eq!(info, CL_INVALID_DEVICE);
        let mut read = |queue, buffer, count, list| {
            clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 64, room, count, list, &mut event)
        };
        let none: *const cl_event = null();
        assert_eq!(
            read(odd.cast(), w.buffer, 0, none),
            CL_INVALID_COMMAND_QUEUE
        );
        assert_eq!(
            read(w.queue, w.queue.cast(), 0, none),
            CL_INVALID_MEM_OBJECT
        );
        let list: [cl_event; 1] = [w.buffer.cast()];
        for (count, list) in [(1, none), (0, list.as_ptr()), (1, list.as_ptr())] {
            assert_eq!(
                read(w.queue, w.buffer, count, list),
                CL_INVALID_EVENT_WAIT_LIST
            );
        }
        let kernel_arg = clSetKernelArg(w.queue.cast(), 0, 4, room);
        assert_eq!(kernel_arg, CL_INVALID_KERNEL);
        let mut code = 1;
        let made = clCreateBuffer(odd.cast(), 0, 64, null_mut(), &mut code);
        assert!(made.is_null() && code == CL_INVALID_CONTEXT);
        assert!(clCreateBuffer(odd.cast(), 0, 64, null_mut(), null_mut()).is_null());
    }
    assert_eq!(board.all().len(), 0);
}

fn references(buffer: cl_mem) -> u32 {
    let mut count = 0u32;
    // SAFETY: `count` has space for four bytes.
    let result = unsafe {
        let room = (&raw mut count).cast();
        clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, 4, room, null_mut())
    };
    assert_eq!(result, CL_SUCCESS);
    count
}

#[test]
fn references_are_counted_in_the_guest_and_the_last_is_told() {
    let board = agreeing();
    let w = world(0);
    let number = Object::find(Kind::Mem, w.buffer).unwrap().number();
    // SAFETY: handles are checked.
    unsafe {
        assert_eq!(clRetainMemObject(w.buffer), CL_SUCCESS);
        assert_eq!(references(w.buffer), 2);
        assert_eq!(clReleaseMemObject(w.buffer), CL_SUCCESS);
        assert_eq!(references(w.buffer), 1);
        assert_eq!(board.all().len(), 0);
        assert_eq!(clReleaseMemObject(w.buffer), CL_SUCCESS);
        assert_eq!(clReleaseMemObject(w.buffer), CL_INVALID_MEM_OBJECT);
    }
    let seen = board.all();
    let envelopes = seen[0].envelopes();
    assert_eq!(envelopes.len(), 1);
    assert_eq!(envelopes[0].op, wire::CL_RELEASE_MEM_OBJECT);
    assert_eq!(envelopes[0].class, Class::Post);
    assert_eq!(seen[0].args::<Handle>(), [number]);
}

#[test]
fn a_context_outlives_what_was_made_from_it() {
    let board = agreeing();
    let w = world(0);
    // SAFETY: handles are checked.
    unsafe {
        assert_eq!(clReleaseContext(w.context), CL_SUCCESS);
        assert_eq!(clReleaseContext(w.context), CL_INVALID_CONTEXT);
        assert_eq!(clFinish(w.queue), CL_SUCCESS);
        assert_eq!(clReleaseMemObject(w.buffer), CL_SUCCESS);
        assert_eq!(clReleaseCommandQueue(w.queue), CL_SUCCESS);
        assert_eq!(clRetainContext(w.context), CL_INVALID_CONTEXT);
    }
    let seen = board.all();
    let ops: Vec<_> = seen[1].envelopes().iter().map(|e| e.op).collect();
    let release = [
        wire::CL_RELEASE_MEM_OBJECT,
        wire::CL_RELEASE_COMMAND_QUEUE,
        wire::CL_RELEASE_CONTEXT,
    ];
    assert_eq!(ops, release);
}

#[test]
fn an_event_that_dies_is_retired() {
    let board = agreeing();
    let w = world(0);
    let queue = Object::find(Kind::CommandQueue, w.queue).unwrap();
    let number = gil_guest::new_number();
    let event: cl_event = Object::create(Kind::Event, number, &[&queue], Details::default());
    // SAFETY: handles are checked.
    assert_eq!(unsafe { clReleaseEvent(event) }, CL_SUCCESS);
    assert_eq!(board.all()[0].envelopes()[0].retires, Some(number.0));
}

#[test]
fn events_of_two_contexts_are_not_waited_for_together() {
    let board = agreeing();
    let event = |w: World| -> cl_event {
        let queue = Object::find(Kind::CommandQueue, w.queue).unwrap();
        Object::create(
            Kind::Event,
            gil_guest::new_number(),
            &[&queue],
            Details::default(),
        )
    };
    let events = [event(world(0)), event(world(0))];
    // SAFETY: two events.
    let result = unsafe { clWaitForEvents(2, events.as_ptr()) };
    assert_eq!(result, CL_INVALID_CONTEXT);
    assert_eq!(board.seen().len(), 0);
}
