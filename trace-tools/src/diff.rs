//! `gil trace diff`: whether two recordings are of the same run, and what differs.
//!
//! Sessions are compared in the order in which they were opened, each by itself, as a
//! replay would serve it: the n-th call of one with the n-th of the other. Threads,
//! sequence numbers, processes and times are not part of what is compared.

use crate::cursor::{Cursor, End, Output, skipped};
use crate::stats::{Counted, EntryStats};
use crate::text::{counted, or_none, table, time};
use crate::trace::{Entry, Place};
use crate::{Trace, TraceError};
use gil_files::difference::{Difference, first_read};
use gil_files::recording::{Called, Record};
use gil_wire::message::Done;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{self, Read};

/// Most sessions that are named with a difference.
const NAMED_MAX: usize = 100;

/// What two recordings have in common.
#[derive(Debug)]
pub struct Compared {
    names: [String; 2],
    /// Sessions of each.
    sessions: [usize; 2],
    /// Where requests differ, the first of each session.
    requests: Vec<Found>,
    /// Calls whose requests are the same.
    same_calls: u64,
    /// Calls and operations that were answered in another way, and the first of each session.
    answers: u64,
    answered: Vec<Found>,
    /// Operations whose end only one of them has.
    one_sided: u64,
    entries: [Vec<EntryStats>; 2],
}

/// A difference in one session, in words.
#[derive(Debug)]
struct Found {
    session: u64,
    what: String,
}

/// What is known of a recording that was read once.
struct Index {
    sessions: Vec<Span>,
    entries: Vec<EntryStats>,
}

/// Where the records of a session are.
#[derive(Clone, Copy, Debug)]
struct Span {
    pointer_bits: u32,
    at: u64,
    first: u64,
    last: u64,
}

impl Compared {
    /// Reads both, twice.
    ///
    /// # Errors
    /// [`TraceError`], also where the end of one is not whole.
    pub fn of(one: &mut Trace, other: &mut Trace) -> Result<Self, TraceError> {
        let indices = [Index::of(one)?, Index::of(other)?];
        let names = names(one, other);
        let mut compared = Self {
            names,
            sessions: [0, 1].map(|side: usize| indices[side].sessions.len()),
            requests: Vec::new(),
            same_calls: 0,
            answers: 0,
            answered: Vec::new(),
            one_sided: 0,
            entries: [Vec::new(), Vec::new()],
        };
        let pairs = indices[0].sessions.iter().zip(&indices[1].sessions);
        for (number, (mine, theirs)) in (1..).zip(pairs) {
            let sides = [(&*one, *mine), (&*other, *theirs)];
            compared.session(number, sides)?;
        }
        compared.entries = indices.map(|index| index.entries);
        Ok(compared)
    }

    /// Whether all requests and answers are the same; times may differ.
    pub fn are_equal(&self) -> bool {
        self.is_same_run() && self.answers == 0
    }

    fn is_same_run(&self) -> bool {
        self.requests.is_empty() && self.sessions[0] == self.sessions[1]
    }

    fn session(&mut self, number: u64, sides: [(&Trace, Span); 2]) -> Result<(), TraceError> {
        let [(one, mine), (other, theirs)] = sides;
        if mine.pointer_bits != theirs.pointer_bits {
            let [a, b] = &self.names;
            let (mine, theirs) = (mine.pointer_bits, theirs.pointer_bits);
            let what =
                format!("the program's pointers have {mine} bits in {a} and {theirs} in {b}");
            self.request(number, what);
            return Ok(());
        }
        let mut pair = Pair {
            number,
            sides: [cursor(one, number, mine)?, cursor(other, number, theirs)?],
        };
        let differing = self.requests.len();
        while pair.step(self)? {}
        // The ends of a call that only one of them makes say nothing else than the call.
        if self.requests.len() > differing {
            return Ok(());
        }
        self.one_sided += pair
            .sides
            .iter()
            .map(|side| side.ends.len() as u64)
            .sum::<u64>();
        Ok(())
    }

    fn request(&mut self, session: u64, what: String) {
        self.requests.push(Found { session, what });
    }

