//! What `gil` writes where nobody may be reading.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// How long a reader may take for the next piece of what is said of a run that has a time limit, or that a
/// signal ends.
pub const READ_WITHIN: Duration = Duration::from_secs(1);

/// A pipe that has room takes so many bytes at once (Linux's `PIPE_BUF`).
pub const PIECE: usize = 4096;

/// How long a write waits for room before it is looked whether to go on.
const SLICE: Duration = Duration::from_millis(20);

/// Writes this to standard error output. A reader holds it up, as any program's output, though with
/// a time only so long without reading anything: the rest is dropped then.
pub fn say(text: &[u8], within: Option<Duration>) {
    write_all(io::stderr().as_fd(), text, within);
}

fn write_all(out: BorrowedFd<'_>, mut rest: &[u8], within: Option<Duration>) {
    let mut read = Instant::now();
    while !rest.is_empty() {
        match write_some(out, &rest[..rest.len().min(PIECE)]) {
            Ok(0) if within.is_some_and(|within| read.elapsed() >= within) => return,
            Ok(0) => {}
            Ok(count) => {
                rest = &rest[count..];
                read = Instant::now();
            }
            // Nobody is reading any more; the exit code still says how the run went.
            Err(_) => return,
        }
    }
}

/// Writes as many bytes as it takes without waiting for long, of [`PIECE`] at most.
///
/// # Errors
/// Nobody reads them, or the disk is full.
pub fn write_some(out: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    let slice = PollTimeout::try_from(SLICE).unwrap_or(PollTimeout::ZERO);
    match poll(&mut [PollFd::new(out, PollFlags::POLLOUT)], slice) {
        Ok(0) | Err(Errno::EINTR) => return Ok(0),
        Ok(_) => {}
        Err(errno) => return Err(errno.into()),
    }
    match write(out, bytes) {
        // Somebody else made it one that does not wait.
        Err(Errno::EAGAIN | Errno::EINTR) => Ok(0),
        written => Ok(written?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// More than a pipe takes without a reader.
    const LONG: usize = 1 << 20;

    #[test]
    fn what_nobody_reads_is_dropped_once_its_time_is_over() {
        let (reader, writer) = io::pipe().unwrap();
        write_all(writer.as_fd(), &[7; LONG], Some(Duration::from_millis(50)));
        drop(writer);
        let mut read = Vec::new();
        (&reader).read_to_end(&mut read).unwrap();
        assert!(!read.is_empty() && read.len() < LONG, "{}", read.len());
    }

    #[test]
    fn a_slow_reader_gets_all_of_it() {
        let (mut reader, writer) = io::pipe().unwrap();
        let slow = std::thread::spawn(move || {
            let mut all = Vec::new();
            let mut piece = vec![0; LONG / 8];
            loop {
                std::thread::sleep(Duration::from_millis(30));
                match reader.read(&mut piece).unwrap() {
                    0 => return all,
                    count => all.extend_from_slice(&piece[..count]),
                }
            }
        });
        write_all(writer.as_fd(), &[7; LONG], Some(Duration::from_secs(60)));
        drop(writer);
        assert_eq!(slow.join().unwrap(), vec![7; LONG]);
    }

    #[test]
    fn a_closed_pipe_ends_it() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        write_all(writer.as_fd(), &[7; LONG], None);
    }
}
