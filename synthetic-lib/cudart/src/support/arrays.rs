//! Arrays: what their elements are, and copies from and to them.

use super::copy::{On, number};
use super::device;
use super::error::{Answer, driver};
use super::rectangles::kinds;
use crate::generated::types::*;
use gil_cuda::generated::stubs::*;
use gil_cuda::generated::types as cu;
use gil_cuda_common::array::element;
use std::ffi::c_void;
use std::ptr::null_mut;

/// `CU_AD_FORMAT_UNORM_INT8X1`, with which the formats begin that say their channels, in the same
/// order as [`cudaChannelFormatKindUnsignedNormalized8X1`].
const FIRST_NORMALIZED: i32 = 0xc0;

/// A format as the driver API has it: `CUarray_format`, and the number of channels.
pub type Format = (cu::CUarray_format, u32);

/// From the runtime API's description.
///
/// # Errors
/// `cudaErrorInvalidChannelDescriptor`; `cudaErrorNotSupported` for formats of blocks and planes.
pub fn format(asked: &cudaChannelFormatDesc) -> Answer<Format> {
    let bits = [asked.x, asked.y, asked.z, asked.w];
    let count = bits.iter().take_while(|bits| **bits != 0).count();
    let is_even = bits[..count].iter().all(|it| *it == bits[0]);
    if !is_even || bits[count..].iter().any(|it| *it != 0) {
        return Err(cudaErrorInvalidChannelDescriptor);
    }
    let normalized =
        cudaChannelFormatKindUnsignedNormalized8X1..=cudaChannelFormatKindSignedNormalized16X4;
    let format = match (asked.f, bits[0]) {
        (cudaChannelFormatKindUnsigned, 8) => 0x01,
        (cudaChannelFormatKindUnsigned, 16) => 0x02,
        (cudaChannelFormatKindUnsigned, 32) => 0x03,
        (cudaChannelFormatKindSigned, 8) => 0x08,
        (cudaChannelFormatKindSigned, 16) => 0x09,
        (cudaChannelFormatKindSigned, 32) => 0x0a,
        (cudaChannelFormatKindFloat, 16) => 0x10,
        (cudaChannelFormatKindFloat, 32) => 0x20,
        (kind, _) if normalized.contains(&kind) => {
            FIRST_NORMALIZED + kind - cudaChannelFormatKindUnsignedNormalized8X1
        }
        // Of planes, of blocks, and of ten bits.
        (4 | 17..=31, _) => return Err(cudaErrorNotSupported),
        _ => return Err(cudaErrorInvalidChannelDescriptor),
    };
    let channels = count as u32;
    let bytes = element(format, channels).map_err(|_| cudaErrorInvalidChannelDescriptor)?;
    match bytes * 8 == u64::from(channels) * u64::from(bits[0].cast_unsigned()) {
        true => Ok((format, channels)),
        false => Err(cudaErrorInvalidChannelDescriptor),
    }
}

/// As the runtime API describes it.
pub fn described((format, channels): Format) -> cudaChannelFormatDesc {
    let kind = match format {
        0x01..=0x03 => cudaChannelFormatKindUnsigned,
        0x08..=0x0a => cudaChannelFormatKindSigned,
        0x10 | 0x20 => cudaChannelFormatKindFloat,
        format => format - FIRST_NORMALIZED + cudaChannelFormatKindUnsignedNormalized8X1,
    };
    let bytes = element(format, channels).unwrap_or(0);
    let bits = (bytes * 8 / u64::from(channels.max(1))) as i32;
    let of = |channel: u32| if channel < channels { bits } else { 0 };
    cudaChannelFormatDesc {
        x: of(0),
        y: of(1),
        z: of(2),
        w: of(3),
        f: kind,
    }
}

/// A description of an array for the driver API.
///
/// # Errors
/// `cudaErrorInvalidValue`, and as [`format`].
///
/// # Safety
/// `desc` is null or a description.
pub unsafe fn asked(
    desc: *const cudaChannelFormatDesc,
    extent: cudaExtent,
    flags: u32,
) -> Answer<cu::CUDA_ARRAY3D_DESCRIPTOR> {
    device::ready()?;
    // SAFETY: the caller's.
    let (format, channels) = format(unsafe { desc.as_ref() }.ok_or(cudaErrorInvalidValue)?)?;
    Ok(cu::CUDA_ARRAY3D_DESCRIPTOR {
        Width: extent.width,
        Height: extent.height,
        Depth: extent.depth,
        Format: format,
        NumChannels: channels,
        Flags: flags,
    })
}

/// What an array was made with.
///
/// # Errors
/// The driver's.
pub fn info(array: *const cudaArray) -> Answer<cu::CUDA_ARRAY3D_DESCRIPTOR> {
    device::ready()?;
    let mut found = cu::CUDA_ARRAY3D_DESCRIPTOR {
        Width: 0,
        Height: 0,
        Depth: 0,
        Format: 0,
        NumChannels: 0,
        Flags: 0,
    };
    // SAFETY: there is space for it.
    driver(unsafe { cuArray3DGetDescriptor_v2(&mut found, array.cast_mut().cast()) })?;
    Ok(found)
}

