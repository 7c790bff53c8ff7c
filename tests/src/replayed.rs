//! A run that is recorded once and replayed twice, and what the three have in common: all but
//! wall time.

use crate::scripted::Scripted;
use crate::{Finished, Link, Run, binary, guest_program};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The examples, with arguments for a run of a second or less.
pub const EXAMPLES: [(&str, Link, &[&str]); 11] = [
    ("vector-add", Link::OpenCl, &["65536"]),
    ("matmul", Link::OpenCl, &["3", "64"]),
    ("histogram", Link::OpenCl, &["50021"]),
    ("reduction", Link::OpenCl, &["5003"]),
    ("n-body", Link::OpenCl, &["67", "4"]),
    ("face-detection", Link::OpenCl, &["267", "189"]),
    ("gles-shape", Link::Gles, &["10"]),
    ("gles-quads", Link::Gles, &["10"]),
    ("gles-fog", Link::Gles, &["10"]),
    ("gles-rubik", Link::Gles, &["10"]),
    ("gles1-fog", Link::Gles1, &["10"]),
];

/// What the report says in wall time, or of the run's own folder.
const OF_WALL_TIME: [&str; 7] = [
    "wall",
    "board_ns",
    "wall_ns",
    "first_call_ns",
    "simulation_ns",
    "compare_ns",
    "address",
];
/// The column of a log of calls that is wall time.
const BOARDS_TIME: &str = "board_ns";

/// A run to record and to replay.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// What it is called.
    pub name: String,
    /// Values of `--board` while it is recorded; none for an agent of the run's own.
    pub boards: Vec<String>,
    /// Options of `gil run` while it is recorded.
    pub while_recording: Vec<String>,
    /// Other options of `gil run`.
    pub options: Vec<String>,
    /// The program and its arguments.
    pub program: Vec<String>,
    /// A gem5 instead of QEMU, and its `--mode`.
    pub gem5: Option<(PathBuf, &'static str)>,
}

impl Case {
    /// An example with these arguments.
    pub fn example(name: &str, link: Link, args: &[&str]) -> Self {
        let path = guest_program(&format!("examples/{name}/{name}.c"), link);
        let args = args.iter().map(ToString::to_string);
        Self {
            name: name.into(),
            program: [path.display().to_string()]
                .into_iter()
                .chain(args)
                .collect(),
            ..Self::default()
        }
    }

    /// All examples.
    pub fn examples() -> impl Iterator<Item = Self> {
        let all = EXAMPLES.into_iter();
        all.map(|(name, link, args)| Self::example(name, link, args))
    }

    /// The same with a GPU of the guest's, such as `--driver lima`, on this board.
    #[must_use]
    pub fn with_gpu(mut self, gpu: [&str; 2], board: &str) -> Self {
        self.name = format!("{}, {}", self.name, gpu.join(" "));
        self.boards = vec![board.into()];
        self.options.extend(gpu.map(String::from));
        self
    }

    /// A program that draws on one board and computes on another.
    pub fn two_boards([gles, opencl]: &[Scripted; 2]) -> Self {
        let path = guest_program("tests/guest/gles_and_cl.c", Link::Gles);
        Self {
            name: "two boards".into(),
            boards: vec![
                format!("gles={}", gles.address()),
                format!("opencl={}", opencl.address()),
            ],
            program: vec![path.display().to_string(), "both".into()],
            ..Self::default()
        }
    }

    /// Values of `--board` for the replay.
    fn replaying(&self, recording: &Path) -> Vec<String> {
        let replay = format!("replay:{}", recording.display());
        let instead = |board: &String| match board.split_once('=') {
            Some((api, _)) => format!("{api}={replay}"),
            None => replay.clone(),
        };
        match self.boards.is_empty() {
            true => vec![replay],
            false => self.boards.iter().map(instead).collect(),
        }
    }

    fn run(&self, folder: &Path, boards: &[String], more: &[&str]) -> Took {
        let at = |name: &str| folder.join(name).display().to_string();
        let calls = at("calls");
        let outdir = at("m5out");
        let gem5 = self.gem5.as_ref();
        let gem5 = gem5.map(|(path, mode)| (path.display().to_string(), *mode));
        let gem5 = gem5.iter().flat_map(|(path, mode)| {
            [
                "--sim", "gem5", "--mode", mode, "--outdir", &outdir, "--gem5", path,
            ]
        });
        let boards = boards.iter().flat_map(|board| ["--board", board]);
        let own = self.options.iter().chain(&self.program).map(String::as_str);
        let args = ["--calls", &calls].into_iter().chain(gem5).chain(boards);
        let run = Run::new(args.chain(more.iter().copied()).chain(own));
        let began = Instant::now();
        let run = run.finish();
        let wall = began.elapsed();
        assert_eq!(run.code, Some(0), "{}: {run:#?}", self.name);
        let ticks = self.gem5.is_some().then(|| ticks(Path::new(&outdir)));
        let simulated = Simulated::of(run, rows(Path::new(&calls)), ticks);
        Took { wall, simulated }
    }

    /// Records it and replays it twice.
    ///
    /// # Panics
    /// If one of the three does not end well.
    pub fn twice(&self) -> Replayed {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let recording = folder.path().join("trace");
        let file = recording.display().to_string();
        let more = self.while_recording.iter().map(String::as_str);
        let record: Vec<_> = ["--record", &file].into_iter().chain(more).collect();
        let recorded = self.run(folder.path(), &self.boards, &record);
        let boards = self.replaying(&recording);
        let replays = [(); 2].map(|()| self.run(folder.path(), &boards, &[]));
        Replayed {
            recorded,
            replays,
            folder,
        }
    }
}

