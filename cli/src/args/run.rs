//! The options of `gil run`.

use super::environment::{self, Variables};
use super::guest::{NO_DISPLAY, driver, gpus, package, platforms};
use super::{DisplayOptions, Gem5Options, GlTime, Network, Out, Share, Sim, Time};
use clap::Args;
use gil_board_client::agent;
use gil_board_client::boards::{BoardFor, Boards, BoardsError, KeyFor, LiveBoard};
use gil_board_client::profile::{Machine, MachineError, Profile, ProfileError, Quantity, Targeted};
use gil_detect::watch::{BYTES, Spec, ioctl, job};
use gil_guest_image::copied::Copied;
use gil_guest_image::full_system::{Reaches, Start};
use gil_guest_image::gpu::{Gpu, Model, Place};
use gil_guest_image::guest::Wanted;
use gil_guest_image::image::Live;
use gil_guest_image::module::Detect;
use gil_guest_image::platforms::Platforms;
use gil_host::config::WATCH_LIMIT;
use gil_run_support::cache::contents;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// Arguments of `gil run`.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Add a Debian arm64 package, with what it depends on, to the guest;
    /// NAME:armhf for a 32-bit one.
    #[arg(long = "pkg", value_name = "PACKAGE", value_parser = package)]
    pub packages: Vec<String>,
    /// Whether programs see platforms of Debian packages too.
    #[arg(long, help = Platforms::option_help())]
    pub package_platforms: bool,
    /// Copy a file or folder into the guest.
    #[arg(long = "file", value_name = "SRC:DST")]
    pub files: Vec<Copied>,
    /// Share a folder of this machine with the guest, which sees it as GUEST, or
    /// in /mnt under its own name. Nothing outside it can be reached. With :ro,
    /// nothing can be changed in it.
    #[arg(long = "share", value_name = "DIR[:GUEST][:ro]")]
    pub shares: Vec<Share>,
    /// When the program has ended, copy a file or folder of the guest here.
    #[arg(long = "out", value_name = "GUEST:HOST")]
    pub outputs: Vec<Out>,
    /// Give the guest a network, over which it reaches servers on this machine's
    /// loopback at these TCP ports, by the name "host", or all that this machine
    /// reaches.
    #[arg(long, value_name = "host:PORT[,PORT]…|outside")]
    pub net: Option<Network>,
    /// The simulator (default: qemu).
    #[arg(long, value_enum, value_name = "SIMULATOR")]
    pub sim: Option<Sim>,
    /// Use this board: tcp://HOST:PORT, unix:PATH, or replay:FILE to answer
    /// from a recording. With an API in front (gles=BOARD for EGL and OpenGL ES,
    /// opencl=BOARD) it serves that one, and may be given for each. APIs without
    /// a board are served by an agent that is started on this machine and ended
    /// after.
    #[arg(long = "board", value_name = "[API=]BOARD")]
    pub boards: Vec<BoardFor>,
    /// Use a board that takes only peers that have this key; encrypts what is
    /// exchanged. With an API in front it is that of the API's board.
    #[arg(long = "key", value_name = "[API=]FILE")]
    pub keys: Vec<KeyFor>,
    /// Have this board serve what the recording of `--board replay:FILE` has not: tcp://HOST:PORT,
    /// unix:PATH, or local for an agent that is started on this machine. The run is
    /// recorded to the file of --record, or else in place of what was replayed.
    #[arg(long, value_name = "BOARD", value_parser = LiveBoard::from_str)]
    pub replay_live: Option<LiveBoard>,
    /// The key of that board.
    #[arg(long, value_name = "FILE", requires = "replay_live")]
    pub replay_live_key: Option<PathBuf>,
    /// Correct the board's times by its profile, which `gil calibrate` measured.
    #[arg(long, value_name = "FILE", value_parser = profile)]
    board_profile: Option<Named<Profile>>,
    /// Have the target differ from the board: cpu_mhz, gpu_mhz, cores (of the GPU) or memory_gb_s
    /// (of the GPU's memory), as `gpu_mhz=800`; the board's profile says what the board has, and which
    /// parts of an operation's time that changes. May be repeated.
    #[arg(long = "target", value_name = "KEY=NUMBER", requires = "board_profile")]
    pub targets: Vec<Targeted>,
    /// How far the agent that is started confines sessions.
    #[command(flatten)]
    pub confining: gil_board::cli::Confining,
    /// Record every request, answer and timing.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Compress what is recorded.
    #[arg(long, requires = "record")]
    pub compress: bool,
    /// Log every call: when it was made and returned in simulated time, its operation's
    /// start and end, its bytes. `gil report FILE` makes tables, CSV and time lines of it.
    #[arg(long, value_name = "FILE")]
    pub calls: Option<PathBuf>,
    /// Log from where in the program each call is made, for `gil report --by line`.
    #[arg(long, requires = "calls")]
    pub call_sites: bool,
    /// Measure how long builds of programs take. Usually a build of the same sources with the
    /// same options takes in simulated time what the first one took, in an earlier run too.
    #[arg(long)]
    pub measure_builds: bool,
    /// Draw by Debian's Mesa and this driver of a GPU, whose calls the board's own
    /// driver of that name executes: virtio_gpu, lima or panfrost. Usually programs draw
    /// by gil's libraries for EGL and OpenGL ES. With --screen or --display, virtio_gpu
    /// has outputs too; the others have none.
    #[arg(long, value_name = "NAME", value_parser = driver)]
    pub driver: Option<String>,
    /// Draw by Debian's Mesa and the kernel's own driver (virtio_gpu) on a GPU of QEMU's,
    /// which this machine's OpenGL draws: no board has a part in it. For --watch-driver.
    #[arg(long, conflicts_with_all = ["driver", "shown"])]
    pub qemu_gpu: bool,
    /// Draw by Debian's Mesa and the kernel's own driver of this GPU, whose registers are
    /// gil's: panfrost's Mali-T628, or lima's Mali-400.
    #[arg(long, value_name = "GPU", value_parser = gpus(), conflicts_with_all = ["driver", "qemu_gpu", "shown"])]
    pub gpu: Option<String>,
    /// How the simulator notices a GPU request.
    #[arg(long, value_enum, default_value = "marker")]
    pub detect: Detect,
    /// Write the report as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Show no progress and no report: only the program's output, and what went
    /// wrong.
    #[arg(long, short)]
    pub quiet: bool,
    /// Show in the terminal how the run does while it goes on: calls a second, what the
    /// GPU does in simulated time, where wall time goes, the slowest calls and the last
    /// lines of the program's output, all of which comes after the view is closed.
    #[arg(long, conflicts_with_all = ["quiet", "tty"])]
    pub live: bool,
    /// The guest's memory; if it is not said, 1G, or more if its packages and
    /// files need more.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// The guest's CPU, as QEMU names it (usually cortex-a57), or gem5's model:
    /// atomic (the usual), timing, minor, o3.
    #[arg(long, value_parser = cpu)]
    pub cpu: Option<String>,
    /// Give the program this file as standard input.
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,
    /// Give the program what comes on gil's own standard input, as it comes.
    #[arg(long, short, conflicts_with = "stdin")]
    pub interactive: bool,
    /// Give the program a terminal, whose other end is the one that gil runs in.
    #[arg(long, short, requires = "interactive")]
    pub tty: bool,
    /// Set a variable in the program's environment; NAME alone has its value
    /// on this machine, if it is set here.
    #[arg(long = "env", short, value_name = "NAME[=VALUE]", value_parser = environment::variable)]
    env: Vec<Variables>,
    /// Set the variables of this file, one a line, as --env takes them; --env
    /// comes after.
    #[arg(long = "env-file", value_name = "FILE", value_parser = variables)]
    env_files: Vec<Named<Variables>>,
    /// Start the program in this folder of the guest; a relative path begins at
    /// this machine's current folder.
    #[arg(long, short, alias = "cwd", value_name = "FOLDER", default_value = "/root", value_parser = environment::folder)]
    pub workdir: String,
    /// End the run after this many seconds of wall time, with exit code 124.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,
    /// Call the board lost if one call takes longer, in seconds of wall time;
    /// 600 unless said otherwise.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub board_timeout: Option<Duration>,
    /// Count the guest's instructions, for the report's prediction of
    /// simulated time. Takes about twice the wall time.
    #[arg(long)]
    pub count: bool,
    /// List each job of a GPU's kernel driver in the report of --json: when it was
    /// submitted, started and ended in simulated time.
    #[arg(long, requires = "json")]
    pub list_jobs: bool,
    /// Print a line for every call of a function, with its arguments: FUNCTION
    /// of the kernel, MODULE:FUNCTION, PROGRAM:FUNCTION or LIBRARY:FUNCTION;
    /// may be repeated.
    #[arg(long, value_name = "SYMBOL")]
    pub watch: Vec<Spec>,
    /// Print a line for every call of a GPU's kernel driver, decoded: of the guest's own
    /// (its module, found by symbol), or of the one that --driver puts in its place:
    /// virtio_gpu, lima or panfrost.
    #[arg(long, value_name = "NAME", value_parser = driver)]
    pub watch_driver: Option<String>,
    /// Bytes shown of each part of a program's memory that such a call points to.
    #[arg(long, value_name = "BYTES", default_value_t = BYTES, requires = "watch_driver")]
    pub watch_bytes: usize,
    /// Lines at most for each watched function; calls beyond are counted. All ioctls of a
    /// driver that --driver puts in place are one function.
    #[arg(long, value_name = "LINES", default_value_t = WATCH_LIMIT)]
    pub watch_limit: u64,
    /// When the durations of GPU operations are known: `async`, calls return at
    /// once, and simulated time waits for a duration where it is needed; `strict`,
    /// each call waits for it.
    #[arg(long, value_enum, default_value_t = Time::Async)]
    pub time: Time,
    /// When the board waits until what OpenGL ES drew is done: where the
    /// program waits; also at each swap, for the times of frames; or after
    /// each call, for what every call costs.
    #[arg(long, value_name = "WAITS", value_enum, default_value_t = GlTime::Program)]
    pub gl_time: GlTime,
    /// Keep the run's files here: kernel, initramfs, the simulator's command
    /// line, logs.
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
    /// Boot the guest, instead of continuing one that booted before.
    #[arg(long)]
    pub boot: bool,
    /// Show what the guest's kernel wrote.
    #[arg(long)]
    pub console: bool,
    /// The guest's display.
    #[command(flatten)]
    pub display: DisplayOptions,
    /// gem5's own options.
    #[command(flatten)]
    pub gem5: Gem5Options,
    /// The program: a name of the guest's packages, or a path of a local script, arm64
    /// or armhf program. What follows are its arguments, options too.
    // One list: after its first word, nothing is an option of gil's.
    #[arg(value_name = "PROGRAM", trailing_var_arg = true, required = true)]
    pub command: Vec<String>,
}

