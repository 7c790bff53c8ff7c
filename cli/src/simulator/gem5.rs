//! gem5: its requirements, and its command line.

mod check;

use super::{Ending, Pipe, Simulator, SimulatorError};
use crate::args::{Gem5Options, GlTime, Mode, RunArgs, Sim};
use crate::kernel_command;
use crate::signals::Signalled;
use crate::watch;
use gil_board_client::boards::Options;
use gil_detect::watch::Spec;
use gil_guest_image::assets::HostPart;
use gil_guest_image::full_system::{FullSystem, Place};
use gil_guest_image::guest::Guest;
use gil_guest_image::image;
use gil_guest_image::memory;
use gil_guest_image::module::Detect;
use gil_guest_image::sysroot;
use gil_run_support::cache::{At, CacheError};
use gil_run_support::folder::file;
use gil_run_support::progress::Progress;
use gil_wire::control::Stream;
use nix::sys::signal::Signal;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Why gem5 cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Gem5Error {
    /// It was not said which.
    #[error(
        "--gem5 is missing: give the path of a gem5.opt that was built with EXTRAS=GIL/gem5-patches (docs/GEM5.md)"
    )]
    NotSaid,
    /// It is not there.
    #[error("there is no gem5 at {}: give --gem5 the path of a gem5.opt (docs/GEM5.md says how to build it)", .0.display())]
    Missing(PathBuf),
    /// It cannot be started.
    #[error("{} cannot be started ({source}): give --gem5 the path of a gem5.opt for this machine", program.display())]
    Start {
        /// The file.
        program: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// It is something else.
    #[error("{} does not answer as gem5 does: give --gem5 the path of a gem5.opt, v24.0 or later", .0.display())]
    NoGem5(PathBuf),
    /// It was built without gil's SimObjects.
    #[error(
        "{} is gem5 {version} without gil in it: run gem5-patches/pack, then build it again with `scons build/ARM/gem5.opt EXTRAS={extras}`",
        program.display()
    )]
    WithoutGil {
        /// The file.
        program: PathBuf,
        /// Its version.
        version: String,
        /// The value that EXTRAS needs.
        extras: String,
    },
    /// The boot loader is not there.
    #[error("gem5's boot loader {} is not there: give --bootloader the path of gem5's boot.arm64", .0.display())]
    MissingBootloader(PathBuf),
    /// The boot loader is not built.
    #[error("gem5's boot loader is not built: run `make -C {}`, or give boot.arm64 with --bootloader", .0.display())]
    NoBootloader(PathBuf),
    /// A CPU that it does not have.
    #[error("gem5 has no CPU model {0}: give --cpu atomic, timing, minor or o3")]
    Cpu(String),
    /// A path that its options cannot carry.
    #[error("{} has a comma in its path, which gem5's parameters cannot carry: use another folder", .0.display())]
    Comma(PathBuf),
    /// A script in system-call emulation.
    #[error(
        "{0} is a script, and system-call emulation runs ELF programs only: leave out --mode se"
    )]
    Script(String),
}

/// CPU models, as the run scripts name them.
const CPUS: [&str; 4] = ["atomic", "timing", "minor", "o3"];
/// Files in its output folder.
const CONSOLE: &str = "system.terminal";
const LOG: &str = "gem5.log";

/// gem5 for one run.
pub struct Gem5<'a> {
    args: &'a RunArgs,
    options: &'a Gem5Options,
    program: PathBuf,
    mode: Mode,
    outdir: PathBuf,
    /// As they will be once the run is laid out.
    scripts: PathBuf,
    argv: Vec<String>,
    memory: u64,
    watch: Vec<Spec>,
}

