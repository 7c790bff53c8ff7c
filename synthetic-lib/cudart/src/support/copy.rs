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

fn number(place: *const c_void) -> cu::CUdeviceptr {
    place.expose_provenance() as cu::CUdeviceptr
}

fn check(way: Way) -> Answer {
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

unsafe fn run(way: Way, count: usize, on: On) -> Answer {
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

/// The rows of a copy: their bytes, how far they are apart on either side, and their number.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// Bytes of each.
    pub width: usize,
    /// From one to the next where they go.
    pub to_pitch: usize,
    /// Where they come from.
    pub from_pitch: usize,
    /// Their number.
    pub height: usize,
}

impl Rows {
    /// The copies of bytes that they are: how many, and the bytes of each.
    fn pieces(&self) -> Answer<(usize, usize)> {
        let Self {
            width,
            to_pitch,
            from_pitch,
            height,
        } = *self;
        if width > to_pitch || width > from_pitch {
            return Err(cudaErrorInvalidPitchValue);
        }
        let largest = to_pitch.max(from_pitch).checked_mul(height);
        if largest.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return Err(cudaErrorInvalidValue);
        }
        Ok(match width == to_pitch && width == from_pitch {
            true => (1, width * height),
            false => (height, width),
        })
    }
}

/// Copies rows: one copy each, unless they have no bytes between them.
///
/// # Errors
/// `cudaErrorInvalidPitchValue`, or as [`bytes`].
///
/// # Safety
/// As `cudaMemcpy2DAsync` in CUDA's documentation.
pub unsafe fn rows(way: Way, rows: Rows, on: On) -> Answer {
    device::ready()?;
    let (copies, count) = rows.pieces()?;
    if copies == 0 || count == 0 {
        return Ok(());
    }
    check(way)?;
    if copies == 1 {
        // SAFETY: the caller's.
        return unsafe { run(way, count, on) };
    }
    let own = on.unwrap_or(std::ptr::null_mut());
    for n in 0..copies {
        let row = Way {
            to: way.to.wrapping_byte_add(n * rows.to_pitch),
            from: way.from.wrapping_byte_add(n * rows.from_pitch),
            ..way
        };
        // SAFETY: the caller's.
        unsafe { run(row, count, Some(own)) }?;
    }
    match on {
        Some(_) => Ok(()),
        // SAFETY: the default stream.
        None => driver(unsafe { cuStreamSynchronize(own.cast()) }),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_bytes_between_them_are_one_copy() {
        let rows = |width, to_pitch, from_pitch, height| Rows {
            width,
            to_pitch,
            from_pitch,
            height,
        };
        assert_eq!(rows(8, 8, 8, 4).pieces(), Ok((1, 32)));
        assert_eq!(rows(8, 16, 8, 4).pieces(), Ok((4, 8)));
        assert_eq!(rows(0, 0, 0, 4).pieces(), Ok((1, 0)));
        let pitch = Err(cudaErrorInvalidPitchValue);
        assert_eq!(rows(9, 8, 16, 4).pieces(), pitch);
        assert_eq!(rows(9, 16, 8, 4).pieces(), pitch);
        let value = Err(cudaErrorInvalidValue);
        assert_eq!(rows(1, usize::MAX, 1, 2).pieces(), value);
        assert_eq!(rows(1, usize::MAX / 2, 1, 2).pieces(), value);
    }
}
