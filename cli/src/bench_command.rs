//! `gil bench`: the benchmarks, which leave nothing where a signal ends them.

use crate::signals::Signalled;
use gil_benchmarks::{BenchArgs, BenchError};
use gil_run_support::progress::Progress;

/// Measures, and reports the figures.
///
/// # Errors
/// [`BenchError`] says what cannot be measured or written here.
pub fn run(args: &BenchArgs) -> Result<(), BenchError> {
    // What it shows are lines that stay.
    let signalled = Signalled::install(&Progress::new(true))?;
    signalled.ask_children();
    let result = gil_benchmarks::run(args, &|folder| signalled.remove_at_exit(folder.into()));
    signalled.comes_first(result.is_err());
    result
}