    fn answer(&mut self, session: u64, what: impl FnOnce(&[String; 2]) -> String) {
        self.answers += 1;
        let is_first = self.answered.last().is_none_or(|it| it.session != session);
        if is_first {
            let what = what(&self.names);
            self.answered.push(Found { session, what });
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let [a, b] = &self.names;
        let [mine, theirs] = self
            .sessions
            .map(|count| counted(count as u64, "session", "sessions"));
        if self.sessions[0] != self.sessions[1] {
            let _ = writeln!(text, "{a} has {mine}, {b} has {theirs}");
        }
        named(&self.requests, "", &mut text);
        let calls = counted(self.same_calls, "call", "calls");
        let _ = match self.is_same_run() {
            true => writeln!(text, "both are of the same run: {mine}, {calls}"),
            false => writeln!(
                text,
                "they are of different runs, which have {calls} in common before they differ"
            ),
        };
        let before = format!("answers in {a} and {b} differ: ");
        named(&self.answered, &before, &mut text);
        let _ = match self.answers {
            0 if self.same_calls == 0 => Ok(()),
            0 => writeln!(text, "the board's answers to these calls are the same"),
            1 => writeln!(text, "1 answer of the board differs"),
            many => writeln!(text, "{many} answers of the board differ"),
        };
        if self.one_sided > 0 {
            let ends = counted(self.one_sided, "operation", "operations");
            let _ = writeln!(text, "only one of them has the end of {ends}");
        }
        text.push('\n');
        text += &self.times();
        text
    }

    /// How their times differ, by entry point.
    fn times(&self) -> String {
        let [a, b] = &self.names;
        let sides = self.entries.each_ref().map(|entries| {
            let named = entries.iter().map(|entry| (&entry.call[..], entry));
            named.collect::<BTreeMap<_, _>>()
        });
        let first = self.entries[0].iter();
        let only = self.entries[1].iter();
        let only = only.filter(|entry| !sides[0].contains_key(&entry.call[..]));
        let none = EntryStats::default();
        let rows = first.chain(only).map(|entry| {
            let of = |side: usize| sides[side].get(&entry.call[..]).copied().unwrap_or(&none);
            times_row(&entry.call, of(0), of(1))
        });
        let cpu = [format!("CPU in {a}"), format!("in {b}")];
        let gpu = [format!("GPU in {a}"), format!("in {b}")];
        let header = [
            "call", "count", &cpu[0], &cpu[1], "ratio", &gpu[0], &gpu[1], "ratio",
        ];
        table(&header, rows)
    }
}

fn times_row(call: &str, one: &EntryStats, other: &EntryStats) -> Vec<String> {
    let count = match one.count == other.count {
        true => one.count.to_string(),
        false => format!("{} and {}", one.count, other.count),
    };
    let mut row = vec![call.to_owned(), count];
    let are_as_many = one.count == other.count;
    for (one, other) in [(&one.board_cpu, &other.board_cpu), (&one.gpu, &other.gpu)] {
        let shown =
            |it: &crate::stats::Times| or_none((it.measured > 0).then(|| time(it.total_ns)));
        // As long as both did the same; else it says nothing.
        let is_same = are_as_many && one.measured == other.measured && one.total_ns > 0;
        let ratio = is_same.then(|| format!("{:.3}", other.total_ns as f64 / one.total_ns as f64));
        row.extend([shown(one), shown(other), or_none(ratio)]);
    }
    row
}

fn named(found: &[Found], before: &str, text: &mut String) {
    for it in found.iter().take(NAMED_MAX) {
        let _ = writeln!(text, "session {}: {before}{}", it.session, it.what);
    }
    if let Some(more) = found.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        let _ = writeln!(
            text,
            "and so in {}",
            counted(more as u64, "more session", "more sessions")
        );
    }
}

/// The files' names, without folders if that tells them apart.
fn names(one: &Trace, other: &Trace) -> [String; 2] {
    let short = |trace: &Trace| {
        let name = trace.path().file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let long = |trace: &Trace| trace.path().display().to_string();
    match short(one) == short(other) {
        true => [long(one), long(other)],
        false => [short(one), short(other)],
    }
}

fn cursor(trace: &Trace, number: u64, span: Span) -> Result<Cursor<'_>, TraceError> {
    Cursor::open(trace, number, span.first..=span.last, span.at)
}

