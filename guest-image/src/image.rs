//! The guest's files beside those of packages: those of every guest, and the run's own.
//! They are in one initramfs with the packages' files or, where a simulator has disks, in
//! a small initramfs and on a disk of the run's own.

use crate::apt::AptError;
use crate::archive::{Archive, Sizes};
use crate::assets::Assets;
use crate::copied::{Found, folder_mode};
use crate::disk_image;
use crate::files::Files;
use crate::gpu::Gpu;
use crate::layers::PackageSet;
use crate::libraries::GuestLibraries;
use crate::program::{LOCAL_FOLDER, Program};
use crate::staged::Staged;
use crate::tree::{Entry, MERGED, PROGRAM_FOLDERS, Tree};
use gil_run_support::cache::{At, CacheError};
use gil_run_support::folder::create_file;
use gil_run_support::tool::ToolError;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file that the guest's init reads.
#[derive(Clone, Debug, Serialize)]
pub struct RunFile {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Its environment.
    pub env: BTreeMap<String, String>,
    /// Its working folder.
    pub cwd: String,
    /// The file it reads as standard input.
    pub stdin: Option<String>,
    /// How it reads what the host is asked for, instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Live>,
    /// Folders of this machine.
    pub shares: Vec<Share>,
    /// What is copied to this machine when the program has ended.
    pub outputs: Vec<String>,
    /// The network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// The display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display: Option<Display>,
    /// The driver of a GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<Driver>,
    /// gil's own driver.
    pub module: String,
    /// Its user.
    pub uid: u32,
}

/// How input that the guest asks the host for reaches the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Live {
    /// Through a pipe.
    Pipe,
    /// Through a terminal, which is the program's output, too.
    Terminal,
}

/// The guest's network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Network {
    /// The kernel's modules, in the order in which they are loaded.
    pub modules: Vec<String>,
    /// Where the host's servers are if nothing else is reached; none: it leads outside.
    pub servers: Option<Ipv4Addr>,
}

/// The network that has these modules; none without.
pub fn network(modules: &[PathBuf], servers: Option<Ipv4Addr>) -> Option<Network> {
    let modules: Vec<String> = modules.iter().map(|path| module_path(path)).collect();
    (!modules.is_empty()).then_some(Network { modules, servers })
}

/// The guest's display.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Display {
    /// Modules in the order in which they are loaded; the last one is gil's own.
    pub modules: Vec<String>,
    /// Microseconds of simulated time between pictures; 0: there are no such pictures.
    pub every_us: u64,
}

impl Display {
    /// The display that has these modules; none without.
    pub fn of(modules: &[PathBuf], every: Option<Duration>) -> Option<Self> {
        let modules: Vec<String> = modules.iter().map(|path| module_path(path)).collect();
        let every_us = every.map_or(0, |every| every.as_micros() as u64);
        (!modules.is_empty()).then_some(Self { modules, every_us })
    }
}

/// The driver of a GPU that the guest's kernel has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Driver {
    /// Modules in the order in which they are loaded.
    pub modules: Vec<String>,
    /// The driver as which the last one, gil's own, answers; none: all are the kernel's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it has the display.
    pub outputs: bool,
}

impl Driver {
    /// The driver of this GPU, which has these modules, and the display if there is one.
    pub fn of(gpu: Option<&Gpu>, modules: &[PathBuf], outputs: bool) -> Option<Self> {
        let name = match gpu? {
            Gpu::Board(name) => Some(name.clone()),
            Gpu::Simulators | Gpu::Registers { .. } => None,
        };
        let modules = modules.iter().map(|path| module_path(path)).collect();
        Some(Self {
            modules,
            name,
            outputs,
        })
    }
}

/// Where the guest has a module of the kernel's.
fn module_path(module: &Path) -> String {
    let name = module.file_name().unwrap_or_default();
    format!("/usr/lib/gil/{}", name.display())
}

/// A folder of this machine in the guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Where it is mounted.
    pub at: String,
    /// Whether nothing can be changed there.
    pub read_only: bool,
}

/// The path of the module for shared folders.
pub const FUSE: &str = "/usr/lib/gil/fuse.ko";
/// The driver's path.
pub const MODULE: &str = "/usr/lib/gil/gil.ko";
/// The path of `--stdin`'s contents.
pub const STDIN: &str = "/etc/gil/stdin";

/// What this run adds to its packages.
pub struct Contents<'a> {
    /// gil's own files.
    pub assets: &'a Assets,
    /// The driver, built.
    pub module: &'a Path,
    /// The kernel's module for shared folders, if the guest needs it.
    pub fuse: Option<&'a Path>,
    /// The kernel's modules for a network, if there is one.
    pub network: &'a [PathBuf],
    /// The kernel's modules for a display, and gil's own, if there is one.
    pub display: &'a [PathBuf],
    /// The kernel's modules for a driver of a GPU, and gil's own, if there is one.
    pub driver: &'a [PathBuf],
    /// All of the guest's packages.
    pub tree: &'a Tree,
    /// The program.
    pub program: &'a Program,
    /// More files.
    pub files: &'a [Found],
    /// Standard input.
    pub stdin: Option<&'a Path>,
    /// For the guest's init.
    pub run: &'a RunFile,
}

