//! Files that commands write for the user: `--json`, `--record`, `--keep`, `--out`. It is
//! checked that they can be written before time is spent.

use crate::apart::is_same;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, Flock, FlockArg, OFlag, fcntl};
use nix::unistd::{AccessFlags, access};
use std::fs::{self, File};
use std::io::{self, Read as _, Write};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// How long until a pipe is looked at again.
const LOOK: Duration = Duration::from_millis(20);

/// Why such a file is not written.
#[derive(Debug, thiserror::Error)]
#[error("{option} {} cannot be written ({source}): name {wanted} where you may write", path.display())]
pub struct OutputError {
    option: &'static str,
    path: PathBuf,
    source: io::Error,
    wanted: &'static str,
}

/// A file or folder that an option names.
#[derive(Clone, Copy)]
pub struct Output<'a> {
    option: &'static str,
    path: &'a Path,
}

impl<'a> Output<'a> {
    /// The one that `option` names.
    pub fn of(option: &'static str, path: &'a Path) -> Self {
        Self { option, path }
    }

    pub fn failed(self, source: io::Error) -> OutputError {
        OutputError {
            option: self.option,
            path: self.path.into(),
            source,
            wanted: "a file on a disk with room, in a folder",
        }
    }

    /// Looks whether it is a folder that can be written to, or made.
    ///
    /// # Errors
    /// [`OutputError`] if not.
    pub fn check_folder(self) -> Result<(), OutputError> {
        let checked = std::path::absolute(self.path).and_then(|path| {
            let mut there = path.ancestors().skip_while(|path| !is_there(path));
            let nearest = there.next().unwrap_or(Path::new("/"));
            match fs::metadata(nearest)?.is_dir() {
                true => Ok(access(nearest, AccessFlags::W_OK | AccessFlags::X_OK)?),
                false => Err(io::ErrorKind::NotADirectory.into()),
            }
        });
        checked.map_err(|error| OutputError {
            wanted: "a folder on a disk with room,",
            ..self.failed(error)
        })
    }

    /// Looks whether it can be written, and leaves everything as it was.
    ///
    /// # Errors
    /// [`OutputError`] if not.
    pub fn check(self) -> Result<(), OutputError> {
        let checked = match fs::metadata(self.path) {
            Ok(meta) if meta.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(meta) if meta.is_file() => File::options().write(true).open(self.path).map(drop),
            // A pipe may have no reader yet.
            Ok(_) => Ok(()),
            Err(_) => {
                let mut options = File::options();
                options.write(true).create(true).truncate(false).mode(0o600);
                options.open(self.path).map(|file| {
                    // Another run that took it meanwhile keeps it.
                    let lock = lock(file, self);
                    drop(lock.is_ok().then(|| Made::at(self.path)));
                })
            }
        };
        checked.map_err(|error| self.failed(error))
    }

    /// Makes it for this user alone, unless it is there; what it contains stays. No other run
    /// takes it while what is returned lives.
    ///
    /// # Errors
    /// [`TakeError`].
    pub fn take(self) -> Result<Taken, TakeError> {
        if is_of_this_process(self.path) {
            let other = "it is another file for the simulator, which writes it";
            return Err(self.failed(io::Error::other(other)).into());
        }
        let meta = fs::metadata(self.path);
        if meta.as_ref().is_ok_and(|meta| !meta.is_file()) {
            return Ok(Taken::default());
        }
        let mut options = File::options();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(self.path);
        let file = file.map_err(|error| self.failed(error))?;
        let _lock = lock(file, self)?;
        let _made = meta.is_err().then(|| Made::at(self.path));
        Ok(Taken {
            path: self.path.into(),
            written: modified(self.path),
            _made,
            _lock,
            _pipe: None,
        })
    }

    /// Waits until somebody reads a pipe, which is then open as long as what is returned lives; nothing
    /// else waits. Without a time it waits as long as opening it would.
    ///
    /// # Errors
    /// [`TakeError::Unread`] if nobody does within this time.
    pub fn until_read(self, within: Option<Duration>) -> Result<Option<File>, TakeError> {
        let is_pipe = fs::metadata(self.path).is_ok_and(|meta| meta.file_type().is_fifo());
        if !is_pipe {
            return Ok(None);
        }
        let began = Instant::now();
        loop {
            let mut options = File::options();
            options.write(true).custom_flags(libc::O_NONBLOCK);
            match options.open(self.path) {
                Ok(pipe) => {
                    let blocks = fcntl(&pipe, FcntlArg::F_SETFL(OFlag::empty()));
                    blocks.map_err(|errno| self.failed(errno.into()))?;
                    return Ok(Some(pipe));
                }
                Err(error) if error.raw_os_error() != Some(libc::ENXIO) => {
                    return Err(self.failed(error).into());
                }
                Err(_) => {}
            }
            if let Some(within) = within.filter(|within| began.elapsed() >= *within) {
                return Err(TakeError::Unread {
                    option: self.option,
                    path: self.path.into(),
                    within,
                });
            }
            thread::sleep(LOOK);
        }
    }