impl Index {
    fn of(trace: &mut Trace) -> Result<Self, TraceError> {
        trace.check_regular()?;
        let mut sessions: Vec<Span> = Vec::new();
        let mut all = Counted::default();
        trace.each(|_, entry, record| {
            all.add(entry.session, &record);
            if let Record::SessionOpened(opened) = record {
                sessions.push(Span {
                    pointer_bits: opened.pointer_bits,
                    at: entry.at,
                    first: entry.number,
                    last: entry.number,
                });
            }
            let place = usize::try_from(entry.session)
                .ok()
                .and_then(|it| it.checked_sub(1));
            if let Some(span) = place.and_then(|place| sessions.get_mut(place)) {
                span.last = entry.number;
            }
            Ok(())
        })?;
        trace.check_whole()?;
        let entries = all.entries();
        Ok(Self { sessions, entries })
    }
}

/// A session of both.
struct Pair<'t> {
    number: u64,
    sides: [Cursor<'t>; 2],
}

impl Pair<'_> {
    /// Compares the next call; whether there may be more.
    fn step(&mut self, compared: &mut Compared) -> Result<bool, TraceError> {
        let [one, other] = &mut self.sides;
        match (one.next_call()?, other.next_call()?) {
            (None, None) => {
                self.match_ends(compared)?;
                Ok(false)
            }
            (Some(more), None) => Ok(self.longer(compared, &more, 0)),
            (None, Some(more)) => Ok(self.longer(compared, &more, 1)),
            (Some(one), Some(other)) => self.both(compared, &one, &other),
        }
    }

    /// Compares a call that both have; whether the next ones can be compared, too.
    fn both(
        &mut self,
        compared: &mut Compared,
        one: &Entry,
        other: &Entry,
    ) -> Result<bool, TraceError> {
        let (Some(mine), Some(theirs)) = (called(one), called(other)) else {
            return Ok(false);
        };
        let places = [one.place(), other.place()];
        if let Some(difference) = self.request(&mine, &theirs, places)? {
            let [a, b] = compared.names.each_ref().map(|name| format!("in {name}"));
            let clause = difference.between(&a, &b);
            let what = format!("{} differs: {clause}", self.place_of(&mine));
            compared.request(self.number, what);
            return Ok(false);
        }
        compared.same_calls += 1;
        self.answer(compared, (&mine, &theirs), places)?;
        self.match_ends(compared)?;
        Ok(true)
    }

    /// Only that one has another call.
    fn longer(&self, compared: &mut Compared, more: &Entry, side: usize) -> bool {
        let [mine, theirs] = [side, 1 - side].map(|it| &compared.names[it]);
        if let Some(call) = called(more) {
            let place = self.place_of(&call);
            let what = format!("{place} is only in {mine}: in {theirs} the session ends before it");
            compared.request(self.number, what);
        }
        false
    }

    fn place_of(&self, called: &Called<'_>) -> String {
        let call = &called.call;
        let number = self.sides.iter().map(|side| side.calls).max().unwrap_or(0);
        let (op, thread, seq) = (call.op, call.thread, call.seq);
        format!("call {number} ({op}, thread {thread}, sequence number {seq})")
    }

    fn request(
        &self,
        mine: &Called<'_>,
        theirs: &Called<'_>,
        places: [Place; 2],
    ) -> Result<Option<Difference>, TraceError> {
        if let Some(difference) = Difference::of_heads(&mine.call, &theirs.call) {
            return Ok(Some(difference));
        }
        let [one, other] = &self.sides;
        let mut payload = one.trace.payload(places[0])?;
        let mut recorded = other.trace.payload(places[1])?;
        let found = Difference::of_input(&mine.call.regions, &mut payload, &mut recorded);
        found.map_err(|error| one.trace.failed(error))
    }

    fn answer(
        &self,
        compared: &mut Compared,
        (mine, theirs): (&Called<'_>, &Called<'_>),
        places: [Place; 2],
    ) -> Result<(), TraceError> {
        let [a, b] = &compared.names;
        let lost = |name: &str| Some(format!("in {name} the board was lost before it answered"));
        let clause = match (&mine.done, &theirs.done) {
            (None, None) => None,
            (Some(one), Some(other)) => match head_of_answer(one, other) {
                None => self.output(mine, (one, other), places)?,
                some => some,
            },
            (Some(_), None) => lost(b),
            (None, Some(_)) => lost(a),
        };
        if let Some(clause) = clause {
            let place = self.place_of(mine);
            compared.answer(self.number, |_| format!("{place}: {clause}"));
        }
        Ok(())
    }

    /// Compares the output that an answer brought itself.
    fn output(
        &self,
        mine: &Called<'_>,
        dones: (&Done<'_>, &Done<'_>),
        places: [Place; 2],
    ) -> Result<Option<String>, TraceError> {
        let own = |done: &Done<'_>| {
            let has_ended =
                |report: &gil_wire::message::Report| Some(report.event) == mine.call.event;
            // Then it is compared as the operation's.
            let is_operations = done.reports.iter().any(has_ended);
            if is_operations {
                Vec::new()
            } else {
                done.out.clone()
            }
        };
        let lens = [own(dones.0), own(dones.1)];
        let ins = mine.call.regions.iter().filter(|region| region.dir.is_in());
        let skip: u64 = ins.map(|region| region.len).sum();
        let [one, other] = &self.sides;
        let mut bytes = (
            skipped(one.trace, places[0], skip)?,
            skipped(other.trace, places[1], skip)?,
        );
        let found = pieces([&lens[0], &lens[1]], &mut bytes.0, &mut bytes.1);
        found.map_err(|error| one.trace.failed(error))
    }

    /// Compares operations whose ends both have.
    fn match_ends(&mut self, compared: &mut Compared) -> Result<(), TraceError> {
        let [one, other] = &mut self.sides;
        let mut fresh = std::mem::take(&mut one.fresh);
        fresh.append(&mut other.fresh);
        for event in fresh {
            if !(one.ends.contains_key(&event) && other.ends.contains_key(&event)) {
                continue;
            }
            let (Some(mine), Some(theirs)) = (one.ends.remove(&event), other.ends.remove(&event))
            else {
                continue;
            };
            if let Some(clause) = end((one.trace, &mine), (other.trace, &theirs))? {
                compared.answer(self.number, |_| {
                    format!("the operation of event {event}: {clause}")
                });
            }
        }
        Ok(())
    }
}

