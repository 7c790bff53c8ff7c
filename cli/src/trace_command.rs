//! `gil trace`: what is in recordings.

use crate::args::{
    TraceCommand, TraceDiffArgs, TraceLsArgs, TraceMergeArgs, TraceShowArgs, TraceStatsArgs,
};
use crate::report::harmless;
use gil_trace::diff::Compared;
use gil_trace::show::Shown;
use gil_trace::stats::Stats;
use gil_trace::summary::Summary;
use gil_trace::{Trace, TraceError};
use serde::Serialize;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

/// What is wrong is one sentence. A closed output is the reader's wish.
pub fn run(command: &TraceCommand) -> ExitCode {
    let mut out = BufWriter::new(io::stdout().lock());
    let done = match command {
        TraceCommand::Ls(args) => ls(args, &mut out).map(|()| 0),
        TraceCommand::Stats(args) => stats(args, &mut out).map(|()| 0),
        TraceCommand::Show(args) => show(args, &mut out).map(|()| 0),
        TraceCommand::Diff(args) => diff(args, &mut out),
        TraceCommand::Merge(args) => merge(args).map(|()| 0),
    };
    let flushed = out.flush().map_err(TraceError::Output);
    match (done, flushed) {
        (Ok(code), Ok(())) => ExitCode::from(code),
        (Ok(code), Err(error)) if error.is_closed_output() => ExitCode::from(code),
        (Err(error), _) | (_, Err(error)) => failed(command, &error),
    }
}

fn failed(command: &TraceCommand, error: &TraceError) -> ExitCode {
    if error.is_closed_output() {
        return ExitCode::SUCCESS;
    }
    let text = harmless(&format!("gil: {error}"));
    // Nobody may be reading.
    let _ = io::stderr().write_all(text.as_bytes());
    match command {
        TraceCommand::Diff(_) => ExitCode::from(2),
        _ => ExitCode::FAILURE,
    }
}

fn ls(args: &TraceLsArgs, out: &mut dyn Write) -> Result<(), TraceError> {
    let mut trace = Trace::open(&args.file)?;
    let summary = Summary::of(&mut trace)?;
    match args.json {
        true => json(&summary, out)?,
        false => put(&summary.table(), out)?,
    }
    trace.check_whole()
}

fn stats(args: &TraceStatsArgs, out: &mut dyn Write) -> Result<(), TraceError> {
    let mut trace = Trace::open(&args.file)?;
    let stats = Stats::of(&mut trace)?;
    match (args.csv, args.json) {
        (true, _) => stats.csv(out)?,
        (false, true) => json(&stats, out)?,
        (false, false) => put(&stats.table(), out)?,
    }
    trace.check_whole()
}

fn show(args: &TraceShowArgs, out: &mut dyn Write) -> Result<(), TraceError> {
    if args.from > args.to {
        return Err(TraceError::Backwards {
            from: args.from,
            to: args.to,
        });
    }
    let mut trace = Trace::open(&args.file)?;
    let shown = Shown {
        sessions: args.sessions.iter().copied().collect(),
        calls: args.calls.iter().cloned().collect(),
        records: args.from..=args.to,
        bytes: args.bytes,
    };
    gil_trace::show::show(&mut trace, &shown, out)?;
    trace.check_whole()
}

/// 0 if they are equal, 1 if not, as `diff` has it.
fn diff(args: &TraceDiffArgs, out: &mut dyn Write) -> Result<u8, TraceError> {
    let mut one = Trace::open(&args.one)?;
    let mut other = Trace::open(&args.other)?;
    let compared = Compared::of(&mut one, &mut other)?;
    match put(&harmless(&compared.text()), out) {
        Err(error) if !error.is_closed_output() => Err(error),
        _ => Ok(u8::from(!compared.are_equal())),
    }
}

fn put(text: &str, out: &mut dyn Write) -> Result<(), TraceError> {
    out.write_all(text.as_bytes()).map_err(TraceError::Output)
}

fn json(value: &impl Serialize, out: &mut dyn Write) -> Result<(), TraceError> {
    let written = serde_json::to_writer_pretty(&mut *out, value);
    written.map_err(|error| TraceError::Output(error.into()))?;
    put("\n", out)
}

fn merge(args: &TraceMergeArgs) -> Result<(), TraceError> {
    let opened: Result<Vec<_>, _> = args.files.iter().map(|file| Trace::open(file)).collect();
    let mut traces = opened?;
    gil_trace::merge::merge_into(&mut traces, &args.out).map(drop)
}
