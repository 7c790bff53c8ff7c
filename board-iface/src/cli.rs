//! The command `gil-board`, which is also `gil board`.

use crate::back_end::{BackEnd, DriverOptions, WarmUps};
use crate::board::BoardError;
use crate::confine::{Confinement, Folders, Support};
use crate::inventory::Inventory;
use crate::printed;
use crate::process::{self, Launcher, Program, Setup};
use crate::replay::ReplayBoard;
use crate::router::Router;
use crate::server::{
    HANG_UP_GRACE, Server, ServerError, ServerOptions, Sessions, Stopper, user_name,
};
use crate::session::{ScriptedTimes, SessionOptions};
use gil_transport::client::BoardConfig;
use gil_transport::secure::{Key, KeyError};
use gil_wire::Op;
use gil_wire::address::Address;
use gil_wire::choice::Together;
use gil_wire::generated::APIS;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::Uid;
use std::ffi::OsString;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Runs forwarded GPU calls on this machine's devices.
#[derive(Clone, Debug, clap::Args)]
pub struct BoardArgs {
    /// Where to listen: tcp://HOST:PORT (port 0: any free one) or unix:PATH.
    /// tcp:// needs --key: nothing else says who a peer is. A Unix socket
    /// serves the agent's own user and root.
    #[arg(long, value_name = "ADDR", required_unless_present_any = ["list", "worker"])]
    pub listen: Option<Address>,
    /// Say what devices there are and why others are left out, and end.
    #[arg(long, conflicts_with_all = ["listen", "replay"])]
    pub list: bool,
    /// Take peers only that have this key, and encrypt what is exchanged;
    /// `gil key new FILE` makes one.
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// For tcp:// on loopback without a key: let every user of this machine in,
    /// who may then do what the agent's user may.
    #[arg(long, conflicts_with = "key")]
    pub allow_any_local_user: bool,
    /// Answer from a recording instead of a device.
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// Answer from the sessions of this API's board only, where the recorded run had several
    /// boards; may be repeated.
    #[arg(long = "for", value_name = "API", requires = "replay", value_parser = Together::named)]
    pub replayed_for: Vec<Together>,
    /// Have the board at this address serve what was not recorded.
    #[arg(long, value_name = "ADDR", requires = "replay")]
    pub live: Option<Address>,
    /// The key of that board.
    #[arg(long, value_name = "FILE", requires = "live")]
    pub live_key: Option<PathBuf>,
    /// End when standard input is closed, so that no agent outlives the
    /// process that started it.
    #[arg(long)]
    pub exit_with_stdin: bool,
    /// Where sessions live: in a process each, so that a GPU driver that
    /// crashes ends one session only, or in threads of the agent, as those of
    /// a recording do.
    #[arg(long, value_enum, value_name = "KIND")]
    pub sessions: Option<SessionsIn>,
    /// How far sessions are confined.
    #[command(flatten)]
    pub confining: Confining,
    /// Sessions at a time.
    #[arg(long, value_name = "N", default_value = "64")]
    pub max_sessions: NonZeroUsize,
    /// Processes that wait for sessions with the driver loaded, so that as many
    /// sessions begin at once without waiting for it. Each has 13 MiB of its own
    /// with PoCL. No more wait than --max-sessions.
    #[arg(long, value_name = "N", default_value = "8")]
    pub ready_sessions: NonZeroUsize,
    /// Mebibytes of call data that one session may hold in memory, and of objects
    /// in this machine's own memory.
    #[arg(long, value_name = "MIB", default_value_t = 4096)]
    pub max_memory: u64,
    /// Seconds for which a session's simulator may ask for nothing; without it
    /// there is no bound.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_idle: Option<u64>,
    /// Seconds for which a session's process may go on once its peer hung up;
    /// then it is killed, with the kernels that it runs.
    #[arg(long, value_name = "SECONDS", default_value_t = HANG_UP_GRACE.as_secs())]
    pub hang_up_grace: u64,
    /// In front of a kernel that finds an idle device, enqueue work for a moment on devices of
    /// this kind: timers of an idle GPU say more than the kernel takes behind another.
    #[arg(long, value_enum, value_name = "DEVICES", default_value_t)]
    pub warm_up: WarmUps,
    /// For tests, and for drivers that lie: do not ask the driver which of a
    /// kernel's arguments are objects, but read it from the program's text.
    #[arg(long)]
    pub no_kernel_arg_info: bool,
    /// For tests: ask for that information by an option that no driver knows.
    #[arg(long)]
    pub unknown_arg_info: bool,
    /// For tests: report these times instead of measured ones, in
    /// nanoseconds, written cpu=NS,device=NS.
    #[arg(long, value_name = "TIMES", value_parser = scripted_times)]
    pub scripted_times: Option<ScriptedTimes>,
    /// For tests: run what is enqueued by this function, but where the guest
    /// does not wait for the answer say that it was refused with this error;
    /// written clEnqueueNDRangeKernel=-54.
    #[arg(long, value_name = "NAME=ERROR", value_parser = refused_posts)]
    pub refuse_posted: Option<RefusedPosts>,
    /// For tests: wait this many milliseconds before every answer.
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub delay_reply: u64,
    /// Be a process of the agent with this number.
    #[arg(long, value_name = "PID", hide = true)]
    pub worker: Option<u32>,
}

