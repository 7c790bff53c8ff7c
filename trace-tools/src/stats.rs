//! `gil trace stats`: what each entry point took, over all sessions.

use crate::events::Events;
use crate::summary::call_bytes;
use crate::text::{api_name, bytes, or_none, table, time};
use crate::{Trace, TraceError};
use gil_files::recording::{Called, Costs, Record};
use gil_wire::envelope::Class;
use gil_wire::message::{Posted, Report};
use gil_wire::{Op, api};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::io::Write;

/// The name of all entry points that this gil does not know.
const OTHERS: &str = "others";

/// What each entry point took, the longest first.
#[derive(Debug, Default, Serialize)]
pub struct Stats {
    /// Why the recording ends before the file does, if it does, and what to do.
    pub rest: Option<String>,
    /// An entry point each.
    pub entries: Vec<EntryStats>,
}

/// What one entry point took.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EntryStats {
    /// Its name.
    pub call: String,
    /// Its API, by its name in options.
    pub api: String,
    /// What it means for time: `query`, `sync`, `post`, `enqueue`.
    pub class: String,
    /// Its calls.
    pub count: u64,
    /// Those of them without an answer.
    pub posts: u64,
    /// Bytes of arguments and input.
    pub bytes_to_board: u64,
    /// Bytes of results and output.
    pub bytes_from_board: u64,
    /// From the decoded request to the encoded reply, on the board's clock, of calls that
    /// were answered; with the posts before each.
    pub busy_ns: u64,
    /// What the function took on the board's CPU.
    pub board_cpu: Times,
    /// What its operations took on the device.
    pub gpu: Times,
}

/// Durations, in nanoseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Times {
    /// How many were measured.
    pub measured: u64,
    /// Their sum.
    pub total_ns: u64,
    /// Their mean.
    pub mean_ns: Option<u64>,
    /// Half of them are no longer, within 0.1 %. Posts are measured together: where there
    /// are some, this is not known.
    pub p50_ns: Option<u64>,
    /// 95 % of them are no longer, within 0.1 %.
    pub p95_ns: Option<u64>,
    /// The longest.
    pub max_ns: Option<u64>,
}

impl Stats {
    /// Reads a recording to its end.
    ///
    /// # Errors
    /// [`TraceError`], but not for an end that is not whole: that is in the result.
    pub fn of(trace: &mut Trace) -> Result<Self, TraceError> {
        let mut counted = Counted::default();
        trace.each(|_, entry, record| {
            counted.add(entry.session, &record);
            Ok(())
        })?;
        let rest = trace.rest().map(ToString::to_string);
        let entries = counted.entries();
        Ok(Self { rest, entries })
    }

    /// As tables, for people: the board's CPU, then the device.
    pub fn table(&self) -> String {
        let cpu = self.entries.iter().map(|entry| {
            let front = [
                entry.call.clone(),
                entry.count.to_string(),
                bytes(entry.bytes_to_board),
                bytes(entry.bytes_from_board),
                entry.board_cpu.measured.to_string(),
            ];
            front.into_iter().chain(entry.board_cpu.row()).collect()
        });
        let header = [
            "call",
            "count",
            "to the board",
            "from it",
            "measured",
            "board's CPU",
        ];
        let mut text = table(&[&header[..], DISTRIBUTION].concat(), cpu);
        let is_operation = |entry: &&EntryStats| entry.gpu.measured > 0;
        let gpu = self.entries.iter().filter(is_operation).map(|entry| {
            let front = [entry.call.clone(), entry.gpu.measured.to_string()];
            front.into_iter().chain(entry.gpu.row()).collect()
        });
        let gpu: Vec<Vec<String>> = gpu.collect();
        if !gpu.is_empty() {
            text.push('\n');
            let header = ["operations of", "count", "GPU time"];
            text += &table(&[&header[..], DISTRIBUTION].concat(), gpu);
        }
        text
    }

    /// As comma-separated values, with a header.
    ///
    /// # Errors
    /// [`TraceError::Output`].
    pub fn csv(&self, to: &mut dyn Write) -> Result<(), TraceError> {
        let mut csv = csv::Writer::from_writer(to);
        let written = (self.entries.iter().map(Row::of))
            .try_for_each(|row| csv.serialize(row))
            .map_err(Into::into)
            .and_then(|()| csv.flush());
        written.map_err(TraceError::Output)
    }
}

