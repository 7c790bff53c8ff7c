//! A real agent on a real OpenCL device, driven as the host interface drives
//! it.

mod common;

use common::agent::{Agent, on_a_device};
use common::program::{OUT_OF_ORDER, Program, SUCCESS, bytes, ints, out, reply};
use common::{Client, Done};
use gil_board::confine::Support;
use gil_wire::Op;
use gil_wire::call::{Handle, InData, InfoValue, NewEvent, OutData, OutRoom};
use gil_wire::ending::Ending;
use gil_wire::generated::opencl::{self as wire, KernelArgument};
use gil_wire::message::{CallStatus, Direction, RegionDesc, Reply, Request};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant};

const CL_DEVICE_NAME: u32 = 0x102b;
const CL_DEVICE_MAX_WORK_GROUP_SIZE: u32 = 0x1004;
const CL_DEVICE_PLATFORM: u32 = 0x1031;
const CL_PROGRAM_BUILD_OPTIONS: u32 = 0x1182;
const CL_PROGRAM_BUILD_LOG: u32 = 0x1183;
const CL_INVALID_MEM_OBJECT: i32 = -38;
const CL_INVALID_BUILD_OPTIONS: i32 = -43;
const CL_INVALID_LINKER_OPTIONS: i32 = -67;
const CL_INVALID_ARG_SIZE: i32 = -51;
const CL_INVALID_KERNEL_ARGS: i32 = -52;
const CL_INVALID_OPERATION: i32 = -59;
const CL_BUILD_PROGRAM_FAILURE: i32 = -11;

/// An agent, unless there is no device here.
fn agent(args: &[&str]) -> Option<Agent> {
    on_a_device(Agent::start(args))
}

#[test]
fn a_program_runs_from_enumeration_to_result() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    let queue = program.queue(0);
    let buffer = program.buffer(4096);
    let kernel = program.scale(buffer, 3);
    let data: Vec<i32> = (0..1024).collect();
    program.write(queue, buffer, &bytes(&data), &[]).ended();
    let run = program.run(queue, kernel, 1024, &[]);
    assert!(run.ended() > 0, "the device's own timers measure it");
    assert!(run.done.cpu_ns > 0 && run.done.busy_ns >= run.done.cpu_ns);
    let read = program.read(queue, buffer, 4096, &[run.event]);
    read.ended();
    let tripled: Vec<i32> = data.iter().map(|i| i * 3).collect();
    assert_eq!(ints(&read.done.out[0]), tripled);
}

#[test]
fn kernels_find_a_busy_device_and_compute_the_same() {
    let Some(agent) = agent(&["--warm-up", "all"]) else {
        return;
    };
    let mut program = Program::start(&agent.address);
    let buffer = program.buffer(4096);
    let kernel = program.scale(buffer, 3);
    let data: Vec<i32> = (0..1024).collect();
    // In front of kernels on queues that execute in order, of which one is gone.
    for (flags, factor) in [(0, 3), (OUT_OF_ORDER, 9), (0, 27)] {
        let queue = program.queue(flags);
        if factor == 3 {
            program.write(queue, buffer, &bytes(&data), &[]).ended();
        }
        let run = program.run(queue, kernel, 1024, &[]);
        assert!(run.ended() > 0, "the device's own timers measure it");
        let read = program.read(queue, buffer, 4096, &[run.event]);
        read.ended();
        let scaled: Vec<i32> = data.iter().map(|i| i * factor).collect();
        assert_eq!(ints(&read.done.out[0]), scaled);
        let args = wire::ClReleaseCommandQueueArgs {
            command_queue: queue,
        };
        program.raw(wire::CL_RELEASE_COMMAND_QUEUE, &args, &[], &[]);
    }
}

#[test]
fn the_same_object_has_the_same_number_in_a_session() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    let (platform, device) = (program.platform, program.device);
    assert!(platform.is_boards() && device.is_boards() && platform != device);
    assert_eq!(program.platforms()[0], platform);
    assert_eq!(program.devices(platform)[0], device);
    let info = program.device_info(CL_DEVICE_PLATFORM, OutRoom::Null);
    let info: wire::ClGetDeviceInfoReply<'_> = reply(&info);
    assert_eq!(info.value, InfoValue::Handles(vec![platform]));
}

