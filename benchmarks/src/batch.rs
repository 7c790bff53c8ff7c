//! Batched launches of kernels, at the host interface's border: the host interface's
//! own work for a doorbell with a batch, divided by the number of launches. The rest
//! is the wait for the answer to the last launch, when the board's driver has accepted
//! all of them.

use crate::bench::Bench;
use crate::error::BenchError;
use crate::line::{Measured, Must};
use crate::program::Took;
use crate::sampling::{Times, us};
use std::time::Duration;

/// Launches in one submission; the guest's library sends 64 at the latest.
const BATCHES: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Submissions of each size.
const TIMES: usize = 200;
/// Microseconds a launch, of full batches.
const MUST: Must = Must::AtMost(2.0);

/// All sizes.
pub fn measure(bench: &Bench<'_>) -> Result<Vec<Measured>, BenchError> {
    let board = bench.board(bench.way())?;
    let mut program = bench.api.program_with_queue(&board, 4096)?;
    let kernel = program.kernel()?;
    let mut lines = Vec::new();
    for batch in BATCHES {
        let mut took = Vec::new();
        for _ in 0..bench.effort.times(TIMES) {
            took.push(program.launch(kernel, batch)?);
            // So that every submission finds the board idle.
            program.finish()?;
        }
        lines.push(line(&took, batch));
    }
    Ok(lines)
}

fn line(took: &[Took], batch: usize) -> Measured {
    let median = |of: fn(&Took) -> Duration| us(Times::new(took.iter().map(of).collect()).median());
    let each = median(|took| took.own) / batch as f64;
    let name = format!("{batch} launches together, each");
    Measured::new("batch", name, "us", each)
        .batch(batch as u64)
        .must_if(Some(&batch) == BATCHES.last(), MUST)
        .detail("wall_each_us", median(|took| took.wall) / batch as f64)
        .detail("submission_us", median(|took| took.wall))
}
