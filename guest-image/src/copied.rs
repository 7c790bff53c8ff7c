//! Files of this machine that are copied into the guest: regular files, folders and
//! links, and no devices or pipes.

use crate::tree::Entry;
use gil_run_support::cache::{At, CacheError};
use gil_run_support::folder::create_file;
use nix::fcntl::OFlag;
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Most bytes that an initramfs holds of one file.
pub const FILE_MAX: u64 = u32::MAX as u64;

/// A file to copy into the guest, `SRC:DST`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The path on this machine.
    pub source: PathBuf,
    /// The absolute path in the guest.
    pub target: String,
    /// The target was given with a `/` behind it: a folder, to copy into.
    pub into: bool,
}

/// A text that is not `SRC:DST`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopiedError {
    /// Not both parts, or not from the guest's root.
    #[error(
        "\"{0}\" is not SRC:DST: give a local path, a colon, and an absolute path in the guest"
    )]
    Form(String),
    /// With `..`.
    #[error("\"{0}\" has \"..\" in the guest's path: give the path without it")]
    Above(String),
}

impl FromStr for Copied {
    type Err = CopiedError;

    fn from_str(text: &str) -> Result<Self, CopiedError> {
        let wrong = || CopiedError::Form(text.into());
        let (source, target) = text.rsplit_once(':').ok_or_else(wrong)?;
        if source.is_empty() || !target.starts_with('/') {
            return Err(wrong());
        }
        let parts: Vec<_> = target
            .split('/')
            .filter(|p| !["", "."].contains(p))
            .collect();
        if parts.contains(&"..") {
            return Err(CopiedError::Above(text.into()));
        }
        Ok(Self {
            source: source.into(),
            target: format!("/{}", parts.join("/")),
            into: target.ends_with('/'),
        })
    }
}

impl fmt::Display for Copied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.into && self.target != "/" {
            "/"
        } else {
            ""
        };
        write!(f, "{}:{}{end}", self.source.display(), self.target)
    }
}

impl Copied {
    /// Visits what there is to copy to `name`, each folder before what is in it.
    /// The source itself may be a link to what is meant; links in a folder are
    /// copied as links.
    ///
    /// # Errors
    /// Those of `each`, and [`CacheError`] for what cannot be copied.
    pub fn visit<E: From<CacheError>>(
        &self,
        name: String,
        each: &mut dyn FnMut(Found) -> Result<(), E>,
    ) -> Result<(), E> {
        let meta = fs::metadata(&self.source).at(&self.source)?;
        let mut pending = vec![Found::new(self.source.clone(), name, &meta)?];
        while let Some(found) = pending.pop() {
            if matches!(found.kind, Kind::Folder(_)) {
                found.add_contents(&mut pending)?;
            }
            each(found)?;
        }
        Ok(())
    }
}

/// Something to copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The path on this machine.
    pub source: PathBuf,
    /// There, from the guest's root.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
}

/// The kinds of file that may be copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file with these permissions.
    File(u32),
    /// A folder with these permissions.
    Folder(u32),
    /// A link to this path.
    Link(PathBuf),
}

impl From<&Kind> for Entry {
    fn from(kind: &Kind) -> Self {
        match kind {
            Kind::File(mode) => Self::File {
                executable: mode & 0o111 != 0,
            },
            Kind::Folder(_) => Self::Folder,
            Kind::Link(target) => Self::Link {
                target: target.to_string_lossy().into_owned(),
            },
        }
    }
}

/// Permissions of a folder of the guest that no package has: the guest's,
/// whoever may enter it here.
pub fn folder_mode(name: &str) -> u32 {
    match name {
        "tmp" | "var/tmp" => 0o1777,
        "root" => 0o700,
        _ => 0o755,
    }
}

impl Found {
    fn new(source: PathBuf, name: String, meta: &Metadata) -> Result<Self, CacheError> {
        let kind = if meta.is_dir() {
            Kind::Folder(folder_mode(&name))
        } else if meta.is_symlink() {
            Kind::Link(fs::read_link(&source).at(&source)?)
        } else {
            check_regular(&source, meta)?;
            Kind::File(meta.permissions().mode() & 0o7777)
        };
        Ok(Self { source, name, kind })
    }

    fn add_contents(&self, pending: &mut Vec<Self>) -> Result<(), CacheError> {
        for entry in fs::read_dir(&self.source).at(&self.source)? {
            let entry = entry.at(&self.source)?;
            let source = entry.path();
            let meta = fs::symlink_metadata(&source).at(&source)?;
            let name = format!("{}/{}", self.name, entry.file_name().to_string_lossy());
            pending.push(Self::new(source, name, &meta)?);
        }
        Ok(())
    }
}

fn check_regular(path: &Path, meta: &Metadata) -> Result<(), CacheError> {
    match meta.is_file() {
        true => Ok(()),
        false => Err(CacheError::Special {
            path: path.into(),
            wanted: "a file nor a folder: what is copied into the guest has to be one",
        }),
    }
}

