//! What a guest's OpenCL library and a board's back end share.
//!
//! | module | what |
//! |---|---|
//! | [`build_options`] | the words of a program's build options, and the paths in them |
//! | [`image`] | the layout of images in memory |
//! | [`include_lines`] | the files that a program's text includes |
//! | [`status`] | how an event's operation ended |

#![forbid(unsafe_code)]

pub mod build_options;
pub mod image;
pub mod include_lines;
pub mod status;
