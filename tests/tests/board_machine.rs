//! The board is another machine: an ARM system of its own in a second QEMU,
//! reached over a network, with a key. Guest programs of both widths run on a
//! board of either. All that the board compiles, it compiles in an emulator:
//! each of these takes minutes.

use gil_tests::board_machine::BoardMachine;
use gil_tests::{Link, Run, Width, binary, guest_program, guest_program_of};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One machine at a time: it has memory as one has.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn passes(board: &BoardMachine, run: Run) -> String {
    let run = run.finish();
    assert_eq!(run.code, Some(0), "{run:#?}\n{}", board.console());
    run.stdout
}

/// The demo: Debian's clinfo, then products of matrices, each checked.
fn demo(board: &BoardMachine) {
    let shown = passes(board, board.run(&["--pkg", "clinfo", "clinfo"]));
    assert!(shown.contains("Portable Computing Language"), "{shown}");
    let matmul = guest_program("examples/matmul/matmul.c", Link::OpenCl);
    let matmul = matmul.display().to_string();
    let shown = passes(board, board.run(&[&matmul, "2", "48"]));
    assert!(shown.contains("every product passed"), "{shown}");
}

fn widths(board: &BoardMachine, width: Width) {
    let program = guest_program_of(width, "tests/guest/cl_width.c", Link::OpenCl);
    let shown = passes(board, board.run(&[&program.display().to_string()]));
    let mut lines = shown.lines().filter(|line| !line.starts_with('#'));
    assert!(lines.all(|line| line.starts_with("ok ")), "{shown}");
    assert!(shown.contains("ok "), "{shown}");
}

#[test]
fn a_64_bit_board_runs_the_demo() {
    let _alone = alone();
    let board = BoardMachine::boot(Width::Arm64);
    demo(&board);
    without_the_key(&board);
}

#[test]
fn a_32_bit_board_serves_programs_of_both_widths() {
    let _alone = alone();
    let board = BoardMachine::boot(Width::Armhf);
    demo(&board);
    widths(&board, Width::Arm64);
    widths(&board, Width::Armhf);
}

/// Who has no key, or another, learns nothing.
fn without_the_key(board: &BoardMachine) {
    let mut gil = Command::new(binary("gil"));
    let output = gil.arg("ping").arg(board.address()).output().unwrap();
    assert!(!output.status.success());
    assert!(output.stdout.is_empty(), "{output:?}");
}
