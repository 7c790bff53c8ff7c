//! Two APIs in one process: the toy API of `examples/toy-api`, which
//! docs/ADDING_AN_API.md adds, beside OpenCL.

use gil_files::container::{HEADER_LEN, read_all};
use gil_files::recording::{self, Record};
use gil_tests::coverage::{LIST_CALLS, called, covers};
use gil_tests::scripted::Scripted;
use gil_tests::{
    Finished, Link, Run, Width, binary, both_widths, guest_program_of, native_program_with, root,
    target,
};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// The toy API's driver on this machine.
fn driver() -> std::path::PathBuf {
    target().join("release/libtoy.so")
}

/// An agent that serves both.
fn board(options: &[&str]) -> Scripted {
    let mut agent = Command::new(binary("toy-board"));
    agent.env("TOY_DRIVER", driver());
    Scripted::other(agent, options)
}

/// What puts the toy API's library, and the shared one that has it, in front of
/// gil's own.
fn libraries(width: Width) -> Vec<String> {
    let shared = width.library("libgil_with_toy.so");
    let thin = width.library(gil_guest_names::TOY.file);
    let shared = format!("{}:/direct/{}", shared.display(), gil_guest_names::SHARED);
    let thin = format!("{}:/direct/{}", thin.display(), gil_guest_names::TOY.file);
    [
        "--file",
        &shared,
        "--file",
        &thin,
        "--env",
        "LD_LIBRARY_PATH=/direct",
    ]
    .map(String::from)
    .to_vec()
}

fn run(width: Width, board: &str, options: &[&str], source: &str) -> Finished {
    let program = guest_program_of(width, source, Link::Toy);
    let mut args = libraries(width);
    args.extend(["--board", board].map(String::from));
    args.extend(options.iter().map(|option| (*option).to_owned()));
    args.push(program.display().to_string());
    Run::new(args).finish()
}

const BESIDE: &str = "tests/guest/toy_beside.c";

/// What a program prints on this machine, over the driver itself.
fn natively(source: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let named = folder.path().join(gil_guest_names::TOY.file);
    std::os::unix::fs::symlink(driver(), &named).unwrap();
    let headers = root().join("examples/toy-api");
    let more = [OsStr::new("-I"), headers.as_os_str(), named.as_os_str()];
    let output = Command::new(native_program_with(source, folder.path(), &more))
        .env("LD_LIBRARY_PATH", folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{source} natively: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The APIs of a recording's calls, in its one session.
fn recorded_apis(recording: &Path) -> BTreeSet<u16> {
    let bytes = std::fs::read(recording).unwrap();
    let mut sessions = BTreeSet::new();
    let mut apis = BTreeSet::new();
    for (stored, _) in read_all(&mut &bytes[HEADER_LEN..]).unwrap() {
        if let Ok(Some(Record::Call(call))) = recording::record(&stored) {
            sessions.insert(call.session);
            apis.insert(call.call.op.api());
        }
    }
    assert_eq!(sessions.len(), 1, "one process, one session");
    apis
}

both_widths! {
    /// The same results natively, in the guest, and from the recording of that.
    fn a_program_of_two_apis_does_what_it_does_natively(width: Width) {
        let native = natively(BESIDE);
        assert!(native.lines().count() > 50, "{native}");
        let board = board(&[]);
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("recording");
        let record = recording.display().to_string();
        let [env, list] = LIST_CALLS;
        let options = [env, list, "--record", &record];
        let live = run(width, board.address(), &options, BESIDE).ok();
        assert_eq!(live.stdout, native, "{}", live.stderr);
        let called = called(&live.report);
        for name in ["toyScale", "toyNotify", "clEnqueueFillBuffer"] {
            assert!(called.contains(name), "{called:?}");
        }
        covers("toy_beside", &called);
        assert_eq!(recorded_apis(&recording).len(), 2);
        let replayed = run(width, &format!("replay:{record}"), &[], BESIDE).ok();
        assert_eq!(replayed.stdout, native, "{}", replayed.stderr);
    }

    /// An agent that has no such back end refuses one API, with that API's own
    /// error, and serves the other.
    fn a_board_without_it_serves_the_other(width: Width) {
        let board = Scripted::with(&[]);
        let refused = run(width, board.address(), &[], "tests/guest/toy_refused.c").ok();
        assert_eq!(refused.stdout.lines().count(), 3, "{refused:#?}");
        assert!(refused.stdout.lines().all(|line| line.starts_with("ok ")), "{refused:#?}");
        assert!(refused.stderr.contains("Toy"), "{refused:#?}");
    }
}

/// Commands of both are one behind the other on the device's compute engine.
#[test]
fn both_contend_for_one_device() {
    const DEVICE_US: i64 = 20_000;
    let times = format!("cpu=1000,device={}", DEVICE_US * 1000);
    let board = board(&["--scripted-times", &times]);
    let run = run(
        Width::Arm64,
        board.address(),
        &[],
        "tests/guest/toy_contends.c",
    )
    .ok();
    let took = |name: &str| -> i64 {
        let line = run.stdout.lines().find(|line| line.starts_with(name));
        let number = line.and_then(|line| line.split(' ').nth(1)?.parse().ok());
        number.unwrap_or_else(|| panic!("no {name}: {run:#?}"))
    };
    // What the guest's own instructions take is far less.
    for (name, commands) in [("theirs", 1), ("ours", 1), ("both", 2)] {
        let (took, least) = (took(name), commands * DEVICE_US);
        assert!(
            (least..least + DEVICE_US / 2).contains(&took),
            "{name} took {took} us: {run:#?}"
        );
    }
}
