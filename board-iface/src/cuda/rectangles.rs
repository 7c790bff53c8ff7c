//! Rectangles and boxes of the device's memory and of arrays: copied, and set. The program's rows come
//! and go one behind the other; the device's memory has pitches, an array a place for each.

use super::generated::Functions;
use super::generated::types::*;
use super::session::{At, Session};
use crate::back_end::{self, Call, Refusal};
use gil_wire::call::{Handle, InData, OutRoom};
use std::ffi::c_void;
use std::ptr::null_mut;

/// What a call asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask<'a> {
    /// Where to. If that is the device's memory: an address, bytes from one row to the next,
    /// rows from one slice to the next. If it is an array: its number, and the bytes, rows and
    /// slices in front of the first byte.
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
    /// In an array.
    Array(InArray),
}

/// Rows in the device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    address: u64,
    pitch: u64,
    height: u64,
}

/// A part of an array.
#[derive(Clone, Copy, Debug)]
struct InArray {
    array: CUarray,
    /// Bytes, rows and slices in front of the first byte.
    origin: [usize; 3],
    /// Whether it has slices, which copies of rectangles do not know.
    has_slices: bool,
}

/// One side, as the wire has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    /// The call's memory.
    Call,
    /// The device's.
    Device(Place),
    /// An array's part: bytes, rows and slices in front of it.
    Array(Handle, [u64; 3]),
}

impl Named {
    fn of(words: &[u64], name: &'static str) -> Result<Self, Refusal> {
        match *words {
            [] => Ok(Self::Call),
            [address, pitch, height] => Ok(Self::Device(Place {
                address,
                pitch,
                height,
            })),
            [array, x, y, z] => Ok(Self::Array(Handle(array), [x, y, z])),
            _ => Err(Refusal::parameter(name, words.len() as u64)),
        }
    }
}

impl Place {
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
            Self::Array(_) => CU_MEMORYTYPE_ARRAY,
        }
    }

    fn host(self) -> *mut c_void {
        match self {
            Self::Call(place) => place,
            Self::Device(_) | Self::Array(_) => null_mut(),
        }
    }

    fn device(self) -> CUdeviceptr {
        match self {
            Self::Device(place) => place.address,
            Self::Call(_) | Self::Array(_) => 0,
        }
    }

    fn array(self) -> CUarray {
        match self {
            Self::Array(part) => part.array,
            Self::Call(_) | Self::Device(_) => null_mut(),
        }
    }

    fn origin(self) -> [usize; 3] {
        match self {
            Self::Array(part) => part.origin,
            Self::Call(_) | Self::Device(_) => [0; 3],
        }
    }

    /// Bytes from one row to the next, rows from one slice to the next. Whatever is larger than
    /// an address space has no span.
    fn pitches(self, [width, height, _]: [usize; 3]) -> (usize, usize) {
        match self {
            Self::Call(_) => (width, height),
            Self::Device(place) => (place.pitch as usize, place.height as usize),
            Self::Array(_) => (0, 0),
        }
    }

    fn has_slices(self) -> bool {
        matches!(self, Self::Array(part) if part.has_slices)
    }
}

/// Whether an array of this size has a part.
fn is_within(size: [u64; 3], origin: [u64; 3], part: [u64; 3]) -> bool {
    let sides = origin.into_iter().zip(part).zip(size);
    let mut fits =
        sides.map(|((from, len), all)| from.checked_add(len).is_some_and(|to| to <= all));
    fits.all(|fits| fits)
}

