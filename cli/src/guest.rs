//! What a run puts into its guest, whatever simulates it: Debian's packages,
//! gil's libraries, the program.

use crate::arch::Arch;
use crate::args::RunArgs;
use crate::assets::{self, Assets, HostPart};
use crate::copied::Found;
use crate::image;
use crate::packages::{PackageSet, Packages};
use crate::placed;
use crate::platforms::Platforms;
use crate::program::{self, Local, Program};
use crate::run::RunError;
use crate::tree::Tree;
use gil_run_support::cache::Cache;
use gil_run_support::progress::Progress;

/// The guest's files, but for those of a kernel.
pub struct Guest {
    /// gil's own.
    pub assets: Assets,
    /// Packages.
    pub sets: Vec<PackageSet>,
    /// All that the packages hold.
    pub tree: Tree,
    /// What is to run.
    pub program: Program,
    /// Files of this machine, each with its place.
    pub files: Vec<Found>,
}

/// Fetches and builds what is not there yet, with the part of gil that the
/// simulator loads.
///
/// # Errors
/// [`RunError`] says what cannot be had.
pub fn prepare(args: &RunArgs, part: HostPart, progress: &Progress) -> Result<Guest, RunError> {
    let cache = Cache::open()?;
    let platforms = Platforms::with_packages(args.package_platforms);
    let mut packages = Packages::base(&cache, platforms, progress)?;
    if !args.packages.is_empty() {
        packages.add(&args.packages)?;
    }
    let program = program::find(args.program(), &tree(&packages))?;
    if let Program::Local(local) = &program {
        add_libraries(local, &mut packages)?;
    }
    let tree = tree(&packages);
    let files = placed::place(&args.files, tree.clone())?;
    if let Program::Local(local) = &program {
        local.check_libraries(&tree, files.iter().map(|found| found.name.as_str()))?;
    }
    progress.say("building what changed of gil");
    Ok(Guest {
        assets: assets::ensure(packages.has(Arch::Armhf), part)?,
        tree,
        sets: packages.into_sets(),
        program,
        files,
    })
}

/// What a local program links with.
fn add_libraries(local: &Local, packages: &mut Packages) -> Result<(), RunError> {
    if local.libraries.is_empty() {
        return Ok(());
    }
    packages.support(local.arch)?;
    for loader in gil_guest_names::loaders() {
        let needs_it = local.libraries.iter().any(|name| name == loader.file);
        if needs_it && !tree(packages).has_library(local.arch, loader.file) {
            packages.add(&[local.arch.package(loader.package)])?;
        }
    }
    Ok(())
}

fn tree(packages: &Packages) -> Tree {
    let mut all = image::skeleton();
    all.extend(packages.tree());
    all
}

impl Guest {
    /// The program's path in the guest, and its arguments.
    pub fn argv(&self, args: &RunArgs) -> Vec<String> {
        let program = match &self.program {
            Program::Guest(path) => path.clone(),
            Program::Local(local) => format!("/{}", local.guest_path()),
        };
        std::iter::once(program)
            .chain(args.arguments().iter().cloned())
            .collect()
    }
}
