//! An error after a call returned is reported by its event, its context's
//! function and the next call that waits. The program prints a line a test.

use gil_tests::scripted::Scripted;
use gil_tests::{Link, Run, Width, both_widths, guest_program_of};

const REFUSAL: &str = "clEnqueueNDRangeKernel=-54";

fn passes(width: Width, time: &str) {
    let board = Scripted::with(&["--refuse-posted", REFUSAL]);
    let program = guest_program_of(width, "tests/guest/cl_errors.c", Link::OpenCl);
    let program = program.display().to_string();
    let options = ["--board", board.address(), "--time", time, &program];
    let run = Run::new(options).finish().ok();
    assert_eq!(run.stdout.lines().count(), 7, "{run:#?}");
    for line in run.stdout.lines() {
        assert!(line.starts_with("ok "), "{run:#?}");
    }
}

both_widths! {
    fn late_refusals_are_told(width: Width) {
        passes(width, "async");
    }
}

#[test]
fn late_refusals_are_told_in_strict_time_too() {
    passes(Width::Arm64, "strict");
}
