//! Shared virtual memory that the guest frees under what uses it: it stays
//! the session's until the last of them lets go.

mod common;

use common::agent::{Agent, on_a_device};
use common::program::{Program, SUCCESS, bytes, input, ints, out, reply};
use gil_wire::call::{Handle, InData, OutRoom};
use gil_wire::ending::Ending;
use gil_wire::generated::opencl::{self as wire, KernelArgument};
use gil_wire::message::CallStatus;

const WORDS: usize = 64 << 10;
const LEN: u64 = 4 * WORDS as u64;
/// So many allocations fit the session's bound.
const ROOM: usize = (8 << 20) / LEN as usize;
const USE_HOST_PTR: u64 = 8;
const SVM_PTRS: u32 = 0x11b6;
const INVALID_VALUE: i32 = -30;
const INVALID_HOST_PTR: i32 = -37;
const INVALID_ARG_VALUE: i32 = -50;
const SOURCE: &str = "
    kernel void put(global int *to, int value) { to[get_global_id(0)] = value; }
    kernel void follow(global ulong *at, int value) {
        ((global int *)at[0])[get_global_id(0)] = value;
    }";

/// A program with shared memory, unless there is no device here that has it.
struct Shared {
    program: Program,
    _agent: Agent,
    queue: Handle,
    text: Handle,
}

impl Shared {
    fn start() -> Option<Self> {
        let agent = on_a_device(Agent::start(&["--max-memory", "8"]))?;
        let mut program = Program::start(&agent.address);
        let device = program.device;
        let can: wire::GilGetSvmCapabilitiesReply = program.call(
            wire::GIL_GET_SVM_CAPABILITIES,
            &wire::GilGetSvmCapabilitiesArgs { device },
        );
        if can.value == 0 {
            gil_need::skip("a device that shares memory", "this one does not");
            return None;
        }
        let (queue, text) = (program.queue(0), program.program(SOURCE));
        assert_eq!(program.build(text, ""), SUCCESS);
        Some(Self {
            program,
            _agent: agent,
            queue,
            text,
        })
    }

    fn alloc(&mut self) -> u64 {
        self.may_alloc().unwrap()
    }

    fn may_alloc(&mut self) -> Option<u64> {
        let args = wire::ClSVMAllocArgs {
            context: self.program.context,
            flags: 1,
            size: LEN,
            alignment: 0,
        };
        let reply: wire::ClSVMAllocReply = self.program.call(wire::CL_SVM_ALLOC, &args);
        Some(reply.address).filter(|address| *address != 0)
    }

    fn free(&mut self, address: u64) {
        let context = self.program.context;
        let args = wire::ClSVMFreeArgs { context, address };
        let done = self.program.raw(wire::CL_SVM_FREE, &args, &[], &[]);
        assert_eq!(done.status, CallStatus::Ran);
    }

    /// Frees it by an operation; how that ended, if it did.
    fn enqueue_free(&mut self, address: u64, waits: &[Handle]) -> usize {
        let event = self.program.event();
        let args = wire::ClEnqueueSVMFreeArgs {
            command_queue: self.queue,
            addresses: InData::Inline(&address.to_le_bytes()),
            frees: true,
            event_wait_list: waits.to_vec(),
            event,
        };
        let done = self.program.raw(wire::CL_ENQUEUE_SVM_FREE, &args, &[], &[]);
        let reply: wire::ClEnqueueSVMFreeReply = reply(&done);
        assert_eq!(reply.result, SUCCESS);
        done.reports.len()
    }

    /// What the next allocations are: of as many, none is at `address`, and
    /// each holds zeroes that nobody else writes.
    fn others(&mut self, address: u64) -> Vec<u64> {
        let others: Vec<u64> = (0..8).map(|_| self.alloc()).collect();
        assert!(others.iter().all(|other| other.abs_diff(address) >= LEN));
        for other in &others {
            self.fill(*other, 0);
        }
        others
    }

