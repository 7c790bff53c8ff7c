//! A package set as layers: each of its large packages, and all others together. A layer
//! is named by what is in it, so that sets with the same packages share it.

use crate::apt::{AptError, Deb};
use crate::copied::Kind;
use crate::disk_image;
use crate::platforms::Platforms;
use crate::tree::{Entry, Tree};
use crate::unpacked;
use gil_run_support::cache::{self, At, Cache, CacheError, CacheLock};
use gil_run_support::progress::Progress;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The cache's folder of them, with a name of its own for every way in which they are made.
const FOLDER: &str = "layers-1";
/// A package file of as many bytes is a layer.
const LARGE: u64 = 1 << 20;
/// So many of a set at most: a guest has few disks, and looks for a file in each.
const LARGE_MOST: usize = 6;
/// A layer's files.
const DISK: &str = "files.erofs";
const TREE: &str = "tree.json";
const PACKAGES: &str = "packages.json";

/// Packages with what they depend on, or a part of these, ready for a guest.
pub struct PackageSet {
    /// Its files, as a read-only disk.
    pub disk: PathBuf,
    /// Its files.
    pub tree: Tree,
    /// Its packages.
    pub packages: Vec<Deb>,
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

/// What the layers of a set have in common.
pub struct Layers<'a> {
    /// Where they are kept.
    pub cache: &'a Cache,
    /// Debian's code name.
    pub release: &'a str,
    /// What was removed from packages.
    pub platforms: Platforms,
    /// Whether large packages are layers of their own.
    pub has_large: bool,
    /// Where progress is shown.
    pub progress: &'a Progress,
}

impl Layers<'_> {
    /// Divides the files of a set, which are in `settled`, into layers and adds those to
    /// the cache that are not there yet. Their names.
    ///
    /// # Errors
    /// [`AptError`] if something cannot be read or written.
    pub fn make(
        &self,
        lock: &CacheLock,
        debs: &[(Deb, PathBuf)],
        settled: &Path,
    ) -> Result<Vec<String>, AptError> {
        let mut rest: Vec<Deb> = debs.iter().map(|(deb, _)| deb.clone()).collect();
        let all = rest.clone();
        let part = settled.with_file_name("part");
        let mut made = Vec::new();
        for (deb, file) in self.large(debs) {
            split(file, settled, &part, self.progress)?;
            let stem = deb.file.trim_end_matches(".deb");
            // Modules of Python are compiled by the set's.
            let key = (deb, self.platforms, pythons(&all));
            let name = format!("{}-{}", safe(stem), cache::key(&key));
            self.ensure(lock, &name, &part, std::slice::from_ref(deb))?;
            fs::remove_dir_all(&part).at(&part)?;
            rest.retain(|other| other != deb);
            made.push(name);
        }
        if !rest.is_empty() {
            // With links that packages of other layers have made.
            let key = cache::key(&(&all, self.platforms, &rest));
            let name = format!("{}-packages-{key}", rest.len());
            self.ensure(lock, &name, settled, &rest)?;
            made.push(name);
        }
        Ok(made)
    }

    fn large<'b>(&self, debs: &'b [(Deb, PathBuf)]) -> Vec<&'b (Deb, PathBuf)> {
        let is_large = |(deb, _): &&(Deb, PathBuf)| self.has_large && deb.size >= LARGE;
        let mut large: Vec<_> = debs.iter().filter(is_large).collect();
        large.sort_by_key(|(deb, _)| (std::cmp::Reverse(deb.size), &deb.file));
        large.truncate(LARGE_MOST);
        large
    }

    fn ensure(
        &self,
        lock: &CacheLock,
        name: &str,
        files: &Path,
        debs: &[Deb],
    ) -> Result<(), AptError> {
        if self.open(name)?.is_some() {
            return Ok(());
        }
        self.cache.publish(lock, &self.folder(name), |at| {
            disk_image::make(files, &at.join(DISK))?;
            write_json(&at.join(TREE), &tree_of(files)?)?;
            write_json::<[Deb]>(&at.join(PACKAGES), debs)?;
            Ok::<_, AptError>(())
        })?;
        Ok(())
    }

    fn folder(&self, name: &str) -> PathBuf {
        Path::new(FOLDER).join(self.release).join(name)
    }

    /// A layer of the cache, if it is there; it is used from now on.
    ///
    /// # Errors
    /// [`CacheError`] if it is damaged.
    pub fn open(&self, name: &str) -> Result<Option<PackageSet>, CacheError> {
        let place = self.cache.root().join(self.folder(name));
        match self.cache.is_used(&place) {
            true => open(&place).map(Some),
            false => Ok(None),
        }
    }
}

