//! Records runs once and replays them twice, and prints the table: wall time of the recording
//! and of the shorter replay, the program's simulated time in both replays, and whether all
//! that is not wall time is equal: what the program prints, the log of calls, the report.
//!
//! ```text
//! docs/experiments/replays/run [--gem5 GEM5 [--mode fs]] [NAME]...
//! ```

use clap::{Parser, ValueEnum};
use gil_tests::Link;
use gil_tests::replayed::{Case, Replayed};
use gil_tests::scripted::Scripted;
use gil_tests::stand_in::Board;
use std::path::PathBuf;
use std::process::ExitCode;

/// Replays the examples twice each and compares.
#[derive(Parser)]
struct Args {
    /// In this gem5 instead of QEMU; times are its ticks then.
    #[arg(long)]
    gem5: Option<PathBuf>,
    /// What gem5 simulates: programs by system-call emulation, or a full system, which takes
    /// minutes to boot each time.
    #[arg(long, value_enum, default_value_t, requires = "gem5")]
    mode: Mode,
    /// Those whose names begin so.
    names: Vec<String>,
}

/// `--mode` of `gil run`.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Mode {
    #[default]
    Se,
    Fs,
}

/// How the guest has GPUs whose board is the stand-in.
const GPUS: [[&str; 2]; 4] = [
    ["--driver", "panfrost"],
    ["--driver", "lima"],
    ["--gpu", "mali-t628"],
    ["--gpu", "mali-400"],
];

fn main() -> ExitCode {
    let args = Args::parse();
    println!(
        "| example | recording, s | replay, s | replay 1 | replay 2 | |\n|---|---|---|---|---|---|"
    );
    let stand_in = Board::new("", 30_000);
    let boards = [(); 2].map(|()| Scripted::with(&[]));
    let mut all: Vec<Case> = Case::examples().collect();
    // No kernel of the guest's is there for a driver by system-call emulation.
    if args.gem5.is_none() || args.mode == Mode::Fs {
        all.extend(of_other_levels(&stand_in, &boards));
    }
    let mode = match args.mode {
        Mode::Se => "se",
        Mode::Fs => "fs",
    };
    for case in &mut all {
        case.gem5 = args.gem5.clone().map(|gem5| (gem5, mode));
    }
    let is_named = |case: &&Case| {
        let mut names = args.names.iter();
        args.names.is_empty() || names.any(|name| case.name.starts_with(name.as_str()))
    };
    let mut differ = false;
    for case in all.iter().filter(is_named) {
        let replayed = case.twice();
        println!("{}", replayed.line(&case.name));
        differ |= Replayed::spread(&replayed).is_some();
    }
    match differ {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

/// Calls of kernel drivers, stores to registers, and two boards.
fn of_other_levels(stand_in: &Board, boards: &[Scripted; 2]) -> Vec<Case> {
    let quads = || Case::example("gles-quads", Link::Gles, &["4"]);
    let on = |gpu| quads().with_gpu(gpu, stand_in.address());
    let both = Case::two_boards(boards);
    GPUS.into_iter().map(on).chain([both]).collect()
}
