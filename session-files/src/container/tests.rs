use super::*;
use crate::recording::{self, SessionClosed};
use proptest::prelude::*;

const NONE: Compression = Compression::None;

/// Kind 9 of a later build, with any payload.
struct Later<'a>(&'a [u8], u64);

impl<'a> Record<'a> for Later<'a> {
    fn kind(&self) -> u16 {
        9
    }

    fn encode(&self) -> Result<Vec<u8>, postcard::Error> {
        Ok(self.0.to_vec())
    }

    fn decode(kind: u16, head: &'a [u8]) -> Option<Result<(Self, &'a [u8]), postcard::Error>> {
        (kind == 9).then_some(Ok((Self(head, 0), &[])))
    }

    fn announced(&self) -> Option<u64> {
        Some(self.1)
    }
}

fn later(payload: &[u8], compression: Compression) -> Vec<u8> {
    let record = Later(b"head", payload.len() as u64);
    let all = [payload];
    pieces(&record, &all, compression).unwrap().concat()
}

fn closed(session: u64) -> Vec<u8> {
    let record = recording::Record::SessionClosed(SessionClosed { session });
    pieces(&record, &[], NONE).unwrap().concat()
}

/// The same bytes with another prefix, its checksum right.
fn changed(bytes: &[u8], change: impl FnOnce(&mut Prefix)) -> Vec<u8> {
    let (prefix, rest) = bytes.split_first_chunk::<PREFIX_LEN>().unwrap();
    let mut prefix = Prefix::decode(prefix).unwrap();
    change(&mut prefix);
    [&prefix.sealed([rest]).encode()[..], rest].concat()
}

fn one(bytes: &[u8]) -> Result<(Stored, Vec<u8>), ReadError> {
    let mut all = read_all(&mut &bytes[..])?;
    assert_eq!(all.len(), 1);
    Ok(all.remove(0))
}

fn refused(bytes: &[u8]) -> String {
    let read = one(bytes).and_then(|(stored, _)| Ok(recording::record(&stored).map(|_| ())?));
    read.unwrap_err().to_string()
}

#[test]
fn a_kind_that_is_not_known_is_skipped_where_it_may_be_and_else_refused() {
    let bytes = later(b"payload", NONE);
    assert!(refused(&bytes).contains("made by a newer gil: a record has kind 9"));
    let file = [
        changed(&bytes, |prefix| {
            (prefix.flags, prefix.compression) = (1, 77)
        }),
        closed(5),
    ];
    let file = file.concat();
    let mut file = &file[..];
    let mut next = || read(&mut file, &mut io::sink()).unwrap().unwrap();
    assert_eq!(recording::record(&next()), Ok(None));
    let known = recording::Record::SessionClosed(SessionClosed { session: 5 });
    assert_eq!(recording::record(&next()), Ok(Some(known)));
}

#[test]
fn what_only_a_newer_gil_knows_is_refused_in_a_sentence() {
    type Change = fn(&mut Prefix);
    let cases: [(Change, &str); 4] = [
        (|prefix| prefix.flags = 2, "flags 0x02"),
        (|prefix| prefix.flags = 0x81, "flags 0x81"),
        (
            |prefix| prefix.reserved = 1 << 31,
            "bytes where there were none",
        ),
        (|prefix| prefix.compression = 2, "compression 2"),
    ];
    for (change, what) in cases {
        let message = refused(&changed(&closed(1), change));
        assert!(
            message.contains(&format!("newer gil: a record has {what}")),
            "{message}"
        );
    }
    let mut header = recording::FILE.header();
    header[11] = 1;
    let error = recording::FILE.check_header(&header).unwrap_err();
    assert_eq!(error, FileError::Newer(Unknown::Reserved));
}

#[test]
fn a_head_holds_its_kinds_struct_and_nothing_else() {
    let longer = |bytes: &[u8]| {
        let bytes = changed(&[bytes, b"x"].concat(), |prefix| prefix.head_len += 1);
        refused(&bytes)
    };
    assert!(longer(&closed(1)).contains("1 bytes too many"));
    assert!(refused(&changed(&closed(1), |prefix| prefix.kind = 1)).contains("does not decode"));
}

