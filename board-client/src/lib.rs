//! A board as its users reach it: an agent that is started for them, or one that
//! listens already.
//!
//! | module | what |
//! |---|---|
//! | [`agent`] | starting or reaching an agent, and what it is asked besides calls |
//! | [`key`] | making a key that a board and its users share |

pub mod agent;
pub mod key;
