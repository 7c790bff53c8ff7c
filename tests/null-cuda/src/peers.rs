//! Other devices, of which there are none.

use super::{Code, INVALID_CONTEXT, INVALID_DEVICE, INVALID_VALUE, Object, device, put, run};
use std::ffi::{c_int, c_uint};

const UNSUPPORTED: Code = 217;
const NOT_ENABLED: Code = 705;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceCanAccessPeer(
    place: *mut c_int,
    one: c_int,
    other: c_int,
) -> Code {
    run(|_| {
        device(one)?;
        device(other)?;
        unsafe { put(place, 0) }
    })
}

/// A device and itself are no pair.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetP2PAttribute(
    place: *mut c_int,
    name: c_int,
    _one: c_int,
    _other: c_int,
) -> Code {
    run(|_| match place.is_null() || !(1..=5).contains(&name) {
        true => Err(INVALID_VALUE),
        false => Err(INVALID_DEVICE),
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxEnablePeerAccess(peer: Object, flags: c_uint) -> Code {
    run(|state| {
        let current = state.current_handle()?;
        state.contexts.get(peer).ok_or(INVALID_CONTEXT)?;
        match (peer.addr() == current, flags) {
            (_, 1..) => Err(INVALID_VALUE),
            (true, _) => Err(INVALID_CONTEXT),
            // Of the same device.
            (false, _) => Err(UNSUPPORTED),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxDisablePeerAccess(peer: Object) -> Code {
    run(|state| {
        state.current()?;
        state.contexts.get(peer).ok_or(INVALID_CONTEXT)?;
        Err(NOT_ENABLED)
    })
}
