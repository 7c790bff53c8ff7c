//! Copies of rectangles and boxes, and boxes of which the bytes are set: one call of the driver
//! API each, wherever there is one.

use super::arrays;
use super::copy::{self, On, Way, number};
use super::device;
use super::error::{Answer, driver};
use super::manual::{byte, pointer};
use crate::generated::types::*;
use gil_cuda::generated::stubs::*;
use gil_cuda::generated::types as cu;
use std::ffi::c_void;
use std::ptr::null_mut;

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
    /// How many bytes they are in one piece, if nothing is between them.
    fn in_one(&self) -> Answer<Option<usize>> {
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
        Ok((width == to_pitch && width == from_pitch).then(|| width * height))
    }
}

/// The memory that a copy's kind names on either side: to, from.
///
/// # Errors
/// `cudaErrorInvalidMemcpyDirection`.
pub fn kinds(kind: cudaMemcpyKind) -> Answer<(cu::CUmemorytype, cu::CUmemorytype)> {
    use cu::{CU_MEMORYTYPE_DEVICE as DEVICE, CU_MEMORYTYPE_HOST as HOST};
    Ok(match kind {
        cudaMemcpyHostToHost => (HOST, HOST),
        cudaMemcpyHostToDevice => (DEVICE, HOST),
        cudaMemcpyDeviceToHost => (HOST, DEVICE),
        cudaMemcpyDeviceToDevice => (DEVICE, DEVICE),
        cudaMemcpyDefault => (cu::CU_MEMORYTYPE_UNIFIED, cu::CU_MEMORYTYPE_UNIFIED),
        _ => return Err(cudaErrorInvalidMemcpyDirection),
    })
}

/// Copies rows.
///
/// # Errors
/// `cudaErrorInvalidPitchValue`, `cudaErrorInvalidMemcpyDirection`, or the driver's.
///
/// # Safety
/// As `cudaMemcpy2DAsync` in CUDA's documentation.
pub unsafe fn copy(way: Way, rows: Rows, on: On) -> Answer {
    device::ready()?;
    let in_one = rows.in_one()?;
    if rows.width == 0 || rows.height == 0 {
        return Ok(());
    }
    copy::check(way)?;
    if let Some(count) = in_one {
        // SAFETY: the caller's.
        return unsafe { copy::run(way, count, on) };
    }
    let (to, from) = kinds(way.kind)?;
    let asked = cu::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: from,
        srcHost: way.from,
        srcDevice: number(way.from),
        srcArray: null_mut(),
        srcPitch: rows.from_pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: to,
        dstHost: way.to,
        dstDevice: number(way.to),
        dstArray: null_mut(),
        dstPitch: rows.to_pitch,
        WidthInBytes: rows.width,
        Height: rows.height,
    };
    // SAFETY: the caller's.
    driver(unsafe {
        match on {
            None => cuMemcpy2D_v2(&asked),
            Some(stream) => cuMemcpy2DAsync_v2(&asked, stream.cast()),
        }
    })
}

/// Copies a box.
///
/// # Errors
/// As [`described`], or as [`copy`].
///
/// # Safety
/// As `cudaMemcpy3DAsync` in CUDA's documentation.
pub unsafe fn copy_box(asked: *const cudaMemcpy3DParms, on: On) -> Answer {
    device::ready()?;
    // SAFETY: the caller's.
    let Some(copy) = (unsafe { described(asked) })? else {
        return Ok(());
    };
    // SAFETY: the caller's.
    driver(unsafe {
        match on {
            None => cuMemcpy3D_v2(&copy),
            Some(stream) => cuMemcpy3DAsync_v2(&copy, stream.cast()),
        }
    })
}

