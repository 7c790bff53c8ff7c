//! What work took that comes again, such as a build of the same program: the same each time,
//! in this run and, by a file, in later ones.
//!
//! The file is CSV: the work's number in hexadecimal
//! ([`Reply::Done`](gil_wire::message::Reply)), and nanoseconds of CPU time on the board.
//! Runs side by side append lines, each at once; of a number, the first line counts. A line
//! that a killed run has cut, and what stands behind it, is measured again.

use crate::config::BOARD_TIMEOUT;
use foldhash::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The file's first line.
const HEAD: &str = "work,cpu_ns";
/// Longest time that is remembered, in nanoseconds: no call may last longer on a board, unless
/// somebody gives it more time.
const LONGEST_NS: u64 = BOARD_TIMEOUT.as_nanos() as u64;
/// Most pieces of work that one run adds to the file.
const ADDED_MAX: usize = 1 << 12;
/// Most pieces of work that are remembered. More of them take what they take.
const REMEMBERED_MAX: usize = 1 << 18;
/// Longest file that is read, in bytes: twice what all of them take.
const FILE_MAX: u64 = (REMEMBERED_MAX * 2 * LINE_MAX) as u64;
/// 16 digits, a comma, 20 digits and the end of the line.
const LINE_MAX: usize = 38;

/// Nanoseconds of CPU time, by work.
#[derive(Debug, Default)]
pub struct WorkTimes {
    known: HashMap<u64, u64>,
    file: Option<File>,
    added: usize,
}

/// A file of times that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WorkTimesError {
    /// The file.
    #[error("cannot use the times of builds in {}: {error}", path.display())]
    File {
        /// Its name.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// Its first line.
    #[error("{} does not begin with \"{HEAD}\", as times of builds do: name another file, or remove this one", .0.display())]
    Head(PathBuf),
    /// All of it.
    #[error("{} has more than {FILE_MAX} bytes, which times of builds do not take: remove it, and builds are measured again", .0.display())]
    Long(PathBuf),
}

impl WorkTimes {
    /// Those of a file, which is made if it is not there, and gets what is new.
    ///
    /// # Errors
    /// [`WorkTimesError`].
    pub fn open(path: &Path) -> Result<Self, WorkTimesError> {
        let failed = |error| WorkTimesError::File {
            path: path.into(),
            error,
        };
        let opened = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path);
        let mut file = opened.map_err(failed)?;
        let mut bytes = Vec::new();
        let read = (&mut file).take(FILE_MAX + 1).read_to_end(&mut bytes);
        if read.map_err(failed)? as u64 > FILE_MAX {
            return Err(WorkTimesError::Long(path.into()));
        }
        let text = String::from_utf8_lossy(&bytes);
        if text.is_empty() {
            writeln!(file, "{HEAD}").map_err(failed)?;
        } else if text.lines().next() != Some(HEAD) {
            return Err(WorkTimesError::Head(path.into()));
        }
        let mut known = HashMap::default();
        // What another run is about to write has no end yet.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for (work, cpu_ns) in whole.lines().filter_map(parse) {
            known.entry(work).or_insert(cpu_ns);
        }
        Ok(Self {
            known,
            file: Some(file),
            added: 0,
        })
    }

    /// What this work takes that took so long now: what it took the first time.
    pub fn of(&mut self, work: u64, cpu_ns: u64) -> u64 {
        if let Some(known) = self.known.get(&work) {
            return *known;
        }
        if self.known.len() < REMEMBERED_MAX && cpu_ns <= LONGEST_NS {
            self.known.insert(work, cpu_ns);
            self.keep(work, cpu_ns);
        }
        cpu_ns
    }

    /// A file that takes no more is left as it is: this run knows the time.
    fn keep(&mut self, work: u64, cpu_ns: u64) {
        let Some(file) = self.file.as_mut().filter(|_| self.added < ADDED_MAX) else {
            return;
        };
        self.added += 1;
        let written = file.write_all(format!("{work:016x},{cpu_ns}\n").as_bytes());
        if written.is_err() {
            self.file = None;
        }
    }
}

fn parse(line: &str) -> Option<(u64, u64)> {
    let (work, cpu_ns) = line.split_once(',')?;
    let cpu_ns = cpu_ns.parse().ok().filter(|ns| *ns <= LONGEST_NS)?;
    Some((u64::from_str_radix(work, 16).ok()?, cpu_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_same_work_takes_what_it_took_in_this_run_and_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("times");
        let mut times = WorkTimes::open(&path).unwrap();
        assert_eq!((times.of(1, 500), times.of(2, 70)), (500, 70));
        assert_eq!((times.of(1, 20), times.of(2, 9_999)), (500, 70));
        let mut later = WorkTimes::open(&path).unwrap();
        assert_eq!((later.of(1, 3), later.of(3, 8)), (500, 8));
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 4);
    }

    #[test]
    fn of_two_runs_side_by_side_the_first_counts_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("times");
        let (mut one, mut other) = (
            WorkTimes::open(&path).unwrap(),
            WorkTimes::open(&path).unwrap(),
        );
        assert_eq!((one.of(1, 5), other.of(1, 6)), (5, 6));
        assert_eq!(WorkTimes::open(&path).unwrap().of(1, 7), 5);
    }

    #[test]
    fn a_line_that_is_cut_costs_its_neighbour_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("times");
        fs::write(&path, "work,cpu_ns\n1,5\n000000000000002,7").unwrap();
        let mut times = WorkTimes::open(&path).unwrap();
        assert_eq!((times.of(1, 6), times.of(2, 8)), (5, 8));
        let mut later = WorkTimes::open(&path).unwrap();
        assert_eq!((later.of(1, 6), later.of(2, 9)), (5, 9));
        assert_eq!(WorkTimes::open(&path).unwrap().of(2, 1), 9);
    }

    #[test]
    fn what_no_build_takes_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("times");
        fs::write(&path, b"work,cpu_ns\n1,1000000000000\n\xff\xfe\n2,7\n").unwrap();
        let mut times = WorkTimes::open(&path).unwrap();
        assert_eq!((times.of(1, 5), times.of(2, 9)), (5, 7));
        assert_eq!(times.of(3, u64::MAX), u64::MAX);
        assert_eq!(times.of(3, 8), 8);
    }

    #[test]
    fn one_run_does_not_fill_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("times");
        let mut times = WorkTimes::open(&path).unwrap();
        for work in 0..2 * ADDED_MAX as u64 {
            times.of(work, 1);
        }
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 1 + ADDED_MAX);
    }

    #[test]
    fn another_file_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        fs::write(&path, "dear diary\n").unwrap();
        let error = WorkTimes::open(&path).unwrap_err().to_string();
        assert!(
            error.contains("does not begin with \"work,cpu_ns\""),
            "{error}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "dear diary\n");
    }
}
