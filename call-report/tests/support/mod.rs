//! Logs of calls that tests make up.

#![allow(dead_code)] // each test uses some

use gil_call_report::log::{Extent, Log, Sink};
use gil_files::calls::{
    Begun, Encoder, FILE, Finished, Interval, Kind, Labels, Mapped, Module, Operation, Record, Row,
    plain,
};
use gil_wire::Op;
use gil_wire::envelope::Class;
use proptest::prelude::*;
use std::path::Path;

/// What a log of so many rows begins and ends with.
pub fn ends(rows: u64) -> (Vec<u8>, Vec<u8>) {
    let begun = Record::Begun(Begun {
        gil: "1.2.3".into(),
        simulator: "test".into(),
    });
    let finished = Record::Finished(Finished {
        rows,
        started_ns: 1,
        program_ns: 5_000,
    });
    let first = [&FILE.header()[..], &plain(&begun).unwrap()].concat();
    (first, plain(&finished).unwrap())
}

/// A log's bytes.
pub fn log(rows: &[Row]) -> Vec<u8> {
    let (mut bytes, last) = ends(rows.len() as u64);
    let mut encoder = Encoder::default();
    for block in rows.chunks(64) {
        bytes.extend(encoder.block(block).unwrap());
    }
    bytes.extend(last);
    bytes
}

/// A log of these rows, which name these labels and files of process 40.
pub fn named_log(rows: &[Row], labels: &[&str], modules: Vec<Module>) -> Vec<u8> {
    let (mut bytes, last) = ends(rows.len() as u64);
    let labels = (1..).zip(labels).map(|(n, text)| (n, (*text).to_owned()));
    let labels = labels.collect();
    let process = 40;
    for record in [
        Record::Labels(Labels { labels }),
        Record::Mapped(Mapped { process, modules }),
    ] {
        bytes.extend(plain(&record).unwrap());
    }
    bytes.extend(Encoder::default().block(rows).unwrap());
    bytes.extend(last);
    bytes
}

/// Passes a log to these; it is whole.
pub fn pass<'b>(bytes: &'b [u8], sinks: &mut [&mut dyn Sink<&'b [u8]>]) -> Log<&'b [u8]> {
    let mut log = Log::open(Path::new("test"), bytes).unwrap();
    assert_eq!(log.pass(sinks).unwrap(), Extent::Whole);
    log
}

/// A call of an OpenCL entry point with an operation.
pub fn enqueue(called_ns: u64, start_ns: u64, end_ns: u64) -> Row {
    Row {
        process: 40,
        thread: 41,
        queue: Some(5),
        called_ns,
        returned_ns: called_ns + 10,
        operation: Some(Operation {
            device: 1,
            engine: 1,
            interval: Some(Interval { start_ns, end_ns }),
        }),
        ..Row::of(Class::Enqueue, Op::new(1, 1))
    }
}

/// Any row of a few threads, queues and engines.
pub fn any_row() -> impl Strategy<Value = Row> {
    let places = (0..3u32, 0..3u32, proptest::option::of(0..3u64), 1..30u16);
    let call = (0..10_000u64, 0..3_000u64);
    let operation = (0..2u64, 0..10u8, 0..10_000u64, 0..3_000u64);
    let operation = proptest::option::of(operation);
    let numbers = any::<[u16; 4]>();
    (places, call, operation, numbers, 0..10u8).prop_map(|(places, call, it, numbers, kind)| {
        let (process, thread, queue, entry) = places;
        let [board, cpu, to, from] = numbers.map(u64::from);
        let operation = it.map(|(device, engine, start_ns, lasts)| Operation {
            device,
            engine,
            interval: (lasts != 7).then_some(Interval {
                start_ns,
                end_ns: start_ns + lasts,
            }),
        });
        Row {
            kind: match kind {
                0 => Kind::Costs,
                _ => Kind::Call(Class::Enqueue),
            },
            process,
            thread,
            queue,
            called_ns: call.0,
            returned_ns: call.0 + call.1,
            operation: operation.filter(|_| kind != 0),
            board_ns: board,
            board_cpu_ns: cpu,
            bytes_to_board: to,
            bytes_from_board: from,
            ..Row::of(Class::Enqueue, Op::new(1, entry))
        }
    })
}

pub fn any_rows() -> impl Strategy<Value = Vec<Row>> {
    proptest::collection::vec(any_row(), 1..150)
}
