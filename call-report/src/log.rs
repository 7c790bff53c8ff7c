//! A log of calls, read row by row.

use gil_files::calls::{CallsError, FILE, Reader, Row};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Why a log of calls is not reported.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The log.
    #[error("{}: {source}", path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: CallsError,
    },
    /// What is made of it.
    #[error("the report of {} cannot be written ({source}): check where it leads", path.display())]
    Unwritten {
        /// The log.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

impl LogError {
    /// Whether it is only that nobody reads the report any more.
    pub fn is_closed_pipe(&self) -> bool {
        match self {
            Self::Unwritten { source, .. } => source.kind() == io::ErrorKind::BrokenPipe,
            Self::Log { .. } => false,
        }
    }
}

/// How much of a run is in its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// The run died, or still goes on: the calls up to some moment.
    Begun,
    /// The file is damaged; what is wrong, from where on nothing was read.
    Damaged(String),
}

/// The first bytes of a file that is a log of calls.
pub fn is_log(first: &[u8]) -> bool {
    first.starts_with(&FILE.magic)
}

/// Bytes that [`is_log`] needs.
pub const FIRST_LEN: usize = FILE.magic.len();

/// A log.
#[derive(Debug)]
pub struct Log<R> {
    path: PathBuf,
    reader: Reader<R>,
}

/// Takes rows.
pub trait Sink<R> {
    /// The next row; the reader knows the names in it.
    ///
    /// # Errors
    /// The writer's.
    fn row(&mut self, row: &Row, names: &Reader<R>) -> io::Result<()>;
}

impl<R: Read> Log<R> {
    /// Begins to read a file of this name.
    ///
    /// # Errors
    /// [`LogError::Log`] if it is none.
    pub fn open(path: &Path, file: R) -> Result<Self, LogError> {
        let path = path.to_owned();
        match Reader::new(file) {
            Ok(reader) => Ok(Self { path, reader }),
            Err(source) => Err(LogError::Log { path, source }),
        }
    }

    /// What reads it: it knows the names so far.
    pub fn names(&self) -> &Reader<R> {
        &self.reader
    }

    /// Passes all rows to these; how much of the run they were.
    ///
    /// # Errors
    /// [`LogError::Unwritten`].
    pub fn pass(&mut self, sinks: &mut [&mut dyn Sink<R>]) -> Result<Extent, LogError> {
        loop {
            let rows = match self.reader.rows() {
                Ok(Some(rows)) => rows,
                Ok(None) if self.reader.finished().is_some() => return Ok(Extent::Whole),
                Ok(None) => return Ok(Extent::Begun),
                Err(error) if error.is_cut() => return Ok(Extent::Begun),
                Err(error) => return Ok(Extent::Damaged(error.to_string())),
            };
            for row in &rows {
                for sink in &mut *sinks {
                    let taken = sink.row(row, &self.reader);
                    taken.map_err(|source| self.unwritten(source))?;
                }
            }
        }
    }

    /// The report of this log cannot be written.
    pub fn unwritten(&self, source: io::Error) -> LogError {
        let path = self.path.clone();
        LogError::Unwritten { path, source }
    }
}
