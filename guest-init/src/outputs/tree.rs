//! Copies a file or folder with what is in it, however deep: no more than a few folders
//! are open, and no path is longer than the kernel takes.

use super::contents;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Bytes of a path below an open folder, from which on a nearer one is opened. With a
/// name they are fewer than `PATH_MAX`.
const PATH_LONG: usize = 3072;

/// A path, from a folder that is open or from the working folder.
#[derive(Clone)]
struct Place {
    from: Option<Rc<File>>,
    path: PathBuf,
}

impl Place {
    fn new(path: &Path) -> Self {
        Self {
            from: None,
            path: path.into(),
        }
    }

    fn path(&self) -> PathBuf {
        match &self.from {
            Some(folder) => {
                Path::new(&format!("/proc/self/fd/{}", folder.as_raw_fd())).join(&self.path)
            }
            None => self.path.clone(),
        }
    }

    fn below(&self, name: &OsStr) -> Self {
        Self {
            from: self.from.clone(),
            path: self.path.join(name),
        }
    }

    /// This folder, by a short path.
    fn shortened(self) -> io::Result<Self> {
        if self.path.as_os_str().len() < PATH_LONG {
            return Ok(self);
        }
        let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let folder = File::options()
            .read(true)
            .custom_flags(flags)
            .open(self.path())?;
        Ok(Self {
            from: Some(Rc::new(folder)),
            path: PathBuf::new(),
        })
    }
}

/// A folder and its copy.
struct Pair {
    from: Place,
    to: Place,
}

/// What is left to do; the last comes first.
enum Step {
    /// This name of a folder is copied.
    Copy(Rc<Pair>, OsString),
    /// All of a folder is copied: it gets its permissions.
    Permit(Rc<Pair>, Permissions),
}

/// Copies a file, a folder with what is in it, or a link, which stays one. What is
/// neither has no contents to copy.
///
/// # Errors
/// The system's. What is there already is not overwritten.
pub fn copy(from: &Path, to: &Path, meta: &Metadata) -> io::Result<()> {
    let mut steps = Vec::new();
    copy_one(Place::new(from), Place::new(to), meta, &mut steps)?;
    while let Some(step) = steps.pop() {
        match step {
            Step::Copy(pair, name) => {
                let from = pair.from.below(&name);
                let meta = fs::symlink_metadata(from.path())?;
                copy_one(from, pair.to.below(&name), &meta, &mut steps)?;
            }
            Step::Permit(pair, permissions) => fs::set_permissions(pair.to.path(), permissions)?,
        }
    }
    Ok(())
}

fn copy_one(from: Place, to: Place, meta: &Metadata, steps: &mut Vec<Step>) -> io::Result<()> {
    let kind = meta.file_type();
    if kind.is_symlink() {
        symlink(fs::read_link(from.path())?, to.path())
    } else if kind.is_file() {
        copy_file(&from.path(), &to.path(), meta)
    } else if kind.is_dir() {
        begin_folder(from, to, meta, steps)
    } else {
        Ok(())
    }
}

/// Makes a folder; what is in it are further steps.
fn begin_folder(from: Place, to: Place, meta: &Metadata, steps: &mut Vec<Step>) -> io::Result<()> {
    fs::create_dir(to.path())?;
    let (from, to) = (from.shortened()?, to.shortened()?);
    let pair = Rc::new(Pair { from, to });
    steps.push(Step::Permit(pair.clone(), permissions(meta)));
    for entry in fs::read_dir(pair.from.path())? {
        steps.push(Step::Copy(pair.clone(), entry?.file_name()));
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path, meta: &Metadata) -> io::Result<()> {
    let mut target = File::create_new(to)?;
    contents::copy(&mut File::open(from)?, &mut target, meta)?;
    target.set_permissions(permissions(meta))
}

fn permissions(meta: &Metadata) -> Permissions {
    Permissions::from_mode(meta.permissions().mode() & 0o777)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::fcntl::{OFlag, openat};
    use nix::sys::stat::{Mode, mkdirat};
    use std::os::fd::OwnedFd;
    use std::process::Command;

    #[test]
    fn a_folder_is_copied_as_it_is() {
        let work = tempfile::tempdir().unwrap();
        let (from, to) = (work.path().join("from"), work.path().join("to"));
        fs::create_dir_all(from.join("a b/c")).unwrap();
        fs::write(from.join("a b/c/file"), "text").unwrap();
        fs::set_permissions(from.join("a b/c/file"), Permissions::from_mode(0o640)).unwrap();
        fs::set_permissions(from.join("a b"), Permissions::from_mode(0o510)).unwrap();
        symlink("/etc/passwd", from.join("link")).unwrap();
        copy(&from, &to, &fs::metadata(&from).unwrap()).unwrap();
        assert_eq!(fs::read(to.join("a b/c/file")).unwrap(), b"text");
        for (name, mode) in [("a b/c/file", 0o640), ("a b", 0o510)] {
            let meta = fs::metadata(to.join(name)).unwrap();
            assert_eq!(meta.permissions().mode() & 0o7777, mode);
        }
        let link = fs::read_link(to.join("link")).unwrap();
        assert_eq!(link, Path::new("/etc/passwd"), "a link stays a link");
    }

    #[test]
    fn what_is_there_already_is_not_overwritten() {
        let work = tempfile::tempdir().unwrap();
        let (from, to) = (work.path().join("from"), work.path().join("to"));
        fs::write(&from, "new").unwrap();
        symlink("elsewhere", &to).unwrap();
        assert!(copy(&from, &to, &fs::metadata(&from).unwrap()).is_err());
        assert!(!work.path().join("elsewhere").exists());
    }

    /// The folder below this one.
    fn enter(folder: &OwnedFd) -> nix::Result<OwnedFd> {
        openat(folder, "d", OFlag::O_DIRECTORY, Mode::empty())
    }

    #[test]
    fn a_folder_is_copied_however_deep_it_is() {
        // More than folders can be open, and a path longer than the kernel takes.
        const DEPTH: usize = 5000;
        let work = tempfile::tempdir().unwrap();
        let (from, to) = (work.path().join("from"), work.path().join("to"));
        fs::create_dir(&from).unwrap();
        let mut folder = OwnedFd::from(File::open(&from).unwrap());
        for _ in 0..DEPTH {
            mkdirat(&folder, "d", Mode::S_IRWXU).unwrap();
            folder = enter(&folder).unwrap();
        }
        copy(&from, &to, &fs::metadata(&from).unwrap()).unwrap();
        let mut folder = OwnedFd::from(File::open(&to).unwrap());
        let mut depth = 0;
        while let Ok(next) = enter(&folder) {
            (folder, depth) = (next, depth + 1);
        }
        assert_eq!(depth, DEPTH);
        let removed = Command::new("rm").arg("-r").args([&from, &to]).status();
        assert!(removed.unwrap().success());
    }
}
