//! Debian's kmscube on a display of the guest, drawn by the board, and by Mesa's renderer in
//! the guest.

use super::NAME;
use crate::bench::{Bench, Effort};
use crate::c_program;
use crate::error::BenchError;
use crate::line::{Measured, Must};
use crate::sampling::Times;
use std::path::Path;
use std::time::Duration;

/// Times as many frames a second.
const FASTER: Must = Must::AtLeast(10.0);
/// How many times each is measured.
const TIMES: usize = 5;
/// Frames before those that count: the first compile shaders.
const BEFORE: u32 = 30;
/// Both have the same guest, with Mesa in it.
const GUEST: [&str; 8] = [
    "--package-platforms",
    "--pkg",
    "kmscube",
    "--pkg",
    "libgl1-mesa-dri",
    "--screen-size",
    "1280x800",
    "--screen",
];
/// What has libgbm and GLVND pass gil over.
const MESA: [&str; 4] = [
    "--env",
    "GBM_BACKENDS_PATH=/none",
    "--env",
    "__EGL_VENDOR_LIBRARY_FILENAMES=/usr/share/glvnd/egl_vendor.d/50_mesa.json",
];

pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Measured>, BenchError> {
    let (ours, mesas) = match bench.effort {
        Effort::Quick => (60, 3),
        Effort::Usual => (300, 30),
        Effort::Full => (300, 300),
    };
    let (mut board, mut guest) = (Vec::new(), Vec::new());
    for _ in 0..bench.effort.times(TIMES) {
        board.push(each(bench.folder, &[], ours)?);
        guest.push(each(bench.folder, &MESA, mesas)?);
    }
    let rate = |times| 1.0 / Times::new(times).median().as_secs_f64();
    let case = "kmscube, 1280x800: frames a second of wall time";
    let line = Measured::new(NAME, case, "frames/s", rate(board));
    let line = line.over("Mesa's renderer in the guest", rate(guest));
    Ok(vec![line.must(FASTER)])
}

/// Wall time of each of so many frames.
fn each(folder: &Path, options: &[&str], frames: u32) -> Result<Duration, BenchError> {
    let run = |frames: u32| {
        let mut command = c_program::in_guest(&folder.join("kmscube.json"))?;
        command.args(GUEST).arg(folder.join("kmscube.png"));
        command.args(options).args(["--", "sh", "-c"]);
        // It ends at any input, the end of a file included.
        command.arg(format!("sleep 9999 | kmscube -c {frames}"));
        c_program::run(&mut command)
    };
    let (few, many) = (run(BEFORE)?, run(BEFORE + frames)?);
    Ok(many.saturating_sub(few) / frames)
}
