//! What the user types, or pipes to `gil run`: asked of the host, and written to the
//! program's end.
//!
//! The host is asked for more once the program's end takes more. When there was nothing,
//! it is asked again after [`PAUSE`] of simulated time. If no program of the guest had
//! anything to do then, the host waits as long for the user, in wall time: so the clock of
//! a guest that waits for its user goes about as fast as the user's, and this machine has
//! nearly nothing to do. While programs compute it is asked less and less often, up to
//! [`LONGEST_PAUSE`]: a question has them wait.

use crate::Error;
use crate::host::Host;
use gil_wire::input::{ANSWER_MAX, Ask, Given, INPUT_MAX, Size};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags};
use nix::unistd::write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Between questions when there was no answer; and how long the host waits for one,
/// in wall time.
const PAUSE: Duration = Duration::from_millis(10);
/// The same while programs compute.
const LONGEST_PAUSE: Duration = Duration::from_millis(160);
/// What a terminal of the guest's takes at once.
const TERMINAL_MAX: usize = 4096;

/// The program's input.
pub struct Input {
    /// None once nothing more comes.
    end: Option<OwnedFd>,
    is_terminal: bool,
    room: Vec<u8>,
    /// What the end did not take yet.
    unwritten: Vec<u8>,
    /// Nothing comes after that.
    has_ended: bool,
    /// Until the next question if this one has no answer.
    pause: Duration,
    next: Next,
}

/// When the host is asked next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// When the program's end takes more.
    OnceWritable,
    /// Then.
    At(Instant),
}

impl Input {
    /// An input that is written to `end`.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn new(end: OwnedFd, is_terminal: bool) -> Result<Self, Error> {
        fcntl(&end, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))
            .map_err(Error::system("set up the standard input"))?;
        Ok(Self {
            end: Some(end),
            is_terminal,
            room: vec![0; ANSWER_MAX],
            unwritten: Vec::new(),
            has_ended: false,
            pause: PAUSE,
            next: Next::OnceWritable,
        })
    }

    /// Gives the terminal its size, before the program sees it.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn begin(&mut self, host: &mut dyn Host) -> Result<(), Error> {
        self.ask(0, false, host)
    }

    /// What to wait for. An end that nobody reads any more is noticed in any case.
    pub fn awaited(&self) -> Option<PollFd<'_>> {
        let events = match self.next {
            Next::At(_) if self.unwritten.is_empty() => PollFlags::empty(),
            _ => PollFlags::POLLOUT,
        };
        let end = self.end.as_ref()?;
        Some(PollFd::new(end.as_fd(), events))
    }

    /// How long to wait for that at most.
    pub fn pause(&self) -> Option<Duration> {
        match self.next {
            Next::At(then) if self.end.is_some() => {
                Some(then.saturating_duration_since(Instant::now()))
            }
            _ => None,
        }
    }

    /// Goes on, with what happened at the end.
    ///
    /// # Errors
    /// [`Error::Device`] or [`Error::System`].
    pub fn step(&mut self, happened: PollFlags, host: &mut dyn Host) -> Result<(), Error> {
        if happened.intersects(PollFlags::POLLERR | PollFlags::POLLHUP) {
            self.end = None;
        }
        self.write()?;
        if self.end.is_none() || !self.unwritten.is_empty() {
            return Ok(());
        }
        match self.next {
            Next::OnceWritable if happened.contains(PollFlags::POLLOUT) => {
                self.ask(self.most(), false, host)?;
            }
            Next::At(then) if then <= Instant::now() => {
                let is_idle = is_idle();
                self.pause = next_pause(self.pause, is_idle);
                self.ask(self.most(), is_idle, host)?;
            }
            _ => {}
        }
        self.write()
    }

    fn most(&self) -> usize {
        match self.is_terminal {
            true => TERMINAL_MAX,
            false => INPUT_MAX,
        }
    }

    fn ask(&mut self, most: usize, waits: bool, host: &mut dyn Host) -> Result<(), Error> {
        let patience = if waits { PAUSE } else { Duration::ZERO };
        let ask = Ask {
            most: most as u32,
            patience_ms: patience.as_millis() as u32,
        };
        let given = host.ask(ask, &mut self.room)?.unwrap_or(ENDED);
        if let (Some(size), Some(end)) = (given.size, &self.end) {
            resize(end, size)?;
        }
        if most > 0 {
            self.unwritten.extend_from_slice(given.bytes);
            self.next = match given.bytes.is_empty() {
                true => Next::At(Instant::now() + self.pause),
                false => Next::OnceWritable,
            };
        }
        self.has_ended = given.ended;
        Ok(())
    }

    /// Writes what the end takes.
    fn write(&mut self) -> Result<(), Error> {
        while let (Some(end), false) = (&self.end, self.unwritten.is_empty()) {
            match write(end, &self.unwritten) {
                Ok(len) => drop(self.unwritten.drain(..len)),
                Err(Errno::EAGAIN) => break,
                Err(Errno::EINTR) => {}
                // The program reads no more.
                Err(Errno::EPIPE | Errno::EIO) => self.end = None,
                Err(errno) => return Err(Error::system("write to the program")(errno)),
            }
        }
        if self.has_ended && self.unwritten.is_empty() {
            self.end = None;
        }
        Ok(())
    }
}

fn next_pause(last: Duration, is_idle: bool) -> Duration {
    match is_idle {
        true => PAUSE,
        false => LONGEST_PAUSE.min(last * 2),
    }
}

/// The answer of nobody.
const ENDED: Given = Given {
    size: None,
    ended: true,
    bytes: &[],
};

/// Whether nobody but this process has anything to do: in `0.00 0.00 0.00 1/50 99`,
/// the 1.
fn is_idle() -> bool {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    running(&text) == Some(1)
}

fn running(load: &str) -> Option<u32> {
    let of_all = load.split_whitespace().nth(3)?;
    of_all.split_once('/')?.0.parse().ok()
}

/// The kernel tells the programs of the terminal.
fn resize(terminal: &OwnedFd, size: Size) -> Result<(), Error> {
    let window = libc::winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: `window` is laid out as TIOCSWINSZ reads it.
    let done = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ as _, &window) };
    Errno::result(done).map_err(Error::system("resize a terminal"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_computes_is_left_alone_for_longer() {
        let mut pause = PAUSE;
        let pauses = [false, false, false, false, false, true].map(|is_idle| {
            pause = next_pause(pause, is_idle);
            pause.as_millis()
        });
        assert_eq!(pauses, [20, 40, 80, 160, 160, 10]);
    }

    #[test]
    fn the_running_are_told_from_all() {
        assert_eq!(running("0.00 0.01 0.05 2/53 123\n"), Some(2));
        assert_eq!(running(""), None);
        assert!(running(&std::fs::read_to_string("/proc/loadavg").unwrap()) >= Some(1));
    }
}
