//! Access to a board: starts an agent, or connects to one that listens already.
//!
//! | module | what |
//! |---|---|
//! | [`agent`] | starting an agent or connecting to one, its status and ping |
//! | [`boards`] | the boards of a run, each for some APIs or for all |
//! | [`key`] | creating a key that a board and its users share |
//! | [`profile`] | what was measured on a board, as a file |

pub mod agent;
pub mod boards;
pub mod key;
pub mod profile;
