//! The examples: requests a frame, wall time a frame, and the simulated time of frames
//! and calls against the native one. What is measured natively is finished frame by
//! frame, or call by call, as in the guest.

use super::{NAME, built, frames, in_guest};
use crate::bench::{Bench, Effort};
use crate::c_program::{self, Built};
use crate::error::BenchError;
use crate::line::{Measured, Must};
use gil_report::Frames;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

const EXAMPLES: [&str; 4] = ["gles-quads", "gles-shape", "gles-fog", "gles-rubik"];
/// A library that measures calls natively.
const CALLS: &str = "benchmarks/programs/calls_of_gles.c";
/// Requests a frame.
const REQUESTS: Must = Must::AtMost(3.0);

pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Measured>, BenchError> {
    let library = bench.folder.join("libcalls.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-shared", "-fPIC", "-o"]);
    c_program::run(compiler.arg(&library).args([CALLS, "-ldl"]))?;
    let mut lines = Vec::new();
    for name in EXAMPLES {
        let source = format!("examples/{name}/{name}.c");
        let example = Example {
            name,
            built: built(bench, &source)?,
            json: bench.folder.join("report.json"),
            library: library.clone(),
        };
        lines.extend(example.lines(bench)?);
    }
    Ok(lines)
}

struct Example {
    name: &'static str,
    built: Built,
    json: PathBuf,
    library: PathBuf,
}

impl Example {
    fn lines(&self, bench: &Bench<'_>) -> Result<Vec<Measured>, BenchError> {
        let (few, many) = match bench.effort {
            Effort::Quick => (2, 4),
            Effort::Usual | Effort::Full => (20, 120),
        };
        let wall = self.wall(few, many)?;
        let mut lines = vec![wall];
        lines.extend(self.frame_times(many)?);
        lines.extend(self.call_times(many)?);
        Ok(lines)
    }

    /// Wall time of a frame: of what more frames take longer, there and here.
    fn wall(&self, few: u32, many: u32) -> Result<Measured, BenchError> {
        let each = |of: &dyn Fn(u32) -> Result<Duration, BenchError>| {
            let (short, long) = (of(few)?, of(many)?);
            let more = long.saturating_sub(short) / (many - few);
            Ok::<_, BenchError>(ms(more.as_nanos() as f64))
        };
        let guest = each(&|frames| {
            self.in_guest(&[], &[], frames)?;
            Ok(Duration::from_nanos(
                c_program::report(&self.json)?.wall.total_ns,
            ))
        })?;
        let native = each(&|frames| c_program::run(self.native(&[]).arg(frames.to_string())))?;
        let line = Measured::new(
            NAME,
            format!("{}: wall time a frame", self.name),
            "ms",
            guest,
        );
        Ok(line.over("natively", native))
    }

    /// Simulated time of a frame up to its picture's arrival; requests.
    fn frame_times(&self, many: u32) -> Result<Vec<Measured>, BenchError> {
        let said = self.in_guest(&["--gl-time", "frame"], &["--times"], many)?;
        let all = frames(&c_program::report(&self.json)?);
        let native = c_program::said(self.native(&["--times"]).arg(many.to_string()))?;
        let (guest, native) = (mean(&said), mean(&native));
        let name = |what: &str| format!("{}: {what}", self.name);
        let time = Measured::new(NAME, name("simulated time a frame"), "ms", ms(guest));
        let requests = all.each(all.forwards);
        Ok(vec![
            time.over("natively", ms(native))
                .detail("error_percent", (guest / native - 1.0) * 100.0)
                .detail("frames", all.count as f64)
                .detail("whole_frame_p50_ms", ms(all.time.p50_ns as f64))
                .detail("whole_frame_p95_ms", ms(all.time.p95_ns as f64)),
            Measured::new(NAME, name("requests a frame"), "requests", requests)
                .must(REQUESTS)
                .detail("calls", all.each(all.calls))
                .detail("bytes_to_board", all.each(all.bytes_to_board))
                .detail("bytes_from_board", all.each(all.bytes_from_board)),
        ])
    }

