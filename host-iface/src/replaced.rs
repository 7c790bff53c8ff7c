//! Files that a run replaces, recordings and logs of calls, once it has something for them:
//! a run that does not start leaves them as they were.

use gil_files::container::FileType;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

/// Opens or makes a file, and leaves what it contains; whether it is begun: a pipe or a
/// device, which contains nothing.
///
/// # Errors
/// The operating system's.
pub fn open(path: &Path, first: &[u8]) -> io::Result<(File, bool)> {
    let mut options = File::options();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    let is_begun = !file.metadata()?.is_file();
    if is_begun {
        file.write_all(first)?;
    }
    Ok((file, is_begun))
}

/// Why a file is not begun.
#[derive(Debug)]
pub enum NotBegun {
    /// The operating system's error.
    Io(io::Error),
    /// Something else was put there since the run began.
    Other,
}

impl From<io::Error> for NotBegun {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Replaces what such a file contains, if it is not begun, with its first bytes. May be tried
/// again.
///
/// # Errors
/// [`NotBegun`], also if it contains anything that does not begin as `kind` does.
pub fn begin(file: &mut File, kind: &FileType, first: &[u8]) -> Result<(), NotBegun> {
    if !kind.magic.starts_with(&contents(file, kind.magic.len())) {
        return Err(NotBegun::Other);
    }
    file.set_len(0)?;
    file.rewind()?;
    Ok(file.write_all(first)?)
}

/// Its first bytes; none where they cannot be read: what is written is open for writing alone.
fn contents(file: &File, len: usize) -> Vec<u8> {
    let mut begin = Vec::new();
    if let Ok(file) = File::open(format!("/proc/self/fd/{}", file.as_raw_fd())) {
        let _ = file.take(len as u64).read_to_end(&mut begin);
    }
    begin
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_files::recording::FILE;

    #[test]
    fn what_was_begun_in_part_is_begun_again() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("file");
        let header = FILE.header();
        let (mut file, is_begun) = open(&path, &header).unwrap();
        assert!(!is_begun);
        for part in [&header[..3], &header[..12]] {
            file.write_all(part).unwrap();
            begin(&mut file, &FILE, &header).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), header);
        }
    }

    #[test]
    fn what_was_put_there_meanwhile_stays() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("file");
        let header = FILE.header();
        let (mut file, _) = open(&path, &header).unwrap();
        std::fs::write(&path, "notes").unwrap();
        let begun = begin(&mut file, &FILE, &header);
        assert!(matches!(begun, Err(NotBegun::Other)), "{begun:?}");
        assert_eq!(std::fs::read(&path).unwrap(), b"notes");
        std::fs::write(&path, [&header[..], b"and more"].concat()).unwrap();
        begin(&mut file, &FILE, &header).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), header);
    }
}
