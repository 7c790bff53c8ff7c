//! Functions by name, for `eglGetProcAddress`: all that `libgil.so` exports for a
//! graphics API, whichever crate it comes from.

use std::ffi::{CStr, CString, c_void};
use std::sync::OnceLock;

/// This library, wherever it was loaded from.
fn library() -> *mut c_void {
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    *LIBRARY.get_or_init(|| {
        let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
        let own = library as *const c_void;
        // SAFETY: there is space for the answer; the file's name is the loader's, of a
        // library that is never unloaded.
        unsafe {
            match libc::dladdr(own, info.as_mut_ptr()) {
                0 => 0,
                _ => {
                    let file = info.assume_init().dli_fname;
                    libc::dlopen(file, libc::RTLD_LAZY | libc::RTLD_NOLOAD) as usize
                }
            }
        }
    }) as *mut c_void
}

/// The address of an entry point of EGL or OpenGL ES; null if there is none.
pub fn find(name: &CStr) -> *mut c_void {
    let bytes = name.to_bytes();
    if !bytes.starts_with(b"egl") && !bytes.starts_with(b"gl") || library().is_null() {
        return std::ptr::null_mut();
    }
    let exported = CString::new([b"gil_", bytes].concat()).unwrap_or_default();
    // SAFETY: the handle is open, and stays so.
    unsafe { libc::dlsym(library(), exported.as_ptr()) }
}
