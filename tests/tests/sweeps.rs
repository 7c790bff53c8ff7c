//! Sweeps of recordings, on this machine and through Slurm: whatever ends them at whatever
//! moment, in the end there is a row for each point, and none was made twice.

use gil_tests::slurm::{self, Slurm};
use gil_tests::{Link, Run, binary, guest_program};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A sweep of a recording over `values` launches' costs and these CPUs.
struct Swept {
    folder: tempfile::TempDir,
    points: usize,
    random: u64,
}

/// A row's file: which, and what is in it.
type RowFile = (u64, Vec<u8>);

const CPUS: usize = 2;

impl Swept {
    fn of(points: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = guest_program("tests/guest/cl_replayed.c", Link::OpenCl);
        let trace = folder.path().join("it's.trace");
        let record = [
            "--record",
            trace.to_str().unwrap(),
            program.to_str().unwrap(),
            "a",
        ];
        Run::new(record).finish().ok();
        let costs: Vec<_> = (0..points / CPUS)
            .map(|at| (at * 10_000).to_string())
            .collect();
        let text = format!(
            "version = 1\n\
             program = [{program:?}, \"{{byte}}\"]\n\
             options = [\"--board=replay:it's.trace\"]\n\
             [[axis]]\n\
             profile = \"calls.opencl.launch_ns\"\n\
             values = [{}]\n\
             [[axis]]\n\
             option = \"--cpu\"\n\
             values = [\"cortex-a53\", \"cortex-a57\"]\n\
             [[axis]]\n\
             name = \"byte\"\n\
             values = [\"a\"]\n",
            costs.join(", "),
            program = program.display().to_string(),
        );
        fs::write(folder.path().join("sweep.toml"), text).unwrap();
        Self {
            folder,
            points,
            random: u64::from(std::process::id()),
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new(binary("gil"));
        command
            .arg("sweep")
            .arg(self.at("sweep.toml"))
            .args(options);
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, options: &[&str]) -> Output {
        self.command(options).output().unwrap()
    }

    /// A time of up to so many milliseconds.
    fn moment(&mut self, up_to_ms: u64) -> Duration {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        Duration::from_millis((self.random >> 33) % up_to_ms)
    }

    fn rows(&self) -> BTreeMap<String, RowFile> {
        let entries = fs::read_dir(self.at("sweep.sweep/rows"))
            .into_iter()
            .flatten();
        let of = |entry: fs::DirEntry| {
            let file = (
                entry.metadata().unwrap().ino(),
                fs::read(entry.path()).unwrap(),
            );
            (entry.file_name().into_string().unwrap(), file)
        };
        entries.map(|entry| of(entry.unwrap())).collect()
    }

    /// The rows, of which those before must be the same files still.
    fn rows_after(&self, before: &BTreeMap<String, RowFile>) -> BTreeMap<String, RowFile> {
        let rows = self.rows();
        let is_there = |(name, row): (&String, &RowFile)| rows.get(name) == Some(row);
        assert!(before.iter().all(is_there));
        rows
    }

    /// Kills the sweep at random moments, so many times, then lets it end.
    fn sweep_killed(&mut self, kills: usize, up_to_ms: u64) {
        let mut rows = BTreeMap::new();
        for _ in 0..kills {
            let mut sweep = self.command(&["--quiet"]).spawn().unwrap();
            std::thread::sleep(self.moment(up_to_ms));
            sweep.kill().unwrap();
            sweep.wait().unwrap();
            rows = self.rows_after(&rows);
            eprintln!("killed with {} of {} rows", rows.len(), self.points);
        }
        let ended = self.run(&[]);
        assert!(ended.status.success(), "{ended:?}");
        rows = self.rows_after(&rows);
        assert_eq!(rows.len(), self.points);
        self.check_table();
        // Nothing is left to do, and nothing is done.
        assert!(self.run(&[]).status.success());
        assert_eq!(self.rows_after(&rows), rows);
    }

    /// The same, of arrays of Slurm's.
    fn sweep_killed_in_slurm(&mut self, kills: usize, up_to_ms: u64) {
        let slurm = Slurm::start();
        let mut rows = BTreeMap::new();
        for kill in 0..=kills {
            let written = self.run(&["--slurm"]);
            assert!(written.status.success(), "{written:?}");
            let script = self.at("sweep.sweep/array.sh");
            let said = String::from_utf8(written.stdout).unwrap();
            if said.starts_with("all points have a row") {
                break;
            }
            assert_eq!(said, format!("sbatch {}\n", script.display()));
            let job = slurm.submit(&script);
            if kill < kills {
                std::thread::sleep(self.moment(up_to_ms));
                match kill % 2 {
                    0 => slurm.kill(&job),
                    _ => slurm.cancel(&job),
                }
            }
            slurm.wait(&job);
            rows = self.rows_after(&rows);
            eprintln!("job {job} over with {} of {} rows", rows.len(), self.points);
        }
        let log = fs::read_to_string(self.at("sweep.sweep/array.log"));
        assert_eq!(rows.len(), self.points, "{log:?}\n{}", slurm.logs());
        assert!(self.run(&["--table"]).status.success());
        self.check_table();
    }

    /// One row for each point, whose time grows with what launches cost.
    fn check_table(&self) {
        let text = fs::read_to_string(self.at("sweep.sweep/table.csv")).unwrap();
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let names = lines.next().unwrap();
        let at = |name: &str| names.iter().position(|it| *it == name).unwrap();
        let points: Vec<_> = lines.clone().map(|line| line[0].to_owned()).collect();
        let expected: Vec<_> = (1..=self.points).map(|point| point.to_string()).collect();
        assert_eq!(points, expected);
        let mut times: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
        for line in lines {
            assert_eq!(line[at("exit_code")], "0");
            let number = |name: &str| line[at(name)].parse::<u64>().unwrap();
            let point = (number("calls.opencl.launch_ns"), number("simulated_ns"));
            times.entry(line[at("cpu")]).or_default().push(point);
        }
        assert_eq!(times.len(), CPUS);
        for times in times.values() {
            assert!(times.is_sorted(), "{times:?}");
            assert!(times[0].1 < times[times.len() - 1].1, "{times:?}");
        }
        let parquet = fs::read(self.at("sweep.sweep/table.parquet")).unwrap();
        assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
        let plot = fs::read_to_string(self.at("sweep.sweep/plot.svg")).unwrap();
        assert!(plot.contains("simulated over calls.opencl.launch_ns"));
        assert!(plot.contains("cpu cortex-a57"));
    }
}

/// Slurm, or the declared want of it.
fn has_slurm() -> bool {
    let is_there = slurm::is_installed();
    if !is_there {
        gil_need::skip("slurm", "slurm-wlm and munge are not installed");
    }
    is_there
}

#[test]
fn a_sweep_that_is_killed_goes_on() {
    Swept::of(8).sweep_killed(2, 4000);
}

#[test]
fn an_array_of_slurms_that_is_killed_goes_on() {
    if has_slurm() {
        Swept::of(8).sweep_killed_in_slurm(2, 5000);
    }
}

/// `scripts/test --long sweep` runs it.
#[test]
#[ignore = "it takes minutes"]
fn a_hundred_points_are_killed_many_times() {
    Swept::of(100).sweep_killed(10, 12_000);
}

/// `scripts/test --long sweep` runs it.
#[test]
#[ignore = "it takes minutes"]
fn a_hundred_points_are_killed_many_times_in_slurm() {
    assert!(slurm::is_installed(), "run scripts/setup");
    Swept::of(100).sweep_killed_in_slurm(20, 6_000);
}

#[test]
fn points_are_listed_and_run_one_by_one() {
    let swept = Swept::of(4);
    let listed = |swept: &Swept| {
        let output = swept.run(&["--points"]);
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect::<Vec<serde_json::Value>>()
    };
    assert_eq!(listed(&swept).len(), 4);
    assert!(swept.run(&["--point", "3"]).status.success());
    let rows = swept.rows();
    assert_eq!(rows.len(), 1);
    // A second time there is nothing to do.
    assert!(swept.run(&["--point", "2-3"]).status.success());
    assert_eq!(swept.rows_after(&rows).len(), 2);
    let listed = listed(&swept);
    assert_eq!(listed[2]["exit_code"], 0);
    assert_eq!(listed[3]["exit_code"], serde_json::Value::Null);
    assert_eq!(listed[3]["axes"]["calls.opencl.launch_ns"], 10_000);
    let none = swept.run(&["--point", "5"]);
    let said = String::from_utf8(none.stderr).unwrap();
    assert_eq!(
        said,
        "gil: there is no point 5: this sweep has the points 1 to 4\n"
    );
    assert_eq!(none.status.code(), Some(1));
}

/// Slurm takes a job's exit code for whether it is done.
#[test]
fn a_point_that_has_failed_fails_again_without_a_run() {
    let swept = Swept::of(2);
    let path = swept.at("sweep.toml");
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replacen("program = [", "program = [\"false\", ", 1);
    fs::write(&path, text).unwrap();
    let mut rows = Default::default();
    for _ in 0..2 {
        assert_eq!(swept.run(&["--point", "1"]).status.code(), Some(1));
        rows = swept.rows_after(&rows);
        assert_eq!(rows.len(), 1);
    }
    let said = swept.run(&[]);
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("columns `exit_code` and `reason`"), "{said}");
}

