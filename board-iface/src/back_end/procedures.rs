//! A driver's functions, by name.

use libloading::Library;
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

/// The address as a function; none for null.
///
/// # Safety
/// `F` is the type of a pointer to what is there.
pub unsafe fn function<F: Copy>(address: *mut c_void) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    if address.is_null() {
        return None;
    }
    // SAFETY: of equal sizes; the rest is the caller's.
    Some(unsafe { std::mem::transmute_copy(&address) })
}

/// The address of a library's symbol; null if it has none of this name.
pub fn symbol(library: &Library, name: &CStr) -> *mut c_void {
    // SAFETY: a symbol's address is no more than a number here.
    let found = unsafe { library.get::<*mut c_void>(name.to_bytes_with_nul()) };
    found.map_or(null_mut(), |symbol| *symbol)
}
