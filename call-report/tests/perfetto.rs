//! The time line, decoded with Perfetto's published schema.

mod support;

use gil_call_report::perfetto::Trace;
use gil_call_report::tabular::Rows;
use gil_files::calls::Row;
use gil_wire::Op;
use perfetto_protos::trace::Trace as Published;
use perfetto_protos::track_event::track_event::Type;
use proptest::prelude::*;
use protobuf::Message;
use std::collections::BTreeMap;
use support::{any_rows, enqueue, log, pass};

/// A slice: its track's name, its own, begin and end, and how many are around it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Slice {
    track: String,
    name: String,
    begin_ns: u64,
    end_ns: u64,
    depth: usize,
}

fn trace_of(bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut trace, mut csv) = (Vec::new(), Vec::new());
    let mut writer = Trace::new(&mut trace).unwrap();
    let mut rows = Rows::new(&mut csv).unwrap();
    pass(bytes, &mut [&mut writer, &mut rows]);
    writer.finish().unwrap();
    rows.finish().unwrap();
    (trace, csv)
}

/// What the viewer shows of a trace: slices begin and end like brackets on each track, and
/// in the order of time.
fn shown(trace: &[u8]) -> Vec<Slice> {
    let trace = Published::parse_from_bytes(trace).unwrap();
    assert!(
        trace
            .special_fields
            .unknown_fields()
            .iter()
            .next()
            .is_none()
    );
    let mut names = BTreeMap::new();
    let mut tracks: BTreeMap<u64, String> = BTreeMap::new();
    let mut open: BTreeMap<u64, Vec<(String, u64)>> = BTreeMap::new();
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    let mut slices = Vec::new();
    for (at, packet) in trace.packet.iter().enumerate() {
        let unknown = packet.special_fields.unknown_fields().iter().next();
        assert!(unknown.is_none(), "{packet:?}");
        // The first one clears what is interned, the others need it.
        let flags = if at == 0 { 1 } else { 2 };
        assert_eq!(packet.sequence_flags(), flags);
        assert_eq!(packet.trusted_packet_sequence_id(), 1);
        for name in &packet.interned_data.event_names {
            names.insert(name.iid(), name.name().to_owned());
        }
        if packet.has_track_descriptor() {
            let track = packet.track_descriptor();
            let parent = tracks.get(&track.parent_uuid()).cloned();
            assert_eq!(parent.is_some(), track.has_parent_uuid());
            let own = match (&track.thread.0, &track.process.0) {
                (Some(thread), _) => thread.thread_name().to_owned(),
                (_, Some(process)) => process.process_name().to_owned(),
                _ => track.name().to_owned(),
            };
            let name = parent.map_or(own.clone(), |parent| format!("{parent}/{own}"));
            assert!(tracks.insert(track.uuid(), name).is_none());
        }
        if !packet.has_track_event() {
            continue;
        }
        let event = packet.track_event();
        let (uuid, at_ns) = (event.track_uuid(), packet.timestamp());
        let before = last.insert(uuid, at_ns).unwrap_or(0);
        assert!(before <= at_ns, "{before} before {at_ns}");
        let stack = open.entry(uuid).or_default();
        let name = || names[&event.name_iid()].clone();
        let mut show = |name, begin_ns, depth| {
            slices.push(Slice {
                track: tracks[&uuid].clone(),
                name,
                begin_ns,
                end_ns: at_ns,
                depth,
            });
        };
        match event.type_() {
            Type::TYPE_SLICE_BEGIN => stack.push((name(), at_ns)),
            Type::TYPE_INSTANT => show(name(), at_ns, stack.len()),
            Type::TYPE_SLICE_END => {
                let (name, begin_ns) = stack.pop().expect("a begin");
                show(name, begin_ns, stack.len());
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "all end");
    slices.sort();
    slices
}

/// The name of a track without the number of its lane.
fn without_lane(track: &str) -> String {
    track.split(" (").next().unwrap_or_default().to_owned()
}

/// What the CSV says should be shown: track, name, begin, end.
fn wanted(csv: &[u8]) -> Vec<(String, String, u64, u64)> {
    let mut reader = csv::Reader::from_reader(csv);
    let header = reader.headers().unwrap().clone();
    let mut all = Vec::new();
    for record in reader.records().map(Result::unwrap) {
        let cell = |name: &str| {
            let at = header.iter().position(|own| own == name).unwrap();
            &record[at]
        };
        let number = |name: &str| cell(name).parse::<u64>();
        if cell("class") == "costs" {
            continue;
        }
        let process = match cell("process") {
            "0" => "guest process kernel".into(),
            process => format!("guest process {process}"),
        };
        let mut add = |track: String, begin: &str, end: &str| {
            if let (Ok(begin_ns), Ok(end_ns)) = (number(begin), number(end)) {
                all.push((track, cell("call").to_owned(), begin_ns, end_ns));
            }
        };
        let thread = format!("{process}/thread {}", cell("thread"));
        add(thread, "called_ns", "returned_ns");
        if !cell("queue").is_empty() {
            let queue = format!("{process}/queue {}", cell("queue"));
            add(queue, "start_ns", "end_ns");
        }
        if !["", "none"].contains(&cell("engine")) {
            let engine = format!("device {}: {}", cell("device"), cell("engine"));
            add(engine, "start_ns", "end_ns");
        }
    }
    all.sort();
    all
}

fn compare(rows: &[Row]) {
    let bytes = log(rows);
    let (trace, csv) = trace_of(&bytes);
    let slices = shown(&trace);
    let found = slices.iter().map(|slice| {
        let track = without_lane(&slice.track);
        (track, slice.name.clone(), slice.begin_ns, slice.end_ns)
    });
    let mut found: Vec<_> = found.collect();
    found.sort();
    assert_eq!(found, wanted(&csv));
    let is_thread = |slice: &&Slice| slice.track.contains("/thread ");
    let others = slices.iter().filter(|slice| !is_thread(slice));
    let mut nested = others.filter(|slice| slice.depth > 0 && slice.begin_ns < slice.end_ns);
    assert_eq!(nested.next(), None, "operations are side by side");
}

#[test]
fn tracks_have_names_and_slices_nest() {
    let mut inner = enqueue(120, 1_500, 1_700);
    inner.returned_ns = 150;
    inner.op = Op::new(1, 2);
    let mut outer = enqueue(100, 1_000, 1_600);
    outer.returned_ns = 200;
    let bytes = log(&[inner, outer]);
    let slices = shown(&trace_of(&bytes).0);
    let of = |track: &str| {
        let own = slices.iter().filter(|slice| slice.track == track);
        let own = own.map(|it| (&it.name[..], it.begin_ns, it.end_ns, it.depth));
        own.collect::<Vec<_>>()
    };
    let (one, two) = ("clGetPlatformIDs", "clGetPlatformInfo");
    let thread = of("guest process 40/thread 41");
    assert_eq!(thread, [(one, 100, 200, 0), (two, 120, 150, 1)]);
    assert_eq!(of("guest process 40/queue 5"), [(one, 1_000, 1_600, 0)]);
    assert_eq!(of("guest process 40/queue 5 (2)"), [(two, 1_500, 1_700, 0)]);
    assert_eq!(of("device 1: compute"), [(one, 1_000, 1_600, 0)]);
}

#[test]
fn what_is_shown_is_the_csvs() {
    let one_after_the_other = |n: u64| enqueue(100 * n, 100 * n + 20, 100 * n + 110);
    compare(&(0..500).map(one_after_the_other).collect::<Vec<_>>());
    compare(&[]);
}

proptest! {
    #[test]
    fn what_is_shown_of_any_rows_is_the_csvs(rows in any_rows()) {
        compare(&rows);
    }
}
