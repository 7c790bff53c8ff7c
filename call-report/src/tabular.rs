//! Summaries and rows as CSV, in nanoseconds and bytes.

use crate::log::Sink;
use crate::summary::{By, Group, Summary};
use crate::times::Times;
use gil_files::calls::{Kind, Reader, Row};
use gil_report::share::shares;
use gil_wire::envelope::Class;
use std::io::{self, Read, Write};

/// The columns of all rows.
const ROWS: [&str; 20] = [
    "process",
    "thread",
    "sequence",
    "api",
    "call",
    "class",
    "queue",
    "device",
    "engine",
    "called_ns",
    "returned_ns",
    "start_ns",
    "end_ns",
    "board_ns",
    "board_cpu_ns",
    "bytes_to_board",
    "bytes_from_board",
    "calls",
    "label",
    "site",
];

/// Writes each row.
#[derive(Debug)]
pub struct Rows<W: Write> {
    csv: csv::Writer<W>,
}

impl<W: Write> Rows<W> {
    /// Begins with the columns' names.
    ///
    /// # Errors
    /// The writer's.
    pub fn new(out: W) -> io::Result<Self> {
        let mut csv = csv::Writer::from_writer(out);
        csv.write_record(ROWS).map_err(io_error)?;
        Ok(Self { csv })
    }

    /// Ends the file.
    ///
    /// # Errors
    /// The writer's.
    pub fn finish(mut self) -> io::Result<()> {
        self.csv.flush()
    }
}

impl<R: Read, W: Write> Sink<R> for Rows<W> {
    fn row(&mut self, row: &Row, names: &Reader<R>) -> io::Result<()> {
        let (api, call) = names.name(row.op.0);
        let operation = row.operation;
        let interval = operation.and_then(|operation| operation.interval);
        let known = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
        let number = |value: u64| value.to_string();
        let engine = operation.map(|it| names.engine(row.op.api(), it.engine));
        let cells = [
            number(row.process.into()),
            number(row.thread.into()),
            number(row.seq),
            api.into(),
            call.into(),
            class(row.kind).into(),
            known(row.queue),
            known(operation.map(|it| it.device)),
            engine.unwrap_or_default().into(),
            number(row.called_ns),
            number(row.returned_ns),
            known(interval.map(|it| it.start_ns)),
            known(interval.map(|it| it.end_ns)),
            number(row.board_ns),
            number(row.board_cpu_ns),
            number(row.bytes_to_board),
            number(row.bytes_from_board),
            number(row.calls),
            names.label(row.label).unwrap_or_default().into(),
            site(row, names),
        ];
        self.csv.write_record(cells).map_err(io_error)
    }
}

/// Where in a file the call is made, or at which address.
fn site<R: Read>(row: &Row, names: &Reader<R>) -> String {
    match (row.site, names.place(row.process, row.site)) {
        (0, _) => String::new(),
        (_, Some(place)) => format!("{}+{:#x}", place.path, place.offset),
        (at, None) => format!("{at:#x}"),
    }
}

fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Call(Class::Query) => "query",
        Kind::Call(Class::Sync) => "sync",
        Kind::Call(Class::Post) => "post",
        Kind::Call(Class::Enqueue) => "enqueue",
        Kind::Call(Class::Wait) => "wait",
        Kind::Call(Class::Poll) => "poll",
        Kind::Call(Class::Look) => "look",
        Kind::Costs => "costs",
    }
}

/// Writes a summary's groups.
///
/// # Errors
/// The writer's.
pub fn summary<R: Read>(summary: &Summary, names: &Reader<R>, out: impl Write) -> io::Result<()> {
    let groups = summary.groups(names);
    let mut csv = csv::Writer::from_writer(out);
    let group = match summary.by() {
        By::Entry => &["api", "call"][..],
        By::Thread => &["process", "thread"],
        By::Process => &["process"],
        By::Queue => &["process", "queue"],
        By::Kernel => &["api", "kernel"],
        By::Line => &["line"],
    };
    let numbers = ["gpu", "call"].into_iter().flat_map(|of| {
        let names = ["count", "total_ns", "share_permille"];
        let more = ["mean_ns", "p50_ns", "p95_ns", "max_ns"];
        let all = names.into_iter().chain(more);
        all.map(move |name| format!("{of}_{name}"))
    });
    let sums = ["board_cpu_ns", "bytes_to_board", "bytes_from_board"];
    let header = group.iter().map(|name| (*name).to_owned()).chain(numbers);
    let header = header.chain(sums.map(str::to_owned));
    csv.write_record(header).map_err(io_error)?;
    let share = |of: fn(&Group) -> &Times| {
        let totals: Vec<u64> = groups.iter().map(|group| of(group).total_ns()).collect();
        shares(&totals).unwrap_or_else(|| vec![0; groups.len()])
    };
    let (gpu, call) = (
        share(|group| &group.sums.gpu),
        share(|group| &group.sums.calls),
    );
    for ((own, gpu), call) in groups.iter().zip(gpu).zip(call) {
        let sums = &own.sums;
        let mut record = key_cells(summary.by(), own);
        record.extend(times(&sums.gpu, gpu));
        record.extend(times(&sums.calls, call));
        let more = [
            sums.board_cpu_ns,
            sums.bytes_to_board,
            sums.bytes_from_board,
        ];
        record.extend(more.map(|value| value.to_string()));
        csv.write_record(record).map_err(io_error)?;
    }
    csv.flush()
}

fn key_cells(by: By, group: &Group) -> Vec<String> {
    match by {
        By::Entry | By::Kernel => vec![group.api.clone(), group.name.clone()],
        By::Process | By::Line => vec![group.name.clone()],
        By::Thread | By::Queue => {
            let parts = group.name.split_once(", ");
            let (process, rest) = parts.unwrap_or((&group.name, ""));
            vec![process.into(), rest.into()]
        }
    }
}

fn times(times: &Times, share: u64) -> [String; 7] {
    times.figures(share).map(|value| value.to_string())
}

fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
