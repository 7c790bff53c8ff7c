//! Images: pictures that contexts, processes and displays share. Of a buffer of the guest's
//! the board has a texture; what the CPU drew is sent to it, and what the GPU drew comes
//! back, as far as it changed.

use super::details::Details;
use super::platform::Platform;
use super::{android, current, display, dma_buf, window};
use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_gbm::buffer::Layout;
use gil_gles_common::windows::{band_rows, bands};
use gil_guest::Import;
use gil_guest::api::{Api, CallResult};
use gil_wire::call::Handle;
use gil_wire::envelope::Class;
use gil_wire::generated::egl::{self as wire, Kind};
use gil_wire::rows::Rows;
use std::ffi::c_void;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A buffer of the guest's.
#[derive(Debug)]
pub struct Image {
    import: Arc<Import>,
    layout: Layout,
    /// The board's number of the frame that the buffer has; 0: none.
    frame: Mutex<u32>,
    /// The number by which the host compares the buffer with what the board has.
    mirror: Mutex<Handle>,
}

/// `eglCreateImage`.
///
/// # Errors
/// The API's code.
pub fn create(
    entry: u64,
    dpy: &Object,
    context: Option<&Object>,
    target: EGLenum,
    buffer: EGLClientBuffer,
    attributes: &[(EGLint, EGLint)],
) -> CallResult<EGLImage> {
    match target {
        EGL_LINUX_DMA_BUF_EXT => match (context, buffer) {
            (None, 0) => of_buffer(entry, dpy, attributes),
            _ => Err(EGL_BAD_PARAMETER),
        },
        EGL_NATIVE_PIXMAP_KHR => match (display::platform(dpy), context) {
            (Platform::Gbm, None) => of_pixmap(entry, dpy, buffer, attributes),
            _ => Err(EGL_BAD_PARAMETER),
        },
        EGL_NATIVE_BUFFER_ANDROID => match context {
            None => of_android(entry, dpy, buffer),
            Some(_) => Err(EGL_BAD_CONTEXT),
        },
        EGL_GL_TEXTURE_2D..=EGL_GL_RENDERBUFFER => {
            let context = context.ok_or(EGL_BAD_CONTEXT)?;
            of_object(entry, dpy, context, (target, buffer), attributes)
        }
        _ => Err(EGL_BAD_PARAMETER),
    }
}

fn of_buffer(entry: u64, dpy: &Object, attributes: &[(EGLint, EGLint)]) -> CallResult<EGLImage> {
    let (fd, layout) = dma_buf::described(attributes)?;
    if fd < 0 {
        return Err(EGL_BAD_ALLOC);
    }
    // SAFETY: the program's descriptor is open during the call.
    let import = Import::new(unsafe { BorrowedFd::borrow_raw(fd) });
    let import = import.map_err(|_| EGL_BAD_ALLOC)?;
    if layout.end() > import.len() {
        return Err(EGL_BAD_ACCESS);
    }
    make(entry, dpy, Arc::new(import), layout)
}

/// `EGL_KHR_image_pixmap`, of which libgbm's pixmaps are its `gbm_bo`s.
fn of_pixmap(
    entry: u64,
    dpy: &Object,
    bo: EGLClientBuffer,
    attributes: &[(EGLint, EGLint)],
) -> CallResult<EGLImage> {
    let is_known = |(name, _): &(EGLint, EGLint)| *name == EGL_IMAGE_PRESERVED;
    let buffer = gil_gbm::buffer_of(bo as *const c_void);
    let buffer = buffer.filter(|buffer| buffer.layout.format.is_image());
    let buffer = buffer.filter(|_| attributes.iter().all(is_known));
    let buffer = buffer.ok_or(EGL_BAD_PARAMETER)?;
    let import = buffer.import_once().map_err(|_| EGL_BAD_ALLOC)?;
    make(entry, dpy, import.clone(), buffer.layout)
}

/// `EGL_ANDROID_image_native_buffer`.
fn of_android(entry: u64, dpy: &Object, buffer: EGLClientBuffer) -> CallResult<EGLImage> {
    // SAFETY: that extension asks for a buffer's address.
    let found = unsafe { android::buffer::find(buffer) };
    let found = found.and_then(|found| Ok((found.import()?, found.layout)));
    let (import, layout) = found.map_err(|refusal| refusal.noted(EGL_BAD_PARAMETER))?;
    make(entry, dpy, Arc::new(import), layout)
}

