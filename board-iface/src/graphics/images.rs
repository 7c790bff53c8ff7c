//! Images of the guest's buffers: textures in a context of the session's own, which the
//! program's contexts share by EGL's images.

use super::driver::Driver;
use super::egl::generated::types::*;
use super::gles::generated::types::*;
use super::present::{Layout, Shown, layout, put, read_bytes, zeroes};
use super::session::{Data, Session};
use crate::back_end::{Call, Objects, Pointer, References, Refusal};
use gil_gles_common::windows::{Order, bands};
use gil_transport::memory::OutOfMemory;
use gil_wire::call::{Handle, InData};
use gil_wire::generated::egl::{self as wire, Kind};
use std::ffi::c_void;
use std::ops::RangeInclusive;
use std::ptr::null_mut;

/// What images can be of beside buffers of the guest's, as `EGL_KHR_image_base` and its
/// like have it: a texture's level, a face of a cube, a slice, a renderbuffer. By other
/// targets a driver takes the number for an address.
const OBJECTS: RangeInclusive<EGLenum> = EGL_GL_TEXTURE_2D..=EGL_GL_RENDERBUFFER;

/// A texture of the session's own context, and the framebuffer that has it.
#[derive(Clone, Copy, Debug)]
struct Texture {
    name: GLuint,
    framebuffer: GLuint,
}

/// An image's texture.
#[derive(Debug)]
pub struct Image {
    layout: Layout,
    texture: Texture,
    /// What the guest's buffer has.
    shown: Shown,
}

/// A context of the session's own, in which its images' textures are.
#[derive(Debug)]
pub struct Hidden {
    context: Pointer,
    surface: Option<Pointer>,
}

/// `EGL_GL_TEXTURE_2D` and the list's end, as `eglCreateImageKHR` takes them.
type CreateImage = unsafe extern "C" fn(
    EGLDisplay,
    EGLContext,
    EGLenum,
    *mut c_void,
    *const EGLint,
) -> *mut c_void;
type DestroyImage = unsafe extern "C" fn(EGLDisplay, *mut c_void) -> EGLBoolean;

/// EGL's functions of images, where the board has them.
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    create: CreateImage,
    destroy: DestroyImage,
}

impl Functions {
    /// Looks for them.
    pub fn load(find: impl Fn(&std::ffi::CStr) -> Option<Pointer>) -> Option<Self> {
        let (create, destroy) = (find(c"eglCreateImageKHR")?, find(c"eglDestroyImageKHR")?);
        // SAFETY: the functions of these names have these types, by EGL_KHR_image_base.
        unsafe {
            Some(Self {
                create: std::mem::transmute::<*mut c_void, CreateImage>(create.as_ptr()),
                destroy: std::mem::transmute::<*mut c_void, DestroyImage>(destroy.as_ptr()),
            })
        }
    }
}

impl Driver {
    /// A context of OpenGL ES 2.0, and a surface of one pixel if it needs one.
    fn hidden(&self) -> Option<Hidden> {
        let egl = &self.egl;
        let (choose, create) = (egl.eglChooseConfig?, egl.eglCreateContext?);
        let surface = egl.eglCreatePbufferSurface?;
        let (mut config, mut count) = (null_mut(), 0);
        // SAFETY: lists that end with EGL_NONE, and space for one configuration and a number.
        unsafe {
            let list = super::driver::CONFIG.as_ptr();
            let found = choose(self.display(), list, &mut config, 1, &mut count);
            if found != EGL_TRUE || count < 1 {
                return None;
            }
            let version = super::driver::VERSION_2.as_ptr();
            let context = create(self.display(), config, null_mut(), version);
            let size = super::driver::ONE_PIXEL.as_ptr();
            let surface = surface(self.display(), config, size);
            Some(Hidden {
                context: Pointer::new(context.cast())?,
                surface: Pointer::new(surface.cast()),
            })
        }
    }

    /// Ends a session's own context, and its textures with it.
    pub fn release_hidden(&self, hidden: &Hidden) {
        self.release(Kind::Context, hidden.context);
        if let Some(surface) = hidden.surface {
            self.release(Kind::Surface, surface);
        }
    }

    /// Ends an image.
    pub fn release_image(&self, image: Pointer) {
        if let Some(functions) = &self.images {
            // SAFETY: the image is alive, and nothing names it any more.
            unsafe { (functions.destroy)(self.display(), image.as_ptr()) };
        }
    }
}

