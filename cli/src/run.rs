//! `gil run`: from a program's name to its exit code.

use crate::agent::{self, Agent, AgentError, Board};
use crate::apt::AptError;
use crate::arch::Arch;
use crate::args::RunArgs;
use crate::assets::{self, AssetError, Assets};
use crate::cache::{At, Cache, CacheError};
use crate::image::{self, Contents, RunFile};
use crate::kernel::{self, Kernel};
use crate::module;
use crate::monitor;
use crate::outcome::{Exit, Origin};
use crate::packages::{PackageSet, Packages};
use crate::process::Owned;
use crate::program::{self, Local, Program, ProgramError};
use crate::progress::Progress;
use crate::qemu::{self, Machine, QemuError, file};
use crate::report;
use crate::signals::Signalled;
use crate::supervise::{self, Ended, Simulation};
use crate::tree::Tree;
use crate::watch;
use gil_host::detect::watch::Spec;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Instant;

/// Why a run does not begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// QEMU.
    #[error(transparent)]
    Qemu(#[from] QemuError),
    /// gil's own files.
    #[error(transparent)]
    Assets(#[from] AssetError),
    /// Packages, the kernel, the driver.
    #[error(transparent)]
    Apt(#[from] AptError),
    /// Files.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The program.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The board.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The guest is too small for its files.
    #[error(
        "the guest's files take {image} MiB and its memory is {memory} MiB: give it at least --memory {least}M"
    )]
    Memory {
        /// Mebibytes of initramfs.
        image: u64,
        /// Mebibytes of RAM.
        memory: u64,
        /// Mebibytes that would do.
        least: u64,
    },
    /// A function to watch.
    #[error(transparent)]
    Watch(#[from] watch::Error),
    /// QEMU does not start.
    #[error("QEMU cannot be started: {0}")]
    Start(io::Error),
}

impl RunError {
    fn exit(&self) -> Exit {
        match self {
            Self::Program(error) => Exit::because(error.code(), Origin::Start, error.to_string()),
            other => Exit::bridge(other.to_string()),
        }
    }
}

/// Runs the program; writes its output, and the report.
pub fn run(args: &RunArgs) -> Exit {
    let progress = Progress::new(args.quiet);
    let ended = prepare_and_watch(args, &progress);
    progress.clear();
    let ended = ended.unwrap_or_else(|error| Ended::before_it_began(error.exit()));
    report::deliver(args, ended)
}

fn prepare_and_watch(args: &RunArgs, progress: &Progress) -> Result<Ended, RunError> {
    let signalled = Signalled::install().map_err(RunError::Start)?;
    check_cheap_things(args)?;
    let prepared = prepare(args, progress)?;
    let folder = folder()?;
    signalled.remove_at_exit(folder.path().into());
    let at = folder.path();
    progress.say("writing the guest's image");
    prepared.lay_out(args, at)?;
    let watch = watch::resolve(&args.watch, at)?;
    progress.say("asking the board");
    let agent = agent::ready(args.board.as_ref().unwrap_or(&Board::Own), at)?;
    let machine = machine(args, watch);
    let ended = simulate(args, &machine, at, &agent, &signalled, progress)?;
    keep(args, at, &ended)?;
    Ok(ended)
}

/// What needs no download and no build comes first.
fn check_cheap_things(args: &RunArgs) -> Result<(), RunError> {
    qemu::check()?;
    let is_path = args.program.contains('/');
    if is_path && (!args.program.starts_with('/') || Path::new(&args.program).exists()) {
        program::local(Path::new(&args.program))?;
    }
    for source in args.files.iter().map(|f| &f.source).chain(&args.stdin) {
        fs::metadata(source).at(source)?;
    }
    match &args.board {
        Some(Board::At(address)) => drop(agent::Connection::open(address)?),
        Some(Board::Replay(file)) => agent::check_recording(file)?,
        Some(Board::Own) | None => {}
    }
    Ok(())
}

/// Everything of a run that is not its own.
struct Prepared {
    assets: Assets,
    kernel: Kernel,
    module: PathBuf,
    sets: Vec<PackageSet>,
    tree: Tree,
    program: Program,
}

/// Debian's package of OpenCL's loader, and what it is needed for.
const OPENCL_LOADER: (&str, &str) = ("ocl-icd-libopencl1", "libOpenCL.so.1");

fn prepare(args: &RunArgs, progress: &Progress) -> Result<Prepared, RunError> {
    let cache = Cache::open()?;
    let mut packages = Packages::base(&cache, progress)?;
    if !args.packages.is_empty() {
        packages.add(&args.packages)?;
    }
    let program = program::find(&args.program, &tree(&packages))?;
    if let Program::Local(local) = &program {
        add_libraries(args, local, &mut packages)?;
    }
    let kernel = kernel::ensure(&cache, progress)?;
    progress.say("building what changed of gil");
    let assets = assets::ensure(packages.has(Arch::Armhf))?;
    let module = module::ensure(&cache, &kernel, &assets.driver, args.detect, progress)?;
    Ok(Prepared {
        assets,
        kernel,
        module,
        tree: tree(&packages),
        sets: packages.into_sets(),
        program,
    })
}

/// What a local program links with.
fn add_libraries(args: &RunArgs, local: &Local, packages: &mut Packages) -> Result<(), RunError> {
    if local.libraries.is_empty() {
        return Ok(());
    }
    packages.support(local.arch)?;
    let (package, library) = OPENCL_LOADER;
    let needs_loader = local.libraries.iter().any(|name| name == library);
    if needs_loader && !tree(packages).has_library(local.arch, library) {
        packages.add(&[local.arch.package(package)])?;
    }
    let added: Vec<_> = args.files.iter().map(|f| f.target.clone()).collect();
    local.check_libraries(&tree(packages), &added)?;
    Ok(())
}

fn tree(packages: &Packages) -> Tree {
    let sets = packages.sets();
    let mut all = image::skeleton();
    for set in sets {
        all.extend(set.tree.clone());
    }
    all
}

/// A private folder with a path short enough for sockets.
fn folder() -> Result<tempfile::TempDir, CacheError> {
    let temp = std::env::temp_dir();
    let is_short = temp.as_os_str().len() < 60 && !temp.to_string_lossy().contains(',');
    let base = if is_short { temp } else { "/tmp".into() };
    tempfile::Builder::new()
        .prefix("gil-")
        .tempdir_in(&base)
        .at(&base)
}

impl Prepared {
    /// Puts what QEMU reads in the run's folder.
    fn lay_out(&self, args: &RunArgs, at: &Path) -> Result<(), RunError> {
        let links = [
            (&self.kernel.image, file::KERNEL),
            (&self.assets.plugin, file::PLUGIN),
            (&self.module, file::MODULE),
        ];
        for (target, name) in links {
            let target = fs::canonicalize(target).at(target)?;
            symlink(&target, at.join(name)).at(&target)?;
        }
        if let Some(record) = &args.record {
            let target = std::path::absolute(record).at(record)?;
            // Made here, so that a wrong path is told before the guest boots.
            File::create(&target).at(&target)?;
            symlink(&target, at.join(file::TRACE)).at(&target)?;
        }
        let initrd = at.join(file::INITRD);
        image::write(
            &initrd,
            &self.sets,
            &self.contents(args, &self.run_file(args)),
        )?;
        check_memory(&initrd, args.memory)
    }

    fn contents<'a>(&'a self, args: &'a RunArgs, run: &'a RunFile) -> Contents<'a> {
        Contents {
            assets: &self.assets,
            module: &self.module,
            tree: &self.tree,
            program: &self.program,
            files: &args.files,
            stdin: args.stdin.as_deref(),
            run,
        }
    }

    fn run_file(&self, args: &RunArgs) -> RunFile {
        let program = match &self.program {
            Program::Guest(path) => path.clone(),
            Program::Local(local) => format!("/{}", local.guest_path()),
        };
        RunFile {
            argv: std::iter::once(program)
                .chain(args.args.iter().cloned())
                .collect(),
            env: image::environment(&args.env),
            cwd: args.cwd.clone(),
            stdin: args.stdin.as_ref().map(|_| image::STDIN.into()),
            module: image::MODULE.into(),
            uid: 0,
        }
    }
}

