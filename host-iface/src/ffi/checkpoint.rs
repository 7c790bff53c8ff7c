//! Checkpoints: what the simulator saves beside its own state.

use super::gil_host_result as R;
use super::{copy_text, gil_host, gil_host_result, text, with};
use crate::checkpoint::CheckpointError;
use std::ffi::c_char;
use std::path::Path;

/// See `gil_host.h`.
///
/// # Safety
/// `host` is a live handle, `end_ns` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_settle(
    host: *mut gil_host,
    now_ns: u64,
    end_ns: *mut u64,
) -> gil_host_result {
    let settle = |host: &gil_host| {
        let end = host.host.settle(now_ns);
        // SAFETY: as the caller promises.
        if let Some(end_ns) = unsafe { end_ns.as_mut() } {
            *end_ns = end;
        }
        R::Ok
    };
    // SAFETY: as the caller promises.
    unsafe { with(host, settle) }
}

/// See `gil_host.h`.
///
/// # Safety
/// `host` is a live handle, `path` ends with NUL, `error` has `error_cap` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_checkpoint(
    host: *mut gil_host,
    path: *const c_char,
    now_ns: u64,
    error: *mut c_char,
    error_cap: usize,
) -> gil_host_result {
    let save = |host: &gil_host, path: &Path| host.host.checkpoint(path, now_ns);
    // SAFETY: as the caller promises.
    unsafe { on_file(host, path, (error, error_cap), save) }
}

/// See `gil_host.h`.
///
/// # Safety
/// As [`gil_host_checkpoint`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_restore(
    host: *mut gil_host,
    path: *const c_char,
    error: *mut c_char,
    error_cap: usize,
) -> gil_host_result {
    let restore = |host: &gil_host, path: &Path| {
        host.attach().map_err(CheckpointError::Memory)?;
        host.host.restore(path)
    };
    // SAFETY: as the caller promises.
    unsafe { on_file(host, path, (error, error_cap), restore) }
}

/// # Safety
/// As [`gil_host_checkpoint`].
unsafe fn on_file(
    host: *mut gil_host,
    path: *const c_char,
    (error, error_cap): (*mut c_char, usize),
    body: impl FnOnce(&gil_host, &Path) -> Result<(), CheckpointError>,
) -> gil_host_result {
    // SAFETY: as the caller promises.
    let Some(path) = (unsafe { text(path) }) else {
        return R::BadArgument;
    };
    let run = |host: &gil_host| match body(host, Path::new(path)) {
        Ok(()) => R::Ok,
        Err(reason) => {
            // SAFETY: as the caller promises.
            unsafe { copy_text(&reason.to_string(), error, error_cap) };
            R::NoCheckpoint
        }
    };
    // SAFETY: as the caller promises.
    unsafe { with(host, run) }
}
