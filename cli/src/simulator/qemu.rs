//! QEMU: whether it will do, and how it is called.

use super::{Ending, Simulator, SimulatorError};
use crate::args::{RunArgs, Time};
use crate::watch;
use gil_board_client::agent;
use gil_detect::watch::Spec;
use gil_guest_image::assets::HostPart;
use gil_guest_image::full_system::{self, FullSystem, Place};
use gil_guest_image::guest::Guest;
use gil_guest_image::memory;
use gil_guest_image::module::Detect;
use gil_guest_image::packages::PackageSet;
use gil_run_support::cache::{At, CacheError};
use gil_run_support::folder::{create_file, file};
use gil_run_support::progress::Progress;
use gil_run_support::tool::{self, ToolError};
use nix::sys::signal::Signal;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

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

/// Has it make the machine with this CPU, and end. What it writes then is
/// renamed to the file's name, which must therefore be in a folder of its own.
fn check_cpu(cpu: &str) -> Result<(), SimulatorError> {
    let temp = std::env::temp_dir();
    let folder = tempfile::tempdir().at(&temp)?;
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
    let after = text.split("version ").nth(1)?;
    let mut numbers = after.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some(Version {
        major: numbers.next()?.ok()?,
        minor: numbers.next()?.ok()?,
    })
}

/// QEMU for one run: one CPU, whose time is its instructions.
pub struct Qemu<'a> {
    args: &'a RunArgs,
    /// Bytes of guest RAM, once the run is laid out.
    memory: u64,
    /// Bytes of each disk with packages' files.
    disks: Vec<u64>,
    /// Functions to watch, with the files they are in.
    watch: Vec<Spec>,
}

/// QEMU's name of the usual CPU.
const CPU: &str = "cortex-a57";

impl<'a> Qemu<'a> {
    /// As `args` have it.
    ///
    /// # Errors
    /// [`SimulatorError::Options`] for options that are gem5's.
    pub fn new(args: &'a RunArgs) -> Result<Self, SimulatorError> {
        match args.gem5.first() {
            Some(option) => Err(SimulatorError::Options {
                option,
                of: "gem5",
                mend: "add --sim gem5, or leave it out",
            }),
            None => Ok(Self {
                args,
                memory: 0,
                disks: Vec::new(),
                watch: Vec::new(),
            }),
        }
    }
}

impl Simulator for Qemu<'_> {
    fn name(&self) -> &'static str {
        "QEMU"
    }

    fn check(&self) -> Result<(), SimulatorError> {
        check()?;
        self.args.cpu.as_deref().map_or(Ok(()), check_cpu)
    }

    fn part(&self) -> HostPart {
        HostPart::QemuPlugin
    }

    fn lay_out(
        &mut self,
        guest: &Guest,
        at: &Path,
        progress: &Progress,
    ) -> Result<(), SimulatorError> {
        let system = FullSystem::prepare(guest, Place::Disks, self.args.detect, progress)?;
        progress.say("writing the guest's image");
        full_system::link(&guest.assets.host_part, &at.join(file::PLUGIN))?;
        let sizes = system.lay_out(&self.args.start(), guest, at)?;
        self.memory = memory::choose(self.args.memory, sizes)?;
        self.disks = link_disks(&guest.sets, at)?;
        let console = at.join(file::CONSOLE);
        create_file(&console).at(&console)?;
        self.watch = watch::resolve(&self.args.watch, &guest.sets, at)?;
        Ok(())
    }

    /// Board addresses hold no comma, or they were refused before.
    fn command(&self, folder: &Path, board: &str) -> Command {
        let at = |name: &str| folder.join(name).display().to_string();
        let mut command = Command::new(PROGRAM);
        command.args(["-M", "virt,dtb-randomness=off"]);
        self.memory_options(&mut command, folder);
        command
            .args(["-cpu", self.args.cpu.as_deref().unwrap_or(CPU)])
            .args(["-smp", "1", "-icount", "shift=0,sleep=off"])
            // Nothing of this machine, not even its date, reaches the guest: the
            // same run gives the same times.
            .args(["-rtc", "base=2025-01-01,clock=vm", "-seed", "1"])
            .args(["-display", "none", "-monitor", "none"])
            .args(["-nodefaults", "-no-user-config", "-no-reboot"])
            .args(["-serial", &format!("file:{}", at(file::CONSOLE))])
            .args(["-kernel", &at(file::KERNEL), "-initrd", &at(file::INITRD)])
            .args(["-append", &self.kernel_command_line()])
            .arg("-plugin")
            .arg(self.plugin_option(folder, board));
        command
    }

    fn console(&self, at: &Path) -> Option<PathBuf> {
        Some(at.join(file::CONSOLE))
    }

    fn log(&self, at: &Path) -> PathBuf {
        at.join(file::QEMU_LOG)
    }

    fn loaded(&self) -> &'static str {
        "booting the guest"
    }

    fn ending(&self) -> Ending {
        Ending {
            signal: Signal::SIGTERM,
            patience: Duration::from_secs(2),
        }
    }
}