#[test]
fn query_values_cross_inline_by_region_and_as_sizes() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    let asked = program.device_info(CL_DEVICE_NAME, OutRoom::Null);
    let asked: wire::ClGetDeviceInfoReply<'_> = reply(&asked);
    assert_eq!(asked.value, InfoValue::None);
    let size = asked.size as u32;
    let small = program.device_info(CL_DEVICE_NAME, OutRoom::Inline(size - 1));
    let small: wire::ClGetDeviceInfoReply<'_> = reply(&small);
    assert_eq!(
        (small.size, small.value),
        (u64::from(size), InfoValue::None)
    );
    let inline = program.device_info(CL_DEVICE_NAME, OutRoom::Inline(size + 9));
    let inline: wire::ClGetDeviceInfoReply<'_> = reply(&inline);
    let InfoValue::Bytes(OutData::Inline(name)) = inline.value else {
        panic!("{inline:?}");
    };
    assert_eq!((name.len() as u32, name.last()), (size, Some(&0)));
    let args = wire::ClGetDeviceInfoArgs {
        device: program.device,
        param_name: CL_DEVICE_NAME,
        param_value: OutRoom::Region(0),
    };
    let region = program.raw(wire::CL_GET_DEVICE_INFO, &args, &[out(2000)], &[]);
    assert_eq!(region.out, [name]);
    let group = program.device_info(CL_DEVICE_MAX_WORK_GROUP_SIZE, OutRoom::Null);
    let group: wire::ClGetDeviceInfoReply<'_> = reply(&group);
    assert!(matches!(&group.value, InfoValue::Sizes(sizes) if sizes.len() == 1 && sizes[0] > 0));
}

#[test]
fn what_waits_for_a_user_event_is_resolved_when_it_is_set() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    let (queue, other) = (program.queue(0), program.queue(0));
    let buffer = program.buffer(16);
    let kernel = program.scale(buffer, 2);
    let gate = program.user_event();
    let began = Instant::now();
    let write = program.write(queue, buffer, &bytes(&[1, 2, 3, 4]), &[gate]);
    write.blocked();
    let run = program.run(queue, kernel, 4, &[]);
    run.blocked();
    // On another queue, through an event; its output comes later.
    let read = program.read(other, buffer, 16, &[run.event]);
    read.blocked();
    assert!(began.elapsed() < Duration::from_secs(5));
    let set = program.set(gate, 0);
    let ended: Vec<u64> = set.reports.iter().map(|(report, _)| report.event).collect();
    assert_eq!(ended, [gate.0, write.event.0, run.event.0, read.event.0]);
    assert!(
        set.reports
            .iter()
            .all(|(report, _)| report.ending == Ending::Done)
    );
    let (last, output) = &set.reports[3];
    assert_eq!(last.out, [16]);
    assert_eq!(ints(&output[0]), [2, 4, 6, 8]);
}

#[test]
fn operations_under_way_end_when_asked_for_in_any_order() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    let queue = program.queue(0);
    let buffer = program.buffer(1 << 20);
    let kernel = program.scale(buffer, 2);
    let data: Vec<i32> = (0..1 << 18).collect();
    program.client.finish = false;
    let write = program.write(queue, buffer, &bytes(&data), &[]);
    let run = program.run(queue, kernel, data.len(), &[]);
    let read = program.read(queue, buffer, 1 << 20, &[]);
    // Whatever else passes through the memory shared with the agent meanwhile.
    program.client.finish = true;
    let other = program.queue(0);
    let scratch = program.buffer(1 << 20);
    program.write(other, scratch, &[0x5a; 1 << 20], &[]);
    for enqueue in [&write, &run, &read] {
        enqueue.blocked();
    }
    let (report, out, text) = program.client.ended(read.event.0);
    assert_eq!((report.event, report.ending), (read.event.0, Ending::Done));
    assert!(
        ints(&out[0])
            .iter()
            .enumerate()
            .all(|(i, &n)| n == 2 * i as i32)
    );
    assert!(text.is_empty());
    let (report, out, _) = program.client.ended(write.event.0);
    assert!(report.ending == Ending::Done && out.is_empty());
    assert!(program.client.ended(run.event.0).0.duration_ns > 0);
}

#[test]
fn what_an_event_unblocks_need_not_end_before_the_answer() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    let queue = program.queue(0);
    let buffer = program.buffer(16);
    program.client.finish = false;
    let gate = program.user_event();
    let write = program.write(queue, buffer, &bytes(&[1, 2, 3, 4]), &[gate]);
    let read = program.read(queue, buffer, 16, &[]);
    let set = program.set(gate, 0);
    assert_eq!(set.reports.len(), 1, "only its own: {set:?}");
    let (_, out, _) = program.client.ended(read.event.0);
    assert_eq!(ints(&out[0]), [1, 2, 3, 4]);
    program.client.ended(write.event.0);
}