    /// Looks whether what is there may be replaced by a text or a picture: no program, and none
    /// of gil's files that only a run makes again.
    ///
    /// # Errors
    /// [`NotReplaced`].
    pub fn check_text(self) -> Result<(), NotReplaced> {
        const ELF: &[u8] = b"\x7fELF";
        let kept = [
            &gil_files::recording::FILE.magic[..],
            &gil_files::calls::FILE.magic,
            &gil_files::checkpoint::FILE.magic,
            ELF,
        ];
        let begin = begin(self.path, 16);
        match kept.iter().any(|magic| begin.starts_with(magic)) {
            true => Err(NotReplaced {
                option: self.option,
                path: self.path.into(),
                kind: "text or picture",
            }),
            false => Ok(()),
        }
    }

    /// Looks whether what is there may be replaced: nothing, or a file that begins so.
    ///
    /// # Errors
    /// [`NotReplaced`].
    pub fn check_begins(self, magic: &[u8], kind: &'static str) -> Result<(), NotReplaced> {
        let begin = begin(self.path, magic.len());
        match magic.starts_with(&begin) {
            true => Ok(()),
            false => Err(NotReplaced {
                option: self.option,
                path: self.path.into(),
                kind,
            }),
        }
    }

    /// Keeps a regular file that is there from other commands, as long as what is returned
    /// lives.
    ///
    /// # Errors
    /// [`TakeError`] if a run writes or reads it.
    pub fn alone(self) -> Result<Option<Flock<File>>, TakeError> {
        let is_file = fs::metadata(self.path).is_ok_and(|meta| meta.is_file());
        // What cannot be opened is found out as it is written.
        let file = is_file.then(|| File::open(self.path).ok()).flatten();
        file.map_or(Ok(None), |file| lock(file, self))
    }

    /// Makes it, or makes it empty, to be written piece by piece. A regular file is this
    /// command's alone until what is returned is dropped. One that was not there before is gone
    /// again, unless it is [finished](Beside::finish).
    ///
    /// # Errors
    /// [`TakeError`]; what is there stays as it was then.
    pub fn create(self) -> Result<Begun, TakeError> {
        let failed = |error| self.failed(error);
        let is_other = fs::metadata(self.path).is_ok_and(|meta| !meta.is_file());
        if is_other || is_of_this_process(self.path) {
            let file = File::create(self.path).map_err(failed)?;
            return Ok(Begun {
                file,
                unfinished: None,
                _lock: None,
            });
        }
        let is_new = fs::symlink_metadata(self.path).is_err();
        let mut options = File::options();
        options.write(true).create(true).truncate(false);
        let file = options.open(self.path).map_err(failed)?;
        let _lock = lock(file.try_clone().map_err(failed)?, self)?;
        // Only now: what a run writes or reads there is not lost.
        file.set_len(0).map_err(failed)?;
        // By its whole path: a command may change its folder.
        let path = is_new.then(|| fs::canonicalize(self.path).ok()).flatten();
        let temporary = path.and_then(|path| tempfile::TempPath::try_from_path(path).ok());
        Ok(Begun {
            file,
            unfinished: temporary.map(Beside::New),
            _lock,
        })
    }

    /// As [`create`](Self::create); but where a regular file is there already, what is written goes
    /// beside it, and takes its place once that is [finished](Beside::finish).
    ///
    /// # Errors
    /// [`TakeError`].
    pub fn replace(self) -> Result<Begun, TakeError> {
        let file = fs::canonicalize(self.path).ok();
        let meta = fs::metadata(self.path)
            .ok()
            .filter(|meta| meta.is_file() && meta.nlink() == 1);
        let (Some(path), Some(meta)) = (file.filter(|_| !is_of_this_process(self.path)), meta)
        else {
            return self.create();
        };
        let folder = path.parent().unwrap_or(Path::new("/"));
        let Ok(beside) = tempfile::NamedTempFile::new_in(folder) else {
            return self.create();
        };
        let _lock = self.alone()?;
        let begun = || {
            beside.as_file().set_permissions(meta.permissions())?;
            beside.as_file().try_clone()
        };
        let file = begun().map_err(|error| self.failed(error))?;
        let unfinished = Some(Beside::Earlier(beside.into_temp_path(), path));
        Ok(Begun {
            file,
            unfinished,
            _lock,
        })
    }