/// What init makes the guest's root of, and where: see the crate `gil-init`.
mod place {
    /// What every guest has, below the disks.
    pub const SKELETON: &str = ".gil/skeleton";
    /// The kernel's modules, and their order.
    pub const MODULES: &str = ".gil/modules";
}

/// The name in the guest of what is in the initramfs under this one.
pub fn in_root(name: &str) -> &str {
    let inside = name.strip_prefix(place::SKELETON);
    let inside = inside.and_then(|name| name.strip_prefix('/'));
    inside.unwrap_or(name)
}

/// Writes the initramfs of a guest without disks at `path`, with the packages in
/// it.
///
/// # Errors
/// [`AptError`] if something cannot be read or written.
pub fn write(path: &Path, sets: &[PackageSet], contents: &Contents) -> Result<Sizes, AptError> {
    let own = path.with_extension("run");
    let mut archive = Archive::create_private(&own)?;
    archive.copy("init", 0o755, &contents.assets.init)?;
    write_run(&mut archive, path, contents)?;
    let unpacked = archive.finish()?;
    join(path, sets, (&own, unpacked))
}

/// Writes the initramfs at `path`: the skeleton, the packages, and the archive
/// `own`, which is removed; beside it stands what it takes unpacked.
///
/// # Errors
/// [`AptError`] if something cannot be read or written.
pub fn join(path: &Path, sets: &[PackageSet], own: (&Path, u64)) -> Result<Sizes, AptError> {
    let (own, own_unpacked) = own;
    let mut out = create_file(path).at(path)?;
    let mut unpacked = own_unpacked;
    let part = path.with_extension("part");
    unpacked += write_skeleton(&part)?;
    append(&mut out, path, &part)?;
    for set in sets {
        unpacked += set.write_archive(&part)?;
        append(&mut out, path, &part)?;
    }
    append(&mut out, path, own)?;
    let archive = out.metadata().at(path)?.len();
    Ok(Sizes { archive, unpacked })
}

/// Writes the initramfs of every guest with disks at `path`: init, and the modules
/// with which it makes a root of the disks. Nothing of a run is in it.
///
/// # Errors
/// [`CacheError`] if something cannot be read or written.
pub fn write_base(path: &Path, init: &Path, modules: &[PathBuf]) -> Result<Sizes, CacheError> {
    let mut archive = Archive::create_private(path)?;
    archive.copy("init", 0o755, init)?;
    write_modules(&mut archive, modules)?;
    archive.enter(place::SKELETON)?;
    add_skeleton(&mut archive)?;
    let unpacked = archive.finish()?;
    let archive = fs::metadata(path).at(path)?.len();
    Ok(Sizes { archive, unpacked })
}

/// Writes the disk of what is this run's own at `path`.
///
/// # Errors
/// [`AptError`] if something cannot be read or written.
pub fn write_own(path: &Path, contents: &Contents) -> Result<(), AptError> {
    let folder = path.with_extension("files");
    write_run(&mut Staged::create(&folder)?, path, contents)?;
    create_file(path).at(path)?;
    disk_image::make(&folder, path).map_err(|error| match error {
        // It is a run's folder that is full, not the cache.
        AptError::Tool(ToolError::Full { place: path }) => CacheError::Full { path }.into(),
        other => other,
    })?;
    Ok(fs::remove_dir_all(&folder).at(&folder)?)
}

/// Puts an archive behind the others, and removes it.
fn append(out: &mut File, path: &Path, part: &Path) -> Result<(), CacheError> {
    let mut file = File::open(part).at(part)?;
    let len = io::copy(&mut file, out).at(path)?;
    // Each archive begins at a multiple of four.
    let padding = [0; 4];
    let short = (4 - len % 4) % 4;
    io::Write::write_all(out, &padding[..short as usize]).at(path)?;
    fs::remove_file(part).at(part)
}

/// The modules, with the order in which they are loaded.
fn write_modules(archive: &mut Archive, modules: &[PathBuf]) -> Result<(), CacheError> {
    archive.enter(place::MODULES)?;
    let mut order = String::new();
    for module in modules {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        archive.copy(&name, 0o644, module)?;
        order += &format!("{name}\n");
    }
    archive.file("order", 0o644, order.as_bytes())?;
    archive.enter("")
}

/// Programs that Debian's busybox has. A package that has one of its own
/// replaces the link.
pub fn applets() -> impl Iterator<Item = String> {
    let names = include_str!("applets.txt").split_whitespace();
    names.map(|name| format!("usr/bin/{name}"))
}

/// The target of these links.
pub const BUSYBOX: &str = "busybox";