#[test]
fn what_ended_before_the_awaited_operation_is_told_with_it() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    let queue = program.queue(0);
    let buffer = program.buffer(16);
    program.client.finish = false;
    let reads: Vec<u64> = (0..3)
        .map(|n| {
            program.write(queue, buffer, &bytes(&[n; 4]), &[]);
            program.read(queue, buffer, 16, &[]).event.0
        })
        .collect();
    let all = program.client.ended_with(reads[2]);
    assert_eq!((all.len(), all[0].0.event), (6, reads[2]));
    for (n, read) in (0..).zip(reads) {
        let (_, out, _) = all.iter().find(|end| end.0.event == read).unwrap();
        assert_eq!(ints(&out[0]), [n; 4]);
    }
}

#[test]
fn waiting_for_what_is_blocked_or_not_there_is_refused() {
    let Some(agent) = agent(&[]) else { return };
    for is_blocked in [true, false] {
        let mut program = Program::start(&agent.address);
        let (queue, buffer) = (program.queue(0), program.buffer(16));
        let gate = program.user_event();
        let read = program.read(queue, buffer, 16, &[gate]);
        let event = if is_blocked { read.event.0 } else { 999 };
        program.client.send(&Request::Await { event }, &[]);
        let reason = program.client.refusal();
        assert!(reason.contains(&format!("event {event}")), "{reason}");
    }
}

/// Enqueues a read of 16 bytes that signals `event`, where the call says that it
/// signals `said`, if anything.
fn signal(program: &mut Program, waits: &[Handle], event: u64, said: Option<u64>) -> Done {
    let (queue, buffer) = (program.queue(0), program.buffer(16));
    let args = wire::ClEnqueueReadBufferArgs {
        command_queue: queue,
        buffer,
        offset: 0,
        size: 16,
        ptr: OutRoom::Region(0),
        event_wait_list: waits.to_vec(),
        event: NewEvent {
            number: Handle(event),
            kept: false,
        },
    };
    program.client.event = said;
    program.raw(wire::CL_ENQUEUE_READ_BUFFER, &args, &[out(16)], &[])
}

#[test]
fn a_number_of_an_operation_that_is_there_is_refused() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    program.client.finish = false;
    let gate = program.user_event();
    let earlier = "is of an earlier operation";
    for (event, waits) in [(777, &[][..]), (778, &[gate])] {
        let first = signal(&mut program, waits, event, Some(event));
        assert_eq!(first.status, CallStatus::Ran);
        let second = signal(&mut program, &[], event, Some(event)).reason();
        assert!(second.contains(earlier), "{second}");
        if event == 778 {
            program.set(gate, 0);
            let third = signal(&mut program, &[], event, Some(event)).reason();
            assert!(third.contains(earlier), "{third}");
        }
        let (report, out, _) = program.client.ended(event);
        assert_eq!((report.ending, out[0].len()), (Ending::Done, 16));
        let after = signal(&mut program, &[], event, Some(event));
        assert_eq!(after.status, CallStatus::Ran, "it was reported");
        program.client.ended(event);
    }
}

#[test]
fn the_number_of_a_report_that_nobody_asked_for_is_refused() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    let args = wire::ClEnqueueMarkerWithWaitListArgs {
        command_queue: program.queue(0),
        event_wait_list: Vec::new(),
        event: NewEvent {
            number: Handle(777),
            kept: false,
        },
    };
    let args = postcard::to_stdvec(&args).unwrap();
    let op = wire::CL_ENQUEUE_MARKER_WITH_WAIT_LIST;
    for _ in 0..2 {
        program.client.event = Some(777);
        program.client.start(op, false, &args, &[], &[]);
    }
    let second = signal(&mut program, &[], 777, Some(777)).reason();
    assert!(second.contains("whose report nobody asked for"), "{second}");
    let (report, ..) = program.client.ended(777);
    assert_eq!((report.ending, report.rejected), (Ending::Done, false));
}

#[test]
fn an_event_that_the_call_does_not_say_is_refused() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    for (said, what) in [(Some(778), "the call event 778"), (None, "the call none")] {
        let reason = signal(&mut program, &[], 777, said).reason();
        assert!(reason.contains("signal event 777"), "{reason}");
        assert!(reason.contains(what), "{reason}");
    }
}

