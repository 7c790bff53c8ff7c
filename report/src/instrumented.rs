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
