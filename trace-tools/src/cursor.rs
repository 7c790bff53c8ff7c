//! One session of a recording, call by call, with the ends of its operations.

use crate::trace::{Entry, Place, Records, Trace, TraceError};
use gil_files::recording::{Called, Record};
use gil_wire::message::Report;
use std::collections::HashMap;
use std::io::{self, Read};
use std::ops::RangeInclusive;

/// Most operations whose ends are remembered at a time.
const ENDS_MAX: usize = 1 << 20;

/// How an operation ended.
#[derive(Debug)]
pub struct End {
    /// As the board said it.
    pub report: Report,
    /// Where its output and its text are.
    pub output: Output,
}

/// Bytes of a record's payload.
#[derive(Debug)]
pub struct Output {
    place: Place,
    skip: u64,
    /// Bytes of each region, and of text.
    pub lens: Vec<u64>,
}

impl Output {
    /// Its bytes, one region behind the other.
    ///
    /// # Errors
    /// The reader's.
    pub fn read<'t>(&self, trace: &'t Trace) -> Result<impl Read + use<'t>, TraceError> {
        skipped(trace, self.place, self.skip)
    }
}

/// A record's payload behind its first `skip` bytes.
pub fn skipped<'t>(
    trace: &'t Trace,
    place: Place,
    skip: u64,
) -> Result<impl Read + use<'t>, TraceError> {
    let mut payload = trace.payload(place)?;
    let skipped = io::copy(&mut payload.by_ref().take(skip), &mut io::sink());
    skipped.map_err(|error| trace.failed(error))?;
    Ok(payload)
}

/// Reads the records of one session.
#[derive(Debug)]
pub struct Cursor<'t> {
    pub trace: &'t Trace,
    records: Records<'t>,
    session: u64,
    /// The session's last record.
    last: u64,
    /// Calls so far.
    pub calls: u64,
    /// Of operations whose ends were read and not yet taken.
    pub ends: HashMap<u64, End>,
    /// The events of those that were read since somebody looked.
    pub fresh: Vec<u64>,
}

impl<'t> Cursor<'t> {
    /// From a session's opening, which is that record, to its last one.
    ///
    /// # Errors
    /// [`TraceError::Pipe`].
    pub fn open(
        trace: &'t Trace,
        session: u64,
        records: RangeInclusive<u64>,
        at: u64,
    ) -> Result<Self, TraceError> {
        Ok(Self {
            trace,
            records: trace.records_from(*records.start(), at)?,
            session,
            last: *records.end(),
            calls: 0,
            ends: HashMap::new(),
            fresh: Vec::new(),
        })
    }

    /// The session's next call; `None` behind its last.
    ///
    /// # Errors
    /// The reader's.
    pub fn next_call(&mut self) -> Result<Option<Entry>, TraceError> {
        while self.records.read < self.last {
            let Some(entry) = self.records.next_entry()? else {
                return Ok(None);
            };
            if entry.session == self.session && self.take(&entry) {
                self.calls += 1;
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Notes what the record says of operations; whether it is a call.
    fn take(&mut self, entry: &Entry) -> bool {
        match entry.record() {
            Ok(Record::Call(called)) => {
                self.ended_by(entry, &called);
                true
            }
            Ok(Record::Ended(ended)) => {
                self.ended(entry, ended.report, 0);
                false
            }
            _ => false,
        }
    }

    /// What a call's answer says of operations. Its own has the call's output.
    fn ended_by(&mut self, entry: &Entry, called: &Called<'_>) {
        let Some(done) = &called.done else { return };
        let is_in = |region: &&gil_wire::message::RegionDesc| region.dir.is_in();
        let ins = called.call.regions.iter().filter(is_in);
        let input: u64 = ins.map(|region| region.len).sum();
        let mut skip = input + done.out.iter().sum::<u64>();
        for report in &done.reports {
            let len = report.payload_len().unwrap_or(0);
            let is_own = Some(report.event) == called.call.event;
            match is_own && report.out.is_empty() && report.printed == 0 {
                true => self.own(entry, report, &done.out, input),
                false => self.ended(entry, report.clone(), skip),
            }
            skip += len;
        }
    }

    fn own(&mut self, entry: &Entry, report: &Report, out: &[u64], skip: u64) {
        let report = Report {
            out: out.to_vec(),
            ..report.clone()
        };
        self.ended(entry, report, skip);
    }

    fn ended(&mut self, entry: &Entry, report: Report, skip: u64) {
        if self.ends.len() >= ENDS_MAX {
            return;
        }
        let mut lens = report.out.clone();
        lens.push(report.printed);
        let output = Output {
            place: entry.place(),
            skip,
            lens,
        };
        self.fresh.push(report.event);
        self.ends.insert(report.event, End { report, output });
    }
}
