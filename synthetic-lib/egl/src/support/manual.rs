//! The entry points that are written by hand.

use super::platform::{self, Platform};
use super::{
    configs, current, display, dma_buf, error, image, present, procedures, strings, syncs, window,
    work,
};
use crate::generated::manual::{Guest, Manual, Object, Request};
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult, Noted, data};
use gil_wire::envelope::Class;
use gil_wire::generated::egl::{self as wire, Kind};
use std::ffi::{CStr, c_char, c_void};
use std::ptr;

/// Room for a text of the board's, such as its extensions.
const TEXT_ROOM: usize = 32 << 10;

/// The extensions that work, of those that the board's display has.
const EXTENSIONS: &str = include_str!("extensions.txt");
/// What needs no display.
const CLIENT_EXTENSIONS: &str = "EGL_EXT_client_extensions EGL_EXT_platform_base \
     EGL_KHR_client_get_all_proc_addresses EGL_KHR_platform_gbm EGL_KHR_platform_x11 \
     EGL_EXT_platform_x11 EGL_EXT_platform_xcb EGL_MESA_platform_gbm \
     EGL_KHR_platform_wayland EGL_EXT_platform_wayland EGL_KHR_platform_android \
     EGL_MESA_platform_surfaceless";

/// What a wait returns that did not take place.
const NO_END: EGLint = EGL_FALSE as EGLint;

fn display_of(dpy: EGLDisplay) -> CallResult<Object> {
    let dpy = Object::find(Kind::Display, dpy)?;
    display::initialized(&dpy)?;
    Ok(dpy)
}

/// A text of the board's display.
fn text(entry: u64, dpy: &Object, name: EGLint) -> CallResult<Vec<u8>> {
    let mut text = vec![0; TEXT_ROOM];
    let place: *mut c_void = text.as_mut_ptr().cast();
    let mut request = Request::new(wire::EGL_QUERY_STRING, Class::Query, entry);
    let args = wire::EglQueryStringArgs {
        dpy: dpy.number(),
        name,
        // SAFETY: there is as much space.
        text: unsafe { request.output(place, TEXT_ROOM) },
    };
    request.forward(&args, |reply| {
        let reply: wire::EglQueryStringReply<'_> = reply.decode()?;
        // SAFETY: the same.
        unsafe { data::write_data(&reply.text, place, TEXT_ROOM) };
        Ok(())
    })?;
    Ok(text)
}

/// The text behind a name that a program asks for.
fn string(entry: u64, dpy: EGLDisplay, name: EGLint) -> CallResult<&'static CStr> {
    if dpy.is_null() {
        return match name {
            EGL_EXTENSIONS => Ok(strings::keep(CLIENT_EXTENSIONS.as_bytes())),
            EGL_VERSION => Ok(c"1.5 gil"),
            _ => Err(EGL_BAD_DISPLAY),
        };
    }
    let dpy = display_of(dpy)?;
    match name {
        EGL_VERSION => match text(entry, &dpy, name)?.starts_with(b"1.5") {
            true => Ok(c"1.5 gil"),
            false => Ok(c"1.4 gil"),
        },
        EGL_CLIENT_APIS => Ok(c"OpenGL_ES"),
        EGL_VENDOR => {
            let board = text(entry, &dpy, name)?;
            Ok(strings::keep(&[b"gil: ", &board[..]].concat()))
        }
        EGL_EXTENSIONS => {
            let board = text(entry, &dpy, name)?;
            Ok(strings::keep(&extensions(&board, display::platform(&dpy))))
        }
        _ => Err(EGL_BAD_PARAMETER),
    }
}

/// What programs see of the extensions of the board's display: the guest's buffers are
/// images where textures can be, and libgbm's are native pixmaps of its displays.
fn extensions(board: &[u8], platform: &Platform) -> Vec<u8> {
    let mut known = strings::among(board, EXTENSIONS);
    if strings::has(&known, "EGL_KHR_fence_sync") {
        known.extend_from_slice(b" EGL_ANDROID_native_fence_sync");
    }
    if strings::has(&known, "EGL_KHR_gl_texture_2D_image") {
        known.extend_from_slice(BUFFERS.as_bytes());
        if let Platform::Gbm = platform {
            known.extend_from_slice(b" EGL_KHR_image_pixmap");
        }
    }
    known
}

