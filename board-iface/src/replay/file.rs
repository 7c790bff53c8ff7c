//! A recording on disk: its records' heads in memory, its payloads in the
//! file.

use super::ReplayError;
use super::read;
use gil_files::container::{
    self, Again, FileError, HEADER_LEN, Prefix, ReadError, Stored, Sum, Unknown,
};
use gil_files::recording::{self, Costs, Device, Ended, FILE, Record, SessionOpened};
use gil_wire::api::Described;
use gil_wire::choice::Together;
use gil_wire::identity::DeviceIdentity;
use gil_wire::message::{Posted, Report};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes read at a time.
const CHUNK: usize = 256 << 10;

/// A recording.
#[derive(Debug)]
pub struct Recording {
    /// The file.
    pub path: PathBuf,
    /// In the order in which they were opened.
    pub sessions: Vec<RecordedSession>,
    rest: Option<Rest>,
    file: Held,
}

/// The file, which no run replaces meanwhile where its file system has locks.
#[derive(Debug)]
enum Held {
    Locked(Flock<File>),
    Free(File),
}

impl Held {
    fn file(&self) -> &File {
        match self {
            Self::Locked(file) => file,
            Self::Free(file) => file,
        }
    }
}

/// What is behind the last whole record.
#[derive(Debug, thiserror::Error)]
#[error(
    "the recording's last {bytes} bytes cannot be read ({why}): record the run again, or copy the file again"
)]
struct Rest {
    bytes: u64,
    why: ReadError,
}

/// A recorded session.
#[derive(Debug)]
pub struct RecordedSession {
    /// Width of the program's pointers.
    pub pointer_bits: u32,
    /// The APIs that its board was for.
    pub apis: Vec<Described>,
    /// Its calls in order.
    pub calls: Vec<Recorded>,
    /// The threads that made them.
    pub threads: BTreeSet<u32>,
    /// What posts took, for the next call that is answered: with its place among them.
    posted: HashMap<usize, Vec<Posted>>,
    /// How operations ended that were awaited, by event.
    pub ended: HashMap<u64, RecordedEnd>,
    /// What was known of devices, by API and number.
    pub devices: HashMap<(u16, u64), Option<DeviceIdentity>>,
}

/// How an operation ended that was awaited.
#[derive(Debug)]
pub struct RecordedEnd {
    /// The report.
    pub report: Report,
    /// Its output; its text follows.
    pub payload: Place,
}

/// A recorded call.
#[derive(Debug)]
pub struct Recorded {
    stored: Stored,
    at: u64,
}

/// The place of a record's payload in the file.
#[derive(Debug)]
pub struct Place {
    prefix: Prefix,
    sum: Sum,
    at: u64,
}

impl Place {
    fn of(stored: &Stored, at: u64) -> Self {
        Self {
            prefix: *stored.prefix(),
            sum: stored.sum(),
            at,
        }
    }
}

impl RecordedSession {
    /// Whether its board was for one of these APIs, or nothing is said of them.
    pub fn is_for(&self, apis: &[Together]) -> bool {
        let mut numbers = self.apis.iter().map(|api| api.number);
        apis.is_empty() || numbers.any(|number| apis.iter().any(|it| it.has(number)))
    }

    /// What posts took, as the answer to call `place` says.
    pub fn posted(&self, place: usize) -> Vec<Posted> {
        self.posted.get(&place).cloned().unwrap_or_default()
    }
}

impl Recorded {
    /// What was called and answered.
    ///
    /// # Errors
    /// Never for what [`Recording::open`] took in.
    pub fn head(&self) -> Result<recording::Called<'_>, FileError> {
        match recording::record(&self.stored)? {
            Some(Record::Call(call)) => Ok(call),
            _ => Err(FileError::Newer(Unknown::Kind(self.stored.prefix().kind))),
        }
    }

    /// Its payload.
    pub fn payload(&self) -> Place {
        Place::of(&self.stored, self.at)
    }
}

impl Recording {
    /// Reads all records' heads and checks all checksums.
    ///
    /// # Errors
    /// [`ReplayError`]; a damaged record ends the recording with a warning.
    pub fn open(path: &Path) -> Result<Self, ReplayError> {
        let fail = |source| ReplayError::Io {
            path: path.into(),
            source,
        };
        let refuse = |error| ReplayError::File {
            path: path.into(),
            error,
        };
        let file = File::open(path).map_err(fail)?;
        let meta = file.metadata().map_err(fail)?;
        if !meta.is_file() {
            let path = path.into();
            return Err(ReplayError::NoFile { path });
        }
        let file = hold(file).ok_or_else(|| ReplayError::Written { path: path.into() })?;
        let total = file.file().metadata().map_err(fail)?.len();
        if total == 0 {
            return Err(refuse(FileError::Empty));
        }
        let mut reader = BufReader::with_capacity(CHUNK, file.file());
        let mut header = [0; HEADER_LEN];
        if total < HEADER_LEN as u64 {
            return Err(refuse(FileError::Short));
        }
        let _ = reader.read_exact(&mut header);
        FILE.check_header(&header).map_err(refuse)?;
        let (sessions, rest) = read_sessions(&mut reader, total).map_err(|error| match error {
            ReadError::Io(source) => fail(source),
            ReadError::File(error) => refuse(error),
            ReadError::Cut => fail(io::ErrorKind::UnexpectedEof.into()),
        })?;
        let path = path.into();
        if let Some(session) = sessions.repeated {
            return Err(ReplayError::Repeated { path, session });
        }
        let sessions = sessions.all;
        Ok(Self {
            path,
            sessions,
            rest,
            file,
        })
    }

