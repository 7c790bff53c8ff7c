//! Starts the simulator, and watches it to its end.

use crate::args::RunArgs;
use crate::input;
use crate::live::{LiveError, View};
use crate::monitor::{self, Message};
use crate::relay::Relay;
use crate::screen::{Screen, ScreenError};
use crate::signals::Signalled;
use crate::simulator::{Simulator, SimulatorError};
use crate::supervise::{self, Ended, Simulation};
use crate::terminal;
use gil_board_client::agent::AgentError;
use gil_board_client::boards::{Options, StartingAll};
use gil_run_support::cache::{At, CacheError};
use gil_run_support::folder::{create_file, file};
use gil_run_support::process::Owned;
use gil_run_support::progress::Progress;
use std::fs;
use std::io;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, SyncSender};
use std::time::Instant;

/// Why the simulator does not start.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// Files.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The board.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// It does not begin.
    #[error(transparent)]
    Begin(#[from] SimulatorError),
    /// The guest's display.
    #[error(transparent)]
    Screen(#[from] ScreenError),
    /// The view of the run.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// Its process.
    #[error("{simulator} cannot be started: {source}")]
    Start {
        /// Its name.
        simulator: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
}

/// Events on their way: enough to keep both sides busy, few enough to bound
/// memory when the output is not read.
const EVENTS_WAITING: usize = 256;

/// Simulates what was laid out in the folder `at`, with these boards.
///
/// # Errors
/// [`LaunchError`] if the simulator or the board does not start.
pub fn simulate(
    args: &RunArgs,
    simulator: &dyn Simulator,
    at: &Path,
    boards: StartingAll,
    signalled: &Signalled,
    progress: &Progress,
) -> Result<Ended, LaunchError> {
    let socket = at.join(file::MONITOR);
    let listener = UnixListener::bind(&socket).at(&socket)?;
    let (sender, messages) = mpsc::sync_channel(EVENTS_WAITING);
    let connection = monitor::listen(listener, sender.clone());
    let relays = relays(simulator, at, &sender)?;
    let _terminal = give_input(args, at)?;
    let view = View::of(args)?;
    signalled.watched_by(Some(sender));
    let started = Instant::now();
    let options = boards.options();
    let begin = || {
        progress.say(&format!("starting {}", simulator.name()));
        start(args, simulator, at, &options)
    };
    let ask = || {
        progress.say("asking the board");
        boards.ready(args.needs_driver())
    };
    // The board gets ready meanwhile, where the simulator waits for that.
    let (mut process, _agents) = match simulator.connects_at_once() {
        true => {
            let agents = ask()?;
            (begin()?, agents)
        }
        false => (begin()?, ask()?),
    };
    let screen = Screen::watch(args, at, &mut process)?;
    simulator.begin(at, &mut process)?;
    screen
        .as_ref()
        .map_or(Ok(()), |it| it.serve(args, progress))?;
    let (console, log) = (simulator.console(at), simulator.log(at));
    let mut ended = supervise::watch(Simulation {
        name: simulator.name(),
        loaded: simulator.loaded(),
        ending: simulator.ending(),
        process,
        messages,
        connection,
        relays,
        started,
        timeout: args.timeout,
        progress,
        logs: console.into_iter().chain([log]).collect(),
        screen: screen.as_ref(),
        view,
    });
    if let Some(screen) = screen {
        screen.deliver(&mut ended.exit);
    }
    signalled.watched_by(None);
    Ok(ended)
}

/// The program's standard input, if it is this process's. The terminal is as it
/// was once what is returned is dropped.
fn give_input(args: &RunArgs, at: &Path) -> Result<Option<terminal::Restored>, CacheError> {
    if !args.interactive {
        return Ok(None);
    }
    let socket = at.join(file::INPUT);
    input::serve(UnixListener::bind(&socket).at(&socket)?, args.tty);
    args.tty.then(terminal::guard).transpose().at(&socket)
}

fn relays(
    simulator: &dyn Simulator,
    at: &Path,
    sender: &SyncSender<Message>,
) -> Result<Vec<Relay>, CacheError> {
    let pipes = simulator.pipes().into_iter();
    pipes
        .map(|(pipe, name)| Relay::open(&at.join(name), pipe, sender.clone()))
        .collect()
}

fn start(
    args: &RunArgs,
    simulator: &dyn Simulator,
    at: &Path,
    boards: &Options,
) -> Result<Owned, LaunchError> {
    let failed = |source| LaunchError::Start {
        simulator: simulator.name(),
        source,
    };
    let mut command = simulator.command(at, boards);
    if args.keep.is_some() {
        let name = simulator.name().to_lowercase();
        let path = at.join(format!("{name}-command"));
        fs::write(&path, written_out(&command)).at(&path)?;
    }
    let log = simulator.log(at);
    let log = create_file(&log).at(&log)?;
    let copy = log.try_clone().map_err(failed)?;
    command.stdin(Stdio::null()).stdout(copy).stderr(log);
    Owned::start(&mut command).map_err(failed)
}

fn written_out(command: &Command) -> String {
    let mut words = vec![command.get_program()];
    words.extend(command.get_args());
    let quoted = words
        .iter()
        .map(|word| format!("'{}'", word.to_string_lossy()));
    quoted.collect::<Vec<_>>().join(" ") + "\n"
}
