//! The report of a run: as a table and as JSON.

use crate::args::{ReportArgs, RunArgs};
use crate::calls_report::{self, CallsReportError};
use crate::output::{Output, OutputError};
use crate::supervise::Ended;
use gil_report::{Document, Exit, PlotError, ReportError, SeenRun};
use gil_wire::words::Words;
use std::fmt::Write as _;
use std::io::{self, Write as _};
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
    // Nobody may be reading any more; the exit code still reports it.
    let _ = io::stderr().lock().write_all(text.as_bytes());
    exit
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

/// Why a report is not shown.
#[derive(Debug, thiserror::Error)]
pub enum ShowError {
    /// The report.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// Its picture.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// A log of calls.
    #[error(transparent)]
    Calls(#[from] CallsReportError),
}

impl ShowError {
    /// Whether it is only that nobody reads the report any more.
    fn is_closed_pipe(&self) -> bool {
        match self {
            Self::Report(ReportError::Unwritten(error)) => {
                error.kind() == io::ErrorKind::BrokenPipe
            }
            Self::Calls(error) => error.is_closed_pipe(),
            Self::Report(_) | Self::Plot(_) => false,
        }
    }
}

/// `gil report`.
///
/// # Errors
/// [`ShowError`] if the file holds no report, or not what is to be made of it.
pub fn print(args: &ReportArgs) -> Result<(), ShowError> {
    let (file, is_log) = calls_report::look(&args.file)?;
    let printed = match is_log {
        true => calls_report::print(args, file),
        false => print_document(args, file),
    };
    match printed {
        // A closed pipe is the reader's wish.
        Err(error) if error.is_closed_pipe() => Ok(()),
        printed => printed,
    }
}

fn print_document(args: &ReportArgs, file: impl io::Read) -> Result<(), ShowError> {
    if let Some(option) = args.of_calls() {
        let path = args.file.clone();
        return Err(CallsReportError::NoLog { option, path }.into());
    }
    let document = Document::read_from(&args.file, file)?;
    if let Some(picture) = &args.plot {
        let jobs = document.report.as_ref().and_then(|it| it.jobs.as_ref());
        let jobs = jobs.ok_or_else(|| PlotError::NoJobs(args.file.clone()))?;
        jobs.draw(picture)?;
    }
    let mut text = format!("{}\n", Words::from(document.argv.join(" ")));
    text += &harmless(&document.table());
    let _ = write!(text, "exit code {}", document.exit.code);
    if let Some(reason) = &document.exit.reason {
        let _ = write!(text, ": {}", Words::from(reason.as_str()));
    }
    Ok(writeln!(io::stdout(), "{text}").map_err(ReportError::Unwritten)?)
}
