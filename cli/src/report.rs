//! The report of a run: as a table for people, as JSON for machines.

use crate::args::{ReportArgs, RunArgs};
use crate::cache::{At, CacheError};
use crate::outcome::Exit;
use crate::output::{Output, OutputError};
use crate::supervise::Ended;
use comfy_table::{CellAlignment, Table, presets};
use gil_host::report::{Entry, Report};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What `--json` writes: the host interface's report, and how `gil` saw the run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Document {
    /// The program and its arguments, as they were given.
    pub argv: Vec<String>,
    /// How it ended, and whose exit code it is.
    pub exit: Exit,
    /// The run as `gil run` saw it.
    pub run: SeenRun,
    /// The host interface's; none if the simulation never ran.
    #[serde(flatten)]
    pub report: Option<Report>,
}

/// The run as `gil run` saw it; wall times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenRun {
    /// Of the simulation, from the simulator's start to its end.
    pub simulation_ns: u64,
    /// From the simulator's start to the program's first call to the board.
    pub first_call_ns: Option<u64>,
    /// The folder of the simulator's own output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outdir: Option<PathBuf>,
}

/// Why `gil report` prints nothing.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The file.
    #[error(transparent)]
    File(#[from] CacheError),
    /// Its content.
    #[error("{} is no report of gil ({source}): give a file that `gil run --json` wrote", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
}

/// Prints and writes the report of a run that ended; returns the exit. The
/// program's code stays if the report cannot be written, but for 0.
pub fn deliver(args: &RunArgs, ended: Ended) -> Exit {
    let document = document(args, ended);
    let mut text = String::new();
    if let Some(report) = document.report.as_ref().filter(|r| r.program.started) {
        text = table(report, &document.run);
    }
    if let Some(outdir) = &document.run.outdir {
        let _ = writeln!(
            text,
            "gil: the simulator's output is in {}",
            outdir.display()
        );
    }
    let mut exit = document.exit.clone();
    if let Some(path) = &args.json
        && let Err(error) = write_json(path, &document)
    {
        let _ = writeln!(text, "gil: {error}");
        if exit.code == 0 {
            exit = Exit::bridge(error.to_string());
        }
    }
    if let Some(reason) = &document.exit.reason {
        let _ = writeln!(text, "gil: {reason}");
    }
    // Nobody may be reading any more; the exit code still tells.
    let _ = io::stderr().lock().write_all(text.as_bytes());
    exit
}

