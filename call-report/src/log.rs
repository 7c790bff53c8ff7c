//! A log of calls, read row by row.

use gil_files::calls::{CallsError, END_LEN, FILE, Files, Reader, Record, Row, is_whole, plain};
use gil_files::recording;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
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

/// The same of a recording.
pub fn is_recording(first: &[u8]) -> bool {
    first.starts_with(&recording::FILE.magic)
}

/// Bytes that [`is_log`] and [`is_recording`] need.
pub const FIRST_LEN: usize = FILE.magic.len();

/// Adds to a whole log where files of its guest are on this machine: their paths in the
/// guest, and here. Anything else is left as it is.
///
/// # Errors
/// The file's.
pub fn add_files(log: &Path, files: Vec<(String, String)>) -> io::Result<()> {
    if !fs::metadata(log)?.is_file() {
        return Ok(());
    }
    let mut file = File::options().read(true).append(true).open(log)?;
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(END_LEN as u64)))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    if !is_whole(&end) {
        return Ok(());
    }
    let record = plain(&Record::Files(Files { files })).map_err(io::Error::other)?;
    file.write_all(&record)
}

/// What a slice of a time line is called: by what its operation runs, if that has a label,
/// or by its entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SliceName {
    op: u32,
    label: u32,
}

impl SliceName {
    /// A call's.
    pub(crate) fn of_call(row: &Row) -> Self {
        let (op, label) = (row.op.0, 0);
        Self { op, label }
    }

    /// Its operation's.
    pub(crate) fn of_operation(row: &Row) -> Self {
        let (op, label) = (row.op.0, row.label);
        Self { op, label }
    }

    /// For people.
    pub(crate) fn text<R: Read>(self, names: &Reader<R>) -> &str {
        let label = names.label(self.label);
        label.unwrap_or_else(|| names.name(self.op).1)
    }
}

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
