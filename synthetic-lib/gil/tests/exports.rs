//! The shared library as the thin ones get it.

use std::ffi::{CString, c_char, c_void};
use std::path::PathBuf;

const SPEC: &str = include_str!("../../../api/opencl.toml");

/// Entry points of the description, but for calls of our own.
fn described() -> Vec<&'static str> {
    let name = |line: &'static str| line.strip_prefix("[call.")?.strip_suffix(']');
    let all = SPEC.lines().filter_map(name);
    all.filter(|name| name.starts_with("cl")).collect()
}

/// The library that cargo built beside this test.
fn path() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.with_file_name(gil_guest_names::SHARED)
}

fn library() -> *mut c_void {
    let path = CString::new(path().into_os_string().into_encoded_bytes()).unwrap();
    // SAFETY: a string with a NUL; the library's initialisers are harmless.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!library.is_null(), "{path:?} does not load");
    library
}

/// The address of an entry point, exported under the library's own name for it.
fn exported(library: *mut c_void, name: &str) -> *mut c_void {
    let name = CString::new(format!("{}{name}", gil_guest_names::PREFIX)).unwrap();
    // SAFETY: a handle of dlopen and a string with a NUL.
    unsafe { libc::dlsym(library, name.as_ptr()) }
}

#[test]
fn every_described_entry_point_is_exported() {
    let library = library();
    let missing = |name: &&str| exported(library, name).is_null();
    let missing: Vec<_> = described().into_iter().filter(missing).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(described().len() > 100);
}

/// What a loader asks for by its plain name costs it no jump.
#[test]
fn an_entry_point_is_found_by_its_plain_name() {
    type Find = unsafe extern "C" fn(*const c_char) -> *mut c_void;
    let library = library();
    let find = exported(library, "clGetExtensionFunctionAddress");
    // SAFETY: the function of that name has this type.
    let find: Find = unsafe { std::mem::transmute(find) };
    for name in [c"clIcdGetPlatformIDsKHR", c"clGetGLContextInfoKHR"] {
        // SAFETY: a string with a NUL.
        let found = unsafe { find(name.as_ptr()) };
        assert!(!found.is_null());
        assert_eq!(found, exported(library, name.to_str().unwrap()));
    }
}
