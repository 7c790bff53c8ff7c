//! A checkpoint between a guest's driver, the host interface and a real agent on
//! a real OpenCL device; the simulator is this test.

mod program;
#[path = "../../../host-iface/tests/support/mod.rs"]
mod support;

use gil_host::Host;
use gil_host::memory::Mapped;
use gil_wire::ending::Ending;
use gil_wire::envelope::State;
use gil_wire::generated::opencl::{self as cl, KernelArgument};
use program::{Agent, COPY_HOST_PTR, COUNT, PIXELS, Program, bytes, ints};
use support::Log;
use support::guest::RAM_BASE;

const HOST_NO_ACCESS: u64 = 512;

#[test]
fn a_program_goes_on_with_its_objects_and_their_contents() {
    let Some(agent) = Agent::start() else { return };
    let config = agent.config(true);
    let mut program = Program::start(config.clone());
    let data: Vec<i32> = (0..COUNT as i32).collect();
    let first = bytes(data.iter().map(|i| -i));
    let input = program.buffer(COPY_HOST_PTR, Some(&first));
    let untouched = program.buffer(COPY_HOST_PTR | HOST_NO_ACCESS, Some(&first));
    let output = program.buffer(0, None);
    let kernel = program.scale(input, output, 3);
    let written = program.write(input, &bytes(data.iter().copied()));
    let path = program.save().unwrap();
    let before = program.state(written);
    assert_eq!((before.0, before.1), (State::Complete, Ending::Done));
    let mut program = program.restored(&config, &path);
    assert_eq!(program.state(written), before, "its interval stays");
    let ran = program.run(kernel, &[written]);
    let scaled: Vec<i32> = data.iter().map(|i| i * 3 + 5).collect();
    assert_eq!(program.read(output, &[ran]), scaled);
    // A checkpoint of what was restored, with what was made since.
    let again = program.scale(untouched, input, 2);
    let path = program.save().unwrap();
    let mut program = program.restored(&config, &path);
    assert_eq!(program.read(output, &[]), scaled);
    program.run(again, &[]);
    let doubled: Vec<i32> = data.iter().map(|i| -2 * i + 5).collect();
    assert_eq!(program.read(input, &[]), doubled);
}

#[test]
fn images_parts_and_kernels_that_the_board_numbers_come_back() {
    let Some(agent) = Agent::start() else { return };
    let config = agent.config(true);
    let mut program = Program::start(config.clone());
    let pixels: Vec<u8> = (0..4 * PIXELS).map(|i| (i * 7) as u8).collect();
    let image = program.image(true, &pixels);
    let whole = program.buffer(0, None);
    let data: Vec<i32> = (0..COUNT as i32).collect();
    program.write(whole, &bytes(data.iter().copied()));
    let half = program.half(whole);
    let source = "kernel void one(global int *a) { a[get_global_id(0)] += 1; }";
    let built = program.program(source);
    assert_eq!(program.build(built, ""), 0);
    // The first ones are gone; the numbers of the others stay.
    for kernel in program.kernels(built) {
        program.post(cl::CL_RELEASE_KERNEL, &cl::ClReleaseKernelArgs { kernel });
    }
    let kernels = program.kernels(built);
    program.arg(kernels[0], 0, 8, KernelArgument::Handle(half));
    let path = program.save().unwrap();
    let mut program = program.restored(&config, &path);
    assert_eq!(program.read_image(image, true), pixels);
    assert_eq!(program.read(whole, &[]), data);
    let event = program.event();
    let args = cl::ClEnqueueNDRangeKernelArgs {
        command_queue: program.queue,
        kernel: kernels[0],
        work_dim: 1,
        global_work_size: Some(vec![COUNT as u64 / 2]),
        event,
        ..Default::default()
    };
    let op = cl::CL_ENQUEUE_ND_RANGE_KERNEL;
    program.enqueue(op, &args, event.number, (&[], false), &[]);
    let half = COUNT as i32 / 2;
    let changed: Vec<i32> = data.iter().map(|i| i + i32::from(*i >= half)).collect();
    assert_eq!(
        program.read(whole, &[]),
        changed,
        "the part lies in the whole"
    );
}

