//! Objects that queries find, with a guest that keeps no promise: it releases
//! what they come from and uses their numbers.

mod common;

use common::agent::{Agent, on_a_device};
use common::program::{Program, SUCCESS, reply};
use gil_wire::Op;
use gil_wire::call::{Handle, InfoValue, OutRoom};
use gil_wire::generated::opencl as wire;
use gil_wire::identity::DeviceIdentity;
use gil_wire::message::CallStatus;
use std::time::{Duration, Instant};

const CONTEXT_DEVICES: u32 = 0x1081;
const QUEUE_CONTEXT: u32 = 0x1090;
const MEM_CONTEXT: u32 = 0x1106;
const MEM_ASSOCIATED: u32 = 0x1107;
const SAMPLER_CONTEXT: u32 = 0x1151;
const PROGRAM_CONTEXT: u32 = 0x1161;
const KERNEL_CONTEXT: u32 = 0x1193;
const KERNEL_PROGRAM: u32 = 0x1194;
const EVENT_QUEUE: u32 = 0x11d0;
const EVENT_CONTEXT: u32 = 0x11d4;
const BUFFER_REGION: u32 = 0x1220;
const INVALID_VALUE: i32 = -30;
const DEVICE_PARTITION_EQUALLY: u64 = 0x1086;
/// How often each number is found, used and released.
const ROUNDS: usize = 20;

/// An agent, unless there is no device here.
fn agent() -> Option<Agent> {
    on_a_device(Agent::start(&[]))
}

impl Program {
    fn release(&mut self, op: Op, object: Handle) {
        let done = self.raw(op, &object, &[], &[]);
        assert_eq!(done.status, CallStatus::Ran, "{}", done.reason());
    }

    /// The object that a query names.
    fn ask(&mut self, op: Op, object: Handle, name: u32) -> Handle {
        let done = self.raw(op, &(object, name, OutRoom::Null), &[], &[]);
        let answer: wire::ClGetEventInfoReply<'_> = reply(&done);
        assert_eq!(answer.result, SUCCESS);
        let InfoValue::Handles(found) = answer.value else {
            panic!("{answer:?}");
        };
        found[0]
    }

    fn refuses(&mut self, op: Op, object: Handle) {
        let done = self.raw(op, &object, &[], &[]);
        let reason = done.reason();
        assert!(reason.contains("no object has the number"), "{reason}");
    }

    /// The parts of its device, one compute unit each; none if it has none.
    fn parts(&mut self) -> Vec<Handle> {
        let args = wire::ClCreateSubDevicesArgs {
            in_device: self.device,
            properties: Some(vec![gil_wire::call::Property::Word(
                DEVICE_PARTITION_EQUALLY,
                1,
            )]),
            num_devices: 64,
            out_devices: true,
            num_devices_ret: true,
        };
        let made: wire::ClCreateSubDevicesReply = self.call(wire::CL_CREATE_SUB_DEVICES, &args);
        made.out_devices
    }

    fn identity(&mut self, device: Handle) -> Option<DeviceIdentity> {
        self.client.identity(wire::API, device.0)
    }

    fn sampler(&mut self) -> Handle {
        let new = self.number();
        let args = wire::ClCreateSamplerArgs {
            context: self.context,
            normalized_coords: 0,
            addressing_mode: 0x1130,
            filter_mode: 0x1140,
            new,
        };
        let reply: wire::ClCreateSamplerReply = self.call(wire::CL_CREATE_SAMPLER, &args);
        assert_eq!(reply.result, SUCCESS);
        new
    }

    fn sub_buffer(&mut self, buffer: Handle) -> Handle {
        let (new, result) = self.region(buffer, 0, 128);
        assert_eq!(result, SUCCESS);
        new
    }

    fn region(&mut self, buffer: Handle, origin: u64, size: u64) -> (Handle, i32) {
        let new = self.number();
        let args = wire::ClCreateSubBufferArgs {
            buffer,
            flags: 0,
            buffer_create_type: BUFFER_REGION,
            buffer_create_info: Some(wire::ClBufferRegion { origin, size }),
            new,
        };
        let reply: wire::ClCreateSubBufferReply = self.call(wire::CL_CREATE_SUB_BUFFER, &args);
        (new, reply.result)
    }

    /// A context that is alive bears a buffer, a queue and a program.
    fn use_context(&mut self, context: Handle) {
        self.context = context;
        let (queue, buffer) = (self.queue(0), self.buffer(64));
        self.write(queue, buffer, &[7; 64], &[]).ended();
        assert_eq!(self.read(queue, buffer, 64, &[]).done.out[0], [7; 64]);
        self.ask(wire::CL_GET_CONTEXT_INFO, context, CONTEXT_DEVICES);
        self.release(wire::CL_RELEASE_MEM_OBJECT, buffer);
        self.release(wire::CL_RELEASE_COMMAND_QUEUE, queue);
    }
}

