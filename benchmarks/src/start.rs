//! The time of a whole run of a small program, from `gil run` to its end, warm: one that
//! continues a guest that booted before, against one that boots.

use crate::bench::Bench;
use crate::error::BenchError;
use crate::line::{Measured, Must};
use crate::sampling::Times;
use gil_run_support::process::is_asked_to_end_with_us;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The program: it asks for the board's platforms and devices, and ends.
const PROGRAM: [&str; 5] = ["--pkg", "clinfo", "--", "clinfo", "--list"];
/// How many runs of each kind are measured.
const TIMES: usize = 5;
/// Seconds of CPU time and of wall time until the first call, of which a whole run is more.
const CPU: Must = Must::AtMost(0.6);
const WALL: Must = Must::AtMost(1.0);

/// CPU time of all the run's processes, and wall time.
pub fn measure(bench: &Bench<'_>) -> Result<Vec<Measured>, BenchError> {
    let mut taken = [(); 4].map(|()| Vec::new());
    for option in [None, Some("--boot")] {
        // What is missing in the cache is made now.
        run(option)?;
    }
    for _ in 0..bench.effort.times(TIMES) {
        for (kind, option) in [None, Some("--boot")].into_iter().enumerate() {
            let (cpu, wall) = run(option)?;
            taken[kind].push(cpu);
            taken[kind + 2].push(wall);
        }
    }
    let [cpu, cpu_booted, wall, wall_booted] =
        taken.map(|times| Times::new(times).median().as_secs_f64());
    let line = |case: &str, figure| Measured::new("start", case.to_owned(), "s", figure);
    let against = "a run with --boot";
    Ok(vec![
        line("clinfo --list, all processes' CPU time", cpu)
            .beside(against, cpu_booted)
            .must(CPU),
        line("clinfo --list, wall time", wall)
            .beside(against, wall_booted)
            .must(WALL),
    ])
}

/// CPU time and wall time of one run.
fn run(option: Option<&str>) -> Result<(Duration, Duration), BenchError> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["run", "--quiet"]).args(option).args(PROGRAM);
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    let (cpu, wall) = (cpu_of_children()?, Instant::now());
    let output = is_asked_to_end_with_us(&mut command).output()?;
    let (cpu, wall) = (cpu_of_children()? - cpu, wall.elapsed());
    match output.status.success() {
        true => Ok((cpu, wall)),
        false => Err(BenchError::Program {
            command: "gil run … clinfo --list".into(),
            said: String::from_utf8_lossy(&output.stderr).trim().into(),
        }),
    }
}

/// Of all children that ended, and of theirs.
fn cpu_of_children() -> Result<Duration, BenchError> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(std::io::Error::from)?;
    let microseconds =
        usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(microseconds.unsigned_abs()))
}