/// The kernel holds the archive and what is unpacked from it at once.
fn check_memory(initrd: &Path, memory: u64) -> Result<(), RunError> {
    const KERNEL: u64 = 128 << 20;
    let image = fs::metadata(initrd).at(initrd)?.len();
    let least = 2 * image + KERNEL;
    match least <= memory {
        true => Ok(()),
        false => Err(RunError::Memory {
            image: image.div_ceil(1 << 20),
            memory: memory >> 20,
            least: least.div_ceil(1 << 20),
        }),
    }
}

/// Events on their way: enough to keep both sides busy, few enough to bound
/// memory when the output is not read.
const EVENTS_WAITING: usize = 256;

fn machine(args: &RunArgs, watch: Vec<Spec>) -> Machine {
    Machine {
        memory: args.memory,
        cpu: args.cpu.clone(),
        detect: args.detect,
        board_timeout: args.board_timeout,
        count: args.count,
        time: args.time,
        watch,
        watch_limit: args.watch_limit,
    }
}

fn simulate(
    args: &RunArgs,
    machine: &Machine,
    at: &Path,
    agent: &Agent,
    signalled: &Signalled,
    progress: &Progress,
) -> Result<Ended, RunError> {
    let socket = at.join(file::MONITOR);
    let listener = UnixListener::bind(&socket).at(&socket)?;
    let (sender, messages) = mpsc::sync_channel(EVENTS_WAITING);
    let connection = monitor::listen(listener, sender.clone());
    signalled.watched_by(Some(sender));
    let started = Instant::now();
    progress.say("starting QEMU");
    let qemu = start_qemu(args, machine, at, &agent.address)?;
    let (console, log) = (at.join(file::CONSOLE), at.join(file::LOG));
    let ended = supervise::watch(Simulation {
        qemu,
        messages,
        connection,
        started,
        timeout: args.timeout,
        progress,
        logs: [&console, &log],
    });
    signalled.watched_by(None);
    Ok(ended)
}

