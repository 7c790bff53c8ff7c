//! From the host interface (in the simulator's process) to the process that
//! started the simulator: a stream of [`Event`]s over a Unix socket, each after
//! its length as a `u32`. When the peer closes the socket, the host interface
//! cancels its waits, so that quitting always works. A byte from the peer is the
//! question of how the run does, which [`Event::Live`] answers.

use crate::control::Stream;
use serde::{Deserialize, Serialize};

/// Largest event accepted: a report with every entry point of every API fits.
pub const MAX_EVENT: u32 = 4_194_304;

/// The peer's question of how the run does.
pub const ASK: u8 = b'?';

/// What happened in the simulator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// The host interface is loaded and configured.
    Ready {
        /// The simulator, such as `QEMU 10.0.2`.
        simulator: String,
    },
    /// The first doorbell: the guest's driver is loaded.
    Driver {
        /// Guest nanoseconds since boot.
        now_ns: u64,
    },
    /// The program is about to be executed.
    Started {
        /// Guest nanoseconds since boot.
        now_ns: u64,
    },
    /// The program's first call to the board.
    FirstCall {
        /// Guest nanoseconds since boot.
        now_ns: u64,
        /// The entry point's name.
        name: String,
    },
    /// The program wrote.
    Console {
        /// To which stream.
        stream: Stream,
        /// What was written.
        bytes: Vec<u8>,
    },
    /// The program ended.
    Exited {
        /// Guest nanoseconds since boot.
        now_ns: u64,
        /// Its exit code, if it exited.
        code: Option<i32>,
        /// The signal that ended it, if one did.
        signal: Option<i32>,
    },
    /// The program could not be run.
    Failed {
        /// 125, 126 or 127.
        code: u8,
        /// One sentence.
        reason: String,
    },
    /// Something the user should read; the simulation goes on.
    Warning {
        /// One sentence.
        text: String,
    },
    /// The bridge cannot go on; the run should stop.
    Fatal {
        /// One sentence that says what to do.
        text: String,
    },
    /// The simulator ends. Last event.
    Report {
        /// `gil_report::Report` as JSON.
        json: String,
    },
    /// A watched function was called, or what became of a watch.
    Watch {
        /// One line.
        text: String,
    },
    /// How the run does: the answer to one question or more.
    Live {
        /// `gil_report::Live` as JSON.
        json: String,
    },
}
