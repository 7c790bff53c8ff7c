//! Drivers of GPUs at the level of system calls. The board is a machine in QEMU with a
//! virtio GPU, which virgl draws on this machine's CPU: its render node is a real one.

use gil_tests::board_machine::{BoardMachine, lacks_gpu};
use gil_tests::{Link, Width, binary, guest_program, guest_program_of};
use std::path::{Path, PathBuf};
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
fn debians_mesa_in_the_guest_draws_what_it_draws_on_the_board() {
    if !has_gpu() {
        return;
    }
    let examples = examples();
    let board = BoardMachine::with_gpu(&examples);
    let console = board.console();
    assert!(console.contains("features: +virgl"), "{console}");
    assert!(console.contains("renderD128"), "{console}");
    is_reached(&board);
    another_driver_is_refused(&board);
    for (program, _) in &examples {
        let there = on_the_board(&console, program);
        assert_eq!(from_the_guest(&board, program), there, "{program:?}");
    }
    let source = "examples/gles-shape/gles-shape.c";
    let narrow = guest_program_of(Width::Armhf, source, Link::Gles);
    let there = on_the_board(&console, &narrow);
    assert_eq!(from_the_guest(&board, &narrow), there, "of 32 bits");
    calls_are_seen(&board);
}

/// What is seen of the driver's calls is what `tests/tests/watch.rs` sees of the real one's,
/// by the names of its functions.
fn calls_are_seen(board: &BoardMachine) {
    let program = guest_program("tests/guest/drm_calls.c", Link::Static);
    let program = program.display().to_string();
    let options = ["--driver", "virtio_gpu", "--watch-driver", "virtio_gpu"];
    let run = board.run(&[&options[..], &[&program]].concat()).finish();
    assert_eq!(run.code, Some(0), "{run:#?}");
    let lines = run.stderr.lines();
    let calls = lines.filter_map(|line| line.split_once("pid ")?.1.split_once(": "));
    let calls: Vec<_> = calls.map(|(_, call)| call).collect();
    assert_eq!(calls, run.stdout.lines().collect::<Vec<_>>(), "{run:#?}");
}

/// Mesa would draw on the guest's CPU instead.
fn another_driver_is_refused(board: &BoardMachine) {
    let run = board.run(&["--driver", "lima", "true"]).finish();
    assert_eq!(run.code, Some(125), "{run:#?}");
    assert!(run.stderr.contains("serves no lima"), "{run:#?}");
}

/// What an example printed when it ran on the board itself, with the GPU.
fn on_the_board<'a>(console: &'a str, program: &Path) -> Vec<&'a str> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let lines = printed(console, &name);
    let [first, frames @ .., last] = &lines[..] else {
        panic!("{name} printed nothing: {console}");
    };
    assert!(first.contains(" on virgl"), "{lines:#?}");
    assert_eq!(frames.len(), FRAMES.parse::<usize>().unwrap(), "{lines:#?}");
    assert!(last.contains("PASS"), "{lines:#?}");
    lines
}

/// What it prints in the guest, whose driver is the board's.
fn from_the_guest(board: &BoardMachine, program: &Path) -> Vec<String> {
    let program = program.display().to_string();
    let run = board.run(&["--driver", "virtio_gpu", &program, FRAMES]);
    let run = run.finish();
    assert_eq!(run.code, Some(0), "{run:#?}\n{}", board.console());
    assert!(run.integer("/simulated/gpu_ns") > 0, "{:#}", run.report);
    let calls = run.report.to_string();
    assert!(calls.contains("VIRTGPU_EXECBUFFER"), "{calls}");
    run.stdout.lines().map(str::to_owned).collect()
}

/// The agent answers whoever has its key, although the board has no OpenCL.
fn is_reached(board: &BoardMachine) {
    let mut gil = Command::new(binary("gil"));
    gil.args(["ping", "--count", "10", "--key"]);
    let output = gil.arg(board.key()).arg(board.address()).output().unwrap();
    assert!(output.status.success(), "{output:?}\n{}", board.console());
}
