//! Creates a key that a board and its users share.

use gil_transport::secure::{KEY_LEN, Key, Zeroizing};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Where random numbers come from.
const RANDOM: &str = "/dev/urandom";

/// Errors of creating a key.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// There is something already.
    #[error("{} exists, and keys are never overwritten: remove it, or name another file", .0.display())]
    Exists(PathBuf),
    /// The file cannot be written.
    #[error("cannot write the key {}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
}

/// Makes a key in a new file.
///
/// # Errors
/// [`MakeError`].
pub fn make(path: &Path) -> Result<(), MakeError> {
    write(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => MakeError::Exists(path.into()),
        _ => MakeError::Io {
            path: path.into(),
            error,
        },
    })
}

fn write(path: &Path) -> io::Result<()> {
    let mut bytes = Zeroizing::new([0; KEY_LEN]);
    File::open(RANDOM)?.read_exact(&mut bytes[..])?;
    let text = Key::from_bytes(*bytes).to_text();
    // Never for others, not even for a moment.
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn keys_are_private_new_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        make(&path).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let key = gil_transport::secure::Key::read(&path).unwrap();
        let message = make(&path).unwrap_err().to_string();
        assert!(message.contains("never overwritten"), "{message}");
        assert_eq!(gil_transport::secure::Key::read(&path).unwrap(), key);
        make(&folder.path().join("other")).unwrap();
        let other = gil_transport::secure::Key::read(&folder.path().join("other")).unwrap();
        assert_ne!(other, key);
        make(&folder.path().join("no/such")).unwrap_err();
    }
}