/// How far an agent confines its sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct Confining {
    /// Let a session's process do all that this agent's user may: a guest's
    /// kernels are code there if a device is a CPU.
    #[arg(long)]
    pub no_confinement: bool,
    /// Have all sessions keep compiled kernels in this folder, for guests that
    /// trust each other: what one session puts there, others run. Usually each
    /// session compiles its own.
    #[arg(long, value_name = "FOLDER")]
    pub shared_cache: Option<PathBuf>,
}

impl Confining {
    /// As it is written on a command line.
    #[must_use]
    pub fn arguments(&self) -> Vec<OsString> {
        let mut all: Vec<OsString> = Vec::new();
        if self.no_confinement {
            all.push("--no-confinement".into());
        }
        if let Some(folder) = &self.shared_cache {
            all.extend(["--shared-cache".into(), folder.into()]);
        }
        all
    }

    /// What sessions on a machine that has so much lack of what they were to
    /// have, in one sentence.
    #[must_use]
    pub fn lack(&self, support: Support) -> Option<&'static str> {
        support.lack().filter(|_| !self.no_confinement)
    }
}

/// Whether sessions are processes or threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SessionsIn {
    /// In a process each.
    Processes,
    /// In threads of one process.
    Threads,
}

/// A text that is not `cpu=NS,device=NS`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" gives no times: write cpu=NS,device=NS, both in nanoseconds")]
pub struct TimesError(String);

fn scripted_times(text: &str) -> Result<ScriptedTimes, TimesError> {
    let fail = || TimesError(text.into());
    let (mut cpu, mut device) = (None, None);
    for part in text.split(',') {
        let (name, value) = part.split_once('=').ok_or_else(fail)?;
        let slot = match name.trim() {
            "cpu" => &mut cpu,
            "device" => &mut device,
            _ => return Err(fail()),
        };
        *slot = Some(value.trim().parse().map_err(|_| fail())?);
    }
    Ok(ScriptedTimes {
        cpu_ns: cpu.ok_or_else(fail)?,
        device_ns: device.ok_or_else(fail)?,
    })
}

/// Enqueues that are said to be refused where nobody waits for their answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedPosts {
    /// The function.
    pub op: Op,
    /// The API's error code.
    pub error: i32,
}

/// A text that is not `NAME=ERROR`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" names no refusal: write an API's function and its error, NAME=ERROR, where 0 is none"
)]
pub struct RefusedPostsError(String);

fn refused_posts(text: &str) -> Result<RefusedPosts, RefusedPostsError> {
    let parse = || {
        let (name, error) = text.split_once('=')?;
        let mut ops = APIS
            .iter()
            .flat_map(|api| api.calls.iter().map(move |call| (api, call)));
        let (api, call) = ops.find(|(_, call)| call.name == name)?;
        let error = error.parse().ok().filter(|error| *error != 0)?;
        let op = Op::new(api.number, call.entry);
        Some(RefusedPosts { op, error })
    };
    parse().ok_or_else(|| RefusedPostsError(text.into()))
}

/// Why the agent does not run.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// No device, no recording.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The server.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// No key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Nothing that can be used.
    #[error("{}", no_device(.0))]
    NoDevice(Vec<String>),
    /// Neither an address nor anything else to do.
    #[error("give --listen ADDR, tcp://HOST:PORT or unix:PATH")]
    NoAddress,
    /// A recording in processes.
    #[error(
        "a recording's sessions follow each other in one process: leave out --sessions processes"
    )]
    ReplayInProcesses,
    /// Sessions that cannot be confined.
    #[error(
        "sessions in threads are not confined, the agent would be: leave out --sessions threads, or let only guests in that you trust and say so by --no-confinement"
    )]
    ThreadsUnconfined,
    /// Signals, standard input or output.
    #[error("the agent cannot be set up: {0}")]
    System(#[from] io::Error),
}

