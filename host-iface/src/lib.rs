//! gil's host interface, which a simulator's adapter uses to forward a guest's GPU
//! work to a board.
//!
//! An adapter creates a [`Host`] from a [`Config`], gives it access to guest RAM
//! ([`memory`]), and calls [`Host::doorbell`] on the vCPU's own thread whenever the
//! guest's driver rings ([`gil_detect`]). Simulated time stands still until the call
//! returns. C and C++ adapters use `include/gil_host.h` ([`ffi`]).
//!
//! | module | what |
//! |---|---|
//! | [`host`], [`session`] | doorbells, and their effect on time and guest RAM |
//! | [`boards`] | which board serves which API |
//! | [`mailbox`] | the driver's structures in guest RAM, checked |
//! | [`memory`] | guest RAM: a mapped file, or the simulator's functions |
//! | [`held`], [`executed`] | output that waits for its end; sequence numbers |
//! | [`checkpoint`] | the sessions in a simulator's checkpoint |
//! | [`recorder`], [`stats`], [`prediction`] | the recording and the counters of a run |
//! | [`call_log`] | a row for every call of a run |
//! | `replaced` | when an earlier recording or log of that name goes |
//! | [`frames`], [`jobs`] | the frames of programs that draw; jobs on GPUs' processors |
//! | [`busy`] | how long engines are busy, while a run is looked at |
//! | [`gpu`] | a GPU that the guest's own kernel drives by its registers |
//! | [`target`], [`rates`] | what the target adds to the board's times; its GPU's clock |
//! | [`known`] | entry points that this build knows |
//! | [`events`], [`control`] | the program's output, warnings, progress |
//! | [`channels`] | what else a run serves its guest: messages with an answer |
//! | `stand_in` | a driver without a guest, for tests and benchmarks |

pub mod boards;
pub mod busy;
pub mod call_log;
pub mod channels;
pub mod checkpoint;
pub mod config;
pub mod control;
pub mod devices;
pub mod events;
pub mod executed;
pub mod ffi;
pub mod frames;
pub mod gpu;
pub mod held;
pub mod host;
pub mod jobs;
pub mod known;
pub mod mailbox;
pub mod memory;
pub mod pace;
pub mod prediction;
mod printed;
pub mod rates;
pub mod recorder;
mod replaced;
pub mod session;
pub mod stand_in;
pub mod stats;
pub mod submission;
pub mod target;
pub mod work_times;

pub use config::Config;
pub use host::Host;