#[test]
fn a_part_that_ends_beyond_all_addresses_is_none() {
    let Some(agent) = agent() else { return };
    let program = &mut Program::start(&agent.address);
    let buffer = program.buffer(256);
    for (origin, size) in [(128, u64::MAX), (128, u64::MAX - 127), (u64::MAX, 1)] {
        let (_, result) = program.region(buffer, origin, size);
        assert_eq!(result, INVALID_VALUE, "{origin} {size}");
    }
    program.sub_buffer(buffer);
}

/// Makes a child of a context, releases the context, finds it through the
/// child, releases the child and uses the context.
fn context_through(
    program: &mut Program,
    make: fn(&mut Program) -> Handle,
    (query, name): (Op, u32),
    release: Op,
) {
    for _ in 0..ROUNDS {
        let context = program.new_context();
        program.context = context;
        let child = make(program);
        assert_eq!(program.ask(query, child, name), context);
        program.release(wire::CL_RELEASE_CONTEXT, context);
        let found = program.ask(query, child, name);
        assert!(found.is_boards());
        assert_eq!(program.ask(query, child, name), found);
        program.release(release, child);
        program.use_context(found);
        program.release(wire::CL_RELEASE_CONTEXT, found);
        program.refuses(wire::CL_RELEASE_CONTEXT, found);
    }
}

/// Whether a process has the thread of a session.
fn serves(process: i32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{process}/task"));
    let mut threads = threads.into_iter().flatten().flatten();
    threads.any(|thread| {
        let name = std::fs::read_to_string(thread.path().join("comm"));
        name.is_ok_and(|name| name.starts_with("session "))
    })
}

