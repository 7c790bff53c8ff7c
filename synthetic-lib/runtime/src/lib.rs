//! What gil's guest libraries share: the device, submissions, waits, handles,
//! fork.
//!
//! | module | what |
//! |---|---|
//! | [`uapi`] | the ioctls of `/dev/gil`, as `synthetic-driver/uapi/gil.h` has them |
//! | [`counter`] | the guest's counter, read when a program enters a library |
//! | [`note`] | which entry points were called |
//! | [`device`] | the device behind a trait, so that tests can play the driver |
//! | [`client`] | calls, posts, observations and polls of one process |
//! | [`process`] | the process's own client: opened once, fork, exit |
//! | [`later`] | what is done later, on a thread of the library's own |
//! | [`notices`] | what the board says of its own accord |
//! | [`registry`] | live objects by address: validity, type, references |
//! | [`error`] | what can go wrong between a library and the board |
//!
//! A library notes [`entry`] first, then hands a [`Call`] and its encoded
//! arguments to the process's [`Client`]:
//!
//! ```no_run
//! use gil_guest::{Call, entry};
//! use gil_wire::{control, envelope::Class};
//!
//! let at = entry();
//! let call = Call::new(control::STARTED, Class::Sync, at);
//! gil_guest::client()?.forward(&call, &control::Started { process: 1 }, |_| ())?;
//! # Ok::<(), gil_guest::Error>(())
//! ```

mod batch;
mod call;
mod called;
pub mod client;
pub mod counter;
pub mod device;
#[cfg(any(test, feature = "double"))]
pub mod double;
mod encode;
pub mod error;
pub mod later;
pub mod notices;
pub mod process;
pub mod registry;
mod scratch;
mod stdout;
pub mod uapi;

pub use call::Call;
pub use called::note;
pub use client::{Answered, Client};
pub use counter::entry;
pub use encode::{Arguments, ByHand};
pub use error::Error;
pub use process::client;
pub use uapi::{Region, region};
