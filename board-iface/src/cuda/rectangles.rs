//! Rectangles and boxes of the device's memory: copied, and set. The program's rows come and go
//! one behind the other; the device's memory has pitches.

use super::generated::Functions;
use super::generated::types::*;
use super::session::{At, Session};
use crate::back_end::{self, Call, Refusal};
use gil_wire::call::{InData, OutRoom};
use std::ffi::c_void;
use std::ptr::null_mut;

/// What a call asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask<'a> {
    /// Where to, if that is the device's memory: an address, bytes from one row to the next,
    /// rows from one slice to the next.
    pub to: &'a [u64],
    /// Where from, likewise.
    pub from: &'a [u64],
    /// Bytes of a row, rows of a slice, slices.
    pub size: &'a [u64],
    /// The program's rows to copy from.
    pub data: &'a InData<'a>,
    /// Room for the program's rows to copy to.
    pub room: OutRoom,
}

/// One side of a copy.
#[derive(Clone, Copy, Debug)]
enum Side {
    /// Rows one behind the other, in a call's memory.
    Call(*mut c_void),
    /// In the device's memory.
    Device(Place),
}

/// Rows in the device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    address: u64,
    pitch: u64,
    height: u64,
}

impl Place {
    /// `None` for a side that is not the device's.
    fn of(words: &[u64], name: &'static str) -> Result<Option<Self>, Refusal> {
        match *words {
            [] => Ok(None),
            [address, pitch, height] => Ok(Some(Self {
                address,
                pitch,
                height,
            })),
            _ => Err(Refusal::parameter(name, words.len() as u64)),
        }
    }

    /// Bytes from the first row's first to the last row's last; `None` if rows overlap or there
    /// are too many of them.
    fn span(&self, [width, height, depth]: [u64; 3]) -> Option<u64> {
        if width == 0 || height == 0 || depth == 0 || self.pitch < width || self.height < height {
            return None;
        }
        let slices = self
            .pitch
            .checked_mul(self.height)?
            .checked_mul(depth - 1)?;
        let rows = self.pitch.checked_mul(height - 1)?;
        slices.checked_add(rows)?.checked_add(width)
    }
}

impl Side {
    fn kind(self) -> CUmemorytype {
        match self {
            Self::Call(_) => CU_MEMORYTYPE_HOST,
            Self::Device(_) => CU_MEMORYTYPE_DEVICE,
        }
    }

    fn host(self) -> *mut c_void {
        match self {
            Self::Call(place) => place,
            Self::Device(_) => null_mut(),
        }
    }

    fn device(self) -> CUdeviceptr {
        match self {
            Self::Call(_) => 0,
            Self::Device(place) => place.address,
        }
    }

    /// Bytes from one row to the next, rows from one slice to the next. Whatever is larger than
    /// an address space has no span.
    fn pitches(self, [width, height, _]: [usize; 3]) -> (usize, usize) {
        match self {
            Self::Call(_) => (width, height),
            Self::Device(place) => (place.pitch as usize, place.height as usize),
        }
    }
}

/// Copies rows. One side at least is the device's memory.
///
/// # Errors
/// [`Refusal`]; what the driver says is in the result.
pub(super) fn copy(
    session: &mut Session,
    call: &mut Call,
    at: At,
    ask: Ask<'_>,
) -> Result<CUresult, Refusal> {
    let &[width, height, depth] = ask.size else {
        return Err(Refusal::parameter("size", ask.size.len() as u64));
    };
    let size = [width, height, depth];
    let places = (Place::of(ask.to, "to")?, Place::of(ask.from, "from")?);
    let mut ranges = Vec::new();
    for place in [places.0, places.1].into_iter().flatten() {
        match place.span(size) {
            Some(span) => ranges.push((place.address, span)),
            None => return Ok(session.refuse(call, CUDA_ERROR_INVALID_VALUE)),
        }
    }
    let rows = width
        .checked_mul(height)
        .and_then(|it| it.checked_mul(depth));
    let len = back_end::size(rows.ok_or(Refusal::wide("size"))?, "size")?;
    let (to, from) = match places {
        (Some(to), Some(from)) => (Side::Device(to), Side::Device(from)),
        (Some(to), None) => {
            let rows = call.keep_input(ask.data, len)?;
            (Side::Device(to), Side::Call(rows.cast_mut()))
        }
        (None, Some(from)) => {
            let rows = call.output(ask.room, len)?.as_mut_ptr();
            (Side::Call(rows), Side::Device(from))
        }
        (None, None) => return Err(Refusal::parameter("to", 0)),
    };
    let is_missing = |side| matches!(side, Side::Call(place) if place.is_null());
    if is_missing(to) || is_missing(from) {
        return Ok(session.refuse(call, CUDA_ERROR_INVALID_VALUE));
    }
    let size = [
        back_end::size(width, "width")?,
        back_end::size(height, "height")?,
        back_end::size(depth, "depth")?,
    ];
    session.on_memory(call, at, &ranges, &|functions, stream| {
        // SAFETY: both sides have as many rows, until the operation ends.
        unsafe { run(functions, stream, (to, from), size) }
    })
}