/// Events whose queues' devices are gone, which the program leaves to its session's end.
#[test]
fn a_part_of_a_device_outlives_what_was_executed_on_it() {
    let Some(agent) = agent() else { return };
    let mut program = Program::start(&agent.address);
    let (device, whole) = (program.device, program.context);
    for _ in 0..2 * ROUNDS {
        program.device = device;
        let parts = program.parts();
        let Some(part) = parts.first() else { return };
        program.device = *part;
        program.context = program.new_context();
        let (queue, buffer) = (program.queue(0), program.buffer(64));
        program.write(queue, buffer, &[1; 64], &[]).ended();
        program.release(wire::CL_RELEASE_MEM_OBJECT, buffer);
        program.release(wire::CL_RELEASE_COMMAND_QUEUE, queue);
        program.release(wire::CL_RELEASE_CONTEXT, program.context);
        for part in parts {
            program.release(wire::CL_RELEASE_DEVICE, part);
            program.refuses(wire::CL_RELEASE_DEVICE, part);
        }
    }
    // Something takes the memory that was theirs.
    (program.device, program.context) = (device, whole);
    for len in 1..200 {
        program.program(&"/".repeat(32 * len));
    }
    drop(program);
    let until = Instant::now() + Duration::from_secs(60);
    while agent.children().into_iter().any(serves) {
        assert!(Instant::now() < until, "the session does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    // Of another process it says so before it takes the next.
    drop(Program::start(&agent.address));
    let said = agent.said();
    assert!(!said.contains("SIGSEGV"), "{said}");
}

#[test]
fn contexts_that_queries_found_are_alive() {
    let Some(agent) = agent() else { return };
    let program = &mut Program::start(&agent.address);
    context_through(
        program,
        |program| program.buffer(256),
        (wire::CL_GET_MEM_OBJECT_INFO, MEM_CONTEXT),
        wire::CL_RELEASE_MEM_OBJECT,
    );
    context_through(
        program,
        |program| program.queue(0),
        (wire::CL_GET_COMMAND_QUEUE_INFO, QUEUE_CONTEXT),
        wire::CL_RELEASE_COMMAND_QUEUE,
    );
    context_through(
        program,
        Program::sampler,
        (wire::CL_GET_SAMPLER_INFO, SAMPLER_CONTEXT),
        wire::CL_RELEASE_SAMPLER,
    );
    context_through(
        program,
        |program| program.program(common::program::SCALE),
        (wire::CL_GET_PROGRAM_INFO, PROGRAM_CONTEXT),
        wire::CL_RELEASE_PROGRAM,
    );
    context_through(
        program,
        Program::user_event,
        (wire::CL_GET_EVENT_INFO, EVENT_CONTEXT),
        wire::CL_RELEASE_EVENT,
    );
}

#[test]
fn a_queue_that_an_event_named_is_alive() {
    let Some(agent) = agent() else { return };
    let program = &mut Program::start(&agent.address);
    let buffer = program.buffer(64);
    for _ in 0..ROUNDS {
        let queue = program.queue(0);
        let event = program.write(queue, buffer, &[1; 64], &[]).event;
        program.release(wire::CL_RELEASE_COMMAND_QUEUE, queue);
        let found = program.ask(wire::CL_GET_EVENT_INFO, event, EVENT_QUEUE);
        program.release(wire::CL_RELEASE_EVENT, event);
        program.write(found, buffer, &[2; 64], &[]).ended();
        assert_eq!(program.read(found, buffer, 64, &[]).done.out[0], [2; 64]);
        program.release(wire::CL_RELEASE_COMMAND_QUEUE, found);
        program.refuses(wire::CL_RELEASE_COMMAND_QUEUE, found);
    }
}

#[test]
fn a_buffer_that_a_part_named_is_alive() {
    let Some(agent) = agent() else { return };
    let program = &mut Program::start(&agent.address);
    let queue = program.queue(0);
    for _ in 0..ROUNDS {
        let buffer = program.buffer(256);
        let part = program.sub_buffer(buffer);
        program.release(wire::CL_RELEASE_MEM_OBJECT, buffer);
        let query = wire::CL_GET_MEM_OBJECT_INFO;
        let found = program.ask(query, part, MEM_ASSOCIATED);
        program.release(wire::CL_RELEASE_MEM_OBJECT, part);
        program.write(queue, found, &[3; 256], &[]).ended();
        assert_eq!(program.read(queue, found, 256, &[]).done.out[0], [3; 256]);
        program.release(wire::CL_RELEASE_MEM_OBJECT, found);
        program.refuses(wire::CL_RELEASE_MEM_OBJECT, found);
    }
}

#[test]
fn what_a_kernel_named_is_alive() {
    let Some(agent) = agent() else { return };
    let program = &mut Program::start(&agent.address);
    for _ in 0..3 {
        let context = program.new_context();
        program.context = context;
        let text = program.program(common::program::SCALE);
        assert_eq!(program.build(text, ""), SUCCESS);
        let kernel = program.kernel(text, "scale");
        program.release(wire::CL_RELEASE_PROGRAM, text);
        program.release(wire::CL_RELEASE_CONTEXT, context);
        let query = wire::CL_GET_KERNEL_INFO;
        let text = program.ask(query, kernel, KERNEL_PROGRAM);
        let context = program.ask(query, kernel, KERNEL_CONTEXT);
        program.release(wire::CL_RELEASE_KERNEL, kernel);
        let again = program.kernel(text, "scale");
        program.release(wire::CL_RELEASE_KERNEL, again);
        program.release(wire::CL_RELEASE_PROGRAM, text);
        program.use_context(context);
        program.release(wire::CL_RELEASE_CONTEXT, context);
        program.refuses(wire::CL_RELEASE_CONTEXT, context);
    }
}

/// What calls make under the board's numbers comes with its reference, and goes
/// with the number.
#[test]
fn devices_and_kernels_made_in_numbers_go_with_their_numbers() {
    let Some(agent) = agent() else { return };
    let program = &mut Program::start(&agent.address);
    for _ in 0..3 {
        let text = program.program(common::program::SCALE);
        assert_eq!(program.build(text, ""), SUCCESS);
        let args = wire::ClCreateKernelsInProgramArgs {
            program: text,
            num_kernels: 1,
            kernels: true,
            num_kernels_ret: true,
        };
        let made: wire::ClCreateKernelsInProgramReply =
            program.call(wire::CL_CREATE_KERNELS_IN_PROGRAM, &args);
        let kernel = made.kernels[0];
        program.release(wire::CL_RELEASE_PROGRAM, text);
        program.ask(wire::CL_GET_KERNEL_INFO, kernel, KERNEL_PROGRAM);
        program.release(wire::CL_RELEASE_KERNEL, kernel);
        program.refuses(wire::CL_RELEASE_KERNEL, kernel);
    }
    let Some(&part) = program.parts().first() else {
        return gil_need::skip("a device that can be partitioned", "this one cannot");
    };
    program.device = part;
    let context = program.new_context();
    program.release(wire::CL_RELEASE_DEVICE, part);
    let found = program.ask(wire::CL_GET_CONTEXT_INFO, context, CONTEXT_DEVICES);
    program.release(wire::CL_RELEASE_CONTEXT, context);
    program.device = found;
    let context = program.new_context();
    program.use_context(context);
}

#[test]
fn a_device_is_the_same_in_every_session_and_a_part_of_it_nobody_elses() {
    let Some(agent) = agent() else { return };
    let mut programs = [(); 2].map(|()| Program::start(&agent.address));
    let [first, second] = &mut programs;
    let identity = first.identity(first.device).expect("of a listed device");
    assert!(!identity.place.is_empty());
    let theirs = second.identity(second.device).expect("of the same device");
    assert!(identity.is_same(&theirs), "{identity:?}, {theirs:?}");
    assert_eq!(first.identity(first.context), None, "no device");
    assert_eq!(first.identity(Handle(Handle::BOARD | 999)), None);
    for part in first.parts() {
        assert_eq!(first.identity(part), None);
    }
}
