//! A recording, read from its beginning to its end.

use crate::lock::{self, Held};
use gil_files::calls;
use gil_files::container::{self, FileError, HEADER_LEN, Payload, Prefix, ReadError, Stored};
use gil_files::recording::{self, FILE, Record, SessionOpened};
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read, Take};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Bytes read at a time.
const CHUNK: usize = 256 << 10;

/// Most sessions of a recording: what is counted of each stays in memory.
pub const SESSIONS_MAX: usize = 65_536;

/// Why a recording is not read, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// A file of another kind, which the user may need.
    #[error("--out {} is there and is no recording, and would be lost: name another file, or remove it", path.display())]
    NotReplaced {
        /// The file.
        path: PathBuf,
    },
    /// The system.
    #[error("cannot read the recording {}: {source}; name a file that gil run --record wrote", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// It is no recording for this build.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: FileError,
    },
    /// It is shorter than a header.
    #[error("{}: the file ends within its header: record the run again, or copy the file again", path.display())]
    Header {
        /// The file.
        path: PathBuf,
    },
    /// Its end is not whole.
    #[error("{}: {rest}", path.display())]
    Rest {
        /// The file.
        path: PathBuf,
        /// What is behind the last whole record.
        rest: Rest,
    },
    /// Bytes of a record are read again, which a pipe does not have any more.
    #[error("{} is no regular file, and this reads parts of it again: save it in a file first", path.display())]
    Pipe {
        /// The file.
        path: PathBuf,
    },
    /// More sessions than any run has.
    #[error("{}: it has more than {SESSIONS_MAX} sessions, which no run has: record the run again", path.display())]
    Sessions {
        /// The file.
        path: PathBuf,
    },
    /// A log of calls, which is another file.
    #[error("{} is a log of calls, no recording: see `gil report {}`", path.display(), path.display())]
    Calls {
        /// The file.
        path: PathBuf,
    },
    /// Two sessions have one number, so that it is not known whose a call is.
    #[error("{}: two of its sessions have the number {session}: record the run again", path.display())]
    Repeated {
        /// The file.
        path: PathBuf,
        /// The number in the file.
        session: u64,
    },
    /// Recordings of two releases, which no one board can serve.
    #[error(
        "{here} has another description of {api} than {there}, and no gil serves both: record both runs with the same gil"
    )]
    Descriptions {
        /// The API.
        api: String,
        /// One session.
        here: String,
        /// Another one.
        there: String,
    },
    /// It is not as it was when it was first read.
    #[error("{} changed while it was read: run again once nothing writes to it", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A run writes it.
    #[error("a run writes {}, and this reads parts of it again: wait until the run ends", path.display())]
    Written {
        /// The file.
        path: PathBuf,
    },
    /// Another command has it.
    #[error("another run writes or replays {}: wait until it ends, or name another file for --out", path.display())]
    Taken {
        /// The file.
        path: PathBuf,
    },
    /// A file would be replaced while it is read.
    #[error("{} is read and written: name another file for --out", path.display())]
    Same {
        /// The file.
        path: PathBuf,
    },
    /// What is asked for is not there.
    #[error("{} has no session {session}: gil trace ls lists those that it has", path.display())]
    NoSession {
        /// The file.
        path: PathBuf,
        /// The number.
        session: u64,
    },
    /// The same.
    #[error("{} has no record {first}: its last is {last}", path.display())]
    NoRecord {
        /// The file.
        path: PathBuf,
        /// The first number that is asked for.
        first: u64,
        /// Its last one.
        last: u64,
    },
    /// No number is from the one to the other.
    #[error("no record is from {from} to {to}: give --from no number above that of --to")]
    Backwards {
        /// The first that is asked for.
        from: u64,
        /// The last.
        to: u64,
    },
    /// A file cannot be written.
    #[error("cannot write --out {}: {source}; make room, or name another file", path.display())]
    Out {
        /// The file.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// What was found cannot be written.
    #[error("cannot write the result: {0}; make room, or write it elsewhere")]
    Output(io::Error),
}