/// A box as the driver API has it; none of an empty one.
///
/// # Errors
/// `cudaErrorInvalidValue` if a side is no memory or more than one, `cudaErrorInvalidPitchValue`,
/// `cudaErrorInvalidMemcpyDirection`.
///
/// # Safety
/// `asked` is null or a structure.
pub unsafe fn described(asked: *const cudaMemcpy3DParms) -> Answer<Option<cu::CUDA_MEMCPY3D>> {
    // SAFETY: the caller's.
    let asked = unsafe { asked.as_ref() }.ok_or(cudaErrorInvalidValue)?;
    let (from, to) = (&asked.srcPtr, &asked.dstPtr);
    let (to_kind, from_kind) = kinds(asked.kind)?;
    // With an array the extent is of its elements, and so is where in it the box begins.
    let sizes = [(asked.srcArray, from), (asked.dstArray, to)].map(|(array, memory)| {
        match array.is_null() {
            // A side is either.
            true => Ok(None),
            false if !memory.ptr.is_null() => Err(cudaErrorInvalidValue),
            false => arrays::element_of(array).map(Some),
        }
    });
    let [from_size, to_size] = sizes;
    let (from_size, to_size) = (from_size?, to_size?);
    let element = match (from_size, to_size) {
        (Some(one), Some(other)) if one != other => return Err(cudaErrorInvalidValue),
        (one, other) => one.or(other).unwrap_or(1),
    };
    let cudaExtent { height, depth, .. } = asked.extent;
    let in_bytes = |count: usize, size: usize| count.checked_mul(size).ok_or(cudaErrorInvalidValue);
    let width = in_bytes(asked.extent.width, element)?;
    if width == 0 || height == 0 || depth == 0 {
        return Ok(None);
    }
    let side = |size: Option<usize>, memory: &cudaPitchedPtr, at: &cudaPos, kind| match size {
        Some(_) if kind == cu::CU_MEMORYTYPE_HOST => Err(cudaErrorInvalidMemcpyDirection),
        Some(size) => Ok((cu::CU_MEMORYTYPE_ARRAY, in_bytes(at.x, size)?)),
        None if memory.ptr.is_null() => Err(cudaErrorInvalidValue),
        None => match at.x.checked_add(width) {
            Some(end) if end <= memory.pitch => Ok((kind, at.x)),
            _ => Err(cudaErrorInvalidPitchValue),
        },
    };
    let (from_kind, from_x) = side(from_size, from, &asked.srcPos, from_kind)?;
    let (to_kind, to_x) = side(to_size, to, &asked.dstPos, to_kind)?;
    Ok(Some(cu::CUDA_MEMCPY3D {
        srcXInBytes: from_x,
        srcY: asked.srcPos.y,
        srcZ: asked.srcPos.z,
        srcLOD: 0,
        srcMemoryType: from_kind,
        srcHost: from.ptr,
        srcDevice: number(from.ptr),
        srcArray: asked.srcArray.cast(),
        reserved0: null_mut(),
        srcPitch: from.pitch,
        srcHeight: from.ysize,
        dstXInBytes: to_x,
        dstY: asked.dstPos.y,
        dstZ: asked.dstPos.z,
        dstLOD: 0,
        dstMemoryType: to_kind,
        dstHost: to.ptr,
        dstDevice: number(to.ptr),
        dstArray: asked.dstArray.cast(),
        reserved1: null_mut(),
        dstPitch: to.pitch,
        dstHeight: to.ysize,
        WidthInBytes: width,
        Height: height,
        Depth: depth,
    }))
}

/// Allocates rows of slices.
///
/// # Errors
/// The driver's.
pub fn allocate(extent: cudaExtent, element: u32) -> Answer<cudaPitchedPtr> {
    device::ready()?;
    let (mut made, mut pitch) = (0, 0);
    let rows = extent.height.checked_mul(extent.depth);
    let rows = rows.ok_or(cudaErrorMemoryAllocation)?;
    if extent.width > 0 && rows > 0 {
        // SAFETY: there is space for both.
        let code =
            unsafe { cuMemAllocPitch_v2(&mut made, &mut pitch, extent.width, rows, element) };
        driver(code)?;
    }
    Ok(cudaPitchedPtr {
        ptr: pointer(made),
        pitch,
        xsize: extent.width,
        ysize: extent.height,
    })
}

/// Rows of slices, of which the bytes are set.
#[derive(Clone, Copy, Debug)]
pub struct Filled {
    to: *mut c_void,
    pitch: usize,
    /// Rows from one slice to the next.
    apart: usize,
    value: u8,
    width: usize,
    height: usize,
    depth: usize,
}

