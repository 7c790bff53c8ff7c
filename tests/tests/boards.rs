//! Graphics on one board and OpenCL on another, in one program and in two; and one
//! of the boards is lost.

use gil_tests::scripted::Scripted;
use gil_tests::{Finished, Link, Run, guest_program, native_program_with};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::process::Command;

const PROGRAM: &str = "tests/guest/gles_and_cl.c";

/// What the program prints on this machine.
fn natively(args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let libraries: Vec<_> = Link::Gles.libraries().iter().map(OsStr::new).collect();
    let program = native_program_with(PROGRAM, folder.path(), &libraries);
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "natively: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The program in the guest, with these boards.
fn guest(boards: &[String], args: &[&str]) -> Run {
    let program = guest_program(PROGRAM, Link::Gles).display().to_string();
    let boards = boards.iter().flat_map(|board| ["--board", board]);
    Run::new(boards.chain([program.as_str()]).chain(args.iter().copied()))
}

/// Of each board of the report: its APIs, and how many calls it took.
fn took(run: &Finished) -> Vec<(String, u64)> {
    let boards = run.report.pointer("/boards").expect("several");
    let boards = boards.as_array().expect("a list").iter();
    let each = boards.map(|board| {
        let apis = board["apis"].as_str().expect("names").to_owned();
        (apis, board["calls"].as_u64().expect("a number"))
    });
    each.collect()
}

#[test]
fn one_program_has_a_board_for_graphics_and_one_for_opencl() {
    let [gles, opencl] = [(); 2].map(|()| Scripted::with(&[]));
    let boards = [
        format!("gles={}", gles.address()),
        format!("opencl={}", opencl.address()),
    ];
    let run = guest(&boards, &["both"]).finish().ok();
    assert_eq!(run.stdout, natively(&["both"]), "{}", run.stderr);
    let took = took(&run);
    assert_eq!(took.len(), 2, "{took:?}");
    assert!(took[0].0.starts_with("EGL and OpenGL ES") && took[1].0 == "OpenCL");
    assert!(took.iter().all(|(_, calls)| *calls > 20), "{took:?}");
}

#[test]
fn two_programs_have_a_board_each_and_gils_own_serves_what_is_not_named() {
    let gles = Scripted::with(&[]);
    let boards = [format!("egl={}", gles.address())];
    let run = guest(&boards, &["two"]).finish().ok();
    assert_eq!(run.stdout, natively(&["two"]), "{}", run.stderr);
    let took = took(&run);
    assert_eq!(took[0].0, "other APIs");
    assert!(took.iter().all(|(_, calls)| *calls > 20), "{took:?}");
}

/// A board is killed in the midst of it, and the program goes on with the other;
/// what the program prints.
fn goes_on_without(lost: usize) -> Finished {
    let mut agents = [(); 2].map(|()| Scripted::with(&[]));
    let boards = [
        format!("gles={}", agents[0].address()),
        format!("opencl={}", agents[1].address()),
    ];
    let (mut child, folder) = guest(&boards, &["loses"]).start();
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "begun\n");
    agents[lost].kill();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    let mut run = Finished::of(output, &folder).ok();
    run.stdout = rest;
    run
}

#[test]
fn a_lost_board_is_a_lost_context_and_opencl_goes_on() {
    let run = goes_on_without(0);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines[0], "no picture: 0x300e, 0x507, reset 1", "{run:#?}");
    assert_eq!(lines[1], "another context: 0, 0x300e");
    let right = lines[2..].iter().all(|line| line.ends_with(", error 0"));
    assert!(right && lines.len() == 5, "{run:#?}");
    let lost = run.report.pointer("/boards/0/lost").unwrap();
    let lost = lost.as_str().expect("a sentence");
    assert!(
        lost.contains("lost the board for EGL and OpenGL ES"),
        "{lost}"
    );
    assert!(run.report.pointer("/boards/1/lost").unwrap().is_null());
}

#[test]
fn opencl_without_its_board_leaves_the_pictures() {
    let run = goes_on_without(1);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines[0], "no numbers: -2", "{run:#?}");
    assert_eq!(lines.len(), 4, "{run:#?}");
    for line in &lines[1..] {
        assert!(line.starts_with("picture ") && line.ends_with(", error 0"));
    }
}
