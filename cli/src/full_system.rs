//! What a full system boots: Debian's kernel, and an initramfs with gil's driver
//! and init; its packages are there or on disks.

use crate::args::RunArgs;
use crate::guest::Guest;
use crate::image::{self, Contents, RunFile};
use crate::kernel::{self, Kernel};
use crate::memory;
use crate::module::{self, Detect, OwnModules};
use crate::run::RunError;
use gil_run_support::cache::{At, Cache, CacheError};
use gil_run_support::folder::file;
use gil_run_support::progress::Progress;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A kernel and the modules for it.
pub struct FullSystem {
    /// The kernel.
    pub kernel: Kernel,
    /// gil's own modules.
    modules: OwnModules,
    /// What mounts disks, if the simulator has them for the packages.
    layers: Option<Vec<PathBuf>>,
}

/// Where a simulator has the packages' files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the initramfs.
    Initramfs,
    /// On disks in memory.
    Disks,
}

impl FullSystem {
    /// Fetches and builds what is not there yet.
    ///
    /// # Errors
    /// [`RunError`] says what cannot be had.
    pub fn prepare(
        guest: &Guest,
        place: Place,
        detect: Detect,
        progress: &Progress,
    ) -> Result<Self, RunError> {
        let cache = Cache::open()?;
        let kernel = kernel::ensure(&cache, progress)?;
        let modules = module::ensure(&cache, &kernel, &guest.assets.driver, detect, progress)?;
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
            layers,
        })
    }

    /// Puts kernel, driver and initramfs into the run's folder; how much memory
    /// the guest gets.
    ///
    /// # Errors
    /// [`RunError`] if something cannot be written, or the guest has too little
    /// memory for it.
    pub fn lay_out(&self, args: &RunArgs, guest: &Guest, at: &Path) -> Result<u64, RunError> {
        link(&self.kernel.image, &at.join(file::KERNEL))?;
        link(&self.modules.driver, &at.join(file::MODULE))?;
        let initrd = at.join(file::INITRD);
        let stdin = args.stdin.is_some().then(|| at.join(file::STDIN));
        let contents = Contents {
            assets: &guest.assets,
            module: &self.modules.driver,
            tree: &guest.tree,
            program: &guest.program,
            files: &guest.files,
            stdin: stdin.as_deref(),
            run: &run_file(args, guest),
        };
        let base = match &self.layers {
            None => image::Base::Unpacked(&guest.sets),
            Some(layers) => image::Base::Disks(layers),
        };
        let sizes = image::write(&initrd, &base, &contents)?;
        Ok(memory::choose(args.memory, sizes)?)
    }
}

/// A link to where a file really is.
///
/// # Errors
/// [`CacheError`] names the file.
pub fn link(target: &Path, at: &Path) -> Result<(), CacheError> {
    let target = fs::canonicalize(target).at(target)?;
    symlink(&target, at).at(&target)
}

fn run_file(args: &RunArgs, guest: &Guest) -> RunFile {
    RunFile {
        argv: guest.argv(args),
        env: image::environment(&args.env),
        cwd: args.cwd.clone(),
        stdin: args.stdin.as_ref().map(|_| image::STDIN.into()),
        module: image::MODULE.into(),
        uid: 0,
    }
}
