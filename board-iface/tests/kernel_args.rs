//! Kernel arguments where the driver does not say what they are: no bytes of a
//! guest go where the driver expects an object, whatever the program is made
//! of.

mod common;

use common::agent::{Agent, on_a_device};
use common::program::{Program, bytes, ints, out, reply};
use gil_wire::call::{Handle, InData, OutRoom, Packed, pack};
use gil_wire::generated::opencl::{self as wire, KernelArgument};

const CL_INVALID_MEM_OBJECT: i32 = -38;
const CL_INVALID_ARG_VALUE: i32 = -50;
const CL_INVALID_ARG_SIZE: i32 = -51;

const SOURCE: &str = "
    typedef ulong factor_t;
    kernel void scale(global int *data, factor_t factor, local int *scratch, int offset) {
        data[get_global_id(0)] = data[get_global_id(0)] * (int)factor + offset;
    }";

/// An agent that does not ask the driver, unless there is no device here.
fn agent() -> Option<Agent> {
    agent_with(&["--no-kernel-arg-info"])
}

fn agent_with(args: &[&str]) -> Option<Agent> {
    on_a_device(Agent::start(args))
}

fn inline(bytes: &[u8]) -> KernelArgument<'_> {
    KernelArgument::Bytes(InData::Inline(bytes))
}

fn built(program: &mut Program, source: &str) -> Handle {
    let built = program.program(source);
    assert_eq!(program.build(built, ""), 0);
    built
}

/// Sets wrong arguments of `scale`, then right ones, and runs it.
fn scales(program: &mut Program, kernel: Handle) {
    let (queue, buffer) = (program.queue(0), program.buffer(64));
    let wild = 0xdead_beef_u64.to_ne_bytes();
    let int = 7i32.to_ne_bytes();
    assert_eq!(
        program.arg(kernel, 0, 8, inline(&wild)),
        CL_INVALID_MEM_OBJECT
    );
    let other = KernelArgument::Handle(queue);
    assert_ne!(program.arg(kernel, 0, 8, other), 0);
    assert_ne!(program.arg(kernel, 0, 4, inline(&int)), 0);
    assert_ne!(program.arg(kernel, 2, 8, inline(&wild)), 0);
    assert_eq!(
        program.arg(kernel, 3, 8, inline(&wild)),
        CL_INVALID_ARG_SIZE
    );
    assert_eq!(program.arg(kernel, 0, 8, KernelArgument::Handle(buffer)), 0);
    assert_eq!(program.arg(kernel, 1, 8, inline(&3u64.to_ne_bytes())), 0);
    assert_eq!(program.arg(kernel, 2, 64, KernelArgument::Local), 0);
    assert_eq!(program.arg(kernel, 3, 4, inline(&int)), 0);
    let data: Vec<i32> = (0..16).collect();
    program.write(queue, buffer, &bytes(&data), &[]).ended();
    program.run(queue, kernel, 16, &[]).ended();
    let read = program.read(queue, buffer, 64, &[]);
    let expected: Vec<i32> = data.iter().map(|i| i * 3 + 7).collect();
    assert_eq!(ints(&read.done.out[0]), expected);
}

#[test]
fn arguments_are_known_from_the_source() {
    for args in [&["--no-kernel-arg-info"][..], &["--unknown-arg-info"], &[]] {
        let Some(agent) = agent_with(args) else {
            return;
        };
        let mut program = Program::start(&agent.address);
        let built = built(&mut program, SOURCE);
        let kernel = program.kernel(built, "scale");
        scales(&mut program, kernel);
        // A value like a live object's handle: the guest sends it again as bytes.
        let like_handle = KernelArgument::Handle(program.queue(0));
        let answer = program.arg(kernel, 1, 8, like_handle);
        assert_eq!(answer, CL_INVALID_ARG_VALUE);
        if !args.is_empty() {
            // No driver is to read more than the guest gave.
            let short = program.arg(kernel, 1, 4, inline(&[0; 4]));
            assert_eq!(short, CL_INVALID_ARG_SIZE);
        }
    }
}

#[test]
fn arguments_of_a_binary_are_told_apart() {
    let Some(agent) = agent() else { return };
    let mut program = Program::start(&agent.address);
    let built = built(&mut program, SOURCE);
    let binary = binary(&mut program, built);
    let loaded = load(&mut program, &binary);
    assert_eq!(program.build(loaded, ""), 0);
    let kernel = program.kernel(loaded, "scale");
    scales(&mut program, kernel);
}

fn binary(program: &mut Program, of: Handle) -> Vec<u8> {
    let room = 1 << 20;
    let args = wire::GilGetProgramBinaryArgs {
        program: of,
        index: 0,
        binary: OutRoom::Region(0),
    };
    let done = program.raw(wire::GIL_GET_PROGRAM_BINARY, &args, &[out(room)], &[]);
    let answer: wire::GilGetProgramBinaryReply<'_> = reply(&done);
    assert_eq!(answer.result, 0);
    assert!(answer.size > 0);
    done.out[0][..answer.size as usize].to_vec()
}

