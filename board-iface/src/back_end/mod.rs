//! The base of every back end on a board.
//!
//! | module | what |
//! |---|---|
//! | here | how drivers are found, queried and loaded |
//! | [`table`], [`objects`] | the guest's numbers for real objects, and the session's data about each |
//! | [`dispatch`] | executing a call; the traits that generated code needs of a session |
//! | [`threads`] | a thread for each guest thread, for APIs that need it |
//! | [`call`], [`arguments`] | a call's memory and time, its arguments and answer |
//! | [`refusal`] | why a call is not executed |
//! | [`info`](mod@info) | size-and-data queries |
//! | [`operations`] | operations in flight, and those that wait for the guest |
//! | [`queues`] | for APIs with queues and events: operations' starts and ends |
//! | [`hold`] | memory that a driver uses in place |
//! | [`posted`] | what calls without an answer took |
//! | [`printing`], [`notices`] | kernels' `printf`, and drivers' notices |
//! | [`procedures`] | functions of drivers, by name |
//! | [`staging`] | reading and writing whole objects, for checkpoints |

pub mod arguments;
pub mod call;
pub mod cpu_time;
pub mod dispatch;
pub mod hold;
pub mod info;
pub mod notices;
pub mod objects;
pub mod operations;
pub mod posted;
pub mod printing;
pub mod procedures;
pub mod queues;
pub mod refusal;
pub mod staging;
pub mod table;
pub mod threads;
pub mod work;

pub use arguments::{
    Unwritten, bytes, decode, encode, filled, list_ptr, offset, room, size, words, written,
};
pub use call::{Call, Output};
pub use dispatch::{Current, DispatchFn, Enqueued, Enqueues};
pub use info::{InfoReply, info};
pub use objects::{Objects, Reference, References};
pub use operations::Order;
pub use procedures::{function, symbol};
pub use queues::{Events, Queues};
pub use refusal::Refusal;
pub use table::{Kind, Pointer, Table};
pub use threads::GuestThreads;

use crate::board::{Board, BoardError};
use gil_wire::Op;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fmt::Debug;
use std::io;
use std::path::PathBuf;
use tempfile::TempDir;

/// One API, or several that share objects, on this machine's drivers.
pub trait BackEnd: Debug + Sync {
    /// Its name: in messages between the agent's processes, and in logs.
    fn name(&self) -> &'static str;

    /// The APIs whose calls it takes, by number.
    fn apis(&self) -> &'static [u16];

    /// The drivers that are registered here: each is asked what it has in a
    /// process of its own.
    fn registered(&self) -> Vec<Registered>;

    /// Where drivers are registered, if that is a place: sessions may read it.
    fn place(&self) -> Option<PathBuf>;

    /// What its drivers need of the processes that use them.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// How a process finds these drivers and no other.
    ///
    /// # Errors
    /// The system's, where a folder cannot be made.
    fn only(&self, drivers: &[&Registered]) -> io::Result<Selection>;

    /// Loads what the environment leads to.
    ///
    /// # Errors
    /// [`BoardError`] says what to install.
    fn load(&self, options: DriverOptions) -> Result<Box<dyn Board>, BoardError>;

    /// Whether a machine without any of its devices lacks nothing: no package makes one.
    fn is_of_some_machines(&self) -> bool {
        false
    }

    /// Whether each program loads its drivers: libraries, and no part of the system.
    fn is_of_programs(&self) -> bool {
        true
    }
}

/// A driver as it is registered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registered {
    /// For people, before the reason why it is left out.
    pub label: String,
    /// Its library, which is loaded before the API's own.
    pub library: Option<String>,
    /// The file that registers it; `None` stands for whatever the API finds by
    /// itself.
    pub file: Option<PathBuf>,
}

/// What the drivers of an API need of a session's process, which is confined,
/// beside what every program needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs {
    /// The variables that they, their libraries and loaders read: how the names
    /// begin.
    pub variables: &'static [&'static str],
    /// The variables that name a folder where they keep compiled kernels.
    pub caches: &'static [&'static str],
    /// Files and folders that they read.
    pub read: &'static [&'static str],
    /// Folders that they read where they are installed: below the folder above
    /// that of their libraries.
    pub installed: &'static [&'static str],
    /// Programs that some of them start.
    pub starts: &'static [Starts],
}

/// Programs that a driver starts.
#[derive(Clone, Copy, Debug)]
pub struct Starts {
    /// How the name of the driver's library begins.
    pub library: &'static str,
    /// What it starts, by the names under which the search path has them.
    pub programs: &'static [&'static str],
}

/// Some of the registered drivers.
#[derive(Debug, Default)]
pub struct Selection {
    /// Variables that lead to them.
    pub env: Vec<(OsString, OsString)>,
    /// The folder that the variables name.
    pub folder: Option<TempDir>,
}

/// Options for the use of drivers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct DriverOptions {
    /// Whether the driver is asked which of a kernel's arguments are objects;
    /// if not, only the program's text is.
    pub asks_arg_info: bool,
    /// For tests: programs are built with an option that no driver knows.
    pub unknown_arg_info: bool,
    /// For tests: enqueues of this kind whose answer nobody waits for end with
    /// this error.
    pub refuses_posted: Option<(Op, i32)>,
    /// The devices that are busy when a kernel comes.
    pub warm_ups: WarmUps,
}

/// In front of kernels of which devices a moment's work is enqueued, so that a device that
/// nobody uses does not take longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
pub enum WarmUps {
    /// Of GPUs.
    #[default]
    Gpus,
    /// Of all devices.
    All,
    /// Of none.
    None,
}

impl Default for DriverOptions {
    fn default() -> Self {
        Self {
            asks_arg_info: true,
            unknown_arg_info: false,
            refuses_posted: None,
            warm_ups: WarmUps::default(),
        }
    }
}