/// `panic=-1`: a panic reboots at once, and `-no-reboot` ends QEMU then.
/// The next two leave out what takes most of this kernel's boot and
/// serves no program: the cipher self-tests, the certificates that modules
/// could be signed with, and the tracer of block devices. The last three are
/// what wakes an idle kernel most: the search for fragmented memory, the watchdog
/// of CPUs, and the averages in `/proc/pressure`. QEMU passes over idle time from
/// one wake-up to the next, so a program's sleep takes wall time by their number.
const KERNEL_COMMAND_LINE: &str = "console=ttyAMA0 quiet nokaslr panic=-1 oops=panic \
     random.trust_bootloader=on cryptomgr.notests=1 \
     initcall_blacklist=load_system_certificate_list,init_blk_tracer \
     sysctl.vm.compaction_proactiveness=0 nowatchdog psi=0";

/// Where this machine's RAM begins: hw/arm/virt.c of QEMU, `VIRT_MEM`.
const RAM: u64 = 0x4000_0000;

/// Makes the packages' disks files of the run's folder; their sizes.
fn link_disks(sets: &[PackageSet], at: &Path) -> Result<Vec<u64>, CacheError> {
    let mut sizes = Vec::new();
    for (number, set) in sets.iter().enumerate() {
        full_system::link(&set.disk, &at.join(format!("{}{number}", file::DISK)))?;
        sizes.push(fs::metadata(&set.disk).at(&set.disk)?.len());
    }
    Ok(sizes)
}

impl Qemu<'_> {
    /// RAM that the host interface shares; behind it, as what QEMU calls further
    /// NUMA nodes, the packages' disks. They are mapped, privately: nothing of
    /// them is read before the guest reads it.
    fn memory_options(&self, command: &mut Command, folder: &Path) {
        let whole = self.memory + self.disks.iter().sum::<u64>();
        let ram = format!("memory-backend-memfd,id=ram,size={},share=on", self.memory);
        command.args(["-m", &format!("{whole}B"), "-object", &ram]);
        command.args(["-numa", "node,memdev=ram"]);
        for (number, size) in self.disks.iter().enumerate() {
            let name = format!("{}{number}", file::DISK);
            let path = folder.join(&name);
            let disk = format!(
                "memory-backend-file,id={name},mem-path={},size={size},share=off,readonly=on,rom=off",
                path.display()
            );
            command.args(["-object", &disk, "-numa", &format!("node,memdev={name}")]);
        }
    }

    /// The kernel's memory is the RAM alone, without nodes; the disks' places
    /// are for the module that makes them.
    fn kernel_command_line(&self) -> String {
        let mut next = RAM + self.memory;
        let (mut places, mut sizes) = (Vec::new(), Vec::new());
        for size in &self.disks {
            places.push(format!("{next:#x}"));
            sizes.push(format!("{size:#x}"));
            next += size;
        }
        format!(
            "{KERNEL_COMMAND_LINE} numa=off mem={} gil_disk.at={} gil_disk.bytes={}",
            self.memory,
            places.join(","),
            sizes.join(",")
        )
    }

    fn plugin_option(&self, folder: &Path, board: &str) -> OsString {
        let args = self.args;
        let at = |name: &str| folder.join(name).display().to_string();
        let mut option = format!(
            "file={},board={board},monitor={},detect={}",
            at(file::PLUGIN),
            at(file::MONITOR),
            args.detect.name(),
        );
        if let Ok(Some(key)) = agent::key_option(args.board.as_ref(), args.key.as_deref()) {
            option += &format!(",key={key}");
        }
        if args.detect == Detect::Symbol {
            option += &format!(",module={}", at(file::MODULE));
        }
        if args.detect == Detect::Symbol || !self.watch.is_empty() {
            option += &format!(",kernel={}", at(file::KERNEL));
        }
        if args.record.is_some() {
            option += &format!(",trace={}", at(file::TRACE));
        }
        if args.compress {
            option += ",trace-compress=on";
        }
        if args.count {
            option += ",count=on";
        }
        if args.time == Time::Strict {
            option += ",time=strict";
        }
        if let Some(timeout) = args.board_timeout {
            option += &format!(",board-timeout={}", timeout.as_secs_f64());
        }
        (option + &self.watch_options()).into()
    }

    fn watch_options(&self) -> String {
        if self.watch.is_empty() {
            return String::new();
        }
        let mut option = format!(",watch-limit={}", self.args.watch_limit);
        for spec in &self.watch {
            let file = spec.file.iter().map(|file| format!("@{}", file.display()));
            option += &format!(",watch={spec}{}", file.collect::<String>());
        }
        option
    }
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
        check_cpu("max").unwrap();
        assert!(check_cpu("nosuch").is_err());
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
