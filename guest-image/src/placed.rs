//! The destinations of files that are copied into the guest, by the rules of `cp` and
//! `cp -r`, following the guest's links.

use crate::copied::{Copied, Found, Kind};
use crate::tree::{self, Entry, Tree};
use gil_run_support::cache::{At, CacheError};
use std::fs;
use std::path::Path;

/// Why a file cannot be copied to its place.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The guest would not see it.
    #[error(
        "--file {copied} has no place: the guest's kernel covers /{folder} with files of its own"
    )]
    Covered {
        /// What was to be copied.
        copied: String,
        /// The folder.
        folder: &'static str,
    },
    /// A folder where the guest has a file.
    #[error("--file {copied} has no place: /{at} is a file in the guest, and no folder")]
    File {
        /// What was to be copied.
        copied: String,
        /// The path in the guest.
        at: String,
    },
    /// A file where the guest has a folder.
    #[error("--file {copied} has no place: /{at} is a folder in the guest")]
    Folder {
        /// What was to be copied.
        copied: String,
        /// The path in the guest.
        at: String,
    },
    /// Links of the guest's that lead around.
    #[error("--file {copied} has no place: links of the guest lead from there to themselves")]
    Loop {
        /// What was to be copied.
        copied: String,
    },
    /// It cannot be read.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// What the kernel mounts over the guest's files.
const COVERED: [&str; 3] = ["dev", "proc", "sys"];

/// Looks whether all of it can be copied, as far as that is known without the
/// guest's packages.
///
/// # Errors
/// [`PlaceError`].
pub fn check(files: &[Copied]) -> Result<(), PlaceError> {
    files.iter().try_for_each(|copied| {
        is_seen(copied, copied.target.trim_start_matches('/'))?;
        copied.visit(String::new(), &mut |_| Ok(()))
    })
}

/// All that is to be copied into a guest that has the files of `tree`, each with
/// its place.
///
/// # Errors
/// [`PlaceError`] if something has none.
pub fn place(files: &[Copied], mut tree: Tree) -> Result<Vec<Found>, PlaceError> {
    let mut placed = Vec::new();
    for copied in files {
        let name = name(copied, &tree)?;
        copied.visit(name, &mut |found| -> Result<(), PlaceError> {
            let found = place_one(copied, found, &tree)?;
            // The root is there.
            if !found.name.is_empty() {
                tree.insert(&found.name, Entry::from(&found.kind));
                placed.push(found);
            }
            Ok(())
        })?;
    }
    Ok(placed)
}

/// The path that `copied` gets in the guest.
fn name(copied: &Copied, tree: &Tree) -> Result<String, PlaceError> {
    let at = resolve(copied, tree, &copied.target)?;
    let meta = fs::metadata(&copied.source).at(&copied.source)?;
    let is_into = copied.into || (meta.is_file() && tree.is_folder(&at));
    // As `cp -r` has it: of `folder/.`, only what is in it.
    let is_inside = copied
        .source
        .as_os_str()
        .as_encoded_bytes()
        .ends_with(b"/.");
    match copied.source.file_name().filter(|_| !is_inside) {
        Some(own) if is_into => Ok(format!("{at}/{}", own.to_string_lossy())),
        // A folder that is there is added to; a link to a file is replaced.
        _ if meta.is_dir() => Ok(at),
        _ => Ok(copied.target.clone()),
    }
}

/// Puts it where the links lead that the guest has on its way; a folder where it
/// leads itself.
fn place_one(copied: &Copied, mut found: Found, tree: &Tree) -> Result<Found, PlaceError> {
    let (above, own) = found.name.rsplit_once('/').unwrap_or(("", &found.name));
    let above = resolve(copied, tree, above)?;
    let full = resolve(copied, tree, &found.name)?;
    let is_folder = matches!(found.kind, Kind::Folder(_));
    found.name = match is_folder {
        true => full.clone(),
        false => tree::normal(&format!("{above}/{own}")),
    };
    is_seen(copied, &found.name)?;
    let within = if is_folder { &full } else { &above };
    if let Some(at) = tree.file_on(within) {
        let (copied, at) = (copied.to_string(), at.into());
        return Err(PlaceError::File { copied, at });
    }
    if !is_folder && tree.is_folder(&full) {
        let copied = copied.to_string();
        return Err(PlaceError::Folder { copied, at: full });
    }
    Ok(found)
}

fn resolve(copied: &Copied, tree: &Tree, path: &str) -> Result<String, PlaceError> {
    tree.resolve(path).ok_or_else(|| PlaceError::Loop {
        copied: copied.to_string(),
    })
}

