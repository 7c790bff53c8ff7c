//! Operations go on while the program does: two queues, wait lists, user
//! events of another thread, markers, polling loops, profiles; and all of it
//! takes the same simulated time however late the board answers.

use gil_tests::scripted::Scripted;
use gil_tests::{Finished, Link, Run, guest_program};

const TIMES: &str = "cpu=2000,device=1000000";

fn run(board: &Scripted) -> Finished {
    let program = guest_program("tests/guest/cl_async.c", Link::OpenCl);
    let program = program.display().to_string();
    let run = Run::new(["--board", board.address(), &program]).finish();
    print!("{}", run.stdout);
    run.ok()
}

#[test]
fn operations_go_on_while_the_program_does() {
    let board = Scripted::with(&["--scripted-times", TIMES]);
    let prompt = run(&board);
    assert_eq!(prompt.integer("/totals/late_deliveries"), 0);
    assert!(!prompt.stdout.contains("not ok"));
    let late = Scripted::with(&["--scripted-times", TIMES, "--delay-reply", "7"]);
    let late = run(&late);
    assert_eq!(late.integer("/totals/late_deliveries"), 0);
    assert_eq!(prompt.stdout, late.stdout, "every time is printed");
    let time = |run: &Finished| run.integer("/simulated/program_ns");
    assert_eq!(time(&prompt), time(&late));
}
