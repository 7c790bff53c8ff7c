//! `gil run --watch`: finds the guest's file with a watched function, before the guest
//! boots.

use gil_detect::symbol::SymbolError;
use gil_detect::watch::{Spec, WatchError, Watches};
use gil_guest_image::apt::AptError;
use gil_guest_image::disk_image;
use gil_guest_image::guest_files::GuestFiles;
use gil_guest_image::layers::PackageSet;
use gil_run_support::cache::{At, CacheError};
use gil_run_support::folder::file;
use std::fs;
use std::path::{Path, PathBuf};

/// Why something cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Files.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Packages.
    #[error(transparent)]
    Packages(#[from] AptError),
    /// The function.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The function, in a file of the guest.
    #[error("--watch {spec}: {error}")]
    Function {
        /// The watch as the user wrote it.
        spec: String,
        /// What is wrong.
        error: SymbolError,
    },
    /// The program, library or module.
    #[error(
        "--watch {0}: the guest has no program, library or kernel module of that name: add its Debian package with --pkg, or the file with --file"
    )]
    NoObject(String),
}

/// What the plugin is to watch: the files of programs and libraries are taken
/// from the initramfs, and from the disks that are beside it, into the run's
/// folder. What is not there is an error.
///
/// # Errors
/// [`Error`] says what is missing.
pub fn resolve(asked: &[Spec], beside: &[PackageSet], at: &Path) -> Result<Vec<Spec>, Error> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let guest = files(beside, at)?;
    let mut specs = Vec::new();
    for spec in asked {
        match (&spec.object, &spec.file) {
            (Some(_), None) if spec.driver.is_some() => specs.push(spec.clone()),
            (Some(object), None) => specs.extend(in_guest(spec, object, &guest, specs.len(), at)?),
            _ => specs.push(spec.clone()),
        }
    }
    let watches = Watches::new(&specs, Some(&at.join(file::KERNEL)), 0);
    watches.map_err(|error| match error {
        // The copy in the run's folder is none of the user's.
        WatchError::File { spec, file, error } if file.starts_with(at) => {
            Error::Function { spec, error }
        }
        other => other.into(),
    })?;
    Ok(specs)
}

/// The files that the guest will have.
fn files(beside: &[PackageSet], at: &Path) -> Result<GuestFiles, Error> {
    let mut guest = GuestFiles::default();
    let part = at.join(PART);
    guest.add(&at.join(file::INITRD))?;
    // On gem5, all is in the initramfs.
    let own = Some(at.join(file::OWN)).filter(|own| own.exists());
    let disks = beside.iter().map(|set| &set.disk).chain(&own);
    for disk in disks {
        disk_image::write_archive(disk, &part)?;
        guest.add(&part)?;
        fs::remove_file(&part).at(&part)?;
    }
    Ok(guest)
}

/// Packages' files, while they are looked through.
const PART: &str = "packages.part";

/// The same name may be there for both architectures: all are watched.
fn in_guest(
    spec: &Spec,
    object: &str,
    guest: &GuestFiles,
    taken: usize,
    at: &Path,
) -> Result<Vec<Spec>, Error> {
    let files = guest.elf_files(object);
    if files.is_empty() {
        let module = guest.module(object);
        let bytes = module.ok_or_else(|| Error::NoObject(spec.to_string()))?;
        let types = match gil_detect::btf::in_module(bytes) {
            Some(_) => Some(write(bytes, taken, at)?),
            None => None,
        };
        return Ok(vec![Spec {
            types,
            ..spec.clone()
        }]);
    }
    let mut specs = Vec::new();
    for (number, bytes) in files.into_iter().enumerate() {
        let file = Some(write(bytes, taken + number, at)?);
        specs.push(Spec {
            file,
            ..spec.clone()
        });
    }
    Ok(specs)
}

/// Writes a file of the guest's into the run's folder.
fn write(bytes: &[u8], number: usize, at: &Path) -> Result<PathBuf, CacheError> {
    let path = at.join(format!("{}{number}", file::WATCH));
    fs::write(&path, bytes).at(&path)?;
    Ok(path)
}
