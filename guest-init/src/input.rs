//! What the user types, or pipes to `gil run`: asked of the host, and written to the
//! program's end.
//!
//! The host is asked for more once the program's end takes more. When there was nothing,
//! it is asked again after [`PAUSE`] of simulated time, and then less and less often. If no
//! program of the guest had anything to do at a question, the host waits for the user as
//! long as it was until the question, in wall time, and answers as soon as there is input:
//! so the clock of a guest that waits for its user goes about as fast as the user's, and
//! this machine has nearly nothing to do. The pauses then grow up to [`LONGEST_WAIT`]. While
//! programs compute they grow up to [`LONGEST_PAUSE`]: a question has them wait.

use crate::Error;
use crate::host::Host;
use gil_wire::input::{ANSWER_MAX, Ask, Given, INPUT_MAX, Size};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags};
use nix::unistd::write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Between questions when there was no answer, at first.
const PAUSE: Duration = Duration::from_millis(10);
/// The same in the end, while programs wait. All of them stand still as long in wall
/// time, however soon one of them wanted to go on.
const LONGEST_WAIT: Duration = Duration::from_millis(80);
/// The same in the end, while programs compute.
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
    /// Whether programs were waiting at the last question.
    was_idle: bool,
    /// Until the next question while programs wait.
    longest_wait: Duration,
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
            was_idle: false,
            longest_wait: LONGEST_WAIT,
            next: Next::OnceWritable,
        })
    }

    /// Has programs stand still for no longer than at first, while they wait: what
    /// they wait for may come from elsewhere.
    pub fn wait_shortly(&mut self) {
        self.longest_wait = PAUSE;
    }

    /// Gives the terminal its size, before the program sees it.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn begin(&mut self, host: &mut dyn Host) -> Result<(), Error> {
        self.ask(0, Duration::ZERO, host)
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
                self.ask(self.most(), Duration::ZERO, host)?;
            }
            Next::At(then) if then <= Instant::now() => {
                let is_idle = is_idle();
                let patience = match (self.was_idle, is_idle) {
                    (true, true) => self.pause,
                    (false, true) => PAUSE,
                    (_, false) => Duration::ZERO,
                };
                self.pause = self.next_pause(is_idle);
                self.was_idle = is_idle;
                self.ask(self.most(), patience, host)?;
            }
            _ => {}
        }
        self.write()
    }

    /// The pause after the next question, by who waits at this one.
    fn next_pause(&self, is_idle: bool) -> Duration {
        match (self.was_idle, is_idle) {
            (true, true) => self.longest_wait.min(self.pause * 2),
            (false, false) => LONGEST_PAUSE.min(self.pause * 2),
            (false, true) => PAUSE,
            (true, false) => PAUSE * 2,
        }
    }

    fn most(&self) -> usize {
        match self.is_terminal {
            true => TERMINAL_MAX,
            false => INPUT_MAX,
        }
    }

    fn ask(&mut self, most: usize, patience: Duration, host: &mut dyn Host) -> Result<(), Error> {
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
            if !given.bytes.is_empty() {
                (self.pause, self.was_idle) = (PAUSE, false);
            }
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
    fn questions_come_less_and_less_often() {
        let (_read, write) = nix::unistd::pipe().unwrap();
        let mut input = Input::new(write, false).unwrap();
        let mut pauses = |idle: [bool; 6]| {
            idle.map(|is_idle| {
                input.pause = input.next_pause(is_idle);
                input.was_idle = is_idle;
                input.pause.as_millis()
            })
        };
        let busy = pauses([false, false, false, false, false, true]);
        assert_eq!(busy, [20, 40, 80, 160, 160, 10]);
        let waiting = pauses([true, true, true, true, true, false]);
        assert_eq!(waiting, [20, 40, 80, 80, 80, 20]);
        input.wait_shortly();
        input.was_idle = true;
        assert_eq!(input.next_pause(true), PAUSE);
    }

    #[test]
    fn the_running_are_told_from_all() {
        assert_eq!(running("0.00 0.01 0.05 2/53 123\n"), Some(2));
        assert_eq!(running(""), None);
        assert!(running(&std::fs::read_to_string("/proc/loadavg").unwrap()) >= Some(1));
    }
}