fn no_device(left_out: &[String]) -> String {
    match left_out {
        [] => "no device can be used".into(),
        reasons => format!("no device can be used: {}", reasons.join("; ")),
    }
}

/// Runs the agent until SIGINT, SIGTERM, or the end of standard input if so
/// asked. Prints one line, `listening on ADDR`, when it is ready. `program` is
/// how this program gets here again.
///
/// # Errors
/// [`CliError`], one sentence.
pub fn run(args: &BoardArgs, program: Program) -> Result<(), CliError> {
    if let Some(agent) = args.worker {
        return Ok(process::run(agent, program.back_ends)?);
    }
    if args.list {
        return list(args, program);
    }
    let address = args.listen.as_ref().ok_or(CliError::NoAddress)?;
    let options = options(args)?;
    let signals = block_signals()?;
    let (sessions, _kept) = sessions(args, program)?;
    let (server, stopper) = Server::bind_with(address, sessions, options)?;
    let stopper = Arc::new(stopper);
    end_with_signals(signals, stopper.clone())?;
    if args.exit_with_stdin {
        end_with_stdin(stopper)?;
    }
    let who = match &args.key {
        Some(file) => format!("peers that have the key {}", file.display()),
        None if args.allow_any_local_user => "every user of this machine".into(),
        None => format!(
            "the user {} of this machine",
            user_name(Uid::effective().as_raw())
        ),
    };
    tracing::info!("for {who}, up to {} sessions", args.max_sessions);
    let mut out = io::stdout();
    writeln!(out, "listening on {}", server.address())?;
    out.flush()?;
    // Nothing of the agent's own goes there any more.
    printed::capture()?;
    Ok(server.run()?)
}

/// What has to be kept as long as sessions live.
struct Kept {
    _inventory: Inventory,
    _folders: Option<Folders>,
}

/// Where sessions live, and what that needs.
fn sessions(args: &BoardArgs, program: Program) -> Result<(Sessions, Option<Kept>), CliError> {
    if let Some(file) = &args.replay {
        if args.sessions == Some(SessionsIn::Processes) {
            return Err(CliError::ReplayInProcesses);
        }
        let board = ReplayBoard::open_for(file, &args.replayed_for).map_err(BoardError::from)?;
        let board = board.with_live(live(args)?);
        return Ok((Sessions::Threads(Arc::new(board)), None));
    }
    if args.sessions == Some(SessionsIn::Threads) && !args.confining.no_confinement {
        return Err(CliError::ThreadsUnconfined);
    }
    let inventory = take_inventory(args, program)?;
    if args.sessions == Some(SessionsIn::Threads) {
        let devices = inventory.devices;
        let board = Router::new(program.back_ends, driver_options(args), devices, false);
        board.load_ahead();
        return Ok((Sessions::Threads(Arc::new(board)), None));
    }
    let (confinement, folders) = confinement(args, &inventory, program.back_ends)?.unzip();
    let setup = Setup {
        devices: inventory.devices.clone(),
        confinement,
        ..setup(args)
    };
    let ready = args.ready_sessions;
    let ready = ready.min(args.max_sessions);
    let launcher = Launcher::new(program, inventory.env.clone(), setup, ready)?;
    let kept = Kept {
        _inventory: inventory,
        _folders: folders,
    };
    Ok((Sessions::Processes(Arc::new(launcher)), Some(kept)))
}

/// The board behind a recording, if there is one.
fn live(args: &BoardArgs) -> Result<Option<BoardConfig>, KeyError> {
    let Some(address) = args.live.clone() else {
        return Ok(None);
    };
    Ok(Some(BoardConfig {
        address: Some(address),
        key: args.live_key.as_deref().map(Key::read).transpose()?,
        ..BoardConfig::default()
    }))
}

fn take_inventory(args: &BoardArgs, program: Program) -> Result<Inventory, CliError> {
    let inventory = Inventory::take(program, &setup(args))?;
    for line in inventory.lines() {
        tracing::info!("{line}");
    }
    match inventory.devices.is_empty() {
        true => Err(CliError::NoDevice(inventory.left_out)),
        false => Ok(inventory),
    }
}

