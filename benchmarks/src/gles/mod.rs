//! Programs that draw: the examples and a large scene, in the guest against natively on
//! the same EGL; a cube on the guest's display, against Mesa's renderer in the guest; and
//! what batched calls cost in the guest.

mod cost;
mod examples;
mod kmscube;
mod screen;

use crate::bench::Bench;
use crate::c_program::{self, Built};
use crate::calibrated::Calibrated;
use crate::error::BenchError;
use crate::line::Measured;
use gil_report::{Frames, Report};
use std::path::Path;
use std::process::Command;

/// The benchmark's name.
const NAME: &str = "gles";
const LIBRARIES: [&str; 2] = ["-lEGL", "-lGLESv2"];

/// For `gil calibrate`.
pub(crate) const CALIBRATED: Calibrated = Calibrated {
    name: "gles",
    launches: "benchmarks/programs/draws.c",
    many: 64,
    programs: "benchmarks/programs/scenes.c",
    libraries: &LIBRARIES,
    fitted: &[
        "clears",
        "quads",
        "mesh",
        "mandel",
        "texture",
        "upload",
        "depth",
        "instances",
        "frames",
        "reads",
    ],
    launch: ["draw", "draws"],
    paused: "a longer draw after a pause",
};

/// Everything that is measured of OpenGL ES.
///
/// # Errors
/// [`BenchError`] if a program does not build, or fails.
pub fn measure(bench: &Bench<'_>) -> Result<Vec<Measured>, BenchError> {
    let mut lines = cost::measure(bench)?;
    lines.extend(examples::measure(bench)?);
    lines.extend(screen::measure(bench)?);
    lines.extend(kmscube::measure(bench)?);
    Ok(lines)
}

/// One of gil's programs, for this machine and the guest.
fn built(bench: &Bench<'_>, source: &str) -> Result<Built, BenchError> {
    c_program::build(source, bench.folder, &LIBRARIES, &LIBRARIES)
}

/// `gil run` of a program on a board of this benchmark's, with these options.
fn in_guest(json: &Path, options: &[&str], program: &Path) -> Result<Command, BenchError> {
    let mut command = c_program::in_guest(json)?;
    command.args(options).arg(program);
    Ok(command)
}

/// The frames of a run's report.
fn frames(report: &Report) -> Frames {
    report.frames.first().cloned().unwrap_or_default()
}
