//! A sweep that is ended at any moment and goes on: a row for each point, none twice. A
//! script stands in for `gil run`.

use gil_report::{Document, Exit, Origin, Report, SeenRun, VERSION};
use gil_sweep::SweepError;
use gil_sweep::file::Sweep;
use gil_sweep::folder::{Folder, Found, With};
use gil_sweep::grid::Grid;
use gil_sweep::table::Table;
use gil_sweep::work::{Again, Count, Runs, Watch, open};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

const FILE: &str = r#"
version = 1
program = ["p", "{size}"]
[[axis]]
name = "size"
values = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
[[axis]]
profile = "cpu.ratio"
values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
"#;

/// In the sweeper's environment: its folder.
const WORK: &str = "GIL_SWEEP_TEST";

struct Work {
    folder: tempfile::TempDir,
}

impl Work {
    /// With a script that does this when it has read its arguments.
    fn new(does: &str) -> Self {
        let work = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let mut report = Report {
            version: VERSION,
            ..Report::default()
        };
        report.simulated.program_ns = 42;
        let document = Document {
            argv: vec!["p".into()],
            exit: Exit::program(Some(0), None),
            run: SeenRun::default(),
            report: Some(report),
        };
        fs::write(work.at("ok.json"), serde_json::to_vec(&document).unwrap()).unwrap();
        let by_user = Document {
            exit: Exit::because(143, Origin::User, "ended"),
            ..document
        };
        fs::write(work.at("ended.json"), serde_json::to_vec(&by_user).unwrap()).unwrap();
        fs::write(work.at("sweep.toml"), FILE).unwrap();
        work.acts(does);
        work
    }

