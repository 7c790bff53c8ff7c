use super::*;
use gil_wire::message::Direction;
use proptest::prelude::*;

fn call() -> Record<'static> {
    let region = |len, dir| RegionDesc { len, dir };
    Record::Call(Call {
        session: 1,
        seq: 9,
        op: Op::new(1, 3),
        thread: 77,
        answer: true,
        finish: true,
        event: Some(9),
        args: b"args",
        regions: vec![region(3, Direction::In), region(5, Direction::Out)],
        done: Some(Done {
            status: CallStatus::Ran,
            result: b"result",
            cpu_ns: 1,
            busy_ns: 2,
            out: vec![5],
            reports: vec![Report {
                event: 8,
                duration_ns: 4,
                status: 0,
                out: vec![2],
                printed: 0,
                rejected: false,
            }],
            notices: false,
        }),
    })
}

fn read(bytes: &[u8]) -> Result<(Record<'_>, &[u8]), TraceError> {
    let prefix = Prefix::decode(bytes[..PREFIX_LEN].try_into().unwrap())?;
    let (head_bytes, payload) = bytes[PREFIX_LEN..].split_at(prefix.head_len as usize);
    let mut crc = prefix.checksum();
    crc.update(head_bytes);
    crc.update(payload);
    crc.check(prefix)?;
    Ok((head(prefix, head_bytes)?, payload))
}

fn written() -> Vec<u8> {
    let pieces: [&[u8]; 3] = [b"in!", b"out..", b"r8"];
    let mut bytes = begin(&call(), &pieces).unwrap();
    pieces.iter().for_each(|piece| bytes.extend(*piece));
    bytes
}

#[test]
fn a_record_reads_as_written() {
    let bytes = written();
    let (record, payload) = read(&bytes).unwrap();
    assert_eq!(record, call());
    assert_eq!(payload, b"in!out..r8");
    assert_eq!(record.payload_len(), Some((3, 7)));
}

#[test]
fn every_flipped_bit_is_noticed() {
    let bytes = written();
    for at in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[at / 8] ^= 1 << (at % 8);
        let prefix = Prefix::decode(damaged[..PREFIX_LEN].try_into().unwrap());
        let fits = prefix.is_ok_and(|p| {
            PREFIX_LEN as u64 + u64::from(p.head_len) + p.payload_len == damaged.len() as u64
        });
        assert!(!fits || read(&damaged).is_err(), "bit {at}");
    }
}

#[test]
fn payload_must_be_what_the_head_announces() {
    let pieces: [&[u8]; 1] = [b"in!"];
    assert_eq!(
        begin(&call(), &pieces),
        Err(TraceError::Payload {
            announced: 10,
            found: 3
        })
    );
}

#[test]
fn lengths_are_bounded() {
    let decoded = |head_len, payload_len| {
        let prefix = Prefix {
            head_len,
            crc32: 5,
            payload_len,
        };
        let decoded = Prefix::decode(&prefix.encode());
        decoded.map(|decoded| assert_eq!(decoded, prefix))
    };
    assert_eq!(decoded(2_101_248, 137_438_953_472), Ok(()));
    for (head, payload) in [(2_101_249, 0), (0, 137_438_953_473)] {
        let refused = TraceError::Length {
            head: head.into(),
            payload,
        };
        assert_eq!(decoded(head, payload), Err(refused));
    }
}

#[test]
fn headers_are_compared() {
    assert_eq!(check_header(&header()), Ok(()));
    let mut newer = header();
    newer[12] = 9;
    let message = check_header(&newer).unwrap_err().to_string();
    assert!(message.contains("version 9"), "{message}");
    assert!(matches!(
        check_header(&[b'x'; HEADER_LEN]),
        Err(TraceError::Magic(_))
    ));
}

proptest! {
    #[test]
    fn any_bytes_read_or_fail(bytes: [u8; PREFIX_LEN], rest: Vec<u8>) {
        if let Ok(prefix) = Prefix::decode(&bytes) {
            let _ = head(prefix, &rest);
        }
    }
}
