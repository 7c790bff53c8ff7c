//! Debian packages as parts of the guest's image: resolved once, unpacked without
//! executing their scripts, and stored in the cache.

use crate::alternatives;
use crate::apt::{Apt, AptError, Deb};
use crate::arch::Arch;
use crate::disk_image;
use crate::platforms::Platforms;
use crate::python;
use crate::tree::Tree;
use crate::unpacked;
use gil_run_support::cache::{self, At, Cache, CacheError};
use gil_run_support::progress::Progress;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Packages with all they depend on, ready for a guest.
pub struct PackageSet {
    /// Its files, as a read-only disk.
    pub disk: PathBuf,
    /// Its files.
    pub tree: Tree,
    packages: Vec<Deb>,
}

impl PackageSet {
    /// Its files in a folder of the folder `within`, removed when it is dropped.
    ///
    /// # Errors
    /// [`AptError`] if they cannot be unpacked.
    pub fn unpack(&self, within: &Path) -> Result<Folder, AptError> {
        let folder = tempfile::tempdir_in(within).at(within)?;
        disk_image::unpack(&self.disk, &folder.path().join(FILES))?;
        Ok(Folder(folder))
    }

    /// Its files as a part of an initramfs at `path`, unpacked beside it; how
    /// many bytes of the guest's memory they take there.
    ///
    /// # Errors
    /// [`AptError`] if they cannot be unpacked or written.
    pub fn write_archive(&self, path: &Path) -> Result<u64, AptError> {
        disk_image::write_archive(&self.disk, path)
    }
}

/// A set's files, unpacked.
pub struct Folder(TempDir);

/// Their folder in it.
const FILES: &str = "files";

impl Folder {
    /// The folder with its files.
    pub fn files(&self) -> PathBuf {
        self.0.path().join(FILES)
    }
}

/// A set's disk.
const DISK: &str = "files.erofs";
/// The C and C++ libraries, which most programs need.
const LIBRARIES: [&str; 3] = ["libc6", "libgcc-s1", "libstdc++6"];
/// The guest's shell and its tools.
const SHELL: &str = "busybox-static";

/// The guest's packages: what every guest has, and what is added.
pub struct Packages<'a> {
    cache: &'a Cache,
    platforms: Platforms,
    progress: &'a Progress,
    /// The base of each architecture that the guest has, its own first, then
    /// what was added.
    sets: Vec<PackageSet>,
    has_armhf: bool,
}

impl<'a> Packages<'a> {
    /// What every guest has; packages that are added may show their own
    /// platforms, or not.
    ///
    /// # Errors
    /// [`AptError`] if it is not in the cache and cannot be had.
    pub fn base(
        cache: &'a Cache,
        platforms: Platforms,
        progress: &'a Progress,
    ) -> Result<Self, AptError> {
        let names: Vec<String> = std::iter::once(SHELL)
            .chain(LIBRARIES)
            .map(str::to_owned)
            .collect();
        let mut this = Self {
            cache,
            platforms,
            progress,
            sets: Vec::new(),
            has_armhf: false,
        };
        this.sets.push(this.ensure(&names, 0)?);
        Ok(this)
    }

    /// Adds the libraries that most programs of `arch` need, unless they are
    /// there.
    ///
    /// # Errors
    /// As [`Packages::base`].
    pub fn support(&mut self, arch: Arch) -> Result<(), AptError> {
        if self.has(arch) {
            return Ok(());
        }
        let names = LIBRARIES.map(|name| arch.package(name));
        let set = self.ensure(&names, 1)?;
        self.sets.insert(1, set);
        self.has_armhf = true;
        Ok(())
    }

    /// Adds packages with all they depend on. What the base has already is
    /// left out: for sets with a package of the second architecture that is the
    /// base of both, so that a set is the same whatever came before.
    ///
    /// # Errors
    /// [`AptError`], with the package's name if it does not exist.
    pub fn add(&mut self, names: &[String]) -> Result<(), AptError> {
        let bases = match names.iter().any(|name| Arch::Armhf.is_of(name)) {
            true => {
                self.support(Arch::Armhf)?;
                2
            }
            false => 1,
        };
        let set = self.ensure(names, bases)?;
        self.sets.push(set);
        Ok(())
    }

    /// Whether the guest has libraries of this architecture.
    pub fn has(&self, arch: Arch) -> bool {
        arch == Arch::Arm64 || self.has_armhf
    }

    /// All of them, in the order in which they are unpacked.
    pub fn sets(&self) -> &[PackageSet] {
        &self.sets
    }

    /// The files of all sets.
    pub fn tree(&self) -> Tree {
        let mut all = Tree::default();
        for set in &self.sets {
            all.extend(set.tree.clone());
        }
        all
    }

    /// As [`Packages::sets`].
    pub fn into_sets(self) -> Vec<PackageSet> {
        self.sets
    }
}

