//! Queries: size and data, what is answered in the guest, how far an event is.

mod common;

use common::*;
use gil_guest::double::Played;
use gil_opencl::generated::manual::Object;
use gil_opencl::generated::stubs::*;
use gil_opencl::generated::types::*;
use gil_opencl::support::Details;
use gil_wire::call::{Handle, InfoValue, OutData, OutRoom};
use gil_wire::ending::Ending;
use gil_wire::envelope::{Class, State};
use gil_wire::generated::opencl::{self as wire, Kind};
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

const NAME: &[u8] = b"a device\0";

/// What a board says of a value of bytes.
fn value(bytes: &[u8], room: OutRoom) -> Played {
    let data = match room {
        OutRoom::Inline(len) if len as usize >= bytes.len() => OutData::Inline(bytes),
        _ => OutData::None,
    };
    Played::result(&wire::ClGetDeviceInfoReply {
        result: 0,
        size: bytes.len() as u64,
        value: InfoValue::Bytes(data),
    })
}

fn device() -> cl_device_id {
    Object::found(Kind::Device, Handle(Handle::BOARD | 2))
}

#[test]
fn size_and_data_of_the_boards_values() {
    let board = board(|call| {
        let args: wire::ClGetDeviceInfoArgs = postcard::from_bytes(call.args).unwrap();
        assert_eq!(args.device, Handle(Handle::BOARD | 2));
        value(NAME, args.param_value)
    });
    let ask = |size, room: *mut u8| {
        let mut told = 999;
        // SAFETY: the buffer has the size that each case states.
        let result =
            unsafe { clGetDeviceInfo(device(), CL_DEVICE_NAME, size, room.cast(), &mut told) };
        (result, told)
    };
    let mut room = [0u8; 64];
    assert_eq!(ask(0, null_mut()), (CL_SUCCESS, NAME.len()));
    assert_eq!(ask(64, room.as_mut_ptr()), (CL_SUCCESS, NAME.len()));
    assert_eq!(&room[..NAME.len()], NAME);
    assert_eq!(
        ask(NAME.len() - 1, room.as_mut_ptr()),
        (CL_INVALID_VALUE, 999)
    );
    assert_eq!(board.seen().len(), 3);
    // SAFETY: no value is wanted.
    let unknown = unsafe { clGetDeviceInfo(device(), 0xdead, 0, null_mut(), null_mut()) };
    assert_eq!(unknown, CL_INVALID_VALUE);
    assert_eq!(board.seen().len(), 3, "the board is not asked");
}

fn platform_string(name: cl_platform_info) -> String {
    let platform: cl_platform_id = Object::found(Kind::Platform, Handle(Handle::BOARD | 1));
    let mut text = [0u8; 256];
    // SAFETY: space for 256 bytes.
    unsafe {
        let room: *mut c_void = text.as_mut_ptr().cast();
        assert_eq!(
            clGetPlatformInfo(platform, name, 256, room, null_mut()),
            CL_SUCCESS
        );
    }
    let text = CStr::from_bytes_until_nul(&text).unwrap();
    text.to_str().unwrap().to_owned()
}

#[test]
fn the_loader_finds_its_extension_and_suffix() {
    let board = board(|call| {
        let args: wire::ClGetPlatformInfoArgs = postcard::from_bytes(call.args).unwrap();
        value(b"cl_khr_fp64 cl_khr_gl_sharing\0", args.param_value)
    });
    assert_eq!(platform_string(CL_PLATFORM_ICD_SUFFIX_KHR), "GIL");
    assert_eq!(board.seen().len(), 0, "answered in the guest");
    assert_eq!(
        platform_string(CL_PLATFORM_EXTENSIONS),
        "cl_khr_fp64 cl_khr_icd"
    );
    // SAFETY: strings with a NUL.
    unsafe {
        let found = clGetExtensionFunctionAddress(c"clIcdGetPlatformIDsKHR".as_ptr());
        assert!(!found.is_null());
        assert!(clGetExtensionFunctionAddress(c"clFinish".as_ptr()).is_null());
        assert!(clGetExtensionFunctionAddress(c"clNoSuchKHR".as_ptr()).is_null());
        assert!(clGetExtensionFunctionAddress(null()).is_null());
    }
}

#[test]
fn a_platform_keeps_its_handle() {
    let number = Handle(Handle::BOARD | 1);
    let board = board(move |_| {
        Played::result(&wire::ClGetPlatformIDsReply {
            result: 0,
            platforms: vec![number],
            num_platforms: 1,
        })
    });
    let mut platforms: [cl_platform_id; 2] = [null_mut(); 2];
    let mut count = 0;
    for platform in &mut platforms {
        // SAFETY: space for one platform and one number.
        let result = unsafe { clGetPlatformIDs(1, platform, &mut count) };
        assert_eq!(result, CL_SUCCESS);
    }
    assert_eq!(count, 1);
    assert!(!platforms[0].is_null() && platforms[0] == platforms[1]);
    assert_eq!(board.seen().len(), 2);
}

