//! A thread's device, and the context in which it works: what the program made current by the
//! driver API, or else the device's primary context, which is made at the first call that
//! needs one.

use super::binary;
use super::error::{Answer, driver};
use crate::generated::types::*;
use gil_cuda::generated::stubs::*;
use gil_cuda::generated::types as cu;
use gil_cuda::support::context;
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

thread_local! {
    static DEVICE: Cell<cu::CUdevice> = const { Cell::new(0) };
    /// The primary context that was made current here; 0 for none.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

/// The devices whose primary context is retained.
static RETAINED: Mutex<Vec<cu::CUdevice>> = Mutex::new(Vec::new());

fn retained() -> MutexGuard<'static, Vec<cu::CUdevice>> {
    RETAINED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Initializes the driver API, once.
///
/// # Errors
/// Its error, such as `cudaErrorNoDevice`.
#[inline]
pub fn initialized() -> Answer {
    match context::initialized() {
        Ok(()) => Ok(()),
        // SAFETY: it takes a number.
        Err(_) => driver(unsafe { cuInit(0) }),
    }
}

/// Makes sure that the thread has a context; its number, which no other ever has.
///
/// # Errors
/// The error with which there is none.
#[inline(always)]
pub fn ready() -> Answer<u64> {
    match context::with(|context| Ok(context.id)) {
        Ok(id) => Ok(id),
        Err(code) => enter(code),
    }
}

#[cold]
fn enter(code: cudaError_t) -> Answer<u64> {
    match code {
        cu::CUDA_ERROR_NOT_INITIALIZED => initialized()?,
        cu::CUDA_ERROR_INVALID_CONTEXT => {}
        // Another thread reset the device.
        cu::CUDA_ERROR_CONTEXT_IS_DESTROYED if is_own() => {}
        code => return Err(code),
    }
    if let Ok(id) = context::with(|context| Ok(context.id)) {
        return Ok(id);
    }
    use_primary(chosen())?;
    context::with(|context| Ok(context.id))
}

fn is_own() -> bool {
    let own = OWN.try_with(Cell::get).unwrap_or_default();
    own != 0 && own == context::current_handle().addr()
}

/// The device that the thread chose.
fn chosen() -> cu::CUdevice {
    DEVICE.try_with(Cell::get).unwrap_or_default()
}

/// The device of the thread's context, or that which it chose.
///
/// # Errors
/// As [`initialized`].
pub fn current() -> Answer<cu::CUdevice> {
    initialized()?;
    Ok(context::with(|context| Ok(context.device)).unwrap_or_else(|_| chosen()))
}

/// The thread's calls are for a device from here on.
///
/// # Errors
/// `cudaErrorInvalidDevice`, or the driver's.
pub fn choose(device: i32) -> Answer {
    initialized()?;
    use_primary(device)?;
    let _ = DEVICE.try_with(|chosen| chosen.set(device));
    Ok(())
}

/// Makes a device's primary context current.
fn use_primary(device: cu::CUdevice) -> Answer {
    let context = primary(device)?;
    // SAFETY: the handle of a context.
    driver(unsafe { cuCtxSetCurrent(context) })?;
    let _ = OWN.try_with(|own| own.set(context.expose_provenance()));
    Ok(())
}

/// A device's primary context. It is retained once for all threads.
///
/// # Errors
/// `cudaErrorInvalidDevice`, or the driver's.
pub fn primary(device: cu::CUdevice) -> Answer<cu::CUcontext> {
    let mut retained = retained();
    let is_active = is_active(device)?;
    let mut context = std::ptr::null_mut();
    // SAFETY: there is space for a handle.
    driver(unsafe { cuDevicePrimaryCtxRetain(&mut context, device) })?;
    match retained.contains(&device) {
        // SAFETY: it takes a number.
        true if is_active => driver(unsafe { cuDevicePrimaryCtxRelease_v2(device) })?,
        true => {}
        false => retained.push(device),
    }
    Ok(context)
}

/// Checks that there is a device.
///
/// # Errors
/// `cudaErrorInvalidDevice`, or as [`initialized`].
pub fn check(device: i32) -> Answer {
    initialized()?;
    let mut found = 0;
    // SAFETY: there is space for a number.
    driver(unsafe { cuDeviceGet(&mut found, device) })
}

/// The flags of the thread's context, or those that its device's would have.
///
/// # Errors
/// The driver's.
pub fn flags() -> Answer<u32> {
    let device = current()?;
    if let Ok(flags) = context::with(|context| Ok(context.flags)) {
        return Ok(flags);
    }
    let (mut flags, mut is_active) = (0, 0);
    // SAFETY: there is space for both.
    driver(unsafe { cuDevicePrimaryCtxGetState(device, &mut flags, &mut is_active) })?;
    Ok(flags)
}

/// Changes those of the thread's device.
///
/// # Errors
/// `cudaErrorInvalidValue`, or the driver's.
pub fn set_flags(flags: u32) -> Answer {
    let device = current()?;
    // SAFETY: it takes numbers.
    driver(unsafe { cuDevicePrimaryCtxSetFlags_v2(device, flags) })
}

fn is_active(device: cu::CUdevice) -> Answer<bool> {
    let (mut flags, mut is_active) = (0, 0);
    // SAFETY: there is space for both.
    driver(unsafe { cuDevicePrimaryCtxGetState(device, &mut flags, &mut is_active) })?;
    Ok(is_active != 0)
}

/// Destroys the primary context of the thread's device, with all that it has.
///
/// # Errors
/// The driver's.
pub fn reset() -> Answer {
    let device = current()?;
    let mut retained = retained();
    if is_active(device)? {
        let mut context = std::ptr::null_mut();
        let mut id = 0;
        // SAFETY: there is space for each; the handle is that of a context.
        unsafe {
            driver(cuDevicePrimaryCtxRetain(&mut context, device))?;
            driver(cuCtxGetId(context, &mut id))?;
        }
        binary::forget(id);
    }
    retained.retain(|known| *known != device);
    // SAFETY: it takes a number.
    driver(unsafe { cuDevicePrimaryCtxReset_v2(device) })
}
