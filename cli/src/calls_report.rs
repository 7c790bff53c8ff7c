//! `gil report` of logs of calls.

use crate::apart::{self, Same};
use crate::args::ReportArgs;
use crate::output::{Begun, Beside, NotReplaced, Output, TakeError};
use crate::report::harmless;
use gil_call_report::difference;
use gil_call_report::flame::Flame;
use gil_call_report::html::{self, TimeLine};
use gil_call_report::log::{Extent, FIRST_LEN, Log, LogError, Sink, is_log, is_recording};
use gil_call_report::perfetto::Trace;
use gil_call_report::summary::{By, Summary};
use gil_call_report::symbols::{SharedSymbols, Symbols};
use gil_call_report::{table, tabular};
use gil_report::ReportError;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Chain, Cursor, Read, Write};
use std::path::{Path, PathBuf};

/// A file whose first bytes were looked at.
pub type Looked = Chain<Cursor<Vec<u8>>, BufReader<File>>;

/// Why a log of calls is not reported.
#[derive(Debug, thiserror::Error)]
pub enum CallsReportError {
    /// The log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A file that is written.
    #[error(transparent)]
    Output(#[from] TakeError),
    /// It is of another kind.
    #[error(transparent)]
    NotReplaced(#[from] NotReplaced),
    /// Another file, and standard output.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The log is damaged; what came before was reported.
    #[error("{} is damaged, and this is what comes before: {reason}", path.display())]
    Damaged {
        /// The log.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// An option of the other kind of file.
    #[error("--plot draws what `gil run --json` writes, and {} is a log of calls", .0.display())]
    Plot(PathBuf),
    /// An option of this kind of file.
    #[error("{option} is for logs of calls, and {} is none: make one with `gil run --calls`", path.display())]
    NoLog {
        /// What was given.
        option: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// A recording, whoever reads it.
    #[error(
        "{path} is a recording, and `gil report` reads what `gil run` wrote for --json or --calls: `gil trace stats {path}` shows what its calls took",
        path = .0.display()
    )]
    Recording(PathBuf),
    /// An option of one log, with two.
    #[error(
        "{0} is for one log of calls, and two are compared by entry point alone: leave {0} out, or report each log by itself"
    )]
    Two(&'static str),
    /// Call sites are wanted, and there are none.
    #[error("{} has no call sites: record them with `gil run --calls FILE --call-sites`", .0.display())]
    Unknown(PathBuf),
    /// A file for two things.
    #[error(transparent)]
    Same(#[from] Same),
}

/// Opens a file; whether it is a log of calls.
///
/// # Errors
/// [`ReportError::File`]; [`CallsReportError::Recording`].
pub fn look(path: &Path) -> Result<(Looked, bool), CallsReportError> {
    let failed = |source| ReportError::File {
        path: path.into(),
        source,
    };
    let file = File::open(path).map_err(failed)?;
    let mut file = BufReader::with_capacity(1 << 18, file);
    let mut first = Vec::new();
    let mut start = (&mut file).take(FIRST_LEN as u64);
    start.read_to_end(&mut first).map_err(failed)?;
    if is_recording(&first) {
        return Err(CallsReportError::Recording(path.into()));
    }
    let is_log = is_log(&first);
    Ok((Cursor::new(first).chain(file), is_log))
}

/// Reports a log of calls.
///
/// # Errors
/// [`CallsReportError`].
pub fn print(args: &ReportArgs, file: Looked) -> Result<(), CallsReportError> {
    if args.plot.is_some() {
        return Err(CallsReportError::Plot(args.file.clone()));
    }
    if let (Some(_), Some(option)) = (&args.other, args.of_one_log()) {
        return Err(CallsReportError::Two(option));
    }
    check_outputs(args)?;
    let mut log = Log::open(&args.file, file)?;
    let (text, extent) = match &args.other {
        Some(other) => compare(args, &mut log, other)?,
        None => report(args, &mut log)?,
    };
    let is_taken = args.outputs().any(|(_, path)| is_stdout(path));
    if !is_taken {
        let shown = harmless(&text);
        let written = io::stdout().lock().write_all(shown.as_bytes());
        written.map_err(ReportError::Unwritten)?;
    }
    extent
}

/// How a log ended: a note, or an error.
fn ended(path: &Path, extent: Extent) -> Result<(), CallsReportError> {
    match extent {
        Extent::Whole => Ok(()),
        Extent::Begun => {
            let name = path.display();
            let text = format!(
                "gil: {name} has no end: its run died or goes on, and this is what was written"
            );
            // Nobody may be reading.
            let _ = io::stderr().write_all(harmless(&text).as_bytes());
            Ok(())
        }
        Extent::Damaged(reason) => {
            let path = path.into();
            Err(CallsReportError::Damaged { path, reason })
        }
    }
}

type Reported = (String, Result<(), CallsReportError>);

/// Tables, and the files that were asked for, in one pass.
fn report(args: &ReportArgs, log: &mut Log<Looked>) -> Result<Reported, CallsReportError> {
    let mut forms = Forms::open(args)?;
    let extent = log.pass(&mut forms.sinks())?;
    forms.keep_known();
    if forms.summaries.is_empty() {
        let path = args.file.clone();
        return Err(CallsReportError::Unknown(path));
    }
    let about = head(log, &extent);
    let tables = forms.tables(log, args.top);
    let finished = forms.finish((&args.file, &about), log);
    finished.map_err(|source| log.unwritten(source))?;
    let text = format!("{about}\n\n{tables}");
    Ok((text, ended(&args.file, extent)))
}

type Out = Box<dyn Write>;

/// What is made of a log.
struct Forms {
    summaries: Vec<Summary>,
    csv: Option<Out>,
    rows: Option<tabular::Rows<Out>>,
    trace: Option<Trace<Out>>,
    page: Option<(Out, TimeLine)>,
    flame: Option<Flame>,
    graph: Option<Out>,
    stacks: Option<Out>,
    /// What takes earlier files' places once all is written.
    replaced: Vec<Beside>,
}

impl Forms {
    fn open(args: &ReportArgs) -> Result<Self, CallsReportError> {
        let by = match args.by {
            Some(by) => vec![by.into()],
            None => vec![By::Entry, By::Kernel, By::Line, By::Thread, By::Queue],
        };
        let written = fs::metadata(&args.file).and_then(|it| it.modified()).ok();
        let symbols = SharedSymbols::new(Symbols::new(args.symbols.clone(), written));
        let mut replaced = Vec::new();
        let mut open = |option, path: &Option<PathBuf>| {
            let path = path.as_deref();
            path.map(|path| create(option, path, &mut replaced))
                .transpose()
        };
        let unwritten = |source| LogError::Unwritten {
            path: args.file.clone(),
            source,
        };
        let rows = open("--csv-calls", &args.csv_calls)?.map(tabular::Rows::new);
        let trace = open("--perfetto", &args.perfetto)?.map(Trace::new);
        let page = open("--html", &args.html)?;
        let is_flame = args.flame.is_some() || args.stacks.is_some();
        Ok(Self {
            summaries: by
                .into_iter()
                .map(|by| Summary::with_symbols(by, symbols.clone()))
                .collect(),
            csv: open("--csv", &args.csv)?,
            rows: rows.transpose().map_err(unwritten)?,
            trace: trace.transpose().map_err(unwritten)?,
            page: page.map(|out| (out, TimeLine::default())),
            flame: is_flame
                .then(|| Flame::new(args.flame_of.unwrap_or_default().into(), symbols.clone())),
            graph: open("--flame", &args.flame)?,
            stacks: open("--stacks", &args.stacks)?,
            replaced,
        })
    }

    fn sinks(&mut self) -> Vec<&mut dyn Sink<Looked>> {
        let mut sinks: Vec<&mut dyn Sink<Looked>> = Vec::new();
        for summary in &mut self.summaries {
            sinks.push(summary);
        }
        if let Some(rows) = &mut self.rows {
            sinks.push(rows);
        }
        if let Some(trace) = &mut self.trace {
            sinks.push(trace);
        }
        if let Some((_, line)) = &mut self.page {
            sinks.push(line);
        }
        if let Some(flame) = &mut self.flame {
            sinks.push(flame);
        }
        sinks
    }

    /// Leaves out what the log says nothing about.
    fn keep_known(&mut self) {
        let is_alone = self.summaries.len() == 1;
        let is_shown = |it: &Summary| match it.by() {
            By::Line => it.is_known(),
            By::Kernel => is_alone || it.is_known(),
            _ => true,
        };
        self.summaries.retain(is_shown);
    }

    fn tables(&self, log: &Log<Looked>, top: Option<usize>) -> String {
        let tables = self.summaries.iter();
        let tables = tables.map(|it| table::table(it, log.names(), top));
        let tables: Vec<String> = tables.filter(|table| !table.is_empty()).collect();
        tables.join("\n")
    }

    /// Writes what is written at the end.
    fn finish(self, (path, about): (&Path, &str), log: &Log<Looked>) -> io::Result<()> {
        self.rows.map_or(Ok(()), tabular::Rows::finish)?;
        self.trace.map_or(Ok(()), Trace::finish)?;
        if let (Some(out), Some(summary)) = (self.csv, self.summaries.first()) {
            tabular::summary(summary, log.names(), out)?;
        }
        if let Some(flame) = &self.flame {
            self.graph
                .map_or(Ok(()), |out| flame.draw(log.names(), out))?;
            self.stacks
                .map_or(Ok(()), |out| flame.collapsed(log.names(), out))?;
        }
        if let Some((out, line)) = self.page {
            let title = format!("Calls of {}", path.display());
            html::write(out, (&title, about), &self.summaries, line, log.names())?;
        }
        self.replaced.into_iter().try_for_each(Beside::finish)
    }
}

/// Of which run the log is.
fn head(log: &Log<Looked>, extent: &Extent) -> String {
    let Some(begun) = log.names().begun() else {
        return "no calls".into();
    };
    let mut text = format!("{}, gil {}", begun.simulator, begun.gil);
    if let Some(finished) = log.names().finished().filter(|_| *extent == Extent::Whole) {
        let took = gil_report::time(finished.program_ns);
        text += &format!("; the program took {took} of simulated time");
    }
    text
}

/// What changed to another log.
fn compare(
    args: &ReportArgs,
    first: &mut Log<Looked>,
    other: &Path,
) -> Result<Reported, CallsReportError> {
    let (file, is_log) = look(other)?;
    if !is_log {
        let path = other.into();
        let option = "a second file";
        return Err(CallsReportError::NoLog { option, path });
    }
    let mut second = Log::open(other, file)?;
    let mut sums = [Summary::new(By::Entry), Summary::new(By::Entry)];
    let [a, b] = &mut sums;
    let begun = first.pass(&mut [a])?;
    let ends = second.pass(&mut [b])?;
    let [a, b] = &sums;
    let changes = difference::changes((a, first.names()), (b, second.names()));
    let name = |path: &Path| path.display().to_string();
    let mut text = format!("A: {}, {}", name(&args.file), head(first, &begun));
    text += &format!("\nB: {}, {}\n\n", name(other), head(&second, &ends));
    text += &difference::table(&changes, args.top);
    let extent = ended(&args.file, begun).and(ended(other, ends));
    Ok((text, extent))
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

fn create(option: &'static str, path: &Path, replaced: &mut Vec<Beside>) -> Result<Out, TakeError> {
    match is_stdout(path) {
        true => Ok(Box::new(BufWriter::new(io::stdout()))),
        false => {
            let mut begun = Output::of(option, path).replace()?;
            replaced.extend(begun.last());
            let path = path.to_owned();
            let file = Named {
                option,
                path,
                begun,
            };
            Ok(Box::new(BufWriter::with_capacity(1 << 18, file)))
        }
    }
}

/// A file whose errors say which it is.
struct Named {
    option: &'static str,
    path: PathBuf,
    begun: Begun,
}

impl Named {
    fn named(&self, error: io::Error) -> io::Error {
        let kind = error.kind();
        let text = format!("{} {}: {error}", self.option, self.path.display());
        io::Error::new(kind, text)
    }
}

impl Write for Named {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.begun.write(bytes);
        written.map_err(|error| self.named(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.begun.flush();
        flushed.map_err(|error| self.named(error))
    }
}

/// Nothing is written over a log, over files with debug information, or over another output.
fn check_outputs(args: &ReportArgs) -> Result<(), CallsReportError> {
    let logs = [&args.file].into_iter().chain(&args.other);
    let logs = logs.map(|path| ("the log of calls", &**path));
    let symbols = args.symbols.iter().map(|path| ("--symbols", &**path));
    let mut used: Vec<(&str, &Path)> = logs.chain(symbols).collect();
    for (option, path) in args.outputs() {
        apart::check((option, path), used.iter().copied())?;
        Output::of(option, path).check_text()?;
        used.push((option, path));
    }
    Ok(())
}

impl CallsReportError {
    /// Whether it is only that nobody reads the report any more.
    pub fn is_closed_pipe(&self) -> bool {
        match self {
            Self::Log(error) => error.is_closed_pipe(),
            Self::Report(error) => is_closed_pipe(error),
            _ => false,
        }
    }
}

/// Whether it is only that nobody reads standard output any more.
pub fn is_closed_pipe(error: &ReportError) -> bool {
    match error {
        ReportError::Unwritten(error) => error.kind() == io::ErrorKind::BrokenPipe,
        _ => false,
    }
}