    /// Writes all of it. A regular file takes the place of the earlier one once it is whole.
    ///
    /// # Errors
    /// [`OutputError`], also if a run took what is there since [`Output::check`].
    pub fn write(self, bytes: &[u8]) -> Result<(), OutputError> {
        if is_of_this_process(self.path) {
            // Behind what is there: a shell may have led the program's output there, too.
            let file = File::options().append(true).open(self.path);
            let written = file.and_then(|mut file| file.write_all(bytes));
            return written.map_err(|error| self.failed(error));
        }
        let _alone = self.alone().map_err(|error| match error {
            TakeError::Output(error) => error,
            taken => OutputError {
                wanted: "another file, in a folder",
                ..self.failed(io::Error::other(taken.user()))
            },
        })?;
        match self.beside(bytes) {
            Ok(true) => Ok(()),
            Ok(false) => self.in_place(bytes),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Writes a file beside an earlier regular one and puts it in its place; `false` where
    /// that cannot be done, and there is none.
    fn beside(self, bytes: &[u8]) -> io::Result<bool> {
        let Ok(path) = fs::canonicalize(self.path) else {
            return Ok(false);
        };
        let meta = fs::metadata(&path)?;
        let folder = path
            .parent()
            .filter(|_| meta.is_file() && meta.nlink() == 1);
        let Some(Ok(mut file)) = folder.map(tempfile::NamedTempFile::new_in) else {
            return Ok(false);
        };
        file.write_all(bytes)?;
        file.as_file().set_permissions(meta.permissions())?;
        file.persist(&path)?;
        Ok(true)
    }

    /// Writes into the file; a regular file that cannot hold it is removed.
    fn in_place(self, bytes: &[u8]) -> Result<(), OutputError> {
        let mut file = File::create(self.path).map_err(|error| self.failed(error))?;
        file.write_all(bytes).map_err(|error| {
            // What it holds is no report.
            let _ = file.set_len(0);
            drop(Made::at(self.path));
            self.failed(error)
        })
    }
}

/// Writes what a command found to standard output; that nobody reads it is the reader's wish.
///
/// # Errors
/// The operating system's.
pub fn print(text: &str) -> io::Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// The first bytes of a regular file. What cannot be read is not known for anything else.
fn begin(path: &Path, len: usize) -> Vec<u8> {
    let is_file = fs::metadata(path).is_ok_and(|meta| meta.is_file());
    let mut begin = Vec::new();
    if let Some(file) = is_file.then(|| File::open(path).ok()).flatten() {
        let _ = file.take(len as u64).read_to_end(&mut begin);
    }
    begin
}

/// Whether it is open already: another process opens another file by that name.
fn is_of_this_process(path: &Path) -> bool {
    [
        "/dev/stdout",
        "/dev/stderr",
        "/proc/self/fd/1",
        "/proc/self/fd/2",
    ]
    .iter()
    .any(|own| path == Path::new(own))
}

/// A link that leads nowhere is in the way, too.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// A file of another kind, which the user may need.
#[derive(Debug, thiserror::Error)]
#[error("{option} {} is there and is no {kind}, and would be lost: name another file, or remove it", path.display())]
pub struct NotReplaced {
    option: &'static str,
    path: PathBuf,
    kind: &'static str,
}

/// Why a file is not taken.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// It cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Another run has it.
    #[error("another run writes {option} {}: wait until it ends, or name another file", path.display())]
    Taken {
        /// What names it.
        option: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// It is a pipe without a reader.
    #[error("nobody opened the pipe {option} {} within the {} s of --timeout: start what reads it first, or name a file", path.display(), within.as_secs_f64())]
    Unread {
        /// What names it.
        option: &'static str,
        /// The pipe.
        path: PathBuf,
        /// How long it was waited for.
        within: Duration,
    },
    /// Another run answers from it.
    #[error("another run replays {option} {}, or gil trace reads it: wait until that ends, or name another file", path.display())]
    Replayed {
        /// What names it.
        option: &'static str,
        /// The file.
        path: PathBuf,
    },
}

impl TakeError {
    /// Who has it.
    fn user(&self) -> &'static str {
        match self {
            Self::Output(_) => "it cannot be opened",
            Self::Taken { .. } => "another run writes it",
            Self::Unread { .. } => "nobody reads it",
            Self::Replayed { .. } => "another run replays it, or gil trace reads it",
        }
    }
}

/// A file that is written piece by piece.
#[derive(Debug)]
pub struct Begun {
    file: File,
    unfinished: Option<Beside>,
    _lock: Option<Flock<File>>,
}

impl Begun {
    /// What finishes it: all has been written by then.
    pub fn last(&mut self) -> Option<Beside> {
        self.unfinished.take()
    }
}

/// A file that is not whole yet; dropped, it is gone.
#[derive(Debug)]
pub enum Beside {
    /// It is to take the place of an earlier one.
    Earlier(tempfile::TempPath, PathBuf),
    /// There was none.
    New(tempfile::TempPath),
}

impl Beside {
    /// Puts it there.
    ///
    /// # Errors
    /// The operating system's.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::Earlier(beside, path) => beside.persist(path).map_err(|error| error.error),
            Self::New(path) => path.keep().map(drop).map_err(|error| error.error),
        }
    }
}