#[test]
fn what_an_unanswered_enqueue_came_to_is_told_when_asked_for() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    let queue = program.queue(0);
    let built = program.program("kernel void k(global int *p) { *p = 1; }");
    assert_eq!(program.build(built, ""), 0);
    let kernel = program.kernel(built, "k");
    let mut post = |queue, arguments: bool| {
        let event = program.event();
        let args = wire::ClEnqueueNDRangeKernelArgs {
            command_queue: queue,
            kernel,
            work_dim: 1,
            global_work_size: Some(vec![1]),
            event,
            ..Default::default()
        };
        let args = postcard::to_stdvec(&args).unwrap();
        let args = if arguments { &args[..] } else { b"" };
        let op = wire::CL_ENQUEUE_ND_RANGE_KERNEL;
        program.client.start(op, false, args, &[], &[]);
        program.client.ended(event.number.0).0.ending
    };
    assert_eq!(post(queue, true), Ending::Failed(CL_INVALID_KERNEL_ARGS));
    let refused = [post(Handle(12345), true), post(queue, false)];
    assert!(
        refused.iter().all(|ending| ending.is_failure()),
        "{refused:?}"
    );
}

#[test]
fn a_failed_user_event_fails_what_waits_for_it() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    let queue = program.queue(0);
    let buffer = program.buffer(16);
    let gate = program.user_event();
    let read = program.read(queue, buffer, 16, &[gate]);
    read.blocked();
    let set = program.set(gate, -5);
    let [(own, _), (failed, output)] = &set.reports[..] else {
        panic!("{set:?}");
    };
    assert_eq!((own.event, own.ending), (gate.0, Ending::Failed(-5)));
    assert_eq!((failed.event, failed.duration_ns), (read.event.0, 0));
    assert!(failed.ending.is_failure(), "{failed:?}");
    assert_eq!(output, &[Vec::<u8>::new()]);
}

#[test]
fn an_out_of_order_queue_does_not_wait_behind_a_blocked_operation() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    let queue = program.queue(OUT_OF_ORDER);
    let (one, two) = (program.buffer(16), program.buffer(16));
    let gate = program.user_event();
    let blocked = program.write(queue, one, &[1; 16], &[gate]);
    blocked.blocked();
    program.write(queue, two, &[2; 16], &[]).ended();
    let read = program.read(queue, two, 16, &[]);
    read.ended();
    assert_eq!(read.done.out, [[2; 16]]);
    assert_eq!(program.set(gate, 0).reports.len(), 2);
}

#[test]
fn markers_and_barriers_wait_for_what_is_before_them() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    let queue = program.queue(OUT_OF_ORDER);
    let buffer = program.buffer(16);
    let gate = program.user_event();
    program.write(queue, buffer, &[1; 16], &[gate]).blocked();
    let marker = wire::ClEnqueueMarkerArgs {
        command_queue: queue,
        event: program.event(),
    };
    let marker = program.raw(wire::CL_ENQUEUE_MARKER, &marker, &[], &[]);
    let barrier = wire::ClEnqueueBarrierArgs {
        command_queue: queue,
        event: program.event(),
    };
    let barrier = program.raw(wire::CL_ENQUEUE_BARRIER, &barrier, &[], &[]);
    assert!(marker.reports.is_empty() && barrier.reports.is_empty());
    let read = program.read(queue, buffer, 16, &[]);
    read.blocked();
    let set = program.set(gate, 0);
    assert_eq!(set.reports.len(), 5);
    assert_eq!(set.reports[4].1, [[1; 16]]);
}

#[test]
fn kernel_arguments_are_checked_before_the_driver_sees_them() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    let buffer = program.buffer(64);
    let kernel = program.scale(buffer, 1);
    let made_up = 0xdead_beef_u64.to_ne_bytes();
    let made_up = || KernelArgument::Bytes(InData::Inline(&made_up));
    assert_eq!(program.arg(kernel, 0, 8, made_up()), CL_INVALID_MEM_OBJECT);
    let queue = program.queue(0);
    let wrong = KernelArgument::Handle(queue);
    assert_eq!(program.arg(kernel, 0, 8, wrong), CL_INVALID_MEM_OBJECT);
    let right = KernelArgument::Handle(buffer);
    assert_eq!(program.arg(kernel, 0, 4, right), CL_INVALID_ARG_SIZE);
    assert_eq!(program.arg(kernel, 1, 8, made_up()), CL_INVALID_ARG_SIZE);
    let null = KernelArgument::Bytes(InData::Inline(&[0; 8]));
    assert_eq!(program.arg(kernel, 0, 8, null), 0);
}

