//! Programs that draw and compute at once in one guest: each has its own results.

use gil_tests::scripted::Scripted;
use gil_tests::{Finished, Link, Run, guest_program, native_program_with, numbers_of_processes};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::process::Command;
use std::time::{Duration, Instant};

const PROGRAM: &str = "tests/guest/gles_many.c";

fn natively(which: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let libraries: Vec<_> = Link::Gles.libraries().iter().map(OsStr::new).collect();
    let program = native_program_with(PROGRAM, folder.path(), &libraries);
    let output = Command::new(program).arg(which).output().unwrap();
    assert!(output.status.success(), "natively: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// In the guest each prints what it prints here.
fn same(board: &Scripted, which: &str) -> Finished {
    let program = guest_program(PROGRAM, Link::Gles).display().to_string();
    let run = Run::new(["--board", board.address(), &program, which]);
    let run = run.finish().ok();
    assert_eq!(run.stdout, natively(which), "{}", run.stderr);
    run
}

/// Of each process: its calls by API.
fn calls(run: &Finished) -> Vec<BTreeMap<String, u64>> {
    let all = run.report.pointer("/processes").expect("processes");
    let all = all.as_array().expect("a list").iter();
    let calls = all.map(|process| serde_json::from_value(process["calls"].clone()));
    calls.collect::<Result<_, _>>().expect("numbers by names")
}

#[test]
fn threads_that_share_a_drawing_process_and_one_of_opencl_at_once() {
    let board = Scripted::with(&[]);
    let run = same(&board, "mixed");
    let calls = calls(&run);
    assert_eq!(calls.len(), 3, "{calls:?}");
    let with = |api: &str| calls.iter().filter(|calls| calls.contains_key(api)).count();
    assert_eq!((with("OpenGL ES"), with("EGL"), with("OpenCL")), (2, 2, 1));
    let of = |api: &str| calls.iter().filter_map(|calls| calls.get(api)).sum::<u64>();
    let entries = run.report.pointer("/entries").expect("entries");
    let entries = entries.as_array().expect("a list").iter();
    let opencl = entries.filter(|entry| entry["api"] == 1);
    let opencl: u64 = opencl.filter_map(|entry| entry["count"].as_u64()).sum();
    assert_eq!(of("OpenCL"), opencl);
}

#[test]
fn eight_that_draw_at_once_leave_nothing_behind() {
    let board = Scripted::with(&[]);
    let run = same(&board, "8");
    assert_eq!(calls(&run).len(), 8);
    let until = Instant::now() + Duration::from_secs(30);
    while board.open_sessions() > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(board.open_sessions(), 0);
    let name = format!("--worker {}", board.id());
    drop(board);
    while !numbers_of_processes(&name).is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(numbers_of_processes(&name), Vec::<i32>::new());
}