fn load(program: &mut Program, binary: &[u8]) -> Handle {
    let new = program.number();
    let packed = pack([Some(binary)]);
    let args = wire::ClCreateProgramWithBinaryArgs {
        context: program.context,
        num_devices: 1,
        device_list: Some(vec![program.device]),
        binaries: Packed {
            count: 1,
            data: InData::Inline(&packed),
        },
        new,
        ..Default::default()
    };
    let op = wire::CL_CREATE_PROGRAM_WITH_BINARY;
    let answer: wire::ClCreateProgramWithBinaryReply = program.call(op, &args);
    assert_eq!(answer.result, 0);
    new
}

#[test]
fn arguments_are_known_from_headers_and_linked_programs() {
    let Some(agent) = agent() else { return };
    let mut program = Program::start(&agent.address);
    let header = program.program("typedef ulong factor_t;\n#define DATA global int *data");
    let source = SOURCE
        .replace("typedef ulong factor_t;", "#include \"types/factor.h\"")
        .replace("global int *data", "DATA");
    let unit = program.program(&source);
    compile(&mut program, unit, "types/factor.h", header);
    let linked = link(&mut program, unit);
    // What it was made of may be gone.
    for gone in [header, unit] {
        let args = wire::ClReleaseProgramArgs { program: gone };
        program.raw(wire::CL_RELEASE_PROGRAM, &args, &[], &[]);
    }
    let kernel = program.kernel(linked, "scale");
    scales(&mut program, kernel);
}

fn compile(program: &mut Program, unit: Handle, name: &str, header: Handle) {
    let names = pack([Some(name.as_bytes())]);
    let args = wire::ClCompileProgramArgs {
        program: unit,
        options: InData::Inline(b""),
        num_input_headers: 1,
        input_headers: Some(vec![header]),
        header_include_names: Packed {
            count: 1,
            data: InData::Inline(&names),
        },
        ..Default::default()
    };
    let answer: wire::ClCompileProgramReply = program.call(wire::CL_COMPILE_PROGRAM, &args);
    assert_eq!(answer.result, 0);
}

fn link(program: &mut Program, unit: Handle) -> Handle {
    let new = program.number();
    let args = wire::ClLinkProgramArgs {
        context: program.context,
        options: InData::Inline(b""),
        num_input_programs: 1,
        input_programs: Some(vec![unit]),
        new,
        ..Default::default()
    };
    let answer: wire::ClLinkProgramReply = program.call(wire::CL_LINK_PROGRAM, &args);
    assert_eq!(answer.result, 0);
    new
}

#[test]
fn a_text_that_a_compiler_reads_otherwise_passes_no_wild_pointer() {
    let Some(agent) = agent() else { return };
    let mut program = Program::start(&agent.address);
    let source = "
        #if __has_attribute(overloadable)
        kernel void k(global int *p) { *p = 1; }
        #else
        kernel void k(ulong p) { }
        #endif";
    let built = built(&mut program, source);
    let kernel = program.kernel(built, "k");
    let wild = 0xdead_beef_u64.to_ne_bytes();
    assert_eq!(
        program.arg(kernel, 0, 8, inline(&wild)),
        CL_INVALID_MEM_OBJECT
    );
    let buffer = program.buffer(64);
    assert_eq!(program.arg(kernel, 0, 8, KernelArgument::Handle(buffer)), 0);
}

#[test]
fn a_sampler_is_known_from_the_source_and_goes_into_a_binary() {
    let Some(agent) = agent() else { return };
    let mut program = Program::start(&agent.address);
    let source = "kernel void k(sampler_t s, read_only image2d_t i, ulong v) { }";
    let built = built(&mut program, source);
    let binary = binary(&mut program, built);
    let loaded = load(&mut program, &binary);
    assert_eq!(program.build(loaded, ""), 0);
    let sampler = sampler(&mut program);
    let wild = 0xdead_beef_u64.to_ne_bytes();
    for (program_of, known) in [(built, true), (loaded, false)] {
        let kernel = program.kernel(program_of, "k");
        let mut set = |index, value| program.arg(kernel, index, 8, value);
        assert_eq!(set(0, KernelArgument::Handle(sampler)), 0);
        assert_eq!(set(0, inline(&wild)) != 0, known);
        assert_eq!(set(1, inline(&wild)) != 0, known);
        assert_eq!(set(2, inline(&wild)), 0);
        assert_eq!(set(2, KernelArgument::Handle(sampler)) != 0, known);
    }
}

fn sampler(program: &mut Program) -> Handle {
    let new = program.number();
    let args = wire::ClCreateSamplerArgs {
        context: program.context,
        normalized_coords: 0,
        addressing_mode: 0x1131,
        filter_mode: 0x1140,
        new,
    };
    let answer: wire::ClCreateSamplerReply = program.call(wire::CL_CREATE_SAMPLER, &args);
    assert_eq!(answer.result, 0);
    new
}