#[test]
fn a_kernel_keeps_the_objects_it_was_given() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    let queue = program.queue(0);
    let buffer = program.buffer(1 << 16);
    let kernel = program.scale(buffer, 5);
    let memobj = wire::ClReleaseMemObjectArgs { memobj: buffer };
    program.raw(wire::CL_RELEASE_MEM_OBJECT, &memobj, &[], &[]);
    let gone = KernelArgument::Handle(buffer);
    assert_eq!(program.arg(kernel, 0, 8, gone), CL_INVALID_MEM_OBJECT);
    for _ in 0..20 {
        let other = program.buffer(1 << 16);
        program.write(queue, other, &[1; 1 << 16], &[]).ended();
        program.run(queue, kernel, 1 << 14, &[]).ended();
        let read = program.read(queue, other, 1 << 16, &[]);
        assert_eq!(
            read.done.out,
            [[1; 1 << 16]],
            "nobody else's memory is written"
        );
    }
}

#[test]
fn the_guest_sees_its_own_build_options() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    let source = "kernel void k(global int *p) { *p = VALUE; }";
    let built = program.program(source);
    assert_eq!(program.build(built, ""), CL_BUILD_PROGRAM_FAILURE);
    assert_eq!(program.build(built, "-DVALUE=1"), 0);
    let args = wire::ClGetProgramBuildInfoArgs {
        program: built,
        device: program.device,
        param_name: CL_PROGRAM_BUILD_OPTIONS,
        param_value: OutRoom::Inline(100),
    };
    let done = program.raw(wire::CL_GET_PROGRAM_BUILD_INFO, &args, &[], &[]);
    let info: wire::ClGetProgramBuildInfoReply<'_> = reply(&done);
    let expected = InfoValue::Bytes(OutData::Inline(b"-DVALUE=1\0"));
    assert_eq!((info.size, info.value), (10, expected));
}

/// Whether a program that includes this file is built with these options, and
/// what its log quotes.
fn including(program: &mut Program, file: &Path, options: &str) -> (i32, String) {
    let name = file.file_name().unwrap().to_str().unwrap();
    let source = format!("#include \"{name}\"\nkernel void k(global int *p) {{ *p = 1; }}");
    let built = program.program(&source);
    let result = program.build(built, options);
    (result, log(program, built))
}

fn log(program: &mut Program, built: Handle) -> String {
    let args = wire::ClGetProgramBuildInfoArgs {
        program: built,
        device: program.device,
        param_name: CL_PROGRAM_BUILD_LOG,
        param_value: OutRoom::Inline(8192),
    };
    let done = program.raw(wire::CL_GET_PROGRAM_BUILD_INFO, &args, &[], &[]);
    String::from_utf8_lossy(&done.result).into_owned()
}

#[test]
fn a_program_names_no_file_of_the_boards_to_the_compiler() {
    // Without confinement, by which the compiler sees no such file anyway.
    let Some(agent) = agent(&["--no-confinement"]) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret.h");
    std::fs::write(&file, "in the board's file\n").unwrap();
    let (at, above) = (folder.path().display(), "../".repeat(40));
    let mut program = Program::start(&agent.address);
    for options in [
        format!("-I{at}"),
        format!("-I {at}"),
        format!("-I \"{at}\""),
        format!("-I {above}{at}"),
        format!("-isystem {at}"),
        format!("-iquote {at}"),
        format!("-include {}", file.display()),
        format!("-imacros {}", file.display()),
        format!("-D \"A -I{at}\""),
        format!("-Wp,-I,{at}"),
        format!("-Xclang -I -Xclang {at}"),
        format!("@{}", file.display()),
        format!("{}", file.display()),
    ] {
        let (result, log) = including(&mut program, &file, &options);
        assert_ne!(result, 0, "{options}");
        assert!(!log.contains("in the board's file"), "{options}: {log}");
        assert!(!log.contains("unknown type name 'in'"), "{options}: {log}");
    }
    let (result, _) = including(&mut program, &file, "-include x");
    assert_eq!(result, CL_INVALID_BUILD_OPTIONS);
    // Nor the second time, when the driver has built the program already.
    let built = program.program("kernel void k(global int *p) { *p = 1; }");
    assert_eq!(program.build(built, ""), 0);
    std::fs::write(&file, "").unwrap();
    let options = format!("-include {}", file.display());
    assert_eq!(program.build(built, &options), CL_INVALID_BUILD_OPTIONS);
    let args = wire::ClLinkProgramArgs {
        context: program.context,
        options: InData::Inline(b"-o /tmp/x"),
        new: program.number(),
        ..Default::default()
    };
    let linked: wire::ClLinkProgramReply = program.call(wire::CL_LINK_PROGRAM, &args);
    assert_eq!(linked.result, CL_INVALID_LINKER_OPTIONS);
}

