//! What a full system boots: Debian's kernel, and an initramfs with gil's init. All other
//! files are in the initramfs too, or on disks.

use crate::apt::AptError;
use crate::archive::Sizes;
use crate::gpu::{self, Gpu, Model};
use crate::guest::Guest;
use crate::image::{self, Contents, Display, Driver, Live, RunFile, Share};
use crate::kernel::{self, Kernel};
use crate::module::{self, Detect, OwnModules};
use gil_run_support::cache::{At, Cache, CacheError};
use gil_run_support::folder::file;
use gil_run_support::progress::Progress;
use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A kernel and the modules for it.
pub struct FullSystem {
    /// The kernel.
    pub kernel: Kernel,
    /// gil's own modules.
    modules: OwnModules,
    /// The kernel's module for folders of this machine, if the run shares any and the
    /// kernel does not have it built in.
    fuse: Option<PathBuf>,
    /// The kernel's modules for a network, if the run has one.
    network: Vec<PathBuf>,
    /// The kernel's modules for a display, and gil's own, if the run has one.
    display: Vec<PathBuf>,
    /// The modules of a GPU's driver, if Mesa draws by one.
    driver: Vec<PathBuf>,
    /// What mounts disks, if the simulator has them for the packages.
    layers: Option<Vec<PathBuf>>,
}

/// The program's start: arguments, environment, folder.
pub struct Start<'a> {
    /// Its arguments.
    pub arguments: &'a [String],
    /// Variables that are added to its environment.
    pub env: Vec<(String, String)>,
    /// Its working folder.
    pub cwd: &'a str,
    /// Whether a file in the run's folder is its standard input.
    pub has_stdin: bool,
    /// How it reads what the guest asks the host for, instead.
    pub input: Option<Live>,
    /// Folders of this machine in the guest.
    pub shares: Vec<Share>,
    /// What is copied to this machine in the end.
    pub outputs: Vec<String>,
    /// Where the guest finds the host's servers on a network that leads nowhere else.
    pub servers: Option<Ipv4Addr>,
    /// Simulated time between pictures of the display; none: there are no such pictures.
    pub every: Option<Duration>,
}

/// What of this machine a guest reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reaches {
    /// Folders.
    pub folders: bool,
    /// A network.
    pub network: bool,
    /// A display.
    pub display: bool,
}

/// Where a simulator has the packages' files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the initramfs, with all others.
    Initramfs,
    /// On disks in memory, and what is the run's own on one more.
    Disks,
}

impl FullSystem {
    /// Fetches and builds what is not there yet.
    ///
    /// # Errors
    /// [`AptError`] says what cannot be had.
    pub fn prepare(
        guest: &Guest,
        place: Place,
        detect: Detect,
        reaches: Reaches,
        progress: &Progress,
    ) -> Result<Self, AptError> {
        let cache = Cache::open()?;
        let kernel = kernel::ensure(&cache, progress)?;
        let modules = module::ensure(&cache, &kernel, &guest.assets.driver, detect, progress)?;
        let fuse = match reaches.folders {
            true => kernel::SHARES.ensure(&cache, &kernel, progress)?.pop(),
            false => None,
        };
        let network = match reaches.network {
            true => kernel::NETWORK.ensure(&cache, &kernel, progress)?,
            false => Vec::new(),
        };
        let kernels = |of: &kernel::Modules| of.ensure(&cache, &kernel, progress);
        let is_boards = matches!(guest.gpu, Some(Gpu::Board(_)));
        let display = match reaches.display {
            true => display(is_boards, &modules, kernels)?,
            false => Vec::new(),
        };
        let driver = match guest.gpu {
            Some(Gpu::Board(_)) => driver(reaches.display, &modules, kernels)?,
            Some(Gpu::Simulators) => kernels(&kernel::DISPLAY)?,
            Some(Gpu::Registers { model, place }) => registers(model, place, &modules, kernels)?,
            None => Vec::new(),
        };
        let layers = match place {
            Place::Initramfs => None,
            Place::Disks => {
                let mut layers = kernel::LAYERS.ensure(&cache, &kernel, progress)?;
                layers.push(modules.disk.clone());
                Some(layers)
            }
        };
        Ok(Self {
            kernel,
            modules,
            fuse,
            network,
            display,
            driver,
            layers,
        })
    }

