//! What a process inherits from the agent's parent.

use super::ConfineError;
use caps::CapSet;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::unistd::{close, dup2_stderr};
use std::fs::{File, OpenOptions, read_dir};
use std::io::{self, IsTerminal};
use std::os::fd::{BorrowedFd, RawFd};

/// Closes files that were open before the agent: it closes its own when it
/// starts a process. Of a terminal, the way to write is left.
pub fn drop_inherited_files() -> io::Result<()> {
    for fd in open_files()?.into_iter().filter(|fd| *fd > 2) {
        // SAFETY: it is open, or the flags cannot be had.
        let file = unsafe { BorrowedFd::borrow_raw(fd) };
        let flags = fcntl(file, FcntlArg::F_GETFD).map(FdFlag::from_bits_truncate);
        if flags.is_ok_and(|flags| !flags.contains(FdFlag::FD_CLOEXEC)) {
            close(fd)?;
        }
    }
    if io::stderr().is_terminal() {
        let terminal: File = OpenOptions::new().write(true).open("/proc/self/fd/2")?;
        dup2_stderr(terminal)?;
    }
    Ok(())
}

fn open_files() -> io::Result<Vec<RawFd>> {
    let entries = read_dir("/proc/self/fd")?.flatten();
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    Ok(entries.filter_map(number).collect())
}

/// Gives all capabilities up: root is then a user like others.
pub fn drop_capabilities() -> Result<(), ConfineError> {
    let failed = |error: caps::errors::CapsError| ConfineError::Capabilities(error.to_string());
    // Needs a capability itself. Without it new programs cannot get what is
    // there, since they get nothing (no_new_privs).
    let _ = caps::clear(None, CapSet::Bounding);
    let _ = caps::clear(None, CapSet::Ambient);
    for set in [CapSet::Inheritable, CapSet::Effective, CapSet::Permitted] {
        caps::clear(None, set).map_err(failed)?;
    }
    Ok(())
}
