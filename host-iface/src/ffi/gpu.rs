//! The GPU whose registers are a device of the simulator's.

use super::gil_host_result as R;
use super::{gil_host, gil_host_result, with};
use crate::gpu::Access;

/// `gil_host_gpu`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct gil_host_gpu {
    /// Its size: which version of this structure the caller knows.
    pub size: u64,
    /// What a load returns.
    pub value: u32,
    /// The interrupts that are high.
    pub lines: u32,
    /// When it is to tick.
    pub attention_ns: u64,
}

/// See `gil_host.h`.
///
/// # Safety
/// `host` is a live handle, `out` has as many bytes as its `size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_gpu_load(
    host: *mut gil_host,
    offset: u32,
    now_ns: u64,
    out: *mut gil_host_gpu,
) -> gil_host_result {
    // SAFETY: as the caller promises.
    unsafe { access(host, now_ns, Access::Load(offset), out) }
}

/// See `gil_host.h`.
///
/// # Safety
/// As [`gil_host_gpu_load`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_gpu_store(
    host: *mut gil_host,
    offset: u32,
    value: u32,
    now_ns: u64,
    out: *mut gil_host_gpu,
) -> gil_host_result {
    // SAFETY: as the caller promises.
    unsafe { access(host, now_ns, Access::Store(offset, value), out) }
}

/// See `gil_host.h`.
///
/// # Safety
/// As [`gil_host_gpu_load`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_gpu_tick(
    host: *mut gil_host,
    now_ns: u64,
    out: *mut gil_host_gpu,
) -> gil_host_result {
    // SAFETY: as the caller promises.
    unsafe { access(host, now_ns, Access::Tick, out) }
}

/// See `gil_host.h`.
///
/// # Safety
/// As [`gil_host_gpu_load`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_gpu_clock(
    host: *mut gil_host,
    hz: u64,
    now_ns: u64,
    out: *mut gil_host_gpu,
) -> gil_host_result {
    // SAFETY: as the caller promises.
    unsafe { access(host, now_ns, Access::Clock(hz), out) }
}

/// # Safety
/// As [`gil_host_gpu_load`].
unsafe fn access(
    host: *mut gil_host,
    now_ns: u64,
    access: Access,
    out: *mut gil_host_gpu,
) -> gil_host_result {
    // SAFETY: as the caller promises; the size is read before the rest.
    let size = unsafe { out.cast::<u64>().as_ref() };
    if size != Some(&(size_of::<gil_host_gpu>() as u64)) {
        return R::BadArgument;
    }
    let body = |host: &gil_host| {
        if let Err(error) = host.attach() {
            host.host.fatal(error.to_string());
            return R::BadRam;
        }
        let Some(pins) = host.host.gpu(now_ns, access) else {
            return R::BadArgument;
        };
        // SAFETY: it has the size of the structure, and the caller says that it is writable.
        unsafe {
            (*out).value = pins.value;
            (*out).lines = pins.lines;
            (*out).attention_ns = pins.attention_ns;
        }
        R::Ok
    };
    // SAFETY: as the caller promises.
    unsafe { with(host, body) }
}
