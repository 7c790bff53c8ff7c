//! `gil run --out`: what the program left is copied to folders of the host, which are
//! mounted for that when the program has ended.

use crate::Error;
use crate::config::{Config, Share};
use crate::shares::Shares;
use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Where the host's folders are mounted meanwhile.
const PLACE: &str = "/run/gil-out";
/// What is copied there, and its name until it is whole.
const WHOLE: &str = "whole";
const PART: &str = "part";

/// Copies each output of the run; what went wrong with some of them.
pub fn copy(config: &Config) -> Vec<Error> {
    let first = config.shares.len();
    let copied =
        |(number, from): (usize, &PathBuf)| copy_one(first + number, &config.cwd.join(from)).err();
    config
        .outputs
        .iter()
        .enumerate()
        .filter_map(copied)
        .collect()
}

fn copy_one(number: usize, from: &Path) -> Result<(), Error> {
    let failed = |error| Error::Output {
        path: from.into(),
        error,
    };
    // Behind a link, if the name is one.
    let meta = fs::metadata(from).map_err(failed)?;
    if !meta.is_file() && !meta.is_dir() {
        return Err(failed(io::Error::other(
            "it is neither a file nor a folder",
        )));
    }
    let at = PathBuf::from(PLACE);
    let share = Share {
        at: at.clone(),
        read_only: false,
    };
    let shares = Shares::mount(number, &[share])?;
    let part = at.join(PART);
    let copied = copy_tree(from, &part, &meta);
    let copied = copied.and_then(|()| fs::rename(&part, at.join(WHOLE)));
    shares.unmount()?;
    copied.map_err(failed)
}

/// Copies a file, a folder with what is in it, or a link. What is neither has no
/// contents to copy.
fn copy_tree(from: &Path, to: &Path, meta: &Metadata) -> io::Result<()> {
    let kind = meta.file_type();
    if kind.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    if kind.is_file() {
        return copy_file(from, to, meta);
    }
    if !kind.is_dir() {
        return Ok(());
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy_tree(
            &entry.path(),
            &to.join(entry.file_name()),
            &entry.metadata()?,
        )?;
    }
    fs::set_permissions(
        to,
        Permissions::from_mode(meta.permissions().mode() & 0o777),
    )
}

fn copy_file(from: &Path, to: &Path, meta: &Metadata) -> io::Result<()> {
    let mut target = File::create_new(to)?;
    io::copy(&mut File::open(from)?, &mut target)?;
    target.set_permissions(Permissions::from_mode(meta.permissions().mode() & 0o777))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_copied_as_it_is() {
        let work = tempfile::tempdir().unwrap();
        let (from, to) = (work.path().join("from"), work.path().join("to"));
        fs::create_dir_all(from.join("a b/c")).unwrap();
        fs::write(from.join("a b/c/file"), "text").unwrap();
        fs::set_permissions(from.join("a b/c/file"), Permissions::from_mode(0o640)).unwrap();
        symlink("/etc/passwd", from.join("link")).unwrap();
        copy_tree(&from, &to, &fs::metadata(&from).unwrap()).unwrap();
        assert_eq!(fs::read(to.join("a b/c/file")).unwrap(), b"text");
        let meta = fs::metadata(to.join("a b/c/file")).unwrap();
        assert_eq!(meta.permissions().mode() & 0o7777, 0o640);
        let link = fs::read_link(to.join("link")).unwrap();
        assert_eq!(link, Path::new("/etc/passwd"), "a link stays a link");
    }

    #[test]
    fn what_has_no_contents_is_refused() {
        let error = copy_one(0, Path::new("/dev/null")).unwrap_err().to_string();
        assert!(error.contains("neither a file nor a folder"), "{error}");
    }

    #[test]
    fn what_is_there_already_is_not_overwritten() {
        let work = tempfile::tempdir().unwrap();
        let (from, to) = (work.path().join("from"), work.path().join("to"));
        fs::write(&from, "new").unwrap();
        symlink("elsewhere", &to).unwrap();
        assert!(copy_tree(&from, &to, &fs::metadata(&from).unwrap()).is_err());
        assert!(!work.path().join("elsewhere").exists());
    }
}