/// The extensions of images of the guest's buffers.
const BUFFERS: &str = " EGL_KHR_image EGL_EXT_image_dma_buf_import \
     EGL_EXT_image_dma_buf_import_modifiers \
     EGL_ANDROID_image_native_buffer EGL_EXT_buffer_age";

/// Makes nothing, as there is no such native object.
fn no_surface(dpy: EGLDisplay, config: EGLConfig, code: EGLint) -> EGLSurface {
    Guest::noted(|| {
        let dpy = display_of(dpy)?;
        has_natives(&dpy, code)?;
        Object::find(Kind::Config, config)?;
        Err(code)
    })
}

/// Whether a display's platform has native windows. Of one that has none, every window and
/// pixmap is wrong, whatever the configuration (`EGL_MESA_platform_surfaceless`).
fn has_natives(dpy: &Object, code: EGLint) -> CallResult<()> {
    match display::platform(dpy).has_windows() {
        true => Ok(()),
        false => Err(code),
    }
}

/// What is lost can be let go.
pub(super) fn released(ended: CallResult<()>) -> CallResult<()> {
    match ended {
        Err(EGL_CONTEXT_LOST) => Ok(()),
        ended => ended,
    }
}

impl Manual for Guest {
    unsafe fn eglGetError(_: u64) -> EGLint {
        error::take()
    }

    unsafe fn eglGetDisplay(_: u64, display_id: EGLNativeDisplayType) -> EGLDisplay {
        Self::noted(|| {
            // SAFETY: the caller's.
            let platform = unsafe { platform::of_native(display_id) };
            Ok(display::get(platform, display_id, || {
                Platform::new(platform, display_id).unwrap_or_default()
            }))
        })
    }

    unsafe fn eglGetPlatformDisplay(
        _: u64,
        platform: EGLenum,
        native_display: *mut c_void,
        _attributes: *const EGLAttrib,
    ) -> EGLDisplay {
        let native = native_display as usize;
        Self::noted(|| match platform {
            EGL_PLATFORM_SURFACELESS_MESA if native != 0 => Err(EGL_BAD_PARAMETER),
            _ => {
                let windows = Platform::new(platform, native).ok_or(EGL_BAD_PARAMETER)?;
                Ok(display::get(platform, native, || windows))
            }
        })
    }

    unsafe fn eglGetPlatformDisplayEXT(
        entry: u64,
        platform: EGLenum,
        native_display: *mut c_void,
        _attributes: *const EGLint,
    ) -> EGLDisplay {
        // SAFETY: the caller's; without attributes.
        unsafe { Self::eglGetPlatformDisplay(entry, platform, native_display, ptr::null()) }
    }

    unsafe fn eglInitialize(
        entry: u64,
        dpy: EGLDisplay,
        major: *mut EGLint,
        minor: *mut EGLint,
    ) -> EGLBoolean {
        Self::returned(|| {
            let dpy = Object::find(Kind::Display, dpy)?;
            let version = display::initialize(entry, &dpy).map_err(|code| match code {
                // Without a board there was no context yet.
                EGL_CONTEXT_LOST => EGL_NOT_INITIALIZED,
                code => code,
            })?;
            // SAFETY: null, or the caller's.
            unsafe {
                data::write(major, version.0);
                data::write(minor, version.1);
            }
            Ok(())
        })
    }

    unsafe fn eglTerminate(entry: u64, dpy: EGLDisplay) -> EGLBoolean {
        Self::returned(|| display::terminate(entry, &Object::find(Kind::Display, dpy)?))
    }

    unsafe fn eglQueryString(entry: u64, dpy: EGLDisplay, name: EGLint) -> *const c_char {
        let found = Self::noted(|| Ok(string(entry, dpy, name)?.as_ptr().cast_mut()));
        found.cast_const()
    }

