//! What the bridge costs: each figure with a baseline that is measured alternately
//! with it on the same machine. Compare ratios, not times.
//!
//! Programs that make calls belong to an API and have a module of their own; the rest
//! knows no API.

mod accuracy;
mod args;
mod batch;
mod bench;
mod board;
mod busy;
mod c_program;
mod calibrated;
mod call;
mod cipher;
mod contention;
mod cores;
mod cpu;
mod delay;
mod diff;
mod error;
mod fit;
mod gles;
mod launches;
mod line;
mod machine;
mod opencl;
mod page;
mod plot;
mod program;
mod programs;
mod region;
mod sampling;
mod sessions;
mod socket;
mod start;
mod table;

use bench::{Api, Bench};
use board::Way;
use clap::ValueEnum;
use gil_run_support::folder;
use line::{Line, Measured};
use machine::Machine;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

pub use accuracy::{Accuracy, Errors, Row, accuracy_plot};
pub use args::{BenchArgs, Name};
pub use calibrated::Calibrated;
pub use contention::{Contended, ContentionArgs, contention};
pub use cores::{Cores, Spread, Timed};
pub use cpu::{CpuArgs, CpuRatio, cpu};
pub use error::BenchError;
pub use fit::{Estimate, Fit, Unknown};
pub use launches::{Launched, Launches, LaunchesArgs, LeftOut, launches};
pub use program::NullCall;
pub use programs::{AtCores, CoresArgs, Programs, ProgramsArgs, cores, programs};

/// The API whose programs are measured.
const API: &dyn Api = &opencl::OpenCl;

/// The APIs whose calls and programs are calibrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CalibratedApi {
    /// OpenCL.
    Opencl,
    /// EGL and OpenGL ES.
    Gles,
}

impl CalibratedApi {
    /// What is measured of it.
    pub fn measured(self) -> &'static Calibrated {
        match self {
            Self::Opencl => &opencl::CALIBRATED,
            Self::Gles => &gles::CALIBRATED,
        }
    }
}

/// The cheapest call that goes to a board.
pub fn null_call() -> NullCall {
    API.null_call()
}

/// Measures, and reports the figures. A folder for files of its own is told to
/// `will_remove`, for an end by a signal.
///
/// # Errors
/// [`BenchError`] says what cannot be measured or written here.
pub fn run(args: &BenchArgs, will_remove: &dyn Fn(&Path)) -> Result<(), BenchError> {
    let earlier = args.from.as_deref().map(page::read_lines).transpose()?;
    // What cannot be written is said before minutes are spent.
    if let Some(page) = &args.page {
        page::check(page)?;
    }
    if let Some(folder) = &args.plot {
        plot::make(folder)?;
    }
    let lines = match earlier {
        Some(lines) => lines,
        None => measure(args, will_remove)?,
    };
    let plots = match &args.plot {
        Some(folder) => plot::draw(folder, &lines)?,
        None => Vec::new(),
    };
    if let Some(page) = &args.page {
        page::write(page, &lines, &plots)?;
    }
    Ok(())
}

fn measure(args: &BenchArgs, will_remove: &dyn Fn(&Path)) -> Result<Vec<Line>, BenchError> {
    let mut output = Output::new(args)?;
    let folder = folder::create()?;
    will_remove(folder.path());
    let bench = Bench::new(args, API, folder.path());
    let (machine, date) = (Machine::this(), machine::today());
    let mut lines = Vec::new();
    for name in names(&bench, &args.names) {
        output.begin(name);
        for measured in measure_one(&bench, name)? {
            let line = measured.at(&machine, &date);
            output.line(&line)?;
            lines.push(line);
        }
    }
    output.end(&lines)?;
    Ok(lines)
}

/// What is to be measured, in order.
fn names(bench: &Bench<'_>, asked: &[Name]) -> Vec<Name> {
    let mut names = Vec::new();
    for &name in asked {
        match name {
            Name::All => names.extend(Name::EACH.into_iter().filter(|&name| bench.can(name))),
            one => names.push(one),
        }
    }
    names
}

/// One benchmark, not `all`.
fn measure_one(bench: &Bench<'_>, name: Name) -> Result<Vec<Measured>, BenchError> {
    match name {
        Name::All => Ok(Vec::new()),
        Name::Call => call::measure(bench),
        Name::CallBusy => call::measure_busy(bench),
        Name::Sessions => sessions::measure(bench),
        Name::Start => start::measure(bench),
        Name::Calls => bench.api.calls_in_guest(bench),
        Name::Batch => batch::measure(bench),
        Name::Region => region::measure(bench, Way::Local),
        Name::RegionTcp => region::measure(bench, Way::Tcp),
        Name::RegionEncrypted => region::measure(bench, Way::Encrypted),
        Name::Diff => diff::measure(bench.effort),
        Name::Matmul => bench.api.products(bench),
        Name::Emulated => bench.api.emulated_products(bench),
        Name::Gles => gles::measure(bench),
    }
}

/// A new file for lines.
fn created(path: &Path) -> Result<File, BenchError> {
    File::create(path).map_err(|error| BenchError::File {
        path: path.into(),
        what: format!("{error}: name a file in a folder that you can write to"),
    })
}

/// The destination of lines.
struct Output {
    json: Option<Box<dyn Write>>,
    has_table: bool,
    has_progress: bool,
}

impl Output {
    fn new(args: &BenchArgs) -> Result<Self, BenchError> {
        let is_terminal = io::stdout().is_terminal();
        let to_stdout = args.json.as_deref() == Some(Path::new("-"));
        let json: Option<Box<dyn Write>> = match &args.json {
            Some(path) if !to_stdout => Some(Box::new(created(path)?)),
            None if is_terminal => None,
            _ => Some(Box::new(io::stdout())),
        };
        let has_table = is_terminal && !to_stdout;
        let has_progress = io::stderr().is_terminal() || args.page.is_some();
        Ok(Self {
            json,
            has_table,
            has_progress,
        })
    }

    /// Says on a terminal, or where a page is written, what is measured now.
    fn begin(&self, name: Name) {
        if let Some(value) = name.to_possible_value().filter(|_| self.has_progress) {
            eprintln!("gil bench: {} …", value.get_name());
        }
    }

    /// As soon as it is there: a benchmark takes its time.
    fn line(&mut self, line: &Line) -> io::Result<()> {
        match &mut self.json {
            Some(json) => {
                writeln!(json, "{}", serde_json::to_string(line)?)?;
                json.flush()
            }
            None => Ok(()),
        }
    }

    fn end(&self, lines: &[Line]) -> io::Result<()> {
        match self.has_table {
            true => writeln!(io::stdout(), "{}", table::plain(lines)),
            false => Ok(()),
        }
    }
}