#[test]
fn a_profile_that_corrects_nothing_is_said_in_the_table() {
    let swept = Swept::of(2);
    let path = swept.at("sweep.toml");
    let text = fs::read_to_string(&path).unwrap();
    let ran = |axis: &str| {
        fs::write(&path, text.replacen("calls.opencl.launch_ns", axis, 1)).unwrap();
        let ran = swept.run(&[]);
        assert!(ran.status.success(), "{ran:?}");
        let table = fs::read_to_string(swept.at("sweep.sweep/table.csv")).unwrap();
        (String::from_utf8(ran.stdout).unwrap(), table)
    };
    let (said, table) = ran("calls.opencl.launch_ns");
    assert!(
        said.starts_with("2 of 2 points have a row\n") && !table.contains("lasted as"),
        "{said}{table}"
    );
    let (said, table) = ran("calls.gles.launch_ns");
    assert!(
        said.starts_with(
            "2 of 2 points have a row; 2 have a warning: the column `warning` says it\n"
        ),
        "{said}"
    );
    let warned = table.lines().skip(1).filter(|line| {
        line.contains(",0,,\"the board's profile has") && line.contains("lasted as on the board\"")
    });
    assert_eq!(warned.count(), 2, "{table}");
}

/// Ctrl-C says how a sweep goes on.
#[test]
fn an_interrupted_sweep_says_how_it_goes_on() {
    let swept = Swept::of(8);
    let mut sweep = swept.command(&["--quiet", "--jobs", "1"]);
    let sweep = sweep.stdout(Stdio::piped()).stderr(Stdio::piped());
    let sweep = sweep.spawn().unwrap();
    while swept.rows().is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let id = nix::unistd::Pid::from_raw(i32::try_from(sweep.id()).unwrap());
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGINT).unwrap();
    let ended = sweep.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(
        said.ends_with("the same command goes on with the points that have no row yet\n"),
        "{said}"
    );
    let rows = swept.rows();
    assert!((1..8).contains(&rows.len()), "{rows:?}");
    assert!(swept.run(&["--quiet"]).status.success());
    assert_eq!(swept.rows_after(&rows).len(), 8);
}