    /// Time of calls, of all frames, each call finished.
    fn call_times(&self, many: u32) -> Result<Vec<Measured>, BenchError> {
        self.in_guest(&["--gl-time", "call"], &[], many)?;
        let guest = frames(&c_program::report(&self.json)?);
        let mut command = self.native(&[]);
        command
            .env("LD_PRELOAD", &self.library)
            .arg(many.to_string());
        let native = c_program::complained(&mut command)?;
        let native: Vec<Call<'_>> = native.lines().filter_map(Call::read).collect();
        Ok(self.calls(&guest, &native))
    }

    fn calls(&self, guest: &Frames, native: &[Call<'_>]) -> Vec<Measured> {
        let both = guest.slowest.iter().filter_map(|call| {
            let native = native.iter().find(|native| native.name == call.name)?;
            let ns = (call.cpu_ns + call.gpu_ns) as f64;
            let each = |calls: u64, ns: f64| ns / 1e3 / calls.max(1) as f64;
            let case = format!("{}: {}", self.name, call.name);
            let line = Measured::new(NAME, case, "us", each(call.calls, ns));
            Some(
                line.over("natively", each(native.calls, native.ns))
                    .detail("error_percent", (ns / native.ns - 1.0) * 100.0)
                    .detail("calls", call.calls as f64)
                    .detail("native_calls", native.calls as f64)
                    .detail("total_ms", ms(ns))
                    .detail("native_total_ms", ms(native.ns)),
            )
        });
        both.collect()
    }

    /// Runs it in the guest; what it printed.
    fn in_guest(&self, gil: &[&str], own: &[&str], frames: u32) -> Result<String, BenchError> {
        let mut command = in_guest(&self.json, gil, &self.built.guest)?;
        c_program::said(command.args(own).arg(frames.to_string()))
    }

    fn native(&self, options: &[&str]) -> Command {
        let mut command = Command::new(&self.built.native);
        command.args(options);
        command
    }
}

/// What calls of one entry point took natively.
struct Call<'a> {
    name: &'a str,
    calls: u64,
    ns: f64,
}

impl<'a> Call<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let mut words = line.strip_prefix("call ")?.split(' ');
        Some(Self {
            name: words.next()?,
            calls: words.next()?.parse().ok()?,
            ns: words.next()?.parse().ok()?,
        })
    }
}

/// The mean of the times that an example printed, in nanoseconds.
fn mean(said: &str) -> f64 {
    let times = said.lines().filter_map(|line| line.strip_prefix("time "));
    let times: Vec<f64> = times.filter_map(|time| time.parse().ok()).collect();
    times.iter().sum::<f64>() / times.len() as f64
}

fn ms(ns: f64) -> f64 {
    ns / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_report::FrameCall;

    #[test]
    fn what_programs_say_is_read() {
        assert_eq!(
            mean("gles-fog: 3 frames\n1 00ff\ntime 10\n2 00fe\ntime 30\n"),
            20.0
        );
        assert!(mean("").is_nan());
        let call = Call::read("call glClear 2 700").unwrap();
        assert_eq!((call.name, call.calls, call.ns), ("glClear", 2, 700.0));
        assert!(Call::read("gles-fog: PASS").is_none());
    }

    #[test]
    fn calls_stand_against_the_same_ones_natively() {
        let example = Example {
            name: "gles-fog",
            built: Built {
                native: PathBuf::new(),
                guest: PathBuf::new(),
            },
            json: PathBuf::new(),
            library: PathBuf::new(),
        };
        let call = |name: &str, cpu_ns| FrameCall {
            name: name.into(),
            calls: 2,
            cpu_ns,
            gpu_ns: 1000,
            ..FrameCall::default()
        };
        let guest = Frames {
            slowest: vec![call("glClear", 5000), call("glUnknown", 1)],
            ..Frames::default()
        };
        let native = [Call::read("call glClear 2 4000").unwrap()];
        let lines = example.calls(&guest, &native);
        assert_eq!(lines.len(), 1);
        let line = lines[0].clone().at(&Default::default(), "2026-01-01");
        assert_eq!((line.figure, line.baseline), (3.0, 2.0));
        assert_eq!(line.detail["error_percent"], 50.0);
    }
}
