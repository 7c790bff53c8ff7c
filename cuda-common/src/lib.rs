//! What the guest's CUDA library, the board's back end and the null driver compute alike:
//! how long the image of a module is, which parameters the kernels of a PTX text have, which options
//! of the compiler are numbers, how much of a device a launch needs, and how large arrays are.

#![forbid(unsafe_code)]

pub mod array;
pub mod attribute;
pub mod image;
pub mod jit;
pub mod names;
pub mod ptx;
pub mod room;
