//! Copies between memory of the program's and the device's, in the direction that the program
//! says.

use super::error::{Answer, driver};
use super::{binary, device};
use crate::generated::types::*;
use gil_cuda::generated::stubs::*;
use gil_cuda::generated::types as cu;
use std::ffi::c_void;

/// The stream of a copy that returns at once; `None` for one that is waited for, on the
/// default stream.
pub type On = Option<cudaStream_t>;

/// Where a copy begins and ends.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// To.
    pub to: *mut c_void,
    /// From.
    pub from: *const c_void,
    /// In which direction.
    pub kind: cudaMemcpyKind,
}

/// A place as the driver API has it.
pub fn number(place: *const c_void) -> cu::CUdeviceptr {
    place.expose_provenance() as cu::CUdeviceptr
}

/// Checks a copy's places and direction.
///
/// # Errors
/// `cudaErrorInvalidMemcpyDirection` or `cudaErrorInvalidValue`.
pub fn check(way: Way) -> Answer {
    match way {
        Way { kind, .. } if !(cudaMemcpyHostToHost..=cudaMemcpyDefault).contains(&kind) => {
            Err(cudaErrorInvalidMemcpyDirection)
        }
        Way { to, from, .. } if to.is_null() || from.is_null() => Err(cudaErrorInvalidValue),
        _ => Ok(()),
    }
}

/// Copies bytes.
///
/// # Errors
/// `cudaErrorInvalidMemcpyDirection`, or the driver's.
///
/// # Safety
/// As `cudaMemcpyAsync` in CUDA's documentation.
pub unsafe fn bytes(way: Way, count: usize, on: On) -> Answer {
    device::ready()?;
    if count == 0 {
        return Ok(());
    }
    check(way)?;
    // SAFETY: the caller's.
    unsafe { run(way, count, on) }
}

/// Copies bytes, of which there are some.
///
/// # Errors
/// The driver's.
///
/// # Safety
/// As for [`bytes`].
pub unsafe fn run(way: Way, count: usize, on: On) -> Answer {
    let Way { to, from, kind } = way;
    let stream = on.unwrap_or(std::ptr::null_mut()).cast();
    let (device_to, device_from) = (number(to), number(from));
    // SAFETY: the caller's.
    driver(unsafe {
        match (kind, on.is_some()) {
            (cudaMemcpyHostToDevice, false) => cuMemcpyHtoD_v2(device_to, from, count),
            (cudaMemcpyHostToDevice, true) => cuMemcpyHtoDAsync_v2(device_to, from, count, stream),
            (cudaMemcpyDeviceToHost, false) => cuMemcpyDtoH_v2(to, device_from, count),
            (cudaMemcpyDeviceToHost, true) => cuMemcpyDtoHAsync_v2(to, device_from, count, stream),
            (cudaMemcpyDeviceToDevice, false) => cuMemcpyDtoD_v2(device_to, device_from, count),
            (cudaMemcpyDeviceToDevice, true) => {
                cuMemcpyDtoDAsync_v2(device_to, device_from, count, stream)
            }
            (_, false) => cuMemcpy(device_to, device_from, count),
            (_, true) => cuMemcpyAsync(device_to, device_from, count, stream),
        }
    })
}

/// A part of a variable of a module's: how many bytes, from which on.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The program's address of the variable.
    pub symbol: *const c_void,
    /// Bytes.
    pub count: usize,
    /// From which on.
    pub offset: usize,
}

impl Part {
    /// Where it is in the device's memory.
    fn place(&self) -> Answer<*mut c_void> {
        let (address, bytes) = binary::variable(self.symbol)?;
        let end = self.offset.checked_add(self.count);
        if end.is_none_or(|end| end > bytes) {
            return Err(cudaErrorInvalidValue);
        }
        let address = address as usize + self.offset;
        Ok(std::ptr::with_exposed_provenance_mut(address))
    }
}

/// Checks the direction of a variable's copy: that from or to the program's memory, or within
/// the device's.
fn check_kind(kind: cudaMemcpyKind, own: cudaMemcpyKind) -> Answer {
    match [own, cudaMemcpyDeviceToDevice, cudaMemcpyDefault].contains(&kind) {
        true => Ok(()),
        false => Err(cudaErrorInvalidMemcpyDirection),
    }
}

/// Copies to a variable.
///
/// # Errors
/// `cudaErrorInvalidSymbol`, or as [`bytes`].
///
/// # Safety
/// As `cudaMemcpyToSymbolAsync` in CUDA's documentation.
pub unsafe fn to_symbol(part: Part, from: *const c_void, kind: cudaMemcpyKind, on: On) -> Answer {
    check_kind(kind, cudaMemcpyHostToDevice)?;
    let to = part.place()?;
    let way = Way { to, from, kind };
    // SAFETY: the caller's.
    unsafe { bytes(way, part.count, on) }
}

/// Copies from a variable.
///
/// # Errors
/// `cudaErrorInvalidSymbol`, or as [`bytes`].
///
/// # Safety
/// As `cudaMemcpyFromSymbolAsync` in CUDA's documentation.
pub unsafe fn from_symbol(part: Part, to: *mut c_void, kind: cudaMemcpyKind, on: On) -> Answer {
    check_kind(kind, cudaMemcpyDeviceToHost)?;
    let from = part.place()?;
    let way = Way { to, from, kind };
    // SAFETY: the caller's.
    unsafe { bytes(way, part.count, on) }
}
