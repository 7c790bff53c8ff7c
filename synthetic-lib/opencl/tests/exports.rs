//! The shared library as a program or the ICD loader gets it.

use std::ffi::{CStr, CString, c_char, c_void};
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
    test.with_file_name("libgil_opencl.so")
}

fn open(path: &str, flags: i32) -> *mut c_void {
    let path = CString::new(path).unwrap();
    // SAFETY: a string with a NUL; the libraries' initialisers are harmless.
    unsafe { libc::dlopen(path.as_ptr(), flags) }
}

fn library() -> *mut c_void {
    // Another library with the same names, as the loader has them, comes first
    // in a program's scope. Where there is none, that part is not tested.
    open("libOpenCL.so.1", libc::RTLD_NOW | libc::RTLD_GLOBAL);
    let library = open(path().to_str().unwrap(), libc::RTLD_NOW | libc::RTLD_LOCAL);
    assert!(!library.is_null(), "{} does not load", path().display());
    library
}

fn symbol(library: *mut c_void, name: &str) -> *mut c_void {
    let name = CString::new(name).unwrap();
    // SAFETY: a handle of dlopen and a string with a NUL.
    unsafe { libc::dlsym(library, name.as_ptr()) }
}

/// The file that holds the code at `address`.
fn holder(address: *mut c_void) -> String {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: `info` is room for the answer, whose name lives as the library.
    unsafe {
        assert_ne!(libc::dladdr(address, &mut info), 0);
        CStr::from_ptr(info.dli_fname)
            .to_string_lossy()
            .into_owned()
    }
}

#[test]
fn every_described_entry_point_is_exported() {
    let library = library();
    let missing = |name: &&str| symbol(library, name).is_null();
    let missing: Vec<_> = described().into_iter().filter(missing).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(described().len() > 100);
}

#[test]
fn its_own_tables_name_its_own_functions() {
    type Find = unsafe extern "C" fn(*const c_char) -> *mut c_void;
    let find = symbol(library(), "clGetExtensionFunctionAddress");
    // SAFETY: the function of that name has this type; the names are strings.
    let (icd, shared) = unsafe {
        let find: Find = std::mem::transmute(find);
        (
            find(c"clIcdGetPlatformIDsKHR".as_ptr()),
            // A name that the loader has, too.
            find(c"clGetGLContextInfoKHR".as_ptr()),
        )
    };
    for function in [icd, shared] {
        assert!(!function.is_null());
        assert!(
            holder(function).ends_with("libgil_opencl.so"),
            "{}",
            holder(function)
        );
    }
}