#[test]
fn a_confined_compiler_reads_no_file_of_the_boards() {
    if let Some(lack) = Support::here().lack() {
        return gil_need::skip("Landlock and seccomp", lack);
    }
    let Some(agent) = agent(&[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret.h");
    std::fs::write(&file, "in the board's file\n").unwrap();
    let (at, name) = (file.display(), "SECRET");
    let mut program = Program::start(&agent.address);
    for source in [
        format!("#include \"{at}\"\n"),
        format!("#include \"{}{at}\"\n", "../".repeat(40)),
        format!("#define {name} \"{at}\"\n#include {name}\n"),
        format!("__asm__(\".incbin \\\"{at}\\\"\");\n"),
        "#include \"/etc/passwd\"\n".into(),
    ] {
        let built = program.program(&format!(
            "{source}kernel void k(global int *p) {{ *p = 1; }}"
        ));
        let result = program.build(built, "");
        let log = log(&mut program, built);
        // An assembler's file is read when a kernel is made, or not at all.
        assert!(result != 0 || source.contains("incbin"), "{source}");
        for quoted in ["in the board's file", "unknown type name", "root:"] {
            assert!(!log.contains(quoted), "{source}: {log}");
        }
    }
}

#[test]
fn mapping_reads_and_unmapping_writes() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    let queue = program.queue(0);
    let buffer = program.buffer(16);
    program.write(queue, buffer, &[7; 16], &[]).ended();
    let args = wire::ClEnqueueMapBufferArgs {
        command_queue: queue,
        buffer,
        offset: 4,
        size: 8,
        memory: OutRoom::Region(0),
        event: program.event(),
        ..Default::default()
    };
    let mapped = program.raw(wire::CL_ENQUEUE_MAP_BUFFER, &args, &[out(8)], &[]);
    assert_eq!(mapped.out, [[7; 8]]);
    let args = wire::ClEnqueueUnmapMemObjectArgs {
        command_queue: queue,
        memobj: buffer,
        offset: 4,
        size: 8,
        memory: InData::Inline(&[9; 8]),
        event: program.event(),
        ..Default::default()
    };
    let unmapped = program.raw(wire::CL_ENQUEUE_UNMAP_MEM_OBJECT, &args, &[], &[]);
    assert_eq!(unmapped.reports.len(), 1);
    let read = program.read(queue, buffer, 16, &[]);
    assert_eq!(
        read.done.out[0][..],
        [&[7; 4][..], &[9; 8], &[7; 4]].concat()
    );
    let nothing = wire::ClEnqueueMapBufferArgs {
        command_queue: queue,
        buffer,
        size: 16,
        event: program.event(),
        ..Default::default()
    };
    let marker = program.raw(wire::CL_ENQUEUE_MAP_BUFFER, &nothing, &[], &[]);
    assert_eq!((marker.status, marker.reports.len()), (CallStatus::Ran, 1));
}

#[test]
fn requests_that_name_what_is_not_there_are_refused() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    let queue = program.queue(0);
    let buffer = program.buffer(16);
    let mut refused = |args: &wire::ClEnqueueReadBufferArgs, regions: &[_]| {
        program.client.event = Some(args.event.number.0);
        let done = program.raw(wire::CL_ENQUEUE_READ_BUFFER, args, regions, &[]);
        assert_eq!(done.status, CallStatus::Refused);
        done.reason()
    };
    let good = wire::ClEnqueueReadBufferArgs {
        command_queue: queue,
        buffer,
        size: 16,
        ptr: OutRoom::Region(0),
        event: gil_wire::call::NewEvent {
            number: Handle(999),
            kept: true,
        },
        ..Default::default()
    };
    let mut unknown = good.clone();
    unknown.buffer = Handle(12345);
    assert!(refused(&unknown, &[out(16)]).contains("0x3039"));
    let mut kind = good.clone();
    kind.buffer = queue;
    assert!(refused(&kind, &[out(16)]).contains("cl_mem"));
    assert!(refused(&good, &[out(15)]).contains("15 bytes"));
    assert!(refused(&good, &[]).contains("region 0"));
    let mut taken = good.clone();
    taken.event.number = queue;
    assert!(refused(&taken, &[out(16)]).contains("taken"));
    program.client.event = Some(good.event.number.0);
    let done = program.raw(wire::CL_ENQUEUE_READ_BUFFER, &good, &[out(16)], &[]);
    assert_eq!(done.status, CallStatus::Ran, "the session goes on");
    let garbage = program
        .client
        .call(wire::CL_CREATE_BUFFER, &[0xff; 40], &[], &[]);
    assert_eq!(garbage.status, CallStatus::Refused);
    let nothing = program
        .client
        .call(gil_wire::Op::new(1, 60000), &[], &[], &[]);
    assert!(nothing.reason().contains("no OpenCL call"));
}

