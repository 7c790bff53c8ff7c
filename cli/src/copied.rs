//! Files of this machine that are copied into the guest: regular files, folders
//! and links, nothing that has no end.

use crate::cache::{At, CacheError};
use crate::unpacked::guest_path;
use nix::fcntl::OFlag;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Most bytes that an initramfs holds of one file.
pub const FILE_MAX: u64 = u32::MAX as u64;

/// Folders are the guest's, whoever may enter them here.
const FOLDER_MODE: u32 = 0o755;

/// A file to copy into the guest, `SRC:DST`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Here.
    pub source: PathBuf,
    /// There: absolute.
    pub target: String,
}

/// A text that is not `SRC:DST`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not SRC:DST: give a local path, a colon, and an absolute path in the guest")]
pub struct CopiedError(String);

impl FromStr for Copied {
    type Err = CopiedError;

    fn from_str(text: &str) -> Result<Self, CopiedError> {
        let wrong = || CopiedError(text.into());
        let (source, target) = text.rsplit_once(':').ok_or_else(wrong)?;
        let parts: Vec<_> = target.split('/').filter(|p| !p.is_empty()).collect();
        let is_path = target.starts_with('/') && !target.ends_with('/') && !parts.contains(&"..");
        if source.is_empty() || !is_path || parts.is_empty() {
            return Err(wrong());
        }
        Ok(Self {
            source: source.into(),
            target: format!("/{}", parts.join("/")),
        })
    }
}

impl Copied {
    /// Visits what there is to copy, each folder before what is in it. The
    /// source itself may be a link to what is meant; links in a folder are
    /// copied as links.
    ///
    /// # Errors
    /// Those of `each`, and [`CacheError`] for what cannot be copied.
    pub fn visit<E: From<CacheError>>(
        &self,
        each: &mut dyn FnMut(&Found) -> Result<(), E>,
    ) -> Result<(), E> {
        let meta = fs::metadata(&self.source).at(&self.source)?;
        let name = guest_path(&self.target);
        let mut pending = vec![Found::new(self.source.clone(), name, &meta)?];
        while let Some(found) = pending.pop() {
            each(&found)?;
            if matches!(found.kind, Kind::Folder(_)) {
                found.add_contents(&mut pending)?;
            }
        }
        Ok(())
    }

    /// Looks whether all of it can be copied, by kind.
    ///
    /// # Errors
    /// As [`visit`](Self::visit).
    pub fn check(&self) -> Result<(), CacheError> {
        self.visit(&mut |_| Ok(()))
    }
}

/// Something to copy.
pub struct Found {
    /// Here.
    pub source: PathBuf,
    /// There, from the guest's root.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

/// What may be copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file with these permissions.
    File(u32),
    /// A folder with these permissions.
    Folder(u32),
    /// A link to this path.
    Link(PathBuf),
}

impl Found {
    fn new(source: PathBuf, name: String, meta: &Metadata) -> Result<Self, CacheError> {
        let kind = if meta.is_dir() {
            Kind::Folder(FOLDER_MODE)
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

/// The bytes of a regular file, through links.
///
/// # Errors
/// [`CacheError`] if it cannot be read, is something else, or too large.
pub fn read(path: &Path) -> Result<Vec<u8>, CacheError> {
    let mut options = File::options();
    // A pipe that took the file's place has nobody wait.
    options.read(true).custom_flags(OFlag::O_NONBLOCK.bits());
    let file = options.open(path).at(path)?;
    let meta = file.metadata().at(path)?;
    check_regular(path, &meta)?;
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
        for wrong in ["a", "a:b", ":/x", "a:/", "a:/x/", "a:/../etc/passwd"] {
            assert!(wrong.parse::<Copied>().is_err(), "{wrong}");
        }
    }

    /// Names and kinds, in order.
    fn found(source: &Path) -> Result<Vec<(String, Kind)>, CacheError> {
        let (source, target) = (source.into(), "/lib/x".into());
        let mut all = Vec::new();
        Copied { source, target }.visit(&mut |found| {
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
