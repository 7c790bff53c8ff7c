//! What a board does not serve is refused by itself: the session, and calls of
//! other APIs, go on.

mod support;

use gil_uapi::Status;
use gil_wire::Op;
use gil_wire::api;
use gil_wire::envelope::{Class, Envelope};
use gil_wire::message::CallStatus;
use support::board::{Act, FakeBoard, Got};
use support::guest::{Guest, call};

const OK: u32 = Status::Ok as u32;
const UNSERVED: u32 = Status::Unserved as u32;

/// A call of an API that no build has.
fn foreign(class: Class) -> Envelope<'static> {
    Envelope {
        op: Op::new(99, 1),
        ..call(class, 0)
    }
}

fn args(args: &'static [u8], envelope: Envelope<'static>) -> Envelope<'static> {
    Envelope { args, ..envelope }
}

fn sent(board: &FakeBoard) -> Vec<Vec<u8>> {
    board.calls().into_iter().map(|call| call.args).collect()
}

#[test]
fn a_call_that_the_board_does_not_serve_takes_nothing_else_along() {
    let board = FakeBoard::new(|_| Act::default());
    let mut guest = Guest::new(&board);
    let posts = [
        args(b"first", call(Class::Post, 0)),
        args(b"nobody's", foreign(Class::Post)),
        args(b"second", call(Class::Post, 0)),
        foreign(Class::Sync),
    ];
    assert_eq!(guest.submit(&posts, &[]).status, UNSERVED);
    assert_eq!(guest.submit(&[foreign(Class::Sync)], &[]).status, UNSERVED);
    let last = args(b"last", call(Class::Sync, 0));
    assert_eq!(guest.submit(&[last], &[]).status, OK);
    assert_eq!(sent(&board), [&b"first"[..], b"second", b"last"]);
    let warnings = guest.log.warnings();
    assert_eq!(warnings.len(), 1, "it is said once: {warnings:?}");
    assert!(
        warnings[0].contains("does not serve API 99"),
        "{warnings:?}"
    );
}

#[test]
fn an_api_of_another_description_is_not_used() {
    let board = FakeBoard::new(|_| Act::default());
    let mut theirs = api::described(&[1]);
    theirs[0].hash[0] ^= 1;
    board.objects.lock().unwrap().apis = Some(theirs);
    let mut guest = Guest::new(&board);
    for _ in 0..2 {
        let seen = guest.submit(&[call(Class::Sync, 0)], &[]);
        assert_eq!(seen.status, UNSERVED);
    }
    assert_eq!(board.got(), [Got::Open]);
    let warnings = guest.log.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("by another description"),
        "{warnings:?}"
    );
}

#[test]
fn a_wait_for_what_is_not_served_does_not_last() {
    let board = FakeBoard::new(|_| Act::default());
    let mut guest = Guest::new(&board);
    let wait = || Envelope {
        waits: vec![77].into(),
        ..foreign(Class::Wait)
    };
    let unresolved = Status::Unresolved as u32;
    assert_eq!(guest.submit(&[wait()], &[]).status, unresolved, "who knows");
    guest.submit(&[foreign(Class::Sync)], &[]);
    assert_eq!(guest.submit(&[wait()], &[]).status, UNSERVED);
}

#[test]
fn what_asks_nothing_of_a_board_needs_none() {
    let board = FakeBoard::new(|_| Act::default());
    let mut guest = Guest::new(&board);
    assert_eq!(guest.submit(&[foreign(Class::Poll)], &[]).status, OK);
    assert_eq!(board.got(), []);
}

#[test]
fn a_driver_that_is_missing_is_named_once_and_loses_no_session() {
    let missing = || Act {
        status: CallStatus::NotServed,
        result: b"its driver is not installed".to_vec(),
        ..Act::default()
    };
    let board = FakeBoard::acts([missing(), missing(), Act::default()]);
    let mut guest = Guest::new(&board);
    for _ in 0..2 {
        let seen = guest.submit(&[call(Class::Sync, 0)], &[]);
        assert_eq!(seen.status, UNSERVED);
    }
    assert_eq!(guest.submit(&[call(Class::Sync, 0)], &[]).status, OK);
    let warnings = guest.log.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("its driver is not installed"),
        "{warnings:?}"
    );
}
