//! A recording on disk: its records' heads in memory, its payloads in the
//! file.

use super::ReplayError;
use gil_files::recording::{self, HEADER_LEN, PREFIX_LEN, Prefix, Record, TraceError};
use gil_wire::api::Described;
use gil_wire::message::Report;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes compared or summed at a time.
const CHUNK: usize = 256 << 10;

/// A recording.
#[derive(Debug)]
pub struct Recording {
    /// The file.
    pub path: PathBuf,
    /// In the order in which they were opened.
    pub sessions: Vec<RecordedSession>,
    file: File,
}

/// A recorded session.
#[derive(Debug)]
pub struct RecordedSession {
    /// Width of the program's pointers.
    pub pointer_bits: u32,
    /// What the board served.
    pub apis: Vec<Described>,
    /// Its calls in order.
    pub calls: Vec<Recorded>,
    /// How operations ended that were awaited, by event.
    pub ended: HashMap<u64, RecordedEnd>,
}

/// How an operation ended that was awaited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedEnd {
    /// The report.
    pub report: Report,
    /// Offset of its output; its text follows.
    pub payload: u64,
}

/// A recorded call.
#[derive(Debug)]
pub struct Recorded {
    prefix: Prefix,
    head: Vec<u8>,
    /// Offset of its payload.
    pub payload: u64,
}

impl Recorded {
    /// What was called and answered.
    ///
    /// # Errors
    /// Never for what [`Recording::open`] took in.
    pub fn head(&self) -> Result<recording::Call<'_>, TraceError> {
        match recording::head(self.prefix, &self.head)? {
            Record::Call(call) => Ok(call),
            _ => Err(TraceError::Decode(postcard::Error::SerdeDeCustom)),
        }
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
        let file = File::open(path).map_err(fail)?;
        let total = file.metadata().map_err(fail)?.len();
        let mut reader = BufReader::with_capacity(CHUNK, &file);
        let mut header = [0; HEADER_LEN];
        // A file that is shorter than a header has another magic.
        let _ = reader.read_exact(&mut header);
        recording::check_header(&header).map_err(|error| ReplayError::Header {
            path: path.into(),
            error,
        })?;
        let sessions = read_sessions(&mut reader, total).map_err(fail)?;
        let path = path.into();
        Ok(Self {
            path,
            sessions,
            file,
        })
    }

    /// Reads bytes of a payload.
    ///
    /// # Errors
    /// The system's; also if the file was cut since it was opened.
    pub fn read(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(out, at)
    }

    /// Whether the bytes at `at` are these.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn equals(&self, mut at: u64, bytes: &[u8]) -> io::Result<bool> {
        let mut chunk = vec![0; CHUNK.min(bytes.len())];
        for piece in bytes.chunks(CHUNK) {
            let chunk = &mut chunk[..piece.len()];
            self.read(at, chunk)?;
            if chunk != piece {
                return Ok(false);
            }
            at += piece.len() as u64;
        }
        Ok(true)
    }
}

/// Why the records end before the file does.
#[derive(Debug, thiserror::Error)]
enum Tail {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Damaged(#[from] TraceError),
}

fn read_sessions(reader: &mut impl Read, total: u64) -> io::Result<Vec<RecordedSession>> {
    let mut sessions = Sessions::default();
    let mut at = HEADER_LEN as u64;
    while at < total {
        match read_record(reader, at, total) {
            Ok(record) => {
                at = record.payload + record.prefix.payload_len;
                sessions.add(record);
            }
            Err(Tail::Io(error)) if error.kind() != io::ErrorKind::UnexpectedEof => {
                return Err(error);
            }
            Err(tail) => {
                let left = total - at;
                tracing::warn!("the recording's last {left} bytes are ignored: {tail}");
                break;
            }
        }
    }
    Ok(sessions.all)
}

fn read_record(reader: &mut impl Read, at: u64, total: u64) -> Result<Recorded, Tail> {
    let mut bytes = [0; PREFIX_LEN];
    reader.read_exact(&mut bytes)?;
    let prefix = Prefix::decode(&bytes)?;
    let payload = at + PREFIX_LEN as u64 + u64::from(prefix.head_len);
    if payload + prefix.payload_len > total {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    let mut head = vec![0; prefix.head_len as usize];
    reader.read_exact(&mut head)?;
    let mut checksum = prefix.checksum();
    checksum.update(&head);
    let mut left = prefix.payload_len;
    let mut chunk = vec![0; CHUNK.min(left as usize)];
    while left > 0 {
        let step = left.min(CHUNK as u64);
        let chunk = &mut chunk[..step as usize];
        reader.read_exact(chunk)?;
        checksum.update(chunk);
        left -= step;
    }
    checksum.check(prefix)?;
    recording::head(prefix, &head)?;
    Ok(Recorded {
        prefix,
        head,
        payload,
    })
}

/// Sorts records into sessions by the recording's numbers.
#[derive(Default)]
struct Sessions {
    all: Vec<RecordedSession>,
    places: HashMap<u64, usize>,
}

impl Sessions {
    fn add(&mut self, recorded: Recorded) {
        let session = match recording::head(recorded.prefix, &recorded.head) {
            Ok(Record::SessionOpened {
                session,
                pointer_bits,
                apis,
                ..
            }) => return self.open(session, pointer_bits, apis),
            Ok(Record::Call(call)) => call.session,
            Ok(Record::Ended {
                session, report, ..
            }) => return self.end(session, report, recorded.payload),
            _ => return,
        };
        match self.places.get(&session) {
            Some(place) => self.all[*place].calls.push(recorded),
            None => tracing::warn!("the recording has a call of session {session}, never opened"),
        }
    }

    fn end(&mut self, session: u64, report: Report, payload: u64) {
        if let Some(place) = self.places.get(&session) {
            let end = RecordedEnd { report, payload };
            self.all[*place].ended.insert(end.report.event, end);
        }
    }

    fn open(&mut self, session: u64, pointer_bits: u32, apis: Vec<Described>) {
        self.places.insert(session, self.all.len());
        self.all.push(RecordedSession {
            pointer_bits,
            apis,
            calls: Vec::new(),
            ended: HashMap::new(),
        });
    }
}
