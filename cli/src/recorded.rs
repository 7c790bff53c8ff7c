//! Files that a run writes: none takes the place of one that the run reads, or of something
//! else, and one that the simulator writes is this run's alone.
//!
//! The recording of a run that answers from the same file is written beside that. When the
//! run has ended by itself, both are written as one, which takes the file's place if there is
//! something new. What was there before is never damaged, and what a killed run left beside it
//! goes with the next one.

use crate::apart::{self, Same, is_same};
use crate::args::RunArgs;
use crate::output::{NotReplaced, Output, OutputError, TakeError, Taken};
use crate::signals::Signalled;
use gil_board_client::boards::BoardsError;
use gil_files::container::FileType;
use gil_files::{calls, recording};
use gil_report::{Exit, Origin};
use gil_run_support::cache::{At, CacheError};
use gil_trace::{Trace, TraceError, merge};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, DirEntry, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

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
    /// Nothing can be added to it.
    #[error(
        "a live board's answers cannot be added to the recording: {0}, or name a new one with --record"
    )]
    NotWhole(TraceError),
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
        written: Beside,
        /// Where it belongs.
        place: PathBuf,
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
    let output = Output::of(JSON, path);
    output.check()?;
    let _alone = output.alone()?;
    check_apart(args, |option| option == JSON)?;
    Ok(output.check_text()?)
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
    let outputs = args.outputs.iter();
    let outputs = outputs.filter_map(|out| Some(("--out", out.target().ok()?)));
    Ok(own(args)?.into_iter().chain(outputs).collect())
}

/// Those of them that the guest does not write.
///
/// # Errors
/// [`BoardsError`] of boards that do not go together.
pub fn own(args: &RunArgs) -> Result<Vec<(&'static str, PathBuf)>, BoardsError> {
    let one = [
        (JSON, args.json.as_deref()),
        (RECORD, args.recorded()?),
        (CALLS, args.calls.as_deref()),
        ("--screen", args.display.screen.as_deref()),
    ];
    let one = one.into_iter();
    Ok(one
        .filter_map(|(option, path)| Some((option, path?.to_owned())))
        .collect())
}

/// Makes the recording that the simulator writes, by a link.
///
/// # Errors
/// [`RecordedError`] if it cannot be made.
pub fn begin(
    args: &RunArgs,
    link: &Path,
    signalled: &Signalled,
) -> Result<Recorded, RecordedError> {
    let path = args.recorded()?;
    let Some(place) = replayed(args, path)? else {
        let _taken = take((RECORD, path, recording::FILE), link, args.timeout)?;
        return Ok(Recorded::Elsewhere { _taken });
    };
    // Before the run, which may take hours, and not behind it.
    check_whole(&place).map_err(RecordedError::NotWhole)?;
    let folder = folder_of(&place);
    let written = beside(&place, signalled).at(folder)?;
    symlink(written.file.path(), link).at(link)?;
    Ok(Recorded::Beside { written, place })
}

/// Reads a recording to its end.
fn check_whole(place: &Path) -> Result<(), TraceError> {
    let mut trace = Trace::open(place)?;
    while trace.next_entry()?.is_some() {}
    trace.check_whole()
}

fn folder_of(place: &Path) -> &Path {
    place.parent().unwrap_or(Path::new("/"))
}

/// A file beside a recording, which goes with this process if it does not take its place.
pub struct Beside {
    file: NamedTempFile,
    /// Those without one are of runs that were killed.
    _lock: Option<Flock<File>>,
}

/// How the names of such files begin.
const BESIDE: &str = ".gil-record-";

/// How old one without a lock is that no run is about to lock.
const FORSAKEN: Duration = Duration::from_secs(60);

fn beside(place: &Path, signalled: &Signalled) -> io::Result<Beside> {
    let folder = folder_of(place);
    discard_left(folder);
    let file = tempfile::Builder::new()
        .prefix(BESIDE)
        .tempfile_in(folder)?;
    signalled.remove_file_at_exit(file.path().into());
    // Shared, since this process reads it.
    let lock = Flock::lock(File::open(file.path())?, FlockArg::LockSharedNonblock);
    let _lock = lock.ok();
    Ok(Beside { file, _lock })
}

