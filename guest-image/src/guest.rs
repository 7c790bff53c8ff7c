//! A guest's contents, for any simulator: Debian's packages, gil's libraries, the
//! program.

use crate::apt::AptError;
use crate::arch::Arch;
use crate::assets::{self, AssetError, Assets, HostPart};
use crate::brought::{self, Libraries};
use crate::copied::{Copied, Found};
use crate::elf::Elf;
use crate::gpu::Gpu;
use crate::image;
use crate::interpreter;
use crate::layers::PackageSet;
use crate::packages::Packages;
use crate::placed::{self, PlaceError};
use crate::platforms::Platforms;
use crate::program::{self, Local, Program, ProgramError};
use crate::tree::Tree;
use gil_run_support::cache::{Cache, CacheError};
use gil_run_support::progress::Progress;

/// Why there is no guest.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// Packages.
    #[error(transparent)]
    Apt(#[from] AptError),
    /// gil's own files.
    #[error(transparent)]
    Assets(#[from] AssetError),
    /// Files.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// What is copied into the guest.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The program.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

/// A guest's wanted contents.
pub struct Wanted<'a> {
    /// The program, as the user named it.
    pub program: &'a str,
    /// Debian's packages.
    pub packages: &'a [String],
    /// Where platforms come from.
    pub platforms: Platforms,
    /// Files of this machine.
    pub files: &'a [Copied],
    /// The GPU that Debian's Mesa draws on.
    pub gpu: Option<Gpu>,
}

/// What draws by a driver of the kernel: Debian's Mesa, and the loaders of EGL and OpenGL
/// ES.
const MESA: [&str; 5] = [
    "libegl1",
    "libgles1",
    "libgles2",
    "libegl-mesa0",
    "libgl1-mesa-dri",
];

impl Wanted<'_> {
    /// Those of Debian, with what its driver needs.
    fn packages(&self) -> Vec<String> {
        let mesa = MESA.iter().filter(|_| self.gpu.is_some());
        let mesa = mesa.map(|&name| name.to_owned());
        self.packages.iter().cloned().chain(mesa).collect()
    }
}

/// The guest's files, but for those of a kernel.
pub struct Guest {
    /// gil's own.
    pub assets: Assets,
    /// Packages.
    pub sets: Vec<PackageSet>,
    /// All that the packages hold.
    pub tree: Tree,
    /// The program to run.
    pub program: Program,
    /// Files of this machine, each with its place.
    pub files: Vec<Found>,
    /// The GPU that Debian's Mesa draws on.
    pub gpu: Option<Gpu>,
}

/// Fetches and builds what is not there yet, with the part of gil that the
/// simulator loads.
///
/// # Errors
/// [`GuestError`] says what cannot be had.
pub fn prepare(
    wanted: &Wanted<'_>,
    part: HostPart,
    progress: &Progress,
) -> Result<Guest, GuestError> {
    let cache = Cache::open()?;
    let mut packages = Packages::base(&cache, wanted.platforms, progress)?;
    let names = wanted.packages();
    if !names.is_empty() {
        packages.add(&names)?;
    }
    let mut program = program::find(wanted.program, &tree(&packages))?;
    let mut libraries = Libraries::default();
    if let Program::Local(local) = &mut program {
        libraries = add_needs(local, wanted.gpu.is_some(), &mut packages)?;
        local.folder = libraries.folder.clone();
    }
    let tree = tree(&packages);
    let mut files = placed::place(wanted.files, tree.clone())?;
    if let Program::Local(local) = &program {
        let added = || files.iter().map(|found| found.name.as_str());
        libraries.check(local, &tree, added())?;
        interpreter::check(local, &tree, added())?;
    }
    // What the user puts in one of their places replaces it.
    files.splice(..0, libraries.files);
    Ok(Guest {
        assets: assets::ensure(packages.has(Arch::Armhf), part, progress)?,
        tree,
        sets: packages.into_sets(),
        program,
        files,
        gpu: wanted.gpu.clone(),
    })
}

/// Adds the packages of what a local program runs by: its interpreter, or the
/// libraries that it links with and does not bring; Mesa, too, if it is a 32-bit one that
/// draws by a driver.
fn add_needs(local: &Local, has_gpu: bool, packages: &mut Packages) -> Result<Libraries, AptError> {
    if let Some(package) = interpreter::package(local, &tree(packages)) {
        packages.add(&[package.into()])?;
    }
    let links = |elf: &&Elf| !elf.libraries.is_empty();
    let arch = local.elf.as_ref().filter(links).map(|elf| elf.arch);
    if let Some(arch) = arch {
        packages.support(arch)?;
    }
    if has_gpu && arch == Some(Arch::Armhf) {
        packages.add(&MESA.map(|name| Arch::Armhf.package(name)))?;
    }
    let libraries = brought::find(local, &tree(packages));
    for loader in gil_guest_names::loaders() {
        let arch = arch.filter(|_| libraries.others.contains(loader.file));
        if let Some(arch) = arch.filter(|&arch| !tree(packages).has_library(arch, loader.file)) {
            packages.add(&[arch.package(loader.package)])?;
        }
    }
    Ok(libraries)
}

fn tree(packages: &Packages) -> Tree {
    let mut all = image::skeleton();
    all.extend(packages.tree());
    all
}

impl Guest {
    /// The program's path in the guest, and its arguments.
    pub fn argv(&self, arguments: &[String]) -> Vec<String> {
        let program = match &self.program {
            Program::Guest(path) => path.clone(),
            Program::Local(local) => format!("/{}", local.guest_path()),
        };
        std::iter::once(program)
            .chain(arguments.iter().cloned())
            .collect()
    }
}
