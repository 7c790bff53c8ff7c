//! `gil run` ends as the program ended, and says in one sentence why it could
//! not be run.

use gil_tests::{Finished, Link, Run, guest_program};

fn exits(args: &[&str]) -> Finished {
    let program = guest_program("tests/guest/exits.c", Link::Static);
    let program = program.display().to_string();
    Run::new([program.as_str()].iter().chain(args)).finish()
}

#[test]
fn the_programs_exit_code_is_gils() {
    let run = exits(&["code", "7"]);
    assert_eq!(run.code, Some(7), "{run:#?}");
    assert_eq!(run.integer("/exit/code"), 7);
    assert_eq!(run.report.pointer("/exit/origin").unwrap(), "program");
}

#[test]
fn a_signal_gives_128_and_its_number() {
    let run = exits(&["signal", "11"]);
    assert_eq!(run.code, Some(139), "{run:#?}");
    assert!(run.stderr.contains("signal 11"), "{}", run.stderr);
}

#[test]
fn who_fills_the_guests_memory_learns_what_helps() {
    let fill = "x=12345678; while :; do x=$x$x; done";
    let run = Run::new(["--memory", "256M", "sh", "-c", fill]).finish();
    assert_eq!(run.code, Some(137), "{run:#?}");
    assert!(run.stderr.contains("--memory"), "{}", run.stderr);
}

#[test]
fn output_arrives_stream_by_stream_and_byte_by_byte() {
    let run = exits(&["echo", "a b", "c\u{e9}"]).ok();
    assert_eq!(run.stdout, "a b c\u{e9}\n");
    assert!(run.stderr.starts_with("done\n"), "{}", run.stderr);
}

#[test]
fn a_program_that_is_not_there_gives_127() {
    let run = Run::new(["./no-such-program"]).finish();
    assert_eq!(run.code, Some(127), "{run:#?}");
    assert!(run.stderr.contains("no-such-program"), "{}", run.stderr);
}

#[test]
fn a_program_for_another_machine_gives_126() {
    let run = Run::new(["/bin/true"]).finish();
    assert_eq!(run.code, Some(126), "{run:#?}");
    assert!(run.stderr.contains("arm64"), "{}", run.stderr);
}