fn start_qemu(
    args: &RunArgs,
    machine: &Machine,
    at: &Path,
    board: &str,
) -> Result<Owned, RunError> {
    let mut command = qemu::command(machine, at, board, args.record.is_some());
    if args.keep.is_some() {
        let path = at.join("qemu-command");
        fs::write(&path, written_out(&command)).at(&path)?;
    }
    let log = at.join(file::LOG);
    let log = File::create(&log).at(&log)?;
    let copy = log.try_clone().map_err(RunError::Start)?;
    command.stdin(Stdio::null()).stdout(copy).stderr(log);
    Owned::start(&mut command).map_err(RunError::Start)
}

fn written_out(command: &Command) -> String {
    let mut words = vec![command.get_program()];
    words.extend(command.get_args());
    let quoted = words
        .iter()
        .map(|word| format!("'{}'", word.to_string_lossy()));
    quoted.collect::<Vec<_>>().join(" ") + "\n"
}

/// Keeps what was asked for, and the logs of a run whose end nobody explained.
fn keep(args: &RunArgs, at: &Path, ended: &Ended) -> Result<(), RunError> {
    if args.console {
        let text = fs::read(at.join(file::CONSOLE)).unwrap_or_default();
        let _ = io::Write::write_all(&mut io::stderr().lock(), &text);
    }
    if let Some(folder) = &args.keep {
        keep_all(at, folder)?;
    } else if ended.exit.origin == Origin::Bridge {
        keep_logs(at)?;
    }
    Ok(())
}

fn keep_all(at: &Path, folder: &Path) -> Result<(), CacheError> {
    fs::create_dir_all(folder).at(folder)?;
    for entry in fs::read_dir(at).at(at)? {
        let path = entry.at(at)?.path();
        let is_file = fs::metadata(&path).is_ok_and(|meta| meta.is_file());
        if is_file {
            let target = folder.join(path.file_name().unwrap_or_default());
            fs::copy(&path, &target).at(&target)?;
        }
    }
    Ok(())
}

/// In the cache: the last failed run's logs.
fn keep_logs(at: &Path) -> Result<(), CacheError> {
    let folder = Cache::open()?.root().join("last-failure");
    fs::create_dir_all(&folder).at(&folder)?;
    for name in [file::CONSOLE, file::LOG, "board.log"] {
        let source = at.join(name);
        if source.is_file() {
            let target = folder.join(name);
            fs::copy(&source, &target).at(&target)?;
        }
    }
    Ok(())
}
