//! Authentication and encryption between machines: both sides have one key,
//! and prove it to each other by the Noise protocol [`PATTERN`].
//!
//! | step | who | bytes | what |
//! |---|---|---|---|
//! | 1 | host | 64 | its [hello](gil_wire::hello), with [`SECURE`](gil_wire::hello::SECURE) |
//! | 2 | board | 64 | its hello, with `SECURE` too; nothing is sent before the host's hello arrived |
//! | 3 | host | [`MESSAGE_LEN`] | `psk, e`: nobody without the key can create it |
//! | 4 | board | [`MESSAGE_LEN`] | `e, ee`: the same for the board |
//! | 5 | host | a record of [`PROOF_LEN`] | an empty one, so that a replayed step 3 opens no session |
//!
//! Both hellos are authenticated, so that nobody in between can change versions or
//! capabilities. After the handshake everything is in [records](Records). A step that
//! fails ends the connection without a message.

mod handshake;
mod key;
mod records;
mod secrets;

#[cfg(test)]
pub(crate) use handshake::tests::shaken;
pub use handshake::{Handshake, MESSAGE_LEN, PATTERN};
pub use key::{KEY_LEN, Key, KeyError};
pub use records::{OVERHEAD, RECORD, Records};
pub use secrets::{PROOF_LEN, Secrets};
pub use zeroize::{Zeroize, Zeroizing};

use std::io;

/// Why a connection is not, or no longer, private.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecureError {
    /// A handshake message that nobody with the key wrote to this side.
    #[error("the peer did not prove that it has the key: use the same key file on both sides")]
    Unproven,
    /// Bytes that the peer did not seal, or not at this place.
    #[error(
        "a message was changed, repeated or truncated on its way: the connection cannot be trusted"
    )]
    Forged,
    /// A record shorter than any can be.
    #[error("a record of {0} bytes came, which no peer makes")]
    Short(usize),
    /// No randomness, or more records than may be sealed.
    #[error(
        "the system returned no random numbers, or the connection has transferred too much data"
    )]
    Exhausted,
}

impl From<SecureError> for io::Error {
    fn from(error: SecureError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}
