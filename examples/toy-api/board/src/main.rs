//! `toy-board`: gil's board agent with one API more. The toy API's back end is
//! beside those of gil's own, which are in `gil_board::BACK_ENDS`.

use clap::Parser;
use gil_board::back_end::BackEnd;
use gil_board::cli::{BoardArgs, run};
use gil_board::opencl::OpenCl;
use gil_board::process::Program;
use gil_toy_board::back_end::Toy;
use std::process::ExitCode;

/// A board agent that serves the toy API, too.
#[derive(Parser)]
#[command(version)]
struct Args {
    #[command(flatten)]
    board: BoardArgs,
}

/// What it serves.
const BACK_ENDS: &[&dyn BackEnd] = &[&OpenCl, &Toy];

fn main() -> ExitCode {
    gil_board::log::start();
    let program = Program {
        name: "toy-board",
        args: &[],
        back_ends: BACK_ENDS,
    };
    match run(&Args::parse().board, program) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("toy-board: {error}");
            ExitCode::FAILURE
        }
    }
}
