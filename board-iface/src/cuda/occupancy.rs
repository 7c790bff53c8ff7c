//! How many blocks of a function a device has room for: by that the guest knows how much of
//! the device a launch needs, and which kernels run at the same time.

use super::driver::Driver;
use super::generated::types::*;

/// Attributes of a device (`CUdevice_attribute`): its multiprocessors, bytes of shared memory of
/// each, and what each block reserves of them.
const MULTIPROCESSORS: CUdevice_attribute = 16;
const SHARED: CUdevice_attribute = 81;
const RESERVED: CUdevice_attribute = 111;
/// An attribute of a function: bytes of shared memory that it has itself.
const OWN_SHARED: CUfunction_attribute = 1;
/// Threads of a warp, and most of them in a block.
const WARP: i32 = 32;
const WARPS: i32 = 32;

/// Multiprocessors; bytes of shared memory of each; bytes that a block needs of them without what
/// its launch asks for; and how many blocks of 1 to 32 warps without that a multiprocessor
/// has room for. Empty if the driver does not say it. The function's context is current.
pub fn room(driver: &Driver, function: CUfunction) -> Vec<u64> {
    room_of(driver, function).unwrap_or_default()
}

fn room_of(driver: &Driver, function: CUfunction) -> Option<Vec<u64>> {
    let number = |ask: &dyn Fn(*mut i32) -> CUresult| {
        let mut number = 0;
        let is_known = ask(&mut number) == CUDA_SUCCESS;
        u64::try_from(number).ok().filter(|_| is_known)
    };
    let own = &driver.own;
    // SAFETY: there is space for a number, here and below; a context is current.
    let device = number(&|place| unsafe { (own.cuCtxGetDevice)(place) })?;
    let device = CUdevice::try_from(device).ok()?;
    // SAFETY: likewise.
    let of_device =
        |name| number(&|place| unsafe { (own.cuDeviceGetAttribute)(place, name, device) });
    // SAFETY: likewise; the function is alive.
    let shared = number(&|place| unsafe { (own.cuFuncGetAttribute)(place, OWN_SHARED, function) })?;
    let reserved = of_device(RESERVED).unwrap_or_default();
    let mut words = vec![
        of_device(MULTIPROCESSORS)?,
        of_device(SHARED)?,
        shared.saturating_add(reserved),
    ];
    let blocks = own.cuOccupancyMaxActiveBlocksPerMultiprocessor;
    for warps in 1..=WARPS {
        let threads = warps * WARP;
        // SAFETY: likewise. More threads than the function can have are none.
        let found = number(&|place| unsafe { blocks(place, function, threads, 0) });
        words.push(found.unwrap_or_default());
    }
    Some(words)
}
