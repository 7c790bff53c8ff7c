//! `glReadPixels`. What the driver does not write, as beyond the framebuffer, stays as the
//! program has it.

use super::{Context, pictures, shadow};
use crate::generated::manual::{Guest, Request};
use crate::generated::types::*;
use gil_egl::support::work;
use gil_gles_common::pixels::Store;
use gil_guest::api::{Api, CallResult, Described, data};
use gil_wire::call::{OutData, OutRoom};
use gil_wire::generated::gles as wire;
use gil_wire::rows::Rows;
use std::ffi::c_void;
use std::ptr::null_mut;

/// A picture that the program reads.
#[derive(Clone, Copy, Debug)]
pub struct Picture {
    /// Its first pixel's place in the framebuffer.
    pub place: (i32, i32),
    /// Width and height.
    pub size: (i32, i32),
    /// Format and type.
    pub kind: (u32, u32),
}

/// A part of one: the place of its first pixel there, width and height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    place: (i32, i32),
    size: (i32, i32),
}

/// What the driver wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    All,
    Nothing,
    /// This would be written, if it were all that is read.
    Only(Part),
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
    picture: Picture,
    pixels: *mut c_void,
) -> CallResult<()> {
    let (is_bound, store) = {
        let shadow = shadow::of(current);
        (shadow.has_pixel_buffer(GL_PIXEL_PACK_BUFFER), shadow.pack)
    };
    if is_bound {
        return into_buffer(entry, current, picture, pixels as u64);
    }
    // SAFETY: the caller's.
    let written = unsafe { into_memory(entry, current, picture, store, pixels) }?;
    let Written::Only(part) = written else {
        return Ok(());
    };
    let (picture, store) = picture.part(store, part).ok_or(Guest::GARBLED)?;
    // SAFETY: the same, of a part.
    unsafe { into_memory(gil_guest::entry(), current, picture, store, pixels) }.map(drop)
}

impl Picture {
    /// A part of it, and how that lies in memory; none if it is none.
    fn part(self, store: Store, part: Part) -> Option<(Self, Store)> {
        let fits = |at: i32, len: i32, of: i32| {
            let end = at.checked_add(len);
            at >= 0 && len > 0 && end.is_some_and(|end| end <= of)
        };
        if !fits(part.place.0, part.size.0, self.size.0)
            || !fits(part.place.1, part.size.1, self.size.1)
        {
            return None;
        }
        let place = (
            self.place.0.checked_add(part.place.0)?,
            self.place.1.checked_add(part.place.1)?,
        );
        let picture = Self {
            place,
            size: part.size,
            ..self
        };
        Some((picture, store.part(self.size.0, part.place)?))
    }

    fn args(self, current: &Context, offset: u64, pixels: OutRoom) -> wire::GlReadPixelsArgs {
        wire::GlReadPixelsArgs {
            current: current.number(),
            x: self.place.0,
            y: self.place.1,
            width: self.size.0,
            height: self.size.1,
            format: self.kind.0,
            r#type: self.kind.1,
            offset,
            pixels,
        }
    }
}

fn request(entry: u64, current: &Context, waits: bool) -> Request {
    work::handed_over(wire::GL_READ_PIXELS, entry, current, waits)
}

fn into_buffer(entry: u64, current: &Context, picture: Picture, offset: u64) -> CallResult<()> {
    let args = picture.args(current, offset, OutRoom::Null);
    request(entry, current, false).forward(&args, |reply| {
        let reply: wire::GlReadPixelsReply<'_> = reply.decode()?;
        Guest::check(reply.result)
    })
}

/// # Safety
/// `pixels` points to space for the picture.
unsafe fn into_memory(
    entry: u64,
    current: &Context,
    picture: Picture,
    store: Store,
    pixels: *mut c_void,
) -> CallResult<Written> {
    let (width, height) = picture.size;
    let (begin, rows) = pictures::rows(store, (width, height, 1), picture.kind, pixels)?;
    let begin = begin.cast_mut();
    if !rows.overlap() || begin.is_null() {
        // SAFETY: the caller's.
        return unsafe { into_rows(entry, current, picture, begin, rows) };
    }
    let mut own = pictures::room_of(&rows)?;
    own.resize(own.capacity(), 0);
    let touching = Rows::packed_of(rows.row, rows.rows, rows.slices);
    let place = own.as_mut_ptr().cast();
    // SAFETY: there is room for rows one behind the other.
    let written = unsafe { into_rows(entry, current, picture, place, touching) }?;
    if written == Written::All {
        // SAFETY: the caller's.
        unsafe { pictures::over(begin.cast(), &rows, &own) }?;
    }
    Ok(written)
}

/// # Safety
/// `begin` is null or points to space for the rows, which do not overlap.
unsafe fn into_rows(
    entry: u64,
    current: &Context,
    picture: Picture,
    begin: *mut c_void,
    rows: Rows,
) -> CallResult<Written> {
    let mut request = request(entry, current, true);
    let merged = rows.merged();
    let len = merged.packed().get().ok_or(Guest::BOUNDS)?;
    let (room, inside) = match merged.rows {
        // SAFETY: the caller's. One row may come inside the answer.
        0 | 1 => (unsafe { request.output(begin, len) }, begin),
        // SAFETY: the same.
        _ => (unsafe { request.output_rows(begin, rows) }?, null_mut()),
    };
    let args = picture.args(current, 0, room);
    request.forward(&args, |reply| {
        let reply: wire::GlReadPixelsReply<'_> = reply.decode()?;
        Guest::check(reply.result)?;
        // SAFETY: the caller's.
        unsafe { data::write_data(&reply.pixels, inside, len) };
        Ok(written(&reply))
    })
}

fn written(reply: &wire::GlReadPixelsReply<'_>) -> Written {
    match reply.pixels {
        OutData::None if reply.wide > 0 => Written::Only(Part {
            place: (reply.left, reply.low),
            size: (reply.wide, reply.high),
        }),
        OutData::None => Written::Nothing,
        OutData::Inline(_) | OutData::Region => Written::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_within_its_picture() {
        let picture = Picture {
            place: (-3, 5),
            size: (10, 4),
            kind: (GL_RGBA, GL_UNSIGNED_BYTE),
        };
        let part = |left, low, wide, high| {
            let (place, size) = ((left, low), (wide, high));
            picture.part(Store::default(), Part { place, size })
        };
        let (inner, store) = part(3, 1, 7, 3).unwrap();
        assert_eq!((inner.place, inner.size), ((0, 6), (7, 3)));
        assert_eq!(
            (store.row_length, store.skip_pixels, store.skip_rows),
            (10, 3, 1)
        );
        for (left, low, wide, high) in [(-1, 0, 2, 2), (0, 0, 11, 1), (0, 4, 1, 1), (1, 1, 0, 1)] {
            assert!(part(left, low, wide, high).is_none());
        }
        assert!(part(1, 0, i32::MAX, 1).is_none());
    }
}
