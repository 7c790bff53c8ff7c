//! Connections between hosts and boards, at both ends.
//!
//! | module | end | what |
//! |---|---|---|
//! | [`client`] | host | connects, shakes hands, sends calls, receives answers |
//! | [`vectored`] | both | socket I/O directly from and to memory, including guest RAM |
//! | [`listener`], [`greeting`] | board | accepts connections and shakes hands, without waiting |
//! | [`connection`], [`error`] | board | receives calls, sends answers; why it ends |
//! | [`stream`] | both | sends and receives frames, and payload in place |
//! | [`secure`] | both | authentication and encryption |
//! | [`window`] | both | memory that both ends map, on one machine |
//! | [`spin`] | both | how long to poll before sleeping |
//! | [`crew`] | both | helper threads for bulk data |
//! | [`attached`] | board | files that come with a message |
//! | [`memory`] | board | memory that the system may refuse |
//!
//! Region bytes are read from a socket directly into the memory that a call uses, and
//! written from it; on one machine, they are in memory that both ends map. The messages
//! are defined in [`gil_wire`].

pub mod attached;
pub mod client;
pub mod connection;
pub mod crew;
pub mod error;
pub mod greeting;
pub mod listener;
pub mod memory;
pub mod secure;
pub mod spin;
pub mod stream;
pub mod vectored;
pub mod window;
