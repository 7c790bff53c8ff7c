//! QEMU for a run: it continues a guest that booted before, or boots one.

mod device_tree;
pub mod machine;
pub mod qmp;
pub mod saved;
pub mod version;

use super::{Ending, Simulator, SimulatorError};
use crate::args::{GlTime, RunArgs, Time};
use crate::reach;
use crate::signals::Signalled;
use crate::watch;
use gil_board_client::boards::Options;
use gil_detect::watch::Spec;
use gil_guest_image::assets::HostPart;
use gil_guest_image::full_system::{self, FullSystem, Place};
use gil_guest_image::gpu::Model;
use gil_guest_image::guest::Guest;
use gil_guest_image::layers::PackageSet;
use gil_guest_image::memory;
use gil_guest_image::module::Detect;
use gil_run_support::cache::{At, CacheError};
use gil_run_support::folder::{create_file, file};
use gil_run_support::process::Owned;
use gil_run_support::progress::Progress;
use machine::{Life, Machine};
use nix::sys::signal::Signal;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub use version::{OLDEST, QemuError, Version, check, check_display};

/// QEMU for one run.
pub struct Qemu<'a> {
    args: &'a RunArgs,
    /// Whether it continues a saved guest.
    life: Life,
    machine: Machine,
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
                life: Life::Boots,
                machine: Machine {
                    cpu: args.cpu.as_deref().unwrap_or(CPU).into(),
                    memory: 0,
                    disks: Vec::new(),
                    network: args.net.clone(),
                    display: args.display.size(),
                    gpu: args.qemu_gpu,
                    registers: args.registers(),
                },
                watch: Vec::new(),
            }),
        }
    }

    /// Whether a guest that booted before will do. The kernel's own modules were
    /// loaded then: who watches one sees it loaded only in a guest that boots.
    fn may_continue(&self) -> bool {
        let is_module = |spec: &Spec| spec.file.is_none() && spec.object.is_some();
        let mut modules = self.watch.iter().filter(|spec| is_module(spec));
        // QEMU does not save what its renderer has.
        !self.args.boot
            && !self.args.qemu_gpu
            && self.machine.registers.is_none()
            && modules.all(|spec| matches!(spec.object.as_deref(), Some("gil" | "gil_mirror")))
    }

    /// A guest that cannot be saved boots at each run.
    fn continue_saved(&mut self, at: &Path, progress: &Progress) {
        match saved::ensure(&self.machine, at, progress) {
            Ok(()) => self.life = Life::Continues,
            Err(error) => progress.note(&format!(
                "the guest boots, as at each run, since it cannot be saved ({error})"
            )),
        }
    }
}

/// A driver with a display sets its modes, if it is one that does.
fn check_outputs(args: &RunArgs) -> Result<(), SimulatorError> {
    let (Some(driver), Some(option)) = (&args.driver, args.display.first()) else {
        return Ok(());
    };
    match gil_drivers::table(driver).is_ok_and(|table| table.has_outputs()) {
        true => Ok(()),
        false => Err(SimulatorError::Outputs {
            option,
            driver: driver.clone(),
        }),
    }
}

