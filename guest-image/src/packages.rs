//! Debian packages as parts of the guest's image: resolved once, unpacked without
//! executing their scripts, and stored in the cache, in layers that sets share.

use crate::alternatives;
use crate::apt::{Apt, AptError, Deb};
use crate::arch::Arch;
use crate::layers::{self, Layers, PackageSet, read_json, safe, write_json};
use crate::platforms::Platforms;
use crate::python;
use crate::tree::Tree;
use crate::unpacked;
use gil_run_support::cache::{self, At, Cache, CacheError};
use gil_run_support::progress::Progress;
use std::fs;
use std::path::{Path, PathBuf};

/// The cache's folder of sets, with a name of its own for every way in which they are
/// made.
const SETS: &str = "sets-8";
/// That of sets of which each is one layer, as they were made before.
const WHOLE_SETS: &str = "sets-7";
/// The names of a set's layers.
const LAYERS: &str = "layers.json";
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
    /// How many of them are the base of its own.
    own: usize,
    /// And of the second one.
    second: usize,
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
            own: 0,
            second: 0,
            has_armhf: false,
        };
        this.sets = this.ensure(&names, 0, false)?;
        this.own = this.sets.len();
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
        let layers = self.ensure(&names, self.own, false)?;
        self.second = layers.len();
        self.sets.splice(self.own..self.own, layers);
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
                self.own + self.second
            }
            false => self.own,
        };
        let layers = self.ensure(names, bases, true)?;
        self.sets.extend(layers);
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
    /// The layers of the set of `names`, from the cache or the archive, without what
    /// the first `bases` layers have already; large packages have their own if
    /// `has_large`.
    fn ensure(
        &self,
        names: &[String],
        bases: usize,
        has_large: bool,
    ) -> Result<Vec<PackageSet>, AptError> {
        let mut names = names.to_vec();
        names.sort();
        names.dedup();
        let apt = apt_for(self.cache, &names, self.progress)?;
        let layers = Layers {
            cache: self.cache,
            release: apt.release(),
            platforms: self.platforms,
            has_large,
            progress: self.progress,
        };
        let name = folder_name(&names, self.platforms);
        if let Some(set) = self.open(&layers, &name)? {
            return Ok(set);
        }
        let lock = self.cache.lock(self.progress)?;
        if let Some(set) = self.open(&layers, &name)? {
            return Ok(set);
        }
        let debs = self.fetch(&apt, &names, bases)?;
        let folder = Path::new(SETS).join(apt.release()).join(&name);
        self.cache.publish(&lock, &folder, |at| {
            let settled = self.settled(at, &debs)?;
            let made = layers.make(&lock, &debs, &settled)?;
            fs::remove_dir_all(&settled).at(&settled)?;
            Ok::<_, AptError>(write_json(&at.join(LAYERS), &made)?)
        })?;
        let set = self.open(&layers, &name)?;
        Ok(set.ok_or(CacheError::Damaged { path: folder })?)
    }

    /// A set of the cache, if it is there with all its layers.
    fn open(&self, layers: &Layers, name: &str) -> Result<Option<Vec<PackageSet>>, CacheError> {
        let at = |sets: &str| self.cache.root().join(sets).join(layers.release).join(name);
        let (place, whole) = (at(SETS), at(WHOLE_SETS));
        if self.cache.is_used(&place) {
            let names: Vec<String> = read_json(&place.join(LAYERS))?;
            return names.iter().map(|name| layers.open(name)).collect();
        }
        match self.cache.is_used(&whole) {
            true => Ok(Some(vec![layers::open(&whole)?])),
            false => Ok(None),
        }
    }

    /// The packages of a set, with their files.
    fn fetch(
        &self,
        apt: &Apt,
        names: &[String],
        bases: usize,
    ) -> Result<Vec<(Deb, PathBuf)>, AptError> {
        self.progress
            .say(&format!("fetching packages: {}", names.join(" ")));
        let mut debs = apt.resolve(names, self.platforms)?;
        let bases = &self.sets[..bases];
        debs.retain(|deb| !bases.iter().any(|base| base.packages.contains(deb)));
        let files = apt.fetch(&debs)?;
        Ok(debs.into_iter().zip(files).collect())
    }

    /// Unpacks packages in the folder `at`, as they are in the guest; where.
    fn settled(&self, at: &Path, debs: &[(Deb, PathBuf)]) -> Result<PathBuf, AptError> {
        let files: Vec<PathBuf> = debs.iter().map(|(_, file)| file.clone()).collect();
        let (root, settled) = (at.join("root"), at.join("settled"));
        unpacked::unpack(&files, &root, self.progress)?;
        alternatives::link(&files, &root)?;
        python::compile(self.cache, &root, self.progress)?;
        self.platforms.settle(&root)?;
        unpacked::settle(&root, &settled)?;
        fs::remove_dir_all(&root).at(&root)?;
        Ok(settled)
    }
}

/// Readable as far as it goes, and unique.
fn folder_name(names: &[String], platforms: Platforms) -> String {
    let readable: String = names.join("+").chars().take(60).collect();
    format!("{}-{}", safe(&readable), cache::key(&(names, platforms)))
}

#[cfg(test)]
mod tests {
    use super::*;

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