    unsafe fn eglGetConfigs(
        entry: u64,
        dpy: EGLDisplay,
        list: *mut EGLConfig,
        config_size: EGLint,
        num_config: *mut EGLint,
    ) -> EGLBoolean {
        Self::returned(|| {
            let dpy = display_of(dpy)?;
            if num_config.is_null() {
                return Err(EGL_BAD_PARAMETER);
            }
            let found = configs::all(entry, &dpy)?;
            // SAFETY: the caller's.
            unsafe { configs::hand_over(&found, list, config_size, num_config) };
            Ok(())
        })
    }

    unsafe fn eglChooseConfig(
        entry: u64,
        dpy: EGLDisplay,
        attrib_list: *const EGLint,
        list: *mut EGLConfig,
        config_size: EGLint,
        num_config: *mut EGLint,
    ) -> EGLBoolean {
        Self::returned(|| {
            let dpy = display_of(dpy)?;
            if num_config.is_null() {
                return Err(EGL_BAD_PARAMETER);
            }
            // SAFETY: the caller's list.
            let found = unsafe { configs::choose(entry, &dpy, attrib_list) }?;
            // SAFETY: the caller's.
            unsafe { configs::hand_over(&found, list, config_size, num_config) };
            Ok(())
        })
    }

    unsafe fn eglGetConfigAttrib(
        entry: u64,
        dpy: EGLDisplay,
        config: EGLConfig,
        attribute: EGLint,
        value: *mut EGLint,
    ) -> EGLBoolean {
        Self::returned(|| {
            let dpy = display_of(dpy)?;
            let config = Object::find(Kind::Config, config)?;
            if value.is_null() {
                return Err(EGL_BAD_PARAMETER);
            }
            let found = configs::attribute(entry, &dpy, &config, attribute)?;
            // SAFETY: the caller's.
            unsafe { value.write(found) };
            Ok(())
        })
    }

    unsafe fn eglBindAPI(_: u64, api: EGLenum) -> EGLBoolean {
        Self::returned(|| match api {
            EGL_OPENGL_ES_API => {
                current::set_api(api);
                Ok(())
            }
            _ => Err(EGL_BAD_PARAMETER),
        })
    }

    unsafe fn eglQueryAPI(_: u64) -> EGLenum {
        current::api()
    }

    unsafe fn eglDestroyContext(entry: u64, dpy: EGLDisplay, ctx: EGLContext) -> EGLBoolean {
        Self::returned(|| {
            display_of(dpy)?;
            released(Object::release(Kind::Context, ctx, entry))
        })
    }

    unsafe fn eglMakeCurrent(
        entry: u64,
        dpy: EGLDisplay,
        draw: EGLSurface,
        read: EGLSurface,
        ctx: EGLContext,
    ) -> EGLBoolean {
        Self::returned(|| {
            let dpy = Object::find(Kind::Display, dpy)?;
            let is_none = ctx.is_null() && draw.is_null() && read.is_null();
            if !is_none {
                display::initialized(&dpy)?;
            }
            let context = Object::find_optional(Kind::Context, ctx)?;
            let draw = Object::find_optional(Kind::Surface, draw)?;
            let read = Object::find_optional(Kind::Surface, read)?;
            if draw.is_some() != read.is_some() || (context.is_none() && draw.is_some()) {
                return Err(EGL_BAD_MATCH);
            }
            current::make(entry, context.as_ref(), draw.as_ref(), read.as_ref())
        })
    }

    unsafe fn eglGetCurrentContext(_: u64) -> EGLContext {
        Self::noted(|| Ok(address(current::context())))
    }

    unsafe fn eglGetCurrentSurface(_: u64, readdraw: EGLint) -> EGLSurface {
        Self::noted(|| match readdraw {
            EGL_DRAW => Ok(address(current::draw())),
            EGL_READ => Ok(address(current::read())),
            _ => Err(EGL_BAD_PARAMETER),
        })
    }

    unsafe fn eglGetCurrentDisplay(_: u64) -> EGLDisplay {
        Self::noted(|| Ok(address(current::context().and_then(|it| it.parent()))))
    }

