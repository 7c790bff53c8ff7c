//! The recording of a run that answers from the same file: it is written beside that. When the
//! run has ended by itself, both are written as one, which takes the file's place if there is
//! something new. What was there before is never damaged.

use crate::args::RunArgs;
use crate::output::{Made, Output, OutputError};
use gil_board_client::boards::BoardsError;
use gil_report::{Exit, Origin};
use gil_run_support::cache::{At, CacheError};
use gil_trace::{TraceError, merge};
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// Why a file that the simulator is to write cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// Boards that do not go together.
    #[error(transparent)]
    Boards(#[from] BoardsError),
    /// The file.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Its link.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Both would write to it, or one to what the run reads.
    #[error("{option} and {other} are the same file, {}: name another", path.display())]
    Same {
        /// What is to write it.
        option: &'static str,
        /// What else it is for.
        other: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// Another run adds to it.
    #[error("another run adds to the recording {}: wait until it ends, or record to another file with --record", .0.display())]
    Taken(PathBuf),
}

/// A recording under way.
pub enum Recorded {
    /// To a file of its own, or none.
    Elsewhere {
        /// Removed if it stays empty.
        _made: Option<Made>,
    },
    /// Beside the one that it is to replace.
    Beside {
        /// Where it is written.
        written: TempPath,
        /// Where it belongs.
        place: PathBuf,
        /// No other run adds to it meanwhile.
        _lock: Flock<File>,
    },
}

/// Makes the file that the simulator writes, by a link.
///
/// # Errors
/// [`RecordedError`] if it cannot be made.
pub fn begin(args: &RunArgs, link: &Path) -> Result<Recorded, RecordedError> {
    let path = args.recorded()?;
    check_calls(args, path)?;
    let Some(place) = replayed(args, path)? else {
        let _made = make("--record", path, link)?;
        return Ok(Recorded::Elsewhere { _made });
    };
    let folder = place.parent().unwrap_or(Path::new("/"));
    let written = tempfile::NamedTempFile::new_in(folder).at(folder)?;
    let written = written.into_temp_path();
    symlink(&written, link).at(link)?;
    let file = File::open(&place).at(&place)?;
    let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock);
    let _lock = lock.map_err(|_| RecordedError::Taken(place.clone()))?;
    Ok(Recorded::Beside {
        written,
        place,
        _lock,
    })
}

/// A log of calls takes the place of neither the recording nor one that the run answers from.
fn check_calls(args: &RunArgs, record: Option<&Path>) -> Result<(), RecordedError> {
    let Some(calls) = args.calls.as_deref() else {
        return Ok(());
    };
    let same = |other| RecordedError::Same {
        option: "--calls",
        other,
        path: calls.into(),
    };
    if record.is_some_and(|record| is_same(record, calls) || record == calls) {
        return Err(same("--record"));
    }
    let boards = args.chosen()?;
    match boards.recordings().any(|it| is_same(it, calls)) {
        true => Err(same("--board replay:")),
        false => Ok(()),
    }
}

/// Whether both are one file now, by whatever names.
fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).map(|it| (it.dev(), it.ino()));
    matches!((identity(one), identity(other)), (Ok(one), Ok(other)) if one == other)
}

/// The file that an option has the simulator write, by a link in the run's folder.
///
/// # Errors
/// [`RecordedError`].
pub fn make(
    option: &'static str,
    path: Option<&Path>,
    link: &Path,
) -> Result<Option<Made>, RecordedError> {
    let Some(path) = path else {
        return Ok(None);
    };
    let target = std::path::absolute(path).at(path)?;
    let made = Output::of(option, &target).make()?;
    symlink(&target, link).at(&target)?;
    Ok(made)
}

/// Where this file is, if the run answers from it, too.
fn replayed(args: &RunArgs, path: Option<&Path>) -> Result<Option<PathBuf>, RecordedError> {
    let place = path.and_then(|path| fs::canonicalize(path).ok());
    let boards = args.chosen()?;
    let mut replayed = boards.recordings();
    Ok(place.filter(|place| replayed.any(|it| is_same(it, place))))
}

impl Recorded {
    /// Puts it in its place, if the run ended by itself.
    pub fn deliver(self, exit: &mut Exit) {
        let Self::Beside {
            written,
            place,
            _lock,
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
    let failed = |source| Output::of("--record", place).failed(source);
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