/// One of its runs.
#[derive(Debug)]
pub struct Took {
    /// From its start to its end.
    pub wall: Duration,
    /// All else.
    pub simulated: Simulated,
}

/// What a run says that is not wall time.
#[derive(Debug, PartialEq)]
pub struct Simulated {
    /// What the program printed.
    pub stdout: String,
    /// The report.
    pub report: Value,
    /// The log of calls: a line of CSV each.
    pub calls: Vec<String>,
    /// gem5's last tick.
    pub ticks: Option<u64>,
}

impl Simulated {
    fn of(run: Finished, calls: Vec<String>, ticks: Option<u64>) -> Self {
        let mut report = run.report;
        without_wall_time(&mut report);
        Self {
            stdout: run.stdout,
            report,
            calls,
            ticks,
        }
    }

    /// A number of the report.
    pub fn number(&self, pointer: &str) -> u64 {
        let number = self.report.pointer(pointer).and_then(Value::as_u64);
        number.unwrap_or_else(|| panic!("no number at {pointer} in {:#}", self.report))
    }

    /// What the program took: gem5's ticks, or nanoseconds.
    pub fn total(&self) -> u64 {
        self.ticks
            .unwrap_or_else(|| self.number("/simulated/program_ns"))
    }

    /// The first thing in which it differs from another, if it does.
    pub fn difference(&self, other: &Self) -> Option<String> {
        if self.stdout != other.stdout {
            return Some(format!("printed {:?}, {:?}", self.stdout, other.stdout));
        }
        if self.ticks != other.ticks {
            return Some(format!("ticks {:?}, {:?}", self.ticks, other.ticks));
        }
        let mut rows = self.calls.iter().zip(&other.calls);
        if let Some((one, two)) = rows.find(|(one, two)| one != two) {
            return Some(format!("call {one}, {two}"));
        }
        let (one, two) = (self.calls.len(), other.calls.len());
        if one != two {
            return Some(format!("{one} calls, {two}"));
        }
        first_value(&self.report, &other.report, "")
    }
}

/// Where two values first differ.
fn first_value(one: &Value, two: &Value, at: &str) -> Option<String> {
    match (one, two) {
        (Value::Object(first), Value::Object(second)) if first.keys().eq(second.keys()) => first
            .iter()
            .find_map(|(key, value)| first_value(value, &second[key], &format!("{at}/{key}"))),
        (Value::Array(first), Value::Array(second)) if first.len() == second.len() => {
            let mut pairs = first.iter().zip(second).enumerate();
            pairs.find_map(|(n, (one, two))| first_value(one, two, &format!("{at}/{n}")))
        }
        _ => (one != two).then(|| format!("{at} {one}, {two}")),
    }
}

/// A case's three runs.
#[derive(Debug)]
pub struct Replayed {
    /// The one that was recorded.
    pub recorded: Took,
    /// From its recording.
    pub replays: [Took; 2],
    folder: TempDir,
}

impl Replayed {
    /// The recording, as long as this value lives.
    pub fn recording(&self) -> PathBuf {
        self.folder.path().join("trace")
    }

    /// In what the replays differ.
    pub fn spread(&self) -> Option<String> {
        let [one, two] = &self.replays;
        one.simulated.difference(&two.simulated)
    }

    /// A line of the table: recording and shorter replay in seconds, totals.
    pub fn line(&self, name: &str) -> String {
        let [one, two] = &self.replays;
        let wall = [self.recorded.wall, one.wall.min(two.wall)];
        let [recorded, replayed] = wall.map(|wall| format!("{:.2}", wall.as_secs_f64()));
        let [one, two] = [one, two].map(|replay| replay.simulated.total());
        let spread = match self.spread() {
            None => "equal".into(),
            Some(what) if one == two => format!("differs: {what}"),
            Some(what) => format!("spread {}: {what}", one.abs_diff(two)),
        };
        format!("| {name} | {recorded} | {replayed} | {one} | {two} | {spread} |")
    }
}

fn without_wall_time(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|key, _| !OF_WALL_TIME.contains(&key.as_str()));
            members.values_mut().for_each(without_wall_time);
        }
        Value::Array(all) => all.iter_mut().for_each(without_wall_time),
        _ => {}
    }
}

/// The rows of a log of calls.
fn rows(calls: &Path) -> Vec<String> {
    let mut gil = Command::new(binary("gil"));
    let output = gil.arg("report").arg(calls).args(["--csv-calls", "-"]);
    let output = output.output().expect("gil starts");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("a table");
    let names = text.lines().next().unwrap_or_default().split(',');
    let wall = names.into_iter().position(|name| name == BOARDS_TIME);
    let simulated = |line: &str| {
        let fields = line.split(',').enumerate();
        let fields = fields.filter(|(place, _)| Some(*place) != wall);
        fields.map(|(_, field)| field).collect::<Vec<_>>().join(",")
    };
    text.lines().map(simulated).collect()
}

/// The tick at which gem5 ended.
fn ticks(outdir: &Path) -> u64 {
    let text = std::fs::read_to_string(outdir.join("stats.txt")).expect("gem5's statistics");
    let last = text.lines().rfind(|line| line.starts_with("finalTick "));
    let tick = last.and_then(|line| line.split_whitespace().nth(1));
    tick.and_then(|tick| tick.parse().ok())
        .expect("gem5's last tick")
}
