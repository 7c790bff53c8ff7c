//! Regions of which the host keeps a copy, as the board has them.

mod support;

use gil_uapi::Status;
use gil_wire::envelope::{Class, Envelope};
use gil_wire::message::CallStatus;
use support::board::{Act, FakeBoard};
use support::guest::{DATA, Guest, IN, OUT, call, config};

const OK: u32 = Status::Ok as u32;

/// A call with two regions of 4 bytes, of which the host keeps copies.
fn mirrored(number: u64) -> Envelope<'static> {
    Envelope {
        regions: 2,
        mirror: Some(number),
        ..call(Class::Sync, 0)
    }
}

const REGIONS: [(u64, u64, u32); 2] = [(DATA, 4, IN), (DATA + 4, 4, IN)];

fn only_what_changed_is_sent(callbacks: bool) {
    let board = FakeBoard::new(|_| Act::default());
    let mut guest = Guest::with(config(Some(&board)), callbacks);
    guest.write(DATA, b"aaaabbbb");
    for (number, sent) in [(7, &b"aaaabbbb"[..]), (7, b""), (8, b"aaaabbbb")] {
        assert_eq!(guest.submit(&[mirrored(number)], &REGIONS).status, OK);
        assert_eq!(board.calls().pop().unwrap().payload, sent);
    }
    guest.write(DATA + 5, b"c");
    for sent in [&b"bcbb"[..], b""] {
        assert_eq!(guest.submit(&[mirrored(7)], &REGIONS).status, OK);
        assert_eq!(board.calls().pop().unwrap().payload, sent);
    }
}

#[test]
fn only_what_changed_is_sent_of_mapped_ram() {
    only_what_changed_is_sent(false);
}

#[test]
fn only_what_changed_is_sent_from_behind_callbacks() {
    only_what_changed_is_sent(true);
}

#[test]
fn what_the_board_wrote_it_has() {
    let output = Act {
        out: vec![b"gggg".to_vec(), Vec::new()],
        ..Act::default()
    };
    let board = FakeBoard::acts([Act::default(), output, Act::default()]);
    let mut guest = Guest::new(&board);
    guest.write(DATA, b"aaaabbbb");
    guest.submit(&[mirrored(7)], &REGIONS);
    // The second is not written, and what the guest writes there is new.
    guest.write(DATA + 4, b"cccc");
    let outs = REGIONS.map(|(gpa, len, _)| (gpa, len, OUT));
    assert_eq!(guest.submit(&[mirrored(7)], &outs).status, OK);
    assert_eq!(guest.read(DATA, 8), b"ggggcccc");
    assert_eq!(guest.submit(&[mirrored(7)], &REGIONS).status, OK);
    assert_eq!(board.calls()[2].payload, b"cccc");
}

#[test]
fn what_the_board_refused_is_sent_again() {
    let refusal = Act {
        status: CallStatus::Refused,
        ..Act::default()
    };
    let board = FakeBoard::acts([refusal, Act::default()]);
    let mut guest = Guest::new(&board);
    guest.write(DATA, b"aaaabbbb");
    assert_ne!(guest.submit(&[mirrored(7)], &REGIONS).status, OK);
    assert_eq!(guest.submit(&[mirrored(7)], &REGIONS).status, OK);
    assert_eq!(board.calls()[1].payload, b"aaaabbbb");
}

/// What one call has copied is bounded, however much memory it names,
/// and what is beyond the bound has no copy.
#[test]
fn copies_of_one_call_are_bounded() {
    const EACH: u64 = 32 << 20;
    let board = FakeBoard::new(|_| Act::default());
    let mut guest = Guest::with_ram(config(Some(&board)), false, 12 * EACH);
    let all = Envelope {
        regions: 10,
        ..mirrored(7)
    };
    // 256 MiB are seven of them, with what a copy counts beside its bytes.
    for sent in [10, 3] {
        let seen = guest.submit(std::slice::from_ref(&all), &[(DATA, EACH, IN); 10]);
        assert_eq!(seen.status, OK, "{:?}", guest.log.warnings());
        let payload = board.calls().pop().unwrap().payload.len() as u64;
        assert_eq!(payload / EACH, sent);
    }
}