fn event_on(properties: cl_command_queue_properties) -> cl_event {
    let queue = Object::find(Kind::CommandQueue, world(properties).queue).unwrap();
    Object::create(
        Kind::Event,
        gil_guest::new_number(),
        &[&queue],
        Details::default(),
    )
}

fn status(event: cl_event) -> cl_int {
    let mut status = 99;
    let name = CL_EVENT_COMMAND_EXECUTION_STATUS;
    // SAFETY: space for one status.
    let result = unsafe { clGetEventInfo(event, name, 4, (&raw mut status).cast(), null_mut()) };
    assert_eq!(result, CL_SUCCESS);
    status
}

fn profile(event: cl_event, name: cl_profiling_info) -> Result<u64, cl_int> {
    let mut ns = 0u64;
    // SAFETY: space for one number.
    let result =
        unsafe { clGetEventProfilingInfo(event, name, 8, (&raw mut ns).cast(), null_mut()) };
    if result == CL_SUCCESS {
        Ok(ns)
    } else {
        Err(result)
    }
}

#[test]
fn how_far_an_event_is_is_polled_until_it_ended() {
    let mut states = vec![
        (State::Complete, Ending::Failed(-5)),
        (State::Running, Ending::Done),
        (State::Submitted, Ending::Done),
        (State::Queued, Ending::Done),
    ];
    let board = board(move |call| {
        assert_eq!(call.class, Class::Poll);
        let (state, ending) = states.pop().expect("not asked again once it ended");
        observed(call, state, ending)
    });
    let event = event_on(0);
    let all: Vec<_> = (0..6).map(|_| status(event)).collect();
    let ended = -5;
    assert_eq!(
        all,
        [CL_QUEUED, CL_SUBMITTED, CL_RUNNING, ended, ended, ended]
    );
    assert_eq!(board.seen().len(), 4);
}

#[test]
fn a_user_event_is_submitted_until_it_is_set() {
    let _board = board(|call| observed(call, State::Queued, Ending::Done));
    let context = Object::find(Kind::Context, world(0).context).unwrap();
    let event: cl_event = Object::create(
        Kind::Event,
        gil_guest::new_number(),
        &[&context],
        Details::default(),
    );
    assert_eq!(status(event), CL_SUBMITTED);
    let name = CL_PROFILING_COMMAND_END;
    assert_eq!(profile(event, name), Err(CL_PROFILING_INFO_NOT_AVAILABLE));
}

#[test]
fn times_are_there_when_the_queue_has_them_and_the_event_ended() {
    let mut polls = 0;
    let _board = board(move |call| {
        polls += 1;
        let state = if polls == 1 {
            State::Running
        } else {
            State::Complete
        };
        observed(call, state, Ending::Done)
    });
    let none = Err(CL_PROFILING_INFO_NOT_AVAILABLE);
    assert_eq!(profile(event_on(0), CL_PROFILING_COMMAND_END), none);
    let event = event_on(CL_QUEUE_PROFILING_ENABLE);
    assert_eq!(
        profile(event, CL_PROFILING_COMMAND_START),
        none,
        "still running"
    );
    let names = [
        CL_PROFILING_COMMAND_QUEUED,
        CL_PROFILING_COMMAND_SUBMIT,
        CL_PROFILING_COMMAND_START,
        CL_PROFILING_COMMAND_END,
        CL_PROFILING_COMMAND_COMPLETE,
    ];
    let times: Vec<_> = names.iter().map(|name| profile(event, *name)).collect();
    assert_eq!(times, [Ok(1), Ok(2), Ok(3), Ok(4), Ok(4)]);
}

#[test]
fn a_queue_answers_for_its_properties() {
    let board = agreeing();
    let both = CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    let queue = world(both).queue;
    let mut properties = 0u64;
    let ask = |name, size, room: *mut u64| {
        // SAFETY: space for one number.
        unsafe { clGetCommandQueueInfo(queue, name, size, room.cast(), null_mut()) }
    };
    assert_eq!(ask(CL_QUEUE_PROPERTIES, 8, &mut properties), CL_SUCCESS);
    assert_eq!(properties, both);
    assert_eq!(
        ask(CL_QUEUE_PROPERTIES, 4, &mut properties),
        CL_INVALID_VALUE
    );
    assert_eq!(
        ask(CL_QUEUE_SIZE, 8, &mut properties),
        CL_INVALID_COMMAND_QUEUE
    );
    assert_eq!(board.seen().len(), 0);
    assert!(
        !Object::find(Kind::CommandQueue, queue)
            .unwrap()
            .queue()
            .in_order
    );
}
