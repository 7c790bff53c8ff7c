//! The file in which a simulator's checkpoint keeps the sessions.

use crate::client::ClientError;
use gil_files::checkpoint::{self, Record, StateError};
use gil_files::recording::{HEADER_LEN, PREFIX_LEN, Prefix, TraceError};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Why sessions cannot be kept, or made again.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file.
    #[error("{}: {error}", path.display())]
    File {
        /// Its name.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// What is in the file.
    #[error("{}: {error}", path.display())]
    State {
        /// Its name.
        path: PathBuf,
        /// Why.
        error: StateError,
    },
    /// The file ends, or goes on, where it should not.
    #[error("{}: it is not whole: take the checkpoint again", path.display())]
    NotWhole {
        /// Its name.
        path: PathBuf,
    },
    /// A process is in a state that cannot be kept.
    #[error("process {process} cannot be in a checkpoint: {reason}")]
    Process {
        /// Guest process.
        process: u32,
        /// One sentence.
        reason: String,
    },
    /// A process's objects cannot be made again.
    #[error("process {process} cannot be restored: {reason}")]
    NotRestored {
        /// Guest process.
        process: u32,
        /// One sentence.
        reason: String,
    },
    /// Another board than when the checkpoint was taken.
    #[error(
        "the board has {found}, and the checkpoint was taken with {saved}: restore it with the same devices and drivers"
    )]
    Devices {
        /// The board's.
        found: String,
        /// The checkpoint's.
        saved: String,
    },
    /// The connection to the board.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Sessions are there already.
    #[error("{0} program(s) use the GPU already: restore before the simulation starts")]
    NotEmpty(usize),
    /// Guest RAM cannot be had.
    #[error(transparent)]
    Memory(crate::memory::MemoryError),
    /// The simulator did not say where guest RAM is.
    #[error("the simulator has not said where its RAM is")]
    NoMemory,
}

/// A file being written.
#[derive(Debug)]
pub(crate) struct Writer {
    path: PathBuf,
    file: BufWriter<File>,
    records: u64,
}

impl Writer {
    pub(crate) fn create(path: &Path) -> Result<Self, CheckpointError> {
        let failed = |error| CheckpointError::File {
            path: path.into(),
            error,
        };
        let mut file = BufWriter::new(File::create(path).map_err(failed)?);
        file.write_all(&checkpoint::header()).map_err(failed)?;
        Ok(Self {
            path: path.into(),
            file,
            records: 0,
        })
    }

    pub(crate) fn write(
        &mut self,
        record: &Record<'_>,
        payload: &[&[u8]],
    ) -> Result<(), CheckpointError> {
        let path = &self.path;
        let head = checkpoint::begin(record, payload).map_err(|error| CheckpointError::State {
            path: path.clone(),
            error,
        })?;
        let pieces = std::iter::once(&head[..]).chain(payload.iter().copied());
        for piece in pieces {
            let written = self.file.write_all(piece);
            written.map_err(|error| CheckpointError::File {
                path: path.clone(),
                error,
            })?;
        }
        self.records += 1;
        Ok(())
    }

    /// The last record.
    pub(crate) fn finish(mut self) -> Result<(), CheckpointError> {
        let records = self.records;
        self.write(&Record::End { records }, &[])?;
        let path = self.path;
        let flushed = self.file.flush();
        flushed.map_err(|error| CheckpointError::File { path, error })
    }
}

/// A file being read: nobody's word is taken for a length before the file is
/// that long.
#[derive(Debug)]
pub(crate) struct Reader {
    path: PathBuf,
    file: BufReader<File>,
    left: u64,
    records: u64,
}

/// A record as it is in the file, its checksum checked.
#[derive(Debug)]
pub(crate) struct Stored {
    prefix: Prefix,
    head: Vec<u8>,
    pub(crate) payload: Vec<u8>,
}

impl Stored {
    pub(crate) fn record(&self) -> Result<Record<'_>, StateError> {
        checkpoint::head(self.prefix, &self.head)
    }
}

impl Reader {
    pub(crate) fn open(path: &Path) -> Result<Self, CheckpointError> {
        let failed = |error| CheckpointError::File {
            path: path.into(),
            error,
        };
        let file = File::open(path).map_err(failed)?;
        let left = file.metadata().map_err(failed)?.len();
        let mut reader = Self {
            path: path.into(),
            file: BufReader::new(file),
            left,
            records: 0,
        };
        let header = reader.take(HEADER_LEN as u64)?;
        let header: &[u8; HEADER_LEN] = header.first_chunk().expect("as asked");
        checkpoint::check_header(header).map_err(|error| reader.damaged(error))?;
        Ok(reader)
    }

    /// The next record; `None` after the last one.
    pub(crate) fn next(&mut self) -> Result<Option<Stored>, CheckpointError> {
        let prefix = self.take(PREFIX_LEN as u64)?;
        let damaged = |error: TraceError| self.damaged(error.into());
        let prefix = Prefix::decode(prefix.first_chunk().expect("as asked")).map_err(damaged)?;
        let head = self.take(prefix.head_len.into())?;
        let payload = self.take(prefix.payload_len)?;
        let mut crc = prefix.checksum();
        crc.update(&head);
        crc.update(&payload);
        let damaged = |error: TraceError| self.damaged(error.into());
        crc.check(prefix).map_err(damaged)?;
        let stored = Stored {
            prefix,
            head,
            payload,
        };
        match stored.record().map_err(|error| self.damaged(error))? {
            Record::End { records } if records == self.records && self.left == 0 => Ok(None),
            Record::End { .. } => Err(self.not_whole()),
            _ => {
                self.records += 1;
                Ok(Some(stored))
            }
        }
    }

    fn take(&mut self, len: u64) -> Result<Vec<u8>, CheckpointError> {
        self.left = self.left.checked_sub(len).ok_or_else(|| self.not_whole())?;
        let mut bytes = Vec::new();
        let read = (&mut self.file).take(len).read_to_end(&mut bytes);
        let read = read.map_err(|error| CheckpointError::File {
            path: self.path.clone(),
            error,
        })?;
        match read as u64 == len {
            true => Ok(bytes),
            false => Err(self.not_whole()),
        }
    }

    pub(crate) fn damaged(&self, error: StateError) -> CheckpointError {
        let path = self.path.clone();
        CheckpointError::State { path, error }
    }

    pub(crate) fn not_whole(&self) -> CheckpointError {
        let path = self.path.clone();
        CheckpointError::NotWhole { path }
    }
}
