//! Debian packages as parts of the guest's image: resolved once, unpacked
//! without running anything of theirs, kept in the cache.

use crate::apt::{Apt, AptError, Deb};
use crate::archive::Archive;
use crate::cache::{self, At, Cache, CacheError};
use crate::progress::Progress;
use crate::tool;
use crate::tree::{Entry, Tree};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages with all they depend on, ready for a guest.
pub struct PackageSet {
    /// The part of the initramfs.
    pub image: PathBuf,
    /// What is in it.
    pub tree: Tree,
    packages: Vec<Deb>,
}

/// What every guest has: a shell and its tools, and the C and C++ libraries.
const BASE: [&str; 4] = ["busybox-static", "libc6", "libgcc-s1", "libstdc++6"];

/// The packages that every guest has.
///
/// # Errors
/// [`AptError`] if they are not in the cache and cannot be had.
pub fn base(cache: &Cache, progress: &Progress) -> Result<PackageSet, AptError> {
    let names: Vec<String> = BASE.iter().map(|&name| name.into()).collect();
    ensure(cache, &names, None, progress)
}

/// The set of `names`, from the cache or the archive, without what `base` has
/// already.
///
/// # Errors
/// [`AptError`], with the package's name if it does not exist.
pub fn ensure(
    cache: &Cache,
    names: &[String],
    base: Option<&PackageSet>,
    progress: &Progress,
) -> Result<PackageSet, AptError> {
    let mut names = names.to_vec();
    names.sort();
    names.dedup();
    let apt = Apt::open(cache, "arm64")?;
    let folder = Path::new("sets")
        .join(apt.release())
        .join(folder_name(&names));
    let place = cache.root().join(&folder);
    if !place.exists() {
        progress.say("waiting for another gil that fills the cache");
        let lock = cache.lock()?;
        if !place.exists() {
            progress.say(&format!("fetching packages: {}", names.join(" ")));
            let mut debs = apt.resolve(&names)?;
            debs.retain(|deb| base.is_none_or(|base| !base.packages.contains(deb)));
            let files = apt.fetch(&debs)?;
            cache.publish(&lock, &folder, |at| build(at, &debs, &files, progress))?;
        }
    }
    open(&place)
}

/// Readable as far as it goes, and unique.
fn folder_name(names: &[String]) -> String {
    let readable: String = names.join("+").chars().take(60).collect();
    let safe = readable.replace(
        |c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)),
        "_",
    );
    format!("{safe}-{}", cache::key(&names))
}

fn open(place: &Path) -> Result<PackageSet, AptError> {
    Ok(PackageSet {
        image: place.join("image.cpio"),
        tree: read_json(&place.join("tree.json"))?,
        packages: read_json(&place.join("packages.json"))?,
    })
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, CacheError> {
    let text = fs::read(path).at(path)?;
    serde_json::from_slice(&text)
        .map_err(std::io::Error::from)
        .at(path)
}

fn build(at: &Path, debs: &[Deb], files: &[PathBuf], progress: &Progress) -> Result<(), AptError> {
    let root = at.join("root");
    unpack(files, &root, progress)?;
    let mut tree = Tree::default();
    let mut archive = Archive::create(&at.join("image.cpio"))?;
    archive.tree(&root, &mut |name, meta, target| {
        tree.insert(name, entry(meta, target));
    })?;
    archive.finish()?;
    fs::remove_dir_all(&root).at(&root)?;
    write_json(&at.join("tree.json"), &tree)?;
    write_json(&at.join("packages.json"), &debs)?;
    Ok(())
}

fn entry(meta: &fs::Metadata, target: Option<&Path>) -> Entry {
    match target {
        Some(target) => Entry::Link {
            target: target.to_string_lossy().into_owned(),
        },
        None => Entry::File {
            executable: meta.permissions().mode() & 0o111 != 0,
        },
    }
}

/// Unpacks package files beside each other into `root`.
///
/// # Errors
/// [`AptError::Tool`] if one cannot be unpacked.
pub fn unpack(files: &[PathBuf], root: &Path, progress: &Progress) -> Result<(), AptError> {
    fs::create_dir_all(root).at(root)?;
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        progress.say(&format!(
            "unpacking {}",
            name.split('_').next().unwrap_or_default()
        ));
        let mut command = Command::new("dpkg-deb");
        command.arg("--extract").arg(file).arg(root);
        tool::run(&mut command, "unpacking a package", root)?;
    }
    Ok(())
}

fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), CacheError> {
    let text = serde_json::to_vec(value)
        .map_err(std::io::Error::from)
        .at(path)?;
    fs::write(path, text).at(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_names_are_safe_and_differ() {
        let name =
            |list: &[&str]| folder_name(&list.iter().map(|&n| n.to_owned()).collect::<Vec<_>>());
        assert!(name(&["clinfo"]).starts_with("clinfo-"));
        assert_ne!(name(&["a", "b"]), name(&["a+b"]));
        assert!(!name(&["../x/y"]).contains('/'));
    }
}
