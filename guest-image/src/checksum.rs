//! Whether a package's file is the one that Debian's signed index names.

use gil_run_support::cache::{At, CacheError};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes read at once.
const CHUNK: usize = 256 << 10;

/// The SHA256 of what `file` holds, in hexadecimal digits.
fn sha256(mut file: File) -> io::Result<String> {
    let (mut hash, mut chunk) = (Sha256::new(), vec![0; CHUNK]);
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            break;
        }
        hash.update(&chunk[..read]);
    }
    let digits = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(digits)
}

/// Whether the file is there, with this SHA256.
///
/// # Errors
/// [`CacheError`] if it cannot be read.
pub fn is_right(path: &Path, expected: &str) -> Result<bool, CacheError> {
    match File::open(path) {
        Ok(file) => Ok(sha256(file).at(path)? == expected),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).at(path),
    }
}
