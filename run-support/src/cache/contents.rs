//! What is in the cache: each thing that was made by itself, its bytes, and when a run used
//! it last. What is used stays; of the rest, what was used longest ago goes when the cache
//! grows beyond its limit.

use super::{At, Cache, CacheError, CacheLock, UNFINISHED, lengths};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How the names of the folders begin that have a folder for each release of Debian, and
/// package sets or their layers in it.
const BY_RELEASE: [&str; 2] = ["sets-", "layers-"];

/// The variable that says how many bytes the cache may take, such as `2G`.
pub const LIMIT: &str = "GIL_CACHE_MAX";
/// Bytes that it may take without that.
pub const USUAL_LIMIT: u64 = 4 << 30;

/// Bytes, as options and [`LIMIT`] have them: `2G`, `500M`, `64K`; a number alone is in
/// mebibytes.
///
/// # Errors
/// A sentence that says how it is written.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || "write a number and K, M or G, such as 2G".to_owned();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "K" => 10,
        "" | "M" => 20,
        "G" => 30,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    Ok(number.saturating_mul(1 << shift))
}

/// How many bytes the cache may take.
///
/// # Errors
/// [`CacheError::Limit`] if the variable is no size.
pub fn limit() -> Result<u64, CacheError> {
    let Some(text) = std::env::var_os(LIMIT).filter(|text| !text.is_empty()) else {
        return Ok(USUAL_LIMIT);
    };
    let text = text.to_string_lossy();
    parse_size(&text).map_err(|_| CacheError::Limit {
        found: text.into_owned(),
    })
}

/// A folder of the cache. Each can be made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its path in the cache.
    pub name: PathBuf,
    /// Bytes of disk.
    pub bytes: u64,
    /// When a run used it last, or made it.
    pub used: SystemTime,
}

impl Cache {
    /// Whether this folder of the cache is there, with the files that [`publish_files`] put
    /// there as long as they were. If so it is used now, and stays until this process ends.
    ///
    /// [`publish_files`]: Self::publish_files
    pub fn is_used(&self, place: &Path) -> bool {
        File::open(place).is_ok_and(|folder| {
            if !lengths::are_right(place) {
                return false;
            }
            let _ = folder.set_modified(SystemTime::now());
            hold(folder, place)
        })
    }

    /// All of it, the one that was used longest ago first.
    ///
    /// # Errors
    /// [`CacheError::File`] if a folder cannot be read.
    pub fn entries(&self) -> Result<Vec<Entry>, CacheError> {
        let mut found = Vec::new();
        for top in folders(self.root())? {
            let top_name = name(&top);
            let is_by_release = BY_RELEASE.iter().any(|start| top_name.starts_with(start));
            for one in folders(&top)? {
                match is_by_release {
                    true => found.extend(folders(&one)?),
                    false => found.push(one),
                }
            }
        }
        let mut entries = Vec::new();
        for path in found {
            entries.extend(self.entry(&path)?);
        }
        entries.sort_by(|a, b| (a.used, &a.name).cmp(&(b.used, &b.name)));
        Ok(entries)
    }

    /// None if it is unfinished, or another `gil` has just removed it.
    fn entry(&self, path: &Path) -> Result<Option<Entry>, CacheError> {
        let within = path.strip_prefix(self.root()).unwrap_or(path);
        if name(path).starts_with(UNFINISHED) {
            return Ok(None);
        }
        let read = || {
            Ok(Entry {
                name: within.into(),
                bytes: size(path)?,
                used: fs::metadata(path)?.modified()?,
            })
        };
        unless_gone(read()).at(path)
    }

    /// Removes this folder of the cache, unless a run uses it now; whether it did.
    ///
    /// # Errors
    /// [`CacheError::File`] if it cannot be removed.
    pub fn discard(&self, _lock: &CacheLock, place: &Path) -> Result<bool, CacheError> {
        remove(place).at(place)
    }

    /// Removes what was used longest ago, and is not used now, until the rest takes at
    /// most so many bytes; what was removed.
    ///
    /// # Errors
    /// [`CacheError::File`] if something cannot be read or removed.
    pub fn prune(&self, _lock: &CacheLock, most: u64) -> Result<Vec<Entry>, CacheError> {
        let entries = self.entries()?;
        let mut total: u64 = entries.iter().map(|entry| entry.bytes).sum();
        let mut removed = Vec::new();
        for entry in entries {
            if total <= most {
                break;
            }
            let path = self.root().join(&entry.name);
            if remove(&path).at(&path)? {
                total -= entry.bytes;
                removed.push(entry);
            }
        }
        Ok(removed)
    }
}

/// Keeps others from removing this folder, which was opened at `place`, until the process
/// ends; whether nobody was earlier.
fn hold(folder: File, place: &Path) -> bool {
    let opened = folder.metadata().map(|meta| meta.ino());
    match Flock::lock(folder, FlockArg::LockSharedNonblock) {
        // To close it would end the lock.
        Ok(held) => std::mem::forget(held),
        Err((_, Errno::EWOULDBLOCK)) => return false,
        // A file system without locks.
        Err(_) => {}
    }
    let there = fs::metadata(place).map(|meta| meta.ino());
    matches!((opened, there), (Ok(opened), Ok(there)) if opened == there)
}

