//! gil's cache folder: downloads and builds, named by content or version. A folder
//! in it is always complete: it is created elsewhere and then moved into place. A lock
//! prevents two `gil` from creating the same folder.

pub mod contents;
mod lengths;

use crate::progress::Progress;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often a lock that another `gil` holds is asked for.
const LOOK: Duration = Duration::from_millis(50);
/// How long it is waited for before that is said where no progress is shown.
const PATIENCE: Duration = Duration::from_secs(3);

/// What can go wrong with files of gil's own.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// Neither `GIL_CACHE` nor `XDG_CACHE_HOME` nor `HOME` is set.
    #[error("gil has no folder for its cache: set GIL_CACHE to one")]
    NoPlace,
    /// The cache's path has a character that tools do not take.
    #[error(
        "gil's cache cannot be in {root:?}: make and apt do not take {found:?} in its path; point GIL_CACHE to another folder"
    )]
    Place {
        /// The path.
        root: PathBuf,
        /// The first such character, or bytes that are no UTF-8.
        found: String,
    },
    /// `TMPDIR` leads nowhere.
    #[error("the folder for temporary files, {}, is not there: set TMPDIR to one that is", path.display())]
    NoTemporary {
        /// Its path.
        path: PathBuf,
    },
    /// The disk is full.
    #[error(
        "the disk that holds {} is full: make room there, or choose another disk (GIL_CACHE is for the cache, TMPDIR for a run's own files)",
        path.display()
    )]
    Full {
        /// The path that was being written.
        path: PathBuf,
    },
    /// The disk has too little room for what comes.
    #[error(
        "{needed} MiB are needed on the disk that holds {} and {free} MiB are free: make room there, or point GIL_CACHE to another disk",
        path.display()
    )]
    Small {
        /// The path that was to be written.
        path: PathBuf,
        /// Mebibytes needed.
        needed: u64,
        /// Mebibytes free.
        free: u64,
    },
    /// The variable for the cache's size is no size.
    #[error(
        "{} is \"{found}\": write a number and K, M or G, such as 4G",
        contents::LIMIT
    )]
    Limit {
        /// Its value.
        found: String,
    },
    /// Something else than a file or folder.
    #[error("{} is neither {wanted}", path.display())]
    Special {
        /// The file's path.
        path: PathBuf,
        /// What it should be, and why.
        wanted: &'static str,
    },
    /// A file of the cache is not as it was written.
    #[error("{} is damaged: remove the folder it is in and run the same command again", path.display())]
    Damaged {
        /// The file's path.
        path: PathBuf,
    },
    /// A file does not fit an initramfs.
    #[error("{} is 4 GiB or larger, and a guest takes no file of that size: split it", path.display())]
    Large {
        /// The file's path.
        path: PathBuf,
    },
    /// A file or folder cannot be read or written.
    #[error("{} cannot be used ({source}): {}", path.display(), remedy(source))]
    File {
        /// The file's path.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

/// The user's way out of it.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "something else stands where a folder should be, so name another place or remove it"
        }
        io::ErrorKind::IsADirectory => {
            "a folder stands where a file should be, so name another place or remove it"
        }
        io::ErrorKind::ReadOnlyFilesystem => "name a place that can be written to",
        io::ErrorKind::PermissionDenied => "check its permissions and its folders'",
        io::ErrorKind::NotFound => "check that it is there",
        _ => "check that it is there and its permissions",
    }
}

/// The error without the path, which those of temporary files name themselves.
fn bare(error: io::Error, path: &Path) -> io::Error {
    match error.to_string().contains(&path.display().to_string()) {
        true => match error.kind() {
            io::ErrorKind::NotFound => Errno::ENOENT.into(),
            io::ErrorKind::PermissionDenied => Errno::EACCES.into(),
            kind => kind.into(),
        },
        false => error,
    }
}

/// Adds the path to an I/O error; a full disk becomes [`CacheError::Full`].
pub trait At<T> {
    /// See the trait.
    ///
    /// # Errors
    /// The error it was called on, with `path`.
    fn at(self, path: &Path) -> Result<T, CacheError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, CacheError> {
        self.map_err(|source| match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => CacheError::Full { path: path.into() },
            _ => CacheError::File {
                path: path.into(),
                source: bare(source, path),
            },
        })
    }
}

/// Whether `path`'s disk has room for so many bytes. Asked before apt is
/// called: with a full disk, its download methods never end.
///
/// # Errors
/// [`CacheError::Small`] if not.
pub fn has_room(path: &Path, bytes: u64) -> Result<(), CacheError> {
    let disk = nix::sys::statvfs::statvfs(path)
        .map_err(io::Error::from)
        .at(path)?;
    // Words of 32 bits on machines of 32 bits.
    #[allow(clippy::useless_conversion)]
    let free = u64::from(disk.blocks_available()) * u64::from(disk.fragment_size());
    match bytes <= free {
        true => Ok(()),
        false => Err(CacheError::Small {
            path: path.into(),
            needed: bytes.div_ceil(1 << 20),
            free: free >> 20,
        }),
    }
}

