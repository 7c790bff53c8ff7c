//! Surfaces. The board draws all of them as pbuffers; a window's pictures go on to what
//! shows them.

use super::details::Details;
use super::native::Native;
use super::{configs, display};
use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_gbm::buffer::Layout;
use gil_gbm::chain::BUFFERS_MAX;
use gil_guest::api::{Api, CallResult};
use gil_wire::call::Property;
use gil_wire::envelope::Class;
use gil_wire::generated::egl::{self as wire, Kind};
use gil_wire::rows::Rows;
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

/// What the library keeps of a surface.
#[derive(Debug, Default)]
pub struct Surface {
    /// What shows it, if it is a window.
    pub window: Option<Window>,
}

/// A window.
#[derive(Debug)]
pub struct Window {
    /// Where its buffers are.
    pub native: Box<dyn Native>,
    /// The board's number of the frame that each buffer has; 0: none.
    pub frames: Mutex<[u32; BUFFERS_MAX]>,
    /// The number of the frame that was shown last; 0: none of this size.
    pub shown: AtomicU32,
}

/// A program's list of attributes, of either width.
///
/// # Errors
/// `EGL_BAD_ATTRIBUTE` for one that does not end, or with values that EGL does not have.
///
/// # Safety
/// `list` is null or pairs that end with `EGL_NONE`.
pub unsafe fn attributes<T>(list: *const T) -> CallResult<Vec<(EGLint, EGLint)>>
where
    T: Copy + PartialEq + From<i16> + TryInto<EGLint>,
{
    // SAFETY: the caller's.
    let pairs = unsafe { configs::pairs(list) }?;
    let narrow = |value: T| value.try_into().map_err(|_| EGL_BAD_ATTRIBUTE);
    let pairs = pairs.into_iter();
    pairs
        .map(|(name, value)| Ok((narrow(name)?, narrow(value)?)))
        .collect()
}

/// Whether a surface of the program's has this window already.
fn is_taken(identity: usize) -> bool {
    Object::all(Kind::Surface)
        .iter()
        .any(|object| of(object).is_some_and(|window| window.native.identity() == identity))
}

/// The window of a surface; none of a pbuffer.
pub fn of(surface: &Object) -> Option<&Window> {
    match surface.details() {
        Details::Surface(surface) => surface.window.as_ref(),
        _ => None,
    }
}

/// Where a band of a picture begins in its buffer, and its rows.
pub fn band(layout: &Layout, band: &Range<u32>) -> (usize, Rows) {
    let offset = layout.offset as usize + band.start as usize * layout.stride as usize;
    let rows = Rows {
        row: u64::from(layout.width) * u64::from(layout.format.bits / 8),
        rows: u64::from(band.end - band.start),
        row_pitch: layout.stride.into(),
        slices: 1,
        slice_pitch: 0,
    };
    (offset, rows)
}

/// `eglCreateWindowSurface`.
///
/// # Errors
/// The API's code.
pub fn create(
    entry: u64,
    dpy: &Object,
    config: &Object,
    window: usize,
    attributes: &[(EGLint, EGLint)],
) -> CallResult<EGLSurface> {
    let drawn = configs::window_format(entry, dpy, config)?;
    let drawn = drawn.ok_or(EGL_BAD_MATCH)?;
    let native = display::platform(dpy).window(window, drawn)?;
    if !native.format().is_drawn_as(drawn) {
        return Err(EGL_BAD_MATCH);
    }
    if is_taken(native.identity()) {
        return Err(EGL_BAD_ALLOC);
    }
    let size = native.size();
    let word = |value: EGLint| i64::from(value).cast_unsigned();
    let given = attributes
        .iter()
        .filter(|(name, _)| *name != EGL_RENDER_BUFFER);
    let given = given.map(|&(name, value)| Property::Word(word(name), word(value)));
    let request = Request::new(wire::EGL_CREATE_PBUFFER_SURFACE, Class::Sync, entry);
    let new = gil_guest::new_number();
    let args = wire::EglCreatePbufferSurfaceArgs {
        dpy: dpy.number(),
        config: config.number(),
        attrib_list: Some(sides(size).chain(given).collect()),
        new,
    };
    request.forward(&args, |reply| {
        let reply: wire::EglCreatePbufferSurfaceReply = reply.decode()?;
        Guest::check(reply.result)
    })?;
    let window = Some(Window {
        native,
        frames: Mutex::default(),
        shown: AtomicU32::default(),
    });
    let details = Details::Surface(Surface { window });
    Ok(Object::create(Kind::Surface, new, &[dpy], details))
}

/// A surface's sides, as the board is asked for them.
fn sides((width, height): (u32, u32)) -> impl Iterator<Item = Property> {
    let size = [(EGL_WIDTH, width), (EGL_HEIGHT, height)];
    let name = |name: EGLint| i64::from(name).cast_unsigned();
    size.into_iter()
        .map(move |(side, of)| Property::Word(name(side), of.into()))
}

/// Draws the next frames in the window's size of now, if that is another.
///
/// # Errors
/// The API's code.
pub fn follow(entry: u64, dpy: &Object, surface: &Object, window: &Window) -> CallResult<()> {
    let Some(size) = window.native.resized() else {
        return Ok(());
    };
    let mut frames = window.frames.lock().unwrap_or_else(PoisonError::into_inner);
    *frames = Default::default();
    window.shown.store(0, Relaxed);
    let request = Request::new(wire::GIL_RESIZE, Class::Sync, entry);
    let args = wire::GilResizeArgs {
        dpy: dpy.number(),
        surface: surface.number(),
        width: size.0,
        height: size.1,
    };
    request.forward(&args, |reply| {
        let reply: wire::GilResizeReply = reply.decode()?;
        Guest::check(reply.result)
    })
}

/// `eglQuerySurface`.
///
/// # Errors
/// The API's code.
pub fn query(entry: u64, dpy: &Object, surface: &Object, attribute: EGLint) -> CallResult<EGLint> {
    if let (EGL_BUFFER_AGE_EXT, Some(window)) = (attribute, of(surface)) {
        // The board draws to one buffer, which has the last frame's picture.
        let frames = window
            .frames
            .lock()
            .map_or([1; BUFFERS_MAX], |frames| *frames);
        return Ok(EGLint::from(frames.iter().any(|&frame| frame > 0)));
    }
    let request = Request::new(wire::EGL_QUERY_SURFACE, Class::Query, entry);
    let args = wire::EglQuerySurfaceArgs {
        dpy: dpy.number(),
        surface: surface.number(),
        attribute,
        value: true,
    };
    request.forward(&args, |reply| {
        let reply: wire::EglQuerySurfaceReply = reply.decode()?;
        Guest::check(reply.result)?;
        Ok(reply.value)
    })
}