/// Removes a folder unless somebody holds it; whether it did.
fn remove(place: &Path) -> io::Result<bool> {
    match Flock::lock(File::open(place)?, FlockArg::LockExclusiveNonblock) {
        Err((_, Errno::EWOULDBLOCK)) => return Ok(false),
        // Held until it is removed; on a file system without locks, by nobody.
        locked => {
            fs::remove_dir_all(place)?;
            drop(locked);
        }
    }
    Ok(true)
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The folders in a folder, but not links to some.
fn folders(folder: &Path) -> Result<Vec<PathBuf>, CacheError> {
    let mut found = Vec::new();
    for entry in unless_gone(fs::read_dir(folder))
        .at(folder)?
        .into_iter()
        .flatten()
    {
        let entry = entry.at(folder)?;
        let kind = unless_gone(entry.file_type()).at(&entry.path())?;
        if kind.is_some_and(|kind| kind.is_dir()) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// None if there is no such file or folder: another `gil` may remove what is listed.
fn unless_gone<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Bytes that a folder and all in it take of the disk.
fn size(path: &Path) -> std::io::Result<u64> {
    let meta = fs::symlink_metadata(path)?;
    let mut bytes = meta.blocks() * 512;
    if meta.is_dir() {
        for entry in fs::read_dir(path)? {
            bytes += size(&entry?.path())?;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Progress;
    use std::time::Duration;

    fn names(entries: &[Entry]) -> Vec<String> {
        let names = entries.iter().map(|entry| entry.name.display().to_string());
        names.collect()
    }

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path(), u64::MAX).unwrap();
        let parts = ["sets-9/d/a", "sets-9/d/b", "saved-guests/c", "module/d"];
        for (age, name) in parts.iter().enumerate() {
            let path = root.path().join(name);
            fs::create_dir_all(path.join("in")).unwrap();
            fs::write(path.join("in/file"), vec![1; 100_000]).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(age as u64 * 60);
            fs::File::open(&path).unwrap().set_modified(time).unwrap();
        }
        fs::create_dir_all(root.path().join("module/.unfinished-x")).unwrap();
        fs::write(root.path().join("note"), "").unwrap();
        assert_eq!(names(&cache.entries().unwrap()), parts);
        assert!(cache.is_used(&root.path().join("sets-9/d/a")));
        assert!(!cache.is_used(&root.path().join("sets-9/d/gone")));
        let lock = cache.lock(&Progress::new(true)).unwrap();
        assert!(cache.prune(&lock, u64::MAX).unwrap().is_empty());
        let removed = cache.prune(&lock, 250_000).unwrap();
        assert_eq!(names(&removed), ["sets-9/d/b", "saved-guests/c"]);
        assert_eq!(names(&cache.entries().unwrap()), ["module/d", "sets-9/d/a"]);
        assert!(root.path().join("note").exists());
        let removed = cache.prune(&lock, 0).unwrap();
        assert_eq!(names(&removed), ["module/d"]);
        assert_eq!(names(&cache.entries().unwrap()), ["sets-9/d/a"]);
    }

    #[test]
    fn the_oldest_makes_way_for_what_is_added_unless_it_is_used() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path(), 250_000).unwrap();
        for (age, name) in ["module/used", "module/old", "module/newer"]
            .iter()
            .enumerate()
        {
            let path = root.path().join(name);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("file"), vec![1; 70_000]).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(age as u64 * 60);
            File::open(&path).unwrap().set_modified(time).unwrap();
        }
        // As another process does it, which noted its use long ago.
        let folder = File::open(root.path().join("module/used")).unwrap();
        let other = Flock::lock(folder, FlockArg::LockSharedNonblock).map_err(|(_, e)| e);
        let lock = cache.lock(&Progress::new(true)).unwrap();
        let add = |name: &str| {
            let fill = |at: &Path| fs::write(at.join("file"), vec![1; 70_000]).at(at);
            cache.publish(&lock, Path::new(name), fill).unwrap();
        };
        let there = || {
            let mut found = names(&cache.entries().unwrap());
            found.sort();
            found
        };
        add("module/one");
        assert_eq!(there(), ["module/newer", "module/one", "module/used"]);
        add("module/two");
        assert_eq!(there(), ["module/one", "module/two", "module/used"]);
        // What this process made is used, too.
        add("module/three");
        assert_eq!(there().len(), 4);
        drop(other);
        add("module/four");
        assert_eq!(
            there(),
            ["module/four", "module/one", "module/three", "module/two"]
        );
    }

    #[test]
    fn what_is_removed_while_the_cache_is_listed_is_left_out() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path(), u64::MAX).unwrap();
        let is_done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..300 {
                    let folder = root.path().join("sets-9/d/a/in");
                    fs::create_dir_all(&folder).unwrap();
                    fs::write(folder.join("file"), "x").unwrap();
                    fs::remove_dir_all(root.path().join("sets-9")).unwrap();
                }
                is_done.store(true, std::sync::atomic::Ordering::SeqCst);
            });
            while !is_done.load(std::sync::atomic::Ordering::SeqCst) {
                cache.entries().unwrap();
            }
        });
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("2G"), Ok(2 << 30));
        assert_eq!(parse_size("64k"), Ok(64 << 10));
        assert_eq!(parse_size("500"), Ok(500 << 20));
        for wrong in ["", "G", "2T", "-1M", "1.5G"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}
