//! Why a connection ends on the board.

use crate::memory::OutOfMemory;
use crate::secure::SecureError;
use gil_wire::frame::FrameError;
use gil_wire::hello::HelloError;
use std::io;
use std::time::Duration;

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The system's word.
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    /// The peer left in the middle of a message.
    #[error("the peer left in the middle of a message")]
    CutShort,
    /// The handshake failed.
    #[error(transparent)]
    Hello(#[from] HelloError),
    /// The peer has no key, and this agent does.
    #[error("the peer has no key (its --key is missing)")]
    NoKey,
    /// The peer has a key, and this agent does not.
    #[error("the peer wants a key, which this agent was not given: start it with --key FILE")]
    KeyWanted,
    /// The peer is nobody that this agent serves.
    #[error("{0}")]
    NotServed(String),
    /// The peer did not finish the handshake.
    #[error("the peer did not shake hands within {} s", .0.as_secs())]
    Slow(Duration),
    /// The peer has another key, or what it sealed was changed.
    #[error(transparent)]
    Secure(#[from] SecureError),
    /// A frame out of bounds, or one that does not decode.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// No memory for a region.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}
