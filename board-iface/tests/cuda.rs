//! CUDA's back end on this machine's device, as the host uses it: a kernel's results, its
//! duration, and what a kernel that fails ends. Everything but kernels is tested in guests,
//! over a driver that runs none (`tests/tests/cuda.rs`).

#![allow(non_snake_case)]

mod common;

use common::agent::{ANY_PORT, Agent, command};
use common::{Client, Done};
use gil_wire::Op;
use gil_wire::call::{Handle, InData, NewEvent, OutRoom};
use gil_wire::ending::Ending;
use gil_wire::generated::cuda as wire;
use gil_wire::message::{CallStatus, Direction, RegionDesc};
use serde::{Deserialize, Serialize};

const SUCCESS: i32 = 0;
const ILLEGAL_ADDRESS: i32 = 700;

/// `b[i] = a[i] * factor + 1`, and one that writes where nothing is.
const KERNELS: &str = "
.version 7.0
.target sm_52
.address_size 64
.visible .global .align 4 .u32 counter = 7;
.visible .entry scale(.param .u64 a, .param .u64 b, .param .u32 n, .param .f32 factor)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<4>;
    .reg .b64 %d<8>;
    ld.param.u64 %d1, [a];
    ld.param.u64 %d2, [b];
    ld.param.u32 %r1, [n];
    ld.param.f32 %f1, [factor];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %d3, %r5, 4;
    add.s64 %d4, %d1, %d3;
    add.s64 %d5, %d2, %d3;
    ld.global.f32 %f2, [%d4];
    fma.rn.f32 %f3, %f2, %f1, 0f3F800000;
    st.global.f32 [%d5], %f3;
DONE:
    ret;
}
.visible .entry astray()
{
    .reg .b64 %d<2>;
    mov.u64 %d1, 16;
    st.global.u32 [%d1], 1;
    ret;
}
";

/// An agent whose driver runs kernels, unless there is none here.
fn agent() -> Option<Agent> {
    let mut command = command(&ANY_PORT);
    // A copy of the tests on another machine has the agent elsewhere.
    if let Some(other) = std::env::var_os("GIL_TESTS_BOARD") {
        command = std::process::Command::new(other);
        command.arg("--exit-with-stdin").args(ANY_PORT);
        common::agent::piped(&mut command);
    }
    let agent = Agent::started(command);
    let has_cuda = agent.as_ref().is_ok_and(|agent| {
        let listed = agent.says("CUDA: ");
        listed.contains("CUDA: ") && !listed.contains("Null device")
    });
    match agent {
        Ok(agent) if has_cuda => Some(agent),
        _ => None,
    }
}

/// Whether this machine may have a device: the agent says so only if it has one.
fn has_device() -> bool {
    let has = std::path::Path::new("/dev/nvidiactl").exists();
    if !has {
        gil_need::skip("a CUDA device", "there is no /dev/nvidiactl");
    }
    has
}

struct Program {
    client: Client,
    next: u64,
    /// Whether its copies are from and to memory that it pinned.
    is_pinned: bool,
}

impl Program {
    fn start(agent: &Agent) -> Self {
        let mut program = Self {
            client: Client::open(&agent.address),
            next: 1,
            is_pinned: false,
        };
        let reply: wire::CuInitReply = program.call(wire::CU_INIT, &wire::CuInitArgs { Flags: 0 });
        assert_eq!(reply.result, SUCCESS);
        program
    }

    fn number(&mut self) -> Handle {
        self.next += 1;
        Handle(self.next)
    }

    fn raw(&mut self, op: Op, args: &impl Serialize, data: (&[RegionDesc], &[&[u8]])) -> Done {
        let args = postcard::to_stdvec(args).unwrap();
        let done = self.client.call(op, &args, data.0, data.1);
        assert_eq!(
            done.status,
            CallStatus::Ran,
            "{op}: {}",
            String::from_utf8_lossy(&done.result)
        );
        done
    }

    fn call<R: for<'a> Deserialize<'a>>(&mut self, op: Op, args: &impl Serialize) -> R {
        postcard::from_bytes(&self.raw(op, args, (&[], &[])).result).unwrap()
    }

    fn event(&mut self) -> NewEvent {
        let number = self.number();
        self.client.event = Some(number.0);
        NewEvent {
            number,
            kept: false,
        }
    }

