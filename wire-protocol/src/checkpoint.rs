//! What a board reports about a session for a checkpoint. The checkpoint's file
//! is defined elsewhere (`gil-files`).

use crate::ending::Ending;
use serde::{Deserialize, Serialize};

/// Most objects that a survey lists.
pub const MAX_SURVEYED: usize = 32_768;

/// What the board says of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survey {
    /// Objects that hold something of their own.
    pub contents: Vec<Contents>,
    /// Events of operations that ended, which the program holds.
    pub past: Vec<PastEvent>,
    /// Why the session cannot be made again from what it did; a sentence each,
    /// which says what the program would have to do.
    pub obstacles: Vec<String>,
}

/// An object that holds something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// Its API.
    pub api: u16,
    /// Its number.
    pub object: u64,
    /// Bytes.
    pub len: u64,
}

/// The event of an operation that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastEvent {
    /// Its API.
    pub api: u16,
    /// Its number.
    pub event: u64,
    /// The queue of its operation; 0 if the program gave that up.
    pub queue: u64,
    /// Its context; 0 if the program gave that up.
    pub context: u64,
    /// The API's number of the operation's kind.
    pub command: u32,
    /// How it ended.
    pub ending: Ending,
}
