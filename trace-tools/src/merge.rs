//! `gil trace merge`: several recordings as one, of runs that follow each other.
//!
//! A replay serves the n-th session that is opened with the n-th of the recording. So the
//! sessions of the second recording come behind those of the first, as they would had one
//! board served both runs, and get the next numbers. Payloads are copied as they are.

use crate::lock::{self, InUse};
use crate::text::api_name;
use crate::trace::Entry;
use crate::{Trace, TraceError, same};
use gil_files::container::HEADER_LEN;
use gil_files::recording::{FILE, Record};
use gil_wire::description::Hash;
use nix::fcntl::Flock;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// What was merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Sessions of the new recording.
    pub sessions: u64,
    /// Records of the new recording.
    pub records: u64,
}

/// The same into a file. One that is there is replaced once the new one is whole, and stays if
/// that cannot be written, where a file can be made beside it; otherwise it is written in its
/// place. What is not whole is removed.
///
/// # Errors
/// As [`merge`]; also if the file is one of those that are read, or somebody else has it.
pub fn merge_into(traces: &mut [Trace], out: &Path) -> Result<Merged, TraceError> {
    let there = std::fs::metadata(out).ok();
    if let Some(there) = &there
        && traces.iter().any(|trace| trace.is_file(there))
    {
        return Err(TraceError::Same { path: out.into() });
    }
    if !may_be_replaced(out) {
        return Err(TraceError::NotReplaced { path: out.into() });
    }
    let mut file = Replaced::new(out)?;
    let merged = merge(traces, &mut file);
    if file.is_in_use {
        return Err(TraceError::Taken { path: out.into() });
    }
    // A pipe's reader may go.
    let failed = |error: TraceError| match error {
        TraceError::Output(source) if source.kind() != io::ErrorKind::BrokenPipe => {
            TraceError::Out {
                path: out.into(),
                source,
            }
        }
        error => error,
    };
    let merged = merged.map_err(failed)?;
    file.finish().map_err(TraceError::Output).map_err(failed)?;
    Ok(merged)
}

/// Whether there is nothing of another kind that the user may need: what cannot be read is not
/// known for that.
fn may_be_replaced(out: &Path) -> bool {
    let is_file = std::fs::metadata(out).is_ok_and(|it| it.is_file());
    let magic = gil_files::recording::FILE.magic;
    let mut begin = Vec::new();
    if is_file && let Ok(file) = File::open(out) {
        let _ = file.take(magic.len() as u64).read_to_end(&mut begin);
    }
    magic.starts_with(&begin)
}

/// A file that is made with the first byte, and is nobody else's meanwhile.
struct Replaced<'p> {
    path: &'p Path,
    file: Option<BufWriter<File>>,
    /// Where it is until it takes the place of the one that was there, which is there.
    beside: Option<(TempPath, PathBuf)>,
    /// What is no whole recording yet, and would pass for one of less.
    unfinished: Option<PathBuf>,
    /// Of one that was there, from the beginning.
    lock: Option<Flock<File>>,
    /// Whether somebody else has made it since.
    is_in_use: bool,
}

impl<'p> Replaced<'p> {
    fn new(path: &'p Path) -> Result<Self, TraceError> {
        let is_file = std::fs::metadata(path).is_ok_and(|it| it.is_file());
        // What cannot be written is found out with the first byte.
        let file = File::options().write(true).open(path).ok();
        let lock = match file.filter(|_| is_file) {
            Some(file) => lock::take(file),
            None => Ok(None),
        };
        Ok(Self {
            path,
            file: None,
            beside: None,
            unfinished: None,
            lock: lock.map_err(|InUse| TraceError::Taken { path: path.into() })?,
            is_in_use: false,
        })
    }

    fn begin(&mut self) -> io::Result<File> {
        if self.lock.is_some()
            && let Ok(earlier) = std::fs::metadata(self.path)
            && let Ok(path) = std::fs::canonicalize(self.path)
            && let Some(folder) = path.parent()
            && earlier.nlink() == 1
            && let Ok(new) = tempfile::NamedTempFile::new_in(folder)
        {
            let (new, beside) = new.into_parts();
            new.set_permissions(earlier.permissions())?;
            // A link stays, and leads to the new one.
            self.beside = Some((beside, path));
            return Ok(new);
        }
        let mut options = File::options();
        // As a run's: what programs sent is in it.
        let file = options.write(true).create(true).truncate(false).mode(0o600);
        let file = file.open(self.path)?;
        if !file.metadata()?.is_file() {
            return Ok(file);
        }
        if self.lock.is_none() {
            let lock = lock::take(file.try_clone()?);
            // Another one that could not write it has removed it.
            self.is_in_use = lock.is_err() || file.metadata()?.nlink() == 0;
            if self.is_in_use {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            self.lock = lock.unwrap_or_default();
        }
        file.set_len(0)?;
        self.unfinished = Some(self.path.into());
        Ok(file)
    }

    /// It is whole.
    fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        if let Some((beside, path)) = self.beside.take() {
            beside.persist(path)?;
        }
        self.unfinished = None;
        Ok(())
    }
}

