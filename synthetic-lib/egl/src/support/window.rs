//! Surfaces. The board draws all of them as pbuffers; a window's pictures go on to what
//! shows them.

use super::details::Details;
use super::platform::Platform;
use super::{configs, display};
use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_gbm::buffer::Layout;
use gil_gbm::chain::BUFFERS_MAX;
use gil_guest::Import;
use gil_guest::api::{Api, CallResult};
use gil_wire::call::Property;
use gil_wire::envelope::Class;
use gil_wire::generated::egl::{self as wire, Kind};
use std::ffi::c_void;
use std::sync::{Arc, Mutex};

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
}

/// The buffers of a window, whoever shows them.
pub trait Native: std::fmt::Debug + Send + Sync {
    /// The program's window: it has one surface at most.
    fn identity(&self) -> usize;

    /// The picture's width and height.
    fn size(&self) -> (u32, u32);

    /// A buffer that may be drawn to: its number, below [`BUFFERS_MAX`].
    ///
    /// # Errors
    /// The API's code if there is none.
    fn dequeue(&self) -> CallResult<usize>;

    /// Where a buffer's picture is, for the board.
    ///
    /// # Errors
    /// The API's code.
    fn target(&self, buffer: usize) -> CallResult<(&Import, Layout)>;

    /// A buffer is finished: what shows the window may take it.
    ///
    /// # Errors
    /// The API's code.
    fn queue(&self, buffer: usize) -> CallResult<()>;

    /// A buffer was not drawn to.
    fn cancel(&self, buffer: usize);
}

/// A surface of libgbm.
#[derive(Debug)]
struct Gbm {
    identity: usize,
    window: Arc<gil_gbm::Window>,
}

impl Native for Gbm {
    fn identity(&self) -> usize {
        self.identity
    }

    fn size(&self) -> (u32, u32) {
        self.window.size
    }

    fn dequeue(&self) -> CallResult<usize> {
        // The program shows the last one before it draws the next, or has none left: as
        // Mesa says then.
        self.window.chain.dequeue().ok_or(EGL_BAD_ALLOC)
    }

    fn target(&self, buffer: usize) -> CallResult<(&Import, Layout)> {
        let buffer = self.window.buffer(buffer).map_err(|_| EGL_BAD_ALLOC)?;
        let import = buffer.import_once().map_err(|_| EGL_BAD_ALLOC)?;
        Ok((import, buffer.layout))
    }

    fn queue(&self, buffer: usize) -> CallResult<()> {
        self.window.chain.queue(buffer);
        Ok(())
    }

    fn cancel(&self, buffer: usize) {
        self.window.chain.cancel(buffer);
    }
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

/// The native window behind what the program calls one.
fn native(dpy: &Object, native: usize) -> CallResult<(Box<dyn Native>, gil_gbm::format::Format)> {
    match display::platform(dpy) {
        Platform::None => Err(EGL_BAD_NATIVE_WINDOW),
        Platform::Gbm => {
            let window = gil_gbm::surface_of(native as *const c_void);
            let window = window.ok_or(EGL_BAD_NATIVE_WINDOW)?;
            let format = window.format;
            let identity = native;
            Ok((Box::new(Gbm { identity, window }), format))
        }
    }
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
    let (native, format) = native(dpy, window)?;
    let drawn = configs::window_format(entry, dpy, config)?;
    if !drawn.is_some_and(|drawn| format.is_drawn_as(drawn)) {
        return Err(EGL_BAD_MATCH);
    }
    if is_taken(native.identity()) {
        return Err(EGL_BAD_ALLOC);
    }
    let (width, height) = native.size();
    let word = |value: EGLint| i64::from(value).cast_unsigned();
    let size = [(EGL_WIDTH, width), (EGL_HEIGHT, height)];
    let size = size.map(|(name, side)| Property::Word(word(name), side.into()));
    let given = attributes
        .iter()
        .filter(|(name, _)| *name != EGL_RENDER_BUFFER);
    let given = given.map(|&(name, value)| Property::Word(word(name), word(value)));
    let request = Request::new(wire::EGL_CREATE_PBUFFER_SURFACE, Class::Sync, entry);
    let new = gil_guest::new_number();
    let args = wire::EglCreatePbufferSurfaceArgs {
        dpy: dpy.number(),
        config: config.number(),
        attrib_list: Some(size.into_iter().chain(given).collect()),
        new,
    };
    request.forward(&args, |reply| {
        let reply: wire::EglCreatePbufferSurfaceReply = reply.decode()?;
        Guest::check(reply.result)
    })?;
    let window = Some(Window {
        native,
        frames: Mutex::default(),
    });
    let details = Details::Surface(Surface { window });
    Ok(Object::create(Kind::Surface, new, &[dpy], details))
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
