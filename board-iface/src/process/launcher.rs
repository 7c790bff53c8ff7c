//! The agent's side: starting processes, handing them connections, and
//! learning how they ended.

use super::ready::Ready;
use super::{Channel, Setup, Task, Word};
use crate::back_end::BackEnd;
use crate::confine::Folder;
use gil_wire::identity::DeviceInfo;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::BorrowedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a process may take to leave once its session is over.
const LEAVE_WITHIN: Duration = Duration::from_secs(5);
/// How long one that was killed may take: it may be in the kernel, in a driver
/// that does not come back.
const DIE_WITHIN: Duration = Duration::from_secs(5);
/// Pause between looks at whether a process has left.
const LOOK: Duration = Duration::from_millis(5);
/// Pause before another process is started that nobody waits for: about what it
/// takes to load a driver, so that processes do not load theirs at the same time.
const BETWEEN_STARTS: Duration = Duration::from_millis(250);
/// This program, even if its file was replaced since it was started.
const ITSELF: &str = "/proc/self/exe";

/// How this program is started as a process of an agent's own.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Its name in lists of processes.
    pub name: &'static str,
    /// The arguments of [`run`](super::run)'s caller.
    pub args: &'static [&'static str],
    /// The back ends that its sessions may load.
    pub back_ends: &'static [&'static dyn BackEnd],
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// As it should.
    Clean,
    /// By a signal.
    Signal(i32),
    /// With an exit code.
    Code(i32),
    /// It was killed, since it did not leave.
    Stuck,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Clean => f.write_str("ended"),
            Self::Signal(number) => match Signal::try_from(*number) {
                Ok(signal) => write!(f, "was ended by {signal}"),
                Err(_) => write!(f, "was ended by signal {number}"),
            },
            Self::Code(code) => write!(f, "ended with exit code {code}"),
            Self::Stuck => f.write_str("did not end and was killed"),
        }
    }
}

impl From<ExitStatus> for End {
    fn from(status: ExitStatus) -> Self {
        match (status.signal(), status.code()) {
            (Some(signal), _) => Self::Signal(signal),
            (None, Some(0)) => Self::Clean,
            (None, code) => Self::Code(code.unwrap_or(-1)),
        }
    }
}

/// What a process and its peer do next.
#[derive(Debug)]
pub enum Next {
    /// The process says something.
    Word(Word),
    /// It has ended.
    Gone,
    /// The peer hung up.
    HungUp,
    /// Nothing of it until then.
    Late,
}

/// A process. Killed when it is dropped before its end.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    channel: Option<Channel>,
    over: bool,
    killed: bool,
    taken_back: bool,
    /// Of a confined one; goes after it.
    _folder: Option<Folder>,
}

impl Worker {
    /// Starts a process, with these variables in its environment. It lives no
    /// longer than the calling thread.
    ///
    /// # Errors
    /// The system's.
    pub fn start(
        program: Program,
        env: &[(OsString, OsString)],
        setup: &Setup,
    ) -> io::Result<Self> {
        let (ours, theirs) = Channel::pair()?;
        let mut command = Command::new(ITSELF);
        let folder = match &setup.confinement {
            Some(confinement) => {
                let folder = Folder::new(&confinement.folders, "session-")?;
                folder.furnish(&mut command, confinement, program.back_ends);
                Some(folder)
            }
            None => None,
        };
        let child = command
            .arg0(program.name)
            .args(program.args)
            .arg("--worker")
            .arg(std::process::id().to_string())
            .envs(env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::from(theirs.into_fd()))
            .stdout(Stdio::null())
            // What guests' code may start is in it, and ends with it.
            .process_group(0)
            .spawn()?;
        let worker = Self {
            child,
            channel: Some(ours),
            over: false,
            killed: false,
            taken_back: false,
            _folder: folder,
        };
        worker.send(setup, &[])?;
        Ok(worker)
    }