/// Whether what has that name is not covered.
fn is_seen(copied: &Copied, name: &str) -> Result<(), PlaceError> {
    let cover = COVERED
        .iter()
        .find(|&folder| Path::new(name).starts_with(folder));
    match cover {
        Some(folder) => Err(PlaceError::Covered {
            copied: copied.to_string(),
            folder,
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A folder of this machine: `f.txt`, `d/usr/bin/own`, `d/new`.
    fn work() -> tempfile::TempDir {
        let work = tempfile::tempdir().unwrap();
        fs::create_dir_all(work.path().join("d/usr/bin")).unwrap();
        for name in ["f.txt", "d/usr/bin/own", "d/new"] {
            fs::write(work.path().join(name), "text").unwrap();
        }
        symlink("new", work.path().join("d/link")).unwrap();
        work
    }

    fn guest() -> Tree {
        let mut tree = crate::image::skeleton();
        tree.insert("usr/share/p/data", Entry::File { executable: false });
        tree.insert("usr/lib/empty", Entry::Folder);
        for (at, target) in [
            ("usr/share/q", "p"),
            ("etc/x", "../usr/share/q"),
            ("usr/l", "l"),
        ] {
            let target = target.into();
            tree.insert(at, Entry::Link { target });
        }
        tree
    }

    /// The names of all that is placed, in order; or why not.
    fn placed(work: &Path, all: &[&str]) -> Result<Vec<String>, String> {
        let parse = |text: &&str| format!("{}/{text}", work.display()).parse().unwrap();
        let files: Vec<Copied> = all.iter().map(parse).collect();
        let placed = check(&files).and_then(|()| place(&files, guest()));
        let found = placed.map_err(|error| error.to_string())?;
        let mut names: Vec<_> = found.into_iter().map(|found| found.name).collect();
        names.sort();
        Ok(names)
    }

    #[test]
    fn a_file_goes_into_a_folder_and_replaces_a_file() {
        let work = work();
        for (target, name) in [
            ("/usr", "usr/f.txt"),
            ("/bin", "usr/bin/f.txt"),
            ("/usr/bin/", "usr/bin/f.txt"),
            ("/root/", "root/f.txt"),
            ("/tmp", "tmp/f.txt"),
            ("/", "f.txt"),
            ("/usr/lib/empty", "usr/lib/empty/f.txt"),
            ("/usr/share/p", "usr/share/p/f.txt"),
            ("/etc/x", "usr/share/p/f.txt"),
            ("/etc/x/data", "usr/share/p/data"),
            ("/new/", "new/f.txt"),
            ("/new", "new"),
            ("/lib/new", "usr/lib/new"),
            ("/etc/passwd", "etc/passwd"),
            ("/bin/sh", "usr/bin/sh"),
        ] {
            let files = [format!("f.txt:{target}")];
            let files = files.each_ref().map(String::as_str);
            assert_eq!(placed(work.path(), &files).unwrap(), [name], "{target}");
        }
    }

    #[test]
    fn a_folder_is_added_to_the_one_that_is_there() {
        let work = work();
        let below = |at: &str| {
            let all = ["", "/link", "/new", "/usr", "/usr/bin", "/usr/bin/own"];
            all.map(|name| format!("{at}{name}")).to_vec()
        };
        for (target, name) in [
            ("/lib", "usr/lib"),
            ("/lib/", "usr/lib/d"),
            ("/etc", "etc"),
            ("/etc/x", "usr/share/p"),
            ("/", "d"),
        ] {
            let found = placed(work.path(), &[&format!("d:{target}")]).unwrap();
            assert_eq!(found, below(name), "{target}");
        }
        let found = placed(work.path(), &["d/.:/", "f.txt:/usr/bin"]).unwrap();
        let named = [
            "link",
            "new",
            "usr",
            "usr/bin",
            "usr/bin/f.txt",
            "usr/bin/own",
        ];
        assert_eq!(found, named);
    }

    #[test]
    fn links_of_the_guest_are_not_hidden_by_folders() {
        let work = work();
        fs::create_dir_all(work.path().join("s/share/q")).unwrap();
        fs::write(work.path().join("s/share/q/more"), "text").unwrap();
        let found = placed(work.path(), &["s:/usr"]).unwrap();
        assert_eq!(
            found,
            ["usr", "usr/share", "usr/share/p", "usr/share/p/more"]
        );
    }

    #[test]
    fn what_one_puts_there_the_next_finds() {
        let work = work();
        let found = placed(work.path(), &["f.txt:/a/b", "f.txt:/a"]).unwrap();
        assert_eq!(found, ["a/b", "a/f.txt"]);
    }

    #[test]
    fn what_has_no_place_is_refused_by_its_option() {
        let work = work();
        fs::create_dir_all(work.path().join("s/lib/gil")).unwrap();
        fs::create_dir_all(work.path().join("t/bin")).unwrap();
        fs::write(work.path().join("s/lib/empty"), "text").unwrap();
        for (file, word) in [
            ("f.txt:/proc/x", "covers /proc"),
            ("f.txt:/dev/shm/x", "covers /dev"),
            ("d:/sys", "covers /sys"),
            ("f.txt:/dev/", "covers /dev"),
            ("d:/etc/passwd", "/etc/passwd is a file"),
            ("f.txt:/etc/passwd/", "/etc/passwd is a file"),
            ("f.txt:/etc/passwd/x", "/etc/passwd is a file"),
            ("s:/usr", "/usr/lib/empty is a folder"),
            ("f.txt:/usr/l/x", "themselves"),
        ] {
            let said = placed(work.path(), &[file]).unwrap_err();
            assert!(said.contains("--file ") && said.contains(file), "{said}");
            assert!(said.contains(word), "{said}");
        }
    }
}
