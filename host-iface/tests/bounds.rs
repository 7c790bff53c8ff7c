//! What a guest makes without end does not grow without bound here.

mod support;

use gil_uapi::Status;
use gil_wire::Op;
use gil_wire::envelope::{self, Class, Envelope};
use support::board::{Act, FakeBoard};
use support::guest::{Guest, call, config, enqueue};

const OK: u32 = Status::Ok as u32;
/// Bytes of envelopes in one submission.
const REQUEST_MAX: usize = 8192;

/// As many envelopes as a submission takes.
fn full(mut next: impl FnMut() -> Envelope<'static>) -> Vec<u8> {
    let mut request = Vec::new();
    loop {
        let before = request.len();
        envelope::push(&next(), &mut request);
        if request.len() > REQUEST_MAX {
            request.truncate(before);
            return request;
        }
    }
}

#[test]
fn events_that_are_never_released_are_refused_beyond_a_bound() {
    let board = FakeBoard::new(|_| Act::default());
    let mut guest = Guest::new(&board);
    let mut event = 0;
    let mut set = || {
        event += 1;
        Envelope {
            signals: Some(event),
            args: b"",
            ..call(Class::Post, 0)
        }
    };
    let mut accepted = 0;
    loop {
        guest.seq += 1;
        let request = full(&mut set);
        if guest.submit_bytes(&request, &[]).status != OK {
            break;
        }
        accepted += 1;
        assert!(accepted < gil_timing::MAX_KNOWN, "no bound");
    }
    // What is left of the room.
    while guest.submit(&[set()], &[]).status == OK {}
    let warnings = guest.log.warnings();
    assert!(warnings[0].contains("release those"), "{warnings:?}");
    let seen = guest.submit(&[enqueue(1 << 40, 1_000_000)], &[]);
    assert_eq!(seen.status, Status::BadRequest as u32);
    let released = Envelope {
        retires: Some(1),
        ..call(Class::Query, 1_000_000)
    };
    // The rest of the last submission that was taken may have found no room.
    assert_eq!(guest.submit(&[released], &[]).status, OK);
    let again = Envelope {
        signals: Some(1 << 40),
        ..call(Class::Sync, 1_000_000)
    };
    assert_eq!(guest.submit(&[again], &[]).status, OK, "one was released");
}

#[test]
fn made_up_entry_points_share_one_row_of_the_report() {
    let board = FakeBoard::new(|_| Act::default());
    let mut guest = Guest::with(config(Some(&board)), false);
    for n in 0..100 {
        let envelope = Envelope {
            op: Op::new(99, n),
            ..call(Class::Query, 1_000_000)
        };
        guest.submit(&[envelope], &[]);
    }
    let entries = guest.host.finish().entries;
    let rows: Vec<_> = entries.iter().map(|e| (e.name.as_str(), e.count)).collect();
    assert_eq!(rows, [("unknown", 100)]);
}
