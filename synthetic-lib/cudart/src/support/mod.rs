//! What is written by hand.
//!
//! | module | what |
//! |---|---|
//! | [`error`] | a thread's last error; errors' names |
//! | [`device`] | a thread's device, and its context, which is made at the first use |
//! | [`properties`] | what a device and a function say of themselves |
//! | [`binary`] | what the compiler registers: fat binaries, kernels, variables |
//! | [`launch`] | kernels, and the configurations of launches |
//! | [`copy`] | copies between memory, and of variables |
//! | [`rectangles`] | copies of rectangles and boxes, and boxes that are set |
//! | [`arrays`], [`textures`] | arrays, and copies from and to them; textures and surfaces |
//! | [`pointers`] | what is known of an address |
//! | [`peers`] | other devices, and which device fits best |
//! | `manual` | the entry points |

#![allow(non_upper_case_globals, reason = "the API's constants, in patterns")]

pub mod arrays;
pub mod binary;
pub mod copy;
pub mod device;
pub mod error;
pub mod launch;
mod manual;
pub mod peers;
pub mod pointers;
pub mod properties;
pub mod rectangles;
pub mod textures;
