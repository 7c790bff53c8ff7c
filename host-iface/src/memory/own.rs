//! Finds what QEMU has as guest RAM among this process's files and mappings.

use super::MemoryError;
use procfs_core::process::{MMPermissions, MMapPath, MemoryMap, MemoryMaps};
use procfs_core::{FromRead, ProcError};
use std::path::{Path, PathBuf};

/// How the kernel shows a file that QEMU's memory-backend-memfd made.
const BACKEND: &str = "/memfd:memory-backend-memfd (deleted)";

/// The path through which the backend can be opened again.
///
/// # Errors
/// [`MemoryError::NoMemfd`], [`MemoryError::ManyMemfds`],
/// [`MemoryError::File`].
pub(crate) fn memory_backend() -> Result<PathBuf, MemoryError> {
    let folder = Path::new("/proc/self/fd");
    let entries = folder.read_dir().map_err(|error| MemoryError::File {
        path: folder.into(),
        error,
    })?;
    let is_backend =
        |path: &PathBuf| std::fs::read_link(path).is_ok_and(|target| target == Path::new(BACKEND));
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(is_backend)
        .collect();
    match (found.pop(), found.len()) {
        (None, _) => Err(MemoryError::NoMemfd),
        (Some(path), 0) => Ok(path),
        (Some(_), others) => Err(MemoryError::ManyMemfds(others + 1)),
    }
}

/// Part of this process's memory.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// Its first address.
    pub start: usize,
    /// Bytes.
    pub len: usize,
}

/// Where this process has mapped all of a file, from its first byte on and for
/// writing.
///
/// # Errors
/// [`MemoryError::NotMapped`]; [`MemoryError::File`] if the file or the
/// process's mappings cannot be read.
pub(crate) fn mapping_of(path: &Path) -> Result<Mapping, MemoryError> {
    let failed = |error| MemoryError::File {
        path: path.into(),
        error,
    };
    let len = std::fs::metadata(path).map_err(failed)?.len();
    let path = std::fs::canonicalize(path).map_err(failed)?;
    let maps = MemoryMaps::from_file("/proc/self/maps");
    let maps = maps.map_err(|error| failed(into_io(error)))?;
    let found = whole(maps.into_iter().filter(|map| is_of(map, &path)), len);
    found.ok_or(MemoryError::NotMapped { path })
}

fn into_io(error: ProcError) -> std::io::Error {
    match error {
        ProcError::Io(error, _) => error,
        other => std::io::Error::other(other),
    }
}

fn is_of(map: &MemoryMap, file: &Path) -> bool {
    let writable = MMPermissions::READ | MMPermissions::WRITE;
    matches!(&map.pathname, MMapPath::Path(path) if path == file) && map.perms.contains(writable)
}

/// The kernel shows a mapping in parts where their attributes differ.
fn whole(parts: impl Iterator<Item = MemoryMap>, len: u64) -> Option<Mapping> {
    let mut parts = parts.skip_while(|part| part.offset != 0);
    let (start, mut end) = parts.next()?.address;
    for part in parts {
        if part.address.0 != end || part.offset != end - start {
            break;
        }
        end = part.address.1;
    }
    // The last page is mapped whole.
    (end - start >= len && len > 0).then_some(Mapping {
        start: start as usize,
        len: len as usize,
    })
}