    fn context(&mut self) -> Handle {
        let new = self.number();
        let args = wire::CuCtxCreateV2Args {
            new,
            flags: 0,
            dev: 0,
        };
        let reply: wire::CuCtxCreateV2Reply = self.call(wire::CU_CTX_CREATE_V2, &args);
        assert_eq!(reply.result, SUCCESS);
        new
    }

    fn module(&mut self, current: Handle) -> Handle {
        let new = self.number();
        let text = [KERNELS.as_bytes(), &[0]].concat();
        let args = wire::CuModuleLoadDataArgs {
            current,
            new,
            image: InData::Region(0),
            options: vec![],
            logs: vec![],
        };
        let region = RegionDesc {
            dir: Direction::In,
            len: text.len() as u64,
        };
        let done = self.raw(wire::CU_MODULE_LOAD_DATA, &args, (&[region], &[&text]));
        let reply: wire::CuModuleLoadDataReply = postcard::from_bytes(&done.result).unwrap();
        assert_eq!(reply.result, SUCCESS);
        new
    }

    fn function(&mut self, hmod: Handle, name: &str) -> (Handle, Vec<u64>) {
        let new = self.number();
        let name = InData::Inline(name.as_bytes());
        let args = wire::CuModuleGetFunctionArgs { hmod, new, name };
        let reply: wire::CuModuleGetFunctionReply = self.call(wire::CU_MODULE_GET_FUNCTION, &args);
        assert_eq!(reply.result, SUCCESS);
        (new, reply.params)
    }

    fn memory(&mut self, current: Handle, bytes: u64) -> u64 {
        let args = wire::CuMemAllocV2Args { current, bytes };
        let reply: wire::CuMemAllocV2Reply = self.call(wire::CU_MEM_ALLOC_V2, &args);
        assert_eq!(reply.result, SUCCESS);
        reply.address
    }

    fn write(&mut self, current: Handle, to: u64, bytes: &[u8]) -> Done {
        let args = wire::CuMemcpyHtoDV2Args {
            current,
            hStream: Handle::NULL,
            to,
            data: InData::Region(0),
            bytes: bytes.len() as u64,
            is_pinned: self.is_pinned,
            event: self.event(),
        };
        let region = RegionDesc {
            dir: Direction::In,
            len: bytes.len() as u64,
        };
        self.raw(wire::CU_MEMCPY_HTO_D_V2, &args, (&[region], &[bytes]))
    }

    fn read(&mut self, current: Handle, from: u64, len: u64) -> Done {
        let args = wire::CuMemcpyDtoHV2Args {
            current,
            hStream: Handle::NULL,
            from,
            data: OutRoom::Region(0),
            bytes: len,
            is_pinned: self.is_pinned,
            event: self.event(),
        };
        let region = RegionDesc {
            dir: Direction::Out,
            len,
        };
        self.raw(wire::CU_MEMCPY_DTO_H_V2, &args, (&[region], &[]))
    }

    fn launch(
        &mut self,
        current: Handle,
        hStream: Handle,
        f: Handle,
        grid: u32,
        params: &[u8],
    ) -> Done {
        let args = wire::CuLaunchKernelArgs {
            current,
            hStream,
            f,
            grid_x: grid,
            grid_y: 1,
            grid_z: 1,
            block_x: 256,
            block_y: 1,
            block_z: 1,
            shared: 0,
            params: InData::Inline(params),
            event: self.event(),
        };
        self.raw(wire::CU_LAUNCH_KERNEL, &args, (&[], &[]))
    }
}

fn duration(done: &Done) -> u64 {
    let [(report, _)] = &done.reports[..] else {
        panic!("{done:?}")
    };
    assert_eq!(report.ending, Ending::Done, "{done:?}");
    report.duration_ns
}

fn code(done: &Done) -> i32 {
    postcard::from_bytes::<wire::CuMemcpyHtoDV2Reply>(&done.result)
        .unwrap()
        .result
}