/// Does something in the session's own context, then has the program's be current again.
fn hidden<T>(
    session: &mut Session,
    work: impl FnOnce(&Driver, &Hidden) -> T,
) -> Result<Option<T>, Refusal> {
    let driver = session.driver();
    if session.hidden.is_none() {
        session.hidden = driver.hidden();
    }
    let Some((hidden, make)) = session.hidden.as_ref().zip(driver.egl.eglMakeCurrent) else {
        return Ok(None);
    };
    let surface = hidden.surface.map_or(null_mut(), |it| it.as_ptr().cast());
    // SAFETY: both are the session's own, and current nowhere else: calls of a session come
    // one at a time, and each leaves them.
    let entered = unsafe {
        make(
            driver.display(),
            surface,
            surface,
            hidden.context.as_ptr().cast(),
        ) == EGL_TRUE
    };
    let done = entered.then(|| work(driver, hidden));
    // Whatever is wrong with the program's, its next call does not find this one.
    if !matches!(session.enter_again(), Ok(EGL_SUCCESS)) || session.here().is_null() {
        session.quit();
    }
    Ok(done)
}

/// A texture for a buffer of the guest's.
///
/// # Errors
/// [`Refusal`].
pub fn make(session: &mut Session, args: &wire::GilMakeImageArgs) -> Result<EGLint, Refusal> {
    session.table().vacant(args.image)?;
    let (layout, size) = layout((args.width, args.height), args.format)?;
    let made = hidden(session, |driver, hidden| driver.image(hidden, size))?;
    let Some((pointer, texture)) = made.flatten() else {
        return Ok(EGL_BAD_ALLOC);
    };
    let image = Data::Image(Box::new(Image {
        layout,
        texture,
        shown: Shown::default(),
    }));
    let table = session.table_mut();
    table.insert(args.image, Kind::Image, pointer, image)?;
    Ok(EGL_SUCCESS)
}

/// An image is gone, and its texture with it. What a program has of the picture, the
/// driver keeps.
///
/// # Errors
/// [`Refusal::Table`] if there is no such image.
pub fn destroy(session: &mut Session, number: Handle) -> Result<(), Refusal> {
    let (pointer, data) = session.table_mut().remove(number, Kind::Image)?;
    session.driver().release(Kind::Image, pointer);
    if let Data::Image(image) = data {
        hidden(session, |driver, _| driver.delete_texture(image.texture))?;
    }
    Ok(())
}

impl Driver {
    /// An image of a new texture of the context that is current, which is the session's
    /// own.
    fn image(&self, hidden: &Hidden, size: (i32, i32)) -> Option<(Pointer, Texture)> {
        let create = self.images?.create;
        let texture = self.texture(size)?;
        let name = texture.name as usize as *mut c_void;
        let (context, list) = (hidden.context.as_ptr().cast(), [EGL_NONE]);
        // SAFETY: the context is current, the texture its own; the list has ended.
        let image = unsafe {
            create(
                self.display(),
                context,
                EGL_GL_TEXTURE_2D,
                name,
                list.as_ptr(),
            )
        };
        let image = Pointer::new(image);
        if image.is_none() {
            self.delete_texture(texture);
        }
        image.map(|image| (image, texture))
    }

    /// Deletes a texture of the context that is current, and its framebuffer.
    fn delete_texture(&self, texture: Texture) {
        let gl = &self.gles;
        // SAFETY: each list has one name.
        unsafe {
            if let Some(delete) = gl.glDeleteFramebuffers {
                delete(1, &texture.framebuffer);
            }
            if let Some(delete) = gl.glDeleteTextures {
                delete(1, &texture.name);
            }
        }
    }

    /// Memory for the texture that is bound: of a sized format, which shaders may write to
    /// and `glCopyImageSubData` takes, where contexts of the hidden one's version have it.
    ///
    /// # Safety
    /// A context is current.
    unsafe fn specify(&self, (width, height): (i32, i32)) -> Option<()> {
        let (gl, bytes) = (&self.gles, GL_UNSIGNED_BYTE);
        let (specify, error) = (gl.glTexImage2D?, gl.glGetError?);
        for format in [GL_RGBA8, GL_RGBA] {
            let (format, null) = (format.cast_signed(), std::ptr::null());
            // SAFETY: the caller's; no picture is read.
            unsafe {
                specify(
                    GL_TEXTURE_2D,
                    0,
                    format,
                    width,
                    height,
                    0,
                    GL_RGBA,
                    bytes,
                    null,
                );
                if error() == GL_NO_ERROR {
                    break;
                }
            }
        }
        Some(())
    }

