//! What the generated dispatch finds beside what all back ends have.

pub use super::session::Session;

/// The calls whose bodies are written by hand: none.
#[derive(Clone, Copy, Debug)]
pub struct Board;
