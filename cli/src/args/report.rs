//! The options of `gil report`.

use clap::{Args, ValueEnum};
use gil_call_report::flame::Of;
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
    /// The kernel, or the entry point that draws and its program; calls that give devices
    /// no work are left out.
    Kernel,
    /// The source line of the program's call: of runs with --call-sites.
    Line,
}

/// Which time a flame graph is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Time {
    /// Operations on devices' engines.
    #[default]
    Gpu,
    /// Calls, until they were due to return.
    Calls,
}

impl From<Time> for Of {
    fn from(time: Time) -> Self {
        match time {
            Time::Gpu => Self::Gpu,
            Time::Calls => Self::Calls,
        }
    }
}

impl From<By> for summary::By {
    fn from(by: By) -> Self {
        match by {
            By::Entry => Self::Entry,
            By::Thread => Self::Thread,
            By::Process => Self::Process,
            By::Queue => Self::Queue,
            By::Kernel => Self::Kernel,
            By::Line => Self::Line,
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
    /// What calls are put together by; if it is not said, by entry point, thread and queue,
    /// and by kernel and source line if the log has any.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub by: Option<By>,
    /// No more lines of each table; the others are one line.
    #[arg(long, value_name = "LINES")]
    pub top: Option<usize>,
    /// Write the table as CSV, by entry point or as --by says; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write every call as CSV; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub csv_calls: Option<PathBuf>,
    /// Write a time line of threads, queues and engines for ui.perfetto.dev; - is standard
    /// output.
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    /// Write a page for a browser, with tables that sort and filter and a time line that
    /// zooms; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Draw a flame graph as SVG: time by process, thread, source line, API, entry point
    /// and kernel; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub flame: Option<PathBuf>,
    /// Write the stacks of the flame graph, a line each, as other tools read them; - is
    /// standard output.
    #[arg(long, value_name = "FILE")]
    pub stacks: Option<PathBuf>,
    /// Which time the flame graph and its stacks are of; gpu if it is not said.
    #[arg(long, value_enum, value_name = "TIME")]
    pub flame_of: Option<Time>,
    /// Where files of the guest's programs are, with their debug information: a file of the
    /// same name, or a folder of such. The program and each `--file` of the run are found
    /// without it where they were.
    #[arg(long, value_name = "PATH", value_parser = there)]
    pub symbols: Vec<PathBuf>,
}

/// A path that leads somewhere.
fn there(path: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(path);
    match path.exists() {
        true => Ok(path),
        false => Err("there is no such file or folder".into()),
    }
}

/// The first option that was given, by its name.
fn first(options: &[(bool, &'static str)]) -> Option<&'static str> {
    let mut given = options.iter().filter(|(is_given, _)| *is_given);
    given.next().map(|(_, name)| *name)
}

impl ReportArgs {
    /// An option that only logs of calls have, if one was given.
    pub fn of_calls(&self) -> Option<&'static str> {
        let others = [
            (self.other.is_some(), "a second file"),
            (self.top.is_some(), "--top"),
            (!self.symbols.is_empty(), "--symbols"),
        ];
        first(&others).or_else(|| self.of_one_log())
    }

    /// An option of what is made of one log, if one was given.
    pub fn of_one_log(&self) -> Option<&'static str> {
        first(&[
            (self.by.is_some(), "--by"),
            (self.csv.is_some(), "--csv"),
            (self.csv_calls.is_some(), "--csv-calls"),
            (self.perfetto.is_some(), "--perfetto"),
            (self.html.is_some(), "--html"),
            (self.flame.is_some(), "--flame"),
            (self.stacks.is_some(), "--stacks"),
            (self.flame_of.is_some(), "--flame-of"),
        ])
    }

    /// The files that are written, with their options.
    pub fn outputs(&self) -> impl Iterator<Item = (&'static str, &PathBuf)> {
        let all = [
            ("--csv", &self.csv),
            ("--csv-calls", &self.csv_calls),
            ("--perfetto", &self.perfetto),
            ("--html", &self.html),
            ("--flame", &self.flame),
            ("--stacks", &self.stacks),
        ];
        all.into_iter()
            .filter_map(|(option, path)| Some((option, path.as_ref()?)))
    }
}
