//! Debian's packages and the guest's libraries as a folder, for simulators that
//! run programs without a kernel.

use crate::apt::AptError;
use crate::arch::Arch;
use crate::archive::DATE;
use crate::assets::{self, AssetError, Assets, HostPart};
use crate::copied::{self, Found, Kind};
use crate::guest::Guest;
use crate::image;
use crate::layers::PackageSet;
use crate::libraries::GuestLibraries;
use crate::packages::Packages;
use crate::platforms::Platforms;
use crate::program::Program;
use crate::tree::{MERGED, Tree};
use crate::unpacked;
use gil_run_support::cache::{At, Cache, CacheError};
use gil_run_support::folder;
use gil_run_support::progress::Progress;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Why there is no sysroot.
#[derive(Debug, thiserror::Error)]
pub enum SysrootError {
    /// The folder has something in it that gil did not put there.
    #[error("{} is not empty: give a new folder, or one that `gil sysroot` made", .0.display())]
    NotEmpty(PathBuf),
    /// A package's file that would lie outside.
    #[error("a package has the file {0}, which does not lie inside of the folder")]
    Outside(String),
    /// Packages.
    #[error(transparent)]
    Apt(#[from] AptError),
    /// gil's own files.
    #[error(transparent)]
    Assets(#[from] AssetError),
    /// Files.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// Says that a folder is a sysroot, and of what.
const MARK: &str = ".gil-sysroot";

/// Makes the folder with these packages, or makes it anew; `starts` gets its absolute
/// path when it begins to change.
///
/// # Errors
/// [`SysrootError`] says what is wrong.
pub fn make(
    folder: &Path,
    names: &[String],
    platforms: Platforms,
    progress: &Progress,
    starts: &dyn Fn(&Path),
) -> Result<(), SysrootError> {
    let cache = Cache::open()?;
    let mut packages = Packages::base(&cache, platforms, progress)?;
    if !names.is_empty() {
        packages.add(names)?;
    }
    let assets = assets::ensure(packages.has(Arch::Armhf), HostPart::Gem5Scripts, progress)?;
    clear(folder)?;
    let root = Root::create(folder)?;
    starts(&root.0);
    root.fill(packages.sets(), &assets, progress)
}

/// Makes one with all that a run's program finds.
///
/// # Errors
/// [`SysrootError`] says what is wrong.
pub fn lay_out(folder: &Path, guest: &Guest, progress: &Progress) -> Result<(), SysrootError> {
    let root = Root::create(folder)?;
    root.fill(&guest.sets, &guest.assets, progress)?;
    if let Program::Local(local) = &guest.program {
        root.file(&local.guest_path(), 0o755, &local.bytes)?;
    }
    for found in &guest.files {
        root.copied(found)?;
    }
    Ok(())
}

/// Removes an earlier sysroot; nothing else.
fn clear(folder: &Path) -> Result<(), SysrootError> {
    if folder::is_empty(folder)? {
        return Ok(());
    }
    if !folder.join(MARK).is_file() {
        return Err(SysrootError::NotEmpty(folder.into()));
    }
    fs::remove_dir_all(folder).at(folder)?;
    Ok(())
}

/// The folder that becomes `/`.
struct Root(PathBuf);

impl Root {
    fn create(folder: &Path) -> Result<Self, SysrootError> {
        fs::create_dir_all(folder).at(folder)?;
        let root = fs::canonicalize(folder).at(folder)?;
        let mark = root.join(MARK);
        fs::write(&mark, "made by gil sysroot\n").at(&mark)?;
        Ok(Self(root))
    }

    fn fill(
        &self,
        sets: &[PackageSet],
        assets: &Assets,
        progress: &Progress,
    ) -> Result<(), SysrootError> {
        progress.say("unpacking packages");
        self.skeleton()?;
        let mut tree = Tree::default();
        for set in sets {
            unpacked::visit(&set.unpack(&self.0)?.files(), &mut |found| {
                self.copied(found)
            })?;
            tree.extend(set.tree.clone());
        }
        self.libraries(assets, &tree)
    }

    /// A file, folder or link of this machine.
    fn copied(&self, found: &Found) -> Result<(), SysrootError> {
        let name = &found.name;
        match &found.kind {
            Kind::Folder(_) => self.folder(name),
            Kind::File(mode) => self.file(name, mode & 0o777, &copied::read(&found.source)?),
            Kind::Link(target) => self.link(name, &target.to_string_lossy()),
        }
    }

    /// What every program expects, before packages find it.
    fn skeleton(&self) -> Result<(), SysrootError> {
        for folder in MERGED {
            let usr = format!("usr/{folder}");
            self.folder(&usr)?;
            self.link(folder, &usr)?;
        }
        for folder in ["etc", "tmp", "root"] {
            self.folder(folder)?;
        }
        for path in image::applets() {
            self.link(&path, image::BUSYBOX)?;
        }
        for (name, text) in image::ACCOUNTS {
            self.file(name, 0o644, text.as_bytes())?;
        }
        Ok(())
    }

    /// gil's own, as a run's guest has them.
    fn libraries(&self, assets: &Assets, tree: &Tree) -> Result<(), SysrootError> {
        let libraries = GuestLibraries {
            assets,
            tree,
            has_driver: false,
        };
        for (name, path) in libraries.files() {
            self.file(&name, 0o644, &fs::read(&path).at(&path)?)?;
        }
        for (name, target) in libraries.links() {
            self.link(&name, &target)?;
        }
        for (name, text) in libraries.entries() {
            self.file(&name, 0o644, text.as_bytes())?;
        }
        Ok(())
    }

    /// Where a file goes: inside, whatever links lead there.
    fn place(&self, name: &str) -> Result<PathBuf, SysrootError> {
        let outside = || SysrootError::Outside(name.into());
        let path = Path::new(name);
        let is_plain = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let (Some(parent), Some(file)) = (path.parent(), path.file_name()) else {
            return Err(outside());
        };
        if !is_plain {
            return Err(outside());
        }
        let parent = self.0.join(parent);
        fs::create_dir_all(&parent).at(&parent)?;
        let parent = fs::canonicalize(&parent).at(&parent)?;
        match parent.starts_with(&self.0) {
            true => Ok(parent.join(file)),
            false => Err(outside()),
        }
    }

    fn folder(&self, name: &str) -> Result<(), SysrootError> {
        let place = self.place(name)?;
        if !place.is_dir() {
            fs::create_dir(&place).at(&place)?;
        }
        Ok(())
    }

    fn file(&self, name: &str, mode: u32, bytes: &[u8]) -> Result<(), SysrootError> {
        let place = self.place(name)?;
        remove(&place)?;
        fs::write(&place, bytes).at(&place)?;
        let file = File::options().write(true).open(&place).at(&place)?;
        let date = UNIX_EPOCH + Duration::from_secs(DATE.into());
        file.set_modified(date).at(&place)?;
        // Readable in any case: the simulator does not run as root.
        fs::set_permissions(&place, Permissions::from_mode(mode | 0o400)).at(&place)?;
        Ok(())
    }

    /// An absolute target is one inside of the folder.
    fn link(&self, name: &str, target: &str) -> Result<(), SysrootError> {
        let place = self.place(name)?;
        remove(&place)?;
        let target = match target.strip_prefix('/') {
            Some(inside) => self.relative(&place, inside),
            None => target.into(),
        };
        symlink(&target, &place).at(&place)?;
        Ok(())
    }

    fn relative(&self, place: &Path, inside: &str) -> PathBuf {
        let depth = place
            .strip_prefix(&self.0)
            .map_or(0, |p| p.components().count());
        let up = std::iter::repeat_n("..", depth.saturating_sub(1));
        up.collect::<PathBuf>().join(inside)
    }
}

/// What an earlier package put there goes; a folder stays and is an error then.
fn remove(place: &Path) -> Result<(), CacheError> {
    match fs::symlink_metadata(place) {
        Ok(meta) if !meta.is_dir() => fs::remove_file(place).at(place),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_files_stay_inside() {
        let work = tempfile::tempdir().unwrap();
        let folder = work.path().join("root");
        let root = Root::create(&folder).unwrap();
        root.skeleton().unwrap();
        root.file("lib/a/libx.so", 0o755, b"elf").unwrap();
        assert_eq!(fs::read(folder.join("usr/lib/a/libx.so")).unwrap(), b"elf");
        let date = fs::metadata(folder.join("usr/lib/a/libx.so")).unwrap();
        let date = date.modified().unwrap().duration_since(UNIX_EPOCH).unwrap();
        assert_eq!(date.as_secs(), u64::from(DATE));
        root.link("usr/lib/a/abs", "/lib/a/libx.so").unwrap();
        assert_eq!(fs::read(folder.join("usr/lib/a/abs")).unwrap(), b"elf");
        symlink(work.path(), folder.join("out")).unwrap();
        for name in ["../x", "/etc/x", "a/../../x", "", "out/x"] {
            assert!(root.file(name, 0o644, b"").is_err(), "{name}");
        }
        assert!(!work.path().join("x").exists());
    }

    #[test]
    fn only_a_sysroot_is_removed() {
        let work = tempfile::tempdir().unwrap();
        let folder = work.path().join("root");
        clear(&folder).unwrap();
        Root::create(&folder).unwrap();
        clear(&folder).unwrap();
        assert!(!folder.exists());
        fs::create_dir(&folder).unwrap();
        clear(&folder).unwrap();
        fs::write(folder.join("mine"), "").unwrap();
        let error = clear(&folder).unwrap_err();
        assert!(matches!(error, SysrootError::NotEmpty(_)));
        assert!(folder.join("mine").exists());
    }
}