impl TraceError {
    /// Whether it is only that nobody reads what is written.
    pub fn is_closed_output(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// What is behind the last whole record.
#[derive(Debug, thiserror::Error)]
#[error(
    "what follows record {records}{} cannot be read ({why}): record the run again, or copy the file again",
    in_bytes(*.bytes)
)]
pub struct Rest {
    /// The number of whole records.
    pub records: u64,
    /// Bytes behind them, if the file has a length.
    pub bytes: Option<u64>,
    /// What is wrong with them.
    pub why: ReadError,
}

fn in_bytes(bytes: Option<u64>) -> String {
    match bytes {
        Some(1) => ", the file's last byte,".into(),
        Some(bytes) => format!(", the file's last {bytes} bytes,"),
        None => String::new(),
    }
}

/// A recording that is being read.
#[derive(Debug)]
pub struct Trace {
    path: PathBuf,
    reader: BufReader<Held>,
    /// Its length, if it is a regular file.
    total: Option<u64>,
    at: u64,
    records: u64,
    rest: Option<Rest>,
    sessions: Numbers,
}

/// A whole record of a recording.
#[derive(Debug)]
pub struct Entry {
    /// Its number, from 1.
    pub number: u64,
    /// The number of its session, from 1 in the order in which they were opened; 0 if
    /// none of its number was opened.
    pub session: u64,
    /// Where it begins in the file.
    pub at: u64,
    stored: Stored,
}

/// The place of a record's payload in the file.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    prefix: Prefix,
    at: u64,
}