#[test]
fn lengths_are_bounded() {
    let decoded = |head_len, stored_len, payload_len, compression| {
        let prefix = Prefix {
            head_len,
            stored_len,
            payload_len,
            compression,
            kind: 0x1234,
            flags: 0x56,
            reserved: 0x789a_bcde,
            crc32: 5,
        };
        let decoded = Prefix::decode(&prefix.encode());
        decoded.map(|decoded| assert_eq!(decoded, prefix))
    };
    const MOST: u64 = 137_438_953_472;
    assert_eq!(decoded(2_101_248, MOST, MOST, 0), Ok(()));
    for (head, stored, payload) in [(2_101_249, 0, 0), (0, MOST + 1, 0), (0, 0, MOST + 1)] {
        let expected = FileError::Length {
            head: head.into(),
            payload: stored.max(payload),
        };
        assert_eq!(decoded(head, stored, payload, 2), Err(expected));
    }
    let claims = |stored, payload, compression| {
        let wrong = Err(FileError::Claim { stored, payload });
        let decoded = decoded(0, stored, payload, compression);
        assert!(decoded == Ok(()) || decoded == wrong);
        decoded.is_err()
    };
    assert!(claims(7, 8, 0) && claims(8, 7, 0) && !claims(8, 8, 0));
    assert!(
        claims(8, 8, 1) && !claims(8, 9, 1),
        "it is compressed if that is smaller"
    );
    assert!(
        !claims(10, 2550, 1) && claims(10, 2805, 1),
        "no LZ4 data grows more"
    );
    assert!(!claims(10, 2805, 2), "it is not known how that grows");
}

#[test]
fn files_are_told_apart_by_their_headers() {
    let ours = recording::FILE;
    assert_eq!(ours.check_header(&ours.header()), Ok(()));
    let mut newer = ours.header();
    newer[12] = 9;
    let message = ours.check_header(&newer).unwrap_err().to_string();
    assert!(message.contains("version 9"), "{message}");
    let other = crate::checkpoint::FILE.header();
    assert!(matches!(
        ours.check_header(&other),
        Err(FileError::Magic { .. })
    ));
}

#[test]
fn files_of_the_version_before_are_refused_in_a_sentence() {
    let trace: &[u8] = include_bytes!("../../tests/golden/recording-6");
    let state: &[u8] = include_bytes!("../../tests/golden/checkpoint-4");
    let refused = |file: FileType, bytes: &[u8]| {
        let header = bytes.first_chunk().unwrap();
        file.check_header(header).unwrap_err().to_string()
    };
    assert_eq!(
        refused(recording::FILE, trace),
        "the recording has layout version 6, this gil reads 7: record it again, or replay it with the release that made it"
    );
    assert_eq!(
        refused(crate::checkpoint::FILE, state),
        "the checkpoint has layout version 4, this gil reads 5: take the checkpoint again, or restore it with the release that made it"
    );
}

/// Bytes that compress well, in runs that differ.
fn plain(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at / 40 % 200) as u8).collect()
}

#[test]
fn payloads_are_compressed_where_that_makes_them_smaller() {
    for len in [256, 70_000, 300_000, 5_000_000] {
        let bytes = later(&plain(len), Compression::Lz4);
        let (stored, payload) = one(&bytes).unwrap();
        assert_eq!(stored.prefix().compression(), Ok(Compression::Lz4));
        assert!(stored.prefix().stored_len < len as u64 / 2);
        assert_eq!(payload, plain(len));
    }
    let mut word = 1u32;
    let noise = std::iter::repeat_with(|| {
        word = word.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
        (word >> 24) as u8
    });
    for raw in [plain(255), noise.take(100_000).collect()] {
        assert_eq!(later(&raw, Compression::Lz4), later(&raw, NONE));
    }
}

#[test]
fn a_payload_that_decompresses_to_another_length_is_refused() {
    let bytes = later(&plain(3000), Compression::Lz4);
    for (claim, what) in [(2999, "goes on behind"), (3001, "ends before")] {
        let changed = changed(&bytes, |prefix| prefix.payload_len = claim);
        let message = one(&changed).unwrap_err().to_string();
        assert!(message.contains(what), "{message}");
    }
}