    unsafe fn eglReleaseThread(entry: u64) -> EGLBoolean {
        let ended = Self::returned(|| current::make(entry, None, None, None));
        current::set_api(EGL_OPENGL_ES_API);
        ended
    }

    unsafe fn eglWaitClient(entry: u64) -> EGLBoolean {
        Self::returned(|| {
            let Some(context) = current::context() else {
                return Ok(());
            };
            let request: Request = work::handed_over(wire::EGL_WAIT_CLIENT, entry, &context, true);
            request.forward(&wire::EglWaitClientArgs, |reply| {
                let reply: wire::EglWaitClientReply = reply.decode()?;
                Self::check(reply.result)
            })?;
            image::flushed(entry);
            Ok(())
        })
    }

    unsafe fn eglWaitGL(entry: u64) -> EGLBoolean {
        // SAFETY: it has no conditions.
        unsafe { Self::eglWaitClient(entry) }
    }

    /// Nothing else draws to a pbuffer.
    unsafe fn eglWaitNative(_: u64, engine: EGLint) -> EGLBoolean {
        Self::returned(|| match engine {
            EGL_CORE_NATIVE_ENGINE => Ok(()),
            _ => Err(EGL_BAD_PARAMETER),
        })
    }

    unsafe fn eglGetProcAddress(
        _: u64,
        procname: *const c_char,
    ) -> __eglMustCastToProperFunctionPointerType {
        if procname.is_null() {
            return 0;
        }
        // SAFETY: a string of the caller's.
        procedures::find(unsafe { CStr::from_ptr(procname) }) as usize
    }

    unsafe fn eglDestroySurface(entry: u64, dpy: EGLDisplay, surface: EGLSurface) -> EGLBoolean {
        Self::returned(|| {
            display_of(dpy)?;
            released(Object::release(Kind::Surface, surface, entry))
        })
    }

    /// It is about windows; pbuffers have none.
    unsafe fn eglSwapInterval(_: u64, dpy: EGLDisplay, interval: EGLint) -> EGLBoolean {
        Self::returned(|| {
            display_of(dpy)?;
            current::context().ok_or(EGL_BAD_CONTEXT)?;
            let surface = current::draw().ok_or(EGL_BAD_SURFACE)?;
            if let Some(window) = window::of(&surface) {
                // Configurations have intervals from 0 to 1.
                window.native.set_paced(interval > 0);
            }
            Ok(())
        })
    }

    unsafe fn eglQuerySurface(
        entry: u64,
        dpy: EGLDisplay,
        surface: EGLSurface,
        attribute: EGLint,
        value: *mut EGLint,
    ) -> EGLBoolean {
        Self::returned(|| {
            let dpy = display_of(dpy)?;
            let surface = Object::find(Kind::Surface, surface)?;
            if value.is_null() {
                return Err(EGL_BAD_PARAMETER);
            }
            let found = window::query(entry, &dpy, &surface, attribute)?;
            // SAFETY: the caller's.
            unsafe { value.write(found) };
            Ok(())
        })
    }

    unsafe fn eglSwapBuffers(entry: u64, dpy: EGLDisplay, surface: EGLSurface) -> EGLBoolean {
        Self::returned(|| {
            let dpy = display_of(dpy)?;
            let surface = Object::find(Kind::Surface, surface)?;
            present::swap(entry, &dpy, &surface)?;
            image::flushed(entry);
            Ok(())
        })
    }

    unsafe fn eglCreateWindowSurface(
        entry: u64,
        dpy: EGLDisplay,
        config: EGLConfig,
        native: EGLNativeWindowType,
        attributes: *const EGLint,
    ) -> EGLSurface {
        Self::noted(|| {
            let dpy = display_of(dpy)?;
            has_natives(&dpy, EGL_BAD_NATIVE_WINDOW)?;
            let config = Object::find(Kind::Config, config)?;
            // SAFETY: the caller's list.
            let attributes = unsafe { window::attributes(attributes) }?;
            window::create(entry, &dpy, &config, native, &attributes)
        })
    }

