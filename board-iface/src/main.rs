//! `gil-board`: the board agent.

use clap::Parser;
use gil_board::BACK_ENDS;
use gil_board::cli::{BoardArgs, run};
use gil_board::process::Program;
use std::io::IsTerminal;
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

/// gil's board agent: runs forwarded GPU calls on this machine's devices.
#[derive(Parser)]
#[command(version)]
struct Args {
    #[command(flatten)]
    board: BoardArgs,
}

fn main() -> ExitCode {
    let filter = EnvFilter::try_from_env("GIL_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .without_time()
        // A log that cannot be written is no end of the agent.
        .log_internal_errors(false)
        .init();
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
