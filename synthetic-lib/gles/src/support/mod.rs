//! What is written by hand.
//!
//! | module | what |
//! |---|---|
//! | here | the API as the runtime and the generated stubs ask for it |
//! | [`shadow`] | what the library knows of a context's state |
//! | [`arrays`] | draws, and vertex arrays in the program's memory |
//! | [`fixed`] | arrays of OpenGL ES 1.1 |
//! | [`pictures`] | pictures in the program's memory |
//! | [`pixels`] | pictures that are read |
//! | [`mapping`] | buffers in the program's memory |
//! | [`images`] | textures and renderbuffers of EGL's images |
//! | `asked` | what the board's driver is asked for of a context |
//! | [`reach`] | which of them a context's calls read and write |
//! | [`syncs`] | waits for sync objects |
//! | [`uniforms`] | values of uniforms |
//! | [`debug`] | labels and messages |
//! | [`texts`] | `glGetString` |
//! | `manual` | the other entry points |

pub mod arrays;
mod asked;
pub mod debug;
pub mod fixed;
pub mod images;
mod manual;
pub mod mapping;
pub mod pictures;
pub mod pixels;
pub mod reach;
pub mod shadow;
pub mod syncs;
pub mod texts;
pub mod uniforms;

use crate::generated::manual::{Guest, Helpers, Kept, Local, Request};
use crate::generated::types::*;
use gil_egl::generated::manual as egl;
use gil_gles_common::pixels::Store;
use gil_gles_common::values;
use gil_guest::Error;
use gil_guest::api::{self, Api, CallResult, Current, CurrentObject, Noted, data};
use gil_guest::registry::Registry;
use gil_wire::Op;
use gil_wire::call::Handle;
use gil_wire::envelope::Class;
use gil_wire::generated::gles::{self as wire, Pixels};
use gil_wire::length::Length;
use reach::Name;
use std::ffi::c_void;

/// The current context.
pub type Context = CurrentObject<Guest>;

/// Bits of a `GLfixed` behind the point.
const FIXED_BITS: u32 = 16;

/// `GL_CONTEXT_LOST`.
const LOST: i32 = 0x0507;

static REGISTRY: Registry<api::Kept<Guest>> = Registry::new();

impl Api for Guest {
    type Details = ();

    const GARBLED: i32 = GL_INVALID_OPERATION as i32;
    const POSTS_LAZILY: bool = true;

    fn registry() -> &'static Registry<api::Kept<Self>> {
        &REGISTRY
    }

    fn code(_: Op, error: &Error) -> i32 {
        match error {
            error if error.is_final() => LOST,
            Error::NotServed => GL_INVALID_OPERATION as i32,
            _ => GL_OUT_OF_MEMORY as i32,
        }
    }

    fn status(_: CallResult<()>) {}

    fn ended() {
        debug::call_ended();
    }

    /// The board keeps it, in the order of its own errors.
    fn unreported(code: i32) {
        let Ok(current) = Self::current() else {
            // Calls without a context do nothing.
            return;
        };
        if code == LOST || code == Self::SILENT {
            return;
        }
        let request = Request::new(wire::GIL_ERROR, Class::Post, gil_guest::entry());
        let args = wire::GilErrorArgs {
            current: current.number(),
            code: code.unsigned_abs(),
        };
        // One that cannot be posted finds the session lost.
        let _ = request.post(&args);
    }
}

impl Noted for Guest {
    /// The board's driver keeps what is wrong.
    fn note(_: CallResult<()>) {}
}

impl Current for Guest {
    type Owner = egl::Guest;

    fn current() -> CallResult<Context> {
        gil_egl::support::current::context().ok_or(GL_INVALID_OPERATION as i32)
    }

    #[inline(always)]
    fn current_number() -> CallResult<Handle> {
        match gil_egl::support::current::number() {
            Handle::NULL => Err(GL_INVALID_OPERATION as i32),
            number => Ok(number),
        }
    }
}

impl Local for Guest {}
impl Kept for Guest {}

