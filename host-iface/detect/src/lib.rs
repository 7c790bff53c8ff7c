//! Finds doorbells and functions in a running guest.
//!
//! - [`marker`]: a no-op instruction with a magic encoding.
//! - [`kernel_image`]: the functions of a kernel, from its raw Image.
//! - [`symbol`], [`module_code`]: the entry of a function, by its name in an
//!   ELF file; a kernel module's load address by its own bytes, without the
//!   guest's help.
//! - [`watch`]: any function, each call with its arguments.
//! - [`btf`], [`dwarf`]: structures and prototypes.
//!
//! A simulator with a device of gil's own needs nothing from here: the device's
//! doorbell register calls the host interface's `doorbell`.

pub mod btf;
pub mod dwarf;
pub mod kernel_image;
pub mod marker;
pub mod module_code;
pub mod symbol;
pub mod watch;