#[test]
fn a_kernel_computes_and_is_measured() {
    if !has_device() {
        return;
    }
    let agent = agent().expect("CUDA's driver works where /dev/nvidiactl is");
    let mut program = Program::start(&agent);
    let context = program.context();
    let module = program.module(context);
    let (scale, params) = program.function(module, "scale");
    assert_eq!(params, [0, 8, 8, 8, 16, 4, 20, 4]);
    const COUNT: u32 = 1 << 22;
    let (a, b) = (
        program.memory(context, u64::from(COUNT) * 4),
        program.memory(context, u64::from(COUNT) * 4),
    );
    let values: Vec<f32> = (0..COUNT).map(|n| (n % 1000) as f32).collect();
    let bytes: Vec<u8> = values.iter().flat_map(|it| it.to_le_bytes()).collect();
    let up_ns = duration(&program.write(context, a, &bytes));
    let mut values_of = a.to_le_bytes().to_vec();
    values_of.extend(b.to_le_bytes());
    values_of.extend(COUNT.to_le_bytes());
    values_of.extend(2.5f32.to_le_bytes());
    let mut took = Vec::new();
    for _ in 0..5 {
        let done = program.launch(context, Handle::NULL, scale, COUNT / 256, &values_of);
        assert_eq!(code(&done), SUCCESS);
        took.push(duration(&done));
    }
    let done = program.read(context, b, u64::from(COUNT) * 4);
    let down_ns = duration(&done);
    let found = done.out[0].as_chunks::<4>().0;
    for (n, found) in found.iter().enumerate() {
        let wanted = values[n].mul_add(2.5, 1.0);
        assert_eq!(f32::from_le_bytes(*found), wanted, "element {n}");
    }
    eprintln!("16 MiB up {up_ns} ns, down {down_ns} ns; the kernel {took:?} ns");
    // 32 MiB are read and written: no device does that in a microsecond, or in a second.
    assert!(
        took.iter().all(|ns| (1_000..1_000_000_000).contains(ns)),
        "{took:?}"
    );
    let identity = program.client.identity(wire::API, Handle::BOARD | 1);
    let identity = identity.expect("the device says which it is");
    assert!(
        identity.uuid.is_some() && identity.pci.is_some(),
        "{identity:?}"
    );
}

#[test]
fn pinned_memory_is_copied_like_other() {
    if !has_device() {
        return;
    }
    let agent = agent().expect("CUDA's driver works where /dev/nvidiactl is");
    let mut program = Program::start(&agent);
    let context = program.context();
    for len in [64usize, 5000, 819_200, 16 << 20] {
        let memory = program.memory(context, len as u64);
        for is_pinned in [false, true] {
            program.is_pinned = is_pinned;
            let (mut up, mut down) = (Vec::new(), Vec::new());
            for round in 0..6 {
                let bytes: Vec<u8> = (0..len).map(|n| (n * 7 / 3 + round) as u8).collect();
                let done = program.write(context, memory, &bytes);
                assert_eq!(code(&done), SUCCESS);
                up.push((duration(&done), done.cpu_ns));
                let done = program.read(context, memory, len as u64);
                assert_eq!(code(&done), SUCCESS);
                down.push((duration(&done), done.cpu_ns));
                assert!(done.out[0] == bytes, "{len} bytes, pinned: {is_pinned}");
            }
            eprintln!("{len} bytes, pinned {is_pinned}: (ns, CPU) up {up:?}, down {down:?}");
        }
    }
}

#[test]
fn a_kernel_that_fails_ends_its_context_alone() {
    if !has_device() {
        return;
    }
    let agent = agent().expect("CUDA's driver works where /dev/nvidiactl is");
    let mut program = Program::start(&agent);
    let context = program.context();
    let module = program.module(context);
    let (astray, _) = program.function(module, "astray");
    let memory = program.memory(context, 64);
    let done = program.launch(context, Handle::NULL, astray, 1, &[]);
    assert_eq!(code(&done), ILLEGAL_ADDRESS, "{done:?}");
    let done = program.write(context, memory, &[1; 64]);
    assert_eq!(code(&done), ILLEGAL_ADDRESS, "{done:?}");
    // Another program's session goes on.
    let mut other = Program::start(&agent);
    let context = other.context();
    let memory = other.memory(context, 64);
    assert_eq!(code(&other.write(context, memory, &[2; 64])), SUCCESS);
    assert_eq!(other.read(context, memory, 64).out, [[2; 64]]);
}

#[test]
fn what_is_not_the_sessions_is_no_address() {
    if !has_device() {
        return;
    }
    let agent = agent().expect("CUDA's driver works where /dev/nvidiactl is");
    let mut program = Program::start(&agent);
    let context = program.context();
    let memory = program.memory(context, 64);
    for address in [
        0,
        16,
        memory - 4,
        memory + 64,
        u64::MAX - 3,
        &raw const program as u64,
    ] {
        let done = program.write(context, address, &[1; 4]);
        assert_eq!(code(&done), 1, "{address:#x}");
    }
    assert_eq!(code(&program.write(context, memory + 60, &[1; 4])), SUCCESS);
}
