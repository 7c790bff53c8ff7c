//! OpenCL's part of what the generated dispatch imports.

pub use super::session::Session;

/// The calls whose bodies are written by hand.
#[derive(Clone, Copy, Debug)]
pub struct Board;
