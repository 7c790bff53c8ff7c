//! The host interface's report.
//!
//! Times called `_ns` are nanoseconds: under [`Simulated`] of the guest's
//! monotonic clock, under [`Wall`] of this machine's.

use crate::{Frames, Instrumented, Jobs, Starts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the layout; raised when a field changes its meaning or goes.
pub const VERSION: u32 = 1;

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`VERSION`].
    pub version: u32,
    /// This release of gil.
    pub gil: String,
    /// The simulator, such as `QEMU`.
    pub simulator: String,
    /// The program's end.
    pub program: Program,
    /// Simulated time.
    pub simulated: Simulated,
    /// Wall time.
    pub wall: Wall,
    /// Sums.
    pub totals: Totals,
    /// One for each entry point called, by number.
    pub entries: Vec<Entry>,
    /// Names of all entry points that programs called, those included that
    /// were answered in the guest: of programs that had `GIL_LIST_CALLS` in
    /// their environment and exited.
    #[serde(default)]
    pub called: Vec<String>,
    /// Frames, one for each thread that ended two or more.
    #[serde(default)]
    pub frames: Vec<Frames>,
    /// When the board waited for its device: `program`, `frame` or `call`.
    #[serde(default)]
    pub finish: String,
    /// The board; of several, the one for APIs that no other serves.
    pub board: Board,
    /// Each board, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boards: Vec<Served>,
    /// What each of the guest's processes did that used a board, in the order of
    /// their first calls; of more than [`PROCESSES_MAX`], these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<Process>,
    /// Jobs on GPUs' processors, if kernel drivers started any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<Jobs>,
    /// Calls of kernel drivers, and their buffers' memory, if there were any.
    #[serde(default, skip_serializing_if = "Mirrored::is_empty")]
    pub mirrored: Mirrored,
    /// Instructions at which the simulator sees what a GPU's driver stores, if there are
    /// any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instrumented: Option<Instrumented>,
    /// How jobs started that a GPU's driver starts by its registers, if its functions are
    /// seen as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<Starts>,
    /// With instruction counting only.
    pub guest: Option<Guest>,
}

/// Calls of GPUs' kernel drivers, and what was done for their buffers' memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mirrored {
    /// Ioctls of programs, as many as the guest's driver told when they closed the device.
    pub ioctls: u64,
    /// How often the guest waited for the board meanwhile.
    pub round_trips: u64,
    /// Bytes of buffers that were compared with what the board has.
    pub compared_bytes: u64,
    /// Bytes of buffers that went to the board.
    pub bytes_to_board: u64,
    /// Bytes of buffers that came from it.
    pub bytes_from_board: u64,
    /// Wall time of the host interface for reading, comparing and writing buffers.
    pub compare_ns: u64,
    /// Wall time of the board for the same.
    pub board_compare_ns: u64,
}

impl Mirrored {
    /// Whether no kernel driver was called.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Most processes that a report lists.
pub const PROCESSES_MAX: usize = 256;

/// A process of the guest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number in the guest.
    pub process: u32,
    /// Its calls to the boards' APIs, posts included, by the APIs' titles.
    pub calls: BTreeMap<String, u64>,
    /// Device time of the operations that it enqueued.
    pub gpu_ns: u64,
    /// CPU time on the boards.
    pub board_cpu_ns: u64,
}

/// The program's end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Whether it was executed.
    pub started: bool,
    /// Whether it ended; if not, the simulator did before it.
    pub ended: bool,
    /// Its exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// Why it could not be run.
    pub failure: Option<Failure>,
}

/// Why a program could not be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// 125, 126 or 127, as `env` has it.
    pub code: u8,
    /// One sentence.
    pub reason: String,
}

/// Simulated time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Simulated {
    /// From power-on to the program's start.
    pub boot_ns: u64,
    /// From power-on to the program's first call to the board.
    pub boot_to_first_call_ns: Option<u64>,
    /// From the program's start to its end.
    pub program_ns: u64,
    /// Device time: the sum of all operations' durations.
    pub gpu_ns: u64,
    /// CPU time of the API's functions on the board.
    pub board_cpu_ns: u64,
    /// What passed in simulated time for these functions: the same time by the target's
    /// CPU ratio.
    #[serde(default)]
    pub target_cpu_ns: u64,
    /// Delays that calls were given, from their doorbells on.
    pub wait_ns: u64,
    /// By how much doorbells rang after their calls should have ended: the
    /// bridge's own guest instructions, where they outlasted the call.
    pub excess_ns: u64,
}

