//! NVML's back end on this machine's devices, as the host uses it: a session, confined as all
//! are, says what the library says here. Everything else is tested in guests, over a library
//! whose devices are not there (`tests/tests/nvml.rs`).

mod common;

use common::Client;
use common::agent::{ANY_PORT, Agent, command};
use gil_board::back_end::Pointer;
use gil_board::nvml::driver::Driver;
use gil_board::nvml::generated::types::*;
use gil_wire::Op;
use gil_wire::call::{Handle, OutData, OutRoom};
use gil_wire::generated::nvml as wire;
use gil_wire::message::{CallStatus, Direction, RegionDesc};
use serde::{Deserialize, Serialize};
use std::ffi::c_uint;

/// An agent, unless this machine has no device.
fn agent() -> Option<Agent> {
    if !std::path::Path::new("/dev/nvidiactl").exists() {
        gil_need::skip("an NVML device", "there is no /dev/nvidiactl");
        return None;
    }
    let mut command = command(&ANY_PORT);
    // A copy of the tests on another machine has the agent elsewhere.
    if let Some(other) = std::env::var_os("GIL_TESTS_BOARD") {
        command = std::process::Command::new(other);
        command.arg("--exit-with-stdin").args(ANY_PORT);
        common::agent::piped(&mut command);
    }
    Some(Agent::started(command).expect("an agent"))
}

/// A reply's bytes, and those of the call's regions.
type Answer = (Vec<u8>, Vec<Vec<u8>>);

fn ask(client: &mut Client, op: Op, args: &impl Serialize, structure: &[u8]) -> Answer {
    let args = postcard::to_stdvec(args).unwrap();
    let region = RegionDesc {
        dir: Direction::InOut,
        len: structure.len() as u64,
    };
    let done = match structure.len() {
        0 => client.call(op, &args, &[], &[]),
        _ => client.call(op, &args, &[region], &[structure]),
    };
    assert_eq!(done.status, CallStatus::Ran, "{op}");
    (done.result, done.out)
}

fn call<R: for<'a> Deserialize<'a>>(client: &mut Client, op: Op, args: &impl Serialize) -> R {
    postcard::from_bytes(&ask(client, op, args, &[]).0).unwrap()
}

/// The text of an answer.
fn text(data: &OutData<'_>) -> String {
    let OutData::Inline(bytes) = data else {
        panic!("{data:?}");
    };
    let end = bytes.iter().position(|byte| *byte == 0).unwrap();
    String::from_utf8(bytes[..end].to_vec()).unwrap()
}

/// What the library says here, without a session.
fn uuid_of(driver: &Driver, device: Pointer) -> String {
    let mut bytes = [0u8; 96];
    let ask = driver.functions.nvmlDeviceGetUUID.expect("the function");
    // SAFETY: the handle is the library's; there is space for as many bytes.
    let result = unsafe { ask(device.as_ptr().cast(), bytes.as_mut_ptr().cast(), 96) };
    assert_eq!(result, NVML_SUCCESS);
    text(&OutData::Inline(&bytes))
}

fn number_of(
    ask: Option<unsafe extern "C" fn(nvmlDevice_t, *mut c_uint) -> nvmlReturn_t>,
    device: Pointer,
) -> (nvmlReturn_t, c_uint) {
    let mut number = 0;
    let ask = ask.expect("the function");
    // SAFETY: the handle is the library's; there is space for a number.
    let result = unsafe { ask(device.as_ptr().cast(), &mut number) };
    (result, number)
}

