//! Two processes of one guest share a device and its engines.

use gil_tests::scripted::Scripted;
use gil_tests::{Finished, Link, Run, guest_program};

fn run(options: &[&str]) -> Finished {
    let times = ["--scripted-times", "cpu=2000,device=1000000"];
    let board = Scripted::with(&[&times[..], options].concat());
    let program = guest_program("tests/guest/cl_two.c", Link::OpenCl);
    let program = program.display().to_string();
    let run = Run::new(["--board", board.address(), &program]).finish();
    print!("{}", run.stdout);
    run.ok()
}

#[test]
fn two_processes_take_turns_on_a_device() {
    let prompt = run(&[]);
    assert_eq!(prompt.integer("/totals/late_deliveries"), 0);
    assert!(prompt.stdout.ends_with("ok two processes take turns\n"));
    let late = run(&["--delay-reply", "7"]);
    assert_eq!(prompt.stdout, late.stdout, "every time is printed");
    let time = |run: &Finished| run.integer("/simulated/program_ns");
    assert_eq!(time(&prompt), time(&late));
}