impl<'a> Gem5<'a> {
    /// As `args` have it.
    ///
    /// # Errors
    /// [`SimulatorError::Options`] for options that are QEMU's, and [`Gem5Error`].
    pub fn new(args: &'a RunArgs) -> Result<Self, SimulatorError> {
        debug_assert_eq!(args.sim, Some(Sim::Gem5));
        let options = &args.gem5;
        let mode = options.mode.unwrap_or(Mode::Fs);
        check_options(args, mode)?;
        let outdir = options.outdir.as_deref().unwrap_or(Path::new("m5out"));
        let outdir = std::path::absolute(outdir).at(outdir)?;
        if outdir.to_string_lossy().contains(',') {
            return Err(Gem5Error::Comma(outdir).into());
        }
        let program = options.gem5.as_ref().ok_or(Gem5Error::NotSaid)?;
        Ok(Self {
            args,
            options,
            program: std::path::absolute(program).at(program)?,
            mode,
            outdir,
            scripts: PathBuf::new(),
            argv: Vec::new(),
            memory: args.memory.unwrap_or(memory::USUAL),
            watch: args.watched(),
        })
    }

    fn cpu(&self) -> &str {
        self.args.cpu.as_deref().unwrap_or(CPUS[0])
    }

    fn bootloader(&self) -> Result<PathBuf, Gem5Error> {
        match &self.options.bootloader {
            Some(path) if path.is_file() => Ok(path.clone()),
            Some(path) => Err(Gem5Error::MissingBootloader(path.clone())),
            None => check::bootloader(&self.program),
        }
    }

    fn lay_out_full_system(
        &mut self,
        guest: &Guest,
        at: &Path,
        progress: &Progress,
    ) -> Result<(), SimulatorError> {
        let system = FullSystem::prepare(
            guest,
            Place::Initramfs,
            self.args.detect,
            self.args.reaches(),
            progress,
        )?;
        progress.say("writing the guest's image");
        let sizes = system.lay_out(&self.args.start(), guest, at)?;
        self.memory = memory::choose(self.args.memory, sizes)?;
        kernel_command::make_elf(&system.kernel.image, &at.join(file::KERNEL_ELF))?;
        self.watch = watch::resolve(&self.args.watched(), &[], at)?;
        Ok(())
    }

    fn lay_out_sysroot(
        &self,
        guest: &Guest,
        at: &Path,
        progress: &Progress,
    ) -> Result<(), SimulatorError> {
        let sysroot = at.join(file::SYSROOT);
        sysroot::lay_out(&sysroot, guest, progress)?;
        let name = &self.argv[0];
        let program = sysroot.join(name.trim_start_matches('/'));
        let bytes = fs::read(&program).at(&program)?;
        match bytes.starts_with(b"\x7fELF") {
            true => Ok(()),
            false => Err(Gem5Error::Script(name.clone()).into()),
        }
    }

    /// The options that both modes share.
    fn machine(&self, command: &mut Command, at: &Path, boards: &Options) {
        let cpus = match self.mode {
            Mode::Fs => 1,
            Mode::Se => 4,
        };
        command
            .args(["--cpu", self.cpu()])
            .args(["--cpus", &self.options.cpus.unwrap_or(cpus).to_string()])
            .args(["--mem-size", &format!("{}B", self.memory)])
            .args(["--time", self.args.time.name()])
            .arg("--monitor")
            .arg(at.join(file::MONITOR));
        let more = [
            ("--cpu-clock", &self.options.cpu_clock),
            ("--sys-clock", &self.options.sys_clock),
            ("--caches", &self.options.caches),
        ];
        for (name, value) in more {
            command.args(value.iter().flat_map(|value| [name, value]));
        }
        // There is one board: more were refused.
        command.args(boards.boards.iter().flat_map(|board| ["--board", board]));
        command.args(boards.keys.iter().flat_map(|key| ["--key", key]));
        if let Some(timeout) = self.args.board_timeout {
            let seconds = timeout.as_secs_f64().to_string();
            command.args(["--board-timeout", &seconds]);
        }
        if let Some(factor) = self.args.contention() {
            command.args(["--contention", &factor.to_string()]);
        }
        if let Some(costs) = self.args.costs() {
            command.args(["--costs", &costs]);
        }
        if self.args.gl_time != GlTime::Program {
            let finish = self.args.gl_time.finish();
            command.args(["--finish", finish.name()]);
        }
        if self.args.is_recorded() {
            command.arg("--record").arg(at.join(file::TRACE));
        }
        if self.args.keeps_build_times() {
            command.arg("--work-times").arg(at.join(file::WORK_TIMES));
        }
        if self.args.calls.is_some() {
            command.arg("--calls").arg(at.join(file::CALLS));
        }
        if self.args.compress {
            command.arg("--compress");
        }
        self.watches(command, at);
        command.args(&self.options.script_option);
    }

