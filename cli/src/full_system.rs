//! What a full system boots: Debian's kernel, and an initramfs with gil's driver
//! and init.

use crate::args::RunArgs;
use crate::cache::{At, Cache, CacheError};
use crate::folder::file;
use crate::guest::Guest;
use crate::image::{self, Contents, RunFile};
use crate::kernel::{self, Kernel};
use crate::memory;
use crate::module::{self, Detect};
use crate::progress::Progress;
use crate::run::RunError;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A kernel and the driver for it.
pub struct FullSystem {
    /// The kernel.
    pub kernel: Kernel,
    /// The driver.
    pub module: PathBuf,
}

impl FullSystem {
    /// Fetches and builds what is not there yet.
    ///
    /// # Errors
    /// [`RunError`] says what cannot be had.
    pub fn prepare(guest: &Guest, detect: Detect, progress: &Progress) -> Result<Self, RunError> {
        let cache = Cache::open()?;
        let kernel = kernel::ensure(&cache, progress)?;
        let module = module::ensure(&cache, &kernel, &guest.assets.driver, detect, progress)?;
        Ok(Self { kernel, module })
    }

    /// Puts kernel, driver and initramfs into the run's folder; how much memory
    /// the guest gets.
    ///
    /// # Errors
    /// [`RunError`] if something cannot be written, or the guest has too little
    /// memory for it.
    pub fn lay_out(&self, args: &RunArgs, guest: &Guest, at: &Path) -> Result<u64, RunError> {
        link(&self.kernel.image, &at.join(file::KERNEL))?;
        link(&self.module, &at.join(file::MODULE))?;
        let initrd = at.join(file::INITRD);
        let stdin = args.stdin.is_some().then(|| at.join(file::STDIN));
        let contents = Contents {
            assets: &guest.assets,
            module: &self.module,
            tree: &guest.tree,
            program: &guest.program,
            files: &args.files,
            stdin: stdin.as_deref(),
            run: &run_file(args, guest),
        };
        let sizes = image::write(&initrd, &guest.sets, &contents)?;
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
