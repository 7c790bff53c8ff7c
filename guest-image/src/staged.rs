//! Files of a run in a folder of this machine, from which its disk is made. What
//! the files' names say stays in that folder: links in it are never followed.

use crate::copied::{self, folder_mode};
use crate::files::Files;
use gil_run_support::cache::{At, CacheError};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// The folder.
pub struct Staged {
    root: PathBuf,
}

impl Staged {
    /// Makes it.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be made, or is there.
    pub fn create(root: &Path) -> Result<Self, CacheError> {
        fs::create_dir(root).at(root)?;
        set_mode(root, folder_mode(""))?;
        Ok(Self { root: root.into() })
    }

    /// Makes the folders above it; its place, where nothing is.
    fn place(&self, name: &str) -> Result<PathBuf, CacheError> {
        let path = self.root.join(name);
        if let Some((above, _)) = name.rsplit_once('/') {
            self.make_folder(above, None)?;
        }
        match fs::symlink_metadata(&path) {
            Ok(_) => fs::remove_file(&path).at(&path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).at(&path),
        }
        Ok(path)
    }

    /// Makes each part of `name` that is not there. An existing folder gets
    /// `mode`, if there is one.
    fn make_folder(&self, name: &str, mode: Option<u32>) -> Result<(), CacheError> {
        let mut path = self.root.clone();
        let mut name_so_far = String::new();
        for part in name.split('/') {
            path.push(part);
            name_so_far = format!("{name_so_far}/{part}");
            let is_last = name_so_far.len() == name.len() + 1;
            let wanted = mode.filter(|_| is_last);
            if let Some(mode) = make_one(&path, wanted, &name_so_far[1..])? {
                set_mode(&path, mode)?;
            }
        }
        Ok(())
    }
}

/// Makes one folder, unless it is there; the mode that it is to get.
fn make_one(path: &Path, wanted: Option<u32>, name: &str) -> Result<Option<u32>, CacheError> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => Ok(wanted),
        Ok(_) => Err(io::Error::from(io::ErrorKind::NotADirectory)).at(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir(path).at(path)?;
            Ok(Some(wanted.unwrap_or(folder_mode(name))))
        }
        Err(error) => Err(error).at(path),
    }
}

/// Whatever this process's mask is.
fn set_mode(path: &Path, mode: u32) -> Result<(), CacheError> {
    fs::set_permissions(path, Permissions::from_mode(mode)).at(path)
}

impl Files for Staged {
    fn folder(&mut self, name: &str, mode: u32) -> Result<(), CacheError> {
        self.make_folder(name, Some(mode))
    }

    fn file(&mut self, name: &str, mode: u32, bytes: &[u8]) -> Result<(), CacheError> {
        let path = self.place(name)?;
        fs::write(&path, bytes).at(&path)?;
        set_mode(&path, mode)
    }

    fn copy(&mut self, name: &str, mode: u32, source: &Path) -> Result<(), CacheError> {
        let path = self.place(name)?;
        copied::copy(source, &path)?;
        set_mode(&path, mode)
    }

    fn link(&mut self, name: &str, target: &[u8]) -> Result<(), CacheError> {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let path = self.place(name)?;
        symlink(OsStr::from_bytes(target), &path).at(&path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn files_have_their_modes_and_later_ones_count() {
        let work = tempfile::tempdir().unwrap();
        let root = work.path().join("own");
        let mut files = Staged::create(&root).unwrap();
        files.file("usr/bin/a", 0o4755, b"old").unwrap();
        files.link("usr/bin/a", b"nowhere").unwrap();
        files.file("usr/bin/a", 0o4755, b"new").unwrap();
        files.file("tmp/b", 0o600, b"").unwrap();
        files.folder("tmp", 0o700).unwrap();
        files.copy("c", 0o640, &root.join("usr/bin/a")).unwrap();
        assert_eq!(fs::read(root.join("c")).unwrap(), b"new");
        for (name, expected) in [
            ("", 0o755),
            ("usr", 0o755),
            ("usr/bin/a", 0o4755),
            ("tmp", 0o700),
            ("tmp/b", 0o600),
            ("c", 0o640),
        ] {
            assert_eq!(mode(&root.join(name)), expected, "{name}");
        }
        assert!(Staged::create(&root).is_err());
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let work = tempfile::tempdir().unwrap();
        let outside = work.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "as it was").unwrap();
        let mut files = Staged::create(&work.path().join("own")).unwrap();
        let target = outside.to_str().unwrap().as_bytes();
        files.link("etc", target).unwrap();
        assert!(files.file("etc/x", 0o644, b"").is_err());
        assert!(files.folder("etc", 0o700).is_err());
        files.link("kept", &[target, b"/kept"].concat()).unwrap();
        files.file("kept", 0o600, b"changed").unwrap();
        assert_eq!(fs::read(outside.join("kept")).unwrap(), b"as it was");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    }
}