impl RunArgs {
    /// The program, as the user named it.
    pub fn program(&self) -> &str {
        &self.command[0]
    }

    /// The program's arguments.
    pub fn arguments(&self) -> &[String] {
        &self.command[1..]
    }

    /// The first of the program's arguments that would be an option of gil's before it.
    pub fn option_behind(&self) -> Option<&str> {
        let own = Self::augment_args(clap::Command::new("run"));
        let names = own.get_arguments().filter_map(clap::Arg::get_long);
        let names: Vec<_> = names.collect();
        let is_own = |argument: &&String| {
            let name = argument.strip_prefix("--").unwrap_or_default();
            names.contains(&name.split('=').next().unwrap_or_default())
        };
        self.arguments().iter().find(is_own).map(String::as_str)
    }

    /// The guest's contents.
    pub fn wanted(&self) -> Wanted<'_> {
        Wanted {
            program: self.program(),
            packages: &self.packages,
            platforms: platforms(self.gpu().as_ref(), self.package_platforms),
            files: &self.files,
            gpu: self.gpu(),
        }
    }

    /// The driver that the board must have for the guest's GPU.
    pub fn needs_driver(&self) -> Option<&str> {
        let own = self.registers().map(Model::driver);
        self.driver.as_deref().or(own)
    }

    /// The GPU whose registers are gil's.
    pub fn registers(&self) -> Option<Model> {
        Model::named(self.gpu.as_deref()?)
    }

    /// The GPU that Mesa draws on; none: gil's libraries draw.
    fn gpu(&self) -> Option<Gpu> {
        let of_board = self.driver.clone().map(Gpu::Board);
        let place = match self.sim {
            Some(Sim::Gem5) => Place::Device,
            Some(Sim::Qemu) | None => Place::Ram,
        };
        let own = self.registers();
        let own = own.map(|model| Gpu::Registers { model, place });
        of_board
            .or(own)
            .or(self.qemu_gpu.then_some(Gpu::Simulators))
    }

    /// The program's start: arguments, environment, folder.
    pub fn start(&self) -> Start<'_> {
        Start {
            arguments: self.arguments(),
            env: self.env(),
            cwd: &self.workdir,
            has_stdin: self.stdin.is_some(),
            input: match (self.interactive, self.tty) {
                (false, _) => None,
                (true, false) => Some(Live::Pipe),
                (true, true) => Some(Live::Terminal),
            },
            shares: self.shares.iter().map(Share::in_guest).collect(),
            outputs: self.outputs.iter().map(Out::in_guest).collect(),
            servers: self.net.as_ref().and_then(Network::servers),
            every: self.display.screen_every,
        }
    }

    /// The variables that are added to the program's environment.
    pub fn env(&self) -> Vec<(String, String)> {
        let is_blind = self.gpu().is_some() && !self.display.is_wanted();
        let usual = [
            self.tty.then_some("TERM"),
            is_blind.then_some(NO_DISPLAY),
            self.call_sites.then_some(CALL_SITES),
        ];
        let usual = usual.into_iter().flatten().map(environment::variable);
        let usual: Vec<_> = usual.flatten().collect();
        let files = self.env_files.iter().map(|file| &file.content);
        let all = usual.iter().chain(files);
        environment::join(all.chain(&self.env))
    }

    /// What is watched: functions, a driver's ioctls in its own module, or where
    /// `--driver` has the module that mirrors it, and where jobs start.
    pub fn watched(&self) -> Vec<Spec> {
        let of_driver =
            self.watch_driver
                .iter()
                .flat_map(|name| match self.driver.as_ref() == Some(name) {
                    true => vec![ioctl::in_mirror(name, self.watch_bytes)],
                    false => ioctl::in_driver(name, self.watch_bytes).unwrap_or_default(),
                });
        let all = self.watch.iter().cloned().chain(of_driver);
        all.chain(self.starts()).collect()
    }

    /// The functions of the kernel's own driver that start jobs, with `--detect symbol`.
    fn starts(&self) -> Vec<Spec> {
        match self.registers() {
            Some(gpu) if self.detect == Detect::Symbol => job::starts(gpu.driver()),
            _ => Vec::new(),
        }
    }

    /// Modules of the kernel that the guest needs for what it reaches.
    pub fn reaches(&self) -> Reaches {
        Reaches {
            folders: self.has_shares(),
            network: self.net.is_some(),
            display: self.display.is_wanted(),
        }
    }

    /// Whether the guest reaches folders of this machine.
    pub fn has_shares(&self) -> bool {
        !self.shares.is_empty() || !self.outputs.is_empty()
    }

    /// The boards.
    ///
    /// # Errors
    /// [`BoardsError`] if they do not go together.
    pub fn chosen(&self) -> Result<Boards<'_>, BoardsError> {
        let boards = Boards::of(&self.boards, &self.keys)?;
        boards.with_live(self.replay_live.as_ref(), self.replay_live_key.as_deref())
    }

    /// Files of this machine that the run reads, with what names them; recordings that it
    /// answers from are [`chosen`](Self::chosen).
    pub fn reads(&self) -> Vec<(&'static str, &Path)> {
        let is_here = self.program().contains('/');
        let one = [
            ("the program", is_here.then(|| Path::new(self.program()))),
            ("--stdin", self.stdin.as_deref()),
            ("--replay-live-key", self.replay_live_key.as_deref()),
            ("--gem5", self.gem5.gem5.as_deref()),
            ("--bootloader", self.gem5.bootloader.as_deref()),
            ("--board-profile", self.profile_path()),
        ];
        let one = one.into_iter();
        let one = one.filter_map(|(name, path)| Some((name, path?)));
        let copied = self.files.iter().map(|it| ("--file", &*it.source));
        let keys = self.keys.iter().map(|it| ("--key", &*it.value));
        let variables = self.env_files.iter().map(|it| ("--env-file", &*it.path));
        one.chain(copied).chain(keys).chain(variables).collect()
    }

    /// The file that the run is recorded to, if it is: with a board behind a recording, in
    /// place of that, unless another is named.
    ///
    /// # Errors
    /// [`BoardsError`] if there are several recordings.
    pub fn recorded(&self) -> Result<Option<&Path>, BoardsError> {
        match (&self.record, &self.replay_live) {
            (None, Some(_)) => self.chosen()?.recording().map(Some),
            (record, _) => Ok(record.as_deref()),
        }
    }

    /// Whether the run is recorded.
    pub fn is_recorded(&self) -> bool {
        self.record.is_some() || self.replay_live.is_some()
    }

    /// Whether builds take what they took in earlier runs.
    pub fn keeps_build_times(&self) -> bool {
        !self.measure_builds
    }

    /// What the board's profile says that the target adds.
    pub fn costs(&self) -> Option<String> {
        let mut profile = self.board_profile.as_ref()?.content.clone();
        // Checked when the run began.
        let _ = profile.target_has(&self.targets);
        profile.costs()
    }

    /// The names of the APIs that the board's profile says something of.
    pub fn corrected(&self) -> BTreeSet<&str> {
        let profile = self.board_profile.as_ref();
        profile.map_or_else(BTreeSet::new, |it| it.content.apis())
    }

    /// The file of the board's profile.
    pub fn profile_path(&self) -> Option<&Path> {
        self.board_profile.as_ref().map(|it| &*it.path)
    }

    /// What the target has, as `cores=8` each.
    pub fn target(&self) -> Vec<String> {
        let Some(profile) = &self.board_profile else {
            return Vec::new();
        };
        let mut machine = profile.content.target;
        self.targets.iter().for_each(|it| machine.set(*it));
        let all = Quantity::ALL.into_iter();
        let has = |it: Quantity| machine.get(it).map(|value| format!("{}={value}", it.key()));
        all.filter_map(has).collect()
    }

    /// The names of the APIs whose operations' times a target changes, if there is one.
    pub fn scaled(&self) -> Option<BTreeSet<String>> {
        let mut profile = self.board_profile.as_ref()?.content.clone();
        profile.target_has(&self.targets).ok()?;
        let has_target = profile.target != Machine::default();
        has_target.then(|| profile.scaled().into_iter().map(str::to_owned).collect())
    }

    /// Checks the target.
    ///
    /// # Errors
    /// [`MachineError`] if the board's profile does not say enough of the board.
    pub fn check_target(&self) -> Result<(), MachineError> {
        let profile = self.board_profile.as_ref();
        profile.map_or(Ok(()), |it| it.content.clone().target_has(&self.targets))
    }

    /// The contention factor of the board's profile.
    pub fn contention(&self) -> Option<f64> {
        let profile = self.board_profile.as_ref();
        profile.and_then(|it| it.content.factor())
    }

    /// How long the board may take to answer what runs nothing.
    pub fn first_contact(&self) -> Duration {
        let board = self.board_timeout.unwrap_or(agent::FIRST_CONTACT);
        self.timeout.map_or(board, |timeout| board.min(timeout))
    }
}