    unsafe fn eglCreateImage(
        entry: u64,
        dpy: EGLDisplay,
        ctx: EGLContext,
        target: EGLenum,
        buffer: EGLClientBuffer,
        attributes: *const EGLAttrib,
    ) -> EGLImage {
        // SAFETY: the caller's list.
        Self::noted(|| unsafe { image(entry, dpy, ctx, (target, buffer), attributes) })
    }

    unsafe fn eglCreateImageKHR(
        entry: u64,
        dpy: EGLDisplay,
        ctx: EGLContext,
        target: EGLenum,
        buffer: EGLClientBuffer,
        attributes: *const EGLint,
    ) -> EGLImage {
        // SAFETY: the caller's list.
        Self::noted(|| unsafe { image(entry, dpy, ctx, (target, buffer), attributes) })
    }

    unsafe fn eglDestroyImage(entry: u64, dpy: EGLDisplay, image: EGLImage) -> EGLBoolean {
        Self::returned(|| {
            display_of(dpy)?;
            released(Object::release(Kind::Image, image, entry))
        })
    }

    unsafe fn eglDestroyImageKHR(entry: u64, dpy: EGLDisplay, image: EGLImage) -> EGLBoolean {
        // SAFETY: the caller's.
        unsafe { Self::eglDestroyImage(entry, dpy, image) }
    }

    unsafe fn eglQueryDmaBufFormatsEXT(
        _: u64,
        dpy: EGLDisplay,
        max_formats: EGLint,
        formats: *mut EGLint,
        num_formats: *mut EGLint,
    ) -> EGLBoolean {
        Self::returned(|| {
            display_of(dpy)?;
            let found = dma_buf::formats();
            // SAFETY: the caller's.
            unsafe { hand_over(&found, max_formats, formats, num_formats) }
        })
    }

    unsafe fn eglQueryDmaBufModifiersEXT(
        _: u64,
        dpy: EGLDisplay,
        format: EGLint,
        max_modifiers: EGLint,
        modifiers: *mut EGLuint64KHR,
        external_only: *mut EGLBoolean,
        num_modifiers: *mut EGLint,
    ) -> EGLBoolean {
        Self::returned(|| {
            display_of(dpy)?;
            if !dma_buf::is_format(format) {
                return Err(EGL_BAD_PARAMETER);
            }
            // SAFETY: the caller's.
            unsafe {
                hand_over(&[dma_buf::LINEAR], max_modifiers, modifiers, num_modifiers)?;
                if max_modifiers > 0 {
                    data::write(external_only, EGL_FALSE);
                }
            }
            Ok(())
        })
    }

    unsafe fn eglCreatePixmapSurface(
        _: u64,
        dpy: EGLDisplay,
        config: EGLConfig,
        _pixmap: EGLNativePixmapType,
        _attributes: *const EGLint,
    ) -> EGLSurface {
        no_surface(dpy, config, EGL_BAD_NATIVE_PIXMAP)
    }

    unsafe fn eglCreatePlatformWindowSurface(
        entry: u64,
        dpy: EGLDisplay,
        config: EGLConfig,
        native: *mut c_void,
        attributes: *const EGLAttrib,
    ) -> EGLSurface {
        Self::noted(|| {
            let dpy = display_of(dpy)?;
            has_natives(&dpy, EGL_BAD_NATIVE_WINDOW)?;
            let config = Object::find(Kind::Config, config)?;
            // SAFETY: the caller's list.
            let attributes = unsafe { window::attributes(attributes) }?;
            // SAFETY: the caller's.
            let native = unsafe { display::platform(&dpy).handed(native) };
            window::create(entry, &dpy, &config, native, &attributes)
        })
    }

    unsafe fn eglCreatePlatformPixmapSurface(
        _: u64,
        dpy: EGLDisplay,
        config: EGLConfig,
        _pixmap: *mut c_void,
        _attributes: *const EGLAttrib,
    ) -> EGLSurface {
        no_surface(dpy, config, EGL_BAD_NATIVE_PIXMAP)
    }

