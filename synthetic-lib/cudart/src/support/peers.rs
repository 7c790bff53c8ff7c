//! Other devices, and which device fits best.

use super::copy::{self, On, Way};
use super::error::{Answer, driver};
use super::{device, properties};
use crate::generated::types::*;
use gil_cuda::generated::stubs::*;

/// Lets the thread's device reach another's memory.
///
/// # Errors
/// `cudaErrorInvalidDevice` if it cannot, `cudaErrorInvalidValue`, or the driver's.
pub fn enable(peer: i32, flags: u32) -> Answer {
    device::ready()?;
    device::check(peer)?;
    if flags != 0 {
        return Err(cudaErrorInvalidValue);
    }
    let mut can = 0;
    // SAFETY: there is space for a number.
    driver(unsafe { cuDeviceCanAccessPeer(&mut can, device::current()?, peer) })?;
    if can == 0 {
        return Err(cudaErrorInvalidDevice);
    }
    let peer = device::primary(peer)?;
    // SAFETY: the handle of a context.
    driver(unsafe { cuCtxEnablePeerAccess(peer, 0) })
}

/// Takes that back.
///
/// # Errors
/// `cudaErrorPeerAccessNotEnabled`, or the driver's.
pub fn disable(peer: i32) -> Answer {
    device::ready()?;
    device::check(peer)?;
    let peer = device::primary(peer)?;
    // SAFETY: the handle of a context.
    driver(unsafe { cuCtxDisablePeerAccess(peer) })
}

/// Copies bytes from one device's memory to another's.
///
/// # Errors
/// `cudaErrorInvalidDevice`, or the driver's.
///
/// # Safety
/// As `cudaMemcpyPeerAsync` in CUDA's documentation.
pub unsafe fn copy(way: Way, devices: [i32; 2], count: usize, on: On) -> Answer {
    devices.into_iter().try_for_each(device::check)?;
    // SAFETY: the caller's.
    unsafe { copy::bytes(way, count, on) }
}

/// The device that has the most of what is asked for; the first of several.
///
/// # Errors
/// The driver's.
pub fn choose(asked: &cudaDeviceProp) -> Answer<i32> {
    device::initialized()?;
    let mut count = 0;
    // SAFETY: there is space for a number.
    driver(unsafe { cuDeviceGetCount(&mut count) })?;
    let mut best = None;
    for number in 0..count {
        let fits = matches(asked, &properties::of_device(number)?);
        if best.is_none_or(|(_, most)| fits > most) {
            best = Some((number, fits));
        }
    }
    best.map(|(number, _)| number).ok_or(cudaErrorNoDevice)
}

/// How much of what is asked for a device has.
fn matches(asked: &cudaDeviceProp, has: &cudaDeviceProp) -> usize {
    let version = |it: &cudaDeviceProp| (it.major, it.minor);
    let all = [
        version(has) >= version(asked),
        has.totalGlobalMem >= asked.totalGlobalMem,
        has.sharedMemPerBlock >= asked.sharedMemPerBlock,
        has.regsPerBlock >= asked.regsPerBlock,
        has.warpSize >= asked.warpSize,
        has.maxThreadsPerBlock >= asked.maxThreadsPerBlock,
        has.totalConstMem >= asked.totalConstMem,
        has.multiProcessorCount >= asked.multiProcessorCount,
    ];
    all.into_iter().filter(|fits| *fits).count()
}
