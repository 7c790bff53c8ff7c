//! The process's side.

use super::{Channel, Found, Setup, Task, Word};
use crate::back_end::BackEnd;
use crate::board::BoardError;
use crate::confine::learn;
use crate::meter::Meter;
use crate::printed;
use crate::router::Router;
use crate::session::{self, SessionOptions};
use gil_transport::greeting::Shaken;
use libloading::Library;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::dup2_stdin;
use socket2::Socket;
use std::fs::File;
use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::process::parent_id;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A process that has nothing to do for this long loads the driver ahead.
const IDLE: Duration = Duration::from_millis(20);
/// Stack of a session's thread: drivers compile kernels on it.
const STACK: usize = 16 << 20;

/// Has the system kill this process when the one that started it ends.
fn end_with_parent() -> io::Result<()> {
    let signal = libc::c_ulong::try_from(libc::SIGKILL).unwrap_or_default();
    // Not nix's: it has none for Android.
    // SAFETY: this operation reads a number and touches no memory.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Does what the agent with this process number says over standard input, with
/// these back ends.
///
/// # Errors
/// The system's.
pub fn run(agent: u32, back_ends: &[&'static dyn BackEnd]) -> io::Result<()> {
    end_with_parent()?;
    if parent_id() != agent {
        // It was gone before that.
        return Ok(());
    }
    let signals = block_signals()?;
    let channel = take_stdin()?;
    let Some((setup, _)) = channel.receive::<Setup>()? else {
        return Ok(());
    };
    // There is one thread yet.
    if let Some(confinement) = &setup.confinement {
        let confined = confinement.enter(&std::env::temp_dir());
        confined.map_err(io::Error::other)?;
    }
    let served = Served::default();
    end_with_sigterm(signals, served.clone())?;
    printed::capture()?;
    let is_confined = setup.confinement.is_some();
    let board = Router::new(back_ends, setup.driver, setup.devices, is_confined);
    if !channel.is_ready_within(IDLE) {
        board.load_ahead();
    }
    let mut task = channel.receive::<Task>()?;
    while let Some((Task::Query { back_end, library }, _)) = task {
        let found = query(&board, &back_end, library).map_err(|error| error.to_string());
        channel.send(&Word::Found(found), &[])?;
        task = channel.receive()?;
    }
    match task {
        Some((Task::Session { number, shaken }, files)) => {
            let files: Result<[_; 2], _> = files.try_into();
            let [socket, meter] = files.map_err(|_| io::ErrorKind::NotFound)?;
            let session = Connected {
                number,
                socket: Arc::new(Socket::from(socket)),
                meter: Meter::of(File::from(meter))?,
                shaken,
                options: setup.session,
            };
            super::bound::serves_one_session();
            let _ = served.set(session.socket.clone());
            session.serve(board, channel)
        }
        Some((Task::Query { .. }, _)) | None => Ok(()),
    }
}

/// The channel, which drivers find no trace of on standard input.
fn take_stdin() -> io::Result<Channel> {
    let channel = io::stdin().as_fd().try_clone_to_owned()?;
    dup2_stdin(File::open("/dev/null")?)?;
    Ok(Channel::on(channel))
}

/// The connection that came with the task.
struct Connected {
    number: u64,
    socket: Arc<Socket>,
    meter: Meter,
    shaken: Shaken,
    options: SessionOptions,
}

impl Connected {
    /// Serves the connection, in a thread with a stack for drivers.
    fn serve(self, board: Router, agent: Channel) -> io::Result<()> {
        let name = format!("session {}", self.number);
        let work = move || {
            let _span = tracing::info_span!("session", number = self.number).entered();
            // If the agent is gone, so is this process.
            let ending = || drop(agent.send(&Word::Ending, &[]));
            let (socket, shaken, meter) = (self.socket, &self.shaken, self.meter);
            session::run(socket, shaken, meter, &board, self.options, &ending);
            agent.send(&Word::Over, &[])
        };
        let thread = std::thread::Builder::new().name(name).stack_size(STACK);
        let joined = thread.spawn(work)?.join();
        joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// The socket of the session, once there is one.
type Served = Arc<OnceLock<Arc<Socket>>>;

/// SIGTERM ends the session, with everything it made released, or a process
/// without one; SIGINT is meant for the agent, on whose terminal it was typed.
/// Both are blocked in all threads, since drivers replace signal handlers; so
/// is what a terminal has for who writes there from the background.
fn block_signals() -> io::Result<SigSet> {
    let signals = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM]);
    signals.thread_block()?;
    SigSet::from_iter([Signal::SIGTTOU]).thread_block()?;
    Ok(signals)
}

fn end_with_sigterm(signals: SigSet, served: Served) -> io::Result<()> {
    let watch = move || {
        while signals.wait() != Ok(Signal::SIGTERM) {}
        match served.get() {
            Some(socket) => drop(socket.shutdown(Shutdown::Both)),
            None => std::process::exit(0),
        }
    };
    let thread = std::thread::Builder::new().name("signals".into());
    thread.spawn(watch).map(drop)
}

/// What a back end's drivers have.
fn query(router: &Router, back_end: &str, library: Option<String>) -> Result<Found, QueryError> {
    if let Some(name) = library {
        // SAFETY: a driver's initialisation has no preconditions; it is
        // this process that it may crash.
        let loaded = unsafe { Library::new(&name) };
        // Its API's own loader takes it from here.
        std::mem::forget(loaded.map_err(QueryError::Library)?);
    }
    let devices = router.board(back_end)?.devices();
    let files = learn::used();
    Ok(Found { devices, files })
}

/// Why a driver has nothing to offer.
#[derive(Debug, thiserror::Error)]
enum QueryError {
    #[error("its library does not load ({0}): install it again")]
    Library(libloading::Error),
    #[error(transparent)]
    Board(#[from] BoardError),
}
