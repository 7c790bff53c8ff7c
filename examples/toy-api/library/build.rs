//! Linker options of the shared library.

fn main() {
    let name = gil_guest_names::SHARED;
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{name}");
    // Tables of its own functions are made by adding its address, without a
    // look for each name as it is loaded.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    // A program that unloads a library and loads it again has the session that
    // it had; the library's thread keeps its code.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");
}
