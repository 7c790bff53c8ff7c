//! The options of commands that write a guest, or what a simulator needs of one.

use super::environment::{self, Variables};
use super::guest::{NO_DISPLAY, driver, gpus, package, platforms};
use clap::Args;
use gil_guest_image::copied::Copied;
use gil_guest_image::full_system::Start;
use gil_guest_image::gpu::{Gpu, Model, Place};
use gil_guest_image::guest::Wanted;
use gil_guest_image::module::Detect;
use gil_guest_image::platforms::Platforms;
use std::path::PathBuf;

/// Arguments of `gil sysroot`.
#[derive(Clone, Debug, Args)]
pub struct SysrootArgs {
    /// Add a Debian arm64 package, with what it depends on; NAME:armhf for a
    /// 32-bit one.
    #[arg(long = "pkg", value_name = "PACKAGE", value_parser = package)]
    pub packages: Vec<String>,
    /// Whether programs see platforms of Debian packages too.
    #[arg(long, help = Platforms::option_help())]
    pub package_platforms: bool,
    /// Show no progress.
    #[arg(long, short)]
    pub quiet: bool,
    /// The folder: new, empty, or one that this command made before.
    pub folder: PathBuf,
}

/// Arguments of `gil image`.
#[derive(Clone, Debug, Args)]
pub struct ImageArgs {
    /// Add a Debian arm64 package, with what it depends on; NAME:armhf for a
    /// 32-bit one.
    #[arg(long = "pkg", value_name = "PACKAGE", value_parser = package)]
    pub packages: Vec<String>,
    /// Whether programs see platforms of Debian packages too.
    #[arg(long, help = Platforms::option_help())]
    pub package_platforms: bool,
    /// Copy a file or folder into the guest.
    #[arg(long = "file", value_name = "SRC:DST")]
    pub files: Vec<Copied>,
    /// Draw by Debian's Mesa and this driver of a GPU, as `gil run` takes it: the board
    /// has a render node of this driver, or programs find no GPU.
    #[arg(long, value_name = "NAME", value_parser = driver)]
    pub driver: Option<String>,
    /// Draw by Debian's Mesa and the kernel's own driver of this GPU, which gem5 has with
    /// `gil_fs.py --gpu`: panfrost's Mali-T628, or lima's Mali-400.
    #[arg(long, value_name = "GPU", value_parser = gpus(), conflicts_with = "driver")]
    pub gpu: Option<String>,
    /// How the simulator notices a GPU request.
    #[arg(long, value_enum, default_value = "marker")]
    pub detect: Detect,
    /// Set a variable in the program's environment; NAME alone takes this
    /// machine's value.
    #[arg(long = "env", short, value_name = "NAME[=VALUE]", value_parser = environment::variable)]
    env: Vec<Variables>,
    /// Start the program in this folder of the guest; a relative path begins at
    /// this machine's current folder.
    #[arg(long, short, alias = "cwd", value_name = "FOLDER", default_value = "/root", value_parser = environment::folder)]
    pub workdir: String,
    /// Show no progress, and not how much memory the guest needs.
    #[arg(long, short)]
    pub quiet: bool,
    /// Where `kernel.elf` and `initrd` are written; files of these names there are
    /// replaced.
    pub folder: PathBuf,
    /// The program that the guest runs, as `gil run` takes it.
    #[arg(value_name = "PROGRAM", trailing_var_arg = true, required = true)]
    pub command: Vec<String>,
}

impl ImageArgs {
    /// The guest's contents.
    pub fn wanted(&self) -> Wanted<'_> {
        Wanted {
            program: &self.command[0],
            packages: &self.packages,
            platforms: platforms(self.gpu().as_ref(), self.package_platforms),
            files: &self.files,
            gpu: self.gpu(),
        }
    }

    /// The GPU that Mesa draws on; none: gil's libraries draw.
    fn gpu(&self) -> Option<Gpu> {
        let own = Model::named(self.gpu.as_deref().unwrap_or_default());
        let place = Place::Device;
        let own = own.map(|model| Gpu::Registers { model, place });
        self.driver.clone().map(Gpu::Board).or(own)
    }

    /// The variables that are added to the program's environment.
    fn env(&self) -> Vec<(String, String)> {
        let usual = self.gpu().is_some().then_some(NO_DISPLAY);
        let usual: Vec<_> = usual.into_iter().flat_map(environment::variable).collect();
        environment::join(usual.iter().chain(&self.env))
    }

    /// The program's start. Nothing of this machine is reached from there.
    pub fn start(&self) -> Start<'_> {
        Start {
            arguments: &self.command[1..],
            env: self.env(),
            cwd: &self.workdir,
            has_stdin: false,
            input: None,
            shares: Vec::new(),
            outputs: Vec::new(),
            servers: None,
            every: None,
        }
    }
}

/// Arguments of `gil machine`.
#[derive(Clone, Debug, Args)]
pub struct MachineArgs {
    /// Add a Debian arm64 package, with what it depends on; NAME:armhf for a
    /// 32-bit one.
    #[arg(long = "pkg", value_name = "PACKAGE", value_parser = package)]
    pub packages: Vec<String>,
    /// Add what is in a local Debian package, alone.
    #[arg(long = "deb", value_name = "FILE")]
    pub debs: Vec<PathBuf>,
    /// Copy a file or folder into the machine.
    #[arg(long = "file", value_name = "SRC:DST")]
    pub files: Vec<Copied>,
    /// Show no progress.
    #[arg(long, short)]
    pub quiet: bool,
    /// Where `kernel` and `initrd` are written.
    pub folder: PathBuf,
    /// The program that the machine runs, as in its shell; the machine is
    /// switched off when it ends.
    #[arg(last = true, required = true)]
    pub program: Vec<String>,
}

#[cfg(test)]
mod tests {
    use crate::args::{Cli, Command};
    use clap::Parser as _;

    #[test]
    fn a_machines_program_has_its_own_options_too() {
        let words = ["gil", "machine", "m", "--", "sh", "--quiet", "--", "-c"];
        let Command::Machine(machine) = Cli::try_parse_from(words).unwrap().command else {
            panic!("not machine");
        };
        assert_eq!(machine.program, ["sh", "--quiet", "--", "-c"]);
        assert!(!machine.quiet);
    }
}
