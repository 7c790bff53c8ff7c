//! What the guest's OpenGL ES library and the board's back end compute alike from a
//! call's arguments: the bytes of pictures and arrays, and how many values a query
//! has. OpenGL ES 3.2 specification, and 1.1 where that is named; the section is named at
//! each function.

#![forbid(unsafe_code)]

pub mod arrays;
pub mod fixed;
pub mod pixels;
pub mod values;
pub mod windows;