    fn watches(&self, command: &mut Command, at: &Path) {
        if self.watch.is_empty() {
            return;
        }
        for spec in &self.watch {
            command.arg(format!("--watch={}", spec.with_files()));
        }
        command
            .args(["--watch-limit", &self.args.watch_limit.to_string()])
            .arg("--watch-output")
            .arg(at.join(file::WATCH_LINES));
    }

    fn full_system(&self, command: &mut Command, at: &Path) {
        if self.args.interactive {
            command.arg("--channel-input").arg(at.join(file::INPUT));
        }
        let files = [
            ("--kernel", at.join(file::KERNEL_ELF)),
            ("--initrd", at.join(file::INITRD)),
            // It was there when the run was checked.
            ("--bootloader", self.bootloader().unwrap_or_default()),
        ];
        for (name, path) in files {
            command.arg(name).arg(path);
        }
        if self.args.detect == Detect::Symbol {
            command.args(["--detect", "symbol"]);
        }
        if let Some(gpu) = self.args.registers() {
            command.args(["--gpu", gpu.name()]);
        }
        if self.args.has_shares() {
            command.arg("--channel-files").arg(at.join(file::FILES));
        }
    }

    fn emulation(&self, command: &mut Command, at: &Path) {
        command.arg("--isolated");
        for (name, path) in [
            ("--sysroot", file::SYSROOT),
            ("--stdout", file::STDOUT),
            ("--stderr", file::STDERR),
        ] {
            command.arg(name).arg(at.join(path));
        }
        let stdin = match self.args.stdin {
            Some(_) => at.join(file::STDIN),
            None => "/dev/null".into(),
        };
        command.arg("--stdin").arg(stdin);
        for (name, value) in image::environment(&self.args.env()) {
            command.arg(format!("--env={name}={value}"));
        }
        command
            .arg("--cwd")
            .arg(&self.args.workdir)
            .args(&self.argv);
    }
}

/// Refuses options that have no meaning here.
fn check_options(args: &RunArgs, mode: Mode) -> Result<(), SimulatorError> {
    let refused = |option, of, mend| Err(SimulatorError::Options { option, of, mend });
    if args.count {
        return refused("--count", "QEMU", "leave it out with --sim gem5");
    }
    if args.list_jobs {
        return refused("--list-jobs", "QEMU", "leave it out with --sim gem5");
    }
    if args.net.is_some() {
        return refused("--net", "QEMU", "leave it out with --sim gem5");
    }
    if args.qemu_gpu {
        return refused("--qemu-gpu", "QEMU", "leave it out with --sim gem5");
    }
    if let Some(option) = args.display.first() {
        return refused(option, "QEMU", "leave it out with --sim gem5");
    }
    if args.boards.iter().any(|board| board.apis.is_some()) {
        let mend = "give one --board ADDR with --sim gem5";
        return refused("--board API=…", "QEMU", mend);
    }
    if args.interactive && mode == Mode::Se {
        let mend = "use --stdin FILE, or leave out --mode se";
        return refused("--interactive", "a full system", mend);
    }
    if args.detect == Detect::Symbol && mode == Mode::Se {
        let mend = "leave it out with --mode se";
        return refused("--detect symbol", "a full system", mend);
    }
    if args.driver.is_some() && mode == Mode::Se {
        let mend = "leave out --mode se: system-call emulation has no kernel";
        return refused("--driver", "a full system", mend);
    }
    if args.registers().is_some() && mode == Mode::Se {
        let mend = "leave out --mode se: system-call emulation has no kernel";
        return refused("--gpu", "a full system", mend);
    }
    if args.registers().is_some() && args.detect == Detect::Symbol {
        let mend = "leave it out, or --sim gem5";
        return refused("--detect symbol with --gpu", "QEMU", mend);
    }
    if args.has_shares() && mode == Mode::Se {
        let mend = "leave them out with --mode se";
        return refused("--share and --out", "a full system", mend);
    }
    Ok(())
}

