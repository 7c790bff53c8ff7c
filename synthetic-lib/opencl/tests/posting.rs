//! Enqueues that need no answer. Apart from programs that ask for output which
//! comes after the call: their input is captured by the host.

mod common;

use common::*;
use gil_guest::double::Played;
use gil_opencl::generated::manual::{Guest, Kept, Object};
use gil_opencl::generated::stubs::*;
use gil_opencl::generated::types::*;
use gil_wire::envelope::{Class, Engine, Order};
use gil_wire::generated::opencl::{self as wire, Kind};
use std::ptr::{null, null_mut};

/// What was handed over in one piece: each call's class, engine and order.
fn one_piece(board: &Board) -> Vec<(gil_wire::Op, Class, Engine, Order)> {
    let seen = board.all();
    assert_eq!(seen.len(), 1, "one submission");
    let envelopes = seen[0].envelopes();
    let calls = envelopes.iter().filter(|call| call.class != Class::Poll);
    calls
        .map(|call| (call.op, call.class, call.engine, call.order))
        .collect()
}

#[test]
fn enqueues_without_doubt_need_no_answer() {
    let board = agreeing();
    let w = world(0);
    let (data, size) = ([7u8; 8], 8);
    let mut event: cl_event = null_mut();
    // SAFETY: as many bytes as said; one event.
    unsafe {
        let (data, none) = (data.as_ptr().cast(), null_mut());
        let write =
            clEnqueueWriteBuffer(w.queue, w.buffer, 0, 4, size, data, 0, null(), &mut event);
        assert_eq!(write, CL_SUCCESS);
        let fill = clEnqueueFillBuffer(w.queue, w.buffer, data, size, 16, 32, 1, &event, none);
        assert_eq!(fill, CL_SUCCESS);
        let marker = clEnqueueMarkerWithWaitList(w.queue, 0, null(), none);
        let barrier = clEnqueueBarrierWithWaitList(w.queue, 1, &event, none);
        assert_eq!((marker, barrier), (CL_SUCCESS, CL_SUCCESS));
        let mut first: cl_event = null_mut();
        assert_eq!(clEnqueueMarker(w.queue, &mut first), CL_SUCCESS);
        assert_eq!(clEnqueueBarrier(w.queue), CL_SUCCESS);
        assert!(!event.is_null() && !first.is_null());
    }
    assert!(board.seen().is_empty(), "nothing was handed over yet");
    let enqueue = |op, engine| (op, Class::Enqueue, engine, Order::Command);
    let fence = |op, order| (op, Class::Enqueue, Engine::NONE, order);
    let wanted = [
        enqueue(wire::CL_ENQUEUE_WRITE_BUFFER, Engine::COPY_IN),
        enqueue(wire::CL_ENQUEUE_FILL_BUFFER, Engine::COMPUTE),
        fence(wire::CL_ENQUEUE_MARKER_WITH_WAIT_LIST, Order::Marker),
        fence(wire::CL_ENQUEUE_BARRIER_WITH_WAIT_LIST, Order::Barrier),
        fence(wire::CL_ENQUEUE_MARKER, Order::Marker),
        fence(wire::CL_ENQUEUE_BARRIER, Order::Barrier),
    ];
    assert_eq!(one_piece(&board), wanted);
}

#[test]
fn enqueues_in_doubt_are_the_boards_to_judge() {
    let board = board(|_| Played::result(&CL_INVALID_VALUE));
    let (w, other) = (world(0), world(0));
    let hidden = buffer(w.context, CL_MEM_HOST_NO_ACCESS, null_mut());
    let data = [7u8; 2000];
    let mut event: cl_event = null_mut();
    // SAFETY: as many bytes as said; one event.
    unsafe {
        let data = data.as_ptr().cast();
        let write = |buffer, offset, size, data, blocking| {
            let (none, event) = (null(), null_mut());
            clEnqueueWriteBuffer(
                w.queue, buffer, blocking, offset, size, data, 0, none, event,
            )
        };
        let fill = |size, offset, bytes| {
            let (none, event) = (null(), null_mut());
            clEnqueueFillBuffer(w.queue, w.buffer, data, size, offset, bytes, 0, none, event)
        };
        let refused = [
            write(w.buffer, 0, 8, data, CL_TRUE),
            write(w.buffer, SIZE, 8, data, CL_FALSE),
            write(w.buffer, 0, 0, data, CL_FALSE),
            write(w.buffer, 0, 8, null(), CL_FALSE),
            write(w.buffer, 0, 2000, data, CL_FALSE),
            write(other.buffer, 0, 8, data, CL_FALSE),
            write(hidden, 0, 8, data, CL_FALSE),
            fill(3, 0, 3),
            fill(256, 0, 256),
            fill(4, 2, 4),
            fill(4, 0, 6),
            fill(4, 0, SIZE + 4),
            clEnqueueMarker(w.queue, null_mut()),
        ];
        assert_eq!(refused, [CL_INVALID_VALUE; 13]);
        assert_eq!(board.seen().len(), refused.len(), "each was answered");
        let user = create_event(other.context);
        let list = [user];
        let marker = clEnqueueMarkerWithWaitList(w.queue, 1, list.as_ptr(), &mut event);
        assert_eq!((marker, event), (CL_INVALID_VALUE, null_mut()));
    }
}

fn create_event(context: cl_context) -> cl_event {
    let context = Object::find(Kind::Context, context).unwrap();
    let details = Guest::user_event();
    Object::create(Kind::Event, gil_guest::new_number(), &[&context], details)
}

#[test]
fn the_second_task_of_a_kind_needs_no_answer() {
    let board = agreeing();
    let w = world(0);
    let kernel = kernel(w.context);
    // SAFETY: no wait list, no event.
    let task = || unsafe { clEnqueueTask(w.queue, kernel, 0, null(), null_mut()) };
    assert_eq!([task(), task()], [CL_SUCCESS; 2]);
    assert_eq!(board.seen().len(), 1);
    // SAFETY: one size.
    let launch = unsafe {
        clEnqueueNDRangeKernel(
            w.queue,
            kernel,
            1,
            null(),
            &1,
            null(),
            0,
            null(),
            null_mut(),
        )
    };
    assert_eq!(
        (launch, board.seen().len()),
        (CL_SUCCESS, 2),
        "another kind"
    );
}

#[test]
fn a_flush_hands_over_and_waits_for_nobody() {
    let board = agreeing();
    let w = world(0);
    // SAFETY: a queue that is one.
    let results = unsafe {
        [
            clEnqueueBarrier(w.queue),
            clFlush(w.queue),
            clFlush(null_mut()),
        ]
    };
    assert_eq!(results, [CL_SUCCESS, CL_SUCCESS, CL_INVALID_COMMAND_QUEUE]);
    assert_eq!(board.seen().len(), 1, "at once");
    let barrier = (
        wire::CL_ENQUEUE_BARRIER,
        Class::Enqueue,
        Engine::NONE,
        Order::Barrier,
    );
    let flush = (wire::CL_FLUSH, Class::Post, Engine::NONE, Order::Command);
    assert_eq!(one_piece(&board), [barrier, flush]);
}