    /// Why it ends before the file does, if it does, and what to do.
    pub fn rest_in_words(&self) -> Option<String> {
        self.rest.as_ref().map(Rest::to_string)
    }

    /// A record's payload, from its first byte. What was read of it is known to be what was
    /// recorded once it is [checked](Self::check).
    ///
    /// # Errors
    /// [`FileError::Newer`], never for what [`Recording::open`] took in.
    pub fn payload(&self, place: &Place) -> Result<Again<At<'_>>, FileError> {
        let from = At {
            file: self.file.file(),
            at: place.at,
        };
        Again::of(&place.prefix, place.sum.clone(), from)
    }

    /// Checks that a payload is still what it was when the recording was opened.
    ///
    /// # Errors
    /// [`read::ReadError::Changed`]; the system's.
    pub fn check(&self, payload: Again<At<'_>>) -> Result<(), read::ReadError> {
        payload.check().map_err(|error| match error {
            ReadError::Io(error) => error.into(),
            ReadError::Cut | ReadError::File(_) => {
                let path = self.path.clone();
                read::ReadError::Changed { path }
            }
        })
    }
}

/// Locks it against runs that write to it, on a file system that has locks; `None` if one
/// does.
fn hold(file: File) -> Option<Held> {
    match Flock::lock(file, FlockArg::LockSharedNonblock) {
        Ok(file) => Some(Held::Locked(file)),
        Err((_, Errno::EWOULDBLOCK)) => None,
        Err((file, _)) => Some(Held::Free(file)),
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

/// Reads records until one is not whole. One that only a newer gil knows is an
/// error: what comes behind it cannot be answered right.
fn read_sessions(
    reader: &mut impl Read,
    total: u64,
) -> Result<(Sessions, Option<Rest>), ReadError> {
    let mut rest = None;
    let mut sessions = Sessions::default();
    let mut at = HEADER_LEN as u64;
    loop {
        match next(reader, &mut sessions, at) {
            Ok(Some(end)) => at = end,
            Ok(None) => break,
            Err(error @ (ReadError::Io(_) | ReadError::File(FileError::Newer(_)))) => {
                return Err(error);
            }
            Err(tail) => {
                let bytes = total.saturating_sub(at);
                tracing::warn!("the recording's last {bytes} bytes are ignored: {tail}");
                rest = Some(Rest { bytes, why: tail });
                break;
            }
        }
    }
    Ok((sessions, rest))
}

/// Adds the record at `at`, and says where it ends; `None` at the file's end.
fn next(
    reader: &mut impl Read,
    sessions: &mut Sessions,
    at: u64,
) -> Result<Option<u64>, ReadError> {
    let Some(stored) = container::read(reader, &mut io::sink())? else {
        return Ok(None);
    };
    let end = at + stored.prefix().record_len();
    let payload = end - stored.prefix().stored_len;
    sessions.add(stored, payload)?;
    Ok(Some(end))
}

/// Sorts records into sessions by the recording's numbers.
#[derive(Default)]
struct Sessions {
    all: Vec<RecordedSession>,
    places: HashMap<u64, usize>,
    /// A number that two of them have.
    repeated: Option<u64>,
}

impl Sessions {
    fn add(&mut self, stored: Stored, at: u64) -> Result<(), FileError> {
        let (session, thread) = match recording::record(&stored)? {
            Some(Record::SessionOpened(opened)) => {
                self.open(opened);
                return Ok(());
            }
            Some(Record::Ended(ended)) => {
                let place = Place::of(&stored, at);
                self.end(ended, place);
                return Ok(());
            }
            Some(Record::Device(device)) => {
                self.device(device);
                return Ok(());
            }
            Some(Record::Posted(costs)) => {
                self.posted(costs);
                return Ok(());
            }
            Some(Record::Call(call)) => (call.session, call.call.thread),
            Some(Record::SessionClosed(_)) | None => return Ok(()),
        };
        match self.places.get(&session) {
            Some(place) => {
                let session = &mut self.all[*place];
                session.threads.insert(thread);
                session.calls.push(Recorded { stored, at });
            }
            None => tracing::warn!("the recording has a call of session {session}, never opened"),
        }
        Ok(())
    }

    fn end(&mut self, ended: Ended, payload: Place) {
        if let Some(place) = self.places.get(&ended.session) {
            let report = ended.report;
            let end = RecordedEnd { report, payload };
            self.all[*place].ended.insert(end.report.event, end);
        }
    }

    fn device(&mut self, device: Device) {
        if let Some(place) = self.places.get(&device.session) {
            let key = (device.api, device.device);
            self.all[*place].devices.insert(key, device.identity);
        }
    }

    /// The call that says so is recorded next.
    fn posted(&mut self, costs: Costs) {
        if let Some(place) = self.places.get(&costs.session) {
            let session = &mut self.all[*place];
            session.posted.insert(session.calls.len(), costs.posted);
        }
    }

    fn open(&mut self, opened: SessionOpened) {
        let earlier = self.places.insert(opened.session, self.all.len());
        self.repeated = self.repeated.or(earlier.map(|_| opened.session));
        self.all.push(RecordedSession {
            pointer_bits: opened.pointer_bits,
            apis: opened.apis,
            calls: Vec::new(),
            threads: BTreeSet::new(),
            posted: HashMap::new(),
            ended: HashMap::new(),
            devices: HashMap::new(),
        });
    }
}
