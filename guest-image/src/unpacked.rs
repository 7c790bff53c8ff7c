//! Packages, unpacked by `dpkg-deb`: the files that the guest gets, and their paths.

use crate::apt::AptError;
use crate::copied::{Found, Kind};
use crate::tree::{Entry, MERGED, Tree, guest_path};
use gil_run_support::cache::{At, CacheError};
use gil_run_support::progress::Progress;
use gil_run_support::tool;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders that the guest never reads.
const LEFT_OUT: [&str; 6] = [
    "usr/share/doc",
    "usr/share/man",
    "usr/share/info",
    "usr/share/locale",
    "usr/share/lintian",
    "usr/share/bug",
];

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

/// Visits everything in `root` but documentation, folders before what is in
/// them.
///
/// # Errors
/// [`CacheError`] if something cannot be read, and those of `seen`.
pub fn visit<E: From<CacheError>>(
    root: &Path,
    seen: &mut dyn FnMut(&Found) -> Result<(), E>,
) -> Result<(), E> {
    let mut pending = vec![root.to_path_buf()];
    while let Some(folder) = pending.pop() {
        let mut entries: Vec<_> = fs::read_dir(&folder)
            .and_then(Iterator::collect)
            .at(&folder)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            if visit_one(root, &path, seen)? {
                pending.push(path);
            }
        }
    }
    Ok(())
}

/// Whether it is a folder that is to be looked into.
fn visit_one<E: From<CacheError>>(
    root: &Path,
    path: &Path,
    seen: &mut dyn FnMut(&Found) -> Result<(), E>,
) -> Result<bool, E> {
    let inside = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
    let name = guest_path(&inside);
    if LEFT_OUT.contains(&name.as_str()) {
        return Ok(false);
    }
    let meta = fs::symlink_metadata(path).at(path)?;
    let mode = meta.permissions().mode() & 0o7777;
    let kind = if meta.is_dir() {
        Kind::Folder(mode)
    } else if meta.is_symlink() {
        Kind::Link(fs::read_link(path).at(path)?)
    } else if meta.is_file() {
        Kind::File(mode)
    } else {
        return Ok(false);
    };
    // What is in it goes to `/usr`, which has that folder. The link is the guest's own;
    // the package base-files has it, too, since Debian 13.
    if meta.is_file() || !MERGED.contains(&inside.as_ref()) {
        let source = path.into();
        seen(&Found { source, name, kind })?;
    }
    Ok(meta.is_dir())
}

/// Moves what the guest gets of `root` to `place`, where the guest has it; what
/// there is.
///
/// # Errors
/// [`CacheError`] if something cannot be read or written.
pub fn settle(root: &Path, place: &Path) -> Result<Tree, CacheError> {
    let mut tree = Tree::default();
    fs::create_dir_all(place).at(place)?;
    visit(root, &mut |found| -> Result<(), CacheError> {
        let to = place.join(&found.name);
        let above = to.parent().unwrap_or(place);
        fs::create_dir_all(above).at(above)?;
        match &found.kind {
            Kind::Folder(mode) => {
                fs::create_dir_all(&to).at(&to)?;
                // Files are moved into it yet.
                let mode = fs::Permissions::from_mode(*mode | 0o700);
                fs::set_permissions(&to, mode).at(&to)?;
            }
            Kind::File(_) => fs::rename(&found.source, &to).at(&to)?,
            Kind::Link(target) => {
                let _ = fs::remove_file(&to);
                symlink(target, &to).at(&to)?;
            }
        }
        tree.insert(&found.name, Entry::from(&found.kind));
        Ok(())
    })?;
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_debians_merge_leave_the_folders_that_they_lead_to() {
        let work = tempfile::tempdir().unwrap();
        let (root, place) = (work.path().join("root"), work.path().join("place"));
        for name in ["bin", "lib"] {
            let target = format!("usr/{name}");
            fs::create_dir_all(root.join(&target)).unwrap();
            symlink(&target, root.join(name)).unwrap();
        }
        fs::write(root.join("usr/bin/bash"), "shell").unwrap();

        let tree = settle(&root, &place).unwrap();
        assert_eq!(fs::read(place.join("usr/bin/bash")).unwrap(), b"shell");
        assert!(place.join("usr/lib").is_dir());
        assert!(place.join("bin").symlink_metadata().is_err());
        assert!(tree.is_folder("usr/bin") && tree.is_folder("usr/lib"));
    }

    #[test]
    fn packages_lie_where_debian_merged_them() {
        let work = tempfile::tempdir().unwrap();
        let (root, place) = (work.path().join("root"), work.path().join("place"));
        for folder in ["lib/arch", "usr/lib/arch", "usr/share/doc/x", "usr/sbin"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("usr/share/doc/x/copyright"), "long").unwrap();
        fs::write(root.join("lib/arch/libx.so.1.2"), "new").unwrap();
        fs::write(root.join("usr/lib/arch/liby.so"), "other").unwrap();
        symlink("libx.so.1.2", root.join("lib/arch/libx.so.1")).unwrap();
        fs::set_permissions(root.join("usr/sbin"), fs::Permissions::from_mode(0o2750)).unwrap();

        let tree = settle(&root, &place).unwrap();
        let read = |name: &str| fs::read_to_string(place.join(name)).unwrap();
        assert_eq!(read("usr/lib/arch/libx.so.1"), "new");
        assert_eq!(read("usr/lib/arch/liby.so"), "other");
        assert!(!place.join("lib").exists() && !place.join("usr/share/doc").exists());
        let mode = fs::metadata(place.join("usr/sbin"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o7777, 0o2750);
        assert!(tree.is_folder("usr/sbin"));
        let executable = false;
        assert_eq!(
            tree.file("lib/arch/libx.so.1"),
            Some(&Entry::File { executable })
        );
    }
}
