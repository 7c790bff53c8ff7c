//! Pictures in the program's memory: their rows travel, and what lies between them stays
//! the program's.

use super::shadow::Shadow;
use super::{Context, shadow};
use crate::generated::manual::{Guest, Request};
use crate::generated::types::*;
use gil_gles_common::pixels::{Size, Store};
use gil_guest::api::{Api, CallResult, Described, data};
use gil_wire::call::OutRoom;
use gil_wire::envelope::Class;
use gil_wire::generated::gles::{self as wire, Pixels};
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
fn rows(
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
    // SAFETY: the caller's.
    Ok(Pixels::Data(unsafe { request.input_rows(begin, rows) }?))
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

/// `glReadPixels`.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `pixels` is an offset into the buffer that is bound, or points to space for the
/// picture.
pub unsafe fn read(
    entry: u64,
    current: &Context,
    (x, y): (i32, i32),
    (width, height): (i32, i32),
    (format, ty): (u32, u32),
    pixels: *mut c_void,
) -> CallResult<()> {
    let (is_bound, store) = {
        let shadow = shadow::of(current);
        (shadow.has_pixel_buffer(GL_PIXEL_PACK_BUFFER), shadow.pack)
    };
    let mut request = Request::new(wire::GL_READ_PIXELS, Class::Sync, entry);
    let (begin, rows) = match is_bound {
        true => (std::ptr::null(), Rows::default()),
        false => rows(store, (width, height, 1), (format, ty), pixels)?,
    };
    let merged = rows.merged();
    let len = merged.packed().get().ok_or(Guest::BOUNDS)?;
    let room = match merged.rows {
        // SAFETY: the caller's. One row may come inside the answer.
        0 | 1 => unsafe { request.output(begin.cast_mut(), len) },
        // SAFETY: the same.
        _ => unsafe { request.output_rows(begin.cast_mut(), rows) }?,
    };
    let args = wire::GlReadPixelsArgs {
        current: current.number(),
        x,
        y,
        width,
        height,
        format,
        r#type: ty,
        offset: if is_bound { pixels as u64 } else { 0 },
        pixels: if is_bound { OutRoom::Null } else { room },
    };
    request.forward(&args, |reply| {
        let reply: wire::GlReadPixelsReply<'_> = reply.decode()?;
        if !begin.is_null() && merged.rows <= 1 {
            // SAFETY: the caller's.
            unsafe { data::write_data(&reply.pixels, begin.cast_mut(), len) };
        }
        Guest::check(reply.result)
    })
}
