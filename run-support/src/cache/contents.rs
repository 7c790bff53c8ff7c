//! What is in the cache: each thing that was made by itself, its bytes, and when a run used
//! it last.

use super::{At, Cache, CacheError, CacheLock, UNFINISHED};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How the names of the folders begin that have a folder for each release of Debian, and
/// package sets in it.
const SETS: &str = "sets-";

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
    /// Notes that a run uses this folder of the cache. Without that note it is removed
    /// earlier.
    pub fn is_used(&self, place: &Path) {
        let _ = fs::File::open(place).and_then(|folder| folder.set_modified(SystemTime::now()));
    }

    /// All of it, the one that was used longest ago first.
    ///
    /// # Errors
    /// [`CacheError::File`] if a folder cannot be read.
    pub fn entries(&self) -> Result<Vec<Entry>, CacheError> {
        let mut found = Vec::new();
        for top in folders(self.root())? {
            let is_sets = name(&top).starts_with(SETS);
            for one in folders(&top)? {
                match is_sets {
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

    fn entry(&self, path: &Path) -> Result<Option<Entry>, CacheError> {
        let within = path.strip_prefix(self.root()).unwrap_or(path);
        let is_whole = !name(path).starts_with(UNFINISHED);
        let meta = fs::metadata(path).at(path)?;
        Ok(is_whole.then_some(Entry {
            name: within.into(),
            bytes: size(path).at(path)?,
            used: meta.modified().at(path)?,
        }))
    }

    /// Removes what was used longest ago until the rest takes at most so many bytes; what
    /// was removed. Runs that use it keep the files that they have open.
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
            total -= entry.bytes;
            let path = self.root().join(&entry.name);
            fs::remove_dir_all(&path).at(&path)?;
            removed.push(entry);
        }
        Ok(removed)
    }
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The folders in a folder, but not links to some.
fn folders(folder: &Path) -> Result<Vec<PathBuf>, CacheError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).at(folder)? {
        let entry = entry.at(folder)?;
        if entry.file_type().at(&entry.path())?.is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
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
        let cache = Cache {
            root: root.path().into(),
        };
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
        cache.is_used(&root.path().join("sets-9/d/a"));
        let lock = cache.lock(&Progress::new(true)).unwrap();
        assert!(cache.prune(&lock, u64::MAX).unwrap().is_empty());
        let removed = cache.prune(&lock, 250_000).unwrap();
        assert_eq!(names(&removed), ["sets-9/d/b", "saved-guests/c"]);
        assert_eq!(names(&cache.entries().unwrap()), ["module/d", "sets-9/d/a"]);
        assert!(root.path().join("note").exists());
    }
}