impl Simulator for Gem5<'_> {
    fn name(&self) -> &'static str {
        "gem5"
    }

    fn check(&self, _: &Signalled) -> Result<(), SimulatorError> {
        if !CPUS.contains(&self.cpu()) {
            return Err(Gem5Error::Cpu(self.cpu().into()).into());
        }
        check::program(&self.program)?;
        if self.mode == Mode::Fs {
            self.bootloader()?;
        }
        Ok(())
    }

    fn part(&self) -> HostPart {
        HostPart::Gem5Scripts
    }

    fn lay_out(
        &mut self,
        guest: &Guest,
        at: &Path,
        progress: &Progress,
    ) -> Result<(), SimulatorError> {
        self.scripts.clone_from(&guest.assets.host_part);
        self.argv = guest.argv(self.args.arguments());
        match self.mode {
            Mode::Fs => self.lay_out_full_system(guest, at, progress)?,
            Mode::Se => self.lay_out_sysroot(guest, at, progress)?,
        }
        make_outdir(&self.outdir)?;
        Ok(())
    }

    fn command(&self, at: &Path, boards: &Options) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg(format!("--outdir={}", self.outdir.display()))
            .args(["--listener-mode=off", "--dot-config="])
            .args(&self.options.gem5_option)
            .arg(self.scripts.join(match self.mode {
                Mode::Fs => "gil_fs.py",
                Mode::Se => "gil_se.py",
            }));
        self.machine(&mut command, at, boards);
        match self.mode {
            Mode::Fs => self.full_system(&mut command, at),
            Mode::Se => self.emulation(&mut command, at),
        }
        command
    }

    fn console(&self, _: &Path) -> Option<PathBuf> {
        (self.mode == Mode::Fs).then(|| self.outdir.join(CONSOLE))
    }

    fn log(&self, _: &Path) -> PathBuf {
        self.outdir.join(LOG)
    }

    fn pipes(&self) -> Vec<(Pipe, &'static str)> {
        let mut pipes = Vec::new();
        if self.mode == Mode::Se {
            pipes.push((Pipe::Output(Stream::Out), file::STDOUT));
            pipes.push((Pipe::Output(Stream::Err), file::STDERR));
        }
        if !self.watch.is_empty() {
            pipes.push((Pipe::Watch, file::WATCH_LINES));
        }
        pipes
    }

    fn loaded(&self) -> &'static str {
        match self.mode {
            Mode::Fs => "booting the guest, which takes gem5 minutes",
            Mode::Se => "starting the program",
        }
    }

    fn connects_at_once(&self) -> bool {
        true
    }

    fn ending(&self) -> Ending {
        // Only this signal has it write its statistics.
        Ending {
            signal: Signal::SIGINT,
            patience: Duration::from_secs(4),
        }
    }

    fn outdir(&self) -> Option<&Path> {
        Some(&self.outdir)
    }
}

/// Makes the folder; what an earlier run left there that this one might not
/// write again goes.
fn make_outdir(outdir: &Path) -> Result<(), CacheError> {
    fs::create_dir_all(outdir).at(outdir)?;
    for name in [CONSOLE, "stats.txt", "gil.json"] {
        let path = outdir.join(name);
        if path.exists() {
            fs::remove_file(&path).at(&path)?;
        }
    }
    Ok(())
}