/// Copies rows. One side at least is the device's memory, or an array of the context's.
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
    let places = [Named::of(ask.to, "to")?, Named::of(ask.from, "from")?];
    if places == [Named::Call; 2] {
        return Err(Refusal::parameter("to", 0));
    }
    let mut ranges = Vec::new();
    let mut sides = [Side::Call(null_mut()); 2];
    for (side, place) in sides.iter_mut().zip(places) {
        *side = match place {
            Named::Call => continue,
            Named::Device(place) => {
                let Some(span) = place.span(size) else {
                    return Ok(session.refuse(call, CUDA_ERROR_INVALID_VALUE));
                };
                ranges.push((place.address, span));
                Side::Device(place)
            }
            Named::Array(array, origin) => {
                let (real, known) = session.array(array)?;
                let is_there = known.context == at.context && !size.contains(&0);
                if !is_there || !is_within(known.size, origin, size) {
                    return Ok(session.refuse(call, CUDA_ERROR_INVALID_VALUE));
                }
                Side::Array(InArray {
                    array: real,
                    origin: lengths(origin)?,
                    has_slices: known.size[2] > 1,
                })
            }
        };
    }
    let rows = width
        .checked_mul(height)
        .and_then(|it| it.checked_mul(depth));
    let len = back_end::size(rows.ok_or(Refusal::wide("size"))?, "size")?;
    let [to, from] = &mut sides;
    if let Side::Call(place) = from {
        *place = call.keep_input(ask.data, len)?.cast_mut();
    }
    if let Side::Call(place) = to {
        *place = call.output(ask.room, len)?.as_mut_ptr();
    }
    let is_missing = |side: &Side| matches!(side, Side::Call(place) if place.is_null());
    if sides.iter().any(is_missing) {
        return Ok(session.refuse(call, CUDA_ERROR_INVALID_VALUE));
    }
    let (size, [to, from]) = (lengths(size)?, sides);
    session.on_memory(call, at, &ranges, &|functions, stream| {
        // SAFETY: both sides have as many rows, until the operation ends.
        unsafe { run(functions, stream, (to, from), size) }
    })
}

fn lengths([x, y, z]: [u64; 3]) -> Result<[usize; 3], Refusal> {
    Ok([
        back_end::size(x, "width")?,
        back_end::size(y, "height")?,
        back_end::size(z, "depth")?,
    ])
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
    if depth == 1 && !to.has_slices() && !from.has_slices() {
        let copy = CUDA_MEMCPY2D {
            srcXInBytes: from.origin()[0],
            srcY: from.origin()[1],
            srcMemoryType: from.kind(),
            srcHost: from.host(),
            srcDevice: from.device(),
            srcArray: from.array(),
            srcPitch: from_pitch,
            dstXInBytes: to.origin()[0],
            dstY: to.origin()[1],
            dstMemoryType: to.kind(),
            dstHost: to.host(),
            dstDevice: to.device(),
            dstArray: to.array(),
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
        srcXInBytes: from.origin()[0],
        srcY: from.origin()[1],
        srcZ: from.origin()[2],
        srcLOD: 0,
        srcMemoryType: from.kind(),
        srcHost: from.host(),
        srcDevice: from.device(),
        srcArray: from.array(),
        reserved0: null_mut(),
        srcPitch: from_pitch,
        srcHeight: from_height,
        dstXInBytes: to.origin()[0],
        dstY: to.origin()[1],
        dstZ: to.origin()[2],
        dstLOD: 0,
        dstMemoryType: to.kind(),
        dstHost: to.host(),
        dstDevice: to.device(),
        dstArray: to.array(),
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
    fn a_side_has_three_numbers_or_four_or_none() {
        let of = |words: &[u64]| Named::of(words, "to").unwrap();
        assert_eq!(of(&[]), Named::Call);
        let array = Named::Array(Handle(1), [2, 3, 4]);
        assert_eq!(of(&[1, 2, 3, 4]), array);
        assert!(matches!(of(&[1, 2, 3]), Named::Device(_)));
        assert!(Named::of(&[1, 2], "to").is_err());
    }

    #[test]
    fn a_part_ends_with_its_array() {
        let size = [16, 4, 2];
        assert!(is_within(size, [0; 3], size) && is_within(size, [8, 3, 1], [8, 1, 1]));
        for (origin, part) in [
            ([1, 0, 0], size),
            ([0, 4, 0], [1, 1, 1]),
            ([0, 0, u64::MAX], [1, 1, 1]),
        ] {
            assert!(!is_within(size, origin, part), "{origin:?}");
        }
    }
}
