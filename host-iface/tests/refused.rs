//! Enqueues that the board's driver refuses: there is no operation, whatever it
//! would have waited for.

mod support;

use gil_host::Config;
use gil_host::config::Time;
use gil_uapi::{Status, flag};
use gil_wire::ending::Ending;
use gil_wire::envelope::{Class, Envelope, State};
use support::board::{Act, Call, FakeBoard, Got, Later};
use support::guest::{DATA, Guest, OUT, call, enqueue};

const OK: u32 = Status::Ok as u32;
const UNRESOLVED: u32 = Status::Unresolved as u32;
/// Nobody sets it, unless a test does.
const USER: u64 = 100;
const LASTS: u64 = 5_000;

/// How it ends.
const REFUSED: Ending = Ending::Failed(-30);

/// Refuses what is called `refused`; all else takes [`LASTS`].
fn answers(call: &Call) -> Act {
    let event = call.event.unwrap_or_default();
    let is_refused = call.args == b"refused";
    let is_told = call.finish && call.args == b"args" && call.event.is_some();
    let later = Later {
        event,
        duration_ns: if is_refused { 0 } else { LASTS },
        ending: if is_refused { REFUSED } else { Ending::Done },
        rejected: is_refused,
        ..Later::default()
    };
    Act {
        refuses: is_refused.then_some(-30),
        reports: match is_told || call.args == b"set" {
            true => vec![(event, LASTS, vec![])],
            false => vec![],
        },
        later: vec![later],
        ..Act::default()
    }
}

/// Behind the user event: nothing that the board would report at once.
fn blocked(event: u64) -> Envelope<'static> {
    Envelope {
        args: b"blocked",
        ..behind(USER, enqueue(event, 1_000_000))
    }
}

fn behind(on: u64, envelope: Envelope<'static>) -> Envelope<'static> {
    Envelope {
        waits: vec![on].into(),
        ..envelope
    }
}

fn refused(event: u64) -> Envelope<'static> {
    Envelope {
        args: b"refused",
        ..behind(USER, enqueue(event, 1_000_000))
    }
}

fn finish() -> Envelope<'static> {
    Envelope {
        queue: enqueue(0, 0).queue,
        blocking: true,
        ..call(Class::Wait, 0)
    }
}

fn set_user_event() -> Envelope<'static> {
    Envelope {
        signals: Some(USER),
        args: b"set",
        ..call(Class::Sync, 1_000_000)
    }
}

fn guest(board: &FakeBoard, time: Time) -> Guest {
    let config = Config {
        board: Some(board.address()),
        time,
        ..Config::default()
    };
    Guest::with(config, false)
}

fn both(test: impl Fn(&mut Guest, Time)) {
    for time in [Time::Async, Time::Strict] {
        let board = FakeBoard::new(answers);
        test(&mut guest(&board, time), time);
    }
}

#[test]
fn a_queue_goes_on_after_a_refused_enqueue_behind_an_unset_event() {
    both(|guest, time| {
        let seen = guest.submit(&[refused(1)], &[]);
        assert_eq!((seen.status, seen.flags, seen.wait), (OK, 0, 0), "{time:?}");
        assert_eq!(seen.answer().result, b"result");
        let drained = guest.submit(&[finish()], &[]);
        assert_eq!((drained.status, drained.deadline_ns), (OK, 0), "{time:?}");
        assert!(drained.answer().observed.is_empty(), "its call said so");
        guest.submit(&[enqueue(2, 1_000_000)], &[]);
        let drained = guest.submit(&[finish()], &[]);
        assert_eq!(drained.deadline_ns, 1_000_000 + LASTS, "{time:?}");
    });
}

#[test]
fn a_refused_enqueue_that_blocks_returns_at_once() {
    both(|guest, time| {
        let read = Envelope {
            blocking: true,
            regions: 1,
            ..refused(1)
        };
        let seen = guest.submit(&[read], &[(DATA, 4, OUT)]);
        assert_eq!((seen.status, seen.flags, seen.wait), (OK, 0, 0), "{time:?}");
        assert_eq!(seen.attention_ns, 0);
        let sync = Envelope {
            regions: 1,
            ..call(Class::Query, 1_000_000)
        };
        let over_it = guest.submit(&[sync], &[(DATA, 4, 1)]);
        assert_eq!(over_it.status, OK, "its memory is the program's: {time:?}");
    });
}

