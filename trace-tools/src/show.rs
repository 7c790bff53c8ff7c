//! `gil trace show`: a line for each record.

use crate::events::Events;
use crate::hex;
use crate::stats::class;
use crate::summary::{DeviceSummary, call_bytes};
use crate::text::{api_name, bytes, or_none, time};
use crate::trace::Entry;
use crate::{Trace, TraceError};
use gil_files::recording::{Called, Costs, Device, Ended, Record, SessionOpened};
use gil_wire::ending::Ending;
use gil_wire::message::{CallStatus, Done, Report};
use gil_wire::words::Words;
use gil_wire::{Op, api};
use std::collections::{BTreeSet, HashMap};
use std::io::{Read, Write};
use std::ops::RangeInclusive;

/// Which records are shown, and how.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Of these sessions alone, if there are any.
    pub sessions: BTreeSet<u64>,
    /// Calls of these entry points alone, by name, if there are any.
    pub calls: BTreeSet<String>,
    /// Records of these numbers.
    pub records: RangeInclusive<u64>,
    /// Up to how many bytes of arguments and of each region, if any.
    pub bytes: Option<u64>,
}

/// Most operations that a call's line names as ended.
const ENDS_MAX: usize = 8;

/// Writes a line for each record that is shown.
///
/// # Errors
/// [`TraceError`], but not for an end that is not whole: the reader knows that.
pub fn show(trace: &mut Trace, shown: &Shown, to: &mut dyn Write) -> Result<(), TraceError> {
    if shown.bytes.is_some() {
        trace.check_regular()?;
    }
    let mut lines = Lines {
        shown,
        events: Events::default(),
        posted_ns: HashMap::new(),
        seen: BTreeSet::new(),
        to,
    };
    lines.write(HEADER)?;
    let mut last = 0;
    while let Some(entry) = trace.next_entry()? {
        if entry.number > *shown.records.end() {
            return Ok(());
        }
        last = entry.number;
        lines.entry(trace, &entry)?;
    }
    let first = *shown.records.start();
    if first > last.max(1) {
        let path = trace.path().into();
        return Err(TraceError::NoRecord { path, first, last });
    }
    lines.check_sessions(trace)
}

const HEADER: &str = "record  session  process  thread      seq  call                          class    event  queue  to the board     from it  board's CPU     GPU time\n";

struct Lines<'s> {
    shown: &'s Shown,
    events: Events,
    /// What posts took, by session, as part of its next answer.
    posted_ns: HashMap<u64, u64>,
    /// Sessions that were opened, of those that are shown.
    seen: BTreeSet<u64>,
    to: &'s mut dyn Write,
}

/// A line's columns.
#[derive(Default)]
struct Line {
    thread: Option<u32>,
    seq: Option<u64>,
    what: String,
    class: Option<&'static str>,
    event: Option<u64>,
    queue: Option<u64>,
    to: Option<u64>,
    from: Option<u64>,
    cpu_ns: Option<u64>,
    gpu_ns: Option<u64>,
    /// Behind the columns.
    more: String,
}