/// What stands behind a total.
const DISTRIBUTION: &[&str] = &["mean", "p50", "p95", "max"];

impl Times {
    fn row(&self) -> [String; 5] {
        let shown = |ns: Option<u64>| or_none(ns.map(time));
        [
            shown((self.measured > 0).then_some(self.total_ns)),
            shown(self.mean_ns),
            shown(self.p50_ns),
            shown(self.p95_ns),
            shown(self.max_ns),
        ]
    }
}

/// A line of the CSV.
#[derive(Serialize)]
struct Row<'a> {
    call: &'a str,
    api: &'a str,
    class: &'a str,
    count: u64,
    posts: u64,
    bytes_to_board: u64,
    bytes_from_board: u64,
    busy_ns: u64,
    board_cpu_ns: u64,
    board_cpu_mean_ns: Option<u64>,
    board_cpu_p50_ns: Option<u64>,
    board_cpu_p95_ns: Option<u64>,
    board_cpu_max_ns: Option<u64>,
    operations: u64,
    gpu_ns: u64,
    gpu_mean_ns: Option<u64>,
    gpu_p50_ns: Option<u64>,
    gpu_p95_ns: Option<u64>,
    gpu_max_ns: Option<u64>,
}

impl<'a> Row<'a> {
    fn of(entry: &'a EntryStats) -> Self {
        Self {
            call: &entry.call,
            api: &entry.api,
            class: &entry.class,
            count: entry.count,
            posts: entry.posts,
            bytes_to_board: entry.bytes_to_board,
            bytes_from_board: entry.bytes_from_board,
            busy_ns: entry.busy_ns,
            board_cpu_ns: entry.board_cpu.total_ns,
            board_cpu_mean_ns: entry.board_cpu.mean_ns,
            board_cpu_p50_ns: entry.board_cpu.p50_ns,
            board_cpu_p95_ns: entry.board_cpu.p95_ns,
            board_cpu_max_ns: entry.board_cpu.max_ns,
            operations: entry.gpu.measured,
            gpu_ns: entry.gpu.total_ns,
            gpu_mean_ns: entry.gpu.mean_ns,
            gpu_p50_ns: entry.gpu.p50_ns,
            gpu_p95_ns: entry.gpu.p95_ns,
            gpu_max_ns: entry.gpu.max_ns,
        }
    }
}

/// All entry points, while a recording is read.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    /// `None`: those that this gil does not know, which may be any number.
    entries: BTreeMap<Option<Op>, Counter>,
    events: Events,
    /// What posts took, as part of the session's next answer.
    posted_ns: HashMap<u64, u64>,
}

/// One entry point.
#[derive(Debug, Default)]
struct Counter {
    count: u64,
    posts: u64,
    to: u64,
    from: u64,
    busy_ns: u64,
    cpu: Durations,
    gpu: Durations,
}

impl Counted {
    pub fn add(&mut self, session: u64, record: &Record<'_>) {
        match record {
            Record::Call(called) => self.called(session, called),
            Record::Ended(ended) => self.ended(session, &ended.report),
            Record::Posted(costs) => self.posted(session, costs),
            Record::SessionOpened(_) | Record::SessionClosed(_) | Record::Device(_) => {}
        }
    }

    fn of(&mut self, op: Option<Op>) -> &mut Counter {
        let known = op.filter(|op| op.name().is_some());
        self.entries.entry(known).or_default()
    }

    fn called(&mut self, session: u64, called: &Called<'_>) {
        let op = called.call.op;
        if let Some(event) = called.call.event {
            self.events.begins(session, event, op);
        }
        let posted_ns = match called.call.answer {
            true => self.posted_ns.remove(&session).unwrap_or(0),
            false => 0,
        };
        let (to, from) = call_bytes(called);
        let counter = self.of(Some(op));
        counter.count += 1;
        counter.posts += u64::from(!called.call.answer);
        counter.to = counter.to.saturating_add(to);
        counter.from = counter.from.saturating_add(from);
        if let Some(done) = &called.done {
            counter.busy_ns = counter.busy_ns.saturating_add(done.busy_ns);
            counter.cpu.add(done.cpu_ns.saturating_sub(posted_ns));
            let reports = done.reports.iter();
            reports.for_each(|report| self.ended(session, report));
        }
    }

