//! The file with the sessions of a simulator's checkpoint.

use crate::printed;
use gil_files::checkpoint::{self, End, FILE, Record};
use gil_files::container::{self, Compression, FileError, HEADER_LEN, Payload, ReadError};
use gil_transport::client::ClientError;
use gil_wire::frame;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Most bytes of arguments, results and regions that are kept of a session's
/// calls.
pub(crate) const CALLS_MAX: usize = 536_870_912;

/// Most bytes of a GPU's registers and jobs; a Mali's take some tens of thousands.
const GPU_MAX: u64 = 1 << 20;

/// Why sessions cannot be kept, or made again.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file.
    #[error("{}: {error}", path.display())]
    File {
        /// Its name.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// The file's contents are invalid.
    #[error("{}: {error}", path.display())]
    State {
        /// Its name.
        path: PathBuf,
        /// What is wrong with the file.
        error: FileError,
    },
    /// The file ends, or goes on, where it should not.
    #[error("{}: it is incomplete: take the checkpoint again", path.display())]
    NotWhole {
        /// Its name.
        path: PathBuf,
    },
    /// A record announces more than any session keeps of its kind.
    #[error(
        "{}: {what} takes {len} bytes, and the bound is {most}: take the checkpoint again", path.display()
    )]
    TooLong {
        /// The file's name.
        path: PathBuf,
        /// The kind of the record.
        what: &'static str,
        /// Bytes that it announces.
        len: u64,
        /// The bound.
        most: u64,
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
    /// The GPU whose registers are gil's.
    #[error(transparent)]
    Gpu(#[from] crate::gpu::SavedError),
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
        file.write_all(&FILE.header()).map_err(failed)?;
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
        let failed = |error| CheckpointError::File {
            path: self.path.clone(),
            error,
        };
        let pieces = container::pieces(record, payload, Compression::None);
        let pieces = pieces.map_err(|error| CheckpointError::State {
            path: self.path.clone(),
            error,
        })?;
        for piece in pieces.iter() {
            self.file.write_all(piece).map_err(failed)?;
        }
        self.records += 1;
        Ok(())
    }

    /// The last record.
    pub(crate) fn finish(mut self) -> Result<(), CheckpointError> {
        let records = self.records;
        self.write(&Record::End(End { records }), &[])?;
        let path = self.path;
        let flushed = self.file.flush();
        flushed.map_err(|error| CheckpointError::File { path, error })
    }
}

/// A file being read. Payloads stay in it until they are asked for.
#[derive(Debug)]
pub(crate) struct Reader {
    path: PathBuf,
    file: BufReader<File>,
    /// The same file again: payloads are read without moving the other.
    payloads: File,
    /// The offset of the next record.
    at: u64,
    records: u64,
}

/// A record as it is in the file, its checksum and lengths checked.
#[derive(Debug)]
pub(crate) struct Stored {
    stored: container::Stored,
    payload_at: u64,
}

impl Stored {
    pub(crate) fn record(&self) -> Result<Record<'_>, FileError> {
        let known = checkpoint::record(&self.stored)?;
        Ok(known.expect("the reader skips what is not known"))
    }
}

impl Reader {
    pub(crate) fn open(path: &Path) -> Result<Self, CheckpointError> {
        let open = || {
            File::open(path).map_err(|error| CheckpointError::File {
                path: path.into(),
                error,
            })
        };
        let mut reader = Self {
            path: path.into(),
            file: BufReader::new(open()?),
            payloads: open()?,
            at: HEADER_LEN as u64,
            records: 0,
        };
        let mut header = [0; HEADER_LEN];
        let read = reader.file.read_exact(&mut header);
        read.map_err(|error| reader.unread(error))?;
        let checked = FILE.check_header(&header);
        checked.map_err(|error| reader.damaged(error))?;
        Ok(reader)
    }

