use super::*;
use crate::container::{Compression, pieces, read, read_all};
use gil_wire::Op;
use gil_wire::message::{Direction, RegionDesc};

fn call(contents: Option<u32>) -> Record<'static> {
    let region = |len, dir| RegionDesc { len, dir };
    Record::Call(Made {
        call: Call {
            seq: 4,
            op: Op::new(1, 15),
            thread: 2,
            answer: true,
            finish: true,
            event: None,
            args: b"arguments",
            regions: vec![region(3, Direction::In), region(9, Direction::Out)],
        },
        contents,
        found: Some(300),
        result: Some(&[0]),
    })
}

fn session() -> Record<'static> {
    Record::Session(Session {
        number: 1,
        process: 42,
        pointer_bits: 64,
        apis: Some(vec![Described {
            number: 1,
            hash: [7; 32],
        }]),
        executed: 5,
        executed_above: vec![7],
        released: vec![6],
        notices: true,
        awaited: vec![Awaited {
            event: 3,
            seq: 4,
            op: Op::new(1, 2),
            queue: Some(9),
            observable: true,
        }],
        failures: vec![(1, 2, -3)],
        printed: 2,
    })
}

/// One record of each kind, and its payload.
fn records() -> Vec<(Record<'static>, &'static [u8])> {
    let device = |text: &str| DeviceInfo {
        api: format!("{text} api"),
        platform: format!("{text} platform"),
        name: format!("{text} name"),
        version: format!("{text} version"),
    };
    let devices = vec![device("a"), device("b")];
    let ran = Ran {
        event: 3,
        queued_ns: 1000,
        submitted_ns: 2000,
        start_ns: 3000,
        end_ns: 4000,
        ending: Ending::Failed(-14),
    };
    let past = PastEvent {
        api: 1,
        event: 3,
        queue: 4,
        context: 0,
        command: 0x11f3,
        ending: Ending::Failed(-14),
    };
    vec![
        (Record::Begin(Begin { devices }), b""),
        (session(), b"hi"),
        (call(None), b"abc"),
        (
            Record::Contents(Contents {
                api: 1,
                object: 5,
                len: 5,
            }),
            b"bytes",
        ),
        (Record::Past(past), b""),
        (Record::Ran(ran), b""),
        (
            Record::Gpu(Gpu {
                gpu: "mali-t628".into(),
                len: 5,
            }),
            b"words",
        ),
        (Record::End(End { records: 7 }), b""),
    ]
}

fn file() -> Vec<u8> {
    let mut file = FILE.header().to_vec();
    for (record, payload) in records() {
        file.extend(
            pieces(&record, &[payload], Compression::None)
                .unwrap()
                .concat(),
        );
    }
    file
}

#[test]
fn records_come_back_with_their_payload() {
    let bytes = file();
    let (header, mut rest) = bytes.split_first_chunk().unwrap();
    assert_eq!(FILE.check_header(header), Ok(()));
    let all = read_all(&mut rest).unwrap();
    assert_eq!(all.len(), records().len());
    for ((stored, payload), wanted) in all.iter().zip(records()) {
        assert_eq!(
            (record(stored), &payload[..]),
            (Ok(Some(wanted.0)), wanted.1)
        );
    }
}

/// What was written once is read for ever, and written the same.
#[test]
fn the_file_is_the_one_that_is_kept() {
    let golden: &[u8] = include_bytes!("../../tests/golden/checkpoint");
    assert_eq!(
        file(),
        golden,
        "a later kind of record gets a number of its own"
    );
}

#[test]
fn an_objects_first_contents_are_left_out() {
    assert!(pieces(&call(Some(0)), &[], Compression::None).is_ok());
    assert!(pieces(&call(None), &[b"ab"], Compression::None).is_err());
}

#[test]
fn damage_is_noticed() {
    let whole = pieces(&call(None), &[b"abc"], Compression::None)
        .unwrap()
        .concat();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        assert!(
            read(&mut &damaged[..], &mut Vec::new()).is_err(),
            "byte {at}"
        );
    }
}

/// Writes the file that the test compares with: only where a kind is new.
#[test]
#[ignore = "it makes what another test compares with"]
fn make_golden() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    std::fs::write(folder.join("checkpoint"), file()).unwrap();
}
