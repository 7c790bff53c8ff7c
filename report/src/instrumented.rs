//! What a simulator does for a GPU whose registers are the guest's RAM.

use serde::{Deserialize, Serialize};

/// The guest's instructions at which the simulator stops to see what is stored: of the code
/// of the GPU's driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instrumented {
    /// These instructions, each once.
    pub instructions: u64,
    /// How often one was executed.
    pub executed: u64,
    /// Of these, when it was no code of the driver's.
    pub outside: u64,
}

/// Calls of the driver's functions that start jobs, and the jobs that its stores to
/// registers started. A call may start several, and the calls of jobs that the driver has
/// given up start none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starts {
    /// Calls of these functions.
    pub calls: u64,
    /// Of these, how many started no job.
    pub calls_without: u64,
    /// Jobs that registers started.
    pub jobs: u64,
    /// Of these, how many belong to no such call.
    pub jobs_without: u64,
}