    /// A texture of four bytes a pixel, and a framebuffer that has it.
    fn texture(&self, (width, height): (i32, i32)) -> Option<Texture> {
        const NEAREST: GLint = 0x2600;
        const FILTERS: [GLenum; 2] = [0x2801, 0x2800];
        let gl = &self.gles;
        let (mut texture, mut framebuffer) = (0, 0);
        // SAFETY: a context is current; there is space for one name each.
        unsafe {
            (gl.glGenTextures?)(1, &mut texture);
            (gl.glBindTexture?)(GL_TEXTURE_2D, texture);
            for filter in FILTERS {
                (gl.glTexParameteri?)(GL_TEXTURE_2D, filter, NEAREST);
            }
            self.specify((width, height))?;
            (gl.glGenFramebuffers?)(1, &mut framebuffer);
            (gl.glBindFramebuffer?)(GL_FRAMEBUFFER, framebuffer);
            (gl.glFramebufferTexture2D?)(
                GL_FRAMEBUFFER,
                GL_COLOR_ATTACHMENT0,
                GL_TEXTURE_2D,
                texture,
                0,
            );
        }
        Some(Texture {
            name: texture,
            framebuffer,
        })
    }

    /// Puts bands into an image's texture, which is of the context that is current.
    fn put_bands(&self, image: &Image, bands: &[Band]) -> Option<()> {
        let width = image.layout.size().0;
        bands.iter().try_for_each(|(first, pixels)| {
            self.put_rows(image.texture.name, width, *first, pixels)
        })
    }

    /// Puts rows into a texture of the context that is current.
    fn put_rows(&self, texture: GLuint, width: i32, first: i32, pixels: &[u8]) -> Option<()> {
        let gl = &self.gles;
        let rows = i32::try_from(pixels.len()).ok()? / (4 * width);
        // SAFETY: a context is current, and the rows are as long.
        unsafe {
            (gl.glBindTexture?)(GL_TEXTURE_2D, texture);
            (gl.glTexSubImage2D?)(
                GL_TEXTURE_2D,
                0,
                0,
                first,
                width,
                rows,
                GL_RGBA,
                GL_UNSIGNED_BYTE,
                pixels.as_ptr().cast(),
            );
        }
        Some(())
    }

    /// Reads a texture of the context that is current by its framebuffer.
    fn read_texture(&self, framebuffer: GLuint, (width, height): (i32, i32)) -> Option<Vec<u8>> {
        let gl = &self.gles;
        let side = |side| usize::try_from(side).ok();
        let mut pixels = zeroes(read_bytes(side(width)?, side(height)?)).ok()?;
        // SAFETY: a context is current, and there is as much room: rows of four bytes a pixel
        // touch.
        unsafe {
            (gl.glBindFramebuffer?)(GL_FRAMEBUFFER, framebuffer);
            let place = pixels.as_mut_ptr().cast();
            (gl.glReadPixels?)(0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, place);
        }
        Some(pixels)
    }
}

/// `eglCreateImage` of an object of the driver's.
///
/// # Errors
/// [`Refusal`].
pub fn of_object(
    session: &mut Session,
    call: &mut Call,
    args: &wire::GilImageOfArgs,
) -> Result<EGLint, Refusal> {
    session.table().vacant(args.image)?;
    let context: EGLContext = session.get(Kind::Context, args.context)?;
    if !OBJECTS.contains(&args.target) {
        return Ok(EGL_BAD_PARAMETER);
    }
    let driver = session.driver();
    let Some(functions) = &driver.images else {
        return Ok(EGL_BAD_PARAMETER);
    };
    let narrow = |word: &u64| i32::try_from(word.cast_signed());
    let list: Result<Vec<EGLint>, _> = args.attributes.iter().map(narrow).collect();
    let mut list = list.map_err(|_| Refusal::wide("attributes"))?;
    // A name without a value has none either.
    list.truncate(list.len() / 2 * 2);
    list.push(EGL_NONE);
    let name = args.name as usize as *mut c_void;
    // SAFETY: the context is the table's, so it is alive; the list has ended.
    let made = call.timed(|| unsafe {
        (functions.create)(driver.display(), context, args.target, name, list.as_ptr())
    });
    let Some(pointer) = Pointer::new(made) else {
        return Ok(driver.error());
    };
    let table = session.table_mut();
    table.insert(args.image, Kind::Image, pointer, Data::None)?;
    Ok(EGL_SUCCESS)
}