/// Bytes of an array's elements.
///
/// # Errors
/// As [`info`].
pub fn element_of(array: *const cudaArray) -> Answer<usize> {
    let found = info(array)?;
    let bytes = element(found.Format, found.NumChannels).map_err(|_| cudaErrorInvalidValue)?;
    Ok(bytes as usize)
}

/// One side of a copy of rows.
#[derive(Clone, Copy, Debug)]
pub enum Side {
    /// Memory whose rows are so many bytes apart.
    Memory(*mut c_void, usize),
    /// An array's part, behind so many bytes and rows.
    Array(*mut cudaArray, [usize; 2]),
}

impl Side {
    /// A part of an array that is only read.
    pub fn of(array: *const cudaArray, origin: [usize; 2]) -> Self {
        Self::Array(array.cast_mut(), origin)
    }
}

/// Copies rows of so many bytes, one side of which at least is an array's.
///
/// # Errors
/// `cudaErrorInvalidMemcpyDirection`, `cudaErrorInvalidPitchValue`, or the driver's.
///
/// # Safety
/// Memory of the program's has as many rows, until the operation ended.
pub unsafe fn copy(
    (to, from): (Side, Side),
    [width, height]: [usize; 2],
    kind: cudaMemcpyKind,
    on: On,
) -> Answer {
    device::ready()?;
    let (to_kind, from_kind) = kinds(kind)?;
    if width == 0 || height == 0 {
        return Ok(());
    }
    // An array is the device's.
    let is_against =
        |side: Side, kind| matches!(side, Side::Array(..)) && kind == cu::CU_MEMORYTYPE_HOST;
    if is_against(to, to_kind) || is_against(from, from_kind) {
        return Err(cudaErrorInvalidMemcpyDirection);
    }
    let mut asked = cu::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: from_kind,
        srcHost: null_mut(),
        srcDevice: 0,
        srcArray: null_mut(),
        srcPitch: 0,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: to_kind,
        dstHost: null_mut(),
        dstDevice: 0,
        dstArray: null_mut(),
        dstPitch: 0,
        WidthInBytes: width,
        Height: height,
    };
    match from {
        Side::Memory(place, pitch) => {
            check(place, pitch, width)?;
            (asked.srcHost, asked.srcDevice, asked.srcPitch) = (place, number(place), pitch);
        }
        Side::Array(array, [x, y]) => {
            asked.srcMemoryType = cu::CU_MEMORYTYPE_ARRAY;
            (asked.srcArray, asked.srcXInBytes, asked.srcY) = (array.cast(), x, y);
        }
    }
    match to {
        Side::Memory(place, pitch) => {
            check(place, pitch, width)?;
            (asked.dstHost, asked.dstDevice, asked.dstPitch) = (place, number(place), pitch);
        }
        Side::Array(array, [x, y]) => {
            asked.dstMemoryType = cu::CU_MEMORYTYPE_ARRAY;
            (asked.dstArray, asked.dstXInBytes, asked.dstY) = (array.cast(), x, y);
        }
    }
    // SAFETY: the caller's.
    driver(unsafe {
        match on {
            None => cuMemcpy2D_v2(&asked),
            Some(stream) => cuMemcpy2DAsync_v2(&asked, stream.cast()),
        }
    })
}

fn check(place: *mut c_void, pitch: usize, width: usize) -> Answer {
    match place.is_null() {
        true => Err(cudaErrorInvalidValue),
        false if pitch < width => Err(cudaErrorInvalidPitchValue),
        false => Ok(()),
    }
}

/// A run of bytes in rows: from a byte of a row on, over the ends of rows that have so many.
#[derive(Clone, Copy, Debug)]
struct Run {
    x: usize,
    y: usize,
    row: usize,
}

impl Run {
    fn of(array: *const cudaArray, [x, y]: [usize; 2]) -> Answer<Self> {
        let found = info(array)?;
        let bytes = element(found.Format, found.NumChannels).map_err(|_| cudaErrorInvalidValue)?;
        let row = found.Width * bytes as usize;
        match x < row {
            true => Ok(Self { x, y, row }),
            false => Err(cudaErrorInvalidValue),
        }
    }

    /// How many bytes and rows come next in one piece, of so many bytes.
    fn next(&self, left: usize) -> [usize; 2] {
        match self.x == 0 && left >= self.row {
            true => [self.row, left / self.row],
            false => [left.min(self.row - self.x), 1],
        }
    }

    fn pass(&mut self, [width, height]: [usize; 2]) {
        self.x += width;
        self.y += height - 1;
        if self.x == self.row {
            (self.x, self.y) = (0, self.y + 1);
        }
    }
}

