//! `gil report`: what a file says that a run left, whichever kind it is.

use crate::args::ReportArgs;
use crate::calls_report::{self, CallsReportError};
use crate::output::{Output, TakeError};
use crate::report::harmless;
use gil_report::{Document, PlotError, ReportError};
use gil_wire::words::Words;
use std::fmt::Write as _;
use std::io::{self, Write as _};

/// Why a report is not shown.
#[derive(Debug, thiserror::Error)]
pub enum ShowError {
    /// The report.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// Its picture.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// The picture's file.
    #[error(transparent)]
    Taken(#[from] TakeError),
    /// A log of calls.
    #[error(transparent)]
    Calls(#[from] CallsReportError),
}

impl ShowError {
    /// Whether it is only that nobody reads the report any more.
    fn is_closed_pipe(&self) -> bool {
        match self {
            Self::Report(error) => calls_report::is_closed_pipe(error),
            Self::Calls(error) => error.is_closed_pipe(),
            Self::Plot(_) | Self::Taken(_) => false,
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
        true => calls_report::print(args, file).map_err(ShowError::from),
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
        let _alone = Output::of("--plot", picture).alone()?;
        jobs.draw(picture)?;
    }
    let mut text = format!("{}\n", Words::from(document.argv.join(" ")));
    text += &harmless(&document.table());
    if let Some(warning) = &document.run.warning {
        text += &harmless(warning);
    }
    let _ = write!(text, "exit code {}", document.exit.code);
    if let Some(reason) = &document.exit.reason {
        let _ = write!(text, ": {}", Words::from(reason.as_str()));
    }
    Ok(writeln!(io::stdout(), "{text}").map_err(ReportError::Unwritten)?)
}