impl Simulated {
    /// Whether the target's CPU took another time for the API's functions than the board's.
    /// A report of a release that did not say so has 0 there.
    pub fn has_other_cpu(&self) -> bool {
        self.target_cpu_ns != 0 && self.target_cpu_ns != self.board_cpu_ns
    }
}

/// Wall time, from the program's start to its end unless it says otherwise.
/// Simulator, bridge, board and transport have a stopwatch each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wall {
    /// All of it.
    pub total_ns: u64,
    /// From the host interface's load to the report.
    pub since_load_ns: u64,
    /// From the host interface's load to the program's start.
    pub boot_ns: u64,
    /// From the host interface's load to the first call to the board.
    pub boot_to_first_call_ns: Option<u64>,
    /// Between doorbells.
    pub simulator_ns: u64,
    /// The host interface's own work: checking, sending, receiving,
    /// delivering.
    pub bridge_ns: u64,
    /// The board agent's own, from request to reply on its clock.
    pub board_ns: u64,
    /// The wait for the board's answers while it was not busy with them: the
    /// connection, and until a process runs that was woken.
    #[serde(default)]
    pub transport_ns: u64,
    /// What is left. Less than nothing where the board worked for a call while
    /// nobody waited for it.
    pub unaccounted_ns: i64,
}

/// Sums.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Calls to the board's APIs, posts included.
    pub calls: u64,
    /// Of these, posts.
    pub posts: u64,
    /// Doorbells, of all kinds.
    pub doorbells: u64,
    /// Region bytes to the board.
    pub bytes_to_board: u64,
    /// Region bytes from the board.
    pub bytes_from_board: u64,
    /// Outputs delivered more than 0.1 ms after their simulated end.
    pub late_deliveries: u64,
    /// The latest of all deliveries, after its simulated end.
    pub latest_delivery_ns: u64,
    /// Callbacks that came more than 0.1 ms after their moment although
    /// the guest's library was free to call: of processes that exited.
    #[serde(default)]
    pub late_callbacks: u64,
}

/// One entry point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name, or its number if this release does not know it.
    pub name: String,
    /// The API's number.
    pub api: u16,
    /// The entry point's number, as in `api/*.toml`.
    pub op: u32,
    /// Calls.
    pub count: u64,
    /// Device time of the operations it enqueued.
    pub gpu_ns: u64,
    /// CPU time on the board.
    pub board_cpu_ns: u64,
    /// Wall time of its doorbells.
    pub wall_ns: u64,
    /// Region bytes to the board.
    pub bytes_to_board: u64,
    /// Region bytes from the board.
    pub bytes_from_board: u64,
}

/// The board.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Board {
    /// Its address.
    pub address: Option<String>,
    /// Why a session lost it, if one did.
    pub lost: Option<String>,
}

/// One of several boards, and what it took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// The APIs that it serves.
    pub apis: String,
    /// Its address.
    pub address: Option<String>,
    /// Why a session lost it, if one did.
    pub lost: Option<String>,
    /// Calls to these APIs, posts included.
    pub calls: u64,
    /// Device time of the operations that they enqueued.
    pub gpu_ns: u64,
    /// CPU time on the board.
    pub board_cpu_ns: u64,
    /// Wall time that the agent worked for calls, from the first on.
    pub board_ns: u64,
    /// Region bytes to the board.
    pub bytes_to_board: u64,
    /// Region bytes from the board.
    pub bytes_from_board: u64,
}

/// What instruction counting found, between the program's start and end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guest {
    /// Instructions that all vCPUs executed.
    pub instructions: u64,
    /// Of these, outside of waits for the board.
    pub instructions_outside_waits: u64,
    /// Sum of the waits, each from its doorbell to its deadline.
    pub waits_ns: u64,
    /// What simulated time must be at 1 ns an instruction: both together.
    pub predicted_ns: u64,
}
