//! Results and errors as OpenCL has them. Nothing unwinds into C: a panic,
//! where it does not abort, becomes an error code here.

use crate::generated::types::*;
use gil_guest::Error;
use gil_wire::Op;
use gil_wire::generated::opencl as wire;
use serde::Deserialize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// A value, or the API's error code.
pub type CallResult<T> = Result<T, cl_int>;

/// `cl_khr_icd`: this vendor library has no platform.
const PLATFORM_NOT_FOUND: cl_int = -1001;

/// `Err` if `result` is an error code.
///
/// # Errors
/// `result`.
pub fn check(result: cl_int) -> CallResult<()> {
    match result {
        CL_SUCCESS => Ok(()),
        error => Err(error),
    }
}

/// A reply, decoded.
///
/// # Errors
/// `CL_OUT_OF_RESOURCES` if it does not decode.
pub fn decode<'a, R: Deserialize<'a>>(reply: &'a [u8]) -> CallResult<R> {
    postcard::from_bytes(reply).map_err(|_| CL_OUT_OF_RESOURCES)
}

/// Runs a call that returns its error.
pub fn returned(run: impl FnOnce() -> CallResult<()>) -> cl_int {
    guarded(run).err().unwrap_or(CL_SUCCESS)
}

/// Runs a call that returns an object and writes its error.
///
/// # Safety
/// `errcode_ret` is null or names room for one code.
pub unsafe fn written<T>(
    errcode_ret: *mut cl_int,
    run: impl FnOnce() -> CallResult<*mut T>,
) -> *mut T {
    let result = guarded(run);
    let code = result.err().unwrap_or(CL_SUCCESS);
    // SAFETY: the caller's.
    unsafe { super::write(errcode_ret, code) };
    result.unwrap_or(std::ptr::null_mut())
}

fn guarded<T>(run: impl FnOnce() -> CallResult<T>) -> CallResult<T> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(Err(CL_OUT_OF_RESOURCES))
}

/// What OpenCL says of an error of the bridge. The first that ends the session
/// is also told on standard error, as no code says what happened.
pub(super) fn code(op: Op, error: &Error) -> cl_int {
    if error.is_final() {
        tell_once(error);
    }
    match error {
        _ if error.is_final() && op == wire::CL_GET_PLATFORM_IDS => PLATFORM_NOT_FOUND,
        _ if error.is_final() => CL_DEVICE_NOT_AVAILABLE,
        Error::Bounds { .. } => CL_OUT_OF_HOST_MEMORY,
        Error::Fault(_) => CL_INVALID_VALUE,
        _ => CL_OUT_OF_RESOURCES,
    }
}

/// The code of any call in a forked child.
#[cold]
pub(super) fn forked() -> cl_int {
    code(Op(0), &Error::Forked)
}

#[cold]
fn tell_once(error: &Error) {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if TOLD.swap(true, Ordering::Relaxed) {
        return;
    }
    let line = format!("gil: {error}\n");
    // Not through std: in a forked child its lock may be held for ever.
    // SAFETY: writes the bytes of a live string.
    unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_code() {
        assert_eq!(returned(|| panic!("on purpose")), CL_OUT_OF_RESOURCES);
        let mut code = 1;
        // SAFETY: `code` is room for one code.
        let made: *mut u8 = unsafe { written(&mut code, || panic!("on purpose")) };
        assert!(made.is_null());
        assert_eq!(code, CL_OUT_OF_RESOURCES);
    }

    #[test]
    fn errors_of_the_bridge_have_codes() {
        let op = wire::CL_FINISH;
        let lost = Error::Lost(op);
        assert_eq!(code(op, &lost), CL_DEVICE_NOT_AVAILABLE);
        assert_eq!(code(wire::CL_GET_PLATFORM_IDS, &lost), PLATFORM_NOT_FOUND);
        assert_eq!(code(op, &Error::Fault(op)), CL_INVALID_VALUE);
        let refused = Error::Refused { op, status: 3 };
        assert_eq!(code(op, &refused), CL_OUT_OF_RESOURCES);
    }
}
