//! Short texts that a user names: settings, variables, what a program printed.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a pipe may give nothing before it is left.
const SILENCE: Duration = Duration::from_secs(10);

/// How long one look at a pipe takes.
const SLICE: Duration = Duration::from_millis(20);

/// The text of a file with no more than `most` bytes. A pipe is read to its end, for as long as something comes
/// every ten seconds: a text is read before anything else happens, and nothing else would end that wait.
///
/// # Errors
/// The file cannot be read; [`io::ErrorKind::FileTooLarge`] if it has more bytes,
/// [`io::ErrorKind::InvalidData`] if they are no UTF-8, [`io::ErrorKind::TimedOut`] if a pipe gives none.
pub fn read(path: &Path, most: u64) -> io::Result<String> {
    read_within(path, most, SILENCE)
}

fn read_within(path: &Path, most: u64, silence: Duration) -> io::Result<String> {
    let mut options = File::options();
    // Nobody may be writing to a pipe yet: to open it would wait, too.
    options.read(true).custom_flags(nix::libc::O_NONBLOCK);
    let file = options.open(path)?;
    let meta = file.metadata()?;
    let mut text = String::new();
    let read = match meta.file_type().is_fifo() {
        true => Piped { file, silence }
            .take(most + 1)
            .read_to_string(&mut text),
        false => {
            let mut file = File::open(path)?.take(most + 1);
            file.read_to_string(&mut text)
        }
    };
    match read? as u64 <= most {
        true => Ok(text),
        false => Err(io::ErrorKind::FileTooLarge.into()),
    }
}

/// A pipe that is left once nothing comes.
struct Piped {
    file: File,
    silence: Duration,
}

impl Read for Piped {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let began = Instant::now();
        while began.elapsed() < self.silence {
            let slice = PollTimeout::try_from(SLICE).unwrap_or(PollTimeout::ZERO);
            let mut fds = [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
            match poll(&mut fds, slice) {
                // Without a writer so far there is nothing to see, and no end either.
                Ok(0) | Err(Errno::EINTR) => continue,
                Ok(_) => {}
                Err(errno) => return Err(errno.into()),
            }
            match self.file.read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!(
                "nobody wrote to this pipe for {} s: start what writes to it first, or name a file",
                self.silence.as_secs_f64()
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use std::fs;
    use std::path::PathBuf;

    fn fifo(folder: &tempfile::TempDir) -> PathBuf {
        let path = folder.path().join("fifo");
        mkfifo(&path, Mode::S_IRWXU).unwrap();
        path
    }

    #[test]
    fn a_pipe_is_read_to_its_end_though_its_writer_comes_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = fifo(&folder);
        let writer = std::thread::spawn({
            let path = path.clone();
            move || {
                std::thread::sleep(Duration::from_millis(100));
                fs::write(path, "cores = 8\n")
            }
        });
        assert_eq!(read(&path, 100).unwrap(), "cores = 8\n");
        writer.join().unwrap().unwrap();
    }

    #[test]
    fn a_pipe_without_a_writer_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let error = read_within(&fifo(&folder), 100, Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("for 0.05 s"), "{error}");
    }

    #[test]
    fn a_text_has_no_more_bytes_than_it_may() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), "12345");
        let kind = |path: &Path| read(path, 4).unwrap_err().kind();
        assert_eq!(kind(&path), io::ErrorKind::FileTooLarge);
        assert_eq!(kind(Path::new("/dev/zero")), io::ErrorKind::FileTooLarge);
        fs::write(&path, [0xff]).unwrap();
        assert_eq!(kind(&path), io::ErrorKind::InvalidData);
    }
}