#[test]
fn a_session_says_what_the_library_says() {
    let Some(agent) = agent() else { return };
    let own = Driver::load().expect("NVML");
    assert_eq!(own.started, NVML_SUCCESS);
    let client = &mut Client::open(&agent.address);
    let started: wire::NvmlInitV2Reply = call(
        client,
        wire::NVML_INIT_V2,
        &wire::NvmlInitV2Args { flags: 0 },
    );
    assert_eq!(started.result, NVML_SUCCESS);
    let count: wire::NvmlDeviceGetCountV2Reply = call(
        client,
        wire::NVML_DEVICE_GET_COUNT_V2,
        &wire::NvmlDeviceGetCountV2Args { deviceCount: true },
    );
    assert_eq!(count.deviceCount, own.device_count());
    for index in 0..count.deviceCount {
        says_the_same(client, &own, index);
    }
}

fn says_the_same(client: &mut Client, own: &Driver, index: u32) {
    let native = own.device(index).expect("a device");
    let args = wire::NvmlDeviceGetHandleByIndexV2Args {
        index,
        device: true,
    };
    let found: wire::NvmlDeviceGetHandleByIndexV2Reply =
        call(client, wire::NVML_DEVICE_GET_HANDLE_BY_INDEX_V2, &args);
    let device = found.device[0];
    let room = OutRoom::Inline(96);

    let args = wire::NvmlDeviceGetNameArgs {
        device,
        name: room,
        length: 96,
    };
    let bytes = ask(client, wire::NVML_DEVICE_GET_NAME, &args, &[]).0;
    let reply: wire::NvmlDeviceGetNameReply<'_> = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(Some(text(&reply.name)), own.name(native));

    let args = wire::NvmlDeviceGetUUIDArgs {
        device,
        uuid: room,
        length: 96,
    };
    let bytes = ask(client, wire::NVML_DEVICE_GET_UUID, &args, &[]).0;
    let reply: wire::NvmlDeviceGetUUIDReply<'_> = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(text(&reply.uuid), uuid_of(own, native));

    let limit: wire::NvmlDeviceGetPowerManagementLimitReply = call(
        client,
        wire::NVML_DEVICE_GET_POWER_MANAGEMENT_LIMIT,
        &wire::NvmlDeviceGetPowerManagementLimitArgs {
            device,
            limit: true,
        },
    );
    let native_limit = number_of(own.functions.nvmlDeviceGetPowerManagementLimit, native);
    assert_eq!((limit.result, limit.limit), native_limit);
    let cores: wire::NvmlDeviceGetNumGpuCoresReply = call(
        client,
        wire::NVML_DEVICE_GET_NUM_GPU_CORES,
        &wire::NvmlDeviceGetNumGpuCoresArgs {
            device,
            numCores: true,
        },
    );
    let native_cores = number_of(own.functions.nvmlDeviceGetNumGpuCores, native);
    assert_eq!((cores.result, cores.numCores), native_cores);
    memory_is_that_of_the_device(client, device);
    println!("{index}: {limit:?} {cores:?}");
}

/// Both versions of the structure say how much memory there is.
fn memory_is_that_of_the_device(client: &mut Client, device: Handle) {
    let first: wire::NvmlDeviceGetMemoryInfoReply = call(
        client,
        wire::NVML_DEVICE_GET_MEMORY_INFO,
        &wire::NvmlDeviceGetMemoryInfoArgs {
            device,
            memory: true,
        },
    );
    let mut structure = vec![0; 40];
    structure[..4].copy_from_slice(&nvmlMemory_v2.to_le_bytes());
    let args = wire::NvmlDeviceGetMemoryInfoV2Args {
        device,
        memory: OutRoom::Region(0),
    };
    let (reply, out) = ask(
        client,
        wire::NVML_DEVICE_GET_MEMORY_INFO_V2,
        &args,
        &structure,
    );
    let second: wire::NvmlDeviceGetMemoryInfoV2Reply<'_> = postcard::from_bytes(&reply).unwrap();
    assert_eq!((first.result, second.result), (NVML_SUCCESS, NVML_SUCCESS));
    let total = u64::from_le_bytes(out[0][8..16].try_into().unwrap());
    assert_eq!(total, first.memory[0].total);
    assert!(total > 1 << 30 && first.memory[0].free <= total);
}
