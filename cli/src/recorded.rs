//! Files that a run writes: none takes the place of one that the run reads, or of something
//! else, and one that the simulator writes is this run's alone.
//!
//! The recording of a run that answers from the same file is written beside that. When the
//! run has ended by itself, both are written as one, which takes the file's place if there is
//! something new. What was there before is never damaged.

use crate::apart::{self, Same, is_same};
use crate::args::RunArgs;
use crate::output::{NotReplaced, Output, OutputError, TakeError, Taken};
use gil_board_client::boards::BoardsError;
use gil_files::{calls, recording};
use gil_report::{Exit, Origin};
use gil_run_support::cache::{At, CacheError};
use gil_trace::{TraceError, merge};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempPath;

const JSON: &str = "--json";
const RECORD: &str = "--record";
const CALLS: &str = "--calls";
const REPLAY: &str = "--board replay:";

/// Why a file that the simulator is to write cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// Boards that do not go together.
    #[error(transparent)]
    Boards(#[from] BoardsError),
    /// The file.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The file is another run's.
    #[error(transparent)]
    Take(#[from] TakeError),
    /// Its link.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// It is for something else, too.
    #[error(transparent)]
    Same(#[from] Same),
    /// It is of another kind.
    #[error(transparent)]
    NotReplaced(#[from] NotReplaced),
}

/// A recording under way.
pub enum Recorded {
    /// To a file of its own, or none.
    Elsewhere {
        /// No other run's meanwhile.
        _taken: Taken,
    },
    /// Beside the one that it is to replace.
    Beside {
        /// Where it is written.
        written: TempPath,
        /// Where it belongs.
        place: PathBuf,
        /// No other run adds to it meanwhile.
        _taken: Taken,
    },
}

/// Looks whether the report can be written.
///
/// # Errors
/// [`RecordedError`] if not.
pub fn check_json(args: &RunArgs) -> Result<(), RecordedError> {
    let Some(path) = &args.json else {
        return Ok(());
    };
    Output::of(JSON, path).check()?;
    check_apart(args, |option| option == JSON)
}

/// Looks whether the simulator can write its files.
///
/// # Errors
/// [`RecordedError`] if not.
pub fn check(args: &RunArgs) -> Result<(), RecordedError> {
    check_apart(args, |option| option != JSON)?;
    let files = [
        (RECORD, args.recorded()?, recording::FILE),
        (CALLS, args.calls.as_deref(), calls::FILE),
    ];
    for (option, path, kind) in files {
        let Some(path) = path else {
            continue;
        };
        let output = Output::of(option, path);
        output.check()?;
        output.check_begins(&kind.magic, kind.name)?;
    }
    Ok(())
}

/// Files of the options that `is_checked` says take the place of none that another option
/// names. A run may be recorded to the file that it answers from.
fn check_apart(args: &RunArgs, is_checked: fn(&str) -> bool) -> Result<(), RecordedError> {
    let boards = args.chosen()?;
    let replayed: Vec<_> = boards.recordings().map(|path| (REPLAY, path)).collect();
    let (read, written) = (args.reads(), written(args)?);
    for (option, path) in &written {
        let is_other = |(other, _): &&(&str, PathBuf)| other != option;
        let written = written.iter().filter(is_other);
        let written = written.map(|(option, path)| (*option, &**path));
        let replayed = replayed.iter().copied().filter(|_| *option != RECORD);
        let others = replayed.chain(read.iter().copied()).chain(written);
        if is_checked(option) {
            apart::check((option, path), others)?;
        }
    }
    Ok(())
}

/// The files that the run writes.
fn written(args: &RunArgs) -> Result<Vec<(&'static str, PathBuf)>, BoardsError> {
    let one = [
        (JSON, args.json.as_deref()),
        (RECORD, args.recorded()?),
        (CALLS, args.calls.as_deref()),
        ("--screen", args.display.screen.as_deref()),
    ];
    let one = one.into_iter();
    let one = one.filter_map(|(option, path)| Some((option, path?.to_owned())));
    let outputs = args.outputs.iter();
    let outputs = outputs.filter_map(|out| Some(("--out", out.target().ok()?)));
    Ok(one.chain(outputs).collect())
}

/// Makes the file that the simulator writes, by a link.
///
/// # Errors
/// [`RecordedError`] if it cannot be made.
pub fn begin(args: &RunArgs, link: &Path) -> Result<Recorded, RecordedError> {
    let path = args.recorded()?;
    let Some(place) = replayed(args, path)? else {
        let _taken = take(RECORD, path, link)?;
        return Ok(Recorded::Elsewhere { _taken });
    };
    let _taken = Output::of(RECORD, &place).take()?;
    let folder = place.parent().unwrap_or(Path::new("/"));
    let written = tempfile::NamedTempFile::new_in(folder).at(folder)?;
    let written = written.into_temp_path();
    symlink(&written, link).at(link)?;
    Ok(Recorded::Beside {
        written,
        place,
        _taken,
    })
}

/// The file that an option has the simulator write, by a link in the run's folder.
///
/// # Errors
/// [`RecordedError`].
pub fn take(
    option: &'static str,
    path: Option<&Path>,
    link: &Path,
) -> Result<Taken, RecordedError> {
    let Some(path) = path else {
        return Ok(Taken::default());
    };
    let target = std::path::absolute(path).at(path)?;
    let taken = Output::of(option, &target).take()?;
    symlink(&target, link).at(&target)?;
    Ok(taken)
}

/// Where this file is, if the run answers from it, too.
fn replayed(args: &RunArgs, path: Option<&Path>) -> Result<Option<PathBuf>, RecordedError> {
    let place = path.and_then(|path| fs::canonicalize(path).ok());
    let boards = args.chosen()?;
    let mut replayed = boards.recordings();
    let is_place = |it: &Path, place: &Path| is_same(fs::metadata(it), fs::metadata(place));
    Ok(place.filter(|place| replayed.any(|it| is_place(it, place))))
}

impl Recorded {
    /// Puts it in its place, if the run ended by itself.
    pub fn deliver(self, exit: &mut Exit) {
        let Self::Beside {
            written,
            place,
            _taken,
        } = self
        else {
            return;
        };
        if exit.origin != Origin::Program {
            return;
        }
        if let Err(error) = add(&written, &place) {
            eprintln!("gil: {error}");
            *exit = Exit::bridge(error.to_string());
        }
    }
}

/// Why a run is not added to a recording, which is as it was.
#[derive(Debug, thiserror::Error)]
enum NotAdded {
    /// One of the files.
    #[error("the run cannot be added to its recording, which is as it was: {0}")]
    Trace(#[from] TraceError),
    /// The file that takes its place.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Adds a run to the recording that it answered from, at once or not at all.
fn add(run: &Path, place: &Path) -> Result<(), NotAdded> {
    let failed = |source| Output::of(RECORD, place).failed(source);
    let folder = place.parent().unwrap_or(Path::new("/"));
    let both = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    if merge::add_run(run, place, both.path())? {
        let mode = fs::metadata(place).map_err(failed)?.permissions();
        both.as_file().set_permissions(mode).map_err(failed)?;
        both.as_file().sync_all().map_err(failed)?;
        both.persist(place).map_err(|error| failed(error.error))?;
    }
    Ok(())
}