/// An image of memory that has been checked.
fn make(entry: u64, dpy: &Object, import: Arc<Import>, layout: Layout) -> CallResult<EGLImage> {
    let request = Request::new(wire::GIL_MAKE_IMAGE, Class::Sync, entry);
    let image = gil_guest::new_number();
    let args = wire::GilMakeImageArgs {
        dpy: dpy.number(),
        image,
        width: layout.width,
        height: layout.height,
        format: layout.format.code,
    };
    request.forward(&args, |reply| {
        let reply: wire::GilMakeImageReply = reply.decode()?;
        Guest::check(reply.result)
    })?;
    let details = Details::Image(Image {
        import,
        layout,
        frame: Mutex::default(),
        mirror: Mutex::new(image),
    });
    Ok(Object::create(Kind::Image, image, &[dpy], details))
}

/// An image of a texture or renderbuffer, which only the board knows.
fn of_object(
    entry: u64,
    dpy: &Object,
    context: &Object,
    (target, name): (EGLenum, EGLClientBuffer),
    attributes: &[(EGLint, EGLint)],
) -> CallResult<EGLImage> {
    let word = |value: EGLint| i64::from(value).cast_unsigned();
    let request = Request::new(wire::GIL_IMAGE_OF, Class::Sync, entry);
    let image = gil_guest::new_number();
    let args = wire::GilImageOfArgs {
        context: context.number(),
        image,
        target,
        name: u32::try_from(name).map_err(|_| EGL_BAD_PARAMETER)?,
        attributes: attributes
            .iter()
            .flat_map(|&(name, value)| [word(name), word(value)])
            .collect(),
    };
    request.forward(&args, |reply| {
        let reply: wire::GilImageOfReply = reply.decode()?;
        Guest::check(reply.result)
    })?;
    Ok(Object::create(Kind::Image, image, &[dpy], Details::None))
}

/// What else happens where a program waits for its drawing.
static FLUSHED: OnceLock<fn(u64, &Object)> = OnceLock::new();

/// From here on, `work` is called where a program waits for its drawing by EGL, with the
/// context that drew.
pub fn on_flush(work: fn(u64, &Object)) {
    FLUSHED.get_or_init(|| work);
}

/// The program waits for its drawing by a call that it entered at `entry`.
pub fn flushed(entry: u64) {
    if let Some(context) = current::context() {
        flushed_of(entry, &context);
    }
}

/// The same of a context that this thread lets go.
pub fn flushed_of(entry: u64, context: &Object) {
    if let Some(work) = FLUSHED.get() {
        work(entry, context);
    }
}

/// The buffer of an image; none if it is of an object of the board's.
pub fn of(image: &Object) -> Option<&Image> {
    match image.details() {
        Details::Image(image) => Some(image),
        _ => None,
    }
}

impl Image {
    /// The number by which the host compares the buffer with what the board has.
    pub fn mirror(&self) -> Handle {
        *self.mirror.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A band's place in the buffer, and its rows.
    fn band(&self, band: &Range<u32>) -> (usize, Rows) {
        window::band(&self.layout, band)
    }

    /// Sends to the board what of the buffer's picture it does not have.
    ///
    /// # Errors
    /// EGL's code.
    pub fn fill(&self, entry: u64, image: &Object) -> CallResult<()> {
        let rows = band_rows(self.layout.height);
        let mut request = Request::new(wire::GIL_FILL_IMAGE, Class::Sync, entry);
        let mut mirror = self.mirror.lock().unwrap_or_else(PoisonError::into_inner);
        request.mirror(*mirror);
        for band in bands(self.layout.height, rows) {
            let (offset, band) = self.band(&band);
            request.input_rows_of(&self.import, offset, band)?;
        }
        let args = wire::GilFillImageArgs {
            image: image.number(),
            rows,
        };
        let filled = request.forward(&args, |reply| {
            let reply: wire::GilFillImageReply = reply.decode()?;
            Guest::check(reply.result)
        });
        // What came there is not known: the next time, all is sent.
        filled.inspect_err(|_| *mirror = gil_guest::new_number())
    }

    /// Brings what the GPU drew into the buffer.
    ///
    /// # Errors
    /// EGL's code.
    pub fn drain(&self, entry: u64, image: &Object) -> CallResult<()> {
        let mut frame = self.frame.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = band_rows(self.layout.height);
        let mut request = Request::new(wire::GIL_DRAIN_IMAGE, Class::Sync, entry);
        request.mirror(self.mirror());
        for band in bands(self.layout.height, rows) {
            let (offset, band) = self.band(&band);
            request.output_rows_of(&self.import, offset, band)?;
        }
        let args = wire::GilDrainImageArgs {
            image: image.number(),
            rows,
            seen: std::mem::take(&mut frame),
        };
        *frame = request.forward(&args, |reply| {
            let reply: wire::GilDrainImageReply = reply.decode()?;
            Guest::check(reply.result)?;
            Ok(reply.frame)
        })?;
        Ok(())
    }
}
