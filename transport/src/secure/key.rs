//! The key that host and board share.

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, poll};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use zeroize::Zeroizing;

/// Bytes of a key.
pub const KEY_LEN: usize = 32;
/// Bytes of the longest file that is read for one.
const MAX_KEY_FILE: u64 = 4096;
/// How long a pipe may have no key, in milliseconds.
const PIPE_WAIT_MS: u16 = 10_000;
/// Before the digits in a key's file.
const PREFIX: &str = "gil-key-1:";

/// A shared key. Its bytes are overwritten when it is dropped, and no log shows
/// them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u8; KEY_LEN]", into = "[u8; KEY_LEN]")]
pub struct Key(Zeroizing<[u8; KEY_LEN]>);

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read.
    #[error("cannot read the key {}: {error}; `gil key new FILE` makes one", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// Others can read it.
    #[error(
        "the key {0} can be read by other users (mode {1:03o}): run `chmod 600 {0}`, and make a new one if it ever was secret",
        path.display(),
        mode & 0o777
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Something else is in it.
    #[error("{} is no key: it holds one line, which `gil key new FILE` writes", .0.display())]
    Text(PathBuf),
}

impl Key {
    /// A key of these bytes, which should be random.
    pub fn from_bytes(bytes: [u8; KEY_LEN]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8; KEY_LEN] {
        &self.0
    }

    /// The text of a key's file.
    pub fn to_text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(PREFIX.len() + 2 * KEY_LEN + 1));
        text.push_str(PREFIX);
        for byte in self.0.iter() {
            let digit = |nibble: u8| char::from_digit(nibble.into(), 16).expect("below 16");
            text.push(digit(byte >> 4));
            text.push(digit(byte & 15));
        }
        text.push('\n');
        text
    }

    /// Reads a key's file, if only its owner can read it.
    ///
    /// # Errors
    /// [`KeyError`] says what to do.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let read = || {
            let mut options = File::options();
            // Nobody may be writing to a pipe yet: to open it would wait for ever.
            options.read(true).custom_flags(OFlag::O_NONBLOCK.bits());
            let mut file = options.open(path)?;
            let of = file.metadata()?;
            if of.file_type().is_fifo() {
                await_writer(&file)?;
            }
            let mut text = Zeroizing::new(String::new());
            (&mut file).take(MAX_KEY_FILE).read_to_string(&mut text)?;
            Ok((of, text))
        };
        let (of, text) = read().map_err(|error| KeyError::Io {
            path: path.into(),
            error,
        })?;
        Self::from_file(path.into(), of.mode(), of.gid(), &text)
    }

    /// The key in a file that holds `text` and has these permission bits and
    /// group. Only its owner may read it; so may the superuser's group, which
    /// is how service managers hand credentials over.
    ///
    /// # Errors
    /// [`KeyError::Open`], [`KeyError::Text`].
    fn from_file(path: PathBuf, mode: u32, group: u32, text: &str) -> Result<Self, KeyError> {
        let others = if group == 0 { 0o007 } else { 0o077 };
        if mode & others != 0 {
            return Err(KeyError::Open { path, mode });
        }
        text.parse().map_err(|NoKey| KeyError::Text(path))
    }
}

/// Waits until a pipe has something, or its writer is gone. From then on reading it waits.
fn await_writer(pipe: &File) -> io::Result<()> {
    let mut fds = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
    match poll(&mut fds, PIPE_WAIT_MS)? {
        0 => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "nobody wrote to this pipe for 10 s",
        )),
        _ => {
            fcntl(pipe, FcntlArg::F_SETFL(OFlag::empty()))?;
            Ok(())
        }
    }
}

impl From<[u8; KEY_LEN]> for Key {
    fn from(bytes: [u8; KEY_LEN]) -> Self {
        Self::from_bytes(bytes)
    }
}

impl From<Key> for [u8; KEY_LEN] {
    fn from(key: Key) -> Self {
        *key.bytes()
    }
}

/// An invalid key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoKey;

impl FromStr for Key {
    type Err = NoKey;

    fn from_str(text: &str) -> Result<Self, NoKey> {
        let digits = text.trim_end().strip_prefix(PREFIX).ok_or(NoKey)?;
        let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
        if pairs.len() != KEY_LEN || !rest.is_empty() {
            return Err(NoKey);
        }
        let mut key = Self::from_bytes([0; KEY_LEN]);
        for (byte, [high, low]) in key.0.iter_mut().zip(pairs) {
            *byte = 16 * digit(*high)? + digit(*low)?;
        }
        Ok(key)
    }
}

fn digit(text: u8) -> Result<u8, NoKey> {
    let digit = char::from(text).to_digit(16).ok_or(NoKey)?;
    Ok(digit as u8)
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_files_of_ones_own_are_keys() {
        let key = Key::from_bytes([0xa5; KEY_LEN]);
        let text = key.to_text();
        let read = |mode, group| Key::from_file("k".into(), mode, group, &text);
        assert_eq!(read(0o100_600, 7).unwrap(), key);
        assert_eq!(read(0o100_400, 7).unwrap(), key);
        assert_eq!(read(0o100_440, 0).unwrap(), key);
        for (mode, group) in [(0o100_640, 7), (0o100_604, 0), (0o100_620, 7)] {
            let message = read(mode, group).unwrap_err().to_string();
            assert!(message.contains("chmod 600 k"), "{message}");
        }
        assert_eq!(format!("{key:?}"), "Key(secret)");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let good = Key::from_bytes([7; KEY_LEN]).to_text();
        let digits = &good[PREFIX.len()..];
        let longer = format!("{}00", good.trim_end());
        for text in ["", "gil-key-1:", digits, &good[..good.len() - 2], &longer] {
            assert_eq!(text.parse::<Key>(), Err(NoKey), "{text}");
        }
        assert!(good.replace('7', "x").parse::<Key>().is_err());
    }

    /// A service manager or a shell may hand a key over by a pipe, and later than it starts who reads it.
    #[test]
    fn a_key_comes_through_a_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
        let key = Key::from_bytes([0x5a; KEY_LEN]);
        let writer = std::thread::spawn({
            let (path, text) = (path.clone(), key.to_text());
            move || {
                std::thread::sleep(std::time::Duration::from_millis(100));
                std::fs::write(path, text.as_bytes())
            }
        });
        assert_eq!(Key::read(&path).unwrap(), key);
        writer.join().unwrap().unwrap();
    }

    proptest! {
        #[test]
        fn keys_survive_their_file(bytes: [u8; KEY_LEN]) {
            let key = Key::from_bytes(bytes);
            prop_assert_eq!(key.to_text().parse::<Key>(), Ok(key.clone()));
            let handed = postcard::to_stdvec(&key).unwrap();
            prop_assert_eq!(postcard::from_bytes(&handed), Ok(key));
        }

        #[test]
        fn any_text_is_a_key_or_none(text: String) {
            let _ = text.parse::<Key>();
        }
    }
}