fn document(args: &RunArgs, ended: Ended) -> Document {
    let report = ended.report.as_deref();
    Document {
        argv: args.command.clone(),
        exit: ended.exit,
        run: SeenRun {
            simulation_ns: nanoseconds(ended.wall),
            first_call_ns: ended.first_call.map(nanoseconds),
            outdir: ended.outdir,
        },
        report: report.and_then(|json| serde_json::from_str(json).ok()),
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn write_json(path: &Path, document: &Document) -> Result<(), OutputError> {
    let mut text = serde_json::to_vec_pretty(document).unwrap_or_default();
    text.push(b'\n');
    Output::of("--json", path).write(&text)
}

/// `gil report`.
///
/// # Errors
/// [`ReportError`] if the file holds no report.
pub fn print(args: &ReportArgs) -> Result<(), ReportError> {
    let bytes = std::fs::read(&args.file).at(&args.file)?;
    let document: Document =
        serde_json::from_slice(&bytes).map_err(|source| ReportError::Content {
            path: args.file.clone(),
            source,
        })?;
    let mut text = format!("{}\n", document.argv.join(" "));
    if let Some(report) = &document.report {
        text += &table(report, &document.run);
    }
    let _ = write!(text, "exit code {}", document.exit.code);
    if let Some(reason) = &document.exit.reason {
        let _ = write!(text, ": {reason}");
    }
    let _ = writeln!(io::stdout(), "{text}");
    Ok(())
}

/// The calls, then where simulated and wall time went.
fn table(report: &Report, run: &SeenRun) -> String {
    let mut text = String::from("\n");
    if !report.entries.is_empty() {
        text += &calls(&report.entries);
        text.push('\n');
    }
    text += &times(report, run);
    text
}

fn calls(entries: &[Entry]) -> String {
    let all: u64 = entries.iter().map(|entry| entry.gpu_ns).sum();
    let mut entries: Vec<_> = entries.iter().collect();
    entries.sort_by_key(|entry| std::cmp::Reverse((entry.gpu_ns, entry.count)));
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["call", "count", "GPU time", "share"]);
    for entry in &entries {
        let (gpu, share) = match entry.gpu_ns {
            0 => ("-".into(), "-".into()),
            some => (time(some), percent(some, all)),
        };
        table.add_row([entry.name.clone(), entry.count.to_string(), gpu, share]);
    }
    let count: u64 = entries.iter().map(|entry| entry.count).sum();
    table.add_row([
        "all".into(),
        count.to_string(),
        time(all),
        percent(all, all),
    ]);
    right_align(&mut table);
    table.trim_fmt() + "\n"
}

fn times(report: &Report, run: &SeenRun) -> String {
    let (simulated, wall) = (&report.simulated, &report.wall);
    let parts = [
        ("  simulator", wall.simulator_ns),
        ("  bridge", wall.bridge_ns),
        ("  board", wall.board_ns),
    ];
    let sum: u64 = parts.iter().map(|(_, part)| part).sum();
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut row = |name: &str, value: u64, of: Option<u64>| {
        let share = of.map_or(String::new(), |all| percent(value, all));
        table.add_row([name.to_owned(), time(value), share]);
    };
    row("simulated time", simulated.program_ns, None);
    row("  on the GPU", simulated.gpu_ns, None);
    row("wall time", wall.total_ns, None);
    for (name, part) in parts {
        row(name, part, Some(wall.total_ns));
    }
    row("  sum", sum, Some(wall.total_ns));
    if let Some(first_call) = run.first_call_ns {
        row("boot to first call", first_call, None);
    }
    row("boot to end", run.simulation_ns, None);
    right_align(&mut table);
    let late = match report.totals.late_deliveries {
        0 => String::new(),
        late => format!("{late} outputs arrived late: when the guest had passed their end\n"),
    };
    table.trim_fmt() + "\n" + &late
}

fn right_align(table: &mut Table) {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// Four digits and a unit.
fn time(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    format!("{value:.3} {unit}")
}

fn percent(part: u64, all: u64) -> String {
    match all {
        0 => "-".into(),
        all => format!("{:.1} %", part as f64 * 100.0 / all as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let entry = |name: &str, count, gpu_ns| Entry {
            name: name.into(),
            count,
            gpu_ns,
            ..Entry::default()
        };
        let mut report = Report {
            entries: vec![
                entry("clFinish", 3, 0),
                entry("clEnqueueNDRangeKernel", 300, 3_000_000),
            ],
            ..Report::default()
        };
        report.wall.total_ns = 2_000_000_000;
        report.wall.simulator_ns = 1_500_000_000;
        report.wall.bridge_ns = 20_000_000;
        report.wall.board_ns = 460_000_000;
        report
    }

    #[test]
    fn the_table_has_counts_times_and_shares() {
        let text = table(&report(), &SeenRun::default());
        let line = |name: &str| {
            let found = text
                .lines()
                .find(|line| line.trim_start().starts_with(name));
            let words: Vec<_> = found.unwrap_or_default().split_whitespace().collect();
            words.join(" ")
        };
        assert_eq!(
            line("clEnqueueNDRangeKernel"),
            "clEnqueueNDRangeKernel 300 3.000 ms 100.0 %"
        );
        assert_eq!(line("clFinish"), "clFinish 3 - -");
        assert_eq!(line("bridge"), "bridge 20.000 ms 1.0 %");
        assert_eq!(line("sum"), "sum 1.980 s 99.0 %");
    }

    #[test]
    fn documents_survive_their_json() {
        for report in [Some(report()), None] {
            let document = Document {
                argv: vec!["p".into()],
                exit: Exit::bridge("why"),
                run: SeenRun::default(),
                report,
            };
            let text = serde_json::to_string(&document).unwrap();
            let back: Document = serde_json::from_str(&text).unwrap();
            assert_eq!(back.exit, document.exit);
            assert_eq!(back.report, document.report);
            assert!(text.contains("\"origin\":\"bridge\""), "{text}");
        }
    }
}