/// The value of a name that the library knows better than the board's driver, which may
/// have another just now; none for another name.
fn known(pname: GLenum) -> Option<CallResult<GLint>> {
    let current = Guest::current().ok()?;
    let is_fixed = shadow::of(&current).fixed.is_some();
    match pname {
        GL_MAJOR_VERSION if !is_fixed => Some(texts::version().map(|version| version.0)),
        GL_MINOR_VERSION if !is_fixed => Some(texts::version().map(|version| version.1)),
        GL_NUM_EXTENSIONS if !is_fixed => Some(texts::extensions().map(|all| all.count() as GLint)),
        GL_DEBUG_LOGGED_MESSAGES | GL_DEBUG_NEXT_LOGGED_MESSAGE_LENGTH => {
            debug::log::about(&current, pname)
        }
        name => pictures::stored(&mut shadow::of(&current), name).map(Ok),
    }
}

/// Writes such a value in the type that the query has.
///
/// # Safety
/// `data` is null or points to a value.
unsafe fn answered<T>(
    pname: GLenum,
    data: *mut T,
    typed: impl FnOnce(GLint) -> T,
) -> Option<CallResult<()>> {
    // SAFETY: the caller's.
    let write = |value| unsafe { data::write(data, typed(value)) };
    Some(known(pname)?.map(write))
}

fn size(name: u64) -> u32 {
    // Names are enums.
    u32::try_from(name).unwrap_or(0)
}

impl Helpers for Guest {
    fn state_values(_: &Context, pname: u64) -> Length {
        let name = size(pname);
        let Some(number) = values::number_of_list(name) else {
            return Length::of(values::of_state(name) as u64);
        };
        let mut values = 0;
        // SAFETY: this name has one value.
        unsafe { crate::generated::stubs::glGetIntegerv(number, &mut values) };
        Length::of(values)
    }

    fn program_values(_: &Context, pname: u64) -> Length {
        Length::of(values::of_program(size(pname)) as u64)
    }

    fn texture_values(_: &Context, pname: u64) -> Length {
        Length::of(values::of_texture(size(pname)) as u64)
    }

    fn texture_room(_: &Context, pname: u64) -> Length {
        Length::of(values::of_texture(size(pname)) as u64)
    }

    fn parameter_values(_: &Context, pname: u64) -> Length {
        Length::of(values::of_parameter(size(pname)) as u64)
    }

    fn parameter_room(_: &Context, pname: u64) -> Length {
        Length::of(values::of_parameter(size(pname)) as u64)
    }

    fn attribute_values(_: &Context, pname: u64) -> Length {
        Length::of(values::of_attribute(size(pname)) as u64)
    }

    fn clear_values(_: &Context, buffer: u64) -> Length {
        Length::of(values::of_clear(size(buffer)) as u64)
    }

    fn indexed_values(_: &Context, pname: u64) -> Length {
        Length::of(values::of_state(size(pname)) as u64)
    }

    fn block_values(_: &Context, program: u64, block: u64, pname: u64) -> Length {
        if size(pname) != GL_UNIFORM_BLOCK_ACTIVE_UNIFORM_INDICES {
            return Length::of(1u64);
        }
        let (program, block) = (size(program), size(block));
        let mut count = 0;
        // SAFETY: this name has one value.
        unsafe {
            let name = GL_UNIFORM_BLOCK_ACTIVE_UNIFORMS;
            crate::generated::stubs::glGetActiveUniformBlockiv(program, block, name, &mut count);
        }
        Length::of(count)
    }

