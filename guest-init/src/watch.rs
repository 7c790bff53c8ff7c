//! The program's output and its end.

use crate::Error;
use crate::host::{CHUNK, Host};
use crate::input::Input;
use crate::streams::Ours;
use gil_wire::control::{Exited, Stream};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, read};
use signal_hook::SigId;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Notices children that end: a pipe that gets a byte then.
#[derive(Debug)]
pub struct Watch {
    ended: UnixStream,
    handler: SigId,
}

impl Drop for Watch {
    fn drop(&mut self) {
        signal_hook::low_level::unregister(self.handler);
    }
}

/// One of the program's streams.
struct Pipe {
    stream: Stream,
    end: OwnedFd,
    open: bool,
}

impl Pipe {
    fn new(stream: Stream, end: OwnedFd) -> Result<Self, Error> {
        fcntl(&end, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))
            .map_err(Error::system("set up a pipe"))?;
        Ok(Self {
            stream,
            end,
            open: true,
        })
    }

    /// Passes on what is there now.
    fn drain(&mut self, host: &mut dyn Host) -> Result<(), Error> {
        let mut chunk = [0; CHUNK];
        while self.open {
            match read(&self.end, &mut chunk) {
                Ok(0) => self.open = false,
                Ok(len) => host.console(self.stream, &chunk[..len])?,
                Err(Errno::EAGAIN) => break,
                Err(Errno::EINTR) => {}
                Err(errno) => {
                    return Err(Error::System {
                        what: "read a pipe",
                        errno,
                    });
                }
            }
        }
        Ok(())
    }
}

/// What init has of the program's streams.
pub struct Streams {
    outputs: Vec<Pipe>,
    input: Option<Input>,
    /// Open, so that the terminal is there while no program has it open.
    _terminal: Option<OwnedFd>,
}

impl Streams {
    /// Those that were opened.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn new(ours: Ours) -> Result<Self, Error> {
        let is_terminal = ours.terminal.is_some();
        let outputs = ours.outputs.into_iter();
        let input = ours.input.map(|end| Input::new(end, is_terminal));
        Ok(Self {
            outputs: outputs
                .map(|(stream, end)| Pipe::new(stream, end))
                .collect::<Result<_, _>>()?,
            input: input.transpose()?,
            _terminal: ours.terminal,
        })
    }

    /// See [`Input::wait_shortly`].
    pub fn wait_shortly(&mut self) {
        if let Some(input) = &mut self.input {
            input.wait_shortly();
        }
    }

    /// What is to happen before the program is executed.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn begin(&mut self, host: &mut dyn Host) -> Result<(), Error> {
        let input = self.input.as_mut();
        input.map_or(Ok(()), |input| input.begin(host))
    }
}

impl Watch {
    /// Begins to watch. Children made before are not noticed.
    ///
    /// # Errors
    /// [`Error::Children`].
    pub fn new() -> Result<Self, Error> {
        let (ended, write) = UnixStream::pair().map_err(Error::Children)?;
        ended.set_nonblocking(true).map_err(Error::Children)?;
        let handler = signal_hook::low_level::pipe::register(libc::SIGCHLD, write)
            .map_err(Error::Children)?;
        Ok(Self { ended, handler })
    }

    /// Passes on what the program and its children write, and what they are to
    /// read, until the program ends and nothing is left. `leave` is called before what
    /// the program left running is killed.
    ///
    /// # Errors
    /// [`Error::Device`] or [`Error::System`].
    pub fn follow(
        &self,
        program: Pid,
        mut streams: Streams,
        host: &mut dyn Host,
        leave: &dyn Fn() -> Result<(), Error>,
    ) -> Result<Exited, Error> {
        loop {
            let happened = self.sleep(&streams)?;
            // Looked at before the pipes: what the program wrote is in them by
            // the time that it has ended.
            let ended = self.reap(program);
            if ended.is_some() {
                leave()?;
                end_the_others();
            }
            for pipe in &mut streams.outputs {
                pipe.drain(host)?;
            }
            if let Some(ended) = ended {
                return Ok(ended);
            }
            if let Some(input) = &mut streams.input {
                input.step(happened, host)?;
            }
        }
    }

    /// What happened at the input's end.
    fn sleep(&self, streams: &Streams) -> Result<PollFlags, Error> {
        let readable = |end| PollFd::new(end, PollFlags::POLLIN);
        let mut ends = vec![readable(self.ended.as_fd())];
        let open = streams.outputs.iter().filter(|pipe| pipe.open);
        ends.extend(open.map(|pipe| readable(pipe.end.as_fd())));
        let input = streams.input.as_ref();
        let awaited = input.and_then(Input::awaited);
        let has_input = awaited.is_some();
        ends.extend(awaited);
        match poll(&mut ends, timeout(input.and_then(Input::pause))) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(PollFlags::empty()),
            Err(errno) => return Err(Error::system("poll")(errno)),
        }
        let last = ends.last().filter(|_| has_input);
        Ok(last.and_then(PollFd::revents).unwrap_or(PollFlags::empty()))
    }

    /// Takes in every child that ended, orphans included; says how `program`
    /// did, if it is among them.
    fn reap(&self, program: Pid) -> Option<Exited> {
        while matches!((&self.ended).read(&mut [0; 64]), Ok(1..)) {}
        let mut ended = None;
        while let Some((pid, status)) = next_child() {
            if pid == program.as_raw() {
                ended = end_of(status).or(ended);
            }
        }
        ended
    }
}

/// No shorter than the pause, which ends between two milliseconds.
fn timeout(pause: Option<Duration>) -> PollTimeout {
    let Some(pause) = pause else {
        return PollTimeout::NONE;
    };
    let millis = pause.as_nanos().div_ceil(1_000_000);
    PollTimeout::try_from(millis as u64).unwrap_or(PollTimeout::MAX)
}

/// A child that changed its state, and how, as `waitpid` has it: nix's knows no real-time
/// signals, and takes in a child that ended by one before it says so.
fn next_child() -> Option<(i32, i32)> {
    let mut status = 0;
    loop {
        // SAFETY: the status lives as long as the call.
        match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
            pid @ 1.. => return Some((pid, status)),
            -1 if Errno::last() == Errno::EINTR => {}
            _ => return None,
        }
    }
}

fn end_of(status: i32) -> Option<Exited> {
    let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    let signal = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status));
    (code.is_some() || signal.is_some()).then_some(Exited { code, signal })
}

/// The run is over when the program is: what it left behind would write for
/// ever. As init, this reaches every process but this one.
fn end_the_others() {
    if std::process::id() == 1 {
        let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
