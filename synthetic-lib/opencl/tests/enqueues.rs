//! Enqueues, waits, kernel arguments and mapping, as the driver sees them.

mod common;

use common::*;
use gil_guest::double::Played;
use gil_guest::uapi;
use gil_opencl::generated::manual::Object;
use gil_opencl::generated::stubs::*;
use gil_opencl::generated::types::*;
use gil_wire::call::OutRoom;
use gil_wire::ending::Ending;
use gil_wire::envelope::{Class, Engine, State};
use gil_wire::generated::opencl::{self as wire, Kind};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

fn number<T>(kind: Kind, object: *mut T) -> u64 {
    Object::find(kind, object).unwrap().number().0
}

#[test]
fn a_read_names_its_memory_its_queue_and_its_event() {
    let board = agreeing();
    let w = world(0);
    let mut memory = [0u8; 16];
    let mut first: cl_event = null_mut();
    let mut second: cl_event = null_mut();
    let read = |blocking, waits: &[cl_event], event: *mut cl_event| {
        let list = if waits.is_empty() {
            null()
        } else {
            waits.as_ptr()
        };
        let (count, room) = (waits.len() as u32, memory.as_ptr().cast_mut().cast());
        // SAFETY: 16 bytes of space.
        unsafe { clEnqueueReadBuffer(w.queue, w.buffer, blocking, 4, 16, room, count, list, event) }
    };
    assert_eq!(read(CL_FALSE, &[], &mut first), CL_SUCCESS);
    assert_eq!(read(CL_TRUE, &[first], &mut second), CL_SUCCESS);
    assert_eq!(read(CL_TRUE, &[], null_mut()), CL_SUCCESS);
    memory.fill(1);
    let seen = board.seen();
    let call = &seen[1].envelopes()[0];
    assert_eq!(
        (call.class, call.engine),
        (Class::Enqueue, Engine::COPY_OUT)
    );
    assert_eq!(call.queue.unwrap().id, number(Kind::CommandQueue, w.queue));
    assert!(call.blocking && call.observable && !seen[0].envelopes()[0].blocking);
    assert_eq!(*call.waits, [number(Kind::Event, first)]);
    assert_eq!(call.signals, Some(number(Kind::Event, second)));
    assert_eq!(seen[1].regions[0].addr, memory.as_ptr() as u64);
    assert_eq!((seen[1].regions[0].len, seen[1].regions[0].dir), (16, 2));
    let args: wire::ClEnqueueReadBufferArgs = postcard::from_bytes(call.args).unwrap();
    assert_eq!(
        (args.ptr, args.offset, args.size),
        (OutRoom::Region(0), 4, 16)
    );
    let last = &seen[2].envelopes()[0];
    assert!(last.signals.is_some() && !last.observable);
}

#[test]
fn an_error_of_the_board_gives_no_event() {
    let _board = board(|_| Played::result(&CL_INVALID_VALUE));
    let w = world(0);
    let mut memory = [0u8; 16];
    let mut event: cl_event = null_mut();
    let room = memory.as_mut_ptr().cast();
    // SAFETY: 16 bytes of space.
    let result = unsafe {
        clEnqueueReadBuffer(
            w.queue,
            w.buffer,
            CL_TRUE,
            0,
            16,
            room,
            0,
            null(),
            &mut event,
        )
    };
    assert_eq!(result, CL_INVALID_VALUE);
    assert!(event.is_null());
}

