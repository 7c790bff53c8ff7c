//! What is in recordings of runs (`gil run --record`), for people and for machines.
//!
//! | module | what |
//! |---|---|
//! | [`trace`] | reads a recording record by record; what makes it unreadable |
//! | [`summary`] | `gil trace ls`: sessions and devices |
//! | [`stats`] | `gil trace stats`: what each entry point took |
//! | [`show`] | `gil trace show`: a line for each record |
//! | [`diff`] | `gil trace diff`: whether two recordings are of the same run |
//! | [`merge`] | `gil trace merge`: several recordings as one |
//!
//! A recording may be larger than memory: nothing here holds more of it than a record's
//! head, and counts that are bounded.

#![forbid(unsafe_code)]

mod cursor;
pub mod diff;
mod events;
mod hex;
mod lock;
pub mod merge;
mod same;
pub mod show;
pub mod stats;
pub mod summary;
mod text;
pub mod trace;

pub use trace::{Trace, TraceError};
