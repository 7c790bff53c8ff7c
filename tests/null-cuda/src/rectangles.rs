//! Rectangles and boxes: copied, and set.

use super::{Code, INVALID_HANDLE, INVALID_VALUE, Object, run};
use crate::state::{State, Work};
use std::ffi::{c_int, c_uint, c_void};

/// One side of a copy, with the layout of CUDA's `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Side2 {
    x: usize,
    y: usize,
    kind: c_int,
    host: *mut c_void,
    device: u64,
    array: Object,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Debug)]
pub struct Copy2 {
    from: Side2,
    to: Side2,
    width: usize,
    height: usize,
}

/// One side of a copy, with the layout of CUDA's `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Side3 {
    x: usize,
    y: usize,
    z: usize,
    lod: usize,
    kind: c_int,
    host: *mut c_void,
    device: u64,
    array: Object,
    reserved: *mut c_void,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Debug)]
pub struct Copy3 {
    from: Side3,
    to: Side3,
    width: usize,
    height: usize,
    depth: usize,
}

const HOST: c_int = 1;
const DEVICE: c_int = 2;
const ARRAY: c_int = 3;

impl Side2 {
    fn in_space(self, height: usize) -> Side3 {
        Side3 {
            x: self.x,
            y: self.y,
            z: 0,
            lod: 0,
            kind: self.kind,
            host: self.host,
            device: self.device,
            array: self.array,
            reserved: std::ptr::null_mut(),
            pitch: self.pitch,
            height,
        }
    }
}

impl Side3 {
    fn check(&self, width: usize, height: usize) -> Result<(), Code> {
        let is_plain = self.lod == 0 && self.reserved.is_null();
        let is_there = match self.kind {
            HOST => !self.host.is_null() && self.device == 0 && self.array.is_null(),
            DEVICE => self.host.is_null() && self.array.is_null(),
            ARRAY => self.host.is_null() && self.device == 0 && !self.array.is_null(),
            _ => false,
        };
        // An array knows itself how far its rows are apart.
        let fits =
            self.kind == ARRAY || self.x + width <= self.pitch && self.y + height <= self.height;
        match is_plain && is_there && fits {
            true => Ok(()),
            false => Err(INVALID_VALUE),
        }
    }

    /// Bytes in front of a row.
    fn skip(&self, [y, z]: [usize; 2]) -> usize {
        ((self.z + z) * self.height + self.y + y) * self.pitch + self.x
    }

    /// A row of an array's.
    fn in_array<'a>(
        &self,
        state: &'a mut State,
        [y, z]: [usize; 2],
        width: usize,
    ) -> Result<&'a mut [u8], Code> {
        let context = state.current_handle()?;
        let array = state.arrays.get_mut(self.array).ok_or(INVALID_HANDLE)?;
        match array.context == context {
            true => array.row([self.x, self.y + y, self.z + z], width),
            false => Err(INVALID_VALUE),
        }
    }

    /// A row's bytes.
    ///
    /// # Safety
    /// The program's memory has the row.
    unsafe fn row(&self, state: &mut State, at: [usize; 2], width: usize) -> Result<Vec<u8>, Code> {
        if self.kind == ARRAY {
            return Ok(self.in_array(state, at, width)?.to_vec());
        }
        let skip = self.skip(at);
        if self.kind == DEVICE {
            return Ok(state.bytes(self.device + skip as u64, width)?.to_vec());
        }
        let place = self.host.cast::<u8>().wrapping_add(skip);
        // SAFETY: the caller's.
        Ok(unsafe { std::slice::from_raw_parts(place, width) }.to_vec())
    }

    /// # Safety
    /// The program's memory has space for the row.
    unsafe fn put(&self, state: &mut State, at: [usize; 2], row: &[u8]) -> Result<(), Code> {
        if self.kind == ARRAY {
            self.in_array(state, at, row.len())?.copy_from_slice(row);
            return Ok(());
        }
        let skip = self.skip(at);
        if self.kind == DEVICE {
            let place = state.bytes(self.device + skip as u64, row.len())?;
            place.copy_from_slice(row);
            return Ok(());
        }
        let place = self.host.cast::<u8>().wrapping_add(skip);
        // SAFETY: the caller's.
        unsafe { std::ptr::copy_nonoverlapping(row.as_ptr(), place, row.len()) };
        Ok(())
    }
}

/// # Safety
/// Both sides have the rows.
unsafe fn copy(
    (to, from): (Side3, Side3),
    (width, height, depth): (usize, usize, usize),
    stream: Object,
) -> Code {
    run(|state| {
        to.check(width, height)?;
        from.check(width, height)?;
        for z in 0..depth {
            for y in 0..height {
                // SAFETY: the caller's.
                unsafe {
                    let row = from.row(state, [y, z], width)?;
                    to.put(state, [y, z], &row)?;
                }
            }
        }
        state.work(stream, Work::Bytes((width * height * depth) as u64))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpy2DAsync_v2(asked: *const Copy2, stream: Object) -> Code {
    // SAFETY: the caller's.
    let Some(asked) = (unsafe { asked.as_ref() }) else {
        return INVALID_VALUE;
    };
    let size = (asked.width, asked.height, 1);
    let side = |side: Side2| side.in_space(side.y + asked.height);
    // SAFETY: the caller's.
    unsafe { copy((side(asked.to), side(asked.from)), size, stream) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpy3DAsync_v2(asked: *const Copy3, stream: Object) -> Code {
    // SAFETY: the caller's.
    let Some(asked) = (unsafe { asked.as_ref() }) else {
        return INVALID_VALUE;
    };
    let size = (asked.width, asked.height, asked.depth);
    // SAFETY: the caller's.
    unsafe { copy((asked.to, asked.from), size, stream) }
}

/// Elements of each row.
fn fill(
    (to, pitch): (u64, usize),
    element: &[u8],
    (width, height): (usize, usize),
    stream: Object,
) -> Code {
    run(|state| {
        let bytes = width * element.len();
        if pitch < bytes && height > 1 {
            return Err(INVALID_VALUE);
        }
        for y in 0..height {
            let row = state.bytes(to + (y * pitch) as u64, bytes)?;
            let chunks = row.chunks_exact_mut(element.len());
            chunks.for_each(|chunk| chunk.copy_from_slice(element));
        }
        state.work(stream, Work::Bytes((bytes * height) as u64))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD2D8Async(
    to: u64,
    pitch: usize,
    value: u8,
    width: usize,
    height: usize,
    stream: Object,
) -> Code {
    fill((to, pitch), &[value], (width, height), stream)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD2D16Async(
    to: u64,
    pitch: usize,
    value: u16,
    width: usize,
    height: usize,
    stream: Object,
) -> Code {
    fill((to, pitch), &value.to_le_bytes(), (width, height), stream)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD2D32Async(
    to: u64,
    pitch: usize,
    value: c_uint,
    width: usize,
    height: usize,
    stream: Object,
) -> Code {
    fill((to, pitch), &value.to_le_bytes(), (width, height), stream)
}