    unsafe fn picture<'a>(
        request: &mut Request,
        current: &Context,
        width: GLsizei,
        height: GLsizei,
        format: GLenum,
        ty: GLenum,
        pixels: *const c_void,
    ) -> CallResult<Pixels<'a>> {
        let store = Store {
            // A picture has no slices.
            skip_images: 0,
            ..shadow::of(current).unpack
        };
        // SAFETY: the caller's.
        unsafe {
            pictures::input(
                request,
                current,
                store,
                (width, height, 1),
                (format, ty),
                pixels,
            )
        }
    }

    unsafe fn volume<'a>(
        request: &mut Request,
        current: &Context,
        width: GLsizei,
        height: GLsizei,
        depth: GLsizei,
        format: GLenum,
        ty: GLenum,
        pixels: *const c_void,
    ) -> CallResult<Pixels<'a>> {
        let (store, size) = (shadow::of(current).unpack, (width, height, depth));
        // SAFETY: the caller's.
        unsafe { pictures::input(request, current, store, size, (format, ty), pixels) }
    }

    unsafe fn block<'a>(
        request: &mut Request,
        current: &Context,
        len: GLsizei,
        data: *const c_void,
    ) -> CallResult<Pixels<'a>> {
        // SAFETY: the caller's.
        unsafe { pictures::block(request, current, len, data) }
    }

    unsafe fn known(_: u64, pname: GLenum, data: *mut GLint) -> Option<CallResult<()>> {
        // SAFETY: null, or the caller's.
        unsafe { answered(pname, data, |value| value) }
    }

    unsafe fn known_flag(_: u64, pname: GLenum, data: *mut GLboolean) -> Option<CallResult<()>> {
        // SAFETY: null, or the caller's.
        unsafe { answered(pname, data, |value| GLboolean::from(value != 0)) }
    }

    unsafe fn known_float(_: u64, pname: GLenum, data: *mut GLfloat) -> Option<CallResult<()>> {
        // SAFETY: null, or the caller's.
        unsafe { answered(pname, data, |value| value as GLfloat) }
    }

    unsafe fn known_fixed(_: u64, pname: GLenum, params: *mut GLfixed) -> Option<CallResult<()>> {
        // SAFETY: null, or the caller's.
        unsafe { answered(pname, params, |value| value << FIXED_BITS) }
    }

    unsafe fn known_wide(_: u64, pname: GLenum, data: *mut GLint64) -> Option<CallResult<()>> {
        // SAFETY: null, or the caller's.
        unsafe { answered(pname, data, GLint64::from) }
    }

    /// What is bound to a number is bound to the target too.
    fn binds(target: GLenum, buffer: GLuint) -> CallResult<()> {
        shadow::with(|shadow| shadow.bind_buffer(target, buffer))
    }

    fn enables(cap: GLenum) -> CallResult<()> {
        match cap {
            // Before version 3 the board's driver refuses the name.
            GL_PRIMITIVE_RESTART_FIXED_INDEX if texts::version()? >= (3, 0) => {
                shadow::of(&Self::current()?).restarts = true;
            }
            GL_DEBUG_OUTPUT_SYNCHRONOUS => debug::at_once(&Self::current()?, true),
            _ => {}
        }
        Ok(())
    }

    fn disables(cap: GLenum) -> CallResult<()> {
        match cap {
            GL_PRIMITIVE_RESTART_FIXED_INDEX => shadow::of(&Self::current()?).restarts = false,
            GL_DEBUG_OUTPUT_SYNCHRONOUS => debug::at_once(&Self::current()?, false),
            _ => {}
        }
        Ok(())
    }

    fn draws() -> CallResult<()> {
        images::draws();
        Ok(())
    }

    fn writes(target: GLenum) -> CallResult<()> {
        images::writes(target)
    }

    fn writes_to(target: GLenum, name: GLuint) -> CallResult<()> {
        images::writes_to(target, name)
    }

    fn respecified(target: GLenum) -> CallResult<()> {
        images::respecified(target)
    }

    fn activates(texture: GLenum) -> CallResult<()> {
        images::activated(texture)
    }

    fn binds_renderbuffer(renderbuffer: GLuint) -> CallResult<()> {
        images::bound_renderbuffer(renderbuffer)
    }

    fn binds_framebuffer(target: GLenum, framebuffer: GLuint) -> CallResult<()> {
        images::bound(target, framebuffer)
    }

    fn samples(target: GLenum, texture: GLuint) -> CallResult<()> {
        images::sampled(target, texture)
    }

    fn image_unit(unit: GLuint, texture: GLuint, access: GLenum) -> CallResult<()> {
        images::image_unit(unit, texture, access)
    }

    fn attaches_texture(target: GLenum, attachment: GLenum, texture: GLuint) -> CallResult<()> {
        images::attached(target, attachment, Name::Texture(texture))
    }

    fn attaches_renderbuffer(target: GLenum, attachment: GLenum, name: GLuint) -> CallResult<()> {
        images::attached(target, attachment, Name::Renderbuffer(name))
    }

    /// A buffer with new contents is not mapped.
    fn unmaps(target: GLenum) -> CallResult<()> {
        shadow::with(|shadow| {
            let buffer = shadow.buffer(target);
            shadow.mapped.remove(&buffer);
        })
    }
}
