//! Finds the memory that QEMU shares as guest RAM among this process's files.

use super::MemoryError;
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
