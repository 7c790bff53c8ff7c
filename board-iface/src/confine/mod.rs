//! Confinement of sessions' processes. With a CPU as the device a guest's kernels are
//! code in that process, and every driver reads what a guest wrote. So a process is
//! restricted to what drivers need before it reads its first request.
//!
//! | module | what |
//! |---|---|
//! | [`learn`] | what the drivers of this machine read, open and start |
//! | [`files`] | Landlock: no other files, no network, no signals to others |
//! | `calls` | seccomp: no other system calls |
//! | [`privileges`] | capabilities, and files inherited from the agent's parent |
//! | [`folder`] | a session's own folder and environment |
//!
//! A denied call returns an error and the process continues; calls of another
//! architecture end it. docs/SECURITY.md has the table of allowed calls, which
//! `tests/confinement.rs` compares with what it finds.

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod calls;
#[cfg(target_os = "linux")]
mod files;
pub mod folder;
pub mod learn;
#[cfg(target_os = "linux")]
mod privileges;
mod support;

pub use folder::{Folder, Folders};
pub use support::Support;

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What a session's process may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// What this machine's kernel can enforce.
    pub support: Support,
    /// Files and folders that may be read.
    pub read: Vec<PathBuf>,
    /// Programs that may be started: they are as confined.
    pub run: Vec<PathBuf>,
    /// Devices that may be used.
    pub devices: Vec<PathBuf>,
    /// Where sessions' own folders are.
    pub folders: PathBuf,
    /// A folder of compiled kernels that all sessions write.
    pub shared_cache: Option<PathBuf>,
}

/// Why a process is not confined.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// Landlock.
    #[cfg(target_os = "linux")]
    #[error("Landlock does not confine a session's files: {0}")]
    Files(#[from] landlock::RulesetError),
    /// Seccomp.
    #[error("seccomp does not confine a session's system calls: {0}")]
    Calls(String),
    /// Capabilities.
    #[error("a session's process keeps its capabilities: {0}")]
    Capabilities(String),
    /// Inherited files or privileges could not be dropped.
    #[error("a session's process keeps what it inherited: {0}")]
    System(#[from] std::io::Error),
}

impl Confinement {
    /// Confines this process, whose own folder this is. It has one thread yet:
    /// later ones are as confined, others would not be.
    ///
    /// # Errors
    /// [`ConfineError`]: it must serve nobody.
    #[cfg(target_os = "linux")]
    pub fn enter(&self, own: &Path) -> Result<(), ConfineError> {
        privileges::drop_inherited_files()?;
        if self.support.files {
            files::confine(self, own)?;
        }
        privileges::drop_capabilities()?;
        if self.support.calls {
            confine_calls(self.has_cuda())?;
        }
        Ok(())
    }

    /// Whether CUDA's driver may be among the session's: it does not start if it cannot name its
    /// threads, and have a local socket.
    #[cfg(target_os = "linux")]
    fn has_cuda(&self) -> bool {
        const NODES: &str = "/dev/nvidia";
        let is_nvidias = |node: &PathBuf| node.to_string_lossy().starts_with(NODES);
        self.devices.iter().any(is_nvidias)
    }

    /// As above: here the system has nothing for it.
    ///
    /// # Errors
    /// None.
    #[cfg(not(target_os = "linux"))]
    pub fn enter(&self, _own: &Path) -> Result<(), ConfineError> {
        Ok(())
    }
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
fn confine_calls(has_cuda: bool) -> Result<(), ConfineError> {
    calls::confine(has_cuda)
}

#[cfg(all(
    target_os = "linux",
    not(any(target_arch = "x86_64", target_arch = "aarch64"))
))]
fn confine_calls(_has_cuda: bool) -> Result<(), ConfineError> {
    Ok(())
}
