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
    /// [`ANY`] until it chose one.
    static DEVICE: Cell<cu::CUdevice> = const { Cell::new(ANY) };
    /// The primary context that was made current here; 0 for none.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

/// No device.
const ANY: cu::CUdevice = -1;

/// The devices that threads try which chose none; without any, the first one.
static PREFERRED: Mutex<Vec<cu::CUdevice>> = Mutex::new(Vec::new());

fn preferred() -> MutexGuard<'static, Vec<cu::CUdevice>> {
    PREFERRED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Threads that chose no device try these, in their order.
///
/// # Errors
/// `cudaErrorInvalidDevice` if one of them is none.
pub fn prefer(devices: Vec<cu::CUdevice>) -> Answer {
    devices.iter().try_for_each(|device| check(*device))?;
    *preferred() = devices;
    Ok(())
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
    if DEVICE.try_with(Cell::get) == Ok(ANY) {
        use_preferred()?;
    } else {
        use_primary(chosen())?;
    }
    context::with(|context| Ok(context.id))
}

fn is_own() -> bool {
    let own = OWN.try_with(Cell::get).unwrap_or_default();
    own != 0 && own == context::current_handle().addr()
}

/// The first device that works is the thread's.
fn use_preferred() -> Answer {
    let devices = preferred().clone();
    let Some((last, others)) = devices.split_last() else {
        return use_primary(0);
    };
    let works = |device: &&cu::CUdevice| use_primary(**device).is_ok();
    let device = match others.iter().find(works) {
        Some(device) => *device,
        None => {
            use_primary(*last)?;
            *last
        }
    };
    let _ = DEVICE.try_with(|chosen| chosen.set(device));
    Ok(())
}

/// The device that the thread chose, or the first that it would try.
fn chosen() -> cu::CUdevice {
    match DEVICE.try_with(Cell::get) {
        Ok(ANY) | Err(_) => preferred().first().copied().unwrap_or(0),
        Ok(device) => device,
    }
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
    if let Ok(flags) = context::with(|context| Ok(context.flags())) {
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
