//! What gil's guest libraries share: the device, submissions, waits, fork, and the
//! building of calls for any API.
//!
//! | module | what |
//! |---|---|
//! | [`uapi`] | the ioctls of `/dev/gil`, as `synthetic-driver/uapi/gil.h` has them |
//! | [`counter`] | the guest's counter, read when a program enters a library |
//! | [`note`] | which entry points were called |
//! | [`device`] | the device behind a trait, so that tests can replace the driver |
//! | [`client`](mod@client) | calls, posts, observations and polls of one process |
//! | [`imports`] | dma-bufs of other drivers, as memory of calls |
//! | `exchange` | messages to the host with an answer ([`Client::exchange`]) |
//! | [`process`] | the process's own client: opened once, fork, exit |
//! | [`later`] | deferred jobs, on a thread of the library's own |
//! | [`notices`] | unsolicited notices from the board |
//! | [`registry`] | live objects by address: validity, type, references |
//! | [`api`] | the traits that an API's library implements; what generated code calls |
//! | [`api::objects`] | an API's handles: the program's references, the board's numbers |
//! | [`api::request`] | one call being built: memory, events, queue |
//! | [`api::data`] | arrays, lists and strings in; values out |
//! | [`api::info`] | size-and-data queries |
//! | [`api::callbacks`] | the program's callbacks |
//! | [`api::accepted`] | launches equal to one that the board accepted |
//! | `sites` | from where in the program a call was made |
//! | [`pages`] | the guest's memory at addresses that the board chose |
//! | [`error`] | errors between a library and the board |
//!
//! A library notes [`entry`] first, then hands an envelope and its arguments to
//! the process's [`Client`]:
//!
//! ```no_run
//! use gil_guest::entry;
//! use gil_wire::control;
//! use gil_wire::envelope::{Class, Envelope};
//!
//! let at = entry();
//! let started = Envelope::new(control::STARTED, Class::Sync, at);
//! gil_guest::client()?.forward(&started, &control::Started { process: 1 }, |_| ())?;
//! # Ok::<(), gil_guest::Error>(())
//! ```

pub mod api;
mod batch;
mod called;
pub mod client;
pub mod counter;
pub mod device;
#[cfg(any(test, feature = "double"))]
pub mod double;
mod encode;
pub mod error;
mod exchange;
pub mod imports;
mod late;
pub mod later;
pub mod notices;
pub mod pages;
pub mod process;
pub mod registry;
mod scratch;
mod sites;
mod stdout;
pub mod uapi;
mod width;

pub use api::{Api, CallResult, Hold, Object, Reply, Request, Room};
pub use api::{accepted, callbacks, data, info, new_event, new_number};
pub use called::{called_since, note};
pub use client::{Answered, Client};
pub use counter::entry;
pub use encode::{Arguments, ByHand};
pub use error::Error;
pub use imports::Import;
pub use process::client;
pub use uapi::{Region, region};