/// apt of a machine that can have all of these packages.
fn apt_for(cache: &Cache, names: &[String], progress: &Progress) -> Result<Apt, AptError> {
    let (own, second) = (Arch::Arm64.debian(), Arch::Armhf.debian());
    match names.iter().any(|name| Arch::Armhf.is_of(name)) {
        true => Apt::open(cache, &[own, second], progress),
        false => Apt::open(cache, &[own], progress),
    }
}

impl Packages<'_> {
    /// The set of `names`, from the cache or the archive, without what the
    /// first `bases` sets have already.
    fn ensure(&self, names: &[String], bases: usize) -> Result<PackageSet, AptError> {
        let mut names = names.to_vec();
        names.sort();
        names.dedup();
        let apt = apt_for(self.cache, &names, self.progress)?;
        // A name of its own for every way in which sets are built.
        let folder = Path::new("sets-7")
            .join(apt.release())
            .join(folder_name(&names, self.platforms));
        let place = self.cache.root().join(&folder);
        if !place.exists() {
            let lock = self.cache.lock(self.progress)?;
            if !place.exists() {
                let (debs, files) = self.fetch(&apt, &names, bases)?;
                self.cache
                    .publish(&lock, &folder, |at| self.build(at, &debs, &files))?;
            }
        }
        self.cache.is_used(&place);
        open(&place)
    }

    /// The packages of a set, and their files.
    fn fetch(
        &self,
        apt: &Apt,
        names: &[String],
        bases: usize,
    ) -> Result<(Vec<Deb>, Vec<PathBuf>), AptError> {
        self.progress
            .say(&format!("fetching packages: {}", names.join(" ")));
        let mut debs = apt.resolve(names, self.platforms)?;
        let bases = &self.sets[..bases];
        debs.retain(|deb| !bases.iter().any(|base| base.packages.contains(deb)));
        let files = apt.fetch(&debs)?;
        Ok((debs, files))
    }

    fn build(&self, at: &Path, debs: &[Deb], files: &[PathBuf]) -> Result<(), AptError> {
        let root = at.join("root");
        unpacked::unpack(files, &root, self.progress)?;
        alternatives::link(files, &root)?;
        python::compile(self.cache, &root, self.progress)?;
        self.platforms.settle(&root)?;
        let settled = at.join("settled");
        let tree = unpacked::settle(&root, &settled)?;
        disk_image::make(&settled, &at.join(DISK))?;
        for folder in [&root, &settled] {
            fs::remove_dir_all(folder).at(folder)?;
        }
        write_json(&at.join("tree.json"), &tree)?;
        write_json(&at.join("packages.json"), &debs)?;
        Ok(())
    }
}

/// Readable as far as it goes, and unique.
fn folder_name(names: &[String], platforms: Platforms) -> String {
    let readable: String = names.join("+").chars().take(60).collect();
    let safe = readable.replace(
        |c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)),
        "_",
    );
    format!("{safe}-{}", cache::key(&(names, platforms)))
}

fn open(place: &Path) -> Result<PackageSet, AptError> {
    let disk = place.join(DISK);
    disk_image::check(&disk)?;
    Ok(PackageSet {
        disk,
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

fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), CacheError> {
    let text = serde_json::to_vec(value)
        .map_err(std::io::Error::from)
        .at(path)?;
    fs::write(path, text).at(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a killed `gil` leaves goes with the folder that it worked on.
    #[test]
    fn a_set_is_unpacked_where_it_is_needed() {
        let work = tempfile::tempdir().unwrap();
        let at = |name: &str| work.path().join(name);
        fs::create_dir_all(at("in/usr")).unwrap();
        fs::write(at("in/usr/file"), "text").unwrap();
        disk_image::make(&at("in"), &at(DISK)).unwrap();
        write_json(&at("tree.json"), &Tree::default()).unwrap();
        write_json(&at("packages.json"), &Vec::<Deb>::new()).unwrap();
        let set = open(work.path()).unwrap();
        let folder = set.unpack(&at("in")).unwrap();
        let files = folder.files();
        assert!(files.starts_with(at("in")) && files.join("usr/file").exists());
        drop(folder);
        assert_eq!(fs::read_dir(at("in")).unwrap().count(), 1);

        fs::write(at(DISK), "no image").unwrap();
        assert!(open(work.path()).is_err());
    }

    #[test]
    fn folder_names_are_safe_and_differ() {
        let of = |list: &[&str], platforms| {
            let names: Vec<String> = list.iter().map(|&name| name.to_owned()).collect();
            folder_name(&names, platforms)
        };
        let name = |list: &[&str]| of(list, Platforms::Board);
        assert!(name(&["clinfo"]).starts_with("clinfo-"));
        assert_ne!(name(&["a", "b"]), name(&["a+b"]));
        assert!(!name(&["../x/y"]).contains('/'));
        assert_ne!(name(&["a"]), of(&["a"], Platforms::Packages));
    }
}
