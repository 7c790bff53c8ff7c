//! The key that this side shares with a board.

use gil_wire::secure::{Key, KeyError, MAX_KEY_FILE, Zeroizing};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Reads a key's file, if only its owner can read it.
///
/// # Errors
/// [`KeyError`] says what to do.
pub fn read(path: &Path) -> Result<Key, KeyError> {
    let read = || {
        let mut file = File::open(path)?;
        let of = file.metadata()?;
        let mut text = Zeroizing::new(String::new());
        (&mut file).take(MAX_KEY_FILE).read_to_string(&mut text)?;
        Ok((of, text))
    };
    let (of, text) = read().map_err(|error| KeyError::Io {
        path: path.into(),
        error,
    })?;
    Key::from_file(path.into(), of.mode(), of.gid(), &text)
}
