//! Two recordings: what differs, and merging them.

mod common;

use common::{Folder, Made, called, done, ended, post, region, report, small};
use gil_files::container::Compression;
use gil_files::recording::{Called, Record, SessionOpened};
use gil_trace::diff::Compared;
use gil_trace::merge::{Merged, merge, merge_into};
use gil_trace::summary::Summary;
use gil_trace::{Trace, TraceError};
use gil_wire::description::Described;
use gil_wire::message::Direction;

fn compared(folder: &Folder, one: &[u8], other: &[u8]) -> Result<Compared, TraceError> {
    let [one, other] = [("a", one), ("b", other)].map(|(name, bytes)| folder.file(name, bytes));
    Compared::of(&mut Trace::open(&one)?, &mut Trace::open(&other)?)
}

/// Whether they are equal, and what is said.
fn said(one: &[u8], other: &[u8]) -> (bool, String) {
    let compared = compared(&Folder::new(), one, other).unwrap();
    (compared.are_equal(), compared.text())
}

/// A session with a write of 100 kB and a read whose output is `read`.
fn run(change: impl Fn(&mut Called<'_>, &mut Vec<u8>), read: &[u8; 4]) -> Vec<u8> {
    let mut made = Made::new(Compression::Lz4);
    made.open(1);
    made.call(called(1, 1, "clFlush"), &[]);
    let mut write = called(1, 2, "clEnqueueWriteBuffer");
    let mut bytes = vec![b'w'; 100_000];
    write.call.regions = vec![region(100_000, Direction::In)];
    change(&mut write, &mut bytes);
    made.call(write, &[&bytes]);
    let mut call = called(1, 3, "clEnqueueReadBuffer");
    call.call.regions = vec![region(4, Direction::Out)];
    call.done.as_mut().unwrap().out = vec![4];
    made.call(call, &[read]);
    made.close(1);
    made.bytes
}

fn plain() -> Vec<u8> {
    run(|_, _| {}, b"back")
}

#[test]
fn a_recording_equals_itself_however_it_is_stored() {
    let (equal, text) = said(
        &small(Compression::None).bytes,
        &small(Compression::Lz4).bytes,
    );
    assert!(equal, "{text}");
    assert!(text.contains("the same run: 2 sessions, 4 calls"), "{text}");
    assert!(
        text.contains("the board's answers to these calls are the same"),
        "{text}"
    );
}

#[test]
fn threads_numbers_and_times_of_the_same_run_may_differ() {
    let other = run(
        |call, _| {
            (call.call.thread, call.call.seq) = (99, 98);
            call.done = Some(done(6_000));
        },
        b"back",
    );
    let (equal, text) = said(&plain(), &other);
    assert!(equal, "{text}");
    let row = text
        .lines()
        .find(|line| line.trim_start().starts_with("clEnqueueWriteBuffer"));
    let row: Vec<_> = row.unwrap().split_whitespace().collect();
    assert_eq!(row[1..7], ["1", "2.000", "us", "6.000", "us", "3.000"]);
}

#[test]
fn the_first_differing_byte_of_a_request_is_named() {
    let place = "session 1: call 2 (clEnqueueWriteBuffer, thread 7, sequence number 2) differs: ";
    type Change = fn(&mut Called<'_>, &mut Vec<u8>);
    let cases: [(Change, &str); 3] = [
        (
            |_, bytes| bytes[70_001] = b'x',
            "byte 70001 of region 0 is 0x77 in a and 0x78 in b",
        ),
        (
            |call, _| call.call.args = b"arms",
            "byte 2 of its arguments is 0x67 in a and 0x6d in b",
        ),
        (
            |call, _| call.call.op = common::op("clFinish"),
            "it is clEnqueueWriteBuffer in a and clFinish in b",
        ),
    ];
    for (change, clause) in cases {
        let (equal, text) = said(&plain(), &run(change, b"back"));
        assert!(!equal);
        let wanted = format!(
            "{place}{clause}\nthey are of different runs, which have 1 call in common before they differ"
        );
        assert!(text.starts_with(&wanted), "{text}");
    }
}

#[test]
fn a_shorter_run_is_another_one() {
    let mut shorter = Made::new(Compression::None);
    shorter.open(1).call(called(1, 1, "clFlush"), &[]).close(1);
    let (equal, text) = said(&plain(), &shorter.bytes);
    assert!(!equal);
    let sentence = "session 1: call 2 (clEnqueueWriteBuffer, thread 7, sequence number 2) is only in a: in b the session ends before it";
    assert!(text.contains(sentence), "{text}");
    let (equal, text) = said(&plain(), &[&plain()[..16]].concat());
    assert!(
        !equal && text.contains("a has 1 session, b has 0 sessions"),
        "{text}"
    );
}

#[test]
fn other_answers_to_the_same_requests_are_named() {
    let (equal, text) = said(&plain(), &run(|_, _| {}, b"bark"));
    assert!(!equal);
    assert!(text.contains("the same run: 1 session, 3 calls"), "{text}");
    let sentence = "session 1: answers in a and b differ: call 3 (clEnqueueReadBuffer, thread 7, sequence number 3): byte 2 of output 0 is 0x63 and 0x72";
    assert!(text.contains(sentence), "{text}");
    assert!(text.contains("1 answer of the board differs"), "{text}");
}

/// An end that only one has is said where both make its call, and not beside a call that differs.
#[test]
fn ends_that_only_one_has_are_counted_where_both_make_the_call() {
    let run = |name: &str, event: u64, has_end: bool| {
        let mut made = Made::new(Compression::None);
        made.open(1);
        let mut call = called(1, 1, name);
        call.call.event = Some(event);
        if has_end {
            call.done.as_mut().unwrap().reports = vec![report(event, 5)];
        }
        made.call(call, &[]);
        made.close(1);
        made.bytes
    };
    let sentence = "only one of them has the end of 1 operation";
    let read = "clEnqueueReadBuffer";
    let (_, text) = said(&run(read, 6, true), &run(read, 6, false));
    assert!(text.contains(sentence), "{text}");
    let other = run("clEnqueueWriteBuffer", 7, true);
    let (equal, text) = said(&run(read, 6, true), &other);
    assert!(!equal);
    assert!(!text.contains("only one of them has"), "{text}");
}

/// An operation's output comes with its call's answer, or later.
#[test]
fn operations_are_compared_whenever_they_ended() {
    let read = |is_late: bool, bytes: &[u8; 4]| {
        let mut made = Made::new(Compression::None);
        made.open(1);
        let mut call = called(1, 1, "clEnqueueReadBuffer");
        call.call.event = Some(6);
        call.call.regions = vec![region(4, Direction::Out)];
        let done = call.done.as_mut().unwrap();
        if !is_late {
            (done.out, done.reports) = (vec![4], vec![report(6, 5)]);
        }
        let payload: &[&[u8]] = if is_late { &[] } else { &[bytes] };
        made.call(call, payload);
        made.call(post(1, 2, "clFlush"), &[]);
        if is_late {
            let mut late = report(6, 9);
            late.out = vec![4];
            made.add(&ended(1, late), &[bytes]);
        }
        made.close(1);
        made.bytes
    };
    let (equal, text) = said(&read(false, b"back"), &read(true, b"back"));
    assert!(equal, "{text}");
    let (equal, text) = said(&read(false, b"back"), &read(true, b"bask"));
    assert!(!equal);
    let sentence = "the operation of event 6: byte 2 of output 0 is 0x63 and 0x73";
    assert!(text.contains(sentence), "{text}");
}

#[test]
fn what_is_cut_is_not_compared_or_merged() {
    let folder = Folder::new();
    let whole = plain();
    for len in 0..whole.len() {
        let Err(error) = compared(&folder, &whole[..len], &whole) else {
            continue;
        };
        let text = error.to_string();
        assert!(text.contains("again") || len == 0, "{text}");
        let Ok(cut) = Trace::open(&folder.path("a")) else {
            continue;
        };
        let traces = &mut [Trace::open(&folder.path("b")).unwrap(), cut];
        let mut written = Vec::new();
        assert_eq!(merge(traces, &mut written).unwrap_err().to_string(), text);
        assert!(written.is_empty());
    }
}

fn merged(folder: &Folder, files: &[&[u8]]) -> Result<(Merged, Vec<u8>), TraceError> {
    let open =
        |(index, bytes): (usize, &&[u8])| Trace::open(&folder.file(&format!("in{index}"), bytes));
    let traces: Result<Vec<_>, _> = files.iter().enumerate().map(open).collect();
    let mut written = Vec::new();
    let merged = merge(&mut traces?, &mut written)?;
    Ok((merged, written))
}

#[test]
fn sessions_of_the_second_follow_those_of_the_first() {
    let folder = Folder::new();
    let (small, plain) = (small(Compression::Lz4).bytes, plain());
    let (merged, bytes) = merged(&folder, &[&small, &plain, &small]).unwrap();
    let records = 11 + 5 + 11;
    assert_eq!(
        merged,
        Merged {
            sessions: 5,
            records
        }
    );
    let summary = Summary::of(&mut folder.trace(&bytes).unwrap()).unwrap();
    let processes: Vec<_> = summary.sessions.iter().map(|it| it.process).collect();
    assert_eq!(processes, [101, 102, 101, 101, 102]);
    assert_eq!(summary.sessions[2].totals.bytes_to_board, 100_012);
    assert_eq!(summary.rest, None);
}

#[test]
fn a_merged_recording_is_what_two_runs_are() {
    let folder = Folder::new();
    let (one, other) = (plain(), run(|_, bytes| bytes[9] = 0, b"bark"));
    let (_, bytes) = merged(&folder, &[&one, &other]).unwrap();
    let (_, same) = merged(&folder, &[&one, &one]).unwrap();
    let (equal, text) = said(&bytes, &same);
    assert!(!equal);
    let first =
        "session 2: call 2 (clEnqueueWriteBuffer, thread 7, sequence number 2) differs: byte 9";
    assert!(text.starts_with(first), "{text}");
}

/// Each takes long enough that others begin meanwhile.
#[test]
fn of_merges_at_once_onto_a_new_file_one_writes_it() {
    let folder = Folder::new();
    let file = |of: &[u8], count: usize| {
        let (_, bytes) = merged(&folder, &vec![of; count]).unwrap();
        folder.file(&format!("of{count}"), &bytes)
    };
    let long = file(&small(Compression::None).bytes, 20);
    let others = [1, 2, 3, 4].map(|count| file(&plain(), count));
    let out = folder.file("out", b"");
    for _ in 0..30 {
        std::fs::remove_file(&out).unwrap();
        let into_one = |other| {
            let mut traces = [other, &long].map(|path| Trace::open(path).unwrap());
            merge_into(&mut traces, &out)
        };
        let ended = std::thread::scope(|scope| {
            let threads = others.each_ref();
            let threads = threads.map(|other| scope.spawn(move || into_one(other)));
            threads.map(|thread| thread.join().unwrap())
        });
        let trace = Summary::of(&mut Trace::open(&out).unwrap()).unwrap();
        assert_eq!(trace.rest, None);
        let sessions = trace.sessions.len() as u64;
        let is_it = |merged: &Merged| merged.sessions == sessions;
        assert!(ended.iter().flatten().any(is_it), "{ended:?}");
        for error in ended.into_iter().filter_map(Result::err) {
            assert!(matches!(error, TraceError::Taken { .. }), "{error}");
        }
    }
}

#[test]
fn recordings_of_two_releases_are_not_merged() {
    let folder = Folder::new();
    let mut older = Made::new(Compression::None);
    let opened = SessionOpened {
        session: 1,
        process: 1,
        pointer_bits: 64,
        apis: vec![Described {
            number: 1,
            hash: [1; 32],
        }],
    };
    older.add(&Record::SessionOpened(opened), &[]);
    let error = merged(&folder, &[&plain(), &older.bytes])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("in1 has another description of opencl than session 1 of"),
        "{error}"
    );
    assert!(error.contains("with the same gil"), "{error}");
}
