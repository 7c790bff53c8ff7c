//! Errors of benchmarks.

use gil_address_tables::ThreadPoolBuildError;
use gil_board_client::agent::AgentError;
use gil_board_client::key::MakeError;
use gil_host::host::HostError;
use gil_host::memory::MemoryError;
use gil_run_support::cache::CacheError;
use gil_transport::secure::SecureError;
use gil_wire::Op;
use gil_wire::address::{Address, AddressError};
use std::io;
use std::path::PathBuf;

/// Errors of a measurement.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// No board.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The named board is reached in another way.
    #[error("the board at {0} is not reached in the way that this measures: leave out --board")]
    OtherWay(Address),
    /// Every local user would be served meanwhile.
    #[error(
        "TCP without a key is not measured unasked: every user of this machine could use the agent meanwhile, and what it may do; add --allow-any-local-user if that is no harm, or name an agent of your own with --board"
    )]
    AnyLocalUser,
    /// No key for a board of this run's own.
    #[error(transparent)]
    Key(#[from] MakeError),
    /// The cipher.
    #[error(transparent)]
    Cipher(#[from] SecureError),
    /// An address that an agent printed and that does not read.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The board has no device of an API.
    #[error("the board has no {api} device: install one, such as Debian's {package}")]
    NoDevice {
        /// Its name for people.
        api: &'static str,
        /// A package that has one.
        package: &'static str,
    },
    /// A device on which nothing can be at work at once.
    #[error("{0} has one processor, so no jobs contend there: measure on another board")]
    OneProcessor(String),
    /// A call did not do.
    #[error("{op} was answered with {what}{warnings}")]
    Call {
        /// The call.
        op: Op,
        /// The answer, in words.
        what: String,
        /// What the host interface said, if it did.
        warnings: String,
    },
    /// The host interface.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The guest's memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A folder for files.
    #[error(transparent)]
    Folder(#[from] CacheError),
    /// The system gives no threads.
    #[error("the system gives no more threads: {0}")]
    Threads(#[from] ThreadPoolBuildError),
    /// The system.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file.
    #[error("{}: {what}", .path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The problem with it.
        what: String,
    },
    /// No fit.
    #[error("no scale and offset fit the programs: {what}")]
    Fit {
        /// Why.
        what: String,
    },
    /// No ratio.
    #[error("the two CPUs cannot be compared: {what}")]
    Cpu {
        /// Why.
        what: String,
    },
    /// No law.
    #[error("no law fits the times on parts of the device: {what}")]
    Cores {
        /// Why.
        what: String,
    },
    /// The guest has another device.
    #[error(
        "the native programs run on {native}, and those in the guest on {board}: let both find one driver alone, such as with OCL_ICD_FILENAMES, or for OpenGL ES with __EGL_VENDOR_LIBRARY_FILENAMES"
    )]
    Devices {
        /// The native programs' first one.
        native: String,
        /// The guest's.
        board: String,
    },
    /// A program that computes something else in the guest.
    #[error(
        "the program {name} of the calibration has other results in the guest than natively: both must use the same device; let them find one driver alone, and leave variables of the driver's as they are in both"
    )]
    OtherResults {
        /// The program.
        name: String,
    },
    /// The guest's program used another GPU stack than the one to be measured.
    #[error(
        "the program made {calls} calls to the board: the guest's packages have changed, \
         so tell gil's developers"
    )]
    OtherStack {
        /// To the board.
        calls: u64,
    },
    /// A program that is measured.
    #[error("{command} failed: {said}")]
    Program {
        /// As it was started.
        command: String,
        /// The end of what it said.
        said: String,
    },
    /// A plot.
    #[error("{} cannot be drawn: {why}", .path.display())]
    Plot {
        /// The plot's file.
        path: PathBuf,
        /// The plotter's error.
        why: String,
    },
}
