//! Debian's Mesa on the drivers lima and panfrost, on a board whose nodes stand in for
//! those of a Mali-400 and a Mali-T628: it checks each request, and that what each job
//! names is there. Nothing is drawn.

use gil_tests::scripted::Scripted;
use gil_tests::{Finished, Link, Run, binary, guest_program};
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The examples that submit jobs there, with so many frames each.
const EXAMPLES: [(&str, Link); 5] = [
    ("gles-quads", Link::Gles),
    ("gles-shape", Link::Gles),
    ("gles-fog", Link::Gles),
    ("gles-rubik", Link::Gles),
    ("gles1-fog", Link::Gles1),
];
const FRAMES: &str = "3";

/// An agent with stand-in nodes, and its log.
struct Board {
    agent: Scripted,
    log: PathBuf,
    _folder: tempfile::TempDir,
}

impl Board {
    /// One whose jobs take these times, and that waits so long for one.
    fn new(times: &str, limit_ms: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut agent = Command::new(binary("stand-in-board"));
        agent.env("GIL_STAND_IN_TIMES", times);
        agent.env("GIL_STAND_IN_LIMIT_MS", limit_ms.to_string());
        let to: Stdio = File::create(&log).unwrap().into();
        Self {
            agent: Scripted::logging(agent, &[], to),
            log,
            _folder: folder,
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    fn run(&self, driver: &str, options: &[&str], program: &[&str]) -> Finished {
        let mut args = vec!["--driver", driver, "--board", self.agent.address()];
        args.extend(options);
        args.extend(program);
        Run::new(args).finish()
    }
}

/// Jobs of a processor in a log, and that none of them failed.
fn jobs(log: &str, processor: &str) -> usize {
    assert!(!log.contains("fails: "), "{log}");
    let name = format!(" on {processor} names ");
    log.lines().filter(|line| line.contains(&name)).count()
}

/// The examples submit their jobs, to the end; the board found what each of them names.
fn draws(driver: &str, renderer: &str, processors: [&str; 2]) {
    let board = Board::new("", 30_000);
    for (name, link) in EXAMPLES {
        let before = processors.map(|it| jobs(&board.log(), it));
        let program = guest_program(&format!("examples/{name}/{name}.c"), link);
        let program = program.display().to_string();
        let run = board.run(driver, &[], &[&program, FRAMES]).ok();
        let first = run.stdout.lines().next().unwrap_or_default();
        assert!(first.ends_with(&format!(" on {renderer}")), "{run:#?}");
        assert!(run.stdout.contains(": PASS"), "{run:#?}");
        for (processor, before) in processors.into_iter().zip(before) {
            let more = jobs(&board.log(), processor) - before;
            let frames: usize = FRAMES.parse().unwrap();
            assert!(more >= frames, "{name}: {more} jobs on {processor}");
        }
    }
}

#[test]
fn debians_lima_submits_the_examples_jobs() {
    draws("lima", "Mali400", ["gp", "pp"]);
}

#[test]
fn debians_panfrost_submits_the_examples_jobs() {
    draws("panfrost", "Mali-T620 (Panfrost)", ["slot1", "slot0"]);
}

/// EGL says which driver it found. The program ends with an error: there is no display.
#[test]
fn eglinfo_names_the_driver() {
    let board = Board::new("", 30_000);
    for driver in ["lima", "panfrost"] {
        let options = ["--pkg", "mesa-utils-bin"];
        let run = board.run(driver, &options, &["eglinfo.aarch64-linux-gnu"]);
        let line = format!("EGL driver name: {driver}\n");
        assert!(run.stdout.contains(&line), "{run:#?}");
    }
}

/// What a program says of a driver's own calls, in simulated time, on a board whose jobs
/// take these times.
fn says(driver: &str, source: &str, (times, limit_ms): (&str, u64), arguments: &[&str]) -> String {
    let board = Board::new(times, limit_ms);
    let program = guest_program(source, Link::Static).display().to_string();
    let words = [&[&*program], arguments].concat();
    let run = board.run(driver, &[], &words).ok();
    assert!(run.stdout.contains("ok "), "{run:#?}");
    assert!(!run.stdout.contains("not ok"), "{run:#?}");
    board.log()
}

const PANFROST_JOBS: &str = "tests/guest/panfrost_jobs.c";

#[test]
fn panfrosts_jobs_end_when_the_script_says_and_refusals_have_their_errno() {
    let times = ("slot0=3000000;slot1=3000000", 30_000);
    let log = says("panfrost", PANFROST_JOBS, times, &["3000"]);
    let failed = log.lines().filter(|line| line.contains(" fails: "));
    let failed: Vec<_> = failed.collect();
    assert_eq!(failed.len(), 1, "{log}");
    assert!(
        failed[0].ends_with("no value's place at GPU address 0x1000"),
        "{log}"
    );
}

#[test]
fn panfrosts_jobs_that_do_not_end_are_given_up() {
    says("panfrost", PANFROST_JOBS, ("slot1=never", 300), &["never"]);
}

#[test]
fn limas_jobs_end_when_the_script_says_and_refusals_have_their_errno() {
    let times = ("gp=2000000;pp=5000000", 30_000);
    let log = says("lima", "tests/guest/lima_jobs.c", times, &["2000", "5000"]);
    assert!(
        log.contains("fails: no polygon list's command at GPU address 0x1000"),
        "{log}"
    );
}