#[test]
fn random_arguments_are_refused_and_never_a_crash() {
    let Some(agent) = agent(&[]) else { return };
    let client = RefCell::new(Client::open(&agent.address));
    let entries = (0u16..160, prop::collection::vec(any::<u8>(), 0..64));
    let regions = prop::collection::vec((0u64..100, any::<bool>()), 0..3);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(3000));
    let calls = runner.run(&(entries, regions), |((entry, args), regions)| {
        let region = |(len, goes_in): (u64, bool)| RegionDesc {
            len,
            dir: if goes_in {
                Direction::In
            } else {
                Direction::Out
            },
        };
        let regions: Vec<_> = regions.into_iter().map(region).collect();
        let ins = regions.iter().filter(|region| region.dir.is_in());
        let payload = vec![0x5a; ins.map(|region| region.len as usize).sum()];
        let mut client = client.borrow_mut();
        client.call(Op::new(1, entry), &args, &regions, &[&payload]);
        Ok(())
    });
    calls.unwrap();
    client.into_inner().ping(1).unwrap();
}

#[test]
fn an_enqueue_that_fails_is_reported_as_ended() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    let queue = program.queue(0);
    let built = program.program("kernel void k(global int *p) { *p = 1; }");
    assert_eq!(program.build(built, ""), 0);
    let kernel = program.kernel(built, "k");
    let run = program.run(queue, kernel, 1, &[]);
    assert_eq!(run.result, CL_INVALID_KERNEL_ARGS);
    let [(report, _)] = &run.done.reports[..] else {
        panic!("{:?}", run.done);
    };
    assert_eq!(
        (report.event, report.ending),
        (run.event.0, Ending::Failed(run.result))
    );
    assert_eq!(report.duration_ns, 0);
}

#[test]
fn setting_an_event_twice_is_the_apis_error() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    let gate = program.user_event();
    program.set(gate, 0);
    let args = wire::ClSetUserEventStatusArgs {
        event: gate,
        execution_status: 0,
    };
    let reply: wire::ClSetUserEventStatusReply =
        program.call(wire::CL_SET_USER_EVENT_STATUS, &args);
    assert_eq!(reply.result, CL_INVALID_OPERATION);
    let again = program.raw(wire::CL_SET_USER_EVENT_STATUS, &args, &[], &[]);
    assert!(again.reports.is_empty(), "it was not set now");
}

#[test]
fn a_vanished_client_leaves_nothing_behind_even_with_blocked_operations() {
    let Some(agent) = agent(&["--max-sessions", "1"]) else {
        return;
    };
    for _ in 0..3 {
        let mut program = connect_when_free(&agent);
        let queue = program.queue(0);
        let buffer = program.buffer(1 << 20);
        let gate = program.user_event();
        program
            .write(queue, buffer, &vec![1; 1 << 20], &[gate])
            .blocked();
        program.read(queue, buffer, 1 << 20, &[]).blocked();
    }
    connect_when_free(&agent);
}

#[test]
fn two_endless_kernels_and_a_hang_up_leave_their_places_free() {
    let args = ["--max-sessions", "2", "--hang-up-grace", "1"];
    let Some(agent) = agent(&args) else { return };
    let endless = || {
        let mut program = Program::start(&agent.address);
        let queue = program.queue(0);
        let buffer = program.buffer(64);
        program.write(queue, buffer, &[0; 64], &[]).ended();
        let source = "kernel void endless(global volatile int *a) { while (!a[0]) {} }";
        let built = program.program(source);
        assert_eq!(program.build(built, ""), SUCCESS);
        let kernel = program.kernel(built, "endless");
        let argument = KernelArgument::Handle(buffer);
        assert_eq!(program.arg(kernel, 0, 8, argument), SUCCESS);
        program.client.finish = false;
        assert_eq!(program.run(queue, kernel, 1, &[]).result, SUCCESS);
        program
    };
    drop((endless(), endless()));
    let both = (connect_when_free(&agent), connect_when_free(&agent));
    agent.says("is ended by force");
    drop(both);
}

