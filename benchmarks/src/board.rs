//! A board to measure with.

use gil_board_client::agent::Agent;
use std::path::PathBuf;

/// The connection to a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// On this machine, with memory in common.
    Local,
    /// By TCP.
    Tcp,
    /// By TCP, encrypted.
    Encrypted,
}

/// A board that answers.
pub struct Board {
    /// The agent that serves it.
    pub agent: Agent,
    /// The key that it wants.
    pub key: Option<PathBuf>,
}
