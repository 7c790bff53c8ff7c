//! Which sessions of recordings are the same: the same requests, answers and times. The board's
//! own wall time, numbers of submissions and threads are left out, and so are the ends of
//! operations that were asked for by themselves: of those at a session's end, a replay asks for
//! fewer.

use crate::trace::{Entry, Trace, TraceError};
use gil_files::recording::{Called, Record};
use gil_wire::message::{Done, Posted, Report};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};

/// Bytes of payload read at a time.
const CHUNK: usize = 64 << 10;

/// A session's sums.
#[derive(Debug, Default)]
struct Sums {
    /// Of what is in order.
    calls: DefaultHasher,
    /// Of what belongs to a device, in any order.
    others: u64,
}

/// A number for each session of a recording, by the session's: equal ones are of sessions
/// that are the same.
///
/// # Errors
/// [`TraceError`]: the reader's.
pub fn sums(trace: &mut Trace) -> Result<BTreeMap<u64, u64>, TraceError> {
    let mut all: BTreeMap<u64, Sums> = BTreeMap::new();
    trace.each(|trace, entry, record| {
        let sums = all.entry(entry.session).or_default();
        sums.add(trace, entry, &record)
    })?;
    let sessions = all.into_iter().filter(|(session, _)| *session > 0);
    let of = |sums: Sums| sums.calls.finish() ^ sums.others;
    Ok(sessions
        .map(|(session, sums)| (session, of(sums)))
        .collect())
}

impl Sums {
    fn add(&mut self, trace: &Trace, entry: &Entry, record: &Record<'_>) -> Result<(), TraceError> {
        match record {
            Record::SessionOpened(opened) => {
                opened.pointer_bits.hash(&mut self.calls);
                let numbers = opened.apis.iter().map(|api| api.number);
                numbers.for_each(|number| number.hash(&mut self.calls));
            }
            Record::Call(called) => {
                hash_call(called, &mut self.calls);
                hash_payload(trace, entry, &mut self.calls)?;
            }
            Record::Posted(costs) => hash_posted(&costs.posted, &mut self.calls),
            Record::Device(device) => {
                let mut hasher = DefaultHasher::new();
                (device.api, device.device).hash(&mut hasher);
                format!("{:?}", device.identity).hash(&mut hasher);
                self.others = self.others.wrapping_add(hasher.finish());
            }
            Record::Ended(_) | Record::SessionClosed(_) => {}
        }
        Ok(())
    }
}

fn hash_call(called: &Called<'_>, hasher: &mut DefaultHasher) {
    let call = &called.call;
    (call.op.0, call.args, call.event, call.answer).hash(hasher);
    for region in &call.regions {
        (region.len, region.dir as u32).hash(hasher);
    }
    called.done.is_some().hash(hasher);
    if let Some(done) = &called.done {
        hash_done(done, hasher);
    }
}

fn hash_done(done: &Done<'_>, hasher: &mut DefaultHasher) {
    format!("{:?}", done.status).hash(hasher);
    (done.result, done.cpu_ns, &done.out, done.notices).hash(hasher);
    for report in &done.reports {
        hash_report(report, hasher);
    }
}

fn hash_report(report: &Report, hasher: &mut DefaultHasher) {
    (report.event, report.duration_ns, &report.out).hash(hasher);
    (report.printed, report.rejected).hash(hasher);
    format!("{:?}", report.ending).hash(hasher);
}

fn hash_posted(posted: &[Posted], hasher: &mut DefaultHasher) {
    for post in posted {
        (post.op.0, post.calls, post.cpu_ns, post.longest_ns).hash(hasher);
    }
}

fn hash_payload(
    trace: &Trace,
    entry: &Entry,
    hasher: &mut DefaultHasher,
) -> Result<(), TraceError> {
    let mut payload = trace.payload(entry.place())?;
    let mut chunk = vec![0; CHUNK];
    loop {
        match payload.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(read) => hasher.write(&chunk[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(trace.failed(error)),
        }
    }
}
