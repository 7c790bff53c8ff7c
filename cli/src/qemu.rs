//! QEMU: whether it will do, and how it is called.

use crate::module::Detect;
use crate::tool::{self, ToolError};
use gil_host::detect::watch::Spec;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Oldest QEMU whose plugins can read registers and memory.
pub const OLDEST: Version = Version { major: 9, minor: 2 };
const PROGRAM: &str = "qemu-system-aarch64";

/// A version of QEMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
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
    #[error("QEMU ({PROGRAM}) is not installed: run ./scripts/setup")]
    Missing,
    /// It is too old.
    #[error("QEMU {found} is too old, {OLDEST} or later is needed: run ./scripts/setup")]
    TooOld {
        /// What is there.
        found: Version,
    },
    /// It has no TCG plugins.
    #[error(
        "this QEMU was built without TCG plugins: install Debian's qemu-system-arm by ./scripts/setup"
    )]
    NoPlugins,
    /// Its version cannot be read.
    #[error("{PROGRAM} does not say its version (it says \"{0}\"): is it QEMU?")]
    NoVersion(String),
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

fn ask(option: &str) -> Result<String, QemuError> {
    let answer = tool::run(
        Command::new(PROGRAM).arg(option),
        "asking for its version",
        Path::new("/"),
    );
    match answer {
        Ok(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
        Err(ToolError::Missing { .. }) => Err(QemuError::Missing),
        Err(error) => Err(QemuError::Tool(error)),
    }
}

fn parse_version(text: &str) -> Option<Version> {
    let after = text.split("version ").nth(1)?;
    let mut numbers = after.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some(Version {
        major: numbers.next()?.ok()?,
        minor: numbers.next()?.ok()?,
    })
}

/// The simulated machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Bytes of RAM.
    pub memory: u64,
    /// QEMU's name of the CPU.
    pub cpu: String,
    /// How the doorbell is noticed.
    pub detect: Detect,
    /// Seconds the plugin waits for the board before it calls it lost.
    pub board_timeout: Option<u64>,
    /// Whether guest instructions are counted.
    pub count: bool,
    /// When the durations of operations are learnt.
    pub time: Time,
    /// Functions to watch.
    pub watch: Vec<Spec>,
    /// Calls shown of each.
    pub watch_limit: u64,
}

/// When the durations of operations are learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Time {
    /// Each before its call returns.
    Strict,
    /// As simulated time reaches them.
    Async,
}

/// Names of the files that QEMU uses, in the run's folder. Fixed names in a
/// folder of our own need no quoting in QEMU's options.
pub mod file {
    /// The kernel.
    pub const KERNEL: &str = "kernel";
    /// The initramfs.
    pub const INITRD: &str = "initrd";
    /// What the guest's kernel wrote.
    pub const CONSOLE: &str = "console.log";
    /// The plugin.
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
    pub const LOG: &str = "qemu.log";
}

/// The command that simulates `machine` with the files in `folder`. Board
/// addresses hold no comma, or they are refused by the caller.
pub fn command(machine: &Machine, folder: &Path, board: &str, record: bool) -> Command {
    let at = |name: &str| folder.join(name).display().to_string();
    let ram = format!(
        "memory-backend-memfd,id=ram,size={},share=on",
        machine.memory
    );
    let mut command = Command::new(PROGRAM);
    command
        .args(["-M", "virt,memory-backend=ram,dtb-randomness=off"])
        .args(["-object", &ram, "-m", &format!("{}B", machine.memory)])
        .args(["-cpu", &machine.cpu, "-smp", "1"])
        .args(["-icount", "shift=0,sleep=off"])
        // Nothing of this machine, not even its date, reaches the guest: the
        // same run gives the same times.
        .args(["-rtc", "base=2025-01-01,clock=vm", "-seed", "1"])
        .args(["-display", "none", "-monitor", "none"])
        .args(["-nodefaults", "-no-user-config", "-no-reboot"])
        .args(["-serial", &format!("file:{}", at(file::CONSOLE))])
        .args(["-kernel", &at(file::KERNEL), "-initrd", &at(file::INITRD)])
        .args(["-append", KERNEL_COMMAND_LINE])
        .arg("-plugin")
        .arg(plugin_option(machine, folder, board, record));
    command
}

/// `panic=-1`: a panic reboots at once, and `-no-reboot` ends QEMU then.
/// The last two leave out what takes two thirds of this kernel's boot and
/// serves no program: the cipher self-tests, and the certificates that modules
/// could be signed with.
const KERNEL_COMMAND_LINE: &str = "console=ttyAMA0 quiet nokaslr panic=-1 oops=panic \
     random.trust_bootloader=on cryptomgr.notests=1 \
     initcall_blacklist=load_system_certificate_list";

fn plugin_option(machine: &Machine, folder: &Path, board: &str, record: bool) -> OsString {
    let at = |name: &str| folder.join(name).display().to_string();
    let mut option = format!(
        "{},board={board},monitor={},detect={}",
        at(file::PLUGIN),
        at(file::MONITOR),
        machine.detect.name(),
    );
    if machine.detect == Detect::Symbol {
        option += &format!(",module={}", at(file::MODULE));
    }
    if machine.detect == Detect::Symbol || !machine.watch.is_empty() {
        option += &format!(",kernel={}", at(file::KERNEL));
    }
    if record {
        option += &format!(",trace={}", at(file::TRACE));
    }
    if machine.count {
        option += ",count=on";
    }
    if machine.time == Time::Strict {
        option += ",time=strict";
    }
    if let Some(seconds) = machine.board_timeout {
        option += &format!(",board-timeout={seconds}");
    }
    if !machine.watch.is_empty() {
        option += &format!(",watch-limit={}", machine.watch_limit);
    }
    for spec in &machine.watch {
        let file = spec.file.iter().map(|file| format!("@{}", file.display()));
        option += &format!(",watch={spec}{}", file.collect::<String>());
    }
    option.into()
}

#[cfg(test)]
mod tests {
    use super::*;

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