impl Lines<'_> {
    fn write(&mut self, text: &str) -> Result<(), TraceError> {
        let written = self.to.write_all(text.as_bytes());
        written.map_err(TraceError::Output)
    }

    fn entry(&mut self, trace: &Trace, entry: &Entry) -> Result<(), TraceError> {
        let Ok(record) = entry.record() else {
            return Ok(());
        };
        let op = self.op(entry.session, &record);
        let own_ns = self.own_ns(entry.session, &record);
        if !self.is_shown(entry, op) {
            return Ok(());
        }
        let mut line = line(&record, op);
        line.cpu_ns = own_ns.or(line.cpu_ns);
        self.write(&line.columns(entry, trace.process(entry.session)))?;
        match (&record, self.shown.bytes) {
            (Record::Call(called), Some(most)) => self.call_bytes(trace, entry, called, most),
            (Record::Ended(ended), Some(most)) => {
                let mut payload = trace.payload(entry.place())?;
                self.report(trace, &mut payload, &ended.report, most)
            }
            _ => Ok(()),
        }
    }

    /// The entry point of a call or of the operation that ended.
    fn op(&mut self, session: u64, record: &Record<'_>) -> Option<Op> {
        match record {
            Record::SessionOpened(_) => {
                self.seen.insert(session);
                None
            }
            Record::Call(called) => {
                let op = called.call.op;
                if let Some(event) = called.call.event {
                    self.events.begins(session, event, op);
                }
                for report in called.done.iter().flat_map(|done| &done.reports) {
                    self.events.ends(session, report.event);
                }
                Some(op)
            }
            Record::Ended(ended) => self.events.ends(session, ended.report.event),
            Record::SessionClosed(_) | Record::Device(_) | Record::Posted(_) => None,
        }
    }

    /// What an answered call took without the posts before it.
    fn own_ns(&mut self, session: u64, record: &Record<'_>) -> Option<u64> {
        match record {
            Record::Posted(costs) => {
                let sum = self.posted_ns.entry(session).or_default();
                let posted = costs.posted.iter();
                *sum = posted.fold(*sum, |sum, it| sum.saturating_add(it.cpu_ns));
                None
            }
            Record::Call(called) if called.call.answer => {
                let posted_ns = self.posted_ns.remove(&session).unwrap_or(0);
                let done = called.done.as_ref();
                done.map(|done| done.cpu_ns.saturating_sub(posted_ns))
            }
            _ => None,
        }
    }

    fn is_shown(&self, entry: &Entry, op: Option<Op>) -> bool {
        let Shown {
            sessions, calls, ..
        } = self.shown;
        let is_called = || op.is_some_and(|op| calls.contains(&op.to_string()));
        let is_wanted = self.shown.records.contains(&entry.number);
        is_wanted
            && (sessions.is_empty() || sessions.contains(&entry.session))
            && (calls.is_empty() || is_called())
    }

    /// Arguments and regions of a call, then its result and output.
    fn call_bytes(
        &mut self,
        trace: &Trace,
        entry: &Entry,
        called: &Called<'_>,
        most: u64,
    ) -> Result<(), TraceError> {
        let mut payload = trace.payload(entry.place())?;
        self.piece("arguments", called.call.args, most)?;
        for (index, region) in called.call.regions.iter().enumerate() {
            if region.dir.is_in() {
                let name = format!("region {index} in");
                self.region(trace, &mut payload, &name, (region.len, most))?;
            }
        }
        let Some(done) = &called.done else {
            return Ok(());
        };
        self.piece("result", done.result, most)?;
        let outs = called.call.regions.iter().enumerate();
        let outs = outs.filter(|(_, region)| region.dir.is_out());
        for ((index, _), len) in outs.zip(&done.out) {
            let name = format!("region {index} out");
            self.region(trace, &mut payload, &name, (*len, most))?;
        }
        let reports = done.reports.iter();
        for report in reports {
            self.report(trace, &mut payload, report, most)?;
        }
        Ok(())
    }

    /// What an operation wrote and printed.
    fn report(
        &mut self,
        trace: &Trace,
        payload: &mut impl Read,
        report: &Report,
        most: u64,
    ) -> Result<(), TraceError> {
        let event = report.event;
        for (index, len) in report.out.iter().enumerate() {
            let name = format!("event {event}, output {index}");
            self.region(trace, payload, &name, (*len, most))?;
        }
        let name = format!("event {event}, text");
        self.region(trace, payload, &name, (report.printed, most))
    }

    /// The next `len` bytes of a payload, of which `most` are shown.
    fn region(
        &mut self,
        trace: &Trace,
        payload: &mut impl Read,
        name: &str,
        (len, most): (u64, u64),
    ) -> Result<(), TraceError> {
        let failed = |error| trace.failed(error);
        let mut begin = Vec::new();
        let shown = len.min(most);
        payload
            .take(shown)
            .read_to_end(&mut begin)
            .map_err(failed)?;
        let mut left = payload.take(len - shown);
        std::io::copy(&mut left, &mut std::io::sink()).map_err(failed)?;
        self.dump(name, &begin, len)
    }

    fn piece(&mut self, name: &str, bytes: &[u8], most: u64) -> Result<(), TraceError> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let begin = &bytes[..bytes.len().min(most)];
        self.dump(name, begin, bytes.len() as u64)
    }

    fn dump(&mut self, name: &str, begin: &[u8], len: u64) -> Result<(), TraceError> {
        if len == 0 {
            return Ok(());
        }
        let more = match len - begin.len() as u64 {
            0 => String::new(),
            _ => format!(", the first {}", begin.len()),
        };
        self.write(&format!("        {name}: {len} bytes{more}\n"))?;
        self.write(&hex::dump(begin, "        "))
    }

    fn check_sessions(&self, trace: &Trace) -> Result<(), TraceError> {
        let missing = self.shown.sessions.difference(&self.seen).next();
        missing.map_or(Ok(()), |&session| {
            Err(TraceError::NoSession {
                path: trace.path().into(),
                session,
            })
        })
    }
}

fn line(record: &Record<'_>, op: Option<Op>) -> Line {
    match record {
        Record::SessionOpened(opened) => opened_line(opened),
        Record::Call(called) => call_line(called),
        Record::Ended(ended) => ended_line(ended, op),
        Record::SessionClosed(_) => Line::of("session closed"),
        Record::Device(device) => device_line(device),
        Record::Posted(costs) => posted_line(costs),
    }
}

