//! Files that a run replaces, recordings and logs of calls, once it has something for them:
//! a run that does not start leaves them as they were.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Opens or makes a file, and leaves what it contains.
///
/// # Errors
/// The operating system's.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(false).open(path)
}

/// Replaces what an opened file contains with its first bytes.
///
/// # Errors
/// The operating system's.
pub fn begin(file: &mut File, first: &[u8]) -> io::Result<()> {
    // Pipes and devices have no length.
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    file.write_all(first)
}
