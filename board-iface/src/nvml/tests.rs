//! What a hostile guest asks for never gets to the library.

use super::driver::Driver;
use super::generated::types::*;
use super::generated::{self, Functions};
use super::session::Session;
use crate::back_end::{Call, Objects, Pointer, Refusal, decode, encode};
use crate::region::{Budget, Region};
use gil_wire::Op;
use gil_wire::call::{Handle, OutRoom};
use gil_wire::generated::nvml::{self as wire, Kind};
use gil_wire::message::Direction;
use serde::{Deserialize, Serialize};
use std::ffi::c_uint;
use std::sync::atomic::{AtomicU32, Ordering};

/// The memory that the device has.
const TOTAL: u64 = 0x1234_5678_9abc;

/// How much room for clocks the library was last told of.
static ROOM: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" fn memory(_: nvmlDevice_t, memory: *mut nvmlMemory_v2_t) -> nvmlReturn_t {
    // SAFETY: the test's structure has 40 bytes.
    unsafe { memory.cast::<u64>().add(1).write_unaligned(TOTAL) };
    NVML_SUCCESS
}

unsafe extern "C" fn clocks(_: nvmlDevice_t, count: *mut c_uint, _: *mut c_uint) -> nvmlReturn_t {
    // SAFETY: the back end's place.
    unsafe {
        ROOM.store(count.read(), Ordering::Relaxed);
        count.write(u32::MAX);
    }
    NVML_SUCCESS
}

/// A session of a library with these two functions, and one device's number.
fn session(started: nvmlReturn_t) -> (Session, Handle) {
    let functions = Functions {
        nvmlDeviceGetMemoryInfo_v2: Some(memory),
        nvmlDeviceGetSupportedMemoryClocks: Some(clocks),
        ..Functions::default()
    };
    let driver = Box::leak(Box::new(Driver::of_functions(functions, started)));
    let mut session = Session::new(driver);
    let device = Pointer::new((&raw const ROOM).cast_mut().cast()).unwrap();
    let number = session.table_mut().found(Kind::Device, device, || ());
    (session, number.unwrap())
}

fn call<R: for<'a> Deserialize<'a>>(
    session: &mut Session,
    op: Op,
    args: &impl Serialize,
    structure: &[u8],
) -> Result<R, Refusal> {
    let budget = Budget::new(1 << 20);
    let region = Region::holding(Direction::InOut, structure.to_vec(), &budget);
    let mut call = Call::new(op, None, vec![region]);
    let run = generated::dispatch(op).expect("a call");
    let reply = run(session, &mut call, &encode(args)?)?;
    Ok(postcard::from_bytes(&reply).expect("a reply"))
}

fn memory_args(device: Handle) -> wire::NvmlDeviceGetMemoryInfoV2Args {
    wire::NvmlDeviceGetMemoryInfoV2Args {
        device,
        memory: OutRoom::Region(0),
    }
}

/// Whatever library the guest has: the board calls no such function.
#[test]
fn nothing_that_changes_a_device_or_names_processes_is_executed() {
    const VERBS: [&str; 9] = [
        "Set", "Reset", "Clear", "Create", "Modify", "Remove", "Discover", "Freeze", "Register",
    ];
    const NOUNS: [&str; 6] = [
        "Process",
        "Pids",
        "Sessions",
        "Hostname",
        "AccountingStats",
        "Event",
    ];
    let is_refused = |name: &str| {
        let does = ["nvmlDevice", "nvmlSystem"].map(|what| name.strip_prefix(what));
        let does = does.into_iter().flatten();
        let is_a_change = does.flat_map(|it| VERBS.map(|verb| it.starts_with(verb)));
        let is_named = NOUNS.iter().any(|noun| name.contains(noun));
        is_a_change.into_iter().any(|it| it) || is_named && !name.contains("EventReasons")
    };
    let (mut refused, mut executed) = (0, 0);
    for call in wire::CALLS {
        match generated::dispatch(Op::new(wire::API, call.entry)) {
            Some(_) => {
                assert!(!is_refused(call.name), "{}", call.name);
                executed += 1;
            }
            None => refused += usize::from(is_refused(call.name)),
        }
    }
    assert!(refused > 60 && executed > 170, "{refused}, {executed}");
}

