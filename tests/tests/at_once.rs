//! One recording and several commands at once: whoever answers from it has it as it was, and
//! what is added to it stays.

use gil_tests::{Finished, Link, Run, binary, guest_program};
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant, SystemTime};

/// A folder with the recording of a run.
struct Recorded {
    folder: tempfile::TempDir,
    file: String,
    replay: String,
    program: String,
}

impl Recorded {
    /// Of the matrix multiplication that so many products are made in.
    fn of(count: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("trace").display().to_string();
        let program = guest_program("examples/matmul/matmul.c", Link::OpenCl);
        let recorded = Self {
            folder,
            replay: format!("--board=replay:{file}"),
            program: program.display().to_string(),
            file,
        };
        recorded.products(&["--record", &recorded.file], count).ok();
        recorded
    }

    fn run(&self, options: &[&str], count: &str) -> Run {
        self.sized(options, count, "32")
    }

    fn sized(&self, options: &[&str], count: &str, size: &str) -> Run {
        Run::new([options, &[&self.program, count, size]].concat())
    }

    fn products(&self, options: &[&str], count: &str) -> Finished {
        self.run(options, count).finish()
    }

    fn names(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.path()).unwrap().flatten();
        entries.map(|entry| entry.path()).collect()
    }

    /// The recording serves runs of these, without a board.
    fn serves(&self, counts: &[&str]) {
        for count in counts {
            let run = self.products(&[&self.replay], count).ok();
            assert!(
                run.stdout.contains(&format!("{count} products")),
                "{run:#?}"
            );
        }
        assert_eq!(self.names(), [PathBuf::from(&self.file)]);
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

#[test]
fn what_is_replayed_is_replayed_again_and_added_to_but_not_written() {
    let recorded = Recorded::of("2");
    let before = fs::read(&recorded.file).unwrap();
    let script = "echo begun; while :; do sleep 1; done";
    let (mut replay, _folder) = Run::new([&recorded.replay, "sh", "-c", script]).start();
    let mut line = String::new();
    let mut output = BufReader::new(replay.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "begun\n");

    let refused = recorded.products(&["--record", &recorded.file], "2");
    assert_eq!(refused.code, Some(125), "{refused:#?}");
    let sentence = format!("another run replays --record {}", recorded.file);
    assert!(refused.stderr.contains(&sentence), "{refused:#?}");
    let copies = ["one", "two"].map(|name| recorded.folder.path().join(name));
    for copy in &copies {
        fs::copy(&recorded.file, copy).unwrap();
    }
    let mut merge = Command::new(binary("gil"));
    merge.args(["trace", "merge"]).args(&copies);
    let merge = merge.args(["--out", &recorded.file]).output().unwrap();
    let said = String::from_utf8(merge.stderr).unwrap();
    assert_eq!(merge.status.code(), Some(1), "{said}");
    let sentence = format!("another run writes or replays {}", recorded.file);
    assert!(said.contains(&sentence), "{said}");
    assert!(fs::read(&recorded.file).unwrap() == before);
    for copy in &copies {
        fs::remove_file(copy).unwrap();
    }

    recorded.serves(&["2"]);
    let live = [&recorded.replay[..], "--replay-live", "local"];
    recorded.products(&live, "3").ok();
    recorded.serves(&["2", "3"]);
    kill(pid(&replay), Signal::SIGINT).unwrap();
    assert_eq!(replay.wait().unwrap().code(), Some(130));
    recorded.products(&["--record", &recorded.file], "2").ok();
}

#[test]
fn two_runs_that_add_to_one_recording_are_both_added() {
    let recorded = Recorded::of("2");
    let live = [&recorded.replay[..], "--replay-live", "local"];
    // They differ in the first request that is not recorded.
    let sizes = ["16", "48"];
    let runs = sizes.map(|size| recorded.sized(&live, "2", size).start());
    for (child, folder) in runs {
        Finished::of(child.wait_with_output().unwrap(), &folder).ok();
    }
    for size in sizes {
        recorded.sized(&[&recorded.replay], "2", size).finish().ok();
    }
    recorded.serves(&["2"]);
}

/// Somebody else adds to it, and does not end.
#[test]
fn a_run_that_is_ended_as_it_waits_to_be_added_leaves_nothing() {
    let recorded = Recorded::of("2");
    let before = fs::read(&recorded.file).unwrap();
    let folder = recorded.folder.path();
    let adding = Flock::lock(File::open(folder).unwrap(), FlockArg::LockExclusive);
    let _adding = adding.map_err(|(_, errno)| errno).unwrap();
    let live = [&recorded.replay[..], "--replay-live", "local"];
    let (mut child, _report) = recorded.run(&live, "3").start();
    let until = Instant::now() + Duration::from_secs(120);
    while !has_open(&child, folder) {
        assert!(child.try_wait().unwrap().is_none(), "the run ended early");
        assert!(Instant::now() < until, "the run adds nothing");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(recorded.names().len(), 2);
    kill(pid(&child), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(recorded.names(), [PathBuf::from(&recorded.file)]);
    assert!(fs::read(&recorded.file).unwrap() == before);
}

/// It is a run's that goes on, or of one that was killed.
#[test]
fn what_a_killed_run_leaves_beside_a_recording_goes_with_the_next() {
    let recorded = Recorded::of("2");
    let live = [&recorded.replay[..], "--replay-live", "local"];
    let script = "echo begun; while :; do sleep 1; done";
    let starts = || {
        let (mut run, folder) = Run::new([&live[..], &["sh", "-c", script]].concat()).start();
        let mut line = String::new();
        let mut output = BufReader::new(run.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "begun\n");
        (run, folder)
    };
    let (mut killed, _killed_folder) = starts();
    kill(pid(&killed), Signal::SIGKILL).unwrap();
    killed.wait().unwrap();
    let left = recorded.names();
    assert_eq!(left.len(), 2, "{left:?}");
    let (mut goes_on, _folder) = starts();
    let old = SystemTime::now() - Duration::from_secs(3600);
    for path in recorded.names() {
        let file = File::options().append(true).open(path).unwrap();
        file.set_modified(old).unwrap();
    }
    recorded.products(&live, "3").ok();
    let names = recorded.names();
    assert_eq!(names.len(), 2, "{names:?}");
    let is_kept =
        |path: &PathBuf| path.as_path() == Path::new(&recorded.file) || !left.contains(path);
    assert!(names.iter().all(is_kept), "{left:?} {names:?}");
    kill(pid(&goes_on), Signal::SIGTERM).unwrap();
    goes_on.wait().unwrap();
    recorded.serves(&["2", "3"]);
}

fn has_open(child: &Child, path: &Path) -> bool {
    let open = fs::read_dir(format!("/proc/{}/fd", child.id()));
    let mut open = open.into_iter().flatten().flatten();
    open.any(|fd| fs::read_link(fd.path()).is_ok_and(|to| to == path))
}