impl Filled {
    /// One slice.
    pub fn rows(
        (to, pitch): (*mut c_void, usize),
        value: i32,
        (width, height): (usize, usize),
    ) -> Self {
        Self {
            to,
            pitch,
            apart: height,
            value: byte(value),
            width,
            height,
            depth: 1,
        }
    }

    /// Slices of memory with a pitch.
    pub fn slices(to: &cudaPitchedPtr, value: i32, extent: cudaExtent) -> Self {
        Self {
            to: to.ptr,
            pitch: to.pitch,
            apart: to.ysize,
            value: byte(value),
            width: extent.width,
            height: extent.height,
            depth: extent.depth,
        }
    }

    /// The calls of rows that they are: how many, and the rows of each.
    fn pieces(&self) -> Answer<(usize, usize)> {
        if self.width == 0 || self.height == 0 || self.depth == 0 {
            return Ok((0, 0));
        }
        if self.width > self.pitch && (self.height > 1 || self.depth > 1) {
            return Err(cudaErrorInvalidPitchValue);
        }
        if self.depth > 1 && self.height > self.apart {
            return Err(cudaErrorInvalidValue);
        }
        match self.depth == 1 || self.height == self.apart {
            true => {
                let rows = self.height.checked_mul(self.depth);
                Ok((1, rows.ok_or(cudaErrorInvalidValue)?))
            }
            false => Ok((self.depth, self.height)),
        }
    }

    /// Sets them.
    ///
    /// # Errors
    /// `cudaErrorInvalidPitchValue`, `cudaErrorInvalidValue`, or the driver's.
    pub fn set(&self, on: On) -> Answer {
        device::ready()?;
        let (pieces, rows) = self.pieces()?;
        let slice = self.pitch.checked_mul(self.apart);
        let bytes = slice.and_then(|slice| slice.checked_mul(pieces));
        bytes.ok_or(cudaErrorInvalidValue)?;
        for n in 0..pieces {
            let to = number(self.to.wrapping_byte_add(n * slice.unwrap_or(0)));
            // SAFETY: it takes numbers and a handle.
            driver(unsafe {
                match on {
                    None => cuMemsetD2D8_v2(to, self.pitch, self.value, self.width, rows),
                    Some(stream) => cuMemsetD2D8Async(
                        to,
                        self.pitch,
                        self.value,
                        self.width,
                        rows,
                        stream.cast(),
                    ),
                }
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_bytes_between_them_are_one_piece() {
        let rows = |width, to_pitch, from_pitch, height| Rows {
            width,
            to_pitch,
            from_pitch,
            height,
        };
        assert_eq!(rows(8, 8, 8, 4).in_one(), Ok(Some(32)));
        assert_eq!(rows(8, 16, 8, 4).in_one(), Ok(None));
        assert_eq!(rows(0, 0, 0, 4).in_one(), Ok(Some(0)));
        let pitch = Err(cudaErrorInvalidPitchValue);
        assert_eq!(rows(9, 8, 16, 4).in_one(), pitch);
        assert_eq!(rows(9, 16, 8, 4).in_one(), pitch);
        let value = Err(cudaErrorInvalidValue);
        assert_eq!(rows(1, usize::MAX, 1, 2).in_one(), value);
        assert_eq!(rows(1, usize::MAX / 2, 1, 2).in_one(), value);
    }

    #[test]
    fn slices_without_rows_between_them_are_one_piece() {
        let filled = |width, height, depth, apart| Filled {
            to: null_mut(),
            pitch: 16,
            apart,
            value: 0,
            width,
            height,
            depth,
        };
        assert_eq!(filled(16, 4, 3, 4).pieces(), Ok((1, 12)));
        assert_eq!(filled(9, 4, 3, 5).pieces(), Ok((3, 4)));
        assert_eq!(filled(9, 4, 1, 0).pieces(), Ok((1, 4)));
        assert_eq!(filled(9, 4, 0, 5).pieces(), Ok((0, 0)));
        assert_eq!(
            filled(17, 4, 1, 4).pieces(),
            Err(cudaErrorInvalidPitchValue)
        );
        assert_eq!(filled(9, 4, 2, 3).pieces(), Err(cudaErrorInvalidValue));
    }
}