impl Drop for Replaced<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.unfinished.take() {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Write for Replaced<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.file.is_none() {
            self.file = Some(BufWriter::new(self.begin()?));
        }
        self.file.as_mut().map_or(Ok(0), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// Writes recordings as one, in their order. Nothing is written if one of them cannot be
/// merged.
///
/// # Errors
/// [`TraceError`]: of one of them, also if its end is not whole, or of what is written.
pub fn merge(traces: &mut [Trace], to: &mut dyn Write) -> Result<Merged, TraceError> {
    let mut descriptions = Descriptions::default();
    for trace in traces.iter_mut() {
        descriptions.check(trace)?;
    }
    let mut merged = Merged::default();
    to.write_all(&FILE.header()).map_err(TraceError::Output)?;
    for trace in traces.iter() {
        add(trace, &|_| true, &mut merged, to)?;
    }
    to.flush().map_err(TraceError::Output)?;
    Ok(merged)
}

/// The description of each API, and where it was seen first.
#[derive(Default)]
struct Descriptions {
    of: HashMap<u16, (Hash, String)>,
    sessions: usize,
}

impl Descriptions {
    /// Reads a recording to its end.
    fn check(&mut self, trace: &mut Trace) -> Result<(), TraceError> {
        trace.check_regular()?;
        trace.check_unwritten()?;
        trace.each(|trace, entry, record| match record {
            Record::SessionOpened(opened) => {
                self.sessions += 1;
                let apis = opened.apis.iter();
                let mut pairs = apis.map(|api| (api.number, api.hash));
                pairs.try_for_each(|(number, hash)| self.add(trace, entry, number, hash))
            }
            _ => Ok(()),
        })?;
        trace.check_whole()?;
        match self.sessions <= crate::trace::SESSIONS_MAX {
            true => Ok(()),
            false => Err(TraceError::Sessions {
                path: trace.path().into(),
            }),
        }
    }

    fn add(
        &mut self,
        trace: &Trace,
        entry: &Entry,
        number: u16,
        hash: Hash,
    ) -> Result<(), TraceError> {
        let session = entry.session;
        let here = format!("session {session} of {}", trace.path().display());
        let (first, there) = self
            .of
            .entry(number)
            .or_insert_with(|| (hash, here.clone()));
        match *first == hash {
            true => Ok(()),
            false => Err(TraceError::Descriptions {
                api: api_name(number),
                here,
                there: there.clone(),
            }),
        }
    }
}

/// Writes a run's recording, and behind it the sessions of the one that it answered from, but
/// for those that the run repeated: replays find each by what differs first. Whether there was
/// anything new in the run; if not, nothing is written.
///
/// # Errors
/// [`TraceError`], as [`merge`].
pub fn add_run(run: &Path, replayed: &Path, out: &Path) -> Result<bool, TraceError> {
    // Records are read once more below, by what was learnt of sessions here.
    let (mut run, mut replayed) = (Trace::open(run)?, Trace::open(replayed)?);
    replayed.check_unwritten()?;
    let (new, old) = (same::sums(&mut run)?, same::sums(&mut replayed)?);
    let is_in = |all: &BTreeMap<u64, u64>, sum: &u64| all.values().any(|it| it == sum);
    if new.values().all(|sum| is_in(&old, sum)) {
        return Ok(false);
    }
    let mut to = BufWriter::new(File::create(out).map_err(TraceError::Output)?);
    to.write_all(&FILE.header()).map_err(TraceError::Output)?;
    let mut merged = Merged::default();
    add(&run, &|_| true, &mut merged, &mut to)?;
    let is_other = |session| old.get(&session).is_some_and(|sum| !is_in(&new, sum));
    add(&replayed, &is_other, &mut merged, &mut to)?;
    to.flush().map_err(TraceError::Output)?;
    Ok(true)
}

/// Adds one recording's records, of these sessions.
fn add(
    trace: &Trace,
    is_wanted: &dyn Fn(u64) -> bool,
    merged: &mut Merged,
    to: &mut dyn Write,
) -> Result<(), TraceError> {
    let mut numbers = HashMap::new();
    let mut records = trace.records_from(1, HEADER_LEN as u64)?;
    while let Some(entry) = records.next_entry()? {
        let Ok(mut record) = entry.record() else {
            continue;
        };
        if matches!(record, Record::SessionOpened(_)) && is_wanted(entry.session) {
            merged.sessions += 1;
            numbers.insert(entry.session, merged.sessions);
        }
        // What is of no session was of no use in its own recording, either.
        if let Some(number) = numbers.get(&entry.session) {
            renumber(&mut record, *number);
            write(trace, &entry, &record, to)?;
            merged.records += 1;
        }
    }
    Ok(())
}

fn write(
    trace: &Trace,
    entry: &Entry,
    record: &Record<'_>,
    to: &mut dyn Write,
) -> Result<(), TraceError> {
    let front = trace.with_head(entry, record)?;
    to.write_all(&front).map_err(TraceError::Output)?;
    let mut payload = trace.stored(entry)?;
    let copied = io::copy(&mut payload, to);
    copied.map(drop).map_err(TraceError::Output)
}

fn renumber(record: &mut Record<'_>, number: u64) {
    let session = match record {
        Record::SessionOpened(it) => &mut it.session,
        Record::Call(it) => &mut it.session,
        Record::Ended(it) => &mut it.session,
        Record::SessionClosed(it) => &mut it.session,
        Record::Device(it) => &mut it.session,
        Record::Posted(it) => &mut it.session,
    };
    *session = number;
}