impl Write for Begun {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file that no other run takes as long as this value lives. One that was not there
/// before is gone again with it, unless something was written.
#[derive(Default)]
pub struct Taken {
    path: PathBuf,
    /// When it was written before.
    written: Option<SystemTime>,
    _made: Option<Made>,
    _lock: Option<Flock<File>>,
    /// A pipe, so that its reader waits for the run.
    _pipe: Option<File>,
}

impl Taken {
    /// The same, which keeps this pipe open.
    pub fn with(self, pipe: Option<File>) -> Self {
        Self {
            _pipe: pipe,
            ..self
        }
    }

    /// Whether this run has written to it.
    pub fn is_written(&self) -> bool {
        self.written != modified(&self.path)
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|meta| meta.modified()).ok()
}

/// Locks a file against other runs, on a file system that has locks.
///
/// # Errors
/// [`TakeError::Taken`] or [`TakeError::Replayed`] if another run has it.
pub fn lock(file: File, output: Output<'_>) -> Result<Option<Flock<File>>, TakeError> {
    let Output { option, path } = output;
    let taken = |path: &Path| {
        let path = path.into();
        TakeError::Taken { option, path }
    };
    let lock = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => lock,
        Err((file, Errno::EWOULDBLOCK)) => {
            // Replays share it.
            return match Flock::lock(file, FlockArg::LockSharedNonblock) {
                Ok(_) => {
                    let path = path.into();
                    Err(TakeError::Replayed { option, path })
                }
                Err(_) => Err(taken(path)),
            };
        }
        Err(_) => return Ok(None),
    };
    // A run that wrote nothing removes its file as it ends.
    match is_same(lock.metadata(), fs::metadata(path)) {
        true => Ok(Some(lock)),
        false => Err(taken(path)),
    }
}

/// A file that is removed if it is empty in the end.
struct Made(PathBuf);

