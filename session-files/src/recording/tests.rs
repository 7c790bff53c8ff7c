use super::*;
use crate::container::{Compression, PREFIX_LEN, pieces, read_all};
use gil_wire::Op;
use gil_wire::ending::Ending;
use gil_wire::identity::PciAddress;
use gil_wire::message::{CallStatus, Direction, RegionDesc};

fn call() -> Record<'static> {
    let region = |len, dir| RegionDesc { len, dir };
    Record::Call(Called {
        session: 1,
        call: Call {
            seq: 9,
            op: Op::new(1, 3),
            thread: 77,
            answer: true,
            finish: true,
            event: Some(9),
            args: b"args",
            regions: vec![region(3, Direction::In), region(5, Direction::Out)],
        },
        done: Some(Done {
            status: CallStatus::Ran,
            result: b"result",
            cpu_ns: 1,
            busy_ns: 2,
            out: vec![5],
            reports: vec![Report {
                event: 8,
                duration_ns: 4,
                ending: Ending::Done,
                out: vec![2],
                printed: 0,
                rejected: false,
            }],
            notices: false,
        }),
    })
}

fn opened() -> Record<'static> {
    Record::SessionOpened(SessionOpened {
        session: 1,
        process: 42,
        pointer_bits: 64,
        apis: vec![Described {
            number: 1,
            hash: [7; 32],
        }],
    })
}

fn ended() -> Record<'static> {
    let report = Report {
        event: 9,
        duration_ns: 300,
        ending: Ending::Failed(-5),
        out: vec![3],
        printed: 2,
        rejected: true,
    };
    Record::Ended(Ended {
        session: 1,
        report,
        busy_ns: 70_000,
    })
}

fn device() -> Record<'static> {
    Record::Device(Device {
        session: 1,
        api: 1,
        device: 1 << 63 | 2,
        identity: Some(DeviceIdentity {
            uuid: Some([7; 16]),
            pci: Some(PciAddress {
                domain: 0,
                bus: 0x41,
                device: 0,
                function: 1,
            }),
            place: "a platform: a device, 0".into(),
        }),
    })
}

fn append(file: &mut Vec<u8>, record: &Record<'_>, payload: &[&[u8]], compression: Compression) {
    file.extend(pieces(record, payload, compression).unwrap().concat());
}

const PIECES: [&[u8]; 3] = [b"in!", b"out..", b"r8"];

/// One record of each kind.
fn file() -> Vec<u8> {
    let mut file = FILE.header().to_vec();
    let closed = Record::SessionClosed(SessionClosed { session: 1 });
    append(&mut file, &opened(), &[], Compression::None);
    append(&mut file, &call(), &PIECES, Compression::None);
    append(&mut file, &ended(), &[b"out", b"hi"], Compression::None);
    append(&mut file, &closed, &[], Compression::None);
    file
}

#[test]
fn records_read_as_written() {
    let bytes = file();
    let (header, mut rest) = bytes.split_first_chunk().unwrap();
    assert_eq!(FILE.check_header(header), Ok(()));
    let all = read_all(&mut rest).unwrap();
    let heads: Vec<_> = all.iter().map(|(stored, _)| record(stored)).collect();
    let closed = Record::SessionClosed(SessionClosed { session: 1 });
    let wanted = [opened(), call(), ended(), closed];
    assert_eq!(heads, wanted.map(|record| Ok(Some(record))));
    let payloads: Vec<_> = all.iter().map(|(_, payload)| &payload[..]).collect();
    assert_eq!(payloads, [&b""[..], b"in!out..r8", b"outhi", b""]);
    assert_eq!(call().payload_len(), Some((3, 7)));
}

/// What was written once is read for ever, and written the same.
#[test]
fn the_file_is_the_one_that_is_kept() {
    let golden: &[u8] = include_bytes!("../../tests/golden/recording");
    assert_eq!(
        file(),
        golden,
        "a later kind of record gets a number of its own"
    );
}

/// The file of a later kind.
fn device_file() -> Vec<u8> {
    let mut file = FILE.header().to_vec();
    append(&mut file, &device(), &[], Compression::None);
    file
}

#[test]
fn what_was_said_of_a_device_is_kept() {
    let golden: &[u8] = include_bytes!("../../tests/golden/device");
    assert_eq!(device_file(), golden);
    let all = read_all(&mut &golden[16..]).unwrap();
    assert_eq!(record(&all[0].0), Ok(Some(device())));
}

fn costs() -> Record<'static> {
    Record::Posted(Costs {
        session: 1,
        posted: vec![Posted {
            op: Op::new(3, 24),
            calls: 2,
            cpu_ns: 900,
            longest_ns: 700,
        }],
    })
}

/// The file of a kind that is later still.
fn costs_file() -> Vec<u8> {
    let mut file = FILE.header().to_vec();
    append(&mut file, &costs(), &[], Compression::None);
    file
}

#[test]
fn what_posts_took_is_kept() {
    let golden: &[u8] = include_bytes!("../../tests/golden/costs");
    assert_eq!(costs_file(), golden);
    let all = read_all(&mut &golden[16..]).unwrap();
    assert_eq!(record(&all[0].0), Ok(Some(costs())));
}

/// A later encoder may compress better: only reading it stays.
#[test]
fn a_compressed_payload_of_before_is_read() {
    let golden: &[u8] = include_bytes!("../../tests/golden/compressed");
    let text = vec![b'g'; 1000];
    let all = read_all(&mut &golden[16..]).unwrap();
    let (stored, payload) = &all[0];
    assert_eq!(stored.prefix().compression(), Ok(Compression::Lz4));
    assert!(golden.len() < 16 + PREFIX_LEN + 100);
    assert_eq!((record(stored), payload), (Ok(Some(printed())), &text));
}

/// An operation that printed.
fn printed() -> Record<'static> {
    let report = Report {
        printed: 1000,
        ..Report::default()
    };
    Record::Ended(Ended {
        session: 1,
        report,
        busy_ns: 0,
    })
}

#[test]
fn payload_must_be_what_the_head_announces() {
    let refused = pieces(&call(), &[b"in!"], Compression::None).unwrap_err();
    let (announced, found) = (10, 3);
    assert_eq!(refused, FileError::Payload { announced, found });
}

/// Writes the files that the tests compare with: only where a kind is new.
#[test]
#[ignore = "it makes what other tests compare with"]
fn make_golden() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    std::fs::write(folder.join("recording"), file()).unwrap();
    std::fs::write(folder.join("device"), device_file()).unwrap();
    std::fs::write(folder.join("costs"), costs_file()).unwrap();
    let mut packed = FILE.header().to_vec();
    append(&mut packed, &printed(), &[&[b'g'; 1000]], Compression::Lz4);
    std::fs::write(folder.join("compressed"), packed).unwrap();
}
