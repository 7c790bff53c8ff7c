//! Power of a GPU whose registers are gil's, as the kernel's own panfrost and lima
//! use them.

use gil_tests::stand_in::{Board, jobs};
use gil_tests::{Link, guest_program};

const GPUS: [&str; 2] = ["mali-t628", "mali-400"];
const TIMES: &str = "slot1=20000;slot0=90000;gp=20000;pp=90000";

/// A program keeps its buffers while the GPU is powered down and up again.
#[test]
fn values_are_written_before_and_after_a_suspension() {
    let board = Board::new(TIMES, 30_000);
    let program = guest_program("tests/guest/panfrost_power.c", Link::Static);
    let program = program.display().to_string();
    let run = board.run_as(["--gpu", "mali-t628"], &[], &[&program]).ok();
    assert_eq!(run.stdout.matches("ok ").count(), 2, "{run:#?}");
    assert!(!run.stdout.contains("not ok"), "{run:#?}");
}

/// Mesa draws on when the kernel has suspended the GPU, by either driver.
#[test]
fn mesa_draws_on_after_a_suspension() {
    for gpu in GPUS {
        let board = Board::new(TIMES, 30_000);
        let program = guest_program("tests/guest/gles_power.c", Link::Gles);
        let file = format!("{}:/root/draw", program.display());
        let script = "/root/draw && dmesg | grep -E 'panfrost|lima|gpu ' \
                      | grep -ciE 'timeout|fault|hang|not idle' || true";
        let options = ["--file", &file];
        let run = board.run_as(["--gpu", gpu], &options, &["sh", "-c", script]);
        let run = run.ok();
        let lines: Vec<_> = run.stdout.lines().collect();
        assert_eq!(
            lines,
            ["5 frames, 4 times suspended, error 0", "0"],
            "{run:#?}"
        );
        let processors = [["slot1", "slot0"], ["gp", "pp0"]].concat();
        let all: Vec<_> = processors.iter().map(|it| jobs(&board.log(), it)).collect();
        assert_eq!(
            all.iter().filter(|count| **count >= 5).count(),
            2,
            "{all:?}"
        );
    }
}
