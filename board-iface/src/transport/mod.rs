//! Sockets: listening, the handshake, framed messages.
//!
//! Region bytes are read from the socket straight into the buffers that the
//! call uses, and written from them with vectored writes.

mod connection;
mod listener;

pub use connection::{Connection, ConnectionError};
pub use listener::{ListenError, Listener};
