use super::*;
use crate::container::{HEADER_LEN, PREFIX_LEN, Prefix, ReadError};
use proptest::prelude::*;

fn begun() -> Record {
    Record::Begun(Begun {
        gil: "1.2.3".into(),
        simulator: "test".into(),
    })
}

fn file(blocks: &[&[Row]], end: Option<u64>) -> Vec<u8> {
    let mut bytes = FILE.header().to_vec();
    bytes.extend(plain(&begun()).unwrap());
    let mut encoder = Encoder::default();
    for block in blocks {
        bytes.extend(encoder.block(block).unwrap());
    }
    if let Some(rows) = end {
        let finished = Finished {
            rows,
            ..Finished::default()
        };
        bytes.extend(plain(&Record::Finished(finished)).unwrap());
    }
    bytes
}

fn read(bytes: &[u8]) -> (Vec<Row>, Result<bool, CallsError>) {
    let mut all = Vec::new();
    let mut reader = match Reader::new(bytes) {
        Ok(reader) => reader,
        Err(error) => return (all, Err(error)),
    };
    loop {
        match reader.rows() {
            Ok(Some(rows)) => all.extend(rows),
            Ok(None) => return (all, Ok(reader.finished().is_some())),
            Err(error) => return (all, Err(error)),
        }
    }
}

fn some(count: u64) -> Vec<Row> {
    let one = |n: u64| Row {
        seq: n,
        called_ns: 1000 * n,
        returned_ns: 1000 * n + 7,
        queue: n.is_multiple_of(3).then_some(n),
        operation: n.is_multiple_of(2).then_some(Operation {
            device: 1,
            engine: 1 + (n % 9) as u8,
            interval: Some(Interval {
                start_ns: 1000 * n,
                end_ns: 1000 * n + 500,
            }),
        }),
        ..Row::of(Class::Enqueue, Op::new(1, 1 + (n % 5) as u16))
    };
    (0..count).map(one).collect()
}

fn class() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Costs),
        Just(Kind::Call(Class::Query)),
        Just(Kind::Call(Class::Sync)),
        Just(Kind::Call(Class::Post)),
        Just(Kind::Call(Class::Enqueue)),
        Just(Kind::Call(Class::Wait)),
        Just(Kind::Call(Class::Poll)),
        Just(Kind::Call(Class::Look)),
    ]
}

fn any_row() -> impl Strategy<Value = Row> {
    let operation = proptest::option::of((
        any::<u64>(),
        any::<u8>(),
        proptest::option::of(any::<[u64; 2]>()),
    ));
    let numbers = any::<[u64; 9]>();
    let parts = any::<[u32; 4]>();
    let queue = any::<Option<u64>>();
    (class(), parts, numbers, queue, operation).prop_map(|(kind, parts, numbers, queue, it)| {
        let [process, thread, op, label] = parts;
        let operation = it.map(|(device, engine, interval)| Operation {
            device,
            engine,
            interval: interval.map(|[start_ns, end_ns]| Interval { start_ns, end_ns }),
        });
        Row {
            kind,
            process,
            thread,
            seq: numbers[0],
            op: Op(op),
            queue,
            called_ns: numbers[1],
            returned_ns: numbers[2],
            operation,
            board_ns: numbers[3],
            board_cpu_ns: numbers[4],
            bytes_to_board: numbers[5],
            bytes_from_board: numbers[6],
            calls: numbers[7],
            label,
            site: numbers[8],
        }
    })
}

#[test]
fn names_are_in_the_file() {
    let rows = some(10);
    let bytes = file(&[&rows, &rows], Some(20));
    let mut reader = Reader::new(&bytes[..]).unwrap();
    assert_eq!(reader.begun().unwrap().simulator, "test");
    while reader.rows().unwrap().is_some() {}
    assert_eq!(reader.name(Op::new(1, 1).0), ("OpenCL", "clGetPlatformIDs"));
    assert_eq!(reader.name(9), ("unknown", "unknown"));
    assert_eq!(reader.engine(1, 1), "compute");
    assert_eq!(reader.engine(1, 9), "processor 1");
}

#[test]
fn labels_mappings_and_files_are_in_the_file() {
    let mut bytes = file(&[], None);
    let labels = vec![(1, "square".into()), (LABELS_MAX as u32 + 9, "last".into())];
    bytes.extend(plain(&Record::Labels(Labels { labels })).unwrap());
    let modules = vec![Module {
        from: 0x1000,
        to: 0x2000,
        offset: 0x400,
        path: "/program".into(),
    }];
    let process = 7;
    bytes.extend(plain(&Record::Mapped(Mapped { process, modules })).unwrap());
    bytes.extend(Encoder::default().block(&some(3)).unwrap());
    bytes.extend(
        plain(&Record::Finished(Finished {
            rows: 3,
            ..Finished::default()
        }))
        .unwrap(),
    );
    let files = vec![("/program".into(), "/home/program".into())];
    bytes.extend(plain(&Record::Files(Files { files })).unwrap());
    let mut reader = Reader::new(&bytes[..]).unwrap();
    while reader.rows().unwrap().is_some() {}
    assert_eq!((reader.label(1), reader.label(2)), (Some("square"), None));
    let place = reader.place(7, 0x1004).unwrap();
    assert_eq!((place.path, place.offset), ("/program", 0x404));
    assert_eq!(reader.file("/program"), Some("/home/program"));
    assert!(reader.finished().is_some());
}

#[test]
fn a_whole_file_is_known_by_its_end() {
    let bytes = file(&[&some(20)], Some(20));
    assert!(is_whole(&bytes[bytes.len() - END_LEN..]) && is_whole(&bytes));
    assert!(!is_whole(&bytes[..bytes.len() - 1]) && !is_whole(&[]));
    assert!(!is_whole(&file(&[&some(20)], None)));
}

