//! What the guest's files are written with, be it an archive or a folder.

use crate::copied::{Found, Kind};
use gil_run_support::cache::CacheError;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Where a guest's files are written. Of two with one name, the later counts.
pub trait Files {
    /// A folder, with those above it.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be written.
    fn folder(&mut self, name: &str, mode: u32) -> Result<(), CacheError>;

    /// A file with these bytes.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be written.
    fn file(&mut self, name: &str, mode: u32, bytes: &[u8]) -> Result<(), CacheError>;

    /// A copy of the file at `source`, through links.
    ///
    /// # Errors
    /// [`CacheError`] if one cannot be read or the other written.
    fn copy(&mut self, name: &str, mode: u32, source: &Path) -> Result<(), CacheError>;

    /// A symbolic link.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be written.
    fn link(&mut self, name: &str, target: &[u8]) -> Result<(), CacheError>;

    /// A file, folder or link of this machine.
    ///
    /// # Errors
    /// [`CacheError`] if something cannot be read or written.
    fn add(&mut self, found: &Found) -> Result<(), CacheError> {
        match &found.kind {
            Kind::Folder(mode) => self.folder(&found.name, *mode),
            Kind::File(mode) => self.copy(&found.name, *mode, &found.source),
            Kind::Link(target) => self.link(&found.name, target.as_os_str().as_bytes()),
        }
    }
}