    fn acts(&self, does: &str) {
        let script = format!("#!/bin/sh\njson=$4\neval last=\\${{$#}}\n{does}\n");
        fs::write(self.at("gil.new"), script).unwrap();
        fs::set_permissions(self.at("gil.new"), PermissionsExt::from_mode(0o755)).unwrap();
        // Nobody may have it open for writing that starts it.
        fs::rename(self.at("gil.new"), self.at("gil")).unwrap();
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn sweep(&self, again: Again) -> Result<Count, SweepError> {
        sweep(self.folder.path(), again, &|| false)
    }

    /// The rows' files: what they are, and which.
    fn rows(&self) -> BTreeMap<String, (u64, Vec<u8>)> {
        let entries = fs::read_dir(self.at("out/rows")).into_iter().flatten();
        let of = |entry: fs::DirEntry| {
            let bytes = fs::read(entry.path()).unwrap();
            let number = entry.metadata().unwrap().ino();
            (entry.file_name().into_string().unwrap(), (number, bytes))
        };
        entries.map(|entry| of(entry.unwrap())).collect()
    }

    fn table(&self) -> Table {
        let sweep = Sweep::read(&self.at("sweep.toml")).unwrap();
        let grid = Grid::new(&sweep, "version = 1").unwrap();
        Table::of(&grid, &Folder::at(&self.at("out"))).unwrap()
    }
}

fn sweep(
    work: &Path,
    again: Again,
    is_ended: &(dyn Fn() -> bool + Sync),
) -> Result<Count, SweepError> {
    let sweep = Sweep::read(&work.join("sweep.toml"))?;
    let grid = Grid::new(&sweep, "version = 1")?;
    let folder = Folder::at(&work.join("out"));
    let held = folder.hold(With::Nobody)?;
    let runs = Runs {
        gil: work.join("gil"),
        jobs: 3,
        again,
    };
    let numbers = open(&grid, &held, 1..=grid.len(), again, &|_| {})?;
    let progress = &|_| {};
    let watch = Watch { progress, is_ended };
    runs.run(&grid, &held, &numbers, &watch)
}

/// Not a test of its own: the process that is ended.
#[test]
#[ignore = "it is started by another test"]
fn sweeper() {
    if let Some(work) = std::env::var_os(WORK) {
        sweep(Path::new(&work), Again::None, &|| false).unwrap();
    }
}

/// Sweeps in a process that is killed after this time; whether it came to its end.
fn killed_after(work: &Work, time: Duration) -> bool {
    let mut sweeper = Command::new(std::env::current_exe().unwrap());
    let sweeper = sweeper.args(["--exact", "sweeper", "--ignored"]);
    let sweeper = sweeper.env(WORK, work.folder.path());
    let mut sweeper = sweeper.stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(time);
    let ended = sweeper.try_wait().unwrap();
    sweeper.kill().unwrap();
    sweeper.wait().unwrap();
    ended.is_some_and(|status| status.success())
}

#[test]
fn a_sweep_that_is_killed_at_any_moment_goes_on() {
    let work = Work::new("sleep 0.02; cp ${0%/*}/ok.json $json; echo $last");
    let mut random = u64::from(std::process::id());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    random ^= now.unwrap().as_nanos() as u64;
    let mut before = BTreeMap::new();
    let mut kills = 0;
    loop {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let time = Duration::from_micros(20_000 + (random >> 33) % 200_000);
        let is_over = killed_after(&work, time);
        let after = work.rows();
        // What is done stays as it was: the same file, not one like it.
        assert!(
            before
                .iter()
                .all(|(name, row)| after.get(name) == Some(row))
        );
        before = after;
        if is_over {
            break;
        }
        kills += 1;
        assert!(kills < 1000);
    }
    assert!(kills >= 3, "{kills}");
    let table = work.table();
    assert_eq!((before.len(), table.len(), table.failed()), (100, 100, 0));
    assert_eq!(table.damaged, Vec::<usize>::new());
    let left = fs::read_dir(work.at("out/running")).unwrap().count();
    assert_eq!(left, 0);
    assert_eq!(work.sweep(Again::None).unwrap(), Count::default());
}

#[test]
fn failed_points_run_again_on_request_and_ended_ones_always() {
    let work = Work::new(
        "case $last in\n\
         3) echo one; echo two; exit 7;;\n\
         4) kill -KILL $$;;\n\
         5) cp ${0%/*}/ended.json $json; exit 143;;\n\
         *) cp ${0%/*}/ok.json $json;;\n\
         esac",
    );
    let count = work.sweep(Again::None).unwrap();
    let expected = Count {
        ran: 80,
        failed: 10,
        ended: 20,
        of: 100,
    };
    assert_eq!(count, expected);
    let table = work.table();
    assert_eq!((table.len(), table.failed()), (80, 10));
    let csv = String::from_utf8(table.csv()).unwrap();
    assert!(csv.contains(",7,two,"), "{csv}");
    let outputs = fs::read_dir(work.at("out/output")).unwrap().count();
    assert_eq!(outputs, 10);
    work.acts("cp ${0%/*}/ok.json $json");
    let count = work.sweep(Again::None).unwrap();
    assert_eq!((count.ran, count.failed, count.of), (20, 0, 20));
    let count = work.sweep(Again::Failed).unwrap();
    assert_eq!((count.ran, count.failed, count.of), (10, 0, 10));
    assert_eq!((work.table().len(), work.table().failed()), (100, 0));
    assert_eq!(fs::read_dir(work.at("out/output")).unwrap().count(), 0);
}

#[test]
fn what_fails_as_the_sweep_is_ended_has_no_row_and_nothing_begins_then() {
    let work = Work::new(
        "case $last in 3) : >${0%/*}/failed; exit 125;; *) cp ${0%/*}/ok.json $json;; esac",
    );
    // The signal is seen a little later than what it does to the run.
    let failed = work.at("failed");
    let is_ended = || {
        let since = fs::metadata(&failed).and_then(|it| it.modified()).ok();
        let since = since.and_then(|at| at.elapsed().ok());
        since.is_some_and(|since| since > Duration::from_millis(50))
    };
    let count = sweep(work.folder.path(), Again::None, &is_ended).unwrap();
    assert!(count.failed == 0 && count.ended > 0, "{count:?}");
    assert!(
        count.ran < 90,
        "points began when the sweep had ended: {count:?}"
    );
    assert_eq!((work.table().len(), work.table().failed()), (count.ran, 0));
}

#[test]
fn a_damaged_row_is_said_and_runs_again() {
    let work = Work::new("cp ${0%/*}/ok.json $json");
    work.sweep(Again::None).unwrap();
    let name = work.rows().into_keys().next().unwrap();
    let path = work.at("out/rows").join(name);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(work.table().damaged.len(), 1);
    let sweep = Sweep::read(&work.at("sweep.toml")).unwrap();
    let grid = Grid::new(&sweep, "version = 1").unwrap();
    let folder = Folder::at(&work.at("out"));
    {
        let held = folder.hold(With::Others).unwrap();
        let said = std::cell::RefCell::new(Vec::new());
        let note = |text: &str| said.borrow_mut().push(text.to_owned());
        let numbers = open(&grid, &held, 1..=100, Again::None, &note).unwrap();
        assert_eq!((numbers.len(), said.borrow().len()), (1, 1));
        assert!(said.borrow()[0].contains("is damaged: it runs again"));
    }
    assert_eq!(work.sweep(Again::None).unwrap().ran, 1);
    let key = grid.keys()[0].clone();
    assert!(matches!(folder.row(&key).unwrap(), Found::Row(_)));
}

#[test]
fn what_cannot_be_started_ends_the_sweep() {
    let work = Work::new("");
    fs::remove_file(work.at("gil")).unwrap();
    let error = work.sweep(Again::None).unwrap_err();
    assert!(matches!(error, SweepError::Start(_)), "{error}");
    assert!(work.rows().is_empty());
}