/// # Safety
/// Both sides have as many rows, until the operation ends.
unsafe fn run(
    functions: &Functions,
    stream: CUstream,
    (to, from): (Side, Side),
    size: [usize; 3],
) -> CUresult {
    let [width, height, depth] = size;
    let (to_pitch, to_height) = to.pitches(size);
    let (from_pitch, from_height) = from.pitches(size);
    if depth == 1 {
        let copy = CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: from.kind(),
            srcHost: from.host(),
            srcDevice: from.device(),
            srcArray: null_mut(),
            srcPitch: from_pitch,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: to.kind(),
            dstHost: to.host(),
            dstDevice: to.device(),
            dstArray: null_mut(),
            dstPitch: to_pitch,
            WidthInBytes: width,
            Height: height,
        };
        let run = functions.cuMemcpy2DAsync_v2;
        // SAFETY: the caller's.
        return run.map_or(CUDA_ERROR_NOT_SUPPORTED, |run| unsafe {
            run(&copy, stream)
        });
    }
    let copy = CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: from.kind(),
        srcHost: from.host(),
        srcDevice: from.device(),
        srcArray: null_mut(),
        reserved0: null_mut(),
        srcPitch: from_pitch,
        srcHeight: from_height,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: to.kind(),
        dstHost: to.host(),
        dstDevice: to.device(),
        dstArray: null_mut(),
        reserved1: null_mut(),
        dstPitch: to_pitch,
        dstHeight: to_height,
        WidthInBytes: width,
        Height: height,
        Depth: depth,
    };
    let run = functions.cuMemcpy3DAsync_v2;
    // SAFETY: the caller's.
    run.map_or(CUDA_ERROR_NOT_SUPPORTED, |run| unsafe {
        run(&copy, stream)
    })
}

/// A rectangle of elements that are set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filled {
    /// The first one's address.
    pub to: u64,
    /// Bytes from one row to the next.
    pub pitch: u64,
    /// What they are set to.
    pub value: u32,
    /// Elements of a row.
    pub width: u64,
    /// Rows.
    pub height: u64,
}

/// Sets elements of so many bytes each.
///
/// # Errors
/// [`Refusal`]; what the driver says is in the result.
pub(super) fn set(
    session: &mut Session,
    call: &mut Call,
    at: At,
    filled: Filled,
    element: u64,
) -> Result<CUresult, Refusal> {
    let bytes = filled
        .width
        .checked_mul(element)
        .ok_or(Refusal::wide("width"))?;
    let place = Place {
        address: filled.to,
        // Of one row, it says nothing.
        pitch: match filled.height {
            1 => filled.pitch.max(bytes),
            _ => filled.pitch,
        },
        height: filled.height,
    };
    let Some(span) = place.span([bytes, filled.height, 1]) else {
        return Ok(session.refuse(call, CUDA_ERROR_INVALID_VALUE));
    };
    let pitch = back_end::size(filled.pitch, "pitch")?;
    let width = back_end::size(filled.width, "width")?;
    let height = back_end::size(filled.height, "height")?;
    let Filled { to, value, .. } = filled;
    session.on_memory(call, at, &[(to, span)], &|functions, stream| {
        let Functions {
            cuMemsetD2D8Async,
            cuMemsetD2D16Async,
            cuMemsetD2D32Async,
            ..
        } = *functions;
        // SAFETY: it is the session's memory, of as many rows.
        let result = unsafe {
            match element {
                1 => {
                    cuMemsetD2D8Async.map(|set| set(to, pitch, value as u8, width, height, stream))
                }
                2 => cuMemsetD2D16Async
                    .map(|set| set(to, pitch, value as u16, width, height, stream)),
                _ => cuMemsetD2D32Async.map(|set| set(to, pitch, value, width, height, stream)),
            }
        };
        result.unwrap_or(CUDA_ERROR_NOT_SUPPORTED)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_ends_with_the_last_row() {
        let place = |pitch, height| Place {
            address: 0,
            pitch,
            height,
        };
        assert_eq!(place(10, 5).span([4, 3, 2]), Some(50 + 20 + 4));
        assert_eq!(place(4, 3).span([4, 3, 1]), Some(12));
        for size in [[0, 1, 1], [1, 0, 1], [1, 1, 0], [11, 1, 1], [1, 6, 1]] {
            assert_eq!(place(10, 5).span(size), None, "{size:?}");
        }
        let largest = u64::MAX;
        assert_eq!(place(largest, largest).span([1, 1, 2]), None);
        assert_eq!(place(largest, 2).span([1, 2, 1]), None);
        assert_eq!(place(largest, 1).span([largest, 1, 1]), Some(largest));
    }

    #[test]
    fn a_place_has_three_numbers_or_none() {
        assert!(matches!(Place::of(&[], "to"), Ok(None)));
        assert!(matches!(Place::of(&[1, 2, 3], "to"), Ok(Some(_))));
        assert!(Place::of(&[1, 2], "to").is_err());
    }
}