#[test]
fn a_refused_enqueue_waits_for_no_operation_either() {
    both(|guest, time| {
        guest.submit(&[enqueue(1, 1_000_000)], &[]);
        let other = Envelope {
            queue: Some(gil_wire::envelope::Queue {
                id: 6,
                ..enqueue(0, 0).queue.unwrap()
            }),
            ..refused(2)
        };
        let queue = other.queue;
        guest.submit(&[behind(1, other)], &[]);
        let drained = guest.submit(&[Envelope { queue, ..finish() }], &[]);
        assert_eq!((drained.status, drained.wait), (OK, 0), "{time:?}");
    });
}

#[test]
fn what_stands_in_front_of_a_refused_enqueue_is_as_it_was() {
    both(|guest, time| {
        let front = [enqueue(1, 1_000_000), enqueue(2, 1_000_000), refused(3)];
        assert_eq!(guest.submit(&front, &[]).status, OK);
        let drained = guest.submit(&[finish()], &[]);
        assert_eq!(drained.deadline_ns, 1_000_000 + 2 * LASTS, "{time:?}");
        guest.submit(&[blocked(4)], &[]);
        guest.submit(&[refused(5)], &[]);
        let waits = guest.submit(&[finish()], &[]);
        assert_eq!(waits.status, UNRESOLVED, "4 was accepted: {time:?}");
    });
}

#[test]
fn a_refusal_may_tell_how_another_operation_ended() {
    let board = FakeBoard::new(|call| Act {
        cpu_ns: 100,
        reports: match call.args == b"refused" {
            true => vec![(1, LASTS, vec![])],
            false => vec![],
        },
        ..answers(call)
    });
    let mut guest = guest(&board, Time::Async);
    guest.submit(&[enqueue(1, 1_000_000)], &[]);
    guest.submit(&[refused(2)], &[]);
    let drained = guest.submit(&[finish()], &[]);
    assert_eq!(drained.deadline_ns, 1_000_100 + LASTS);
    assert!(!board.got().contains(&Got::Await(1)), "it was told");
}

/// The operation was reported to the program as enqueued, so it waits like any
/// other; then it ends with its error.
#[test]
fn an_enqueue_that_is_refused_late_waits_for_its_events() {
    both(|guest, time| {
        let posted = [refused(1), call(Class::Query, 1_000_000)];
        assert_eq!(guest.submit(&posted, &[]).status, OK);
        assert_eq!(
            guest.submit(&[finish()], &[]).status,
            UNRESOLVED,
            "{time:?}"
        );
        assert_eq!(guest.submit(&[set_user_event()], &[]).status, OK);
        let own = guest.submit(
            &[Envelope {
                waits: vec![1].into(),
                ..call(Class::Wait, 0)
            }],
            &[],
        );
        let observed = own.answer().observed;
        assert_eq!(
            (observed[0].ending, observed[0].state),
            (REFUSED, State::Complete)
        );
        assert_eq!(guest.submit(&[finish()], &[]).status, OK, "{time:?}");
    });
}

#[test]
fn a_refused_operation_has_no_output() {
    let board = FakeBoard::new(|call| Act {
        out: vec![],
        later: vec![Later {
            event: 1,
            rejected: true,
            text: b"said".to_vec(),
            ..Later::default()
        }],
        ..answers(call)
    });
    let mut guest = guest(&board, Time::Async);
    let posted = [enqueue(1, 1_000_000), call(Class::Query, 1_000_000)];
    guest.submit(&posted, &[]);
    let lost = guest.submit(&[finish()], &[]);
    assert_eq!(
        (lost.status, lost.flags & flag::PENDING),
        (Status::Lost as u32, 0)
    );
    let warnings = guest.log.warnings();
    assert!(
        warnings[0].contains("output of operation 1, refused"),
        "{warnings:?}"
    );
}