/// Takes what is kept of an image, for a while.
fn taken(session: &mut Session, image: Handle) -> Result<Box<Image>, Refusal> {
    session.table().get(image, Kind::Image)?;
    match session.table_mut().data_mut(image) {
        Some(data @ Data::Image(_)) => match std::mem::replace(data, Data::None) {
            Data::Image(image) => Ok(image),
            _ => Err(Refusal::parameter("image", image.0)),
        },
        _ => Err(Refusal::parameter("image", image.0)),
    }
}

fn give_back(session: &mut Session, number: Handle, image: Box<Image>) {
    if let Some(data) = session.table_mut().data_mut(number) {
        *data = Data::Image(image);
    }
}

/// The image has what the guest's buffer has in the bands that came; of the others, it is
/// there already.
///
/// # Errors
/// [`Refusal`].
pub fn fill(
    session: &mut Session,
    call: &mut Call,
    args: &wire::GilFillImageArgs,
) -> Result<EGLint, Refusal> {
    let mut image = taken(session, args.image)?;
    let bands = changed(call, &mut image, args.rows);
    let filled = bands.and_then(|bands| match bands.is_empty() {
        true => Ok(Some(Some(()))),
        false => hidden(session, |driver, _| driver.put_bands(&image, &bands)),
    });
    give_back(session, args.image, image);
    Ok(match filled?.flatten() {
        Some(()) => EGL_SUCCESS,
        None => EGL_BAD_ALLOC,
    })
}

/// Rows of a picture from one on, four bytes a pixel, red first.
type Band = (i32, Vec<u8>);

/// The bands in the call's regions. What has no alpha is opaque.
fn changed(call: &mut Call, image: &mut Image, rows: u32) -> Result<Vec<Band>, Refusal> {
    let layout = image.layout;
    let mut changed: Vec<Band> = Vec::new();
    let height = u32::try_from(layout.height).unwrap_or(u32::MAX);
    for (index, band) in (0..).zip(bands(height, rows)) {
        if call.is_empty_input(index)? {
            continue;
        }
        let len = (band.end - band.start) as usize * layout.row();
        let start = call.input(&InData::Region(index), len)?;
        // SAFETY: the region has as many bytes, and lives as long as the call.
        let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) };
        image.shown.has(layout, band.start as usize, bytes)?;
        let mut pixels = zeroes(read_bytes(layout.width, (band.end - band.start) as usize))?;
        layout.format.read(bytes, &mut pixels, layout.is_opaque);
        match changed.last_mut() {
            Some((first, before)) if touches(layout, *first, before, band.start) => {
                let room = before.try_reserve(pixels.len());
                room.map_err(|_| OutOfMemory(pixels.len()))?;
                before.extend_from_slice(&pixels);
            }
            _ => changed.push((i32::try_from(band.start).unwrap_or(i32::MAX), pixels)),
        }
    }
    Ok(changed)
}

/// Whether a row is the next behind a band.
fn touches(layout: Layout, first: i32, band: &[u8], row: u32) -> bool {
    let rows = band.len() / (4 * layout.width.max(1));
    i64::from(first) + i64::try_from(rows).unwrap_or(i64::MAX) == i64::from(row)
}

/// Writes what of the image the guest's buffer does not have.
///
/// # Errors
/// [`Refusal`].
pub fn drain(
    session: &mut Session,
    call: &mut Call,
    args: &wire::GilDrainImageArgs,
) -> Result<wire::GilDrainImageReply, Refusal> {
    let mut image = taken(session, args.image)?;
    let size = image.layout.size();
    let read = hidden(session, |driver, _| {
        call.timed(|| driver.read_texture(image.texture.framebuffer, size))
    });
    let drained = read.and_then(|read| match read.flatten() {
        None => Ok(None),
        Some(read) => {
            let (layout, order) = (image.layout, Order::Rgba);
            let is_first = image.shown.frame() == 0;
            image.shown.take(layout, order, &read, false)?;
            // The first time, the buffer has what it was filled with: other processes may
            // have drawn to the rest of it meanwhile.
            let changed: Vec<_> = match is_first {
                true => image.shown.drawn(args.rows).collect(),
                false => image.shown.bands(args.rows, args.seen).collect(),
            };
            for (region, bytes) in changed {
                put(call, region, bytes)?;
            }
            Ok(Some(image.shown.frame()))
        }
    });
    give_back(session, args.image, image);
    Ok(match drained? {
        Some(frame) => wire::GilDrainImageReply {
            result: EGL_SUCCESS,
            frame,
        },
        None => wire::GilDrainImageReply {
            result: EGL_BAD_ALLOC,
            frame: 0,
        },
    })
}
