//! A board whose NVML has two devices that are not there: `tests/null-nvml`.

use crate::scripted::Scripted;
use crate::{binary, target};
use std::path::PathBuf;
use std::process::Command;

/// The library on this machine.
pub fn driver() -> PathBuf {
    target().join("release/libnull_nvml.so")
}

/// An agent, not yet started.
pub fn agent() -> Command {
    let mut agent = Command::new(binary("gil-board"));
    agent.env("GIL_NVML_DRIVER", driver());
    agent
}

/// An agent that serves it.
pub fn board(options: &[&str]) -> Scripted {
    Scripted::other(agent(), options)
}