    unsafe fn eglCreatePlatformWindowSurfaceEXT(
        entry: u64,
        dpy: EGLDisplay,
        config: EGLConfig,
        native: *mut c_void,
        attributes: *const EGLint,
    ) -> EGLSurface {
        Self::noted(|| {
            let dpy = display_of(dpy)?;
            has_natives(&dpy, EGL_BAD_NATIVE_WINDOW)?;
            let config = Object::find(Kind::Config, config)?;
            // SAFETY: the caller's list.
            let attributes = unsafe { window::attributes(attributes) }?;
            // SAFETY: the caller's.
            let native = unsafe { display::platform(&dpy).handed(native) };
            window::create(entry, &dpy, &config, native, &attributes)
        })
    }

    unsafe fn eglCreatePlatformPixmapSurfaceEXT(
        _: u64,
        dpy: EGLDisplay,
        config: EGLConfig,
        _pixmap: *mut c_void,
        _attributes: *const EGLint,
    ) -> EGLSurface {
        no_surface(dpy, config, EGL_BAD_NATIVE_PIXMAP)
    }

    unsafe fn eglCreateSync(
        entry: u64,
        dpy: EGLDisplay,
        r#type: EGLenum,
        attrib_list: *const EGLAttrib,
    ) -> EGLSync {
        Self::noted(|| {
            let dpy = display_of(dpy)?;
            // SAFETY: null, or a list of the caller's.
            let attributes = unsafe { window::attributes(attrib_list) }?;
            // SAFETY: the caller's.
            unsafe { syncs::create(entry, &dpy, r#type, &attributes, EGL_BAD_PARAMETER) }
        })
    }

    unsafe fn eglCreateSyncKHR(
        entry: u64,
        dpy: EGLDisplay,
        r#type: EGLenum,
        attrib_list: *const EGLint,
    ) -> EGLSyncKHR {
        let made = Self::noted(|| {
            let dpy = display_of(dpy)?;
            // SAFETY: null, or a list of the caller's.
            let attributes = unsafe { window::attributes(attrib_list) }?;
            // SAFETY: the caller's.
            unsafe { syncs::create(entry, &dpy, r#type, &attributes, EGL_BAD_ATTRIBUTE) }
        });
        made.cast()
    }

    unsafe fn eglDupNativeFenceFDANDROID(_: u64, dpy: EGLDisplay, sync: EGLSyncKHR) -> EGLint {
        let found = display_of(dpy).and_then(|dpy| syncs::descriptor(&dpy, sync.cast()));
        Self::note(found.map(drop));
        found.unwrap_or(EGL_NO_NATIVE_FENCE_FD_ANDROID)
    }

    unsafe fn eglDestroySync(entry: u64, dpy: EGLDisplay, sync: EGLSync) -> EGLBoolean {
        Self::returned(|| syncs::destroy(entry, &display_of(dpy)?, sync))
    }

    unsafe fn eglClientWaitSync(
        entry: u64,
        dpy: EGLDisplay,
        sync: EGLSync,
        flags: EGLint,
        timeout: EGLTime,
    ) -> EGLint {
        let ended =
            display_of(dpy).and_then(|dpy| syncs::client_wait(entry, &dpy, sync, flags, timeout));
        if ended == Ok(EGL_CONDITION_SATISFIED) {
            image::flushed(entry);
        }
        Self::note(ended.map(drop));
        ended.unwrap_or(NO_END)
    }

    unsafe fn eglGetSyncAttrib(
        entry: u64,
        dpy: EGLDisplay,
        sync: EGLSync,
        attribute: EGLint,
        value: *mut EGLAttrib,
    ) -> EGLBoolean {
        Self::returned(|| {
            let found =
                syncs::attribute(entry, &display_of(dpy)?, sync, attribute, value.is_null())?;
            let found = EGLAttrib::try_from(found).map_err(|_| EGL_BAD_ATTRIBUTE)?;
            // SAFETY: the caller's.
            unsafe { value.write(found) };
            Ok(())
        })
    }

    unsafe fn eglGetSyncAttribKHR(
        entry: u64,
        dpy: EGLDisplay,
        sync: EGLSync,
        attribute: EGLint,
        value: *mut EGLint,
    ) -> EGLBoolean {
        Self::returned(|| {
            let found =
                syncs::attribute(entry, &display_of(dpy)?, sync, attribute, value.is_null())?;
            // SAFETY: the caller's.
            unsafe { value.write(found.cast_signed()) };
            Ok(())
        })
    }

    unsafe fn eglSignalSyncKHR(
        _: u64,
        dpy: EGLDisplay,
        sync: EGLSync,
        mode: EGLenum,
    ) -> EGLBoolean {
        Self::returned(|| syncs::signal(&display_of(dpy)?, sync, mode))
    }

    unsafe fn eglWaitSync(entry: u64, dpy: EGLDisplay, sync: EGLSync, flags: EGLint) -> EGLBoolean {
        Self::returned(|| syncs::server_wait(entry, &display_of(dpy)?, sync, flags))
    }

    unsafe fn eglWaitSyncKHR(entry: u64, dpy: EGLDisplay, sync: EGLSync, flags: EGLint) -> EGLint {
        // SAFETY: the same.
        unsafe { Self::eglWaitSync(entry, dpy, sync, flags) }.cast_signed()
    }

    /// The buffers are OpenVG's, which nobody has.
    unsafe fn eglCreatePbufferFromClientBuffer(
        _: u64,
        dpy: EGLDisplay,
        _kind: EGLenum,
        _buffer: EGLClientBuffer,
        config: EGLConfig,
        _attributes: *const EGLint,
    ) -> EGLSurface {
        no_surface(dpy, config, EGL_BAD_PARAMETER)
    }

    unsafe fn eglCopyBuffers(
        _: u64,
        dpy: EGLDisplay,
        surface: EGLSurface,
        _target: EGLNativePixmapType,
    ) -> EGLBoolean {
        Self::returned(|| {
            display_of(dpy)?;
            Object::find(Kind::Surface, surface)?;
            Err(EGL_BAD_NATIVE_PIXMAP)
        })
    }
}

/// Writes what was found as far as there is room, and how many; without room, how many there
/// are.
///
/// # Errors
/// `EGL_BAD_PARAMETER` for room that is none.
///
/// # Safety
/// `number` and `place`, if they are not null, have room for a number and for `room` values.
unsafe fn hand_over<T: Copy>(
    found: &[T],
    room: EGLint,
    place: *mut T,
    number: *mut EGLint,
) -> CallResult<()> {
    let room = usize::try_from(room).map_err(|_| EGL_BAD_PARAMETER)?;
    if number.is_null() || (room > 0 && place.is_null()) {
        return Err(EGL_BAD_PARAMETER);
    }
    let count = if room == 0 {
        found.len()
    } else {
        room.min(found.len())
    };
    // SAFETY: the caller's; the two are not the same memory.
    unsafe {
        ptr::copy_nonoverlapping(found.as_ptr(), place, count.min(room));
        number.write(EGLint::try_from(count).unwrap_or(EGLint::MAX));
    }
    Ok(())
}

/// Makes an image.
///
/// # Safety
/// `attributes` is null or pairs that end with `EGL_NONE`.
unsafe fn image<T>(
    entry: u64,
    dpy: EGLDisplay,
    ctx: EGLContext,
    (target, buffer): (EGLenum, EGLClientBuffer),
    attributes: *const T,
) -> CallResult<EGLImage>
where
    T: Copy + PartialEq + From<i16> + TryInto<EGLint>,
{
    let dpy = display_of(dpy)?;
    let context = Object::find_optional(Kind::Context, ctx)?;
    // SAFETY: the caller's.
    let attributes = unsafe { window::attributes(attributes) }?;
    image::create(entry, &dpy, context.as_ref(), target, buffer, &attributes)
}

/// The handle of what may be there.
fn address<T>(object: Option<Object>) -> *mut T {
    object.map_or(ptr::null_mut(), |object| object.address().cast())
}