#[test]
fn a_device_that_no_query_found_is_refused() {
    let (mut session, device) = session(NVML_SUCCESS);
    let mut ask = |device| {
        let op = wire::NVML_DEVICE_GET_SUPPORTED_MEMORY_CLOCKS;
        let args = wire::NvmlDeviceGetSupportedMemoryClocksArgs {
            device,
            room: 1,
            wanted: true,
        };
        call::<wire::NvmlDeviceGetSupportedMemoryClocksReply>(&mut session, op, &args, &[])
    };
    assert!(ask(device).is_ok());
    for forged in [Handle(0), Handle(1), Handle(device.0 + 1), Handle(u64::MAX)] {
        assert!(matches!(ask(forged), Err(Refusal::Table(_))), "{forged:?}");
    }
}

#[test]
fn a_structure_that_is_shorter_than_its_version_is_refused() {
    let (mut session, device) = session(NVML_SUCCESS);
    let mut ask = |version: u32, len: usize| {
        let mut bytes = version.to_le_bytes().to_vec();
        bytes.resize(len, 0);
        let op = wire::NVML_DEVICE_GET_MEMORY_INFO_V2;
        let budget = Budget::new(1 << 20);
        let region = Region::holding(Direction::InOut, bytes, &budget);
        let mut call = Call::new(op, None, vec![region]);
        let args = encode(&memory_args(device)).unwrap();
        let run = generated::dispatch(op).expect("a call");
        let reply = run(&mut session, &mut call, &args)?;
        decode::<wire::NvmlDeviceGetMemoryInfoV2Reply<'_>>(&reply).map(|reply| reply.result)
    };
    assert!(matches!(ask(nvmlMemory_v2, 40), Ok(NVML_SUCCESS)));
    assert!(matches!(ask(nvmlMemory_v2, 39), Err(Refusal::Short { .. })));
    assert!(matches!(
        ask(nvmlMemory_v2 + 8, 48),
        Err(Refusal::Parameter { .. })
    ));
}

#[test]
fn room_for_a_list_is_bounded_and_so_is_what_is_said_to_be_in_it() {
    let (mut session, device) = session(NVML_SUCCESS);
    let op = wire::NVML_DEVICE_GET_SUPPORTED_MEMORY_CLOCKS;
    let args = wire::NvmlDeviceGetSupportedMemoryClocksArgs {
        device,
        room: u32::MAX,
        wanted: true,
    };
    let reply: wire::NvmlDeviceGetSupportedMemoryClocksReply =
        call(&mut session, op, &args, &[]).unwrap();
    let room = ROOM.load(Ordering::Relaxed);
    assert!(room > 0 && room < 1 << 20, "{room}");
    assert_eq!(reply.values.len(), room as usize);
}

#[test]
fn a_function_that_the_library_lacks_is_not_found() {
    let (mut session, device) = session(NVML_SUCCESS);
    let op = wire::NVML_DEVICE_GET_BRAND;
    let args = wire::NvmlDeviceGetBrandArgs {
        device,
        r#type: true,
    };
    let reply: wire::NvmlDeviceGetBrandReply = call(&mut session, op, &args, &[]).unwrap();
    assert_eq!(reply.result, NVML_ERROR_FUNCTION_NOT_FOUND);
}

#[test]
fn a_library_that_does_not_start_says_why() {
    let start = |started, flags| {
        let (mut session, _) = session(started);
        let args = wire::NvmlInitV2Args { flags };
        let reply: wire::NvmlInitV2Reply =
            call(&mut session, wire::NVML_INIT_V2, &args, &[]).unwrap();
        reply.result
    };
    for flags in 0..4 {
        assert_eq!(start(NVML_SUCCESS, flags), NVML_SUCCESS);
        let code = NVML_ERROR_LIB_RM_VERSION_MISMATCH;
        assert_eq!(start(code, flags), code);
    }
    let code = NVML_ERROR_GPU_NOT_FOUND;
    assert_eq!((start(code, 0), start(code, 1)), (code, NVML_SUCCESS));
}
