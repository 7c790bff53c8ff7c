//! The guest's image: everything that a simulated machine boots.
//!
//! | module | what |
//! |---|---|
//! | [`apt`], [`checksum`] | Debian's packages, fetched and checked |
//! | [`packages`], [`layers`], [`unpacked`], [`alternatives`], [`python`], [`platforms`] | sets of them, as a guest has them |
//! | [`tree`], [`copied`], [`placed`] | what files the guest will have, and the user's among them |
//! | [`program`], [`elf`], [`brought`], [`interpreter`] | the program to run, and what it runs by: its libraries, a script's interpreter |
//! | [`kernel`], [`module`] | Debian's kernel, and gil's modules for it |
//! | [`assets`], [`libraries`] | gil's own files |
//! | [`files`], [`archive`], [`same`], [`staged`], [`disk_image`], [`image`], [`guest_files`] | initramfs and disks, written and read |
//! | [`guest`], [`full_system`], [`sysroot`], [`machine`] | a run's guest: with a kernel, as a folder; a machine that is a board |
//! | [`memory`] | how much of it the guest needs |

pub mod alternatives;
pub mod apt;
pub mod arch;
pub mod archive;
pub mod assets;
pub mod brought;
pub mod checksum;
pub mod copied;
pub mod disk_image;
pub mod elf;
pub mod files;
pub mod full_system;
pub mod gpu;
pub mod guest;
pub mod guest_files;
pub mod image;
pub mod interpreter;
pub mod kernel;
mod known_libraries;
pub mod layers;
pub mod libraries;
pub mod machine;
pub mod memory;
pub mod module;
pub mod packages;
pub mod placed;
pub mod platforms;
pub mod program;
pub mod python;
pub mod same;
pub mod staged;
pub mod sysroot;
pub mod tree;
pub mod unpacked;
