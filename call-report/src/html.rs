//! A page for any browser, in one file that loads nothing: tables that sort and filter, and
//! a time line that zooms. Its size does not grow with the run: of each track it has the
//! time at work in each of up to [`SLOTS`] slots, and its longest slices one by one.

use crate::log::{Sink, SliceName};
use crate::summary::{By, Group, Summary, process_name};
use crate::times::Times;
use gil_files::calls::{Reader, Row};
use gil_report::share::{WHOLE, shares};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::{self, Read, Write};

/// Most slots of simulated time.
pub const SLOTS: u64 = 2048;
/// Nanoseconds of the shortest slot: those of a run become longer with it.
const SLOT_NS: u64 = 256;
/// Most tracks that are shown.
const TRACKS_MAX: usize = 64;
/// Most slices of a track that are shown one by one: the longest.
const SLICES_MAX: usize = 1000;

/// The page around the data.
const BEFORE: &str = include_str!("html/before.html");
/// What draws it.
const AFTER: &str = include_str!("html/after.html");

/// Where slices are; tracks are shown in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Track {
    Thread(u32, u32),
    Queue(u32, u64),
    Engine(u64, u16, u8),
}

#[derive(Debug, Default)]
struct Lane {
    name: String,
    busy_ns: Vec<u64>,
    /// The shortest of the longest is at the top.
    longest: BinaryHeap<Reverse<(u64, u64, SliceName)>>,
    slices: u64,
}

/// Time at work, of any number of calls.
#[derive(Debug)]
pub struct TimeLine {
    begin_ns: Option<u64>,
    slot_ns: u64,
    lanes: BTreeMap<Track, Lane>,
    left_out: u64,
}

impl Default for TimeLine {
    fn default() -> Self {
        Self {
            begin_ns: None,
            slot_ns: SLOT_NS,
            lanes: BTreeMap::new(),
            left_out: 0,
        }
    }
}

impl TimeLine {
    fn add(&mut self, track: Track, name: impl FnOnce() -> String, slice: (u64, u64, SliceName)) {
        if !self.lanes.contains_key(&track) && self.lanes.len() >= TRACKS_MAX {
            self.left_out += 1;
            return;
        }
        let (from_ns, to_ns, name_of) = slice;
        let begin_ns = *self.begin_ns.get_or_insert(from_ns);
        let since = |at_ns: u64| at_ns.saturating_sub(begin_ns);
        while since(to_ns) / self.slot_ns >= SLOTS {
            self.double_slots();
        }
        let lane = self.lanes.entry(track).or_insert_with(|| Lane {
            name: name(),
            ..Lane::default()
        });
        lane.slices += 1;
        fill(
            &mut lane.busy_ns,
            self.slot_ns,
            since(from_ns),
            since(to_ns),
        );
        lane.longest
            .push(Reverse((to_ns.saturating_sub(from_ns), from_ns, name_of)));
        if lane.longest.len() > SLICES_MAX {
            lane.longest.pop();
        }
    }

    fn double_slots(&mut self) {
        self.slot_ns = self.slot_ns.saturating_mul(2);
        for lane in self.lanes.values_mut() {
            let pairs = lane.busy_ns.chunks(2);
            let sum = |pair: &[u64]| pair.iter().copied().fold(0, u64::saturating_add);
            lane.busy_ns = pairs.map(sum).collect();
        }
    }
}

/// Adds a slice's time to the slots that it is in.
fn fill(slots: &mut Vec<u64>, slot_ns: u64, from_ns: u64, to_ns: u64) {
    let mut at_ns = from_ns;
    while at_ns < to_ns {
        let slot = at_ns / slot_ns;
        let end_ns = to_ns.min((slot + 1).saturating_mul(slot_ns));
        let slot = slot as usize;
        if slots.len() <= slot {
            slots.resize(slot + 1, 0);
        }
        slots[slot] = slots[slot].saturating_add(end_ns - at_ns);
        at_ns = end_ns;
    }
}

