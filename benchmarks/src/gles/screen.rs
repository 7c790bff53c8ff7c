//! Frames as large as a screen, read back.

use super::{NAME, built, in_guest};
use crate::bench::{Bench, Effort};
use crate::c_program;
use crate::error::BenchError;
use crate::line::{Measured, Must};
use crate::sampling::Times;
use std::process::Command;
use std::time::Duration;

const SOURCE: &str = "benchmarks/programs/screen.c";
/// Milliseconds of wall time a frame beyond those of the native program.
const BEYOND: Must = Must::AtMost(12.0);
/// How many times each is measured.
const TIMES: usize = 3;

pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Measured>, BenchError> {
    let built = built(bench, SOURCE)?;
    let frames: u32 = match bench.effort {
        Effort::Quick => 3,
        Effort::Usual | Effort::Full => 30,
    };
    let json = bench.folder.join("screen.json");
    let (mut guest, mut native) = (Vec::new(), Vec::new());
    for _ in 0..bench.effort.times(TIMES) {
        guest.push(each(&mut in_guest(&json, &[], &built.guest)?, frames)?);
        native.push(each(&mut Command::new(&built.native), frames)?);
    }
    let median = |times| Times::new(times).median().as_secs_f64() * 1e3;
    let case = "1920x1080, drawn and read: wall time a frame";
    let line = Measured::new(NAME, case, "ms", median(guest));
    Ok(vec![line.above("natively", median(native)).must(BEYOND)])
}

fn each(command: &mut Command, frames: u32) -> Result<Duration, BenchError> {
    let moments = c_program::moments(command.arg(frames.to_string()), 2)?;
    Ok((moments[1] - moments[0]) / frames)
}
