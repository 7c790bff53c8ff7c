//! Calls of API 0, from the guest's init to the host interface. They never reach
//! a board and take no simulated time. One of them, [`EXCHANGE`], has an answer.

use crate::Op;
use serde::{Deserialize, Serialize};

/// `args`: [`Console`]. Output of the program.
pub const CONSOLE: Op = Op::new(0, 1);
/// `args`: [`Started`]. The program is about to be executed.
pub const STARTED: Op = Op::new(0, 2);
/// `args`: [`Exited`]. The program ended.
pub const EXITED: Op = Op::new(0, 3);
/// `args`: [`Failed`]. The program could not be run.
pub const FAILED: Op = Op::new(0, 4);
/// `args`: [`Called`]. A process lists what it called, as it exits.
pub const CALLED: Op = Op::new(0, 5);
/// `args`: [`Late`]. Callbacks of a process came late; sent as it exits.
pub const LATE: Op = Op::new(0, 6);
/// `args`: [`Exchange`]; the answer's result: [`Exchanged`]. Passes the bytes of
/// the in region to whoever serves a channel on the host, and the answer to the
/// out region.
pub const EXCHANGE: Op = Op::new(0, 7);
/// `args`: [`Modules`]. Files that a process has mapped to execute; sent once for each, if
/// the run asks for call sites.
pub const MODULES: Op = Op::new(0, 8);

/// Most bytes of a message on a channel, either way: 1 MiB, and what goes with it.
pub const MESSAGE_MAX: usize = (1 << 20) + (64 << 10);

/// How long after its simulated end output, or a callback after its moment,
/// counts as late.
pub const LATE_NS: u64 = 100_000;

/// The name of a control operation.
pub fn name(op: Op) -> Option<&'static str> {
    Some(match op {
        CONSOLE => "gil_console",
        STARTED => "gil_started",
        EXITED => "gil_exited",
        FAILED => "gil_failed",
        CALLED => "gil_called",
        LATE => "gil_late",
        EXCHANGE => "gil_exchange",
        MODULES => "gil_modules",
        _ => return None,
    })
}

/// Which of the program's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Output of the program, as it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Console<'a> {
    /// The output stream.
    pub stream: Stream,
    /// The bytes.
    #[serde(borrow)]
    pub bytes: &'a [u8],
}

/// The program is about to be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Its process id.
    pub process: u32,
}

/// The program ended, and all it wrote was passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exited {
    /// Its exit code, if it exited.
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
}

/// What a run may serve its guest beside the board. On the host, each is a Unix
/// socket, on which messages and their answers travel behind their lengths, as
/// a `u32` each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Channel {
    /// Folders of the host. A message is a folder's number, in one byte, and a
    /// request of FUSE; the answer is FUSE's reply, or empty if there is none.
    Files,
    /// The program's standard input.
    Input,
}

/// A message to whoever serves a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// The channel.
    pub channel: Channel,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exchanged {
    /// The answer's first so many bytes of the out region.
    Answered {
        /// Bytes.
        len: u32,
    },
    /// This run has no such channel.
    NotServed,
    /// Another process of the guest uses it.
    Taken,
    /// Whoever served it is gone, or its answer does not fit; so it is for
    /// every later message.
    Gone,
}

/// The program could not be run: as `env` has it, 126 (found, not executable)
/// or 127 (not found); 125 for anything else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// Exit code for `gil run`.
    pub code: u8,
    /// One sentence.
    pub reason: String,
}

/// Entry points that a process called at least once, those included that its
/// library answered by itself. Sent as it exits, if `GIL_LIST_CALLS` is set in
/// its environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Called {
    /// The operation numbers of these calls.
    pub entries: Vec<Op>,
}

/// Callbacks that came more than [`LATE_NS`] after their moment, although the
/// library's thread was free. A process that does not exit, but is killed, does
/// not say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Late {
    /// The number of late callbacks.
    pub callbacks: u64,
}

/// Asks for call sites, in the environment of the guest's programs.
pub const CALL_SITES: &str = "GIL_CALL_SITES";

/// Files that a process has mapped to execute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modules {
    /// Each of them.
    pub modules: Vec<Module>,
}

/// A part of a file that a process has mapped to execute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// Where it begins in the process's memory.
    pub from: u64,
    /// Where it ends.
    pub to: u64,
    /// The first byte's offset in the file.
    pub offset: u64,
    /// The file; its first bytes are left out of a long name.
    pub path: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_operation_has_its_name() {
        let named = |entry| name(Op::new(0, entry));
        let wanted = [
            "gil_console",
            "gil_started",
            "gil_exited",
            "gil_failed",
            "gil_called",
            "gil_late",
            "gil_exchange",
            "gil_modules",
        ];
        assert_eq!([1, 2, 3, 4, 5, 6, 7, 8].map(named), wanted.map(Some));
        assert_eq!([0, 9].map(named), [None, None]);
    }
}
