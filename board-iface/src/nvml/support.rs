//! What the generated dispatch imports from the hand-written code.

pub use super::session::Session;

/// The calls whose bodies are written by hand.
#[derive(Clone, Copy, Debug)]
pub struct Board;