/// Opens a regular file, through links.
fn open(path: &Path) -> Result<(File, Metadata), CacheError> {
    let mut options = File::options();
    // A pipe that took the file's place has nobody wait.
    options.read(true).custom_flags(OFlag::O_NONBLOCK.bits());
    let file = options.open(path).at(path)?;
    let meta = file.metadata().at(path)?;
    check_regular(path, &meta)?;
    Ok((file, meta))
}

/// Copies a regular file, through links, to a new one.
///
/// # Errors
/// [`CacheError`] if it cannot be read, is something else, or there is no room.
pub fn copy(source: &Path, target: &Path) -> Result<(), CacheError> {
    let (mut from, _) = open(source)?;
    let mut to = create_file(target).at(target)?;
    io::copy(&mut from, &mut to).at(target)?;
    Ok(())
}

/// The bytes of a regular file, through links.
///
/// # Errors
/// [`CacheError`] if it cannot be read, is something else, or too large.
pub fn read(path: &Path) -> Result<Vec<u8>, CacheError> {
    let (file, meta) = open(path)?;
    let mut bytes = Vec::new();
    if meta.len() <= FILE_MAX {
        bytes.reserve_exact(meta.len() as usize);
        // It may have grown; and files of /proc do not say their length.
        let mut file = file.take(FILE_MAX + 1);
        file.read_to_end(&mut bytes).at(path)?;
    }
    match meta.len().max(bytes.len() as u64) <= FILE_MAX {
        true => Ok(bytes),
        false => Err(CacheError::Large { path: path.into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use std::os::unix::fs::symlink;

    #[test]
    fn copies_name_a_place_in_the_guest() {
        let copied: Copied = "a:b/c.bin:/data//c.bin".parse().unwrap();
        assert_eq!(copied.source, Path::new("a:b/c.bin"));
        assert_eq!(copied.target, "/data/c.bin");
        assert!(!copied.into);
        for (text, target) in [("a:/", "/"), ("a:/x/", "/x"), ("a:/x/./", "/x")] {
            let copied: Copied = text.parse().unwrap();
            assert_eq!((copied.target.as_str(), copied.into), (target, true));
        }
        for (wrong, word) in [
            ("a", "not SRC:DST"),
            ("a:b", "not SRC:DST"),
            (":/x", "not SRC:DST"),
            ("a:/../etc/passwd", "has \"..\""),
        ] {
            let error = wrong.parse::<Copied>().unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    /// Names and kinds, in order.
    fn found(source: &Path) -> Result<Vec<(String, Kind)>, CacheError> {
        let copied = Copied {
            source: source.into(),
            target: "/x".into(),
            into: false,
        };
        let mut all = Vec::new();
        copied.visit("usr/lib/x".into(), &mut |found| {
            all.push((found.name.clone(), found.kind.clone()));
            Ok::<_, CacheError>(())
        })?;
        all.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(all)
    }

    #[test]
    fn a_folders_links_are_copied_as_links() {
        let work = tempfile::tempdir().unwrap();
        let at = |name: &str| work.path().join(name);
        fs::create_dir(at("f")).unwrap();
        fs::write(at("f/data"), "x").unwrap();
        fs::set_permissions(at("f/data"), fs::Permissions::from_mode(0o750)).unwrap();
        symlink("nowhere", at("f/dangling")).unwrap();
        symlink(".", at("f/loop")).unwrap();
        symlink("f", at("link")).unwrap();
        let link = |target: &str| Kind::Link(target.into());
        let expected = [
            ("usr/lib/x", Kind::Folder(0o755)),
            ("usr/lib/x/dangling", link("nowhere")),
            ("usr/lib/x/data", Kind::File(0o750)),
            ("usr/lib/x/loop", link(".")),
        ];
        let expected = expected.map(|(name, kind)| (name.to_owned(), kind));
        for source in ["f", "link"] {
            assert_eq!(found(&at(source)).unwrap(), expected, "{source}");
        }
        let file = [("usr/lib/x".to_owned(), Kind::File(0o750))];
        assert_eq!(found(&at("f/data")).unwrap(), file);
    }

    #[test]
    fn what_has_no_end_is_refused_by_its_name() {
        let work = tempfile::tempdir().unwrap();
        let fifo = work.path().join("fifo");
        mkfifo(&fifo, Mode::S_IRWXU).unwrap();
        for source in [Path::new("/dev/zero"), work.path(), &fifo] {
            let error = found(source).unwrap_err().to_string();
            assert!(error.contains("is neither a file nor a folder"), "{error}");
        }
        for source in [Path::new("/dev/zero"), &fifo] {
            let error = read(source).unwrap_err().to_string();
            let words = format!("{} is neither", source.display());
            assert!(error.starts_with(&words), "{error}");
        }
    }

    #[test]
    fn a_file_is_read_if_an_archive_can_hold_it() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("file");
        fs::write(&path, "text").unwrap();
        assert_eq!(read(&path).unwrap(), b"text");
        assert!(!read(Path::new("/proc/self/status")).unwrap().is_empty());
        let file = File::create(&path).unwrap();
        file.set_len(FILE_MAX + 1).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("4 GiB"), "{error}");
    }
}
