//! Output of commands that do not block arrives at its simulated end, whatever
//! its program does meanwhile.

use gil_tests::scripted::Scripted;
use gil_tests::{Link, Run, guest_program};

#[test]
fn output_is_never_late() {
    let board = Scripted::with(&["--scripted-times", "cpu=2000,device=1000000"]);
    let program = guest_program("tests/guest/cl_late.c", Link::OpenCl);
    let program = program.display().to_string();
    for how in ["waits", "builds", "shares", "threads", "processes", "calls"] {
        let run = Run::new(["--board", board.address(), &program, how]).finish();
        let run = run.ok();
        assert_eq!(run.stdout, format!("ok {how}\n"), "{run:#?}");
        let late = run.integer("/totals/late_deliveries");
        assert_eq!(late, 0, "{how}: {run:#?}");
    }
}