/// Least memory that Debian's kernel boots in, with its image unpacked.
const LEAST_MEMORY: u64 = 256 << 20;
/// What QEMU's `virt` machine has room for.
const MOST_MEMORY: u64 = 255 << 30;

fn size(text: &str) -> Result<u64, String> {
    let bytes = contents::parse_size(text)? & !0xfff;
    match bytes {
        LEAST_MEMORY..=MOST_MEMORY => Ok(bytes),
        _ => Err("the guest takes 256M to 255G".into()),
    }
}

/// Asks the guest's libraries for call sites.
const CALL_SITES: &str = "GIL_CALL_SITES=1";

/// What a file contains, and where it is.
#[derive(Clone, Debug)]
struct Named<T> {
    path: PathBuf,
    content: T,
}

impl<T> Named<T> {
    fn at(path: &str, content: T) -> Self {
        let path = path.into();
        Self { path, content }
    }
}

fn profile(path: &str) -> Result<Named<Profile>, ProfileError> {
    let profile = Profile::read(Path::new(path))?;
    Ok(Named::at(path, profile))
}

fn variables(path: &str) -> Result<Named<Variables>, String> {
    let variables = environment::file(path)?;
    Ok(Named::at(path, variables))
}

fn cpu(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=,.".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) && !text.starts_with('-') {
        true => Ok(text.into()),
        false => {
            Err("see `qemu-system-aarch64 -M virt -cpu help`, or take one of gem5's models".into())
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "write a number of seconds")?;
    match Duration::try_from_secs_f64(number) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err("write a number of seconds above 0 and below 1.8e19".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser as _;

    fn run(words: &[&str]) -> RunArgs {
        let words = ["gil", "run"].iter().chain(words);
        match Cli::try_parse_from(words).unwrap().command {
            Command::Run(run) => *run,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_behind_the_program_are_seen() {
        let behind = |args: &[&str]| run(args).option_behind().map(str::to_owned);
        assert_eq!(
            behind(&["x", "-q", "a", "--pkg", "b"]),
            Some("--pkg".into())
        );
        assert_eq!(behind(&["x", "--pkg=b"]), Some("--pkg=b".into()));
        assert_eq!(behind(&["--pkg", "b", "x", "--", "--no-option", ""]), None);
    }

    #[test]
    fn what_follows_the_program_is_its_own() {
        for own in [
            &["--json", "zz"][..],
            &["--count", "hi"],
            &["--help"],
            &["-q"],
            &["--", "--json", "zz"],
            &["a", "--", "-q"],
            &["--no-option-of-gils", "-x"],
        ] {
            for before in [&["echo"][..], &["--", "echo"], &["--pkg", "x", "echo"]] {
                let run = run(&[before, own].concat());
                assert_eq!(run.program(), "echo", "{before:?} {own:?}");
                assert_eq!(run.arguments(), own, "{before:?}");
                assert!(run.json.is_none() && !run.count && !run.quiet, "{own:?}");
            }
        }
        let run = run(&["-q", "--pkg", "clinfo", "clinfo"]);
        assert!(run.quiet && run.arguments().is_empty());
        assert_eq!(
            (run.packages, run.command),
            (vec!["clinfo".into()], vec!["clinfo".into()])
        );
        for wrong in [&["gil", "run"][..], &["gil", "run", "--no-such", "x"]] {
            assert!(Cli::try_parse_from(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn variables_of_files_come_first_and_a_folder_has_two_names() {
        let run = run(&["-e", "A=2", "--env-file", "/dev/null", "--cwd", "/x", "p"]);
        assert_eq!(run.env(), [("A".into(), "2".into())]);
        assert_eq!(run.workdir, "/x");
        let mut run = run;
        let of_file = environment::variable("A=1").unwrap();
        run.env_files = vec![Named::at("file", of_file)];
        let values: Vec<_> = run.env().into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, ["1", "2"]);
    }

    #[test]
    fn sizes_and_seconds_are_bounded() {
        assert_eq!(size("1G"), Ok(1 << 30));
        assert_eq!(size("512"), Ok(512 << 20));
        for wrong in ["", "1", "1T", "x", "-1G", "99999999999999G"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["0", "-1", "nan", "inf", "1e300"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
        assert!(cpu("cortex-a57,pmu=off").is_ok());
        assert!(cpu("-x y").is_err());
    }
}
