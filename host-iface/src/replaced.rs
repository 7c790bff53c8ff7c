//! Files that a run replaces, recordings and logs of calls, once it has something for them:
//! a run that does not start leaves them as they were.

use std::fs::File;
use std::io::{self, Write};
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

/// Replaces what such a file contains, if it is not begun, with its first bytes.
///
/// # Errors
/// The operating system's.
pub fn begin(file: &mut File, first: &[u8]) -> io::Result<()> {
    file.set_len(0)?;
    file.write_all(first)
}
