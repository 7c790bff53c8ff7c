//! Frames as large as a screen, read back, and shown in a window of the guest.

use super::{NAME, built, in_guest};
use crate::bench::{Bench, Effort};
use crate::c_program;
use crate::error::BenchError;
use crate::line::{Measured, Must};
use crate::sampling::Times;
use std::process::Command;
use std::time::Duration;

const SOURCE: &str = "benchmarks/programs/screen.c";
/// How many times each is measured.
const TIMES: usize = 3;
/// What windows need.
const DISPLAY: [&str; 4] = ["--pkg", "libgbm1", "--screen-size", "1920x1080"];

/// What the guest's program does, against drawing and reading the same natively.
struct Case {
    title: &'static str,
    /// Where each picture goes: `read` or `show`.
    to: &'static str,
    /// How much of it changes: `all` or `part`.
    changes: &'static str,
    /// Milliseconds of wall time a frame beyond those of the native program.
    beyond: Must,
}

const CASES: [Case; 3] = [
    Case {
        title: "1920x1080, drawn and read: wall time a frame",
        to: "read",
        changes: "all",
        beyond: Must::AtMost(12.0),
    },
    Case {
        title: "1920x1080, drawn to a window: wall time a frame",
        to: "show",
        changes: "all",
        beyond: Must::AtMost(12.0),
    },
    Case {
        title: "the same, of which 1 % changes",
        to: "show",
        changes: "part",
        beyond: Must::AtMost(3.0),
    },
];

pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Measured>, BenchError> {
    let built = built(bench, SOURCE)?;
    let frames = match bench.effort {
        Effort::Quick => 3,
        Effort::Usual | Effort::Full => 30,
    };
    let picture = bench.folder.join("screen.png").display().to_string();
    let json = bench.folder.join("screen.json");
    let options: Vec<_> = DISPLAY.into_iter().chain(["--screen", &picture]).collect();
    let mut lines = Vec::new();
    for case in CASES {
        let options = if case.to == "show" { &*options } else { &[] };
        let (mut guest, mut native) = (Vec::new(), Vec::new());
        for _ in 0..bench.effort.times(TIMES) {
            let mut ours = in_guest(&json, options, &built.guest)?;
            guest.push(each(ours.args([case.to, case.changes]), frames)?);
            let mut alone = Command::new(&built.native);
            native.push(each(alone.args(["read", case.changes]), frames)?);
        }
        let median = |times| Times::new(times).median().as_secs_f64() * 1e3;
        let line = Measured::new(NAME, case.title, "ms", median(guest));
        let native = median(native);
        lines.push(line.above("natively, read", native).must(case.beyond));
    }
    Ok(lines)
}

fn each(command: &mut Command, frames: u32) -> Result<Duration, BenchError> {
    let moments = c_program::moments(command.arg(frames.to_string()), 2)?;
    Ok((moments[1] - moments[0]) / frames)
}