/// What is in a layer's folder.
///
/// # Errors
/// [`CacheError`] if it is damaged.
pub fn open(place: &Path) -> Result<PackageSet, CacheError> {
    let disk = place.join(DISK);
    disk_image::check(&disk)?;
    Ok(PackageSet {
        disk,
        tree: read_json(&place.join(TREE))?,
        packages: read_json(&place.join(PACKAGES))?,
    })
}

/// A file name of it that has no special characters.
pub fn safe(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    name.replace(|c: char| !is_plain(c), "_")
}

/// The package files of interpreters of Python.
fn pythons(debs: &[Deb]) -> Vec<&str> {
    let names = debs.iter().map(|deb| deb.file.as_str());
    let is_python = |name: &&str| {
        let package = name.split('_').next().unwrap_or_default();
        package.starts_with("python3.") && package.ends_with("-minimal")
    };
    names.filter(is_python).collect()
}

/// Moves the files of a package, and what was compiled of them, from where a set's files
/// are to the new folder `part`.
fn split(deb: &Path, settled: &Path, part: &Path, progress: &Progress) -> Result<(), AptError> {
    let folder = settled.with_file_name("one");
    unpacked::unpack(&[deb.to_path_buf()], &folder, progress)?;
    fs::create_dir_all(part).at(part)?;
    unpacked::visit(&folder, &mut |found| -> Result<(), CacheError> {
        match found.kind {
            Kind::Folder(_) => add_folder(settled, part, &found.name),
            _ => {
                for name in
                    std::iter::once(found.name.clone()).chain(compiled(settled, &found.name))
                {
                    add(settled, part, &name)?;
                }
                Ok(())
            }
        }
    })?;
    fs::remove_dir_all(&folder).at(&folder)?;
    Ok(())
}

/// A folder with the permissions that it has in `from`, and those above it. What settling
/// removed is nowhere.
fn add_folder(from: &Path, to: &Path, name: &str) -> Result<(), CacheError> {
    for (at, _) in name.match_indices('/').chain([(name.len(), "")]) {
        let (old, new) = (from.join(&name[..at]), to.join(&name[..at]));
        if !old.is_dir() || new.exists() {
            continue;
        }
        fs::create_dir(&new).at(&new)?;
        let mode = fs::metadata(&old).at(&old)?.permissions();
        fs::set_permissions(&new, mode).at(&new)?;
    }
    Ok(())
}

fn add(from: &Path, to: &Path, name: &str) -> Result<(), CacheError> {
    let (old, new) = (from.join(name), to.join(name));
    if old.symlink_metadata().is_err() {
        return Ok(());
    }
    if let Some((above, _)) = name.rsplit_once('/') {
        add_folder(from, to, above)?;
    }
    fs::rename(&old, &new).at(&old)
}

/// Python's compiled modules of the module `name`, if it is one.
fn compiled(settled: &Path, name: &str) -> Vec<String> {
    let Some(module) = name.strip_suffix(".py") else {
        return Vec::new();
    };
    let (folder, stem) = module.rsplit_once('/').unwrap_or(("", module));
    let cached = format!("{folder}/__pycache__");
    let entries = fs::read_dir(settled.join(&cached)).into_iter().flatten();
    let names = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    let is_its = |file: &String| {
        let version = file
            .strip_prefix(stem)
            .and_then(|rest| rest.strip_prefix('.'));
        version.is_some_and(|version| version.ends_with(".pyc") && version.matches('.').count() < 3)
    };
    names
        .filter(is_its)
        .map(|file| format!("{cached}/{file}"))
        .collect()
}

