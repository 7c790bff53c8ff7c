//! `gil-board`: the board agent.

use clap::Parser;
use gil_board::BACK_ENDS;
use gil_board::cli::{BoardArgs, run};
use gil_board::process::Program;
use std::process::ExitCode;

/// gil's board agent: runs forwarded GPU calls on this machine's devices.
#[derive(Parser)]
#[command(version)]
struct Args {
    #[command(flatten)]
    board: BoardArgs,
}

fn main() -> ExitCode {
    gil_board::log::start();
    let program = Program {
        name: "gil-board",
        args: &[],
        back_ends: BACK_ENDS,
    };
    match run(&Args::parse().board, program) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gil-board: {error}");
            ExitCode::FAILURE
        }
    }
}
