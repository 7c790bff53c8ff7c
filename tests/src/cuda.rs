//! A board whose CUDA driver runs no kernels: `tests/null-cuda`.

use crate::scripted::Scripted;
use crate::{binary, target};
use std::path::PathBuf;
use std::process::Command;

/// The driver on this machine.
pub fn driver() -> PathBuf {
    target().join("release/libnull_cuda.so")
}

/// An agent, not yet started.
pub fn agent() -> Command {
    let mut agent = Command::new(binary("gil-board"));
    agent.env("GIL_CUDA_DRIVER", driver());
    agent
}

/// An agent that serves it.
pub fn board(options: &[&str]) -> Scripted {
    Scripted::other(agent(), options)
}