impl Simulator for Qemu<'_> {
    fn name(&self) -> &'static str {
        "QEMU"
    }

    fn check(&self, signalled: &Signalled) -> Result<(), SimulatorError> {
        version::check_once()?;
        if self.args.display.is_wanted() {
            version::check_display()?;
        }
        check_outputs(self.args)?;
        if self.args.qemu_gpu {
            version::check_gpu()?;
        }
        let cpu = self.args.cpu.as_deref();
        cpu.map_or(Ok(()), |cpu| {
            version::check_cpu(cpu, |folder| signalled.remove_at_exit(folder.into()))
        })
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
        let system = FullSystem::prepare(
            guest,
            Place::Disks,
            self.args.detect,
            self.args.reaches(),
            progress,
        )?;
        progress.say("writing the guest's image");
        full_system::link(&guest.assets.host_part, &at.join(file::PLUGIN))?;
        let sizes = system.lay_out(&self.args.start(), guest, at)?;
        self.machine.memory = memory::choose(self.args.memory, sizes)?;
        self.machine.disks = link_disks(&guest.sets, at)?;
        self.watch = watch::resolve(&self.args.watched(), &guest.sets, at)?;
        if self.may_continue() {
            self.continue_saved(at, progress);
        }
        self.machine.write_disks(at, self.life)?;
        self.machine.write_device_tree(at, self.life)?;
        if self.args.net.is_some() {
            let gil = std::env::current_exe().at(at)?;
            full_system::link(&gil, &at.join(reach::NAME))?;
        }
        let console = at.join(file::CONSOLE);
        create_file(&console).at(&console)?;
        Ok(())
    }

    /// Board addresses hold no comma, or they were refused before.
    fn command(&self, folder: &Path, boards: &Options) -> Command {
        let mut command = self.machine.command(folder, self.life);
        command
            .arg("-plugin")
            .arg(self.plugin_option(folder, boards));
        command
    }

    fn begin(&self, at: &Path, process: &mut Owned) -> Result<(), SimulatorError> {
        if self.life != Life::Continues {
            return Ok(());
        }
        let resumed = saved::resume(at, || process.ended().is_none());
        match resumed {
            // Its log says why.
            Err(_) if process.ends_within(Duration::from_secs(1)) => Ok(()),
            other => Ok(other?),
        }
    }

    fn console(&self, at: &Path) -> Option<PathBuf> {
        Some(at.join(file::CONSOLE))
    }

    fn log(&self, at: &Path) -> PathBuf {
        at.join(file::QEMU_LOG)
    }

    fn loaded(&self) -> &'static str {
        match self.life {
            Life::Continues => "continuing the booted guest",
            Life::Boots | Life::IsSaved => "booting the guest",
        }
    }

    fn ending(&self) -> Ending {
        Ending {
            signal: Signal::SIGTERM,
            patience: Duration::from_secs(2),
        }
    }
}

/// Makes the packages' disks files of the run's folder; all disks, the run's own
/// behind the others, with their sizes.
fn link_disks(sets: &[PackageSet], at: &Path) -> Result<Vec<(String, u64)>, CacheError> {
    let mut names = Vec::new();
    for (number, set) in sets.iter().enumerate() {
        let name = format!("{}{number}", file::DISK);
        full_system::link(&set.disk, &at.join(&name))?;
        names.push(name);
    }
    names.push(file::OWN.into());
    let sized = names.into_iter().map(|name| {
        let path = at.join(&name);
        let size = fs::metadata(&path).at(&path)?.len();
        Ok((name, size))
    });
    sized.collect()
}

impl Qemu<'_> {
    fn plugin_option(&self, folder: &Path, boards: &Options) -> OsString {
        let args = self.args;
        let at = |name: &str| folder.join(name).display().to_string();
        let mut option = format!(
            "file={},monitor={},detect={}",
            at(file::PLUGIN),
            at(file::MONITOR),
            args.detect.name(),
        );
        for board in &boards.boards {
            option += &format!(",board={board}");
        }
        for key in &boards.keys {
            option += &format!(",key={key}");
        }
        if args.interactive {
            option += &format!(",channel-input={}", at(file::INPUT));
        }
        if args.has_shares() {
            option += &format!(",channel-files={}", at(file::FILES));
        }
        if let Some(gpu) = self.machine.registers.map(Model::name) {
            option += &format!(",gpu={gpu}@{:#x}", self.machine.registers_at());
        }
        if self.life == Life::Continues {
            option += &format!(",ram-mapped={}", at(file::SAVED_RAM));
        }
        if args.detect == Detect::Symbol {
            option += &format!(",module={}", at(file::MODULE));
        }
        if args.detect == Detect::Symbol || !self.watch.is_empty() {
            option += &format!(",kernel={}", at(file::KERNEL));
        }
        if args.is_recorded() {
            option += &format!(",trace={}", at(file::TRACE));
        }
        if args.calls.is_some() {
            option += &format!(",calls={}", at(file::CALLS));
        }
        if args.keeps_build_times() {
            option += &format!(",work-times={}", at(file::WORK_TIMES));
        }
        if args.compress {
            option += ",trace-compress=on";
        }
        if args.count {
            option += ",count=on";
        }
        if args.list_jobs {
            option += ",list-jobs=on";
        }
        if args.time == Time::Strict {
            option += ",time=strict";
        }
        if let Some(factor) = args.contention() {
            option += &format!(",contention={factor}");
        }
        if let Some(costs) = args.costs() {
            option += &format!(",costs={costs}");
        }
        if args.gl_time != GlTime::Program {
            option += &format!(",finish={}", args.gl_time.finish());
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
            option += &format!(",watch={}", spec.with_files());
        }
        option
    }
}