    /// Puts kernel, driver and initramfs into the run's folder, and with disks
    /// what is this run's own as one more; what the initramfs takes.
    ///
    /// # Errors
    /// [`AptError`] if something cannot be read or written.
    pub fn lay_out(&self, start: &Start, guest: &Guest, at: &Path) -> Result<Sizes, AptError> {
        link(&self.kernel.image, &at.join(file::KERNEL))?;
        link(&self.modules.driver, &at.join(file::MODULE))?;
        let initrd = at.join(file::INITRD);
        let stdin = start.has_stdin.then(|| at.join(file::STDIN));
        let contents = Contents {
            assets: &guest.assets,
            module: &self.modules.driver,
            fuse: self.fuse.as_deref(),
            network: &self.network,
            display: &self.display,
            driver: &self.driver,
            tree: &guest.tree,
            program: &guest.program,
            files: &guest.files,
            stdin: stdin.as_deref(),
            run: &self.run_file(start, guest),
        };
        match &self.layers {
            None => image::write(&initrd, &guest.sets, &contents),
            Some(layers) => {
                image::write_own(&at.join(file::OWN), &contents)?;
                Ok(image::write_base(&initrd, &guest.assets.init, layers)?)
            }
        }
    }

    fn run_file(&self, start: &Start, guest: &Guest) -> RunFile {
        RunFile {
            argv: guest.argv(start.arguments),
            env: image::environment(&start.env),
            cwd: start.cwd.into(),
            stdin: start.has_stdin.then(|| image::STDIN.into()),
            input: start.input,
            shares: start.shares.clone(),
            outputs: start.outputs.clone(),
            network: image::network(&self.network, start.servers),
            display: Display::of(&self.display, start.every),
            driver: Driver::of(guest.gpu.as_ref(), &self.driver, !self.display.is_empty()),
            module: image::MODULE.into(),
            uid: 0,
        }
    }
}

/// The modules for a display: a driver of a GPU has it as its own.
fn display(
    has_driver: bool,
    own: &OwnModules,
    kernels: impl Fn(&kernel::Modules) -> Result<Vec<PathBuf>, AptError>,
) -> Result<Vec<PathBuf>, AptError> {
    let mut modules = match has_driver {
        true => Vec::new(),
        false => kernels(&kernel::DISPLAY)?,
    };
    modules.push(own.screen.clone());
    Ok(modules)
}

/// The modules for a driver of a GPU.
fn driver(
    has_display: bool,
    own: &OwnModules,
    kernels: impl Fn(&kernel::Modules) -> Result<Vec<PathBuf>, AptError>,
) -> Result<Vec<PathBuf>, AptError> {
    let mut modules = match has_display {
        true => kernels(&kernel::OUTPUTS)?,
        false => Vec::new(),
    };
    modules.extend(kernels(&kernel::DRIVER)?);
    modules.push(own.mirror.clone());
    Ok(modules)
}

/// The modules for a GPU whose registers are gil's. Where they are RAM, the one for its
/// interrupts is there when the driver begins.
fn registers(
    model: Model,
    place: gpu::Place,
    own: &OwnModules,
    kernels: impl Fn(&kernel::Modules) -> Result<Vec<PathBuf>, AptError>,
) -> Result<Vec<PathBuf>, AptError> {
    let driver = match model {
        Model::MaliT628 => kernels(&kernel::PANFROST)?,
        Model::Mali400 => kernels(&kernel::LIMA)?,
    };
    let governors = kernels(&kernel::GOVERNORS)?;
    let own = match place {
        gpu::Place::Device => Vec::new(),
        gpu::Place::Ram => vec![own.gpu.clone()],
    };
    Ok([own, governors, driver].concat())
}

/// A link to where a file really is.
///
/// # Errors
/// [`CacheError`] names the file.
pub fn link(target: &Path, at: &Path) -> Result<(), CacheError> {
    let target = fs::canonicalize(target).at(target)?;
    symlink(&target, at).at(&target)
}
