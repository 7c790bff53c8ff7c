//! Sockets: listening, the handshake, framed messages.
//!
//! Region bytes are read from the socket straight into the buffers that the
//! call uses, and written from them with vectored writes; on one machine, they
//! are in memory that both sides map.

pub(crate) mod attached;
mod connection;
mod greeting;
mod link;
mod listener;
mod window;

pub use connection::{Connection, ConnectionError, HANDSHAKE_WITHIN};
pub use greeting::{Greeting, Shaken, Terms};
pub use listener::{Access, ListenError, Listener};
pub use window::{Offer, Part, Window, WindowError};
