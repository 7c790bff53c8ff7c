//! The device's and the host's timers, which are the same in the simulation: the
//! guest's monotonic clock. Event profiling uses it too.

use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_guest::{Api, CallResult};
use gil_wire::call::{Handle, InfoValue, OutData, OutRoom};
use gil_wire::envelope::Class;
use gil_wire::generated::opencl as wire;

/// The timers now, in nanoseconds.
///
/// # Errors
/// `CL_INVALID_OPERATION` if the board's platform has none (its host timer's
/// resolution is 0).
pub fn now(entry: u64, device: &Object) -> CallResult<cl_ulong> {
    match resolution(entry, platform(entry, device)?) {
        Ok(1..) => Ok(monotonic_ns()),
        _ => Err(CL_INVALID_OPERATION),
    }
}

fn platform(entry: u64, device: &Object) -> CallResult<Handle> {
    let args = wire::ClGetDeviceInfoArgs {
        device: device.number(),
        param_name: CL_DEVICE_PLATFORM,
        param_value: OutRoom::Null,
    };
    let request = Request::new(wire::CL_GET_DEVICE_INFO, Class::Query, entry);
    request.forward(&args, |reply| {
        let reply: wire::ClGetDeviceInfoReply<'_> = reply.decode()?;
        Guest::check(reply.result)?;
        match reply.value {
            InfoValue::Handles(platforms) => platforms.first().copied(),
            _ => None,
        }
        .ok_or(CL_OUT_OF_RESOURCES)
    })
}

fn resolution(entry: u64, platform: Handle) -> CallResult<u64> {
    let args = wire::ClGetPlatformInfoArgs {
        platform,
        param_name: CL_PLATFORM_HOST_TIMER_RESOLUTION,
        param_value: OutRoom::Inline(size_of::<cl_ulong>() as u32),
    };
    let request = Request::new(wire::CL_GET_PLATFORM_INFO, Class::Query, entry);
    request.forward(&args, |reply| {
        let reply: wire::ClGetPlatformInfoReply<'_> = reply.decode()?;
        Guest::check(reply.result)?;
        let InfoValue::Bytes(OutData::Inline(bytes)) = reply.value else {
            return Err(CL_OUT_OF_RESOURCES);
        };
        let bytes = bytes.try_into().map_err(|_| CL_OUT_OF_RESOURCES)?;
        Ok(u64::from_ne_bytes(bytes))
    })
}

fn monotonic_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` has space for one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
