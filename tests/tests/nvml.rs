//! NVML in a guest, over a library whose two devices are not there.

use gil_tests::coverage::{LIST_CALLS, called, covers};
use gil_tests::nvml::{board, driver};
use gil_tests::scripted::Scripted;
use gil_tests::{Finished, Link, Run, guest_program, root};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

const RULES: &str = "tests/guest/nvml_rules.c";

fn run(board: &str, options: &[&str], source: &str) -> Finished {
    let program = guest_program(source, Link::Nvml).display().to_string();
    let args = [&["--board", board], options, &[&*program]].concat();
    Run::new(args).finish()
}

/// What a program prints on this machine, over the same library.
fn natively(source: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join(gil_guest_names::NVML.file);
    std::os::unix::fs::symlink(driver(), name).unwrap();
    let program = folder.path().join("native");
    let output = Command::new("cc")
        .args(["-O2", "-o"])
        .arg(&program)
        .args([root().join(source), driver()])
        .output()
        .expect("cc: run scripts/setup");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let output = Command::new(program)
        .env("LD_LIBRARY_PATH", folder.path())
        .output();
    String::from_utf8(output.expect("it runs").stdout).expect("a text")
}

/// Lines that say what went wrong.
fn failed(printed: &str) -> Vec<&str> {
    let is_bad = |line: &&str| line.starts_with("not ok");
    printed.lines().filter(is_bad).collect()
}

/// The answers of each query that succeeded.
fn answers(printed: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut all = BTreeMap::<_, BTreeSet<_>>::new();
    for line in printed.lines() {
        if let Some((query, answer)) = line.split_once(": 0 ") {
            all.entry(query).or_default().insert(answer);
        }
    }
    all
}

/// A program passes, live and from its recording, and prints what it prints natively.
fn passes(source: &str, coverage: &str) -> Finished {
    let board = board(&[]);
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("recording").display().to_string();
    let [env, list] = LIST_CALLS;
    let live = run(board.address(), &[env, list, "--record", &record], source);
    assert_eq!(failed(&live.stdout), [""; 0], "{}", live.stderr);
    let live = live.ok();
    covers(coverage, &called(&live.report));
    let replayed = run(&format!("replay:{record}"), &[], source).ok();
    assert_eq!(replayed.stdout, live.stdout, "{}", replayed.stderr);
    live
}

/// Each answer is the board's own: of the query, the device and the arguments.
#[test]
fn queries_are_answered_as_natively() {
    let guests = passes(RULES, "nvml_rules");
    assert_eq!(guests.stdout, natively(RULES), "{}", guests.stderr);
    let answers = answers(&guests.stdout);
    // A library that says the same of both devices is another one.
    let of_devices = || {
        answers
            .iter()
            .filter(|(query, _)| query.starts_with("nvmlDevice"))
    };
    let constant = of_devices().find(|(_, answers)| answers.len() < 2);
    assert_eq!(constant, None);
    let count = of_devices().count();
    assert!(count > 130, "{count} queries of devices");
}

/// A program that opens the library by its name, as most do.
#[test]
fn programs_find_the_library_by_its_name() {
    let source = "tests/guest/nvml_same.c";
    let guests = passes(source, "nvml_same");
    assert_eq!(guests.stdout, natively(source), "{}", guests.stderr);
    assert!(guests.stdout.contains("\nName 0 Null device 1\n"));
}

/// What changes a device and what is about others is refused in the guest, by the code that says so.
#[test]
fn what_a_guest_may_not_is_refused() {
    passes("tests/guest/nvml_refused.c", "nvml_refused");
}

/// A board without it serves other APIs, and says so of this one.
#[test]
fn a_board_without_it_has_no_driver() {
    let mut agent = gil_tests::nvml::agent();
    agent.env("GIL_NVML_DRIVER", "/nonexistent/libnvidia-ml.so.1");
    let board = Scripted::other(agent, &[]);
    let run = run(board.address(), &[], "tests/guest/nvml_absent.c").ok();
    assert!(run.stdout.ends_with("\n0 failures\n"), "{run:#?}");
    assert!(run.stderr.contains("NVML"), "{run:#?}");
    assert!(driver().exists());
}