#[test]
fn nothing_follows_a_compressed_payload() {
    let bytes = later(&plain(3000), Compression::Lz4);
    let frame = Prefix::decode(bytes.first_chunk().unwrap())
        .unwrap()
        .stored_len;
    let again = bytes[bytes.len() - frame as usize..].to_vec();
    for more in [b"x".to_vec(), again] {
        let len = more.len() as u64;
        let longer = changed(&[&bytes[..], &more].concat(), |prefix| {
            prefix.stored_len += len
        });
        assert!(
            one(&longer)
                .unwrap_err()
                .to_string()
                .contains("goes on behind")
        );
    }
}

#[test]
fn a_bomb_is_read_a_block_at_a_time() {
    // 64 MiB of zeroes; a reader that wants 1 MiB of them has no more in memory.
    let zeroes = vec![0; 64 << 20];
    let bytes = later(&zeroes, Compression::Lz4);
    assert!(bytes.len() < 300 << 10);
    let front = PREFIX_LEN + 4;
    let prefix = Prefix::decode(bytes.first_chunk().unwrap()).unwrap();
    let mut left = &bytes[front..];
    let mut payload = Payload::of(&prefix, &mut left).unwrap();
    payload.read_exact(&mut vec![0; 1 << 20]).unwrap();
    drop(payload);
    let used = bytes.len() - front - left.len();
    assert!(
        used < bytes.len() / 32,
        "{used} of {} bytes were read",
        bytes.len()
    );
}

#[test]
fn a_length_is_not_believed_before_its_bytes_came() {
    let claimed = Prefix {
        stored_len: MAX_PAYLOAD,
        payload_len: MAX_PAYLOAD,
        ..Prefix::default()
    };
    let bytes = claimed.encode();
    let mut payload = Vec::new();
    let read = read(&mut bytes.chain(&b"few"[..]), &mut payload);
    assert!(matches!(read, Err(ReadError::Cut)));
    assert!(payload.capacity() < 1 << 20);
}

