//! Linker options of the driver.

fn main() {
    // What programs are linked with, as with a vendor's driver.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libtoy.so.1");
    println!("cargo::rerun-if-changed=build.rs");
}