#[test]
fn a_sweep_that_cannot_be_is_a_sentence() {
    let swept = Swept::of(2);
    let path = swept.at("sweep.toml");
    let good = fs::read_to_string(&path).unwrap();
    for (from, to, part) in [
        ("version = 1", "version = 9", "has version 9"),
        ("values = [0]", "values = []", "has no values"),
        ("values = [0]", "values = [nan]", "numbers are finite"),
        (
            "values = [0]",
            "values = [-1]",
            "invalid value: integer `-1`",
        ),
        ("launch_ns", "lunch_ns", "unknown field `lunch_ns`"),
        ("--cpu", "--cpx", "unexpected argument '--cpx'"),
        ("options", "option", "unknown field `option`"),
    ] {
        fs::write(&path, good.replacen(from, to, 1)).unwrap();
        let refused = swept.run(&[]);
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(said.contains(part), "{said}");
        assert!(
            said.starts_with("gil: ") && said.lines().count() == 1,
            "{said}"
        );
        assert_eq!(refused.status.code(), Some(1));
    }
    assert!(!swept.at("sweep.sweep").exists());
    // A point that fails has a row, which says why.
    fs::write(
        &path,
        good.replacen("values = [\"a\"]", "values = [\"b\"]", 1),
    )
    .unwrap();
    assert_eq!(swept.run(&[]).status.code(), Some(1));
    let table = fs::read_to_string(swept.at("sweep.sweep/table.csv")).unwrap();
    assert!(
        table.contains(",125,\"the run departs from the recording"),
        "{table}"
    );
}