/// How sessions are confined. What is missing for it is said here, once.
fn confinement(
    args: &BoardArgs,
    inventory: &Inventory,
    back_ends: &[&dyn BackEnd],
) -> Result<Option<(Confinement, Folders)>, CliError> {
    if args.confining.no_confinement {
        return Ok(None);
    }
    let folders = Folders::new()?;
    let confinement = Confinement {
        folders: folders.path().into(),
        shared_cache: args
            .confining
            .shared_cache
            .as_deref()
            .map(made)
            .transpose()?,
        ..Confinement::learn(&inventory.files, &inventory.registered, back_ends)
    };
    match args.confining.lack(confinement.support) {
        Some(lack) => tracing::warn!("{lack}"),
        None => tracing::info!("sessions are confined"),
    }
    tracing::debug!("{confinement:?}");
    Ok(Some((confinement, folders)))
}

/// A folder that is there, wherever a process works.
fn made(folder: &Path) -> io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    folder.canonicalize()
}

fn list(args: &BoardArgs, program: Program) -> Result<(), CliError> {
    let inventory = Inventory::take(program, &setup(args))?;
    let mut out = io::stdout();
    for line in inventory.lines() {
        writeln!(out, "{line}")?;
    }
    match inventory.devices.is_empty() {
        true => Err(CliError::NoDevice(Vec::new())),
        false => Ok(()),
    }
}

fn setup(args: &BoardArgs) -> Setup {
    Setup {
        driver: driver_options(args),
        session: session_options(args),
        devices: Vec::new(),
        confinement: None,
    }
}

fn driver_options(args: &BoardArgs) -> DriverOptions {
    DriverOptions {
        asks_arg_info: !args.no_kernel_arg_info,
        unknown_arg_info: args.unknown_arg_info,
        warm_ups: args.warm_up,
        refuses_posted: args
            .refuse_posted
            .map(|refused| (refused.op, refused.error)),
    }
}

fn options(args: &BoardArgs) -> Result<ServerOptions, KeyError> {
    Ok(ServerOptions {
        key: args.key.as_deref().map(Key::read).transpose()?,
        any_local_user: args.allow_any_local_user,
        sessions: args.max_sessions.get(),
        session: session_options(args),
        grace: Duration::from_secs(args.hang_up_grace),
    })
}

fn session_options(args: &BoardArgs) -> SessionOptions {
    SessionOptions {
        memory: args.max_memory.saturating_mul(1 << 20),
        scripted: args.scripted_times,
        delay: Duration::from_millis(args.delay_reply),
        silence: args.max_idle.map(Duration::from_secs),
    }
}

/// Signals that end the agent. They are blocked in all threads and waited for
/// in one, because drivers replace signal handlers (LLVM's remove its
/// temporary files and let the process die).
fn block_signals() -> io::Result<SigSet> {
    let signals = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM]);
    signals.thread_block()?;
    Ok(signals)
}

fn end_with_signals(signals: SigSet, stopper: Arc<Stopper>) -> io::Result<()> {
    let watch = move || {
        while signals.wait().is_err() {}
        stopper.stop();
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(watch)?;
    Ok(())
}

fn end_with_stdin(stopper: Arc<Stopper>) -> io::Result<()> {
    let watch = move || {
        // io::copy() goes on when a signal interrupts it.
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        stopper.stop();
    };
    std::thread::Builder::new()
        .name("stdin".into())
        .spawn(watch)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_any_order() {
        let times = ScriptedTimes {
            cpu_ns: 5,
            device_ns: 7,
        };
        assert_eq!(scripted_times("cpu=5,device=7"), Ok(times));
        assert_eq!(scripted_times("device=7, cpu=5"), Ok(times));
        for text in ["", "cpu=5", "cpu=5,device=x", "cpu=5,gpu=7"] {
            assert!(scripted_times(text).is_err(), "{text}");
        }
    }
    #[test]
    fn refusals_name_a_function_and_an_error() {
        let refused = refused_posts("clEnqueueNDRangeKernel=-54").unwrap();
        let name = refused.op.name();
        assert_eq!((name, refused.error), (Some("clEnqueueNDRangeKernel"), -54));
        // Other APIs' codes are positive.
        assert_eq!(refused_posts("clFlush=2").unwrap().error, 2);
        for text in [
            "",
            "clEnqueueTask",
            "clEnqueueTask=0",
            "clNone=-1",
            "clFlush=x",
        ] {
            assert!(refused_posts(text).is_err(), "{text}");
        }
    }
}