#[test]
fn a_cut_file_reads_up_to_its_last_whole_record() {
    let records = [closed(1), later(&plain(600), Compression::Lz4), closed(3)];
    let file = records.concat();
    let mut ends = vec![0];
    for record in &records {
        ends.push(ends[ends.len() - 1] + record.len());
    }
    for cut in 0..=file.len() {
        let mut rest = &file[..cut];
        let mut whole = 0;
        let end = loop {
            match read(&mut rest, &mut io::sink()) {
                Ok(Some(stored)) => {
                    whole += 1;
                    let len = (ends[whole] - ends[whole - 1]) as u64;
                    assert_eq!(stored.prefix().record_len(), len);
                }
                end => break end,
            }
        };
        assert_eq!(
            whole,
            ends.iter().filter(|end| **end <= cut).count() - 1,
            "{cut}"
        );
        match ends.contains(&cut) {
            true => assert!(matches!(end, Ok(None)), "{cut}"),
            false => assert!(matches!(end, Err(ReadError::Cut)), "{cut}"),
        }
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    for bytes in [closed(3), later(&plain(300), Compression::Lz4)] {
        for at in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[at / 8] ^= 1 << (at % 8);
            assert!(
                read(&mut &damaged[..], &mut io::sink()).is_err(),
                "bit {at}"
            );
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_read_or_fail(bytes: Vec<u8>) {
        let _ = read_all(&mut &bytes[..]);
    }

    #[test]
    fn any_record_reads_or_fails(
        kind in 0u16..10,
        compression in 0u8..3,
        flags in 0u8..3,
        head: Vec<u8>,
        stored: Vec<u8>,
        payload_len in 0u64..4096,
    ) {
        let stored_len = stored.len() as u64;
        let prefix = Prefix {
            head_len: head.len() as u32,
            stored_len,
            payload_len: if compression == 0 { stored_len } else { payload_len },
            kind,
            compression,
            flags,
            ..Prefix::default()
        };
        let prefix = prefix.sealed([&head[..], &stored]);
        let bytes = [&prefix.encode()[..], &head, &stored].concat();
        let mut payload = Vec::new();
        if let Ok(Some(read)) = read(&mut &bytes[..], &mut payload) {
            prop_assert_eq!(&payload, &stored);
            let _ = recording::record(&read);
            let _ = crate::checkpoint::record(&read);
            if let Ok(payload) = read.unpack(payload) {
                prop_assert_eq!(payload.len() as u64, prefix.payload_len);
            }
        }
    }

    #[test]
    fn payloads_come_back(
        runs in prop::collection::vec((any::<u8>(), 0usize..3000), 0..40),
        pieces_at in prop::collection::vec(0usize..1000, 0..4),
        lz4: bool,
    ) {
        let payload: Vec<u8> = runs.iter().flat_map(|(byte, len)| vec![*byte; *len]).collect();
        let mut rest = &payload[..];
        let mut cut = Vec::new();
        for at in pieces_at {
            let (piece, more) = rest.split_at(at.min(rest.len()));
            cut.push(piece);
            rest = more;
        }
        cut.push(rest);
        let record = Later(b"head", payload.len() as u64);
        let compression = if lz4 { Compression::Lz4 } else { NONE };
        let bytes = pieces(&record, &cut, compression).unwrap().concat();
        let (stored, back) = one(&bytes).unwrap();
        prop_assert_eq!(stored.prefix().payload_len, payload.len() as u64);
        prop_assert_eq!(back, payload);
    }
}

#[test]
fn a_damaged_frame_is_said_as_one() {
    let bytes = later(&[7; 1000], Compression::Lz4);
    let mut packed = Vec::new();
    let stored = read(&mut &bytes[..], &mut packed).unwrap().unwrap();
    packed[0] ^= 1;
    let mut payload = Payload::of(stored.prefix(), &packed[..]).unwrap();
    let error = payload.read_to_end(&mut Vec::new()).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("compressed payload is damaged"), "{said}");
}

#[test]
fn another_head_goes_before_the_same_payload() {
    for compression in [NONE, Compression::Lz4] {
        let payload = [7; 1000];
        let bytes = later(&payload, compression);
        let mut packed = Vec::new();
        let stored = read(&mut &bytes[..], &mut packed).unwrap().unwrap();
        let longer = Later(b"a longer head", 1000);
        let front = with_head(&stored, &longer, &mut &packed[..]).unwrap();
        let (again, unpacked) = one(&[&front[..], &packed].concat()).unwrap();
        assert_eq!(
            (again.head(), &unpacked[..]),
            (&b"a longer head"[..], &payload[..])
        );
        let shorter = with_head(&stored, &longer, &mut &packed[..3]);
        assert!(matches!(shorter, Err(ReadError::Cut)));
        let mut damaged = packed.clone();
        damaged[3] ^= 1;
        let damaged = with_head(&stored, &longer, &mut &damaged[..]);
        let is_noticed = matches!(damaged, Err(ReadError::File(FileError::Checksum { .. })));
        assert!(is_noticed, "{damaged:?}");
        let other = with_head(&stored, &Later(b"", 999), &mut &packed[..]);
        let wrong = FileError::Payload {
            announced: 999,
            found: 1000,
        };
        assert!(matches!(other, Err(ReadError::File(error)) if error == wrong));
    }
}

#[test]
fn a_payload_that_is_read_again_is_checked_again() {
    let text = plain(5000);
    for compression in [NONE, Compression::Lz4] {
        let bytes = later(&text, compression);
        let (stored, _) = one(&bytes).unwrap();
        let begin = bytes.len() - usize::try_from(stored.prefix().stored_len).unwrap();
        let again = |bytes: &[u8], wanted: usize| {
            let mut again = Again::of(stored.prefix(), stored.sum(), &bytes[begin..]).unwrap();
            let mut out = vec![0; wanted];
            let read = again.read_exact(&mut out).map(|()| out);
            (read, again.check())
        };
        for wanted in [0, 1, text.len()] {
            let (read, checked) = again(&bytes, wanted);
            assert_eq!(read.unwrap(), text[..wanted]);
            checked.unwrap();
            let mut other = bytes.clone();
            *other.last_mut().unwrap() ^= 1;
            let (_, checked) = again(&other, wanted);
            let is_noticed = matches!(checked, Err(ReadError::File(FileError::Checksum { .. })));
            assert!(is_noticed, "{checked:?}");
            let (_, checked) = again(&bytes[..bytes.len() - 1], wanted);
            assert!(matches!(checked, Err(ReadError::Cut)), "{checked:?}");
        }
    }
}