fn called(entry: &Entry) -> Option<Called<'_>> {
    match entry.record() {
        Ok(Record::Call(called)) => Some(called),
        _ => None,
    }
}

fn head_of_answer(one: &Done<'_>, other: &Done<'_>) -> Option<String> {
    if one.status != other.status {
        return Some(format!("{:?} and {:?}", one.status, other.status));
    }
    let pairs = one.result.iter().zip(other.result);
    let at = pairs.take_while(|(one, other)| one == other).count();
    match (one.result.get(at), other.result.get(at)) {
        (None, None) => None,
        (Some(one), Some(other)) => Some(format!(
            "byte {at} of the result is {one:#04x} and {other:#04x}"
        )),
        _ => Some(format!(
            "the results have {} and {} bytes",
            one.result.len(),
            other.result.len()
        )),
    }
}

fn end(one: (&Trace, &End), other: (&Trace, &End)) -> Result<Option<String>, TraceError> {
    let ((trace, mine), (their_trace, theirs)) = (one, other);
    if mine.report.ending != theirs.report.ending {
        let (mine, theirs) = (mine.report.ending, theirs.report.ending);
        return Ok(Some(format!("it ended with {mine:?} and {theirs:?}")));
    }
    let (a, b): (&Output, &Output) = (&mine.output, &theirs.output);
    let found = pieces(
        [&a.lens, &b.lens],
        &mut a.read(trace)?,
        &mut b.read(their_trace)?,
    );
    found.map_err(|error| trace.failed(error))
}

/// Compares pieces of output.
fn pieces(
    lens: [&[u64]; 2],
    one: &mut impl Read,
    other: &mut impl Read,
) -> io::Result<Option<String>> {
    if lens[0] != lens[1] {
        let [mine, theirs] = lens.map(|lens| lens.iter().sum::<u64>());
        return Ok(Some(format!("the output has {mine} and {theirs} bytes")));
    }
    for (index, len) in lens[0].iter().enumerate() {
        if let Some((at, one, other)) = first_read(one, other, *len)? {
            return Ok(Some(format!(
                "byte {at} of output {index} is {one:#04x} and {other:#04x}"
            )));
        }
    }
    Ok(None)
}