/// What the guest has without any package.
pub fn skeleton() -> Tree {
    let mut tree = Tree::default();
    let own = ["etc/gil", "usr/lib/gil", LOCAL_FOLDER];
    let vendors = gil_guest_names::vendors().map(|vendors| vendors.folder);
    for folder in FOLDERS.into_iter().chain(own).chain(vendors) {
        tree.insert(folder, Entry::Folder);
    }
    for folder in MERGED {
        tree.insert(&format!("usr/{folder}"), Entry::Folder);
    }
    for (path, _) in ACCOUNTS {
        let executable = false;
        tree.insert(path, Entry::File { executable });
    }
    for path in applets() {
        let target = BUSYBOX.into();
        tree.insert(&path, Entry::Link { target });
    }
    tree
}

/// The folders and files that every Linux program expects; first, so that
/// packages find `/lib` and its like as the links Debian has.
fn write_skeleton(path: &Path) -> Result<u64, CacheError> {
    let mut archive = Archive::create(path)?;
    // The kernel's own has 1777.
    archive.folder(".", 0o755)?;
    add_skeleton(&mut archive)?;
    archive.finish()
}

fn add_skeleton(archive: &mut Archive) -> Result<(), CacheError> {
    for folder in MERGED {
        archive.folder(&format!("usr/{folder}"), 0o755)?;
        archive.link(folder, format!("usr/{folder}").as_bytes())?;
    }
    for folder in FOLDERS {
        archive.folder(folder, folder_mode(folder))?;
    }
    for (name, text) in ACCOUNTS {
        archive.file(name, 0o644, text.as_bytes())?;
    }
    for path in applets() {
        archive.link(&path, BUSYBOX.as_bytes())?;
    }
    Ok(())
}

/// Folders that every Linux program expects, but for those in `/usr`.
const FOLDERS: [&str; 10] = [
    "dev", "proc", "sys", "run", "etc", "home", "mnt", "tmp", "var/tmp", "root",
];

/// Files of accounts and names.
pub const ACCOUNTS: [(&str, &str); 4] = [
    (
        "etc/passwd",
        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    ),
    ("etc/group", "root:x:0:\nnogroup:x:65534:\n"),
    ("etc/hosts", "127.0.0.1 localhost gil\n"),
    (
        "etc/nsswitch.conf",
        "passwd: files\ngroup: files\nhosts: files\n",
    ),
];

fn write_run(files: &mut impl Files, path: &Path, contents: &Contents) -> Result<(), CacheError> {
    files.copy(MODULE.trim_start_matches('/'), 0o644, contents.module)?;
    if let Some(fuse) = contents.fuse {
        files.copy(FUSE.trim_start_matches('/'), 0o644, fuse)?;
    }
    let modules = contents.network.iter().chain(contents.display);
    for module in modules.chain(contents.driver) {
        let path = module_path(module);
        files.copy(path.trim_start_matches('/'), 0o644, module)?;
    }
    write_libraries(files, contents)?;
    if let Program::Local(local) = contents.program {
        files.file(&local.guest_path(), 0o755, &local.bytes)?;
    }
    for found in contents.files {
        files.add(found)?;
    }
    if let Some(stdin) = contents.stdin {
        files.copy(STDIN.trim_start_matches('/'), 0o644, stdin)?;
    }
    let run = serde_json::to_vec(contents.run)
        .map_err(io::Error::from)
        .at(path)?;
    files.file("etc/gil/run.json", 0o644, &run)
}

/// The loader of each architecture looks for a library by its name, and finds
/// its own.
fn write_libraries(files: &mut impl Files, contents: &Contents) -> Result<(), CacheError> {
    let libraries = GuestLibraries {
        assets: contents.assets,
        tree: contents.tree,
        has_driver: contents.run.driver.is_some(),
    };
    for (name, path) in libraries.files() {
        files.copy(&name, 0o644, &path)?;
    }
    for (name, target) in libraries.links() {
        files.link(&name, target.as_bytes())?;
    }
    for (name, text) in libraries.entries() {
        files.file(&name, 0o644, text.as_bytes())?;
    }
    Ok(())
}

/// The environment a program starts with; `added` replaces what is usual.
pub fn environment(added: &[(String, String)]) -> BTreeMap<String, String> {
    let path: Vec<String> = PROGRAM_FOLDERS.iter().map(|f| format!("/{f}")).collect();
    let usual = [
        ("PATH", path.join(":")),
        ("HOME", "/root".into()),
        ("LANG", "C.UTF-8".into()),
        ("TERM", "dumb".into()),
    ];
    let usual = usual.map(|(name, value)| (name.to_owned(), value));
    usual.into_iter().chain(added.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_of_an_unpacked_guest_is_not_everyones() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("skeleton");
        write_skeleton(&path).unwrap();
        let first = cpio::newc::Reader::new(File::open(&path).unwrap()).unwrap();
        assert_eq!(first.entry().name(), ".");
        assert_eq!(first.entry().mode() & 0o7777, 0o755);
    }

    #[test]
    fn added_variables_replace_the_usual_ones() {
        let env = environment(&[("HOME".into(), "/x".into())]);
        assert_eq!(env["HOME"], "/x");
        assert!(env["PATH"].contains("/usr/bin"));
    }
}