/// A kernel that waits for the program, and behind it one that was never launched before.
#[test]
fn a_first_launch_behind_a_kernel_that_waits_keeps_the_program_going() {
    let Some(agent) = agent(&[]) else { return };
    let mut program = Program::start(&agent.address);
    let (queue, other) = (program.queue(0), program.queue(0));
    let flag = program.buffer(64);
    program.write(queue, flag, &[0; 64], &[]).ended();
    let source = "kernel void waits(global volatile int *a) { while (!a[0]) {} }";
    let built = program.program(source);
    assert_eq!(program.build(built, ""), SUCCESS);
    let waits = program.kernel(built, "waits");
    let argument = KernelArgument::Handle(flag);
    assert_eq!(program.arg(waits, 0, 8, argument), SUCCESS);
    let buffer = program.buffer(64);
    let scale = program.scale(buffer, 3);
    program.write(queue, buffer, &bytes(&[5; 16]), &[]).ended();
    program.client.finish = false;
    assert_eq!(program.run(queue, waits, 1, &[]).result, SUCCESS);
    assert_eq!(program.run(queue, scale, 16, &[]).result, SUCCESS);
    program.client.finish = true;
    program.write(other, flag, &[1; 64], &[]).ended();
    let read = program.read(queue, buffer, 64, &[]);
    read.ended();
    assert_eq!(ints(&read.done.out[0]), [15; 16]);
}

/// A program, as soon as the one session there may be is free.
fn connect_when_free(agent: &Agent) -> Program {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let mut client = Client::connect(&agent.address);
        if client.ping(1).is_ok() {
            return Program::with(client);
        }
        assert!(Instant::now() < until, "the session is never released");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn sixty_four_sessions_work_side_by_side() {
    let Some(agent) = agent(&[]) else { return };
    let programs: Vec<_> = (0..64).map(|_| Program::start(&agent.address)).collect();
    let work = |(number, mut program): (usize, Program)| {
        let queue = program.queue(0);
        let buffer = program.buffer(64);
        let data = [number as u8; 64];
        program.write(queue, buffer, &data, &[]).ended();
        assert_eq!(program.read(queue, buffer, 64, &[]).done.out, [data]);
    };
    std::thread::scope(|scope| {
        for numbered in programs.into_iter().enumerate() {
            scope.spawn(move || work(numbered));
        }
    });
}

#[test]
fn scripted_times_replace_measured_ones() {
    let Some(agent) = agent(&["--scripted-times", "cpu=1000,device=2000"]) else {
        return;
    };
    let mut program = Program::start(&agent.address);
    let queue = program.queue(0);
    let buffer = program.buffer(16);
    let write = program.write(queue, buffer, &[0; 16], &[]);
    assert_eq!((write.done.cpu_ns, write.ended()), (1000, 2000));
}

#[test]
fn devices_are_described() {
    let Some(agent) = agent(&[]) else { return };
    let mut client = Client::connect(&agent.address);
    client.send(&Request::Devices, &[]);
    let devices = client.receive(|reply, _| match reply {
        Reply::Devices { devices } => devices,
        other => panic!("{other:?}"),
    });
    let devices = devices.unwrap();
    assert!(!devices.is_empty());
    for device in devices {
        assert!(["OpenCL", "OpenGL ES"].contains(&device.api.as_str()));
        assert!(!device.name.is_empty() && !device.platform.is_empty());
    }
}

#[test]
fn the_agent_ends_with_signals_and_with_its_standard_input() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let Some(mut agent) = agent(&[]) else { return };
        let _session = Program::start(&agent.address);
        kill(Pid::from_raw(agent.pid().cast_signed()), signal).unwrap();
        let status = agent.wait(Duration::from_secs(10)).expect("it ends");
        assert!(status.success(), "{signal}: {status}");
    }
    let Some(mut agent) = agent(&[]) else { return };
    drop(agent.stdin.take());
    assert!(
        agent
            .wait(Duration::from_secs(10))
            .expect("it ends")
            .success()
    );
}
