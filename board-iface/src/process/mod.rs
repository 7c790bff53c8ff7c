//! Processes of the agent's own: it starts itself again for each session, so
//! that a driver that crashes takes only its session, and to ask drivers what
//! they have.
//!
//! The agent shakes hands, and sends what is to be done, the socket and the
//! connection's own keys over a [`Channel`], which is the process's standard
//! input. The key that peers have to have stays in the agent. A process lives no
//! longer than the thread that started it.

mod bound;
mod channel;
mod launcher;
mod ready;
mod worker;

pub use bound::{bound_memory, has_memory};
pub use channel::Channel;
pub use launcher::{End, Launcher, Next, Program, Worker};
pub use worker::run;

use crate::back_end::DriverOptions;
use crate::confine::Confinement;
use crate::session::SessionOptions;
use gil_transport::greeting::Shaken;
use gil_wire::identity::DeviceInfo;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How the processes of an agent behave: the first message to each.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// Options for the use of drivers.
    pub driver: DriverOptions,
    /// The session's options.
    pub session: SessionOptions,
    /// The drivers' devices.
    pub devices: Vec<DeviceInfo>,
    /// How it is confined before it hears of a task; not, if it serves nobody
    /// or is not to be.
    pub confinement: Option<Confinement>,
}

/// A driver's devices.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Found {
    /// Its devices.
    pub devices: Vec<DeviceInfo>,
    /// The files that it uses.
    pub files: Vec<PathBuf>,
}

/// What a process is for: the second message.
#[derive(Debug, Serialize, Deserialize)]
pub enum Task {
    /// To load this library, if one is named, and the drivers that the
    /// environment leads to, and say what they have. Another query can follow.
    Query {
        /// The name of the back end whose drivers they are.
        back_end: String,
        /// As it is registered.
        library: Option<String>,
    },
    /// To serve the connection whose socket comes along, with the file of its
    /// [`Meter`](crate::meter::Meter).
    Session {
        /// For logs.
        number: u64,
        /// The handshake's result.
        shaken: Shaken,
    },
}

/// A message from a process to the agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Word {
    /// The answer to a query; or a sentence.
    Found(Result<Found, String>),
    /// The session ends: the connection is of no further use, and what the
    /// session made is being released.
    Ending,
    /// The session is over and everything it made is released.
    Over,
}
