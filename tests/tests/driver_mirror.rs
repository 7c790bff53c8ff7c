//! Drivers of GPUs at the level of system calls. The board is a machine in QEMU with a
//! virtio GPU, which virgl draws on this machine's CPU: its render node is a real one.

use gil_tests::board_machine::{BoardMachine, lacks_gpu};
use gil_tests::{Link, binary, guest_program};
use std::path::PathBuf;
use std::process::Command;

/// The examples that draw there.
const EXAMPLES: [(&str, Link); 5] = [
    ("gles-quads", Link::Gles),
    ("gles-shape", Link::Gles),
    ("gles-fog", Link::Gles),
    ("gles-rubik", Link::Gles),
    ("gles1-fog", Link::Gles1),
];
/// So many frames of each.
const FRAMES: &str = "5";

/// Whether this machine's QEMU has a GPU for its machines.
fn has_gpu() -> bool {
    let lacks = lacks_gpu();
    if let Some(what) = lacks {
        gil_need::skip(what, "it is in Debian's qemu-system-gui");
    }
    lacks.is_none()
}

fn examples() -> Vec<(PathBuf, &'static str)> {
    let program = |(name, link)| guest_program(&format!("examples/{name}/{name}.c"), link);
    EXAMPLES.map(|example| (program(example), FRAMES)).into()
}

/// What a program printed on the machine's console: its first line with the renderer, its
/// frames' sums, and its last line.
fn printed<'a>(console: &'a str, name: &str) -> Vec<&'a str> {
    let is_first = |line: &&str| !line.starts_with(name);
    let mut lines = console.lines().skip_while(is_first).peekable();
    let mut found: Vec<_> = lines.next().into_iter().collect();
    for line in lines {
        found.push(line);
        if line.starts_with(name) {
            break;
        }
    }
    found
}

#[test]
fn a_board_in_qemu_has_a_gpu_that_debians_mesa_draws_on() {
    if !has_gpu() {
        return;
    }
    let board = BoardMachine::with_gpu(&examples());
    let console = board.console();
    assert!(console.contains("features: +virgl"), "{console}");
    assert!(console.contains("renderD128"), "{console}");
    for (name, _) in EXAMPLES {
        let lines = printed(&console, name);
        let [first, frames @ .., last] = &lines[..] else {
            panic!("{name} printed nothing: {console}");
        };
        assert!(first.contains(" on virgl"), "{lines:#?}");
        assert_eq!(frames.len(), FRAMES.parse::<usize>().unwrap(), "{lines:#?}");
        assert!(last.contains("PASS"), "{lines:#?}");
    }
    is_reached(&board);
}

/// The agent answers whoever has its key, although the board has no OpenCL.
fn is_reached(board: &BoardMachine) {
    let mut gil = Command::new(binary("gil"));
    gil.args(["ping", "--count", "10", "--key"]);
    let output = gil.arg(board.key()).arg(board.address()).output().unwrap();
    assert!(output.status.success(), "{output:?}\n{}", board.console());
}
