//! Builds `gil.ko`, `gil_disk.ko`, `gil_screen.ko` and `gil_mirror.ko` for the guest's kernel from their sources.

use crate::apt::AptError;
use crate::kernel::{self, Kernel};
use gil_run_support::cache::{self, At, Cache, CacheError};
use gil_run_support::progress::Progress;
use gil_run_support::tool;
use std::fs;
use std::path::{Path, PathBuf};

/// How the simulator notices the driver's doorbell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Detect {
    /// By a marker instruction in the driver.
    Marker,
    /// By the address of the driver's symbol; the driver has no marker.
    Symbol,
}

impl Detect {
    /// As the plugin's argument has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Marker => "marker",
            Self::Symbol => "symbol",
        }
    }
}

/// The guest's modules that are gil's own.
pub struct OwnModules {
    /// The driver.
    pub driver: PathBuf,
    /// Disks in memory.
    pub disk: PathBuf,
    /// Pictures of the display.
    pub screen: PathBuf,
    /// A GPU's driver, whose calls the board executes.
    pub mirror: PathBuf,
    /// Interrupts of a GPU whose registers are RAM.
    pub gpu: PathBuf,
}

/// Their files' names.
const DRIVER: &str = "gil.ko";
const DISK: &str = "gil_disk.ko";
const SCREEN: &str = "gil_screen.ko";
const MIRROR: &str = "gil_mirror.ko";
const GPU: &str = "gil_gpu.ko";

/// The modules, from the cache or built from `source`.
///
/// # Errors
/// [`AptError`] if it does not build.
pub fn ensure(
    cache: &Cache,
    kernel: &Kernel,
    source: &Path,
    detect: Detect,
    progress: &Progress,
) -> Result<OwnModules, AptError> {
    let sources = read_sources(source)?;
    let key = cache::key(&(&sources, &kernel.release, kernel::compiler()?, detect));
    let folder = Path::new("module").join(format!("{}-{key}", kernel.release));
    let place = cache.root().join(&folder);
    if !cache.is_used(&place) {
        let lock = cache.lock(progress)?;
        if !cache.is_used(&place) {
            progress.say("building the guest's driver");
            cache.publish_files(&lock, &folder, |at| build(at, kernel, &sources, detect))?;
        }
    }
    Ok(OwnModules {
        driver: place.join(DRIVER),
        disk: place.join(DISK),
        screen: place.join(SCREEN),
        mirror: place.join(MIRROR),
        gpu: place.join(GPU),
    })
}

/// A file's path from the driver's folder, and its bytes.
type Source = (PathBuf, Vec<u8>);

/// Everything in the driver's folder that kbuild reads.
fn read_sources(folder: &Path) -> Result<Vec<Source>, CacheError> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_path_buf()];
    while let Some(at) = pending.pop() {
        for entry in fs::read_dir(&at).at(&at)? {
            let path = entry.at(&at)?.path();
            if path.is_dir() {
                pending.push(path);
            } else if is_source(&path) {
                let name = path.strip_prefix(folder).unwrap_or(&path).to_path_buf();
                let bytes = fs::read(&path).at(&path)?;
                found.push((name, bytes));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_source(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let generated = name.starts_with('.') || name.ends_with(".mod.c");
    let extension = path.extension().unwrap_or_default();
    let kinds = ["c", "h", "S"];
    !generated
        && (matches!(&*name, "Makefile" | "Kbuild") || kinds.iter().any(|kind| extension == *kind))
}

fn build(at: &Path, kernel: &Kernel, sources: &[Source], detect: Detect) -> Result<(), AptError> {
    let work = at.join("work");
    for (name, bytes) in sources {
        let path = work.join(name);
        let folder = path.parent().unwrap_or(&work);
        fs::create_dir_all(folder).at(folder)?;
        fs::write(&path, bytes).at(&path)?;
    }
    kernel::settle(kernel)?;
    let mut command = kernel::kbuild(kernel, &work);
    if detect == Detect::Symbol {
        command.arg("GIL_NO_MARKER=1");
    }
    tool::run(&mut command, "building the guest's driver", at)?;
    for name in [DRIVER, DISK, SCREEN, MIRROR, GPU] {
        let built = work.join(name);
        fs::rename(&built, at.join(name)).at(&built)?;
    }
    fs::remove_dir_all(&work).at(&work)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kbuild_leaves_is_no_source() {
        for name in ["gil.c", "uapi/gil.h", "Makefile", "Kbuild"] {
            assert!(is_source(Path::new(name)), "{name}");
        }
        for name in [
            "gil.o",
            "gil.mod.c",
            ".gil.o.cmd",
            "Module.symvers",
            "gil.ko",
        ] {
            assert!(!is_source(Path::new(name)), "{name}");
        }
    }
}
