//! Writes the log of calls (`--calls`): rows are collected while doorbells are served, and
//! a thread of its own encodes and writes them, so that a doorbell waits for no disk. What
//! is in memory is bounded; a run that dies loses the rows of its last [`PATIENCE`] at most.

use crate::replaced::{self, NotBegun};
use foldhash::HashMap;
use gil_files::calls::{
    Begun, Encoder, FILE, Finished, LABELS_MAX, Labels, Mapped, ROWS_MAX, Record, Row, plain,
};
use gil_files::container::FileError;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Rows of a block, unless time is up before.
const BLOCK_ROWS: usize = 8192;
/// Most rows that wait to be written: some 50 MiB.
const WAITING_MAX: usize = 1 << 18;
/// Most lists of mapped files that wait to be written.
const NAMED_MAX: usize = 1 << 12;
/// Longest time that a row waits to be written.
const PATIENCE: Duration = Duration::from_millis(500);
/// Longest time that a doorbell waits for a disk that takes rows more slowly than they
/// come. The log ends then.
const STALL: Duration = Duration::from_secs(10);

const _: () = assert!(BLOCK_ROWS <= ROWS_MAX);

/// A log of calls being written.
#[derive(Debug)]
pub struct CallLog {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
    /// Numbers of labels.
    labels: HashMap<String, u32>,
    has_rows: bool,
}

#[derive(Debug)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// There is something to write, or room.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    /// What rows name, which is written before them.
    named: Vec<Record>,
    rows: Vec<Row>,
    end: End,
    failed: Option<CallLogError>,
}

#[derive(Clone, Copy, Debug, Default)]
enum End {
    /// More rows may come.
    #[default]
    Open,
    /// None will, and nobody said how the run ended.
    Dropped,
    /// The run ended.
    Finished(Finished),
}

/// A log of calls that cannot be written. It ends with the rows before.
#[derive(Debug, thiserror::Error)]
pub enum CallLogError {
    /// The file.
    #[error("cannot write the log of calls {}: {error}: it is short, and has the calls before; make room and run again, or leave out --calls", path.display())]
    File {
        /// Its name.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// Something else is there by now.
    #[error("the calls are not logged: something that is no log of calls was put into {} since the run began, and stays; name another file with --calls", .0.display())]
    Other(PathBuf),
    /// The disk is slow.
    #[error(
        "the log of calls is short, and has the calls before: its disk takes fewer calls than the program makes; name a file on another with --calls, or leave it out"
    )]
    Slow,
    /// A block that a reader would refuse.
    #[error("the log of calls is short: {0}")]
    Block(#[from] FileError),
    /// No thread.
    #[error("the log of calls has no thread to write it: {0}")]
    Thread(io::Error),
}

impl CallLog {
    /// Opens the file of a log. What it contains stays until there is a row or the log is
    /// finished: a run may not get so far.
    ///
    /// # Errors
    /// [`CallLogError`].
    pub fn create(path: &Path, simulator: &str) -> Result<Self, CallLogError> {
        // Whoever gave a link wants to read of the file.
        let target = std::fs::read_link(path);
        let path = target.unwrap_or_else(|_| path.into());
        let begun = Record::Begun(Begun {
            gil: env!("CARGO_PKG_VERSION").into(),
            simulator: simulator.into(),
        });
        let first = [&FILE.header()[..], &plain(&begun)?].concat();
        let opened = replaced::open(&path, &first);
        let (file, is_begun) = opened.map_err(|error| CallLogError::File {
            path: path.clone(),
            error,
        })?;
        let shared = Arc::new(Shared {
            waiting: Mutex::default(),
            changed: Condvar::new(),
        });
        let mut writer = Writer {
            path,
            file,
            first: (!is_begun).then_some(first),
            encoder: Encoder::default(),
            written: 0,
            shared: shared.clone(),
        };
        let thread = std::thread::Builder::new().name("gil-calls".into());
        let writer = thread.spawn(move || writer.run());
        Ok(Self {
            shared,
            writer: Some(writer.map_err(CallLogError::Thread)?),
            labels: HashMap::default(),
            has_rows: false,
        })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`CallLogError`] of rows before; nothing more will be written.
    pub fn push(&mut self, row: Row) -> Result<(), CallLogError> {
        let mut waiting = self.shared.lock();
        if waiting.rows.len() >= WAITING_MAX {
            waiting = self.shared.with_room(waiting);
            if waiting.rows.len() >= WAITING_MAX && waiting.failed.is_none() {
                waiting.end = End::Dropped;
                // Nobody waits for it: its disk may take for ever.
                self.writer = None;
                return Err(CallLogError::Slow);
            }
        }
        if let Some(error) = waiting.failed.take() {
            return Err(error);
        }
        self.has_rows = true;
        waiting.rows.push(row);
        if waiting.rows.len() == BLOCK_ROWS {
            self.shared.changed.notify_all();
        }
        Ok(())
    }

