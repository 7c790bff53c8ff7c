//! Files that a command writes: none of them is another one, or one that it reads, by
//! whatever names.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// One file for two things.
#[derive(Debug, thiserror::Error)]
#[error("{option} and {other} are the same file, {}: name another", path.display())]
pub struct Same {
    option: &'static str,
    other: &'static str,
    path: PathBuf,
}

/// Checks that what an option names is none of the others, which are there with what they
/// are for. Devices and pipes may be named more than once.
///
/// # Errors
/// [`Same`].
pub fn check<'a>(
    (option, path): (&'static str, &Path),
    others: impl IntoIterator<Item = (&'static str, &'a Path)>,
) -> Result<(), Same> {
    find(path, others).map_or(Ok(()), |(other, _)| {
        let path = path.into();
        Err(Same {
            option,
            other,
            path,
        })
    })
}

/// The one of the others that this path leads to.
pub fn find<'a>(
    path: &Path,
    others: impl IntoIterator<Item = (&'static str, &'a Path)>,
) -> Option<(&'static str, &'a Path)> {
    let own = place(path);
    let mut others = others.into_iter();
    others.find(|(_, other)| own.is_some() && place(other) == own)
}

/// Whether both are one file now.
pub fn is_same(one: io::Result<Metadata>, other: io::Result<Metadata>) -> bool {
    let identity = |meta: Metadata| (meta.dev(), meta.ino());
    let one = one.map(identity);
    one.is_ok_and(|one| other.is_ok_and(|other| identity(other) == one))
}

/// Where a file is.
#[derive(PartialEq, Eq)]
enum Place {
    There(u64, u64),
    Missing(PathBuf),
}

/// Where this regular file is, or will be.
fn place(path: &Path) -> Option<Place> {
    if let Ok(meta) = fs::metadata(path) {
        return meta.is_file().then(|| Place::There(meta.dev(), meta.ino()));
    }
    let path = led(std::path::absolute(path).ok()?);
    let folder = fs::canonicalize(path.parent()?).ok()?;
    Some(Place::Missing(folder.join(path.file_name()?)))
}

/// Most links that lead from one to another, as the kernel follows them (`path_resolution(7)`).
const LINKS_MAX: usize = 40;

/// Where links lead that lead nowhere yet.
fn led(mut path: PathBuf) -> PathBuf {
    for _ in 0..LINKS_MAX {
        let Ok(to) = fs::read_link(&path) else {
            break;
        };
        path.pop();
        path.push(to);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_is_the_same_by_whatever_name() {
        let work = tempfile::tempdir().unwrap();
        let at = |name: &str| work.path().join(name);
        fs::write(at("a"), "x").unwrap();
        fs::write(at("b"), "x").unwrap();
        fs::hard_link(at("a"), at("hard")).unwrap();
        symlink("a", at("soft")).unwrap();
        symlink(work.path(), at("folder")).unwrap();
        symlink("folder/new", at("nowhere")).unwrap();
        symlink("loop", at("loop")).unwrap();
        for (one, other, is_same) in [
            ("a", "a", true),
            ("hard", "a", true),
            ("soft", "a", true),
            ("folder/a", "soft", true),
            ("a", "b", false),
            ("new", "folder/new", true),
            ("new", "newer", false),
            ("nowhere", "new", true),
            ("loop", "new", false),
            ("a", "new", false),
        ] {
            let checked = check(("--calls", &at(one)), [("--record", &*at(other))]);
            assert_eq!(checked.is_err(), is_same, "{one} {other}");
        }
        let device = Path::new("/dev/null");
        check(("--calls", device), [("--record", device)]).unwrap();
    }
}
