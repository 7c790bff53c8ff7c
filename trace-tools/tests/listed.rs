//! What is said of a whole recording.

mod common;

use common::{Folder, Made, called, small};
use gil_files::container::Compression;
use gil_files::recording::{Record, SessionOpened};
use gil_trace::Trace;
use gil_trace::show::{Shown, show};
use gil_trace::stats::Stats;
use gil_trace::summary::Summary;
use gil_wire::description::Described;
use std::collections::BTreeSet;

fn all() -> Shown {
    Shown {
        sessions: BTreeSet::new(),
        calls: BTreeSet::new(),
        records: 1..=u64::MAX,
        bytes: None,
    }
}

fn shown(trace: &mut Trace, shown: &Shown) -> String {
    let mut text = Vec::new();
    show(trace, shown, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Each line's words, so that columns may become wider.
fn words(text: &str) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(words).collect()
}

#[test]
fn sessions_and_devices_are_listed() {
    let folder = Folder::new();
    let mut trace = folder.trace(&small(Compression::Lz4).bytes).unwrap();
    let summary = Summary::of(&mut trace).unwrap();
    let lines = words(&summary.table());
    let first = "recording of layout 7: 11 records, ";
    assert!(lines[0].starts_with(first), "{}", lines[0]);
    assert!(lines[0].ends_with("1 record compressed; its end is whole"));
    let sessions = [
        "session process pointers end calls posts operations to the board from it GPU time board's CPU",
        "1 101 64 bits closed 1 gles, 2 opencl 1 2 316 B 9 B 5.000 us 7.000 us",
        "2 102 64 bits closed - 0 0 0 B 0 B 0 ns 0 ns",
        "all 1 gles, 2 opencl 1 2 316 B 9 B 5.000 us 7.000 us",
    ];
    assert_eq!(lines[2..6], sessions);
    let device = r"session 2, opencl device 0x3: a machine's \u{1b}[2Jdevice, UUID 07070707070707070707070707070707";
    assert_eq!(lines[7], device, "a terminal obeys nothing of it");
    trace.check_whole().unwrap();
}

#[test]
fn another_description_of_an_api_is_named() {
    let folder = Folder::new();
    let mut made = Made::new(Compression::None);
    let opened = SessionOpened {
        session: 1,
        process: 1,
        pointer_bits: 32,
        apis: vec![Described {
            number: 1,
            hash: [0; 32],
        }],
    };
    made.add(&Record::SessionOpened(opened), &[]);
    let summary = Summary::of(&mut folder.trace(&made.bytes).unwrap()).unwrap();
    let text = summary.table();
    let sentence = "session 1 was recorded with another description of opencl: replay it with";
    assert!(text.contains(sentence), "{text}");
}

#[test]
fn an_entry_points_times_are_its_own() {
    let folder = Folder::new();
    let bytes = small(Compression::None).bytes;
    let stats = Stats::of(&mut folder.trace(&bytes).unwrap()).unwrap();
    let names: Vec<_> = stats.entries.iter().map(|entry| &entry.call[..]).collect();
    let sorted = [
        "clEnqueueWriteBuffer",
        "clEnqueueReadBuffer",
        "glFinish",
        "glFlush",
    ];
    assert_eq!(names, sorted, "by GPU time, then the board's CPU");
    let [write, read, finish, flush] = &stats.entries[..] else {
        panic!("{stats:?}");
    };
    assert_eq!((write.gpu.total_ns, write.bytes_from_board), (3_000, 3));
    assert_eq!((read.gpu.p95_ns, read.bytes_from_board), (Some(2_000), 5));
    assert_eq!(finish.board_cpu.total_ns, 4_000 - 700, "without the posts'");
    assert_eq!((flush.posts, flush.board_cpu.total_ns), (1, 700));
    assert_eq!(flush.board_cpu.p50_ns, None, "posts are measured together");
    let mut csv = Vec::new();
    stats.csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let line = "clEnqueueReadBuffer,opencl,enqueue,1,0,4,5,2500,2000,2000,2000,2000,2000,1,2000,2000,2000,2000,2000";
    assert_eq!(csv.lines().nth(2), Some(line));
}

#[test]
fn percentiles_are_those_of_many_calls() {
    let folder = Folder::new();
    let mut made = Made::new(Compression::None);
    made.open(1);
    for seq in 1..=1_000 {
        made.call(called(1, seq, "clFinish"), &[]);
    }
    let stats = Stats::of(&mut folder.trace(&made.bytes).unwrap()).unwrap();
    let cpu = &stats.entries[0].board_cpu;
    assert_eq!((cpu.measured, cpu.max_ns), (1_000, Some(1_000_000)));
    let near = |ns: Option<u64>, wanted: u64| ns.unwrap().abs_diff(wanted) <= wanted / 1_000;
    assert!(near(cpu.mean_ns, 500_500));
    assert!(
        near(cpu.p50_ns, 500_000) && near(cpu.p95_ns, 950_000),
        "{cpu:?}"
    );
}

#[test]
fn each_record_has_a_line() {
    let folder = Folder::new();
    let bytes = small(Compression::None).bytes;
    let text = shown(&mut folder.trace(&bytes).unwrap(), &all());
    let lines = words(&text);
    assert_eq!(lines.len(), 12, "{text}");
    let some = [
        "1 1 101 - - session opened - - - - - - - 64 bits; opencl, gles",
        "3 1 101 7 1 clEnqueueWriteBuffer enqueue 5 - 304 B 1 B 1.000 us -",
        "4 1 101 7 2 clEnqueueReadBuffer enqueue 6 - 4 B 5 B 2.000 us 2.000 us",
        "5 1 101 - - end of clEnqueueWriteBuffer - 5 - - 2 B - 3.000 us failed with -5",
        "6 1 101 7 3 glFlush post - - 4 B - - -",
        "7 1 101 - - cost of posts - - - - - 700 ns - 1 glFlush 700 ns",
        "8 1 101 7 4 glFinish sync - - 4 B 1 B 3.300 us -",
    ];
    assert_eq!([1, 3, 4, 5, 6, 7, 8].map(|at| &lines[at][..]), some);
    assert!(text.lines().all(|line| line == line.trim_end()));
}

#[test]
fn a_part_of_the_records_is_shown() {
    let folder = Folder::new();
    let bytes = small(Compression::None).bytes;
    let numbers = |wanted: &Shown| {
        let text = shown(&mut folder.trace(&bytes).unwrap(), wanted);
        let lines = words(&text);
        let first = |line: &String| line.split(' ').next().unwrap().parse().unwrap();
        lines[1..].iter().map(first).collect::<Vec<u64>>()
    };
    let with = |change: fn(&mut Shown)| {
        let mut shown = all();
        change(&mut shown);
        numbers(&shown)
    };
    assert_eq!(with(|shown| shown.records = 3..=4), [3, 4]);
    assert_eq!(with(|it| it.sessions = BTreeSet::from([2])), [2, 9, 11]);
    let of_writes = |it: &mut Shown| it.calls = BTreeSet::from(["clEnqueueWriteBuffer".into()]);
    assert_eq!(with(of_writes), [3, 5], "and the end of its operation");
    let none = Shown {
        sessions: BTreeSet::from([3]),
        ..all()
    };
    let error = show(&mut folder.trace(&bytes).unwrap(), &none, &mut Vec::new());
    assert!(error.unwrap_err().to_string().contains("has no session 3"));
}

#[test]
fn bytes_are_dumped_up_to_a_bound() {
    let folder = Folder::new();
    for compression in [Compression::None, Compression::Lz4] {
        let bytes = small(compression).bytes;
        let dumped = Shown {
            bytes: Some(20),
            ..all()
        };
        let text = shown(&mut folder.trace(&bytes).unwrap(), &dumped);
        let lines = words(&text);
        let at = |line: &str| lines.iter().position(|it| it == line).unwrap();
        assert_eq!(
            lines[at("arguments: 4 bytes") + 1],
            "00000000 61 72 67 73 args"
        );
        let region = at("region 0 in: 300 bytes, the first 20");
        assert_eq!(lines[region + 2], "00000010 77 77 77 77 wwww");
        assert_eq!(
            lines[at("region 0 out: 4 bytes") + 1],
            "00000000 62 61 63 6b back"
        );
        assert_eq!(lines[at("event 5, text: 2 bytes") + 1], "00000000 68 69 hi");
    }
}