fn opened_line(opened: &SessionOpened) -> Line {
    let apis = opened.apis.iter().take(ENDS_MAX);
    let apis: Vec<_> = apis.map(|api| api_name(api.number)).collect();
    Line {
        more: format!("{} bits; {}", opened.pointer_bits, apis.join(", ")),
        ..Line::of("session opened")
    }
}

fn device_line(device: &Device) -> Line {
    let (api, number) = (api_name(device.api), device.device);
    let words = DeviceSummary::words(device);
    Line {
        more: format!("{api} device {number:#x}: {words}"),
        ..Line::of("device")
    }
}

fn posted_line(costs: &Costs) -> Line {
    let sum = costs.posted.iter().map(|posted| posted.cpu_ns);
    let named = costs.posted.iter().take(ENDS_MAX).map(|posted| {
        let (calls, op) = (posted.calls, posted.op);
        format!("{calls} {op} {}", time(posted.cpu_ns))
    });
    Line {
        cpu_ns: Some(sum.fold(0, u64::saturating_add)),
        more: and_more(named.collect(), costs.posted.len()),
        ..Line::of("cost of posts")
    }
}

fn ended_line(ended: &Ended, op: Option<Op>) -> Line {
    let report = &ended.report;
    let name = op.map_or_else(|| "an operation".into(), |op| op.to_string());
    Line {
        event: Some(report.event),
        from: report.payload_len(),
        gpu_ns: Some(report.duration_ns),
        more: ending(report).unwrap_or_default(),
        ..Line::of(&format!("end of {name}"))
    }
}

fn call_line(called: &Called<'_>) -> Line {
    let call = &called.call;
    let (to, from) = call_bytes(called);
    let done = called.done.as_ref();
    let reports = done.map_or(&[][..], |done| &done.reports);
    let is_own = |report: &&Report| Some(report.event) == call.event;
    let own = reports.iter().find(is_own);
    let others: Vec<_> = reports.iter().filter(|report| !is_own(report)).collect();
    let parts = [lack(called), own.and_then(ending), ends(&others)];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    Line {
        thread: Some(call.thread),
        seq: Some(call.seq),
        class: Some(class(call.op, !call.answer)),
        event: call.event,
        queue: api::queue(call.op, call.args),
        to: Some(to),
        from: done.map(|_| from),
        cpu_ns: done.map(|done| done.cpu_ns),
        gpu_ns: own.map(|report| report.duration_ns),
        more: parts.join("; "),
        ..Line::of(&call.op.to_string())
    }
}

/// The operations, not its own, of which a call's answer says that they ended.
fn ends(reports: &[&Report]) -> Option<String> {
    let named = reports.iter().take(ENDS_MAX).map(|report| {
        let (event, took) = (report.event, time(report.duration_ns));
        let ending = ending(report).map(|it| format!(" {it}"));
        format!("event {event} {took}{}", ending.unwrap_or_default())
    });
    let text = and_more(named.collect(), reports.len());
    (!reports.is_empty()).then(|| format!("ends {text}"))
}

/// Why a call has no result, if it has none that it should have.
fn lack(called: &Called<'_>) -> Option<String> {
    let because = |done: &Done<'_>| {
        let text = String::from_utf8_lossy(done.result).into_owned();
        Words::from(text).to_string()
    };
    match &called.done {
        None if called.call.answer => Some("the board was lost before it answered".into()),
        None => None,
        Some(done) => match done.status {
            CallStatus::Ran => None,
            CallStatus::Refused => Some(format!("refused: {}", because(done))),
            CallStatus::Lost => Some(format!("lost: {}", because(done))),
            CallStatus::NotServed => Some(format!("not served: {}", because(done))),
        },
    }
}

/// How an operation ended, if not well.
fn ending(report: &Report) -> Option<String> {
    match report.ending {
        Ending::Done => None,
        Ending::Failed(code) => Some(format!("failed with {code}")),
    }
}

fn and_more(shown: Vec<String>, count: usize) -> String {
    let text = shown.join(", ");
    match count - shown.len() {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

impl Line {
    fn of(what: &str) -> Self {
        Self {
            what: what.into(),
            ..Self::default()
        }
    }

    fn columns(&self, entry: &Entry, process: u32) -> String {
        let number = |value: Option<u64>| or_none(value.map(|value| value.to_string()));
        let line = format!(
            "{:>6}  {:>7}  {process:>7}  {:>6}  {:>7}  {:<28}  {:<7}  {:>5}  {:>5}  {:>12}  {:>10}  {:>11}  {:>11}  {}",
            entry.number,
            entry.session,
            number(self.thread.map(u64::from)),
            number(self.seq),
            self.what,
            self.class.unwrap_or("-"),
            number(self.event),
            number(self.queue),
            or_none(self.to.map(bytes)),
            or_none(self.from.map(bytes)),
            or_none(self.cpu_ns.map(time)),
            or_none(self.gpu_ns.map(time)),
            self.more,
        );
        format!("{}\n", line.trim_end())
    }
}
