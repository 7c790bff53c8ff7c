//! The options of `gil report`.

use clap::{Args, ValueEnum};
use gil_call_report::summary;
use std::path::PathBuf;

/// What calls are put together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// The entry point.
    Entry,
    /// The guest thread.
    Thread,
    /// The guest process.
    Process,
    /// The queue of a process; calls without one are left out.
    Queue,
}

impl From<By> for summary::By {
    fn from(by: By) -> Self {
        match by {
            By::Entry => Self::Entry,
            By::Thread => Self::Thread,
            By::Process => Self::Process,
            By::Queue => Self::Queue,
        }
    }
}

/// Arguments of `gil report`.
#[derive(Clone, Debug, Args)]
pub struct ReportArgs {
    /// A file that `gil run --json` or `gil run --calls` wrote.
    pub file: PathBuf,
    /// Compare the log of calls with this one.
    pub other: Option<PathBuf>,
    /// Draw the utilisation of a GPU's processors over simulated time, as SVG: of a run
    /// with `--driver`, from its `--json`.
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// What calls are put together by; if it is not said, by entry point, thread and queue.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub by: Option<By>,
    /// No more lines of each table; the others are one line.
    #[arg(long, value_name = "LINES")]
    pub top: Option<usize>,
    /// Write the table as CSV, by entry point or as --by says; - is standard output.
    #[arg(long, value_name = "FILE", conflicts_with = "other")]
    pub csv: Option<PathBuf>,
    /// Write every call as CSV; - is standard output.
    #[arg(long, value_name = "FILE", conflicts_with = "other")]
    pub csv_calls: Option<PathBuf>,
    /// Write a time line of threads, queues and engines for ui.perfetto.dev; - is standard
    /// output.
    #[arg(long, value_name = "FILE", conflicts_with = "other")]
    pub perfetto: Option<PathBuf>,
    /// Write a page for a browser, with tables that sort and filter and a time line that
    /// zooms; - is standard output.
    #[arg(long, value_name = "FILE", conflicts_with = "other")]
    pub html: Option<PathBuf>,
}

impl ReportArgs {
    /// An option that only logs of calls have, if one was given.
    pub fn of_calls(&self) -> Option<&'static str> {
        let given = [
            (self.other.is_some(), "a second file"),
            (self.by.is_some(), "--by"),
            (self.top.is_some(), "--top"),
            (self.csv.is_some(), "--csv"),
            (self.csv_calls.is_some(), "--csv-calls"),
            (self.perfetto.is_some(), "--perfetto"),
            (self.html.is_some(), "--html"),
        ];
        let first = given.into_iter().find(|(is_given, _)| *is_given);
        first.map(|(_, name)| name)
    }

    /// The files that are written, with their options.
    pub fn outputs(&self) -> impl Iterator<Item = (&'static str, &PathBuf)> {
        let all = [
            ("--csv", &self.csv),
            ("--csv-calls", &self.csv_calls),
            ("--perfetto", &self.perfetto),
            ("--html", &self.html),
        ];
        all.into_iter()
            .filter_map(|(option, path)| Some((option, path.as_ref()?)))
    }
}
