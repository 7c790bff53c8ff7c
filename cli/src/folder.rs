//! A run's own folder: temporary, private, with a path short enough for sockets.

use crate::cache::{At, Cache, CacheError};
use std::fs;
use std::path::{Path, PathBuf};

/// Names of the files in it. Fixed names in a folder of our own need no quoting
/// in a simulator's options.
pub mod file {
    /// The kernel.
    pub const KERNEL: &str = "kernel";
    /// The kernel as an ELF file with its symbols.
    pub const KERNEL_ELF: &str = "kernel.elf";
    /// The initramfs.
    pub const INITRD: &str = "initrd";
    /// The guest's files as a folder, where no kernel unpacks them.
    pub const SYSROOT: &str = "sysroot";
    /// What the guest's kernel wrote.
    pub const CONSOLE: &str = "console.log";
    /// QEMU's plugin.
    pub const PLUGIN: &str = "libgil_qemu.so";
    /// The driver, for its symbols.
    pub const MODULE: &str = "gil.ko";
    /// A program or library that is watched, with a number behind it.
    pub const WATCH: &str = "watched-";
    /// The recording.
    pub const TRACE: &str = "trace";
    /// Where `gil run` listens.
    pub const MONITOR: &str = "monitor";
    /// What QEMU itself wrote.
    pub const QEMU_LOG: &str = "qemu.log";
    /// What the board agent wrote.
    pub const BOARD_LOG: &str = "board.log";
    /// The program's standard output, where the simulator writes it.
    pub const STDOUT: &str = "stdout";
    /// The program's standard error, where the simulator writes it.
    pub const STDERR: &str = "stderr";
    /// Lines about watched functions, where the simulator writes them.
    pub const WATCH_LINES: &str = "watch";
}

/// Makes one.
///
/// # Errors
/// [`CacheError`] if it cannot be made.
pub fn create() -> Result<tempfile::TempDir, CacheError> {
    let temp = std::env::temp_dir();
    let is_short = temp.as_os_str().len() < 60 && !temp.to_string_lossy().contains(',');
    let base = if is_short { temp } else { "/tmp".into() };
    tempfile::Builder::new()
        .prefix("gil-")
        .tempdir_in(&base)
        .at(&base)
}

/// Copies all its files to `target`.
///
/// # Errors
/// [`CacheError`] names the file.
pub fn keep_all(folder: &Path, target: &Path) -> Result<(), CacheError> {
    fs::create_dir_all(target).at(target)?;
    for entry in fs::read_dir(folder).at(folder)? {
        let path = entry.at(folder)?.path();
        let is_file = fs::metadata(&path).is_ok_and(|meta| meta.is_file());
        if is_file {
            let target = target.join(path.file_name().unwrap_or_default());
            fs::copy(&path, &target).at(&target)?;
        }
    }
    Ok(())
}

/// Copies the logs of a run that failed into the cache.
///
/// # Errors
/// [`CacheError`] names the file.
pub fn keep_logs(logs: &[PathBuf]) -> Result<(), CacheError> {
    let folder = Cache::open()?.root().join("last-failure");
    fs::create_dir_all(&folder).at(&folder)?;
    for source in logs.iter().filter(|log| log.is_file()) {
        let target = folder.join(source.file_name().unwrap_or_default());
        fs::copy(source, &target).at(&target)?;
    }
    Ok(())
}
