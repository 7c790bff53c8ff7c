//! Whether this machine's QEMU will do.

use super::device_tree::TreeError;
use crate::simulator::SimulatorError;
use gil_run_support::cache::{At, Cache};
use gil_run_support::tool::{self, ToolError};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

/// Oldest QEMU whose plugins can read registers and memory.
pub const OLDEST: Version = Version { major: 9, minor: 2 };
/// Its command.
pub const PROGRAM: &str = "qemu-system-aarch64";

/// The device that is a GPU of QEMU's own.
pub const GPU: &str = "virtio-gpu-gl-pci";
/// QEMU's display that has OpenGL without a screen.
pub const GPU_DISPLAY: &str = "sdl";

/// The device that is the guest's display.
pub const DISPLAY: &str = "virtio-gpu-pci";

/// A version of QEMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
}

impl Version {
    /// That which a text begins with.
    pub fn first_in(text: &str) -> Option<Self> {
        let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse);
        Some(Self {
            major: numbers.next()?.ok()?,
            minor: numbers.next()?.ok()?,
        })
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Why QEMU will not do.
#[derive(Debug, thiserror::Error)]
pub enum QemuError {
    /// It is not installed.
    #[error("QEMU ({PROGRAM}) is not installed: run `gil setup`")]
    Missing,
    /// It is too old.
    #[error("QEMU {found} is too old, {OLDEST} or later is needed: run `gil setup`")]
    TooOld {
        /// What is there.
        found: Version,
    },
    /// It has no TCG plugins.
    #[error(
        "this QEMU was built without TCG plugins: install Debian's qemu-system-arm, by `gil setup`"
    )]
    NoPlugins,
    /// It has no display.
    #[error(
        "this QEMU has no {DISPLAY}, the guest's display: install Debian's qemu-system-arm and qemu-system-common, by `gil setup`"
    )]
    NoDisplay,
    /// Its device tree is none.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// It has no GPU.
    #[error(
        "this QEMU has no {GPU} with OpenGL ({0}): install Debian's qemu-system-modules-opengl and qemu-system-gui, of the same version as qemu-system-arm"
    )]
    NoGpu(&'static str),
    /// Its version cannot be read.
    #[error("{PROGRAM} does not say its version (it says \"{0}\"): is it QEMU?")]
    NoVersion(String),
    /// It does not take the CPU.
    #[error(
        "QEMU refused --cpu {cpu}: choose one that `{PROGRAM} -M virt -cpu help` lists (it says: {said})"
    )]
    Cpu {
        /// As the user named it.
        cpu: String,
        /// QEMU's own words.
        said: String,
    },
    /// It cannot be asked.
    #[error(transparent)]
    Tool(ToolError),
}

/// The version of this machine's QEMU, if it will do.
///
/// # Errors
/// [`QemuError`] says what is wrong with it.
pub fn check() -> Result<Version, QemuError> {
    let text = ask("--version")?;
    let found = parse_version(&text)
        .ok_or_else(|| QemuError::NoVersion(text.lines().next().unwrap_or_default().into()))?;
    if found < OLDEST {
        return Err(QemuError::TooOld { found });
    }
    if !ask("-help")?
        .lines()
        .any(|line| line.starts_with("-plugin "))
    {
        return Err(QemuError::NoPlugins);
    }
    Ok(found)
}

/// Looks whether this machine's QEMU has a display for the guest.
///
/// # Errors
/// [`QemuError`] says what is wrong with it.
pub fn check_display() -> Result<&'static str, QemuError> {
    match has_device(DISPLAY)? {
        true => Ok(DISPLAY),
        false => Err(QemuError::NoDisplay),
    }
}

/// Looks whether it has a GPU for the guest, and what draws for that.
///
/// # Errors
/// [`QemuError`] says what is wrong with it.
pub fn check_gpu() -> Result<(), QemuError> {
    if !has_device(GPU)? {
        return Err(QemuError::NoGpu(GPU));
    }
    let text = ask_for(&["-display", "help"], "asking for its displays")?;
    match text.lines().any(|line| line.trim() == GPU_DISPLAY) {
        true => Ok(()),
        false => Err(QemuError::NoGpu("its display sdl is missing")),
    }
}

