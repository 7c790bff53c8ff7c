//! The report of a run: as a table and as JSON.

use crate::args::RunArgs;
use crate::output::{Output, TakeError};
use crate::say::{READ_WITHIN, say};
use crate::supervise::Ended;
use gil_report::{Document, Exit, Report, SeenRun};
use gil_wire::api;
use gil_wire::words::Words;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// Prints the report of a run that ended, unless the run is quiet, and writes it;
/// returns the exit. The program's code stays if the report cannot be written, but
/// for 0.
pub fn deliver(args: &RunArgs, ended: Ended) -> Exit {
    let document = document(args, ended);
    let mut text = match args.quiet {
        true => String::new(),
        false => shown(&document),
    };
    if let Some(warning) = &document.run.warning {
        text += &harmless(&format!("gil: {warning}"));
    }
    let mut exit = document.exit.clone();
    if let Some(path) = &args.json
        && let Err(error) = write_json(path, &document, args.timeout)
    {
        text += &harmless(&format!("gil: {error}"));
        if exit.code == 0 {
            exit = Exit::bridge(error.to_string());
        }
    }
    if let Some(reason) = &document.exit.reason {
        text += &harmless(&format!("gil: {reason}"));
    }
    say(text.as_bytes(), args.timeout.map(|_| READ_WITHIN));
    exit
}

/// Writes the report of a run that a signal ended before its program began, or at once.
pub fn ended_by(signal: i32, args: &RunArgs) {
    let ended = Ended::before_it_began(Exit::user(signal));
    if let Some(path) = &args.json {
        // The run has failed anyway.
        let _ = write_json(path, &document(args, ended), Some(Duration::ZERO));
    }
}

/// What a run came to, for people: of one that was cut short, so far.
fn shown(document: &Document) -> String {
    let report = document.report.as_ref();
    let mut text = match report.is_some_and(|report| report.program.started) {
        true => harmless(&document.table()),
        false => String::new(),
    };
    if let Some(outdir) = &document.run.outdir {
        let _ = writeln!(
            text,
            "gil: the simulator's output is in {}",
            outdir.display()
        );
    }
    text
}

/// The lines without what a terminal obeys: names in them are a guest's or a file's.
pub fn harmless(lines: &str) -> String {
    lines
        .lines()
        .map(|line| format!("{}\n", Words::from(line)))
        .collect()
}

/// Says that the board's profile, or what of it the target changes, is of other APIs than the
/// program called.
fn uncorrected(args: &RunArgs, report: &Report) -> Option<String> {
    let of = args.corrected();
    let entries = report.entries.iter().filter(|entry| entry.count > 0);
    let called = entries.filter_map(|entry| Some(api::api(entry.api)?.name));
    let called: BTreeSet<&str> = called.collect();
    let listed = |names: BTreeSet<&str>| Vec::from_iter(names).join(", ");
    if called.is_empty() {
        return None;
    }
    if of.is_empty() || !of.is_disjoint(&called) {
        let is_one = |name: &String| called.contains(name.as_str());
        let unscaled = args.scaled().filter(|parts| !parts.iter().any(is_one));
        return unscaled.map(|_| {
            format!(
                "the target does not change how long operations of {} last: the board's profile has no [parts] of it that the target changes",
                listed(called)
            )
        });
    }
    Some(format!(
        "the board's profile has [calls], [copies] or [parts] of {} alone, and the program called {}: its operations lasted as on the board",
        listed(of),
        listed(called)
    ))
}

fn document(args: &RunArgs, ended: Ended) -> Document {
    let json = ended.report.as_deref();
    let report: Option<Report> = json.and_then(|json| serde_json::from_str(json).ok());
    let warning = report.as_ref().and_then(|report| uncorrected(args, report));
    Document {
        argv: args.command.clone(),
        exit: ended.exit,
        run: SeenRun {
            simulation_ns: nanoseconds(ended.wall),
            first_call_ns: ended.first_call.map(nanoseconds),
            board_profile: args.profile_path().map(Path::to_owned),
            target: args.target(),
            warning,
            outdir: ended.outdir,
        },
        report,
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn write_json(
    path: &Path,
    document: &Document,
    timeout: Option<Duration>,
) -> Result<(), TakeError> {
    let mut text = serde_json::to_vec_pretty(document).unwrap_or_default();
    text.push(b'\n');
    let output = Output::of("--json", path);
    let _read = output.until_read(timeout)?;
    Ok(output.write(&text)?)
}
