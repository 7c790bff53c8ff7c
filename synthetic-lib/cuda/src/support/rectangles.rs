//! Copies of rectangles and boxes, of arrays, too, and rectangles that are set. The program's rows
//! travel one behind the other; the device's pitches are the board's.

use super::arrays;
use super::context;
use super::copy::{Of, ended, host, nothing, on_device};
use super::graph::work::{self, Set, Work};
use super::shared::Bytes;
use super::{function, memory, streams};
use crate::generated::manual::Request;
use crate::generated::types::*;
use gil_guest::api::CallResult;
use gil_wire::call::{Handle, InData, OutRoom};
use gil_wire::envelope::Engine;
use gil_wire::generated::cuda as wire;
use gil_wire::length::Length;
use gil_wire::rows::Rows;
use std::ffi::c_void;
use std::sync::Arc;

/// Whose memory one side of a copy is.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// The program's.
    Host(*mut c_void),
    /// The device's.
    Device(u64),
    /// An array's, behind so many bytes, rows and slices.
    Array(Handle, [u64; 3]),
}

/// One side of a copy: its first row, bytes from one row to the next, rows from one slice to
/// the next.
#[derive(Clone, Copy, Debug)]
struct Side {
    place: Place,
    pitch: usize,
    height: usize,
}

/// One side, as the program describes it.
struct Described {
    kind: CUmemorytype,
    host: *mut c_void,
    device: CUdeviceptr,
    array: CUarray,
    /// Bytes, rows and slices in front of the first row.
    origin: [usize; 3],
    pitch: usize,
    height: usize,
}

