//! `gil run`: from a program's name to its exit code.

use crate::args::RunArgs;
use crate::build_times;
use crate::call_files;
use crate::launch::{self, LaunchError};
use crate::live;
use crate::output::{Output, OutputError};
use crate::recorded::{self, RecordedError};
use crate::report;
use crate::say::{READ_WITHIN, say};
use crate::screen;
use crate::script::{self, NotInGuest};
use crate::shares::{ShareError, Shared};
use crate::signals::Signalled;
use crate::simulator::{self, Simulator, SimulatorError};
use crate::stdin::{self, StdinError};
use crate::supervise::Ended;
use gil_board::confine::Support;
use gil_board_client::agent::{self, AgentError};
use gil_board_client::boards::BoardsError;
use gil_board_client::profile::MachineError;
use gil_call_report::log;
use gil_guest_image::guest::{self, GuestError};
use gil_guest_image::memory::{self, MemoryError};
use gil_guest_image::placed::{self, PlaceError};
use gil_guest_image::program::{self, ProgramError};
use gil_report::{Exit, Origin};
use gil_run_support::cache::CacheError;
use gil_run_support::folder::{self, file};
use gil_run_support::progress::Progress;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Why a run does not start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// An error in the guest's contents.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// The simulator, and what it reads.
    #[error(transparent)]
    Simulator(#[from] SimulatorError),
    /// The simulator's start.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// Files.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The program.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The board.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The boards.
    #[error(transparent)]
    Boards(#[from] BoardsError),
    /// The target.
    #[error("the board's profile with --target has {0}")]
    Target(#[from] MachineError),
    /// The guest's memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// An error in the files that the user asked for.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A file that the simulator writes.
    #[error(transparent)]
    Recorded(#[from] RecordedError),
    /// What is copied into the guest.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// Shared folders and outputs.
    #[error(transparent)]
    Share(#[from] ShareError),
    /// Standard input.
    #[error(transparent)]
    Stdin(#[from] StdinError),
    /// The script that the program is to run.
    #[error(transparent)]
    Script(#[from] NotInGuest),
    /// An option of gil's behind a program that is nowhere.
    #[error(
        "there is no program {program} in the guest, and {option} behind it went to the program: write gil's options before the program"
    )]
    Behind {
        /// The program.
        program: String,
        /// What follows it.
        option: String,
    },
    /// Signals cannot be handled.
    #[error("signals cannot be handled: {0}")]
    Signals(io::Error),
}

impl RunError {
    fn exit(&self) -> Exit {
        match self {
            Self::Program(error) | Self::Guest(GuestError::Program(error)) => {
                Exit::because(error.code(), Origin::Start, error.to_string())
            }
            Self::Behind { .. } => Exit::because(127, Origin::Start, self.to_string()),
            Self::Stdin(error @ StdinError::Slow { .. }) => {
                Exit::because(124, Origin::Timeout, error.to_string())
            }
            other => Exit::bridge(other.to_string()),
        }
    }
}

/// Runs the program; writes its output, and the report.
pub fn run(args: &RunArgs) -> Exit {
    if let Err(error) = recorded::check_json(args) {
        eprint!("{}", report::harmless(&format!("gil: {error}")));
        return Exit::bridge(error.to_string());
    }
    let progress = Progress::new(args.quiet);
    let ended = prepare_and_watch(args, &progress);
    progress.clear();
    let ended = ended.unwrap_or_else(|error| Ended::before_it_began(error.exit()));
    report::deliver(args, ended)
}

fn prepare_and_watch(args: &RunArgs, progress: &Progress) -> Result<Ended, RunError> {
    let signalled = Signalled::install(progress).map_err(RunError::Signals)?;
    let reported = args.clone();
    signalled.report_by(move |signal| report::ended_by(signal, &reported));
    let ended = prepare_and_simulate(args, &signalled, progress);
    signalled.comes_first(ended.is_err());
    ended
}

fn prepare_and_simulate(
    args: &RunArgs,
    signalled: &Signalled,
    progress: &Progress,
) -> Result<Ended, RunError> {
    let mut simulator = simulator::choose(args)?;
    check_cheap_things(args, &*simulator, signalled)?;
    let mut shared = Shared::prepare(args, signalled)?;
    let folder = folder::create()?;
    signalled.remove_at_exit(folder.path().into());
    let at = folder.path();
    stdin::take(args, at)?;
    let guest = guest::prepare(&args.wanted(), simulator.part(), progress)
        .map_err(|error| explained(args, error))?;
    script::check(args, &guest)?;
    // It looks for its devices while the simulator gets ready.
    let boards = args.chosen()?;
    let starting = boards.begin(at, &args.confining, args.first_contact())?;
    simulator.lay_out(&guest, at, progress)?;
    let lack = |board| agent::lack(board, &args.confining, Support::here());
    if let Some(lack) = boards.own().and_then(lack) {
        progress.note(lack);
    }
    shared.serve(at, progress)?;
    let recorded = recorded::begin(args, &at.join(file::TRACE), signalled)?;
    let taken = recorded::begin_calls(args, &at.join(file::CALLS))?;
    if args.keeps_build_times() {
        build_times::link(&at.join(file::WORK_TIMES), progress);
    }
    let mut ended = launch::simulate(args, &*simulator, at, starting, signalled, progress)?;
    shared.deliver(&recorded::own(args)?, &mut ended.exit);
    recorded.deliver(&mut ended.exit, signalled);
    let is_its = args.call_sites && taken.is_written();
    if let Some(calls) = args.calls.as_deref().filter(|_| is_its) {
        // Without them the report has fewer names.
        let _ = log::add_files(calls, call_files::of(&guest));
    }
    keep(args, &*simulator, at, &ended)?;
    ended.outdir = simulator.outdir().map(Into::into);
    Ok(ended)
}

/// Whoever writes `gil run clinfo --pkg clinfo` has named the package.
fn explained(args: &RunArgs, error: GuestError) -> RunError {
    match (error, args.option_behind()) {
        (GuestError::Program(ProgramError::NotInGuest(program)), Some(option)) => {
            let option = option.into();
            RunError::Behind { program, option }
        }
        (error, _) => error.into(),
    }
}

/// What needs no download and no build comes first.
fn check_cheap_things(
    args: &RunArgs,
    simulator: &dyn Simulator,
    signalled: &Signalled,
) -> Result<(), RunError> {
    simulator.check(signalled)?;
    memory::check(args.memory)?;
    let program = args.program();
    let is_path = program.contains('/');
    if is_path && (!program.starts_with('/') || Path::new(program).exists()) {
        program::local(Path::new(program))?;
    }
    recorded::check(args)?;
    if let Some(keep) = &args.keep {
        Output::of("--keep", keep).check_folder()?;
    }
    screen::check(args)?;
    placed::check(&args.files)?;
    script::check_early(args)?;
    stdin::check(args)?;
    live::check(args).map_err(LaunchError::from)?;
    args.check_target()?;
    args.chosen()?.check(args.first_contact())?;
    Ok(())
}

/// Keeps what was asked for, and the logs of a run whose end nobody explained.
fn keep(
    args: &RunArgs,
    simulator: &dyn Simulator,
    at: &Path,
    ended: &Ended,
) -> Result<(), CacheError> {
    let console = simulator.console(at);
    if let (true, Some(console)) = (args.console, &console) {
        let text = fs::read(console).unwrap_or_default();
        say(&text, args.timeout.map(|_| READ_WITHIN));
    }
    if let Some(folder) = &args.keep {
        folder::keep_all(at, folder)?;
    } else if ended.exit.origin == Origin::Bridge {
        let logs = std::iter::once(simulator.log(at)).chain(board_logs(at));
        folder::keep_logs(&logs.chain(console).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// What agents wrote that this run started, for each API or for all.
fn board_logs(at: &Path) -> Vec<PathBuf> {
    let names = fs::read_dir(at).into_iter().flatten().flatten();
    let paths = names.map(|entry| entry.path());
    let is_log = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("board") && name.ends_with(".log")
    };
    let mut logs: Vec<_> = paths.filter(is_log).collect();
    logs.sort_unstable();
    logs
}
