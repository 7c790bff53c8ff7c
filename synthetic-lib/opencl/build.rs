//! Linker options of the shared library.

fn main() {
    // Its own name. Where there is no ICD loader, libOpenCL.so.1 is a link to it.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libgil_opencl.so");
    // The dispatch table must name this library's functions, not the loader's
    // of the same names.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    println!("cargo::rerun-if-changed=build.rs");
}