#[test]
fn a_pending_read_whose_event_fails_says_so() {
    let board = board(|call| match call.class {
        Class::Wait => observed(call, State::Complete, Ending::Failed(-5)),
        _ => {
            let mut played = Played::result(&0i32);
            played.outcome.flags = uapi::flag::PENDING;
            played
        }
    });
    let w = world(0);
    let mut memory = [0u8; 16];
    let room: *mut c_void = memory.as_mut_ptr().cast();
    // SAFETY: 16 bytes of space.
    let result = unsafe {
        clEnqueueReadBuffer(
            w.queue,
            w.buffer,
            CL_TRUE,
            0,
            16,
            room,
            0,
            null(),
            null_mut(),
        )
    };
    assert_eq!(result, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    let seen = board.seen();
    let signals = seen[0].envelopes()[0].signals.unwrap();
    assert_eq!(*seen[1].envelopes()[0].waits, [signals]);
}

#[test]
fn waiting_observes_and_tells_of_errors() {
    let mut endings = vec![Ending::Failed(-5), Ending::Done];
    let board = board(move |call| match call.class {
        Class::Wait if call.queue.is_none() => {
            observed(call, State::Complete, endings.pop().unwrap())
        }
        _ => Played::result(&0i32),
    });
    let w = world(0);
    let mut event: cl_event = null_mut();
    let mut memory = [0u8; 16];
    // SAFETY: 16 bytes of space; one event.
    unsafe {
        let room = memory.as_mut_ptr().cast();
        clEnqueueReadBuffer(
            w.queue,
            w.buffer,
            CL_FALSE,
            0,
            16,
            room,
            0,
            null(),
            &mut event,
        );
        assert_eq!(clWaitForEvents(1, &event), CL_SUCCESS);
        let failed = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
        assert_eq!(clWaitForEvents(1, &event), failed);
        assert_eq!(clFinish(w.queue), CL_SUCCESS);
    }
    let seen = board.seen();
    let finish = &seen[3].envelopes()[0];
    assert_eq!((finish.class, finish.op), (Class::Wait, wire::CL_FINISH));
    assert_eq!(
        finish.queue.unwrap().id,
        number(Kind::CommandQueue, w.queue)
    );
}

#[test]
fn an_argument_that_was_accepted_once_is_posted() {
    let board = agreeing();
    let w = world(0);
    let kernel = kernel(w.context);
    let other = buffer(w.context, 0, null_mut());
    // SAFETY: every value is as large as it says.
    let set =
        |index, size, value: *const c_void| unsafe { clSetKernelArg(kernel, index, size, value) };
    let (seven, pointer) = (7u32, size_of::<cl_mem>());
    let buffer: *const c_void = (&raw const w.buffer).cast();
    for _ in 0..2 {
        assert_eq!(set(0, 4, (&raw const seven).cast()), CL_SUCCESS);
        assert_eq!(set(1, pointer, buffer), CL_SUCCESS);
        assert_eq!(set(2, 256, null()), CL_SUCCESS);
    }
    assert_eq!(board.seen().len(), 3, "the second time they wait as posts");
    assert_eq!(set(1, pointer, (&raw const other).cast()), CL_SUCCESS);
    assert_eq!(board.seen().len(), 3);
    assert_eq!(set(2, 512, null()), CL_SUCCESS);
    let seen = board.seen();
    assert_eq!(
        seen[3].envelopes().len(),
        5,
        "another size is judged by the board"
    );
    let args = |envelope: usize| -> wire::KernelArgument<'_> {
        let bytes = seen[3].envelopes()[envelope].args;
        let args: wire::ClSetKernelArgArgs<'_> = postcard::from_bytes(bytes).unwrap();
        args.arg_value
    };
    let other = Object::find(Kind::Mem, other).unwrap().number();
    assert_eq!(args(3), wire::KernelArgument::Handle(other));
    assert_eq!(args(2), wire::KernelArgument::Local);
}

#[test]
fn a_freed_buffer_is_no_argument() {
    let board = agreeing();
    let w = world(0);
    let kernel = kernel(w.context);
    let value: *const c_void = (&raw const w.buffer).cast();
    let pointer = size_of::<cl_mem>();
    // SAFETY: every value is as large as it says.
    unsafe {
        assert_eq!(clSetKernelArg(kernel, 0, pointer, value), CL_SUCCESS);
        assert_eq!(clReleaseMemObject(w.buffer), CL_SUCCESS);
        assert_eq!(
            clSetKernelArg(kernel, 0, pointer, value),
            CL_INVALID_MEM_OBJECT
        );
        let zero: cl_mem = null_mut();
        let null = clSetKernelArg(kernel, 0, pointer, (&raw const zero).cast());
        assert_eq!(null, CL_SUCCESS);
        assert_eq!(
            clSetKernelArg(kernel, 0, 1 << 40, value),
            CL_INVALID_ARG_SIZE
        );
    }
    assert_eq!(board.seen().len(), 2);
}

struct Mapper(World);

impl Mapper {
    fn map(&self, flags: cl_map_flags, offset: usize, size: usize) -> Result<*mut u8, cl_int> {
        let mut code = 1;
        let World { queue, buffer, .. } = self.0;
        // SAFETY: no list, no event, space for the code.
        let address = unsafe {
            let event = null_mut();
            clEnqueueMapBuffer(
                queue,
                buffer,
                CL_TRUE,
                flags,
                offset,
                size,
                0,
                null(),
                event,
                &mut code,
            )
        };
        assert_eq!(address.is_null(), code != CL_SUCCESS);
        if code == CL_SUCCESS {
            Ok(address.cast())
        } else {
            Err(code)
        }
    }

