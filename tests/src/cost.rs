//! What calls cost in the guest, in instructions, as `tests/guest/cl_cost.c`,
//! `tests/guest/gles_cost.c` and `tests/guest/cuda_cost.c` count them.

use crate::scripted::Scripted;
use crate::{Link, Run, Width, guest_program};
use std::path::Path;

/// One row of the program's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// `kernel`, `local`, `answer`, `region`, `post`, `callback`, `batched`, `bytes`, `launch`, `large`,
    /// `registered` or `pages`; the
    /// programs say what they are.
    pub kind: String,
    /// Guest instructions a call.
    pub instructions: u64,
    /// The call.
    pub name: String,
}

fn row(line: &str) -> Option<Row> {
    let mut words = line.splitn(3, ' ');
    Some(Row {
        kind: words.next()?.into(),
        instructions: words.next()?.parse().ok()?,
        name: words.next()?.into(),
    })
}

/// Runs the program with gil's own library as its `libOpenCL.so.1`, on a board
/// that takes no simulated time.
///
/// # Panics
/// If the run fails or prints no table.
pub fn measure() -> Vec<Row> {
    let copied = Width::Arm64.in_place_of_the_loader();
    let program = guest_program("tests/guest/cl_cost.c", Link::OpenCl);
    rows(
        &program,
        &["--file", &copied, "--env", "LD_LIBRARY_PATH=/direct"],
    )
}

/// The same of OpenGL ES, through GLVND's libraries.
///
/// # Panics
/// As [`measure`].
pub fn measure_gles() -> Vec<Row> {
    rows(&guest_program("tests/guest/gles_cost.c", Link::Gles), &[])
}

/// The same of CUDA, over a driver that runs no kernels.
///
/// # Panics
/// As [`measure`].
pub fn measure_cuda() -> Vec<Row> {
    let board = crate::cuda::board(&["--scripted-times", "cpu=0,device=0"]);
    let program = guest_program("tests/guest/cuda_cost.c", Link::Cuda);
    rows_on(&board, &program, &[])
}

fn rows(program: &Path, options: &[&str]) -> Vec<Row> {
    rows_on(&Scripted::start(0, 0), program, options)
}

fn rows_on(board: &Scripted, program: &Path, options: &[&str]) -> Vec<Row> {
    let program = program.display().to_string();
    let args = ["--board", board.address()].into_iter();
    let args = args.chain(options.iter().copied()).chain([&*program]);
    let run = Run::new(args).finish().ok();
    let rows: Vec<_> = run.stdout.lines().filter_map(row).collect();
    assert!(!rows.is_empty(), "{run:#?}");
    rows
}