    fn fill(&mut self, address: u64, value: i32) -> i32 {
        let event = self.program.event();
        let args = wire::ClEnqueueSVMMemFillArgs {
            command_queue: self.queue,
            address,
            pattern: InData::Inline(&value.to_ne_bytes()),
            pattern_size: 4,
            size: LEN,
            event_wait_list: Vec::new(),
            event,
        };
        let reply: wire::ClEnqueueSVMMemFillReply =
            self.program.call(wire::CL_ENQUEUE_SVM_MEM_FILL, &args);
        reply.result
    }

    fn read(&mut self, address: u64) -> Vec<i32> {
        let event = self.program.event();
        let args = wire::ClEnqueueSVMMapArgs {
            command_queue: self.queue,
            address,
            size: LEN,
            memory: OutRoom::Region(0),
            event_wait_list: Vec::new(),
            event,
        };
        let regions = [out(LEN as usize)];
        let done = self
            .program
            .raw(wire::CL_ENQUEUE_SVM_MAP, &args, &regions, &[]);
        let decoded: wire::ClEnqueueSVMMapReply = reply(&done);
        match decoded.result {
            SUCCESS => ints(&done.out[0]),
            _ => Vec::new(),
        }
    }

    fn buffer(&mut self, address: u64) -> (i32, Handle) {
        let new = self.program.number();
        let args = wire::GilCreateSvmBufferArgs {
            context: self.program.context,
            flags: 1 | USE_HOST_PTR,
            size: LEN,
            address,
            new,
        };
        let reply: wire::GilCreateSvmBufferReply =
            self.program.call(wire::GIL_CREATE_SVM_BUFFER, &args);
        (reply.result, new)
    }

    fn kernel(&mut self, name: &str, value: i32) -> Handle {
        let kernel = self.program.kernel(self.text, name);
        let value = value.to_ne_bytes();
        let value = KernelArgument::Bytes(InData::Inline(&value));
        assert_eq!(self.program.arg(kernel, 1, 4, value), SUCCESS);
        kernel
    }

    fn point(&mut self, kernel: Handle, address: u64) -> i32 {
        let args = wire::ClSetKernelArgSVMPointerArgs {
            kernel,
            arg_index: 0,
            address,
        };
        let op = wire::CL_SET_KERNEL_ARG_SVM_POINTER;
        let reply: wire::ClSetKernelArgSVMPointerReply = self.program.call(op, &args);
        reply.result
    }

    fn reaches(&mut self, kernel: Handle, addresses: &[u64]) -> i32 {
        let list: Vec<u8> = addresses.iter().flat_map(|a| a.to_le_bytes()).collect();
        let args = wire::ClSetKernelExecInfoArgs {
            kernel,
            param_name: SVM_PTRS,
            value: InData::Inline(&list),
        };
        let op = wire::CL_SET_KERNEL_EXEC_INFO;
        let reply: wire::ClSetKernelExecInfoReply = self.program.call(op, &args);
        reply.result
    }

    fn release(&mut self, op: gil_wire::Op, object: Handle) {
        let done = self.program.raw(op, &object, &[], &[]);
        assert_eq!(done.status, CallStatus::Ran, "{}", done.reason());
    }

    /// Nothing but `live` allocations counts any more.
    fn comes_back(&mut self, live: usize) {
        let mut more = Vec::new();
        while let Some(address) = self.may_alloc() {
            more.push(address);
        }
        assert_eq!(
            more.len() + live,
            ROOM,
            "an allocation was never given back"
        );
        more.into_iter().for_each(|address| self.free(address));
    }
}

fn zeroes(shared: &mut Shared, others: &[u64]) {
    for other in others {
        assert!(shared.read(*other).iter().all(|word| *word == 0));
        shared.free(*other);
    }
}