    /// Checks all records that are left, and that their payloads decompress.
    pub(crate) fn check(mut self) -> Result<(), CheckpointError> {
        while let Some(stored) = self.next()? {
            let compression = stored.stored.prefix().compression();
            if compression != Ok(Compression::None) {
                let copied = io::copy(&mut self.payload(&stored)?, &mut io::sink());
                copied.map_err(|error| self.unread(error))?;
            }
        }
        Ok(())
    }

    /// The next record that is known; `None` after the last one.
    pub(crate) fn next(&mut self) -> Result<Option<Stored>, CheckpointError> {
        loop {
            let stored = container::read(&mut self.file, &mut io::sink());
            let stored = stored.map_err(|error| self.unread(error))?;
            let stored = stored.ok_or_else(|| self.not_whole())?;
            let record = checkpoint::record(&stored).map_err(|error| self.damaged(error))?;
            if let Some(Record::End(End { records })) = record {
                return self.end(records).map(|()| None);
            }
            self.at += stored.prefix().record_len();
            self.records += 1;
            if let Some(record) = record {
                self.check_len(&record, stored.prefix().payload_len)?;
                let payload_at = self.at - stored.prefix().stored_len;
                return Ok(Some(Stored { stored, payload_at }));
            }
        }
    }

    /// Refuses more than a session can have written.
    fn check_len(&self, record: &Record<'_>, len: u64) -> Result<(), CheckpointError> {
        let (what, most) = match record {
            Record::Session(_) => ("a program's text", printed::KEPT_MAX as u64),
            Record::Call(_) => ("a call", CALLS_MAX as u64),
            Record::Contents(_) => ("an object", frame::MAX_PAYLOAD),
            Record::Gpu(_) => ("a GPU", GPU_MAX),
            Record::Begin(_) | Record::Past(_) | Record::Ran(_) | Record::End(_) => return Ok(()),
        };
        if len <= most {
            return Ok(());
        }
        Err(CheckpointError::TooLong {
            path: self.path.clone(),
            what,
            len,
            most,
        })
    }

    /// A record's payload, decompressed as it is read; no more comes of it than
    /// the record announces.
    pub(crate) fn payload(&self, stored: &Stored) -> Result<Payload<&File>, CheckpointError> {
        let mut file = &self.payloads;
        let sought = file.seek(SeekFrom::Start(stored.payload_at));
        sought.map_err(|error| self.unread(error))?;
        Payload::of(stored.stored.prefix(), file).map_err(|error| self.damaged(error))
    }

    /// All of it.
    pub(crate) fn bytes(&self, stored: &Stored) -> Result<Vec<u8>, CheckpointError> {
        let mut bytes = Vec::new();
        let read = self.payload(stored)?.read_to_end(&mut bytes);
        read.map_err(|error| self.unread(error))?;
        // They are kept as long as their session is there.
        bytes.shrink_to_fit();
        Ok(bytes)
    }

    /// Nothing is missing before the last record, and nothing follows it.
    fn end(&mut self, records: u64) -> Result<(), CheckpointError> {
        let behind = self.file.fill_buf().map(|behind| behind.is_empty());
        let is_end = behind.map_err(|error| self.unread(error))?;
        match is_end && records == self.records {
            true => Ok(()),
            false => Err(self.not_whole()),
        }
    }

    /// Why it cannot be read.
    pub(crate) fn unread(&self, error: impl Into<ReadError>) -> CheckpointError {
        let path = self.path.clone();
        match error.into() {
            ReadError::File(error) => CheckpointError::State { path, error },
            ReadError::Cut => CheckpointError::NotWhole { path },
            ReadError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                CheckpointError::NotWhole { path }
            }
            ReadError::Io(error) => CheckpointError::File { path, error },
        }
    }

    pub(crate) fn damaged(&self, error: FileError) -> CheckpointError {
        let path = self.path.clone();
        CheckpointError::State { path, error }
    }

    pub(crate) fn not_whole(&self) -> CheckpointError {
        let path = self.path.clone();
        CheckpointError::NotWhole { path }
    }
}
