//! Files that commands write for the user: `--json`, `--record`, `--keep`, `--out`. It is
//! checked that they can be written before time is spent.

use gil_run_support::folder::create_file;
use nix::unistd::{AccessFlags, access};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Why such a file is not written.
#[derive(Debug, thiserror::Error)]
#[error("{option} {} cannot be written ({source}): name {wanted} where you may write", path.display())]
pub struct OutputError {
    option: &'static str,
    path: PathBuf,
    source: io::Error,
    wanted: &'static str,
}

/// A file or folder that an option names.
#[derive(Clone, Copy)]
pub struct Output<'a> {
    option: &'static str,
    path: &'a Path,
}

impl<'a> Output<'a> {
    /// The one that `option` names.
    pub fn of(option: &'static str, path: &'a Path) -> Self {
        Self { option, path }
    }

    pub fn failed(self, source: io::Error) -> OutputError {
        OutputError {
            option: self.option,
            path: self.path.into(),
            source,
            wanted: "a file on a disk with room, in a folder",
        }
    }

    /// Looks whether it is a folder that can be written to, or made.
    ///
    /// # Errors
    /// [`OutputError`] if not.
    pub fn check_folder(self) -> Result<(), OutputError> {
        let checked = std::path::absolute(self.path).and_then(|path| {
            let mut there = path.ancestors().skip_while(|path| !is_there(path));
            let nearest = there.next().unwrap_or(Path::new("/"));
            match fs::metadata(nearest)?.is_dir() {
                true => Ok(access(nearest, AccessFlags::W_OK | AccessFlags::X_OK)?),
                false => Err(io::ErrorKind::NotADirectory.into()),
            }
        });
        checked.map_err(|error| OutputError {
            wanted: "a folder on a disk with room,",
            ..self.failed(error)
        })
    }

    /// Looks whether it can be written, and leaves everything as it was.
    ///
    /// # Errors
    /// [`OutputError`] if not.
    pub fn check(self) -> Result<(), OutputError> {
        let checked = match fs::metadata(self.path) {
            Ok(meta) if meta.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(meta) if meta.is_file() => File::options().write(true).open(self.path).map(drop),
            // A pipe may have no reader yet.
            Ok(_) => Ok(()),
            Err(_) => create_file(self.path).map(|_| drop(Made::at(self.path))),
        };
        checked.map_err(|error| self.failed(error))
    }

    /// Makes it, empty, for this user alone; where it was not there, it is
    /// gone again with what is returned, unless something was written.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn make(self) -> Result<Option<Made>, OutputError> {
        let was_there = self.path.exists();
        create_file(self.path).map_err(|error| self.failed(error))?;
        Ok((!was_there).then(|| Made::at(self.path)))
    }

    /// Makes it, or makes it empty, to be written piece by piece.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn create(self) -> Result<File, OutputError> {
        File::create(self.path).map_err(|error| self.failed(error))
    }

    /// Writes all of it; a regular file that cannot hold it is removed.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn write(self, bytes: &[u8]) -> Result<(), OutputError> {
        let mut file = File::create(self.path).map_err(|error| self.failed(error))?;
        file.write_all(bytes).map_err(|error| {
            // What it holds is no report.
            let _ = file.set_len(0);
            drop(Made::at(self.path));
            self.failed(error)
        })
    }
}

/// A link that leads nowhere is in the way, too.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// A file that is removed if it is empty in the end.
pub struct Made(PathBuf);

impl Made {
    /// The place that `path` leads to.
    fn at(path: &Path) -> Self {
        Self(fs::canonicalize(path).unwrap_or_else(|_| path.into()))
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let meta = fs::symlink_metadata(&self.0);
        if meta.is_ok_and(|meta| meta.is_file() && meta.len() == 0) {
            let _ = fs::remove_file(&self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn says(result: Result<(), OutputError>, words: &[&str]) {
        let error = result.unwrap_err().to_string();
        for word in words {
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_written_is_known_before_and_nothing_changes() {
        let work = tempfile::tempdir().unwrap();
        let at = |name: &str| work.path().join(name);
        let check = |path: &Path| Output::of("--json", path).check();
        says(check(&at("no/r.json")), &["--json", "no/r.json", "folder"]);
        says(check(work.path()), &["--json", "directory"]);
        fs::write(at("old"), "old").unwrap();
        symlink("target", at("link")).unwrap();
        for name in ["old", "new", "link"] {
            check(&at(name)).unwrap();
        }
        check(Path::new("/dev/full")).unwrap();
        assert_eq!(fs::read(at("old")).unwrap(), b"old");
        assert!(!at("new").exists() && !at("target").exists());
        assert!(at("link").is_symlink());
    }

    #[test]
    fn a_folder_is_there_or_can_be_made() {
        let work = tempfile::tempdir().unwrap();
        let at = |name: &str| work.path().join(name);
        let check = |path: &Path| Output::of("--keep", path).check_folder();
        check(work.path()).unwrap();
        check(&at("new/in/new")).unwrap();
        assert!(!at("new").exists());
        fs::write(at("file"), "old").unwrap();
        symlink("nowhere", at("link")).unwrap();
        let words = ["--keep", "name a folder"];
        for name in ["file", "file/new", "link"] {
            says(check(&at(name)), &[&words[..], &[name]].concat());
        }
    }

    #[test]
    fn what_was_made_and_stayed_empty_goes() {
        let work = tempfile::tempdir().unwrap();
        let at = |name: &str| work.path().join(name);
        fs::write(at("old"), "").unwrap();
        for name in ["old", "empty", "written"] {
            let path = at(name);
            let made = Output::of("--record", &path).make().unwrap();
            if name == "written" {
                fs::write(&path, "x").unwrap();
            }
            drop(made);
        }
        assert!(at("old").exists() && at("written").exists());
        assert!(!at("empty").exists());
    }

    #[test]
    fn a_full_disk_is_told_with_what_helps() {
        let written = Output::of("--json", Path::new("/dev/full")).write(b"x");
        says(written, &["--json /dev/full", "disk with room"]);
    }
}
