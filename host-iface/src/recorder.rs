//! Writes the recording of a run. Records are collected while a doorbell is served and
//! written with one system call before it is answered, so that after a crash the file is
//! complete up to the last doorbell.

use crate::replaced::{self, NotBegun};
use gil_files::container::{self, Compression, FileError};
use gil_files::recording::{FILE, Record};
use std::fs::File;
use std::io::{self, IoSlice, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes of records that are collected at most; larger records are written at once.
const COLLECTED_MAX: usize = 256 << 10;

/// A recording being written.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    file: File,
    compression: Compression,
    sessions: u64,
    /// Whole records that are not written yet.
    collected: Vec<u8>,
    /// Bytes of the file, which end with a whole record; none until something is recorded.
    written: u64,
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
    /// Something else is there by now.
    #[error("the run is not recorded: something that is no recording was put into {} since the run began, and stays; name another file with --record", .0.display())]
    Other(PathBuf),
    /// A record that a reader would refuse.
    #[error("a call cannot be recorded, so the recording is short: {0}")]
    Record(#[from] FileError),
}

impl Recorder {
    /// Opens the file of a recording. What it contains stays until something is recorded or
    /// [`begin`](Self::begin) is called: a run may not get so far.
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
        let header = FILE.header();
        let (file, is_begun) = replaced::open(path, &header).map_err(&failed)?;
        Ok(Self {
            path: target,
            file,
            compression,
            sessions: 0,
            collected: Vec::new(),
            written: if is_begun { header.len() as u64 } else { 0 },
        })
    }

    /// Begins the file, which is a recording from then on, unless it is begun.
    ///
    /// # Errors
    /// [`RecorderError::File`], [`RecorderError::Other`].
    pub fn begin(&mut self) -> Result<(), RecorderError> {
        if self.written == 0 {
            let header = FILE.header();
            let begun = replaced::begin(&mut self.file, &FILE, &header);
            begun.map_err(|error| {
                let path = self.path.clone();
                match error {
                    NotBegun::Io(error) => RecorderError::File { path, error },
                    NotBegun::Other => RecorderError::Other(path),
                }
            })?;
            self.written = header.len() as u64;
        }
        Ok(())
    }

    /// The number of the next session.
    pub fn next_session(&mut self) -> u64 {
        self.sessions += 1;
        self.sessions
    }

    /// Adds one record; it is in the file after the next [`flush`](Self::flush).
    ///
    /// # Errors
    /// [`RecorderError`]; what the file holds of the record is taken back.
    pub fn write(&mut self, record: &Record<'_>, payload: &[&[u8]]) -> Result<(), RecorderError> {
        let pieces = container::pieces(record, payload, self.compression)?;
        let len: usize = pieces.iter().map(<[u8]>::len).sum();
        if self.collected.len() + len > COLLECTED_MAX {
            self.flush()?;
        }
        if len > COLLECTED_MAX {
            return self.put(pieces.iter());
        }
        pieces
            .iter()
            .for_each(|bytes| self.collected.extend_from_slice(bytes));
        Ok(())
    }

    /// Writes what is collected.
    ///
    /// # Errors
    /// [`RecorderError::File`]; the file ends with the last record that is whole.
    pub fn flush(&mut self) -> Result<(), RecorderError> {
        if self.collected.is_empty() {
            return Ok(());
        }
        let mut collected = std::mem::take(&mut self.collected);
        let put = self.put(std::iter::once(&collected[..]));
        collected.clear();
        self.collected = collected;
        put
    }

    /// Writes whole records.
    fn put<'p>(&mut self, pieces: impl Iterator<Item = &'p [u8]>) -> Result<(), RecorderError> {
        self.begin()?;
        let mut slices: Vec<_> = pieces.map(IoSlice::new).collect();
        let len: u64 = slices.iter().map(|slice| slice.len() as u64).sum();
        let written = self.write_all(&mut slices);
        if let Err(error) = written {
            // The disk is full: at least the file stays whole.
            let _ = self.file.set_len(self.written);
            let _ = self.file.seek(SeekFrom::Start(self.written));
            let path = self.path.clone();
            return Err(RecorderError::File { path, error });
        }
        self.written += len;
        Ok(())
    }

    /// One `writev` unless the system takes less at a time.
    fn write_all(&mut self, slices: &mut [IoSlice<'_>]) -> io::Result<()> {
        let mut rest = slices;
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

impl Drop for Recorder {
    fn drop(&mut self) {
        // Whoever serves doorbells has flushed, and told of a full disk.
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_files::container::HEADER_LEN;
    use gil_files::recording::SessionClosed;
    use std::io::Read;

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

    #[test]
    fn an_earlier_file_stays_until_something_is_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        let earlier = [&FILE.header()[..], &[b'x'; 100]].concat();
        std::fs::write(&path, &earlier).unwrap();
        let mut recorder = Recorder::create(&path, Compression::None).unwrap();
        recorder.flush().unwrap();
        drop(recorder);
        assert_eq!(std::fs::read(&path).unwrap(), earlier);
        let mut recorder = Recorder::create(&path, Compression::None).unwrap();
        let closed = SessionClosed { session: 1 };
        recorder.write(&Record::SessionClosed(closed), &[]).unwrap();
        recorder.flush().unwrap();
        let mut written = File::open(&path).unwrap();
        let mut header = [0; HEADER_LEN];
        written.read_exact(&mut header).unwrap();
        FILE.check_header(&header).unwrap();
        assert_eq!(container::read_all(&mut written).unwrap().len(), 1);
    }

    #[test]
    fn what_was_put_into_the_file_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        let mut recorder = Recorder::create(&path, Compression::None).unwrap();
        std::fs::write(&path, "notes").unwrap();
        let closed = SessionClosed { session: 1 };
        recorder.write(&Record::SessionClosed(closed), &[]).unwrap();
        let error = recorder.flush().unwrap_err().to_string();
        assert!(error.contains("no recording was put into"), "{error}");
        drop(recorder);
        assert_eq!(std::fs::read(&path).unwrap(), b"notes");
    }
}