impl Made {
    /// The place that `path` leads to.
    fn at(path: &Path) -> Self {
        Self(fs::canonicalize(path).unwrap_or_else(|_| path.into()))
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let meta = fs::symlink_metadata(&self.0);
        if meta.is_ok_and(|meta| meta.is_file() && meta.len() == 0) {
            let _ = fs::remove_file(&self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn says(result: Result<(), OutputError>, words: &[&str]) {
        let error = result.unwrap_err().to_string();
        for word in words {
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn texts_take_the_place_of_no_recording_and_no_program() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("there");
        let check = || Output::of("--html", &path).check_text();
        check().unwrap();
        for (begin, is_replaced) in [
            (&b""[..], true),
            (b"<!doctype html>", true),
            (b"gil-trac", true),
            (b"gil-trace\x01", false),
            (b"gil-calls", false),
            (b"\x7fELF\x02", false),
        ] {
            fs::write(&path, begin).unwrap();
            assert_eq!(check().is_ok(), is_replaced, "{begin:?}");
        }
    }

    #[test]
    fn what_cannot_be_written_is_known_before_and_nothing_changes() {
        let work = tempfile::tempdir().unwrap();
        let at = |name: &str| work.path().join(name);
        let check = |path: &Path| Output::of("--json", path).check();
        says(check(&at("no/r.json")), &["--json", "no/r.json", "folder"]);
        says(check(work.path()), &["--json", "directory"]);
        fs::write(at("old"), "old").unwrap();
        symlink("target", at("link")).unwrap();
        for name in ["old", "new", "link"] {
            check(&at(name)).unwrap();
        }
        check(Path::new("/dev/full")).unwrap();
        assert_eq!(fs::read(at("old")).unwrap(), b"old");
        assert!(!at("new").exists() && !at("target").exists());
        assert!(at("link").is_symlink());
    }

    #[test]
    fn a_folder_is_there_or_can_be_made() {
        let work = tempfile::tempdir().unwrap();
        let at = |name: &str| work.path().join(name);
        let check = |path: &Path| Output::of("--keep", path).check_folder();
        check(work.path()).unwrap();
        check(&at("new/in/new")).unwrap();
        assert!(!at("new").exists());
        fs::write(at("file"), "old").unwrap();
        symlink("nowhere", at("link")).unwrap();
        let words = ["--keep", "name a folder"];
        for name in ["file", "file/new", "link"] {
            says(check(&at(name)), &[&words[..], &[name]].concat());
        }
    }

    #[test]
    fn what_was_made_and_stayed_empty_goes() {
        let work = tempfile::tempdir().unwrap();
        let at = |name: &str| work.path().join(name);
        fs::write(at("old"), "").unwrap();
        for name in ["old", "empty", "written"] {
            let path = at(name);
            let taken = Output::of("--record", &path).take().unwrap();
            if name == "written" {
                fs::write(&path, "x").unwrap();
            }
            drop(taken);
        }
        assert!(at("old").exists() && at("written").exists());
        assert!(!at("empty").exists());
    }

    #[test]
    fn a_file_is_one_runs_and_stays_as_it_was() {
        let work = tempfile::tempdir().unwrap();
        let (path, other) = (work.path().join("old"), work.path().join("other"));
        fs::write(&path, "old").unwrap();
        fs::hard_link(&path, &other).unwrap();
        let taken = Output::of("--record", &path).take().unwrap();
        let again = Output::of("--calls", &other).take().err().unwrap();
        assert!(again.to_string().contains("another run writes --calls"));
        drop(taken);
        Output::of("--calls", &other).take().unwrap();
        let replays = [(); 2].map(|()| {
            let file = File::open(&path).unwrap();
            Flock::lock(file, FlockArg::LockSharedNonblock).map_err(|(_, errno)| errno)
        });
        assert!(replays.iter().all(Result::is_ok));
        let refused = Output::of("--calls", &other).take().err().unwrap();
        assert!(
            refused.to_string().contains("another run replays --calls"),
            "{refused}"
        );
        drop(replays);
        Output::of("--calls", &other).take().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        for _ in 0..2 {
            let _device = Output::of("--record", Path::new("/dev/null"))
                .take()
                .unwrap();
        }
    }

    #[test]
    fn only_files_of_its_kind_are_replaced() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("file");
        let check = || Output::of("--record", &path).check_begins(b"magic", "recording");
        check().unwrap();
        for (text, fits) in [
            ("", true),
            ("mag", true),
            ("magic and more", true),
            ("#!/bin/sh", false),
        ] {
            fs::write(&path, text).unwrap();
            assert_eq!(check().is_ok(), fits, "{text}");
        }
    }

    #[test]
    fn what_a_run_took_meanwhile_is_not_replaced() {
        let work = tempfile::tempdir().unwrap();
        let used = work.path().join("used");
        let taken = Output::of("--record", &used).take().unwrap();
        let written = Output::of("--json", &used).write(b"x");
        let words = ["--json", "used", "another run writes it", "name another"];
        says(written, &words);
        drop(taken);
    }

    #[test]
    fn what_is_written_beside_a_file_takes_its_place_once_it_is_whole() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("report");
        let begin = || {
            let mut begun = Output::of("--html", &path).replace().unwrap();
            begun.write_all(b"new").unwrap();
            begun.last()
        };
        drop(begin());
        assert!(!path.exists(), "it was not whole");
        begin().unwrap().finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        fs::write(&path, "old").unwrap();
        let beside = begin().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(beside);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(work.path()).unwrap().count(), 1);
        begin().unwrap().finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(work.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_pipe_waits_for_its_reader_and_no_longer_than_told() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("pipe");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let pipe = Output::of("--calls", &path);
        let unread = pipe.until_read(Some(Duration::from_millis(50)));
        let said = unread.unwrap_err().to_string();
        assert!(
            said.contains("the pipe --calls") && said.contains("0.05 s of --timeout"),
            "{said}"
        );
        let reader = {
            let path = path.clone();
            thread::spawn(move || fs::read(path).unwrap())
        };
        let mut open = pipe.until_read(None).unwrap().unwrap();
        open.write_all(b"x").unwrap();
        drop(open);
        assert_eq!(reader.join().unwrap(), b"x");
        let file = work.path().join("file");
        assert!(
            Output::of("--calls", &file)
                .until_read(None)
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn a_full_disk_is_told_with_what_helps() {
        let written = Output::of("--json", Path::new("/dev/full")).write(b"x");
        says(written, &["--json /dev/full", "disk with room"]);
    }
}