/// Removes what killed runs of this user left beside a recording.
fn discard_left(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_beside = |entry: &DirEntry| entry.file_name().as_bytes().starts_with(BESIDE.as_bytes());
    for path in entries.filter(is_beside).map(|entry| entry.path()) {
        let mut options = File::options();
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let Ok(file) = options.read(true).custom_flags(flags).open(&path) else {
            continue;
        };
        let Ok(lock) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else {
            continue;
        };
        let is_left = lock.metadata().is_ok_and(|data| {
            let age = data.modified().ok().and_then(|at| at.elapsed().ok());
            let is_own = data.is_file() && data.uid() == nix::unistd::geteuid().as_raw();
            is_own && age.is_some_and(|it| it > FORSAKEN)
        });
        if is_left {
            let _ = fs::remove_file(path);
        }
    }
}

/// Makes the log of calls that the simulator writes, by a link.
///
/// # Errors
/// [`RecordedError`].
pub fn begin_calls(args: &RunArgs, link: &Path) -> Result<Taken, RecordedError> {
    let calls = (CALLS, args.calls.as_deref(), calls::FILE);
    take(calls, link, args.timeout)
}

/// The file that an option has the simulator write, by a link in the run's folder.
fn take(
    (option, path, kind): (&'static str, Option<&Path>, FileType),
    link: &Path,
    timeout: Option<Duration>,
) -> Result<Taken, RecordedError> {
    let Some(path) = path else {
        return Ok(Taken::default());
    };
    let target = std::path::absolute(path).at(path)?;
    let output = Output::of(option, &target);
    let taken = output.take()?.with(output.until_read(timeout)?);
    // Since the first look, something else may have been put there.
    output.check_begins(&kind.magic, kind.name)?;
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
    pub fn deliver(self, exit: &mut Exit, signalled: &Signalled) {
        let Self::Beside { written, place } = self else {
            return;
        };
        if exit.origin != Origin::Program {
            return;
        }
        if let Err(error) = add(written.file.path(), &place, signalled) {
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
    /// Another run is at it.
    #[error("another run {} {}, to which this one is not added: run again once that has ended", what, place.display())]
    Busy { what: &'static str, place: PathBuf },
    /// The file that takes its place.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// How long another run may take to add itself to the same recording.
const ADDS_WITHIN: Duration = Duration::from_secs(60);

/// Adds a run to the recording that it answered from, at once or not at all. What other runs
/// added since then is kept; they answer from the file that they opened, whatever takes its
/// place.
fn add(run: &Path, place: &Path, signalled: &Signalled) -> Result<(), NotAdded> {
    let failed = |source| Output::of(RECORD, place).failed(source);
    let busy = |what| NotAdded::Busy {
        what,
        place: place.into(),
    };
    // Adds one run at a time.
    let folder = File::open(folder_of(place)).map_err(failed)?;
    let _adding = locked(folder, FlockArg::LockExclusiveNonblock, ADDS_WITHIN);
    let _adding = _adding.map_err(|NotFree| busy("adds itself to"))?;
    // Nobody writes to it.
    let replayed = File::open(place).map_err(failed)?;
    let _replayed = locked(replayed, FlockArg::LockSharedNonblock, Duration::ZERO);
    let _replayed = _replayed.map_err(|NotFree| busy("writes"))?;
    let Beside { file: both, _lock } = beside(place, signalled).map_err(failed)?;
    if merge::add_run(run, place, both.path())? {
        let mode = fs::metadata(place).map_err(failed)?.permissions();
        both.as_file().set_permissions(mode).map_err(failed)?;
        both.as_file().sync_all().map_err(failed)?;
        both.persist(place).map_err(|error| failed(error.error))?;
    }
    Ok(())
}

/// Another run has it.
struct NotFree;

/// Locks it, on a file system that has locks.
fn locked(mut file: File, how: FlockArg, within: Duration) -> Result<Option<Flock<File>>, NotFree> {
    let began = Instant::now();
    loop {
        file = match Flock::lock(file, how) {
            Ok(lock) => return Ok(Some(lock)),
            Err((_, Errno::EWOULDBLOCK)) if began.elapsed() >= within => return Err(NotFree),
            Err((file, Errno::EWOULDBLOCK | Errno::EINTR)) => file,
            Err(_) => return Ok(None),
        };
        std::thread::sleep(Duration::from_millis(10));
    }
}