impl Trace {
    /// Opens a recording, a pipe too, and checks its header.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let failed = |source| TraceError::Io {
            path: path.into(),
            source,
        };
        let file = File::open(path).map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        let total = meta.is_file().then_some(meta.len());
        let file = lock::hold(file, total.is_some());
        let mut reader = BufReader::with_capacity(CHUNK, file);
        let begin = begin(&mut reader).map_err(failed)?;
        check_header(path, &begin)?;
        Ok(Self {
            path: path.into(),
            reader,
            total,
            at: HEADER_LEN as u64,
            records: 0,
            rest: None,
            sessions: Numbers::default(),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that no run writes it, on a file system with locks. None will as long as this
    /// value lives.
    ///
    /// # Errors
    /// [`TraceError::Written`] if one does.
    pub fn check_unwritten(&self) -> Result<(), TraceError> {
        match self.reader.get_ref() {
            Held::Written(_) => Err(TraceError::Written {
                path: self.path.clone(),
            }),
            Held::Locked(_) | Held::Free(_) => Ok(()),
        }
    }

    /// Whether it is this file.
    pub fn is_file(&self, other: &Metadata) -> bool {
        let own = self.reader.get_ref().file().metadata();
        own.is_ok_and(|own| (own.dev(), own.ino()) == (other.dev(), other.ino()))
    }

    /// Bytes of all that was read so far.
    pub fn bytes(&self) -> u64 {
        self.at
    }

    /// Records that were read so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The process of a session, by the session's number; 0 if there is none.
    pub fn process(&self, session: u64) -> u32 {
        let place = usize::try_from(session)
            .ok()
            .and_then(|it| it.checked_sub(1));
        let process = place.and_then(|place| self.sessions.processes.get(place));
        process.copied().unwrap_or(0)
    }

    /// What is behind the last whole record, once that was read.
    pub fn rest(&self) -> Option<&Rest> {
        self.rest.as_ref()
    }

    /// The next record that this build knows; `None` behind the last whole one.
    ///
    /// # Errors
    /// [`TraceError`] of the system, or if only a newer gil knows the record.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, TraceError> {
        while self.rest.is_none() {
            match self.read() {
                Ok(Some(Some(entry))) => return self.numbered(entry).map(Some),
                Ok(Some(None)) => {}
                Ok(None) => return Ok(None),
                Err(ReadError::Io(source)) => return Err(self.failed(source)),
                Err(ReadError::File(error @ FileError::Newer(_))) => {
                    return Err(self.refused(error));
                }
                Err(why) => {
                    self.rest = Some(Rest {
                        records: self.records,
                        bytes: self.total.map(|total| total.saturating_sub(self.at)),
                        why,
                    });
                }
            }
        }
        Ok(None)
    }

    /// The next record, `Some(None)` if it may be skipped.
    fn read(&mut self) -> Result<Option<Option<Entry>>, ReadError> {
        let Some(stored) = container::read(&mut self.reader, &mut io::sink())? else {
            return Ok(None);
        };
        let is_known = recording::record(&stored)?.is_some();
        let at = self.at;
        self.at += stored.prefix().record_len();
        self.records += 1;
        let entry = Entry {
            number: self.records,
            session: 0,
            at,
            stored,
        };
        Ok(Some(is_known.then_some(entry)))
    }

    fn numbered(&mut self, mut entry: Entry) -> Result<Entry, TraceError> {
        let session = match entry.record() {
            Ok(Record::SessionOpened(opened)) => self.sessions.open(&opened, &self.path)?,
            Ok(record) => self.sessions.of(session_of(&record)),
            Err(error) => return Err(self.refused(error)),
        };
        entry.session = session;
        Ok(entry)
    }

    /// Hands over every record, from where the reader is to the last whole one.
    ///
    /// # Errors
    /// [`TraceError`]: the reader's, or what `each` returns.
    pub fn each(
        &mut self,
        mut each: impl FnMut(&Self, &Entry, Record<'_>) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        while let Some(entry) = self.next_entry()? {
            let record = entry.record().map_err(|error| self.refused(error))?;
            each(self, &entry, record)?;
        }
        Ok(())
    }

    /// A record's payload, from its first byte.
    ///
    /// # Errors
    /// [`TraceError::Pipe`] if the file is none that can be read again.
    pub fn payload(&self, place: Place) -> Result<Payload<At<'_>>, TraceError> {
        self.check_regular()?;
        let from = At {
            file: self.reader.get_ref().file(),
            at: place.at,
        };
        Payload::of(&place.prefix, from).map_err(|error| self.refused(error))
    }

    /// A record's payload as it is stored.
    ///
    /// # Errors
    /// [`TraceError::Pipe`].
    pub fn stored(&self, entry: &Entry) -> Result<Take<At<'_>>, TraceError> {
        self.check_regular()?;
        let Place { prefix, at } = entry.place();
        let file = self.reader.get_ref().file();
        Ok(At { file, at }.take(prefix.stored_len))
    }

    /// What is written before a record's stored payload to give it another head.
    ///
    /// # Errors
    /// [`TraceError`] if the payload cannot be read, or does not go with the head.
    pub fn with_head(&self, entry: &Entry, record: &Record<'_>) -> Result<Vec<u8>, TraceError> {
        let mut payload = self.stored(entry)?;
        let front = container::with_head(&entry.stored, record, &mut payload);
        front.map_err(|error| self.changed(error))
    }

    /// Reads records once more, from that one on, which is at this offset.
    ///
    /// # Errors
    /// [`TraceError::Pipe`] if the file is none that can be read again.
    pub fn records_from(&self, record: u64, at: u64) -> Result<Records<'_>, TraceError> {
        self.check_regular()?;
        let from = At {
            file: self.reader.get_ref().file(),
            at,
        };
        Ok(Records {
            trace: self,
            reader: BufReader::with_capacity(CHUNK, from),
            at,
            read: record.saturating_sub(1),
        })
    }

    /// Whether parts of it can be read again.
    ///
    /// # Errors
    /// [`TraceError::Pipe`] if not.
    pub fn check_regular(&self) -> Result<(), TraceError> {
        let path = || self.path.clone();
        let is_file = self.total.is_some();
        is_file
            .then_some(())
            .ok_or_else(|| TraceError::Pipe { path: path() })
    }

    /// Whether all that was read ended whole; says once why not.
    ///
    /// # Errors
    /// [`TraceError::Rest`] if it did not.
    pub fn check_whole(&mut self) -> Result<(), TraceError> {
        let path = self.path.clone();
        let rest = self.rest.take();
        rest.map_or(Ok(()), |rest| Err(TraceError::Rest { path, rest }))
    }

    /// An error of the system as it is reported.
    pub fn failed(&self, source: io::Error) -> TraceError {
        let path = self.path.clone();
        TraceError::Io { path, source }
    }

    /// Why a record cannot be read that was whole before.
    fn changed(&self, error: ReadError) -> TraceError {
        match error {
            ReadError::Io(source) => self.failed(source),
            ReadError::Cut | ReadError::File(_) => TraceError::Changed {
                path: self.path.clone(),
            },
        }
    }

    fn refused(&self, error: FileError) -> TraceError {
        let path = self.path.clone();
        TraceError::File { path, error }
    }
}

