//! The options of `gil sweep`.

use clap::{Args, ValueEnum};
use gil_sweep::work;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Which points run that have a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Again {
    /// Those that failed.
    Failed,
}

/// Arguments of `gil sweep`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Exit codes: 0 if all points ran and none failed; 1 if not; 130 after Ctrl-C. docs/SWEEPS.md describes FILE
and the table.")]
pub struct SweepArgs {
    /// The sweep: a program, and a grid of options of `gil run`, keys of a board's profile,
    /// variables and arguments.
    pub file: PathBuf,
    /// The folder of rows, outputs, table and plot; if it is not said, FILE with .sweep in
    /// place of .toml.
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// How many points run at once; if it is not said, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Run points again that have a row.
    #[arg(long, value_enum, value_name = "WHICH")]
    pub again: Option<Again>,
    /// List all points, a line of JSON each.
    #[arg(long, group = "what")]
    pub points: bool,
    /// Run this point alone, or these: other `gil sweep --point` may run beside.
    #[arg(long, group = "what", value_name = "K[-L]", value_parser = points)]
    pub point: Option<RangeInclusive<usize>>,
    /// Make the table and the plot of the rows that there are, and run nothing.
    #[arg(long, group = "what")]
    pub table: bool,
    /// Write a script for sbatch that runs the points without a row as an array of Slurm's.
    #[arg(long, group = "what")]
    pub slurm: bool,
    /// Show no progress, and nothing at the end.
    #[arg(long, short)]
    pub quiet: bool,
}

impl SweepArgs {
    /// Which points run that have a row.
    pub fn again(&self) -> work::Again {
        match self.again {
            Some(Again::Failed) => work::Again::Failed,
            None => work::Again::None,
        }
    }
}

/// `7`, or `7-9`.
fn points(text: &str) -> Result<RangeInclusive<usize>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok(first..=last),
        _ => Err("write a point's number, or the first and the last as 1-9".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_one_or_some() {
        assert_eq!(points("7"), Ok(7..=7));
        assert_eq!(points("7-9"), Ok(7..=9));
        for wrong in ["", "-1", "9-7", "x", "1-", "1-2-3", "99999999999999999999"] {
            assert!(points(wrong).is_err(), "{wrong}");
        }
    }
}