    /// Whether a row was added.
    pub fn has_rows(&self) -> bool {
        self.has_rows
    }

    /// A label's number, for rows that are added later; 0 if there are too many.
    pub fn label(&mut self, text: &str) -> u32 {
        if let Some(number) = self.labels.get(text) {
            return *number;
        }
        if self.labels.len() >= LABELS_MAX {
            return 0;
        }
        let number = self.labels.len() as u32 + 1;
        self.labels.insert(text.into(), number);
        let labels = vec![(number, text.into())];
        let named = &mut self.shared.lock().named;
        match named.last_mut() {
            Some(Record::Labels(last)) => last.labels.extend(labels),
            _ => named.push(Record::Labels(Labels { labels })),
        }
        number
    }

    /// Adds what a process mapped to execute. Left out if the disk is slow, and a process
    /// says this all the time.
    pub fn mapped(&mut self, mapped: Mapped) {
        let named = &mut self.shared.lock().named;
        if named.len() < NAMED_MAX {
            named.push(Record::Mapped(mapped));
        }
    }

    /// Ends the log. Returns once the file has all of it.
    ///
    /// # Errors
    /// [`CallLogError`] if it has not.
    pub fn finish(mut self, finished: Finished) -> Result<(), CallLogError> {
        self.end(End::Finished(finished));
        match self.shared.lock().failed.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn end(&mut self, end: End) {
        let Some(writer) = self.writer.take() else {
            return;
        };
        self.shared.lock().end = end;
        self.shared.changed.notify_all();
        // What it panicked for is no concern of the run's.
        let _ = writer.join();
    }
}

impl Drop for CallLog {
    fn drop(&mut self) {
        self.end(End::Dropped);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is room, or no longer.
    fn with_room<'a>(&'a self, waiting: MutexGuard<'a, Waiting>) -> MutexGuard<'a, Waiting> {
        let is_full = |it: &mut Waiting| it.rows.len() >= WAITING_MAX && it.failed.is_none();
        let waited = self.changed.wait_timeout_while(waiting, STALL, is_full);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// The thread's.
struct Writer {
    path: PathBuf,
    file: File,
    /// What the log begins with, until it is begun.
    first: Option<Vec<u8>>,
    encoder: Encoder,
    written: u64,
    shared: Arc<Shared>,
}

impl Writer {
    fn run(&mut self) {
        if let Err(error) = self.write_all() {
            self.shared.lock().failed = Some(error);
            self.shared.changed.notify_all();
        }
    }

    fn write_all(&mut self) -> Result<(), CallLogError> {
        let mut rows = Vec::with_capacity(BLOCK_ROWS);
        let mut named = Vec::new();
        loop {
            rows.clear();
            let end = self.next(&mut named, &mut rows);
            for record in named.drain(..) {
                self.write(&plain(&record)?)?;
            }
            for block in rows.chunks(BLOCK_ROWS) {
                let bytes = self.encoder.block(block)?;
                self.write(&bytes)?;
                self.written += block.len() as u64;
            }
            match end {
                End::Open => {}
                End::Dropped => return Ok(()),
                End::Finished(finished) => {
                    let rows = self.written;
                    let last = Record::Finished(Finished { rows, ..finished });
                    return self.write(&plain(&last)?);
                }
            }
        }
    }

    /// Takes the rows that wait, once there is a block of them or time is up.
    fn next(&self, named: &mut Vec<Record>, rows: &mut Vec<Row>) -> End {
        let waits = |it: &mut Waiting| it.rows.len() < BLOCK_ROWS && matches!(it.end, End::Open);
        let changed = &self.shared.changed;
        let waited = changed.wait_timeout_while(self.shared.lock(), PATIENCE, waits);
        let (mut waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut waiting.rows, rows);
        std::mem::swap(&mut waiting.named, named);
        let end = waiting.end;
        drop(waiting);
        changed.notify_all();
        end
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), CallLogError> {
        let begun = match self.first.take() {
            Some(first) => replaced::begin(&mut self.file, &FILE, &first),
            None => Ok(()),
        };
        let written = begun.and_then(|()| Ok(self.file.write_all(bytes)?));
        written.map_err(|error| {
            let path = self.path.clone();
            match error {
                NotBegun::Io(error) => CallLogError::File { path, error },
                NotBegun::Other => CallLogError::Other(path),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_files::calls::Reader;
    use gil_wire::Op;
    use gil_wire::envelope::Class;

    fn row(seq: u64) -> Row {
        Row {
            seq,
            ..Row::of(Class::Sync, Op::new(1, 1))
        }
    }

    fn read(path: &Path) -> (Vec<u64>, bool) {
        let mut reader = Reader::new(File::open(path).unwrap()).unwrap();
        let mut seqs = Vec::new();
        while let Some(rows) = reader.rows().unwrap() {
            seqs.extend(rows.iter().map(|row| row.seq));
        }
        (seqs, reader.finished().is_some())
    }

    #[test]
    fn all_rows_are_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls");
        let mut log = CallLog::create(&path, "test").unwrap();
        let count = 3 * BLOCK_ROWS as u64 + 5;
        (0..count).for_each(|seq| log.push(row(seq)).unwrap());
        log.finish(Finished::default()).unwrap();
        assert_eq!(read(&path), ((0..count).collect(), true));
    }

    #[test]
    fn rows_are_written_while_the_run_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls");
        let mut log = CallLog::create(&path, "test").unwrap();
        log.push(row(1)).unwrap();
        std::thread::sleep(3 * PATIENCE);
        assert_eq!(read(&path), (vec![1], false));
        log.push(row(2)).unwrap();
        drop(log);
        assert_eq!(read(&path), (vec![1, 2], false));
    }

    #[test]
    fn an_earlier_file_stays_until_there_is_a_row() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls");
        let earlier = [&FILE.header()[..], &[b'x'; 10_000]].concat();
        std::fs::write(&path, &earlier).unwrap();
        drop(CallLog::create(&path, "test").unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), earlier);
        let mut log = CallLog::create(&path, "test").unwrap();
        log.push(row(1)).unwrap();
        drop(log);
        assert_eq!(read(&path), (vec![1], false));
    }

    #[test]
    fn what_rows_name_is_in_front_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls");
        let mut log = CallLog::create(&path, "test").unwrap();
        let labels = ["square", "sum", "square"].map(|text| log.label(text));
        assert_eq!(labels, [1, 2, 1]);
        let label = 2;
        log.push(Row { label, ..row(1) }).unwrap();
        log.finish(Finished::default()).unwrap();
        let mut reader = Reader::new(File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.rows().unwrap().unwrap()[0].label, label);
        assert_eq!(reader.label(label), Some("sum"));
        assert_eq!(reader.label(3), None);
    }

    #[test]
    fn a_full_disk_is_named_by_the_file_behind_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("calls");
        std::os::unix::fs::symlink("/dev/full", &link).unwrap();
        let error = CallLog::create(&link, "test").unwrap_err().to_string();
        assert!(error.contains("the log of calls /dev/full: "), "{error}");
    }
}
