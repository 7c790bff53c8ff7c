//! This library as a vendor's for libglvnd, whose libEGL a Debian system has. The
//! structures are those of `glvnd/libeglabi.h`, version 0.x of its ABI.

use super::procedures;
use crate::generated::manual::{Guest, Manual};
use crate::generated::types::*;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null;
use std::sync::OnceLock;

/// The version's upper half that this is written for.
const MAJOR: u32 = 0;

/// `__EGL_VENDOR_STRING_PLATFORM_EXTENSIONS`.
const PLATFORM_EXTENSIONS: c_int = 0;

/// `__EGLapiImports`: what libEGL calls. The optional fields at its end stay null.
#[repr(C)]
#[derive(Debug)]
pub struct Imports {
    get_platform_display:
        unsafe extern "C" fn(EGLenum, *mut c_void, *const EGLAttrib) -> EGLDisplay,
    get_supports_api: extern "C" fn(EGLenum) -> EGLBoolean,
    get_vendor_string: extern "C" fn(c_int) -> *const c_char,
    get_proc_address: unsafe extern "C" fn(*const c_char) -> *mut c_void,
    get_dispatch_address: unsafe extern "C" fn(*const c_char) -> *mut c_void,
    set_dispatch_index: unsafe extern "C" fn(*const c_char, c_int),
}

/// `__EGLapiExports`: what libEGL offers. Of its functions one is called here.
#[repr(C)]
#[derive(Debug)]
pub struct Exports {
    before: [usize; 8],
    set_last_vendor: unsafe extern "C" fn(*mut c_void) -> EGLBoolean,
}

/// How libEGL is told that this library had a thread's last call.
#[derive(Clone, Copy, Debug)]
struct Loader {
    set_last_vendor: unsafe extern "C" fn(*mut c_void) -> EGLBoolean,
    /// What libEGL calls this library.
    vendor: usize,
}

static LOADER: OnceLock<Loader> = OnceLock::new();

/// A call of this thread ended here. libEGL asks the library of the last call for its error,
/// and does not see calls of extensions' functions, which programs call directly.
pub fn called() {
    if let Some(loader) = LOADER.get() {
        // SAFETY: libEGL's function, with what it calls this library; it is never unloaded
        // while its vendors' libraries are called.
        unsafe { (loader.set_last_vendor)(loader.vendor as *mut c_void) };
    }
}

unsafe extern "C" fn get_platform_display(
    platform: EGLenum,
    native: *mut c_void,
    attributes: *const EGLAttrib,
) -> EGLDisplay {
    let entry = gil_guest::entry();
    // SAFETY: the caller's.
    unsafe {
        match platform {
            // eglGetDisplay(EGL_DEFAULT_DISPLAY)
            NONE => Guest::eglGetDisplay(entry, native as usize),
            _ => Guest::eglGetPlatformDisplay(entry, platform, native, attributes),
        }
    }
}

/// The platforms whose native displays libEGL gives this library.
const PLATFORMS: &CStr =
    c"EGL_MESA_platform_surfaceless EGL_KHR_platform_gbm EGL_MESA_platform_gbm \
    EGL_KHR_platform_x11 EGL_EXT_platform_x11 EGL_EXT_platform_xcb EGL_KHR_platform_wayland \
    EGL_EXT_platform_wayland EGL_KHR_platform_android";

const NONE: EGLenum = EGL_NONE.unsigned_abs();

extern "C" fn get_supports_api(api: EGLenum) -> EGLBoolean {
    match api {
        EGL_OPENGL_ES_API => EGL_TRUE,
        _ => EGL_FALSE,
    }
}

extern "C" fn get_vendor_string(name: c_int) -> *const c_char {
    match name {
        PLATFORM_EXTENSIONS => PLATFORMS.as_ptr(),
        _ => null(),
    }
}

unsafe extern "C" fn get_proc_address(name: *const c_char) -> *mut c_void {
    // SAFETY: a string of libEGL's.
    procedures::find(unsafe { CStr::from_ptr(name) })
}

/// Of extensions' functions that libEGL does not know. Their displays are this library's
/// where it is the first that has them.
unsafe extern "C" fn get_dispatch_address(name: *const c_char) -> *mut c_void {
    // SAFETY: a string of libEGL's.
    procedures::find(unsafe { CStr::from_ptr(name) })
}

unsafe extern "C" fn set_dispatch_index(_: *const c_char, _: c_int) {}

/// `__egl_Main`: fills in what libEGL calls.
///
/// # Safety
/// `exports` and `imports` point to those structures, the latter zeroed; `vendor` is what
/// libEGL calls this library.
#[unsafe(export_name = "gil___egl_Main")]
pub unsafe extern "C" fn main(
    version: u32,
    exports: *const Exports,
    vendor: *mut c_void,
    imports: *mut Imports,
) -> EGLBoolean {
    if version >> 16 != MAJOR {
        return EGL_FALSE;
    }
    if !exports.is_null() {
        // SAFETY: the caller's.
        let set_last_vendor = unsafe { (*exports).set_last_vendor };
        LOADER.get_or_init(|| Loader {
            set_last_vendor,
            vendor: vendor as usize,
        });
    }
    let own = Imports {
        get_platform_display,
        get_supports_api,
        get_vendor_string,
        get_proc_address,
        get_dispatch_address,
        set_dispatch_index,
    };
    // SAFETY: the caller's; what follows in a newer structure is optional.
    unsafe { imports.write(own) };
    EGL_TRUE
}