#[test]
fn a_file_that_is_cut_anywhere_reads_up_to_there() {
    let rows = some(40);
    let bytes = file(&[&rows[..20], &rows[20..]], Some(40));
    for len in 0..bytes.len() {
        let (found, end) = read(&bytes[..len]);
        assert!([0, 20, 40].contains(&found.len()), "{len}");
        assert_eq!(found[..], rows[..found.len()], "{len}");
        assert!(!matches!(end, Ok(true)), "{len}");
    }
    assert_eq!(read(&bytes).0, rows);
}

#[test]
fn every_flipped_bit_is_noticed() {
    let rows = some(3);
    let bytes = file(&[&rows], Some(3));
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let (found, end) = read(&flipped);
        assert!(found.is_empty() || found == rows, "{bit}");
        assert!(end.is_err(), "{bit}");
    }
}

#[test]
fn a_length_is_not_believed() {
    let mut bytes = file(&[], None);
    let at = bytes.len();
    bytes.extend(Encoder::default().block(&some(3)).unwrap());
    for stored in [100_000_000_000, u64::MAX, (1 << 36) - 1, BLOCK_MAX + 1] {
        let prefix: [u8; PREFIX_LEN] = bytes[at..at + PREFIX_LEN].try_into().unwrap();
        let mut prefix = Prefix::decode(&prefix).unwrap();
        (prefix.stored_len, prefix.payload_len) = (stored, stored);
        let mut claimed = bytes.clone();
        claimed[at..at + PREFIX_LEN].copy_from_slice(&prefix.encode());
        let (found, end) = read(&claimed);
        assert!(found.is_empty() && end.is_err(), "{stored}");
    }
}

#[test]
fn a_block_that_decompresses_to_more_than_a_block_has_is_refused() {
    let payload = vec![0; BLOCK_MAX as usize + 1];
    let block = Record::Block(Block {
        rows: 1,
        names: Vec::new(),
        engines: Vec::new(),
        columns: vec![Column {
            number: 1,
            bytes: payload.len() as u32,
        }],
    });
    let payload = [&payload[..]];
    let pieces = container::pieces(&block, &payload, Compression::Lz4);
    let mut bytes = file(&[], None);
    bytes.extend(pieces.unwrap().concat());
    assert!(matches!(
        read(&bytes).1,
        Err(CallsError::Read(ReadError::Io(_)))
    ));
}

#[test]
fn columns_of_a_later_gil_are_skipped_and_short_ones_refused() {
    let rows = some(3);
    let mut encoded = columns::encode(&rows).unwrap();
    encoded.push((999, b"later".to_vec()));
    let of = |encoded: &[(u16, Vec<u8>)]| read(&block_of(3, encoded));
    assert_eq!(of(&encoded).0, rows);
    encoded[2] = columns::encode(&rows[..2]).unwrap().swap_remove(2);
    assert!(matches!(of(&encoded).1, Err(CallsError::Rows(3))));
}

#[test]
fn another_file_or_version_is_named() {
    let says = |bytes: &[u8], words: &str| {
        let error = read(bytes).1.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    says(b"", "ends within its header");
    says(&crate::recording::FILE.header(), "no gil log of calls");
    let mut other = FILE.header();
    other[12] = 9;
    says(&other, "layout version 9, this gil reads 1");
    let mut wrong = FILE.header().to_vec();
    wrong.extend(Encoder::default().block(&some(1)).unwrap());
    says(&wrong, "does not begin");
    says(
        &file(&[&some(2)], Some(3)),
        "after 2 rows and says that there are 3",
    );
    assert_eq!(FILE.header().len(), HEADER_LEN);
}

/// Reading what was written once stays; a later encoder may compress better.
#[test]
fn the_file_of_before_is_read() {
    let golden: &[u8] = include_bytes!("../../tests/golden/calls");
    let (rows, end) = read(golden);
    assert_eq!(rows, some(100));
    assert!(matches!(end, Ok(true)));
}

/// A block of any columns, with a checksum that is right.
fn block_of(rows: u32, all: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let payload: Vec<&[u8]> = all.iter().map(|(_, bytes)| &bytes[..]).collect();
    let columns = all.iter().map(|(number, bytes)| Column {
        number: *number,
        bytes: bytes.len() as u32,
    });
    let block = Record::Block(Block {
        rows,
        names: Vec::new(),
        engines: Vec::new(),
        columns: columns.collect(),
    });
    let pieces = container::pieces(&block, &payload, Compression::Lz4);
    [file(&[], None), pieces.unwrap().concat()].concat()
}

proptest! {
    #[test]
    fn any_columns_read_or_fail(
        rows in prop_oneof![0..4u32, any::<u32>()],
        all in proptest::collection::vec(
            (0..25u16, proptest::collection::vec(any::<u8>(), 0..20)),
            0..25,
        ),
    ) {
        let (found, end) = read(&block_of(rows, &all));
        prop_assert!(found.len() as u32 == rows || end.is_err());
    }

    #[test]
    fn what_was_written_is_read(
        first in proptest::collection::vec(any_row(), 0..50),
        second in proptest::collection::vec(any_row(), 0..50),
    ) {
        let all = [&first[..], &second[..]].concat();
        let bytes = file(&[&first, &second], Some(all.len() as u64));
        let (found, end) = read(&bytes);
        prop_assert_eq!(found, all);
        prop_assert!(matches!(end, Ok(true)));
    }

    #[test]
    fn any_bytes_read_or_fail(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut whole = file(&[], None);
        whole.extend(bytes);
        let _ = read(&whole);
    }
}
