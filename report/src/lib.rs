//! The report of a run. The host interface writes a [`Report`]; `gil run --json`
//! adds how the run ended and writes a [`Document`]. This crate reads both,
//! without a simulator or a board.

#![forbid(unsafe_code)]

mod document;
mod exit;
mod frames;
mod instrumented;
mod jobs;
mod live;
#[cfg(feature = "table")]
mod plot;
mod run;
#[cfg(feature = "table")]
pub mod share;
#[cfg(feature = "table")]
mod table;

pub use document::{Document, ReportError, SeenRun};
pub use exit::{Exit, Origin};
pub use frames::{FrameCall, FrameTime, Frames};
pub use instrumented::{Instrumented, Starts};
pub use jobs::{Job, Jobs, Processor, Rate};
pub use live::{Busy, Live, Queue};
#[cfg(feature = "table")]
pub use plot::PlotError;
pub use run::{
    Board, Entry, Failure, Guest, Mirrored, PROCESSES_MAX, Process, Program, Report, Served,
    Simulated, Totals, VERSION, Wall,
};
#[cfg(feature = "table")]
pub use table::{bytes, percent, slowest, time};
