//! What a run does, drawn while it goes on.
//!
//! [`Course`] takes what the host interface says of the run, and what the program writes;
//! [`draw`] draws it. Nothing here reads a clock, a key or a terminal.

#![forbid(unsafe_code)]

mod course;
mod draw;
mod lines;

pub use course::Course;
pub use draw::draw;
pub use lines::Lines;
