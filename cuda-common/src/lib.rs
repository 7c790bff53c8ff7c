//! What the guest's CUDA library, the board's back end and the null driver compute alike:
//! how long the image of a module is, and which parameters the kernels of a PTX text have.

#![forbid(unsafe_code)]

pub mod image;
pub mod ptx;
