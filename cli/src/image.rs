//! The guest's initramfs: the base every guest has, the packages asked for, and
//! what is this run's own.

use crate::archive::{Archive, MERGED, Sizes};
use crate::assets::Assets;
use crate::cache::{At, CacheError};
use crate::copied::{Copied, Kind};
use crate::folder::create_file;
use crate::packages::PackageSet;
use crate::program::Program;
use crate::tree::{Entry, PROGRAM_FOLDERS, Tree};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What the guest's init reads.
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
    /// The driver.
    pub module: String,
    /// Its user.
    pub uid: u32,
}

/// Where the driver lies.
pub const MODULE: &str = "/usr/lib/gil/gil.ko";
/// Where `--stdin` lies.
pub const STDIN: &str = "/etc/gil/stdin";
/// The guest's OpenCL library, among those of its architecture.
pub const OPENCL: &str = "libgil_opencl.so";
/// Debian's OpenCL loader.
pub const LOADER: &str = "libOpenCL.so.1";

/// What this run adds to its packages.
pub struct Contents<'a> {
    /// gil's own files.
    pub assets: &'a Assets,
    /// The driver, built.
    pub module: &'a Path,
    /// All of the guest's packages.
    pub tree: &'a Tree,
    /// The program.
    pub program: &'a Program,
    /// More files.
    pub files: &'a [Copied],
    /// Standard input.
    pub stdin: Option<&'a Path>,
    /// For the guest's init.
    pub run: &'a RunFile,
}

/// Writes the initramfs at `path`.
///
/// # Errors
/// [`CacheError`] if something cannot be read or written.
pub fn write(path: &Path, sets: &[PackageSet], contents: &Contents) -> Result<Sizes, CacheError> {
    let own = path.with_extension("run");
    let unpacked = write_run(&own, contents)?;
    join(path, sets, (&own, unpacked))
}

/// Writes the initramfs at `path`: the skeleton, the packages, and the archive
/// `own`, which is removed; beside it stands what it takes unpacked.
///
/// # Errors
/// [`CacheError`] if something cannot be read or written.
pub fn join(path: &Path, sets: &[PackageSet], own: (&Path, u64)) -> Result<Sizes, CacheError> {
    let skeleton = path.with_extension("skeleton");
    let (own, mut unpacked) = own;
    unpacked += write_skeleton(&skeleton)?;
    unpacked += sets.iter().map(|set| set.unpacked).sum::<u64>();
    let parts = std::iter::once(skeleton.as_path())
        .chain(sets.iter().map(|set| set.image.as_path()))
        .chain([own]);
    let mut out = create_file(path).at(path)?;
    for part in parts {
        let mut file = File::open(part).at(part)?;
        let len = io::copy(&mut file, &mut out).at(path)?;
        // Each archive begins at a multiple of four.
        let padding = [0; 4];
        let short = (4 - len % 4) % 4;
        io::Write::write_all(&mut out, &padding[..short as usize]).at(path)?;
    }
    for part in [skeleton.as_path(), own] {
        fs::remove_file(part).at(part)?;
    }
    let archive = out.metadata().at(path)?.len();
    Ok(Sizes { archive, unpacked })
}

/// Programs that Debian's busybox has. A package that has one of its own
/// replaces the link.
pub fn applets() -> impl Iterator<Item = String> {
    let names = include_str!("applets.txt").split_whitespace();
    names.map(|name| format!("usr/bin/{name}"))
}

/// What they are links to.
pub const BUSYBOX: &str = "busybox";

/// What the guest has before any package.
pub fn skeleton() -> Tree {
    let mut tree = Tree::default();
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
    for folder in MERGED {
        archive.folder(&format!("usr/{folder}"), 0o755)?;
        archive.link(folder, format!("usr/{folder}").as_bytes())?;
    }
    for folder in ["dev", "proc", "sys", "run", "etc", "var/tmp", "home", "mnt"] {
        archive.folder(folder, 0o755)?;
    }
    archive.folder("tmp", 0o1777)?;
    archive.folder("root", 0o700)?;
    for (name, text) in ACCOUNTS {
        archive.file(name, 0o644, text.as_bytes())?;
    }
    for path in applets() {
        archive.link(&path, BUSYBOX.as_bytes())?;
    }
    archive.finish()
}

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

fn write_run(path: &Path, contents: &Contents) -> Result<u64, CacheError> {
    let mut archive = Archive::create_private(path)?;
    archive.copy("init", 0o755, &contents.assets.init)?;
    archive.copy(MODULE.trim_start_matches('/'), 0o644, contents.module)?;
    write_opencl(&mut archive, contents)?;
    if let Program::Local(local) = contents.program {
        archive.file(&local.guest_path(), 0o755, &local.bytes)?;
    }
    for file in contents.files {
        write_copied(&mut archive, file)?;
    }
    if let Some(stdin) = contents.stdin {
        archive.copy(STDIN.trim_start_matches('/'), 0o644, stdin)?;
    }
    let run = serde_json::to_vec(contents.run)
        .map_err(io::Error::from)
        .at(path)?;
    archive.file("etc/gil/run.json", 0o644, &run)?;
    archive.finish()
}

/// As an ICD vendor library for the stock loader; in place of the loader where
/// no package has one. The loader of each architecture looks for the library by
/// its name, and finds its own.
fn write_opencl(archive: &mut Archive, contents: &Contents) -> Result<(), CacheError> {
    for (arch, library) in contents.assets.opencl_libraries() {
        let folder = arch.library_folder();
        archive.copy(&format!("{folder}/{OPENCL}"), 0o644, library)?;
        if !contents.tree.has_library(arch, LOADER) {
            archive.link(&format!("{folder}/{LOADER}"), OPENCL.as_bytes())?;
        }
    }
    let icd = format!("{OPENCL}\n");
    archive.file("etc/OpenCL/vendors/gil.icd", 0o644, icd.as_bytes())
}

/// A file of this machine, or a folder with all in it.
///
/// # Errors
/// [`CacheError`] if it cannot be read.
pub fn write_copied(archive: &mut Archive, file: &Copied) -> Result<(), CacheError> {
    file.visit(&mut |found| match &found.kind {
        Kind::Folder => archive.folder(&found.name, 0o755),
        Kind::File(mode) => archive.copy(&found.name, *mode, &found.source),
        Kind::Link(target) => archive.link(&found.name, target.as_os_str().as_bytes()),
    })
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
    fn added_variables_replace_the_usual_ones() {
        let env = environment(&[("HOME".into(), "/x".into())]);
        assert_eq!(env["HOME"], "/x");
        assert!(env["PATH"].contains("/usr/bin"));
    }
}