impl Entry {
    /// What it says.
    ///
    /// # Errors
    /// Never for what [`Trace::next_entry`] returned.
    pub fn record(&self) -> Result<Record<'_>, FileError> {
        let kind = self.stored.prefix().kind;
        let unknown = FileError::Newer(container::Unknown::Kind(kind));
        recording::record(&self.stored)?.ok_or(unknown)
    }

    /// Where its payload is.
    pub fn place(&self) -> Place {
        let prefix = *self.stored.prefix();
        let at = self.at + prefix.record_len() - prefix.stored_len;
        Place { prefix, at }
    }

    /// Whether its payload is compressed.
    pub fn is_compressed(&self) -> bool {
        self.stored.prefix().compression() == Ok(container::Compression::Lz4)
    }
}

/// Records of a recording that was read before, once more.
#[derive(Debug)]
pub struct Records<'t> {
    trace: &'t Trace,
    reader: BufReader<At<'t>>,
    at: u64,
    /// The number of the record that was read last.
    pub read: u64,
}

impl Records<'_> {
    /// The next record that this build knows; `None` at the file's end.
    ///
    /// # Errors
    /// [`TraceError`] if the file is not as it was.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, TraceError> {
        loop {
            let stored = container::read(&mut self.reader, &mut io::sink());
            let Some(stored) = stored.map_err(|error| self.trace.changed(error))? else {
                return Ok(None);
            };
            let at = self.at;
            self.at += stored.prefix().record_len();
            self.read += 1;
            if let Some(session) = recording::record(&stored)
                .map_err(|error| self.trace.refused(error))?
                .map(|record| session_of(&record))
            {
                return Ok(Some(Entry {
                    number: self.read,
                    session: self.trace.sessions.of(session),
                    at,
                    stored,
                }));
            }
        }
    }
}

/// The file's first bytes, as many as a header has.
fn begin(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut begin = Vec::new();
    reader.take(HEADER_LEN as u64).read_to_end(&mut begin)?;
    Ok(begin)
}

fn check_header(path: &Path, begin: &[u8]) -> Result<(), TraceError> {
    let path = || path.to_path_buf();
    let mut header = [0; HEADER_LEN];
    header[..begin.len()].copy_from_slice(begin);
    let magic = &begin[..begin.len().min(FILE.magic.len())];
    let is_cut = begin.len() < HEADER_LEN && FILE.magic.starts_with(magic);
    if begin.starts_with(&calls::FILE.magic) {
        return Err(TraceError::Calls { path: path() });
    }
    let checked = match (begin.is_empty(), is_cut) {
        (true, _) => Err(FileError::Empty),
        (false, true) => return Err(TraceError::Header { path: path() }),
        (false, false) => FILE.check_header(&header),
    };
    checked.map_err(|error| TraceError::File {
        path: path(),
        error,
    })
}

/// The session that a record names.
fn session_of(record: &Record<'_>) -> u64 {
    match record {
        Record::SessionOpened(it) => it.session,
        Record::Call(it) => it.session,
        Record::Ended(it) => it.session,
        Record::SessionClosed(it) => it.session,
        Record::Device(it) => it.session,
        Record::Posted(it) => it.session,
    }
}

/// A file, read from some place on.
#[derive(Debug)]
pub struct At<'f> {
    file: &'f File,
    at: u64,
}

impl Read for At<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(out, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// The sessions' numbers in the file, and in the order in which they were opened.
#[derive(Debug, Default)]
struct Numbers {
    of: HashMap<u64, u64>,
    processes: Vec<u32>,
}

impl Numbers {
    /// One more.
    fn open(&mut self, opened: &SessionOpened, path: &Path) -> Result<u64, TraceError> {
        let path = || path.to_path_buf();
        if self.processes.len() == SESSIONS_MAX {
            return Err(TraceError::Sessions { path: path() });
        }
        self.processes.push(opened.process);
        let (session, number) = (opened.session, self.processes.len() as u64);
        match self.of.insert(session, number) {
            None => Ok(number),
            Some(_) => Err(TraceError::Repeated {
                path: path(),
                session,
            }),
        }
    }

    fn of(&self, session: u64) -> u64 {
        self.of.get(&session).copied().unwrap_or(0)
    }
}