    fn unmap(&self, address: *mut u8) -> cl_int {
        let World { queue, buffer, .. } = self.0;
        // SAFETY: no list, no event.
        unsafe { clEnqueueUnmapMemObject(queue, buffer, address.cast(), 0, null(), null_mut()) }
    }

    fn count(&self) -> u32 {
        let mut count = 99u32;
        let room = (&raw mut count).cast();
        // SAFETY: space for four bytes.
        let result =
            unsafe { clGetMemObjectInfo(self.0.buffer, CL_MEM_MAP_COUNT, 4, room, null_mut()) };
        assert_eq!(result, CL_SUCCESS);
        count
    }
}

#[test]
fn mapping_reads_into_guest_memory_and_unmapping_writes_back() {
    let board = agreeing();
    let mapper = Mapper(world(0));
    let both = CL_MAP_READ | CL_MAP_WRITE;
    let first = mapper.map(both, 0, SIZE).unwrap();
    let second = mapper.map(CL_MAP_READ, 100, 50).unwrap();
    assert_eq!(first.wrapping_add(100), second, "a byte has one address");
    assert_eq!(mapper.count(), 2);
    // SAFETY: mapped memory of SIZE bytes.
    unsafe { first.add(SIZE - 1).write(5) };
    assert_eq!(mapper.unmap(second), CL_SUCCESS);
    assert_eq!(mapper.unmap(first), CL_SUCCESS);
    assert_eq!(mapper.unmap(first), CL_INVALID_VALUE);
    assert_eq!(mapper.count(), 0);
    let invalidate = mapper.map(CL_MAP_WRITE_INVALIDATE_REGION, 0, SIZE).unwrap();
    assert_eq!(invalidate, first);
    let regions: Vec<_> = board
        .seen()
        .iter()
        .map(|s| s.regions.first().map(|r| (r.addr, r.len, r.dir)))
        .collect();
    let (at, size) = (first as u64, SIZE as u64);
    let (out, back) = (Some((at, size, 2)), Some((at, size, 1)));
    // What was mapped for writing goes back before another map reads over it.
    let read_over = Some((at + 100, 50, 2));
    assert_eq!(regions, [out, back, read_over, None, back, None]);
    assert_eq!(mapper.map(CL_MAP_READ, SIZE, 1), Err(CL_INVALID_VALUE));
}

#[test]
fn after_a_read_that_does_not_block_small_input_is_named_not_copied() {
    let board = agreeing();
    let w = world(0);
    let mut memory = [0u8; 16];
    let room = memory.as_mut_ptr().cast();
    // SAFETY: 16 bytes of space.
    let read = unsafe {
        clEnqueueReadBuffer(
            w.queue,
            w.buffer,
            CL_FALSE,
            0,
            16,
            room,
            0,
            null(),
            null_mut(),
        )
    };
    assert_eq!(read, CL_SUCCESS);
    let mapper = Mapper(w);
    let mapped = mapper.map(CL_MAP_WRITE, 0, 8).unwrap();
    assert_eq!(mapper.unmap(mapped), CL_SUCCESS);
    let seen = board.seen();
    assert_eq!((seen[2].regions[0].len, seen[2].regions[0].dir), (8, 1));
}

#[test]
fn a_buffer_that_uses_the_programs_memory_maps_there() {
    let _board = agreeing();
    let mut memory = [0u8; SIZE];
    let mut w = world(0);
    w.buffer = buffer(w.context, CL_MEM_USE_HOST_PTR, memory.as_mut_ptr().cast());
    let mapped = Mapper(w).map(CL_MAP_READ, 10, 5).unwrap();
    assert_eq!(mapped, memory.as_mut_ptr().wrapping_add(10));
}

#[test]
fn a_mapping_that_the_board_refuses_is_none() {
    let _board = board(|_| Played::result(&CL_MAP_FAILURE));
    let mapper = Mapper(world(0));
    assert_eq!(mapper.map(CL_MAP_READ, 0, 5), Err(CL_MAP_FAILURE));
    assert_eq!(mapper.count(), 0);
}