fn has_device(name: &str) -> Result<bool, QemuError> {
    let text = ask_for(&["-device", "help"], "asking for its devices")?;
    let name = format!("name \"{name}\",");
    Ok(text.lines().any(|line| line.starts_with(&name)))
}

/// The cache's file that names the QEMU that [`check`] found good.
const CHECKED: &str = "qemu-checked";

/// As [`check`], without asking a QEMU again that would do before.
///
/// # Errors
/// [`QemuError`] says what is wrong with it.
pub fn check_once() -> Result<(), QemuError> {
    let identity = identity()?;
    let note = Cache::open().map(|cache| cache.root().join(CHECKED));
    if let Ok(note) = &note
        && fs::read_to_string(note).is_ok_and(|known| known == identity)
    {
        return Ok(());
    }
    check()?;
    if let Ok(note) = &note {
        // Next time it is asked again.
        let _ = fs::write(note, identity);
    }
    Ok(())
}

/// Which QEMU this machine has: another one, or another version of it, is another
/// file.
///
/// # Errors
/// [`QemuError::Missing`].
pub fn identity() -> Result<String, QemuError> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut files = std::env::split_paths(&folders).map(|folder| folder.join(PROGRAM));
    let found = files.find_map(|file| {
        let file = fs::canonicalize(file).ok()?;
        let meta = fs::metadata(&file).ok().filter(fs::Metadata::is_file)?;
        let (path, len, changed) = (file.display(), meta.len(), meta.ctime());
        Some(format!("{path} {len} {changed} {}", meta.ino()))
    });
    found.ok_or(QemuError::Missing)
}

fn ask(option: &str) -> Result<String, QemuError> {
    ask_for(&[option], "asking for its version")
}

fn ask_for(options: &[&str], what: &'static str) -> Result<String, QemuError> {
    let answer = tool::run(Command::new(PROGRAM).args(options), what, Path::new("/"));
    match answer {
        Ok(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
        Err(ToolError::Missing { .. }) => Err(QemuError::Missing),
        Err(error) => Err(QemuError::Tool(error)),
    }
}

/// Has it make the machine with this CPU, and end. What it writes then is
/// renamed to the file's name, which must therefore be in a folder of its own.
///
/// `is_made` hears of that folder, which a signal must not leave.
///
/// # Errors
/// [`QemuError::Cpu`] if it refuses.
pub fn check_cpu(cpu: &str, is_made: impl Fn(&Path)) -> Result<(), SimulatorError> {
    let temp = std::env::temp_dir();
    let folder = tempfile::tempdir().at(&temp)?;
    is_made(folder.path());
    let mut command = Command::new(PROGRAM);
    command
        .current_dir(folder.path())
        .args(["-M", "virt,dumpdtb=machine.dtb", "-cpu", cpu])
        .args(["-display", "none", "-nodefaults", "-no-user-config"]);
    match tool::run(&mut command, "asking for its CPU", folder.path()) {
        Ok(_) => Ok(()),
        Err(ToolError::Failed { detail, .. }) => Err(QemuError::Cpu {
            cpu: cpu.into(),
            said: detail.replace(&format!("{PROGRAM}: "), ""),
        }
        .into()),
        Err(error) => Err(QemuError::Tool(error).into()),
    }
}

fn parse_version(text: &str) -> Option<Version> {
    Version::first_in(text.split("version ").nth(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As root, a probe that had QEMU write to a device replaced it.
    #[test]
    fn a_cpu_is_looked_at_and_devices_stay() {
        use std::os::unix::fs::FileTypeExt;
        if check().is_err() {
            return gil_need::skip("a CPU's check", "QEMU is not here");
        }
        check_cpu("max", |folder| assert!(folder.is_dir())).unwrap();
        assert!(check_cpu("nosuch", |_| ()).is_err());
        let null = std::fs::metadata("/dev/null").unwrap();
        assert!(null.file_type().is_char_device());
    }

    #[test]
    fn versions_are_read_and_compared() {
        let read = |text| parse_version(text).unwrap();
        let debian = read("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)");
        assert!(debian > OLDEST);
        assert!(read("QEMU emulator version 7.2.17") < OLDEST);
        assert!(read("QEMU emulator version 9.2.0") >= OLDEST);
        assert_eq!(parse_version("something else"), None);
    }
}