fn tree_of(files: &Path) -> Result<Tree, CacheError> {
    let mut tree = Tree::default();
    unpacked::visit(files, &mut |found| -> Result<(), CacheError> {
        tree.insert(&found.name, Entry::from(&found.kind));
        Ok(())
    })?;
    Ok(tree)
}

/// Reads what [`write_json`] wrote.
///
/// # Errors
/// [`CacheError::Damaged`] if it is not that.
pub fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, CacheError> {
    let damaged = || CacheError::Damaged { path: path.into() };
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() => {}
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Err(error).at(path);
        }
        _ => return Err(damaged()),
    }
    let text = fs::read(path).at(path)?;
    serde_json::from_slice(&text).map_err(|_| damaged())
}

/// Writes a file of the cache.
///
/// # Errors
/// [`CacheError::File`].
pub fn write_json<T: serde::Serialize + ?Sized>(path: &Path, value: &T) -> Result<(), CacheError> {
    let text = serde_json::to_vec(value)
        .map_err(std::io::Error::from)
        .at(path)?;
    fs::write(path, text).at(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A package file of these files, each as large as `fill` and named by its package.
    fn package(work: &Path, name: &str, size: usize, files: &[&str]) -> (Deb, PathBuf) {
        let root = work.join(name);
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, vec![name.as_bytes()[0]; size]).unwrap();
        }
        fs::create_dir_all(root.join("DEBIAN")).unwrap();
        let control = format!(
            "Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n"
        );
        fs::write(root.join("DEBIAN/control"), control).unwrap();
        let file = work.join(format!("{name}_1_all.deb"));
        let mut build = std::process::Command::new("dpkg-deb");
        build.args(["-Znone", "--build"]).arg(&root).arg(&file);
        assert!(build.output().unwrap().status.success());
        let deb = Deb {
            file: format!("{name}_1_all.deb"),
            size: fs::metadata(&file).unwrap().len(),
            sha256: name.into(),
        };
        (deb, file)
    }

    struct Bench {
        work: tempfile::TempDir,
        cache: Cache,
        progress: Progress,
    }

    impl Bench {
        fn new() -> Self {
            let work = tempfile::tempdir().unwrap();
            let cache = Cache::at(&work.path().join("cache"), u64::MAX).unwrap();
            Self {
                work,
                cache,
                progress: Progress::new(true),
            }
        }

        fn layers(&self) -> Layers<'_> {
            Layers {
                cache: &self.cache,
                release: "none",
                platforms: Platforms::Board,
                has_large: true,
                progress: &self.progress,
            }
        }

        /// The layers of a set of these packages.
        fn set(&self, debs: &[(Deb, PathBuf)]) -> Vec<PackageSet> {
            let (root, settled) = (self.work.path().join("r"), self.work.path().join("s"));
            let files: Vec<_> = debs.iter().map(|(_, file)| file.clone()).collect();
            unpacked::unpack(&files, &root, &self.progress).unwrap();
            if root.join("usr/lib/m.py").exists() {
                fs::create_dir_all(root.join("usr/lib/__pycache__")).unwrap();
                fs::write(root.join("usr/lib/__pycache__/m.cpython-311.pyc"), "x").unwrap();
                symlink("m.py", root.join("usr/lib/link")).unwrap();
            }
            unpacked::settle(&root, &settled).unwrap();
            let lock = self.cache.lock(&self.progress).unwrap();
            let names = self.layers().make(&lock, debs, &settled).unwrap();
            for folder in [root, settled] {
                fs::remove_dir_all(folder).unwrap();
            }
            let open = |name: &String| self.layers().open(name).unwrap().unwrap();
            names.iter().map(open).collect()
        }

        fn bytes(&self) -> u64 {
            let entries = self.cache.entries().unwrap();
            entries.iter().map(|entry| entry.bytes).sum()
        }

        fn files(&self, layer: &PackageSet) -> Vec<String> {
            let folder = layer.unpack(self.work.path()).unwrap();
            let mut found = Vec::new();
            unpacked::visit(&folder.files(), &mut |one| -> Result<(), CacheError> {
                if !matches!(one.kind, Kind::Folder(_)) {
                    found.push(one.name.clone());
                }
                Ok(())
            })
            .unwrap();
            found.sort();
            found
        }
    }

    #[test]
    fn sets_that_share_a_large_package_have_one_copy_of_it() {
        let bench = Bench::new();
        let at = bench.work.path();
        let large = package(at, "large", 8 << 20, &["usr/lib/m.py"]);
        let small = package(at, "small", 100, &["usr/bin/small", "usr/lib/n.py"]);
        let other = package(at, "other", 100, &["usr/bin/other"]);
        let first = bench.set(&[large.clone(), small.clone()]);
        let one = bench.bytes();
        let second = bench.set(&[large.clone(), other]);
        assert!(bench.bytes() < one + one / 2, "{one} and {}", bench.bytes());
        assert_eq!(first[0].disk, second[0].disk);
        assert_ne!(first[1].disk, second[1].disk);
        // The module's compiled form goes with it, what links to it does not.
        let compiled = "usr/lib/__pycache__/m.cpython-311.pyc";
        assert_eq!(bench.files(&first[0]), [compiled, "usr/lib/m.py"]);
        let rest = ["usr/bin/small", "usr/lib/link", "usr/lib/n.py"];
        assert_eq!(bench.files(&first[1]), rest);
        assert_eq!(first[0].packages, [large.0]);
        assert_eq!(first[1].packages, [small.0]);
        assert!(first[0].tree.file("usr/lib/m.py").is_some());
        assert!(first[1].tree.file("usr/lib/m.py").is_none());
    }

    #[test]
    fn the_same_packages_are_the_same_layers() {
        let bench = Bench::new();
        let small = package(bench.work.path(), "small", 100, &["usr/bin/small"]);
        let first = bench.set(std::slice::from_ref(&small));
        let place = first[0].disk.clone();
        let again = bench.set(std::slice::from_ref(&small));
        assert_eq!(again[0].disk, place);
        assert_eq!(bench.cache.entries().unwrap().len(), 1);
    }

    #[test]
    fn a_layer_that_was_removed_is_made_again() {
        let bench = Bench::new();
        let large = package(bench.work.path(), "large", 2 << 20, &["usr/lib/x"]);
        let first = bench.set(std::slice::from_ref(&large));
        fs::remove_dir_all(first[0].disk.parent().unwrap()).unwrap();
        let again = bench.set(&[large]);
        assert_eq!(bench.files(&again[0]), ["usr/lib/x"]);
    }

    /// What a killed `gil` leaves goes with the folder that it worked on.
    #[test]
    fn a_layer_is_unpacked_where_it_is_needed() {
        let work = tempfile::tempdir().unwrap();
        let at = |name: &str| work.path().join(name);
        fs::create_dir_all(at("in/usr")).unwrap();
        fs::write(at("in/usr/file"), "text").unwrap();
        disk_image::make(&at("in"), &at(DISK)).unwrap();
        write_json(&at(TREE), &Tree::default()).unwrap();
        write_json(&at(PACKAGES), &Vec::<Deb>::new()).unwrap();
        let layer = open(work.path()).unwrap();
        let folder = layer.unpack(&at("in")).unwrap();
        let files = folder.files();
        assert!(files.starts_with(at("in")) && files.join("usr/file").exists());
        drop(folder);
        assert_eq!(fs::read_dir(at("in")).unwrap().count(), 1);

        fs::write(at(DISK), "no image").unwrap();
        assert!(open(work.path()).is_err());
    }

    /// What a crash of the machine leaves of a file, and what no crash leaves.
    #[test]
    fn a_damaged_table_is_named_with_what_helps() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join(TREE);
        let refused = || match read_json::<Tree>(&path) {
            Err(error) => error.to_string(),
            Ok(_) => "read".into(),
        };
        let helps = |said: String| assert!(said.contains("remove the folder"), "{said}");
        helps(refused());
        fs::write(&path, "").unwrap();
        helps(refused());
        fs::remove_file(&path).unwrap();
        symlink("/dev/zero", &path).unwrap();
        helps(refused());
    }
}
