//! Kernel and initramfs of a machine with a network, to be run in QEMU beside
//! the simulated one.

use crate::apt::AptError;
use crate::archive::Archive;

use crate::copied::Copied;
use crate::files::Files;
use crate::full_system::link;
use crate::image;
use crate::kernel;
use crate::packages::Packages;
use crate::placed::{self, PlaceError};
use crate::platforms::Platforms;
use crate::tree::{Entry, Tree};
use crate::unpacked;
use gil_run_support::cache::{At, Cache, CacheError};
use gil_run_support::folder;
use gil_run_support::progress::Progress;
use std::fs;
use std::path::{Path, PathBuf};

/// Why there is no machine.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The folder has something in it that gil did not put there.
    #[error("{} is not empty: give a new folder, or one that `gil machine` made", .0.display())]
    NotEmpty(PathBuf),
    /// Packages.
    #[error(transparent)]
    Apt(#[from] AptError),
    /// Files.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// What is copied into the machine.
    #[error(transparent)]
    Place(#[from] PlaceError),
}

/// Says that a folder is a machine's.
const MARK: &str = ".gil-machine";
const INIT: &str = include_str!("machine-init");
/// Where the kernel's modules for a network lie, with the order to load them in.
const NETWORK: &str = "usr/lib/gil/network";
/// Those for a GPU of QEMU's.
const GPU: &str = "usr/lib/gil/gpu";

/// A machine's wanted contents.
pub struct Wanted<'a> {
    /// Debian's packages.
    pub packages: &'a [String],
    /// Package files of this machine, each taken alone.
    pub debs: &'a [PathBuf],
    /// Files of this machine.
    pub files: &'a [Copied],
    /// The program that it runs, in words of its shell.
    pub program: &'a [String],
}

/// Writes `kernel` and `initrd` into the folder.
///
/// # Errors
/// [`MachineError`] says what is wrong.
pub fn make(folder: &Path, wanted: &Wanted<'_>, progress: &Progress) -> Result<(), MachineError> {
    placed::check(wanted.files)?;
    if !folder::is_empty(folder)? && !folder.join(MARK).is_file() {
        return Err(MachineError::NotEmpty(folder.into()));
    }
    let cache = Cache::open()?;
    let mut packages = Packages::base(&cache, Platforms::Packages, progress)?;
    if !wanted.packages.is_empty() {
        packages.add(wanted.packages)?;
    }
    let kernel = kernel::ensure(&cache, progress)?;
    let modules = Modules {
        network: kernel::NETWORK.ensure(&cache, &kernel, progress)?,
        gpu: kernel::DISPLAY.ensure(&cache, &kernel, progress)?,
    };
    let was_there = folder.exists();
    fs::create_dir_all(folder).at(folder)?;
    let written = write(folder, wanted, &packages, &kernel.image, &modules, progress);
    if written.is_err() && !was_there {
        // Nothing is in it.
        let _ = fs::remove_dir(folder);
    }
    written
}

/// The kernel's modules that init loads, in the order in which it does.
struct Modules {
    network: Vec<PathBuf>,
    /// Where the machine has one.
    gpu: Vec<PathBuf>,
}

/// Puts all into the folder, or nothing.
fn write(
    folder: &Path,
    wanted: &Wanted<'_>,
    packages: &Packages,
    kernel: &Path,
    modules: &Modules,
    progress: &Progress,
) -> Result<(), MachineError> {
    progress.say("writing the machine's image");
    let work = tempfile::tempdir_in(folder).at(folder)?;
    let initrd = work.path().join("initrd");
    let own = initrd.with_extension("own");
    let mut tree = image::skeleton();
    tree.extend(packages.tree());
    let unpacked = write_own(&own, wanted, modules, tree, progress)?;
    image::join(&initrd, packages.sets(), (&own, unpacked))?;
    let mark = folder.join(MARK);
    fs::write(&mark, "made by gil machine\n").at(&mark)?;
    let at = folder.join("kernel");
    let _ = fs::remove_file(&at);
    link(kernel, &at)?;
    fs::rename(&initrd, folder.join("initrd")).at(folder)?;
    Ok(())
}

/// What this machine adds to its packages.
fn write_own(
    path: &Path,
    wanted: &Wanted<'_>,
    modules: &Modules,
    mut tree: Tree,
    progress: &Progress,
) -> Result<u64, MachineError> {
    let mut archive = Archive::create(path)?;
    archive.file("init", 0o755, INIT.as_bytes())?;
    let program = program_line(wanted.program);
    archive.file("etc/gil/program", 0o644, program.as_bytes())?;
    write_modules(&mut archive, NETWORK, &modules.network)?;
    write_modules(&mut archive, GPU, &modules.gpu)?;
    tree.extend(write_debs(&mut archive, path, wanted.debs, progress)?);
    for found in placed::place(wanted.files, tree)? {
        archive.add(&found)?;
    }
    Ok(archive.finish()?)
}

fn write_modules(
    archive: &mut Archive,
    folder: &str,
    modules: &[PathBuf],
) -> Result<(), CacheError> {
    let mut order = String::new();
    for module in modules {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        archive.copy(&format!("{folder}/{name}"), 0o644, module)?;
        order += &format!("{name}\n");
    }
    archive.file(&format!("{folder}/order"), 0o644, order.as_bytes())
}

/// What is in them.
fn write_debs(
    archive: &mut Archive,
    path: &Path,
    debs: &[PathBuf],
    progress: &Progress,
) -> Result<Tree, MachineError> {
    let root = path.with_extension("root");
    unpacked::unpack(debs, &root, progress)?;
    archive.tree(&root)?;
    let mut tree = Tree::default();
    unpacked::visit(&root, &mut |found| -> Result<(), CacheError> {
        tree.insert(&found.name, Entry::from(&found.kind));
        Ok(())
    })?;
    fs::remove_dir_all(&root).at(&root)?;
    Ok(tree)
}

/// Words of the machine's shell.
fn program_line(words: &[String]) -> String {
    let quoted = words
        .iter()
        .map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    quoted.collect::<Vec<_>>().join(" ") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_sees_the_words_as_they_were_given() {
        let words = ["sh", "-c", "echo 'it is' $HOME"].map(str::to_owned);
        assert_eq!(
            program_line(&words),
            "'sh' '-c' 'echo '\\''it is'\\'' $HOME'\n"
        );
    }
}