    fn send(&self, message: &impl serde::Serialize, files: &[BorrowedFd<'_>]) -> io::Result<()> {
        let channel = self.channel.as_ref();
        channel
            .ok_or(io::ErrorKind::BrokenPipe)?
            .send(message, files)
    }

    /// Says what it is for.
    ///
    /// # Errors
    /// The system's, if it is gone.
    pub fn begin(&self, task: &Task, files: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.send(task, files)
    }

    /// What it says next; none if it has ended.
    pub fn hear(&mut self) -> Option<Word> {
        let word = self.channel.as_ref()?.hear::<Word>().ok()??;
        self.over |= matches!(word, Word::Over);
        Some(word)
    }

    /// The same, if it says it within this time.
    pub fn hear_within(&mut self, time: Duration) -> Option<Word> {
        let channel = self.channel.as_ref()?;
        match channel.is_ready_within(time) {
            true => self.hear(),
            false => None,
        }
    }

    /// Whether it is gone.
    pub fn has_ended(&self) -> bool {
        let channel = self.channel.as_ref();
        // What it has to say comes before this is asked: only its end is left.
        channel.is_none_or(|channel| channel.is_ready_within(Duration::ZERO))
    }

    /// Waits until it says something, or the peer at this socket hangs up, or
    /// until then.
    pub fn next(&mut self, peer: Option<BorrowedFd<'_>>, until: Option<Instant>) -> Next {
        let Some(channel) = &self.channel else {
            return Next::Gone;
        };
        let hung_up = PollFlags::from_bits_retain(libc::POLLRDHUP);
        let mut fds = vec![PollFd::new(channel.as_fd(), PollFlags::POLLIN)];
        fds.extend(peer.map(|peer| PollFd::new(peer, hung_up)));
        loop {
            match poll(&mut fds, left(until)) {
                Ok(0) if until.is_some_and(|until| Instant::now() >= until) => return Next::Late,
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) if fds[0].any() == Some(true) => break,
                Ok(_) => return Next::HungUp,
                Err(_) => return Next::Gone,
            }
        }
        self.hear().map_or(Next::Gone, Next::Word)
    }

    /// Kills it and what it started, and waits a while for its end.
    pub fn kill(&mut self) {
        self.killed = true;
        let _ = killpg(self.pid(), Signal::SIGKILL);
        if !self.leaves_within(DIE_WITHIN) {
            tracing::error!(
                "process {} was killed and does not end: the GPU's driver holds it in the kernel; a restart of this machine may be needed",
                self.id()
            );
        }
    }

    /// Whether it was.
    pub fn was_killed(&self) -> bool {
        self.killed
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended within this time.
    fn leaves_within(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while !self.has_left() {
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(LOOK);
        }
        true
    }

    /// Waits for its end.
    pub fn end(mut self) -> End {
        // It has nothing more to hear: a process without a task leaves.
        self.channel = None;
        match self.leaves_within(LEAVE_WITHIN) {
            true => self.take_back().map_or(End::Stuck, End::from),
            // Dropped, so killed.
            false => End::Stuck,
        }
    }

    /// Whether it has ended; its number is its own until it is taken back.
    fn has_left(&self) -> bool {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        let status = waitid(Id::Pid(self.pid()), flags);
        !matches!(status, Ok(WaitStatus::StillAlive))
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Ends it, if it has not, and what it started: a guest's code may have.
    fn take_back(&mut self) -> io::Result<ExitStatus> {
        if !self.taken_back {
            let _ = killpg(self.pid(), Signal::SIGKILL);
            self.taken_back = true;
        }
        self.child.wait()
    }

    /// Whether it said that its session is over.
    pub fn is_over(&self) -> bool {
        self.over
    }
}

#[cfg(test)]
impl Worker {
    /// A process that does nothing, and the end at which a test speaks for it.
    pub(crate) fn double() -> (Self, Channel) {
        let (ours, theirs) = Channel::pair().unwrap();
        let mut command = Command::new("sleep");
        let worker = Self {
            child: command.arg("600").process_group(0).spawn().unwrap(),
            channel: Some(ours),
            over: false,
            killed: false,
            taken_back: false,
            _folder: None,
        };
        (worker, theirs)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.take_back();
    }
}

/// The time left until then.
fn left(until: Option<Instant>) -> PollTimeout {
    let Some(until) = until else {
        return PollTimeout::NONE;
    };
    let left = until.saturating_duration_since(Instant::now());
    // Not a little less.
    let left = left.saturating_add(Duration::from_millis(1));
    PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
}

/// Keeps processes ready for the next sessions.
#[derive(Debug)]
pub struct Launcher {
    ready: Ready<Worker>,
    devices: Vec<DeviceInfo>,
}

impl Launcher {
    /// Starts the first of so many.
    ///
    /// # Errors
    /// The system's.
    pub fn new(
        program: Program,
        env: Vec<(OsString, OsString)>,
        setup: Setup,
        most: NonZeroUsize,
    ) -> io::Result<Self> {
        let devices = setup.devices.clone();
        // Processes do not outlive the thread that starts them: it is the
        // launcher's.
        let ready = Ready::new(most, BETWEEN_STARTS, move || {
            Worker::start(program, &env, &setup)
        })?;
        Ok(Self { ready, devices })
    }

    /// The drivers' devices.
    pub fn devices(&self) -> &[DeviceInfo] {
        &self.devices
    }

    /// How many processes are kept ready.
    pub fn most(&self) -> usize {
        self.ready.most()
    }

    /// A process for a session.
    ///
    /// # Errors
    /// The system's, such as too many processes.
    pub fn take(&self) -> io::Result<Worker> {
        self.ready.take()
    }
}
