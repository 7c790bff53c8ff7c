//! `--stdin`: the program's standard input, as a file in the run's folder. A pipe is
//! read to its end, for at most the run's `--timeout`.

use crate::args::RunArgs;
use crate::terminal;
use gil_guest_image::copied::FILE_MAX;
use gil_guest_image::memory::{self, MemoryError};
use gil_run_support::cache::{At, CacheError};
use gil_run_support::folder::{create_file, file};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest wait without a look at the clock, in milliseconds.
const SLICE: u8 = 100;
/// Bytes taken from a pipe at once.
const CHUNK: usize = 64 << 10;

/// Why there is no standard input.
#[derive(Debug, thiserror::Error)]
pub enum StdinError {
    /// Files.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// This machine's memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The pipe gives too much.
    #[error(
        "--stdin {} gives more than the {} MiB that the guest can hold: give the program less", path.display(), most >> 20
    )]
    Large {
        /// The pipe.
        path: PathBuf,
        /// Bytes.
        most: u64,
    },
    /// No terminal where one was asked for.
    #[error("--tty needs a terminal as standard input: run gil in one, or leave --tty out")]
    NoTerminal,
    /// The pipe is not closed.
    #[error("--stdin {} was not read to its end within the {} s of --timeout: close the pipe, or give a longer one", path.display(), timeout.as_secs_f64())]
    Slow {
        /// The pipe.
        path: PathBuf,
        /// The time for which it was read.
        timeout: Duration,
    },
}

/// Looks whether standard input can be what was asked for.
///
/// # Errors
/// [`StdinError`].
pub fn check(args: &RunArgs) -> Result<(), StdinError> {
    if args.tty && !terminal::is_there() {
        return Err(StdinError::NoTerminal);
    }
    if args.interactive {
        check_own()?;
    }
    args.stdin.as_deref().map(is_pipe).transpose()?;
    Ok(())
}

/// Whether it is a pipe, and not a file.
///
/// # Errors
/// [`CacheError`] if it is neither.
fn is_pipe(path: &Path) -> Result<bool, CacheError> {
    let kind = fs::metadata(path).at(path)?.file_type();
    match (kind.is_file(), kind.is_fifo()) {
        (false, false) => Err(CacheError::Special {
            path: path.into(),
            wanted: "a file nor a pipe: --stdin takes one of these; without it, standard input is empty",
        }),
        (_, is_fifo) => Ok(is_fifo),
    }
}

/// Whether a program can read this process's own standard input.
///
/// # Errors
/// [`CacheError`] if it is a folder.
fn check_own() -> Result<(), CacheError> {
    let path = Path::new("/dev/stdin");
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => Err(CacheError::Special {
            path: path.into(),
            wanted: "a file, a pipe nor a terminal: -i gives it to the program",
        }),
        // A closed one is empty.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Puts it into the run's folder `at`, if the program is to read anything.
///
/// # Errors
/// [`StdinError`].
pub fn take(args: &RunArgs, at: &Path) -> Result<(), StdinError> {
    let Some(source) = &args.stdin else {
        return Ok(());
    };
    let target = at.join(file::STDIN);
    if is_pipe(source)? {
        let most = memory::available(args.memory)?.min(FILE_MAX);
        return drain(source, &target, most, args.timeout);
    }
    let source = std::path::absolute(source).at(source)?;
    Ok(symlink(&source, &target).at(&target)?)
}

/// Copies what comes until the last writer closes the pipe.
fn drain(
    source: &Path,
    target: &Path,
    most: u64,
    timeout: Option<Duration>,
) -> Result<(), StdinError> {
    let mut options = File::options();
    // To open it must not wait either: nobody may be writing yet.
    options.read(true).custom_flags(OFlag::O_NONBLOCK.bits());
    let mut pipe = options.open(source).at(source)?;
    let mut out = create_file(target).at(target)?;
    let (started, mut left, mut chunk) = (Instant::now(), most, vec![0; CHUNK]);
    loop {
        let len = step(&mut pipe, &mut chunk).at(source)?;
        let Some(len) = len else {
            check_time(source, started, timeout)?;
            continue;
        };
        if len == 0 {
            return Ok(());
        }
        let path = source.into();
        left = left
            .checked_sub(len as u64)
            .ok_or(StdinError::Large { path, most })?;
        out.write_all(&chunk[..len]).at(target)?;
        check_time(source, started, timeout)?;
    }
}

fn check_time(
    source: &Path,
    started: Instant,
    timeout: Option<Duration>,
) -> Result<(), StdinError> {
    match timeout {
        Some(timeout) if started.elapsed() > timeout => Err(StdinError::Slow {
            path: source.into(),
            timeout,
        }),
        _ => Ok(()),
    }
}

/// What came within a slice; none if nothing did.
fn step(pipe: &mut File, chunk: &mut [u8]) -> io::Result<Option<usize>> {
    let mut fds = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
    match poll(&mut fds, PollTimeout::from(SLICE)) {
        Ok(0) | Err(Errno::EINTR) => return Ok(None),
        Ok(_) => {}
        Err(errno) => return Err(errno.into()),
    }
    match pipe.read(chunk) {
        Ok(len) => Ok(Some(len)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    struct Fifo(tempfile::TempDir);

    impl Fifo {
        fn new() -> Self {
            let this = Self(tempfile::tempdir().unwrap());
            mkfifo(&this.at("fifo"), Mode::S_IRWXU).unwrap();
            this
        }

        fn at(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        /// Drained while somebody writes these bytes to it.
        fn drain(&self, bytes: &'static [u8], most: u64) -> Result<(), StdinError> {
            let path = self.at("fifo");
            let writer = std::thread::spawn(move || {
                // Whoever reads may have gone before the end.
                let _ = fs::write(path, bytes);
            });
            let drained = drain(&self.at("fifo"), &self.at("out"), most, None);
            writer.join().unwrap();
            drained
        }
    }

    #[test]
    fn a_pipe_is_read_to_its_end() {
        let fifo = Fifo::new();
        assert!(is_pipe(&fifo.at("fifo")).unwrap());
        fifo.drain(&[7; 3 * CHUNK], 3 * CHUNK as u64).unwrap();
        assert_eq!(fs::read(fifo.at("out")).unwrap(), [7; 3 * CHUNK]);
    }

    #[test]
    fn a_pipe_gives_no_more_than_the_guest_holds() {
        let error = Fifo::new().drain(&[0; 100], 99).unwrap_err();
        assert!(matches!(error, StdinError::Large { .. }), "{error}");
    }

    #[test]
    fn a_pipe_that_nobody_writes_to_is_left_at_the_timeout() {
        let fifo = Fifo::new();
        let timeout = Some(Duration::from_millis(1));
        let drained = drain(&fifo.at("fifo"), &fifo.at("out"), 1, timeout);
        let error = drained.unwrap_err();
        assert!(matches!(error, StdinError::Slow { .. }), "{error}");
    }

    #[test]
    fn a_device_is_no_standard_input() {
        let error = is_pipe(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(error.contains("neither a file nor a pipe"), "{error}");
    }
}