/// The cache folder.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
    /// Bytes that it may take.
    limit: u64,
}

/// Held while something is added to the cache.
pub struct CacheLock(#[allow(dead_code, reason = "held for its lock")] Flock<File>);

impl Cache {
    /// Opens `GIL_CACHE`, else `gil` in the user's cache folder.
    ///
    /// # Errors
    /// [`CacheError`] if the folder is not known or cannot be made.
    pub fn open() -> Result<Self, CacheError> {
        let place = place().ok_or(CacheError::NoPlace)?;
        let place = std::path::absolute(&place).at(&place)?;
        check_place(&place)?;
        let cache = Self::at(&place, contents::limit()?)?;
        // Links in it may lead elsewhere.
        check_place(&cache.root)?;
        Ok(cache)
    }

    /// Opens the cache in this folder, which may take so many bytes.
    ///
    /// # Errors
    /// [`CacheError::File`] if it cannot be made.
    pub fn at(root: &Path, limit: u64) -> Result<Self, CacheError> {
        fs::create_dir_all(root).at(root)?;
        let root = fs::canonicalize(root).at(root)?;
        Ok(Self { root, limit })
    }

    /// How many bytes it may take.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The cache's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Waits until no other `gil` adds to the cache, and says that it does: at
    /// once as progress, after a while in a line that stays.
    ///
    /// # Errors
    /// [`CacheError::File`] if the lock file cannot be used.
    pub fn lock(&self, progress: &Progress) -> Result<CacheLock, CacheError> {
        let path = self.root.join("lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .at(&path)?;
        match try_lock(file) {
            Err((file, Errno::EWOULDBLOCK)) => self.wait_for(file, progress),
            other => other,
        }
        .map_err(|(_, errno)| io::Error::from(errno))
        .at(&path)
    }

    /// Waits until the file can be locked.
    fn wait_for(&self, mut file: File, progress: &Progress) -> Locked {
        let what = format!(
            "waiting for another gil that adds to the cache {}",
            self.root.display()
        );
        progress.say(&what);
        let mut patience = Some(Instant::now() + PATIENCE);
        loop {
            if patience.is_some_and(|until| Instant::now() >= until) {
                patience = None;
                progress.note(&what);
            }
            std::thread::sleep(LOOK);
            match try_lock(file) {
                Err((again, Errno::EWOULDBLOCK | Errno::EINTR)) => file = again,
                other => return other,
            }
        }
    }

    /// As [`publish`](Self::publish), for a folder of files that [`is_used`](Self::is_used)
    /// is to check.
    ///
    /// # Errors
    /// As [`publish`](Self::publish).
    pub fn publish_files<E: From<CacheError>>(
        &self,
        lock: &CacheLock,
        name: &Path,
        fill: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        self.publish(lock, name, |at| {
            fill(at)?;
            Ok(lengths::write(at)?)
        })
    }

    /// Makes the folder `name` by `fill`, all or nothing, in the place of one that is
    /// there. The caller holds the lock, and this process the folder. If the cache is then
    /// larger than its limit, what was used longest ago is removed.
    ///
    /// # Errors
    /// Those of `fill`, and [`CacheError`].
    pub fn publish<E: From<CacheError>>(
        &self,
        lock: &CacheLock,
        name: &Path,
        fill: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let target = self.root.join(name);
        let parent = target.parent().unwrap_or(&self.root);
        fs::create_dir_all(parent).at(parent)?;
        discard_unfinished(parent);
        let unfinished = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempdir_in(parent)
            .at(parent)?;
        fill(unfinished.path())?;
        match fs::remove_dir_all(&target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).at(&target)?,
            _ => {}
        }
        fs::rename(unfinished.path(), &target).at(&target)?;
        // Moved: there is nothing left for the guard to remove.
        let _ = unfinished.keep();
        self.is_used(&target);
        self.prune(lock, self.limit)?;
        Ok(target)
    }
}

/// The lock, or the file and why it is not locked.
type Locked = Result<CacheLock, (File, Errno)>;

fn try_lock(file: File) -> Locked {
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map(CacheLock)
}

const UNFINISHED: &str = ".unfinished-";

/// Removes what a killed `gil` left. The lock is held, so nobody works on it.
fn discard_unfinished(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn place() -> Option<PathBuf> {
    let set = |name| {
        let value = std::env::var_os(name).filter(|v| !v.is_empty());
        value.map(PathBuf::from)
    };
    // Relative ones are to be ignored: XDG Base Directory Specification, "Basics".
    let base = |name| set(name).filter(|path| path.is_absolute());
    set("GIL_CACHE")
        .or_else(|| base("XDG_CACHE_HOME").map(|base| base.join("gil")))
        .or_else(|| base("HOME").map(|home| home.join(".cache/gil")))
}

/// Whether the tools that work in the cache take its path: make divides by blanks and
/// colons, its shell by more, and apt's settings stand in quotes.
fn check_place(root: &Path) -> Result<(), CacheError> {
    let refused = |found: &str| {
        Err(CacheError::Place {
            root: root.into(),
            found: found.into(),
        })
    };
    let Some(text) = root.to_str() else {
        return refused("bytes that are no UTF-8");
    };
    let is_special =
        |c: &char| c.is_whitespace() || c.is_control() || "\"'`\\$;:%#&*?[](){}<>|!".contains(*c);
    match text.chars().find(is_special) {
        Some(c) => refused(&c.to_string()),
        None => Ok(()),
    }
}

/// A short name for `content`, for use in file names. Another compiler may
/// give another name; then the thing is made again.
pub fn key(content: &impl Hash) -> String {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn cache(root: &Path) -> Cache {
        Cache::at(root, u64::MAX).unwrap()
    }

    fn quiet() -> Progress {
        Progress::new(true)
    }

    #[test]
    fn who_comes_second_waits_until_the_first_is_done() {
        let root = tempfile::tempdir().unwrap();
        let cache = cache(root.path());
        let first = cache.lock(&quiet()).unwrap();
        let file = File::open(root.path().join("lock")).unwrap();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _second = cache.lock(&quiet()).unwrap();
                assert!(is_done.load(Ordering::SeqCst));
            });
            assert!(matches!(try_lock(file), Err((_, Errno::EWOULDBLOCK))));
            std::thread::sleep(2 * LOOK);
            is_done.store(true, Ordering::SeqCst);
            drop(first);
        });
    }

    #[test]
    fn a_path_that_no_tool_takes_is_refused_with_its_character() {
        for fits in ["/home/jürgen/.cache/gil", "/a,b=c+d@e~f^g/gil"] {
            check_place(Path::new(fits)).unwrap();
        }
        for (place, why) in [("/a b/gil", "\" \""), ("/a:b", "\":\""), ("/a\nb", "\\n")] {
            let said = check_place(Path::new(place)).unwrap_err().to_string();
            assert!(said.contains(why) && said.contains("GIL_CACHE"), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
        let bytes = std::os::unix::ffi::OsStrExt::from_bytes(b"/a\xff");
        let path: &std::ffi::OsStr = bytes;
        assert!(check_place(path.as_ref()).is_err());
    }

    #[test]
    fn a_failed_fill_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let cache = cache(root.path());
        let lock = cache.lock(&quiet()).unwrap();
        let failed = cache.publish(&lock, Path::new("a/b"), |dir| {
            fs::write(dir.join("half"), "x").at(dir)?;
            Err(CacheError::NoPlace)
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_dir(root.path().join("a")).unwrap().count(), 0);
    }

    #[test]
    fn publishing_removes_what_a_killed_run_left() {
        let root = tempfile::tempdir().unwrap();
        let cache = cache(root.path());
        let lock = cache.lock(&quiet()).unwrap();
        fs::create_dir_all(root.path().join("a/.unfinished-old")).unwrap();
        let made = cache
            .publish(&lock, Path::new("a/b"), |dir| {
                fs::write(dir.join("whole"), "x").at(dir)
            })
            .unwrap();
        assert_eq!(fs::read(made.join("whole")).unwrap(), b"x");
        assert!(!root.path().join("a/.unfinished-old").exists());
    }

    #[test]
    fn room_is_compared_with_what_is_free() {
        let root = tempfile::tempdir().unwrap();
        has_room(root.path(), 1).unwrap();
        let error = has_room(root.path(), u64::MAX).unwrap_err().to_string();
        assert!(error.contains("make room"), "{error}");
    }

    #[test]
    fn an_error_names_its_path_once_and_the_way_out() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("taken");
        fs::write(&file, "").unwrap();
        for failed in [
            fs::create_dir_all(&file).at(&file),
            tempfile::tempdir_in(&file).map(drop).at(&file),
        ] {
            let said = failed.unwrap_err().to_string();
            assert_eq!(said.matches("/taken").count(), 1, "{said}");
            assert!(said.contains("where a folder should be"), "{said}");
        }
    }

    #[test]
    fn a_full_disk_is_named_with_its_path() {
        let error = Err::<(), _>(io::Error::from_raw_os_error(libc::ENOSPC))
            .at(Path::new("/some/where"))
            .unwrap_err();
        assert!(error.to_string().contains("/some/where is full"), "{error}");
    }
}