#[test]
fn memory_under_a_buffer_is_kept_until_the_buffer_goes() {
    let Some(shared) = &mut Shared::start() else {
        return;
    };
    let address = shared.alloc();
    let (result, buffer) = shared.buffer(address);
    assert_eq!(result, SUCCESS);
    shared.free(address);
    // To the guest it is gone.
    assert_eq!(shared.fill(address, 1), INVALID_VALUE);
    assert_eq!(shared.buffer(address).0, INVALID_HOST_PTR);
    let others = shared.others(address);
    let data = vec![7; WORDS];
    let queue = shared.queue;
    shared
        .program
        .write(queue, buffer, &bytes(&data), &[])
        .ended();
    let read = shared.program.read(queue, buffer, LEN as usize, &[]);
    assert_eq!(ints(&read.done.out[0]), data);
    zeroes(shared, &others);
    shared.release(wire::CL_RELEASE_MEM_OBJECT, buffer);
    shared.comes_back(0);
}

/// A kernel that has the buffer keeps it, and so the memory under it.
#[test]
fn memory_under_a_released_buffer_is_kept_by_a_kernel_that_has_it() {
    let Some(shared) = &mut Shared::start() else {
        return;
    };
    let address = shared.alloc();
    let (_, buffer) = shared.buffer(address);
    let kernel = shared.kernel("put", 9);
    let value = KernelArgument::Handle(buffer);
    assert_eq!(shared.program.arg(kernel, 0, 8, value), SUCCESS);
    shared.release(wire::CL_RELEASE_MEM_OBJECT, buffer);
    shared.free(address);
    let others = shared.others(address);
    let queue = shared.queue;
    shared.program.run(queue, kernel, WORDS, &[]).ended();
    zeroes(shared, &others);
}

#[test]
fn an_argument_keeps_the_memory_that_it_points_into() {
    let Some(shared) = &mut Shared::start() else {
        return;
    };
    let address = shared.alloc();
    let kernel = shared.kernel("put", 9);
    // Also by a pointer into it.
    assert_eq!(shared.point(kernel, address + LEN / 2), SUCCESS);
    shared.free(address);
    let others = shared.others(address);
    let queue = shared.queue;
    shared.program.run(queue, kernel, WORDS / 2, &[]).ended();
    zeroes(shared, &others);
    // No kernel gets what is freed already.
    let late = shared.kernel("put", 9);
    assert_eq!(shared.point(late, address), INVALID_ARG_VALUE);
    assert_eq!(shared.point(kernel, 0), SUCCESS);
    shared.comes_back(0);
}

#[test]
fn what_a_kernel_reaches_by_pointers_is_kept() {
    let Some(shared) = &mut Shared::start() else {
        return;
    };
    let (address, pointers) = (shared.alloc(), shared.alloc());
    let queue = shared.queue;
    let (_, buffer) = shared.buffer(pointers);
    let word = address.to_ne_bytes();
    shared.program.write(queue, buffer, &word, &[]).ended();
    let kernel = shared.kernel("follow", 9);
    assert_eq!(shared.point(kernel, pointers), SUCCESS);
    assert_eq!(shared.reaches(kernel, &[address]), SUCCESS);
    shared.free(address);
    let others = shared.others(address);
    shared.program.run(queue, kernel, WORDS, &[]).ended();
    zeroes(shared, &others);
    assert_eq!(shared.reaches(kernel, &[address]), INVALID_VALUE);
    shared.release(wire::CL_RELEASE_KERNEL, kernel);
    shared.comes_back(1);
}