impl<R: Read> Sink<R> for TimeLine {
    fn row(&mut self, row: &Row, names: &Reader<R>) -> io::Result<()> {
        if !row.is_call() {
            return Ok(());
        }
        let (process, thread) = (row.process, row.thread);
        let of =
            |what: &str, number: u64| format!("process {}, {what} {number}", process_name(process));
        let call = (row.called_ns, row.returned_ns, SliceName::of_call(row));
        let name = || of("thread", thread.into());
        self.add(Track::Thread(process, thread), name, call);
        let operation = row.operation;
        let Some(interval) = operation.and_then(|it| it.interval) else {
            return Ok(());
        };
        let slice = (
            interval.start_ns,
            interval.end_ns,
            SliceName::of_operation(row),
        );
        if let Some(queue) = row.queue {
            self.add(Track::Queue(process, queue), || of("queue", queue), slice);
        }
        if let Some(it) = operation.filter(|it| it.engine != 0) {
            let api = if it.engine < 8 { 0 } else { row.op.api() };
            let track = Track::Engine(it.device, api, it.engine);
            let engine = || names.engine(row.op.api(), it.engine);
            self.add(
                track,
                || format!("device {}: {}", it.device, engine()),
                slice,
            );
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    about: &'a str,
    tables: Vec<Table>,
    line: Line,
}

#[derive(Serialize)]
struct Table {
    by: &'static str,
    all: Shown,
    rows: Vec<Shown>,
}

#[derive(Serialize)]
struct Shown {
    api: String,
    name: String,
    gpu: Figures,
    call: Figures,
    cpu: u64,
    to: u64,
    from: u64,
}

/// Count, total, share in tenths of a percent, mean, p50, p95, maximum.
#[derive(Serialize)]
struct Figures([u64; 7]);

#[derive(Serialize)]
struct Line {
    begin: u64,
    slot: u64,
    names: Vec<String>,
    tracks: Vec<Drawn>,
    left_out: u64,
}

#[derive(Serialize)]
struct Drawn {
    name: String,
    count: u64,
    busy: Vec<u64>,
    slices: Vec<(u64, u64, usize)>,
}

impl Shown {
    fn of(group: &Group, (gpu, call): (u64, u64)) -> Self {
        let sums = &group.sums;
        Self {
            api: group.api.clone(),
            name: group.name.clone(),
            gpu: Figures(sums.gpu.figures(gpu)),
            call: Figures(sums.calls.figures(call)),
            cpu: sums.board_cpu_ns,
            to: sums.bytes_to_board,
            from: sums.bytes_from_board,
        }
    }
}

fn table<R: Read>(summary: &Summary, names: &Reader<R>) -> Table {
    let groups = summary.groups(names);
    let share = |of: fn(&Group) -> &Times| {
        let totals: Vec<u64> = groups.iter().map(|group| of(group).total_ns()).collect();
        shares(&totals).unwrap_or_else(|| vec![0; groups.len()])
    };
    let gpu = share(|group| &group.sums.gpu);
    let call = share(|group| &group.sums.calls);
    let both = gpu.into_iter().zip(call);
    let shown = groups.iter().zip(both);
    let rows = shown.map(|(group, shares)| Shown::of(group, shares));
    let rows = rows.collect();
    let all = Group {
        api: String::new(),
        name: "all".into(),
        sums: summary.all().clone(),
    };
    let whole = |times: &Times| if times.total_ns() == 0 { 0 } else { WHOLE };
    let shares = (whole(&all.sums.gpu), whole(&all.sums.calls));
    let all = Shown::of(&all, shares);
    let by = match summary.by() {
        By::Entry => "entry point",
        By::Thread => "thread",
        By::Process => "process",
        By::Queue => "queue",
        By::Kernel => "kernel or draw",
        By::Line => "source line",
    };
    Table { by, all, rows }
}

fn line<R: Read>(line: TimeLine, names: &Reader<R>) -> Line {
    let mut known: BTreeMap<SliceName, usize> = BTreeMap::new();
    let mut all = Vec::new();
    let mut number = |own: SliceName| {
        *known.entry(own).or_insert_with(|| {
            all.push(own.text(names).to_owned());
            all.len() - 1
        })
    };
    let mut drawn = |lane: Lane| {
        let longest = lane.longest.into_iter().map(|Reverse(slice)| slice);
        let slices = longest.map(|(took, from, own)| (from, took, number(own)));
        let mut slices: Vec<_> = slices.collect();
        slices.sort_unstable();
        Drawn {
            name: lane.name,
            count: lane.slices,
            busy: lane.busy_ns,
            slices,
        }
    };
    let tracks = line.lanes.into_values().map(&mut drawn).collect();
    Line {
        begin: line.begin_ns.unwrap_or(0),
        slot: line.slot_ns,
        tracks,
        left_out: line.left_out,
        names: all,
    }
}

/// Writes the page of these summaries and this time line.
///
/// # Errors
/// The writer's.
pub fn write<R: Read>(
    mut out: impl Write,
    (title, about): (&str, &str),
    summaries: &[Summary],
    time_line: TimeLine,
    names: &Reader<R>,
) -> io::Result<()> {
    let page = Page {
        title,
        about,
        tables: summaries.iter().map(|it| table(it, names)).collect(),
        line: line(time_line, names),
    };
    // Names are a guest's: none ends the element that they are in.
    let data = serde_json::to_string(&page)?.replace('<', "\\u003c");
    out.write_all(BEFORE.as_bytes())?;
    out.write_all(data.as_bytes())?;
    out.write_all(AFTER.as_bytes())?;
    out.flush()
}
