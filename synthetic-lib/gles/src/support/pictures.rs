//! Pictures in the program's memory: their rows travel, and what lies between them stays
//! the program's.

use super::shadow::Shadow;
use super::{Context, shadow};
use crate::generated::manual::{Guest, Request};
use crate::generated::types::*;
use gil_gles_common::pixels::{Size, Store};
use gil_guest::api::{CallResult, Described};
use gil_wire::generated::gles::Pixels;
use gil_wire::rows::Rows;
use std::ffi::c_void;

/// A value of `glPixelStorei`, and whether it is an alignment.
fn place(shadow: &mut Shadow, name: u32) -> Option<(&mut GLint, bool)> {
    let is_fixed = shadow.fixed.is_some();
    let (unpack, pack) = (&mut shadow.unpack, &mut shadow.pack);
    Some(match name {
        GL_UNPACK_ALIGNMENT => (&mut unpack.alignment, true),
        GL_PACK_ALIGNMENT => (&mut pack.alignment, true),
        // All that OpenGL ES 1.1 has.
        _ if is_fixed => return None,
        GL_UNPACK_ROW_LENGTH => (&mut unpack.row_length, false),
        GL_UNPACK_SKIP_ROWS => (&mut unpack.skip_rows, false),
        GL_UNPACK_SKIP_PIXELS => (&mut unpack.skip_pixels, false),
        GL_UNPACK_IMAGE_HEIGHT => (&mut unpack.image_height, false),
        GL_UNPACK_SKIP_IMAGES => (&mut unpack.skip_images, false),
        GL_PACK_ROW_LENGTH => (&mut pack.row_length, false),
        GL_PACK_SKIP_ROWS => (&mut pack.skip_rows, false),
        GL_PACK_SKIP_PIXELS => (&mut pack.skip_pixels, false),
        _ => return None,
    })
}

/// How pictures lie from now on, if the API takes the value.
pub fn store(shadow: &mut Shadow, name: u32, value: GLint) {
    let Some((place, is_alignment)) = place(shadow, name) else {
        return;
    };
    if value >= 0 && (!is_alignment || matches!(value, 1 | 2 | 4 | 8)) {
        *place = value;
    }
}

/// What the program said of how pictures lie; none for another name.
pub fn stored(shadow: &mut Shadow, name: u32) -> Option<GLint> {
    place(shadow, name).map(|(value, _)| *value)
}

/// Where the rows of a picture at `pixels` begin, and the rows.
///
/// # Errors
/// `GL_INVALID_VALUE` if they overflow.
pub fn rows(
    store: Store,
    size: Size,
    (format, ty): (u32, u32),
    pixels: *const c_void,
) -> CallResult<(*const c_void, Rows)> {
    let (before, rows) = store.rows(size, format, ty).ok_or(Guest::BOUNDS)?;
    let before = usize::try_from(before).map_err(|_| Guest::BOUNDS)?;
    if pixels.is_null() {
        return Ok((pixels, rows));
    }
    let begin = (pixels as usize).checked_add(before).ok_or(Guest::BOUNDS)?;
    Ok((begin as *const c_void, rows))
}

/// A picture for the board.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `pixels` is null, an offset into the buffer that is bound, or names the picture, which
/// stays as it is for `'a`.
pub unsafe fn input<'a>(
    request: &mut Request,
    current: &Context,
    store: Store,
    size: Size,
    kind: (u32, u32),
    pixels: *const c_void,
) -> CallResult<Pixels<'a>> {
    if shadow::of(current).has_pixel_buffer(GL_PIXEL_UNPACK_BUFFER) {
        return Ok(Pixels::Offset(pixels as u64));
    }
    let (begin, rows) = rows(store, size, kind, pixels)?;
    let data = if rows.overlap() && !begin.is_null() {
        // SAFETY: the caller's. What comes back is this request's argument.
        unsafe { request.input_of(apart(begin.cast(), &rows)?) }
    } else {
        // SAFETY: as before.
        unsafe { request.input_rows(begin, rows) }?
    };
    Ok(Pixels::Data(data))
}

/// Most bytes of a picture whose rows overlap: no driver has larger ones.
const APART_MAX: usize = 1 << 30;

/// Room for rows one behind the other.
///
/// # Errors
/// The API's code.
pub fn room_of(rows: &Rows) -> CallResult<Vec<u8>> {
    let len = rows.packed().get().filter(|len| *len <= APART_MAX);
    let len = len.ok_or(Guest::BOUNDS)?;
    let mut room = Vec::new();
    room.try_reserve_exact(len)
        .map_err(|_| GL_OUT_OF_MEMORY as i32)?;
    Ok(room)
}

/// Where each row begins, and the bytes of one.
fn places(rows: &Rows) -> CallResult<(impl Iterator<Item = usize> + use<>, usize)> {
    let places = rows.places().ok_or(Guest::BOUNDS)?;
    let row = usize::try_from(rows.row).map_err(|_| Guest::BOUNDS)?;
    // All of them are within a span that is an address here.
    rows.span().get().ok_or(Guest::BOUNDS)?;
    Ok((places.map(|place| place as usize), row))
}

/// Rows that overlap, one behind the other.
///
/// # Safety
/// `begin` names the rows.
unsafe fn apart(begin: *const u8, rows: &Rows) -> CallResult<Vec<u8>> {
    let mut all = room_of(rows)?;
    let (places, row) = places(rows)?;
    for place in places {
        // SAFETY: the caller's.
        all.extend_from_slice(unsafe { std::slice::from_raw_parts(begin.add(place), row) });
    }
    Ok(all)
}

/// Writes rows that lie one behind the other to where they overlap, in their order.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `begin` points to space for the rows.
pub unsafe fn over(begin: *mut u8, rows: &Rows, all: &[u8]) -> CallResult<()> {
    let (places, row) = places(rows)?;
    for (place, bytes) in places.zip(all.chunks_exact(row)) {
        // SAFETY: the caller's; the bytes are the library's.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), begin.add(place), row) };
    }
    Ok(())
}

/// A compressed picture for the board.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// As [`input`], for `len` bytes.
pub unsafe fn block<'a>(
    request: &mut Request,
    current: &Context,
    len: i32,
    data: *const c_void,
) -> CallResult<Pixels<'a>> {
    if shadow::of(current).has_pixel_buffer(GL_PIXEL_UNPACK_BUFFER) {
        return Ok(Pixels::Offset(data as u64));
    }
    let len = usize::try_from(len).map_err(|_| Guest::BOUNDS)?;
    // SAFETY: the caller's.
    Ok(Pixels::Data(unsafe { request.input(data, len) }))
}

/// Whether a picture that the driver writes fits into so many bytes of the program's, or
/// goes into a buffer.
///
/// # Errors
/// The API's code.
pub fn fits(
    current: &Context,
    (width, height): (i32, i32),
    (format, ty): (u32, u32),
    bytes: GLsizei,
) -> CallResult<()> {
    let shadow = shadow::of(current);
    if shadow.has_pixel_buffer(GL_PIXEL_PACK_BUFFER) {
        return Ok(());
    }
    let (before, rows) = shadow
        .pack
        .rows((width, height, 1), format, ty)
        .ok_or(Guest::BOUNDS)?;
    let span = rows.span().number().ok_or(Guest::BOUNDS)?;
    let needed = before.checked_add(span).ok_or(Guest::BOUNDS)?;
    let bytes = u64::try_from(bytes).map_err(|_| Guest::BOUNDS)?;
    match needed <= bytes {
        true => Ok(()),
        false => Err(GL_INVALID_OPERATION as i32),
    }
}