#[test]
fn operations_under_way_keep_what_they_use() {
    let Some(shared) = &mut Shared::start() else {
        return;
    };
    let queue = shared.queue;
    let (filled, put, copied) = (shared.alloc(), shared.alloc(), shared.alloc());
    let gate = shared.program.user_event();
    let gated = shared.program.buffer(4);
    shared
        .program
        .write(queue, gated, &[0; 4], &[gate])
        .blocked();
    assert_eq!(shared.fill(filled, 5), SUCCESS);
    let kernel = shared.kernel("put", 9);
    assert_eq!(shared.point(kernel, put), SUCCESS);
    shared.program.run(queue, kernel, WORDS, &[]).blocked();
    shared.release(wire::CL_RELEASE_KERNEL, kernel);
    let args = wire::ClEnqueueSVMMemcpyArgs {
        command_queue: queue,
        dst: copied,
        src: 0,
        size: LEN,
        output: OutRoom::Null,
        input: InData::Region(0),
        event_wait_list: Vec::new(),
        event: shared.program.event(),
    };
    let data = bytes(&vec![3; WORDS]);
    let regions = [input(data.len())];
    let op = wire::CL_ENQUEUE_SVM_MEMCPY;
    let done = shared.program.raw(op, &args, &regions, &[&data]);
    assert_eq!(
        reply::<wire::ClEnqueueSVMMemcpyReply>(&done).result,
        SUCCESS
    );
    // Other memory is taken before, so that what they would spoil is known.
    for address in [filled, put, copied] {
        shared.free(address);
    }
    let others: Vec<u64> = (0..8).map(|_| shared.alloc()).collect();
    for used in [filled, put, copied] {
        assert!(others.iter().all(|other| other.abs_diff(used) >= LEN));
    }
    let set = shared.program.set(gate, 0);
    assert!(
        set.reports
            .iter()
            .all(|(report, _)| report.ending == Ending::Done)
    );
    others.into_iter().for_each(|other| shared.free(other));
    shared.release(wire::CL_RELEASE_MEM_OBJECT, gated);
    shared.comes_back(0);
}

/// As natively: the memory is there until the operation that frees it runs.
#[test]
fn an_operation_that_frees_does_so_when_it_runs() {
    let Some(shared) = &mut Shared::start() else {
        return;
    };
    let (address, held) = (shared.alloc(), shared.alloc());
    let (_, buffer) = shared.buffer(held);
    let gate = shared.program.user_event();
    assert_eq!(shared.enqueue_free(address, &[gate]), 0);
    let kernel = shared.kernel("put", 9);
    assert_eq!(shared.point(kernel, address), SUCCESS);
    assert_eq!(shared.point(kernel, 0), SUCCESS);
    shared.program.set(gate, 0);
    assert_eq!(shared.point(kernel, address), INVALID_ARG_VALUE);
    shared.comes_back(1);
    // A buffer keeps it from an operation as well.
    assert_eq!(shared.enqueue_free(held, &[]), 1);
    let others = shared.others(held);
    let (queue, data) = (shared.queue, vec![7; WORDS]);
    let written = bytes(&data);
    shared.program.write(queue, buffer, &written, &[]).ended();
    zeroes(shared, &others);
}

/// The memory of a call is not a buffer's: no library asks for that.
#[test]
fn no_buffer_uses_a_calls_memory() {
    let Some(shared) = &mut Shared::start() else {
        return;
    };
    let new = shared.program.number();
    let data = [1; 4096];
    let args = wire::ClCreateBufferArgs {
        context: shared.program.context,
        flags: 1 | USE_HOST_PTR,
        size: 4096,
        host_ptr: InData::Inline(&data),
        new,
    };
    let done = shared.program.raw(wire::CL_CREATE_BUFFER, &args, &[], &[]);
    assert!(done.reason().contains("flags"), "{}", done.reason());
    let new = shared.program.number();
    let args = wire::ClCreateImageArgs {
        context: shared.program.context,
        new,
        flags: 1 | USE_HOST_PTR,
        channel_order: 0x10b5,
        channel_type: 0x10d2,
        image_type: 0x10f1,
        width: 16,
        height: 16,
        host_ptr: InData::Inline(&data),
        ..Default::default()
    };
    let done = shared.program.raw(wire::CL_CREATE_IMAGE, &args, &[], &[]);
    assert!(done.reason().contains("flags"), "{}", done.reason());
}