const LOOK: &str = "
    kernel void look(read_only image3d_t image, sampler_t sampler, global int *out) {
        int i = get_global_id(0);
        int4 at = (int4)(i % 8 - 1, i / 8 % 8, i / 64 % 4, 0);
        out[i] = read_imageui(image, sampler, at).x;
    }";

#[test]
fn programs_of_binaries_samplers_and_images_of_three_dimensions_come_back() {
    let Some(agent) = Agent::start() else { return };
    let config = agent.config(true);
    let mut program = Program::start(config.clone());
    let pixels: Vec<u8> = (0..4 * PIXELS).map(|i| (i * 5) as u8).collect();
    let image = program.image(false, &pixels);
    let sampler = program.sampler();
    let output = program.buffer(0, None);
    let source = program.program(LOOK);
    assert_eq!(program.build(source, ""), 0);
    let binary = program.binary(source);
    let built = program.of_binary(&binary);
    let look = program.kernel(built, "look");
    program.arg(look, 0, 8, KernelArgument::Handle(image));
    program.arg(look, 1, 8, KernelArgument::Handle(sampler));
    program.arg(look, 2, 8, KernelArgument::Handle(output));
    let path = program.save().unwrap();
    let mut program = program.restored(&config, &path);
    assert_eq!(program.read_image(image, false), pixels);
    let ran = program.run(look, &[]);
    let seen = program.read(output, &[ran]);
    // The edge is what lies one to the left of it.
    let at = |i: usize| i.saturating_sub(usize::from(!i.is_multiple_of(8))) % PIXELS;
    let expected: Vec<i32> = (0..COUNT).map(|i| pixels[4 * at(i)].into()).collect();
    assert_eq!(seen, expected);
    // The binary's program itself came back, not only its kernel.
    let again = program.kernel(built, "look");
    program.arg(again, 0, 8, KernelArgument::Handle(image));
    assert_eq!(program.binary(built), binary);
    assert!(!program.binary(source).is_empty());
}

#[test]
fn what_cannot_be_kept_is_named_and_the_program_goes_on() {
    let Some(agent) = Agent::start() else { return };
    let mut program = Program::start(agent.config(true));
    let buffer = program.buffer(0, None);
    let new = program.number();
    let args = cl::ClCreateUserEventArgs {
        context: program.context,
        new,
    };
    program.done(cl::CL_CREATE_USER_EVENT, &args, &[]);
    let kernel = program.scale(buffer, buffer, 1);
    program.run(kernel, &[new]);
    let refused = program.save().unwrap_err().to_string();
    assert!(
        refused.contains("user events that are not set"),
        "{refused}"
    );
    assert!(!program.state_path().exists());
    let mut other = Program::start(agent.config(false));
    let refused = other.save().unwrap_err().to_string();
    assert!(refused.contains("checkpoint-log"), "{refused}");
    let written = other.buffer(0, None);
    let data = bytes(0..COUNT as i32);
    other.write(written, &data);
    assert_eq!(other.read(written, &[]), ints(&data));
}

#[test]
fn a_damaged_file_is_refused_and_leaves_no_session() {
    let Some(agent) = Agent::start() else { return };
    let config = agent.config(true);
    let mut program = Program::start(config.clone());
    program.buffer(0, None);
    let path = program.save().unwrap();
    let good = std::fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let host = Host::new(&config, "test", Box::new(Log::default())).unwrap();
        let memory = Mapped::open(&program.guest.ram_path(), RAM_BASE, vec![]).unwrap();
        host.set_memory(Box::new(memory));
        let error = host.restore(&path).unwrap_err().to_string();
        assert_eq!(host.counters().sessions, 0);
        error
    };
    for len in [0, 20, 60, good.len() / 2, good.len() - 1] {
        let reason = refused(&good[..len]);
        assert!(reason.contains("is incomplete"), "{len}: {reason}");
    }
    let mut other = good.clone();
    other[12] ^= 1;
    assert!(refused(&other).contains("layout"));
    let mut flipped = good.clone();
    *flipped.last_mut().unwrap() ^= 1;
    assert!(refused(&flipped).contains("checksum"));
    assert!(refused(&[good.clone(), vec![0]].concat()).contains("is incomplete"));
}