/// One side of a copy of bytes that go on in the next row.
#[derive(Clone, Copy, Debug)]
pub enum Bytes {
    /// Memory.
    Memory(*mut c_void),
    /// An array, behind so many bytes and rows.
    Array(*mut cudaArray, [usize; 2]),
}

/// Copies bytes from or to an array, or from one to another, over the ends of rows.
///
/// # Errors
/// As [`copy`]; `cudaErrorInvalidValue` if an array has no such byte.
///
/// # Safety
/// Memory of the program's has as many bytes, until the operation ended.
pub unsafe fn copy_bytes(
    (to, from): (Bytes, Bytes),
    count: usize,
    kind: cudaMemcpyKind,
    on: On,
) -> Answer {
    device::ready()?;
    kinds(kind)?;
    let run = |side: Bytes| match side {
        Bytes::Memory(_) => Ok(None),
        Bytes::Array(array, at) => Run::of(array, at).map(Some),
    };
    let (mut to_run, mut from_run) = (run(to)?, run(from)?);
    let mut done = 0;
    while done < count {
        let left = count - done;
        let pieces = [to_run, from_run].into_iter().flatten();
        let pieces: Vec<_> = pieces.map(|run| run.next(left)).collect();
        let [width, height] = match pieces[..] {
            [one] => one,
            [one, other] if one[0] == other[0] => [one[0], one[1].min(other[1])],
            [one, other] => [one[0].min(other[0]), 1],
            _ => return Err(cudaErrorInvalidValue),
        };
        let side = |side: Bytes, run: Option<Run>| match (side, run) {
            (Bytes::Memory(place), _) => Side::Memory(place.wrapping_byte_add(done), width),
            (Bytes::Array(array, _), run) => {
                Side::Array(array, run.map_or([0; 2], |run| [run.x, run.y]))
            }
        };
        let sides = (side(to, to_run), side(from, from_run));
        // SAFETY: the caller's.
        unsafe { copy(sides, [width, height], kind, on) }?;
        for run in [&mut to_run, &mut from_run].into_iter().flatten() {
            run.pass([width, height]);
        }
        done += width * height;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn desc(x: i32, y: i32, z: i32, w: i32, f: cudaChannelFormatKind) -> cudaChannelFormatDesc {
        cudaChannelFormatDesc { x, y, z, w, f }
    }

    #[test]
    fn formats_are_those_of_the_driver() {
        for (asked, wanted) in [
            (desc(32, 0, 0, 0, cudaChannelFormatKindFloat), (0x20, 1)),
            (desc(16, 16, 0, 0, cudaChannelFormatKindFloat), (0x10, 2)),
            (desc(8, 8, 8, 8, cudaChannelFormatKindUnsigned), (0x01, 4)),
            (desc(32, 32, 0, 0, cudaChannelFormatKindSigned), (0x0a, 2)),
            (desc(8, 8, 8, 8, 7), (0xc2, 4)),
            (desc(16, 16, 0, 0, 9), (0xc4, 2)),
        ] {
            let read = format(&asked).unwrap();
            assert_eq!(read, wanted);
            let back = described(read);
            assert_eq!(
                (back.x, back.y, back.z, back.w, back.f),
                (asked.x, asked.y, asked.z, asked.w, asked.f)
            );
        }
    }

    #[test]
    fn what_is_no_format_is_refused() {
        for asked in [
            desc(8, 8, 8, 0, cudaChannelFormatKindUnsigned),
            desc(8, 0, 8, 0, cudaChannelFormatKindUnsigned),
            desc(8, 16, 0, 0, cudaChannelFormatKindUnsigned),
            desc(0, 0, 0, 0, cudaChannelFormatKindFloat),
            desc(8, 0, 0, 0, cudaChannelFormatKindFloat),
            desc(32, 0, 0, 0, cudaChannelFormatKindNone),
            desc(16, 0, 0, 0, cudaChannelFormatKindUnsignedNormalized8X1),
            desc(8, 8, 0, 0, cudaChannelFormatKindUnsignedNormalized8X1),
            desc(32, 0, 0, 0, 99),
        ] {
            let failed = format(&asked).unwrap_err();
            assert_eq!(failed, cudaErrorInvalidChannelDescriptor, "{asked:?}");
        }
        assert_eq!(format(&desc(8, 8, 8, 8, 17)), Err(cudaErrorNotSupported));
    }

    #[test]
    fn runs_go_on_in_the_next_row() {
        let mut run = Run {
            x: 3,
            y: 1,
            row: 10,
        };
        assert_eq!(run.next(30), [7, 1]);
        run.pass([7, 1]);
        assert_eq!((run.x, run.y, run.next(23)), (0, 2, [10, 2]));
        run.pass([10, 2]);
        assert_eq!((run.x, run.y, run.next(3)), (0, 4, [3, 1]));
        run.pass([3, 1]);
        assert_eq!((run.x, run.y), (3, 4));
    }
}
