//! `stand-in-board`: gil's board agent, whose render nodes stand in for those of lima and
//! panfrost.

use clap::Parser;
use gil_board::back_end::BackEnd;
use gil_board::cli::{BoardArgs, run};
use gil_board::process::Program;
use gil_stand_in_node::back_end::StandIns;
use std::process::ExitCode;

/// A board agent whose GPUs are none.
#[derive(Parser)]
#[command(version)]
struct Args {
    #[command(flatten)]
    board: BoardArgs,
}

/// What it serves.
const BACK_ENDS: &[&dyn BackEnd] = &[&StandIns];

fn main() -> ExitCode {
    gil_board::log::start();
    let program = Program {
        name: "stand-in-board",
        args: &[],
        back_ends: BACK_ENDS,
    };
    match run(&Args::parse().board, program) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stand-in-board: {error}");
            ExitCode::FAILURE
        }
    }
}