impl Described {
    fn side(self, size: [usize; 3]) -> CallResult<Side> {
        if self.kind == CU_MEMORYTYPE_ARRAY {
            return self.in_array(size);
        }
        let [width, height, depth] = size;
        let [x, y, z] = self.origin;
        let rows = y.checked_add(height).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        // Of one slice, it says nothing.
        let slice = match self.height == 0 && depth <= 1 {
            true => rows,
            false => self.height,
        };
        let row = x.checked_add(width).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        if self.pitch < row || slice < rows {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let length = |value: usize| Length::of(value as u64);
        let slices = length(z) * length(slice) * length(self.pitch);
        let skip = (slices + length(y) * length(self.pitch) + length(x)).get();
        let skip = skip.ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let on_device = |address: u64| {
            let first = address.checked_add(skip as u64);
            first.map(Place::Device).ok_or(CUDA_ERROR_INVALID_VALUE)
        };
        let place = match self.kind {
            CU_MEMORYTYPE_HOST => Place::Host(after(self.host, skip)?),
            CU_MEMORYTYPE_DEVICE => on_device(self.device)?,
            CU_MEMORYTYPE_UNIFIED if memory::is_devices(self.device) => on_device(self.device)?,
            CU_MEMORYTYPE_UNIFIED => {
                let place = std::ptr::with_exposed_provenance_mut(self.device as usize);
                Place::Host(after(place, skip)?)
            }
            _ => return Err(CUDA_ERROR_INVALID_VALUE),
        };
        Ok(Side {
            place,
            pitch: self.pitch,
            height: slice,
        })
    }

    /// A part of an array of the current context's.
    fn in_array(self, size: [usize; 3]) -> CallResult<Side> {
        if self.array.is_null() {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let (number, array) = arrays::find(self.array)?;
        let is_own = context::with(|context| Ok(Arc::ptr_eq(context, &array.context)))?;
        let all = array.layout.size().map_err(|_| CUDA_ERROR_INVALID_VALUE)?;
        let origin = self.origin.map(|it| it as u64);
        let fits = |side: usize| {
            let end = origin[side].checked_add(size[side] as u64);
            end.is_some_and(|end| end <= all[side])
        };
        if !is_own || !(0..all.len()).all(fits) {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        Ok(Side {
            place: Place::Array(number, origin),
            pitch: 0,
            height: 0,
        })
    }
}

/// So many bytes behind the program's place, which is null as that is.
fn after(place: *mut c_void, skip: usize) -> CallResult<*mut c_void> {
    if place.is_null() {
        return Ok(place);
    }
    let end = place.addr().checked_add(skip);
    end.map(|_| place.wrapping_byte_add(skip))
        .ok_or(CUDA_ERROR_INVALID_VALUE)
}

impl Side {
    /// As the board has it; nothing of the program's memory.
    fn words(&self) -> Vec<u64> {
        match self.place {
            Place::Host(_) => Vec::new(),
            Place::Device(address) => vec![address, self.pitch as u64, self.height as u64],
            Place::Array(number, [x, y, z]) => vec![number.0, x, y, z],
        }
    }

    fn rows(&self, [width, height, depth]: [usize; 3]) -> CallResult<Rows> {
        let slice = self.pitch.checked_mul(self.height);
        Ok(Rows {
            row: width as u64,
            rows: height as u64,
            row_pitch: self.pitch as u64,
            slices: depth as u64,
            slice_pitch: slice.ok_or(CUDA_ERROR_INVALID_VALUE)? as u64,
        })
    }
}

/// A copy: where to, where from, and bytes of a row, rows of a slice, slices.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    to: Side,
    from: Side,
    size: [usize; 3],
}

impl Copy {
    fn is_empty(size: [usize; 3]) -> bool {
        size.contains(&0)
    }
}

/// What the program asks for by a rectangle; `None` for one without bytes.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`, or `CUDA_ERROR_INVALID_HANDLE` for an array that is none.
fn rectangle(asked: &CUDA_MEMCPY2D) -> CallResult<Option<Copy>> {
    let size = [asked.WidthInBytes, asked.Height, 1];
    if Copy::is_empty(size) {
        return Ok(None);
    }
    let to = Described {
        kind: asked.dstMemoryType,
        host: asked.dstHost,
        device: asked.dstDevice,
        array: asked.dstArray,
        origin: [asked.dstXInBytes, asked.dstY, 0],
        pitch: asked.dstPitch,
        height: 0,
    };
    let from = Described {
        kind: asked.srcMemoryType,
        host: asked.srcHost.cast_mut(),
        device: asked.srcDevice,
        array: asked.srcArray,
        origin: [asked.srcXInBytes, asked.srcY, 0],
        pitch: asked.srcPitch,
        height: 0,
    };
    Ok(Some(Copy {
        to: to.side(size)?,
        from: from.side(size)?,
        size,
    }))
}

/// The same of a box.
fn r#box(asked: &CUDA_MEMCPY3D) -> CallResult<Option<Copy>> {
    let size = [asked.WidthInBytes, asked.Height, asked.Depth];
    let is_reserved = !asked.reserved0.is_null() || !asked.reserved1.is_null();
    if asked.srcLOD != 0 || asked.dstLOD != 0 || is_reserved {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    if Copy::is_empty(size) {
        return Ok(None);
    }
    let to = Described {
        kind: asked.dstMemoryType,
        host: asked.dstHost,
        device: asked.dstDevice,
        array: asked.dstArray,
        origin: [asked.dstXInBytes, asked.dstY, asked.dstZ],
        pitch: asked.dstPitch,
        height: asked.dstHeight,
    };
    let from = Described {
        kind: asked.srcMemoryType,
        host: asked.srcHost.cast_mut(),
        device: asked.srcDevice,
        array: asked.srcArray,
        origin: [asked.srcXInBytes, asked.srcY, asked.srcZ],
        pitch: asked.srcPitch,
        height: asked.srcHeight,
    };
    Ok(Some(Copy {
        to: to.side(size)?,
        from: from.side(size)?,
        size,
    }))
}

/// Copies a rectangle.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `asked` is null or a description, whose places in the program's memory have as many rows
/// until the operation ended.
pub unsafe fn copy_rectangle(of: Of, asked: *const CUDA_MEMCPY2D) -> CallResult<()> {
    context::with(|context| context.healthy())?;
    // SAFETY: the caller's.
    let asked = unsafe { asked.as_ref() }.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    if of.is_taken(|| rectangle(asked).map(|_| Work::Copy(Box::new(work::flat(asked)))))? {
        return Ok(());
    }
    // SAFETY: the caller's.
    rectangle(asked)?.map_or_else(nothing, |copy| unsafe { run(of, copy) })
}

/// Whether a copy of a box is one.
///
/// # Errors
/// The API's code.
pub fn checked(asked: &CUDA_MEMCPY3D) -> CallResult<()> {
    r#box(asked).map(|_| ())
}

/// Copies a box.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// As for [`copy_rectangle`].
pub unsafe fn copy_box(of: Of, asked: *const CUDA_MEMCPY3D) -> CallResult<()> {
    context::with(|context| context.healthy())?;
    // SAFETY: the caller's.
    let asked = unsafe { asked.as_ref() }.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    if of.is_taken(|| r#box(asked).map(|_| Work::Copy(Box::new(*asked))))? {
        return Ok(());
    }
    // SAFETY: the caller's.
    r#box(asked)?.map_or_else(nothing, |copy| unsafe { run(of, copy) })
}

/// # Safety
/// Places in the program's memory have as many rows, until the operation ended.
unsafe fn run(of: Of, copy: Copy) -> CallResult<()> {
    let Copy { to, from, size } = copy;
    let bytes = |place, of: fn(CUdeviceptr, usize) -> Bytes| match place {
        Place::Device(address) => Some(of(address, 0).to_the_end()),
        Place::Host(_) | Place::Array(..) => None,
    };
    let places = [
        bytes(to.place, Bytes::written),
        bytes(from.place, Bytes::read),
    ];
    let places: Vec<_> = places.into_iter().flatten().collect();
    match (to.place, from.place) {
        (Place::Host(to_place), Place::Host(from_place)) => {
            // SAFETY: the caller's.
            unsafe { within(of, (to_place, from_place), copy) }
        }
        (Place::Device(_) | Place::Array(..), Place::Host(place)) => {
            host(place, size[0])?;
            of.with(
                &places,
                Engine::COPY_IN,
                |context, lane, mut request, event| {
                    function::settle(lane);
                    // SAFETY: the caller's.
                    let data = unsafe { request.input_rows(place, from.rows(size)?) }?;
                    forward(request, &copy, (context, lane, event), data, OutRoom::Null)
                },
            )
        }
        (Place::Host(place), Place::Device(_) | Place::Array(..)) => {
            host(place, size[0])?;
            of.with(
                &places,
                Engine::COPY_OUT,
                |context, lane, mut request, event| {
                    // SAFETY: the caller's.
                    let room = unsafe { request.output_rows(place, to.rows(size)?) }?;
                    forward(request, &copy, (context, lane, event), InData::Null, room)
                },
            )
        }
        _ => on_device(of, &places, |context, lane, request, event| {
            let at = (context, lane, event);
            forward(request, &copy, at, InData::Null, OutRoom::Null)
        }),
    }
}

type At<'a> = (
    &'a Arc<context::Context>,
    &'a streams::Lane,
    gil_wire::call::NewEvent,
);

/// All of these calls have the same arguments.
fn forward(
    request: Request,
    copy: &Copy,
    (context, lane, event): At<'_>,
    data: InData<'_>,
    room: OutRoom,
) -> CallResult<()> {
    let args = wire::CuMemcpy2DV2Args {
        current: context.number,
        hStream: lane.number,
        to: copy.to.words(),
        from: copy.from.words(),
        size: copy.size.map(|it| it as u64).to_vec(),
        data,
        room,
        event,
    };
    request.forward(&args, ended)
}

/// Within the program's memory: behind all that its stream has yet to write there.
///
/// # Safety
/// Both places have as many rows.
unsafe fn within(of: Of, (to, from): (*mut c_void, *mut c_void), copy: Copy) -> CallResult<()> {
    let [width, height, depth] = copy.size;
    host(to, width)?;
    host(from, width)?;
    let (to_rows, from_rows) = (copy.to.rows(copy.size)?, copy.from.rows(copy.size)?);
    context::with(|context| {
        let stream = of.stream.unwrap_or(std::ptr::null_mut());
        streams::with_lane(context, stream, |lane| {
            streams::finish(of.entry, of.op, context, lane)
        })
    })?;
    for z in 0..depth {
        for y in 0..height {
            let skip = |rows: &Rows| z * rows.slice_pitch as usize + y * rows.row_pitch as usize;
            let from = from.cast::<u8>().wrapping_add(skip(&from_rows));
            let to = to.cast::<u8>().wrapping_add(skip(&to_rows));
            // SAFETY: the caller's.
            unsafe { std::ptr::copy(from, to, width) };
        }
    }
    Ok(())
}

/// A rectangle of elements that are set.
#[derive(Clone, Copy, Debug)]
pub struct Filled {
    /// The first one's address.
    pub to: CUdeviceptr,
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// What they are set to.
    pub value: u32,
    /// Elements of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

/// Sets a rectangle, which no call waits for.
///
/// # Errors
/// The API's code.
pub fn set(of: Of, filled: Filled) -> CallResult<()> {
    let sizes = [filled.width, filled.height, filled.pitch];
    let set = || Set::of(of.op, filled.to, filled.value, sizes);
    if of.is_taken(|| set().map(Work::Set))? {
        return Ok(());
    }
    if filled.width == 0 || filled.height == 0 {
        return nothing();
    }
    let places = [Bytes::written(filled.to, 0).to_the_end()];
    on_device(of, &places, |context, lane, request, event| {
        let args = wire::CuMemsetD2D8V2Args {
            current: context.number,
            hStream: lane.number,
            to: filled.to,
            pitch: filled.pitch as u64,
            value: filled.value,
            width: filled.width as u64,
            height: filled.height as u64,
            event,
        };
        request.forward(&args, ended)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(origin: [usize; 3], pitch: usize, height: usize) -> Described {
        Described {
            kind: CU_MEMORYTYPE_DEVICE,
            host: std::ptr::null_mut(),
            device: 1000,
            array: std::ptr::null_mut(),
            origin,
            pitch,
            height,
        }
    }

    #[test]
    fn a_side_begins_behind_its_origin() {
        let side = described([1, 2, 3], 10, 20).side([4, 5, 6]).unwrap();
        assert_eq!(side.words(), [1000 + 600 + 20 + 1, 10, 20]);
        let side = described([1, 2, 0], 10, 0).side([4, 5, 1]).unwrap();
        assert_eq!(side.words(), [1021, 10, 7]);
    }

    #[test]
    fn sides_that_cannot_be_are_refused() {
        for (origin, pitch, height, size) in [
            ([1, 0, 0], 4, 9, [4, 1, 1]),
            ([0, 1, 0], 4, 4, [4, 4, 1]),
            ([0, 0, 0], 4, 0, [4, 4, 2]),
            ([usize::MAX, 0, 0], 4, 4, [4, 4, 1]),
            ([0, usize::MAX, 0], 4, 4, [4, 4, 1]),
            ([0, 0, usize::MAX], 4, 4, [4, 4, 1]),
        ] {
            let side = described(origin, pitch, height).side(size);
            assert_eq!(side.err(), Some(CUDA_ERROR_INVALID_VALUE), "{origin:?}");
        }
    }
}
