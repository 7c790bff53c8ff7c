//! Memory objects of a device that has no memory but the board's: they count
//! against the session's bound, until the driver has let go of them.

mod common;

use common::agent::{Agent, on_a_device};
use common::program::{Program, SCALE, SUCCESS, reply};
use gil_wire::call::{Handle, InData, InfoValue, OutData, OutRoom};
use gil_wire::generated::opencl::{self as wire, KernelArgument};
use gil_wire::message::CallStatus;

const MIB: u64 = 1 << 20;
const LIMIT: u64 = 64 * MIB;
const ALLOCATION_FAILURE: i32 = -4;
const INVALID_BUFFER_SIZE: i32 = -61;
const MAX_MEM_ALLOC_SIZE: u32 = 0x1010;
const GLOBAL_MEM_SIZE: u32 = 0x101f;

/// A session that may have 64 MiB, unless there is no device here.
fn start() -> Option<(Agent, Program)> {
    let agent = on_a_device(Agent::start(&["--max-memory", "64"]))?;
    let program = Program::start(&agent.address);
    Some((agent, program))
}

fn buffer(program: &mut Program, size: u64) -> (i32, Handle) {
    let new = program.number();
    let args = wire::ClCreateBufferArgs {
        context: program.context,
        flags: 1,
        size,
        host_ptr: InData::Null,
        new,
    };
    let reply: wire::ClCreateBufferReply = program.call(wire::CL_CREATE_BUFFER, &args);
    (reply.result, new)
}

fn image(program: &mut Program, side: u64) -> (i32, Handle) {
    let new = program.number();
    let args = wire::ClCreateImageArgs {
        context: program.context,
        new,
        flags: 1,
        channel_order: 0x10b5,
        channel_type: 0x10d2,
        image_type: 0x10f1,
        width: side,
        height: side,
        ..Default::default()
    };
    let reply: wire::ClCreateImageReply = program.call(wire::CL_CREATE_IMAGE, &args);
    (reply.result, new)
}

fn release(program: &mut Program, op: gil_wire::Op, object: Handle) {
    let done = program.raw(op, &object, &[], &[]);
    assert_eq!(done.status, CallStatus::Ran, "{}", done.reason());
}

#[test]
fn memory_objects_count_against_the_sessions_bound() {
    let Some((_agent, mut program)) = start() else {
        return;
    };
    let program = &mut program;
    assert_eq!(buffer(program, LIMIT + 1).0, INVALID_BUFFER_SIZE);
    let (result, first) = buffer(program, LIMIT / 2);
    assert_eq!(result, SUCCESS);
    // 2,896 x 2,896 x 4 bytes are a little less than 32 MiB.
    let (result, second) = image(program, 2896);
    assert_eq!(result, SUCCESS);
    assert_eq!(buffer(program, MIB).0, ALLOCATION_FAILURE);
    assert_eq!(image(program, 1024).0, ALLOCATION_FAILURE);
    release(program, wire::CL_RELEASE_MEM_OBJECT, second);
    assert_eq!(buffer(program, MIB).0, SUCCESS);
    // A kernel's argument is there as long as the kernel is.
    let text = program.program(SCALE);
    assert_eq!(program.build(text, ""), SUCCESS);
    let kernel = program.kernel(text, "scale");
    let value = KernelArgument::Handle(first);
    assert_eq!(program.arg(kernel, 0, 8, value), SUCCESS);
    release(program, wire::CL_RELEASE_MEM_OBJECT, first);
    assert_eq!(buffer(program, LIMIT / 2).0, ALLOCATION_FAILURE);
    release(program, wire::CL_RELEASE_KERNEL, kernel);
    assert_eq!(buffer(program, LIMIT / 2).0, SUCCESS);
}

/// All that a session may have can be filled: regions are counted apart.
#[test]
fn a_program_can_fill_what_it_may_have() {
    let Some((_agent, mut program)) = start() else {
        return;
    };
    let program = &mut program;
    for name in [MAX_MEM_ALLOC_SIZE, GLOBAL_MEM_SIZE] {
        let done = program.device_info(name, OutRoom::Inline(8));
        let info: wire::ClGetDeviceInfoReply<'_> = reply(&done);
        let InfoValue::Bytes(OutData::Inline(bytes)) = info.value else {
            panic!("{info:?}");
        };
        assert_eq!(u64::from_ne_bytes(bytes.try_into().unwrap()), LIMIT);
    }
    let queue = program.queue(0);
    let (result, all) = buffer(program, LIMIT);
    assert_eq!(result, SUCCESS);
    let data = vec![5; 32 << 20];
    program.write(queue, all, &data, &[]).ended();
    let read = program.read(queue, all, data.len(), &[]);
    assert!(read.done.out[0] == data);
}

/// Files of deep folders take more of the board than their own bytes.
#[test]
fn headers_in_many_folders_are_refused() {
    let Some((_agent, mut program)) = start() else {
        return;
    };
    let program = &mut program;
    let mut refused = 0;
    for n in 0..60 {
        let text = program.program(SCALE);
        let deep = format!("/{}a.h", format!("{n}/").repeat(1500));
        assert!(give(program, text, &[deep]).is_none(), "1,500 folders");
        let wide: Vec<String> = (0..64)
            .map(|w| format!("/{w}/{}a.h", format!("{n}/").repeat(60)))
            .collect();
        refused += usize::from(give(program, text, &wide) != Some(SUCCESS));
    }
    // 64 x 62 entries of 4 KiB each: four programs' fit 64 MiB.
    assert_eq!(refused, 60 - 4);
}

/// What the board says, unless it refuses the call as none of a library's.
fn give(program: &mut Program, of: Handle, paths: &[String]) -> Option<i32> {
    let pieces = paths.iter().flat_map(|path| [path.as_bytes(), b""]);
    let packed = gil_wire::call::pack([&b"/"[..]].into_iter().chain(pieces).map(Some));
    let args = wire::GilGiveFilesArgs {
        program: of,
        count: 1 + 2 * paths.len() as u32,
        files: InData::Inline(&packed),
    };
    let done = program.raw(wire::GIL_GIVE_FILES, &args, &[], &[]);
    match done.status {
        CallStatus::Ran => Some(reply::<wire::GilGiveFilesReply>(&done).result),
        _ => None,
    }
}