    fn ended(&mut self, session: u64, report: &Report) {
        let op = self.events.ends(session, report.event);
        let counter = self.of(op);
        let bytes = report.payload_len().unwrap_or(0);
        counter.from = counter.from.saturating_add(bytes);
        counter.gpu.add(report.duration_ns);
    }

    fn posted(&mut self, session: u64, costs: &Costs) {
        for posted in &costs.posted {
            let sum = self.posted_ns.entry(session).or_default();
            *sum = sum.saturating_add(posted.cpu_ns);
            self.of(Some(posted.op)).cpu.add_posts(posted);
        }
    }

    /// The longest first.
    pub fn entries(self) -> Vec<EntryStats> {
        let entries = self.entries.into_iter();
        let mut entries: Vec<_> = entries.map(|(op, counter)| counter.stats(op)).collect();
        entries.sort_by_key(|entry| {
            let times = (entry.gpu.total_ns, entry.board_cpu.total_ns);
            std::cmp::Reverse((times, entry.count))
        });
        entries
    }
}

impl Counter {
    fn stats(self, op: Option<Op>) -> EntryStats {
        EntryStats {
            call: op.map_or_else(|| OTHERS.into(), |op| op.to_string()),
            api: op.map_or_else(|| OTHERS.into(), |op| api_name(op.api())),
            class: op
                .map_or("-", |op| class(op, self.count == self.posts))
                .into(),
            count: self.count,
            posts: self.posts,
            bytes_to_board: self.to,
            bytes_from_board: self.from,
            busy_ns: self.busy_ns,
            board_cpu: self.cpu.times(),
            gpu: self.gpu.times(),
        }
    }
}

/// What an entry point means for time.
pub(crate) fn class(op: Op, is_post: bool) -> &'static str {
    if is_post {
        return "post";
    }
    match api::info(op).and_then(|info| info.class) {
        Some(Class::Query) => "query",
        Some(Class::Sync) => "sync",
        Some(Class::Post) => "post",
        Some(Class::Enqueue) => "enqueue",
        Some(Class::Wait) => "wait",
        Some(Class::Poll) => "poll",
        Some(Class::Look) => "look",
        None => "-",
    }
}

/// Durations in bounded memory.
#[derive(Debug, Default)]
struct Durations {
    measured: u64,
    total_ns: u64,
    max_ns: u64,
    /// Of those that were measured one by one.
    each: Option<Histogram<u64>>,
    is_each_known: bool,
}

impl Durations {
    fn add(&mut self, ns: u64) {
        if self.measured == 0 {
            self.each = Histogram::new(DIGITS).ok();
            self.is_each_known = true;
        }
        self.sum(1, ns, ns);
        if let Some(each) = &mut self.each {
            // What exceeds an hour is as an hour, and its longest is known.
            self.is_each_known &= each.record(ns.min(LONGEST_NS)).is_ok();
        }
    }

    fn add_posts(&mut self, posted: &Posted) {
        self.sum(posted.calls.into(), posted.cpu_ns, posted.longest_ns);
        self.is_each_known = false;
        self.each = None;
    }

    fn sum(&mut self, count: u64, sum_ns: u64, longest_ns: u64) {
        self.measured = self.measured.saturating_add(count);
        self.total_ns = self.total_ns.saturating_add(sum_ns);
        self.max_ns = self.max_ns.max(longest_ns);
    }

    fn times(self) -> Times {
        let each = self.each.filter(|_| self.is_each_known);
        let at = |quantile| {
            let at = each.as_ref().map(|each| each.value_at_quantile(quantile));
            at.map(|ns| ns.min(self.max_ns))
        };
        Times {
            measured: self.measured,
            total_ns: self.total_ns,
            mean_ns: self.total_ns.checked_div(self.measured),
            p50_ns: at(0.5),
            p95_ns: at(0.95),
            max_ns: (self.measured > 0).then_some(self.max_ns),
        }
    }
}

/// Significant digits of percentiles.
const DIGITS: u8 = 3;
/// The longest duration that percentiles tell apart: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;
