//! Writes the recording of a run: each record with one system call, so that after a
//! crash the file is complete up to the last call.

use gil_files::container::{self, Compression, FileError, Pieces};
use gil_files::recording::{FILE, Record};
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::path::{Path, PathBuf};

/// A recording being written.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    file: File,
    compression: Compression,
    sessions: u64,
}

/// A recording that cannot be written. It ends with the record before.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    /// The file.
    #[error("cannot write the recording {}: {error}: it is short, and holds what came before; make room and run again, or leave out --record", path.display())]
    File {
        /// Its name.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// A record that a reader would refuse.
    #[error("a call cannot be recorded, so the recording is short: {0}")]
    Record(#[from] FileError),
}

impl Recorder {
    /// Begins a recording; a file of that name is replaced.
    ///
    /// # Errors
    /// [`RecorderError::File`].
    pub fn create(path: &Path, compression: Compression) -> Result<Self, RecorderError> {
        // Whoever gave a link wants to read of the file.
        let target = std::fs::read_link(path);
        let target = target.unwrap_or_else(|_| path.into());
        let failed = |error| RecorderError::File {
            path: target.clone(),
            error,
        };
        let mut file = File::create(path).map_err(&failed)?;
        file.write_all(&FILE.header()).map_err(&failed)?;
        Ok(Self {
            path: target,
            file,
            compression,
            sessions: 0,
        })
    }

    /// The number of the next session.
    pub fn next_session(&mut self) -> u64 {
        self.sessions += 1;
        self.sessions
    }

    /// Writes one record.
    ///
    /// # Errors
    /// [`RecorderError`]; what the file holds of the record is taken back.
    pub fn write(&mut self, record: &Record<'_>, payload: &[&[u8]]) -> Result<(), RecorderError> {
        let pieces = container::pieces(record, payload, self.compression)?;
        let before = self.file.metadata().map(|data| data.len());
        self.write_all(&pieces).map_err(|error| {
            if let Ok(len) = before {
                // The disk is full: at least the file stays whole.
                let _ = self.file.set_len(len);
            }
            let path = self.path.clone();
            RecorderError::File { path, error }
        })
    }

    /// One `writev` unless the system takes less at a time.
    fn write_all(&mut self, pieces: &Pieces<'_>) -> io::Result<()> {
        let mut slices: Vec<_> = pieces.iter().map(IoSlice::new).collect();
        let mut rest = &mut slices[..];
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            match self.file.write_vectored(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(done) => IoSlice::advance_slices(&mut rest, done),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_behind_a_link_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("trace");
        std::os::unix::fs::symlink("/dev/full", &link).unwrap();
        let error = Recorder::create(&link, Compression::None)
            .unwrap_err()
            .to_string();
        assert!(error.contains("the recording /dev/full: "), "{error}");
    }
}
