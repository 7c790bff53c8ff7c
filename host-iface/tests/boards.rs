//! Several boards in one run: the number of a call's API chooses, and what one
//! board does or does not do is no other's concern.

mod support;

use gil_host::Config;
use gil_host::config::{ApiBoard, Time};
use gil_uapi::{Status, kind};
use gil_wire::Op;
use gil_wire::api;
use gil_wire::choice::Together;
use gil_wire::envelope::{Class, Envelope, Queue};
use support::board::{Act, FakeBoard, Got, Later};
use support::guest::{DATA, Guest, OUT, call, enqueue};
use support::times::{CPU, DURATION, answers, waiting};

const OK: u32 = Status::Ok as u32;
const LOST: u32 = Status::Lost as u32;
const UNSERVED: u32 = Status::Unserved as u32;

/// EGL, whose board is another than OpenCL's.
const EGL: u16 = 2;

/// The boards for EGL and OpenGL ES, and for everything else.
struct Two {
    gles: FakeBoard,
    other: FakeBoard,
}

impl Two {
    fn new(gles: FakeBoard, other: FakeBoard) -> Self {
        gles.objects.lock().unwrap().apis = Some(api::described(&[2, 3]));
        Self { gles, other }
    }

    fn config(&self) -> Config {
        let gles = ApiBoard {
            apis: Together::named("gles").unwrap(),
            address: Some(self.gles.address()),
            key: None,
        };
        Config {
            board: Some(self.other.address()),
            api_boards: vec![gles],
            time: Time::Async,
            ..Config::default()
        }
    }

    fn guest(&self) -> Guest {
        let mut guest = Guest::with(self.config(), false);
        guest.now_ns = 1_000_000;
        guest
    }
}

fn quiet() -> FakeBoard {
    FakeBoard::new(|_| Act::default())
}

fn egl(envelope: Envelope<'static>) -> Envelope<'static> {
    Envelope {
        op: Op::new(EGL, 1),
        ..envelope
    }
}

fn args(args: &'static [u8], envelope: Envelope<'static>) -> Envelope<'static> {
    Envelope { args, ..envelope }
}

fn sent(board: &FakeBoard) -> Vec<Vec<u8>> {
    board.calls().into_iter().map(|call| call.args).collect()
}

#[test]
fn each_board_gets_its_apis_calls_in_their_order() {
    let two = Two::new(quiet(), quiet());
    let mut guest = two.guest();
    let calls = [
        args(b"g1", egl(call(Class::Post, 0))),
        args(b"c1", call(Class::Post, 0)),
        args(b"g2", egl(call(Class::Post, 0))),
        args(b"c2", call(Class::Post, 0)),
        args(b"g3", egl(call(Class::Sync, 0))),
    ];
    assert_eq!(guest.submit(&calls, &[]).status, OK);
    let last = args(b"c3", call(Class::Sync, 0));
    assert_eq!(guest.submit(&[last], &[]).status, OK);
    assert_eq!(sent(&two.gles), [b"g1", b"g2", b"g3"]);
    assert_eq!(sent(&two.other), [b"c1", b"c2", b"c3"]);
    let report = guest.host.finish();
    let took: Vec<_> = report
        .boards
        .iter()
        .map(|board| (board.apis.as_str(), board.calls))
        .collect();
    let titles = Together::named("egl").unwrap().to_string();
    assert_eq!(took, [("other APIs", 3), (&titles, 3)]);
    assert_eq!(report.totals.calls, 6);
}

#[test]
fn a_board_is_reached_when_its_first_call_comes() {
    let two = Two::new(quiet(), quiet());
    let mut guest = two.guest();
    assert_eq!(guest.submit(&[egl(call(Class::Sync, 0))], &[]).status, OK);
    assert_eq!(two.other.got(), []);
    assert_eq!(guest.simple(kind::CLOSE).status, OK);
    two.gles.wait_for(&Got::Close);
    assert_eq!(two.other.got(), []);
}

#[test]
fn a_board_that_is_lost_loses_its_apis_only() {
    let mut calls = 0;
    let gles = FakeBoard::new(move |_| {
        calls += 1;
        Act {
            hang_up: calls > 1,
            ..Act::default()
        }
    });
    let two = Two::new(gles, quiet());
    let mut guest = two.guest();
    assert_eq!(guest.submit(&[egl(call(Class::Sync, 0))], &[]).status, OK);
    let mut both = |last| {
        let calls = [
            args(b"g", egl(call(Class::Post, 0))),
            args(b"c", call(Class::Post, 0)),
            last,
        ];
        guest.submit(&calls, &[]).status
    };
    assert_eq!(both(egl(call(Class::Sync, 0))), LOST);
    assert_eq!(both(egl(call(Class::Sync, 0))), LOST, "and stays so");
    assert_eq!(both(args(b"last", call(Class::Sync, 0))), OK);
    assert_eq!(sent(&two.other), [&b"c"[..], b"c", b"c", b"last"]);
    let warnings = guest.log.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let words = "lost the board for EGL and OpenGL ES";
    assert!(warnings[0].contains(words), "{warnings:?}");
    let report = guest.host.finish();
    assert!(report.boards[0].lost.is_none() && report.boards[1].lost.is_some());
}

#[test]
fn a_board_that_is_not_there_loses_its_apis_only() {
    let two = Two::new(quiet(), quiet());
    let mut config = two.config();
    config.api_boards[0].address = Some("unix:/there/is/none".parse().unwrap());
    let mut guest = Guest::with(config, false);
    let post = || args(b"c", call(Class::Post, 0));
    let status = guest
        .submit(&[post(), egl(call(Class::Sync, 0))], &[])
        .status;
    assert_eq!(status, LOST);
    let posts = [
        egl(call(Class::Post, 0)),
        args(b"last", call(Class::Sync, 0)),
    ];
    assert_eq!(guest.submit(&posts, &[]).status, OK);
    assert_eq!(sent(&two.other), [&b"c"[..], b"last"]);
}

#[test]
fn apis_that_no_board_is_named_for_are_told_so() {
    let two = Two::new(quiet(), quiet());
    let config = Config {
        board: None,
        ..two.config()
    };
    let mut guest = Guest::with(config, false);
    assert_eq!(guest.submit(&[call(Class::Sync, 0)], &[]).status, LOST);
    assert_eq!(guest.submit(&[egl(call(Class::Sync, 0))], &[]).status, OK);
    let warnings = guest.log.warnings();
    assert!(warnings[0].contains("no board was given"), "{warnings:?}");
    // A board that has an API which another is named for is not asked.
    let foreign = Envelope {
        op: Op::new(3, 1),
        ..call(Class::Sync, 0)
    };
    two.gles.objects.lock().unwrap().apis = Some(api::described(&[2]));
    guest.session = 8;
    assert_eq!(guest.simple(kind::OPEN).status, OK);
    assert_eq!(guest.submit(&[foreign], &[]).status, UNSERVED);
    assert_eq!(two.other.got(), []);
}

/// An enqueue of EGL's on a queue of its own.
fn drawn(event: u64, entry: u64) -> Envelope<'static> {
    let queue = Queue {
        id: 77,
        in_order: true,
        device: 2,
    };
    egl(Envelope {
        queue: Some(queue),
        ..enqueue(event, entry)
    })
}

#[test]
fn operations_of_both_are_on_one_timeline() {
    let two = Two::new(FakeBoard::new(answers), FakeBoard::new(answers));
    let mut guest = two.guest();
    let entry = guest.now_ns;
    for event in [1, 3] {
        guest.submit(&[drawn(event, entry)], &[]);
        guest.submit(&[enqueue(event + 1, entry)], &[]);
    }
    let ends = |guest: &mut Guest, envelope: Envelope<'static>| {
        let seen = guest.submit(&[envelope], &[]);
        seen.answer().observed[0].end_ns
    };
    // Two devices: neither waits for the other's engine.
    let end = entry + CPU + 2 * DURATION;
    assert_eq!(ends(&mut guest, waiting(Class::Wait, &[4])), end);
    assert_eq!(ends(&mut guest, egl(waiting(Class::Wait, &[3]))), end);
    assert!(two.gles.got().contains(&Got::Await(3)));
    assert!(two.other.got().contains(&Got::Await(4)));
}

#[test]
fn operations_of_a_lost_board_hold_no_others_up() {
    // Nobody will ever say how its operations end.
    let gles = FakeBoard::new(|call| Act {
        later: Vec::new(),
        ..answers(call)
    });
    let two = Two::new(gles, FakeBoard::new(answers));
    let mut guest = two.guest();
    let entry = guest.now_ns;
    let reads = Envelope {
        regions: 1,
        ..drawn(3, entry)
    };
    guest.submit(&[drawn(1, entry)], &[]);
    assert_eq!(guest.submit(&[reads], &[(DATA, 4, OUT)]).status, OK);
    guest.now_ns += 2 * DURATION;
    let late = guest.now_ns;
    // The turn of the one that reads comes first: its board is asked, and hangs up.
    guest.submit(&[enqueue(2, late)], &[]);
    let wait = guest.submit(&[waiting(Class::Wait, &[2])], &[]);
    assert_eq!(wait.status, OK);
    assert_eq!(wait.answer().observed[0].end_ns, late + CPU + DURATION);
    let lost = guest.submit(&[egl(waiting(Class::Wait, &[3]))], &[]);
    assert_eq!(lost.status, LOST);
    assert_eq!(guest.log.warnings().len(), 1);
}

/// EGL's board reports an operation of the other board with its own.
#[test]
fn a_board_that_reports_an_operation_of_anothers_is_lost() {
    let gles = FakeBoard::new(|call| {
        let mut act = answers(call);
        for later in &mut act.later {
            later.with = vec![4];
        }
        act.later.push(Later {
            event: 4,
            duration_ns: 1,
            ..Later::default()
        });
        act
    });
    let two = Two::new(gles, FakeBoard::new(answers));
    let mut guest = two.guest();
    let entry = guest.now_ns;
    for event in [1, 3] {
        guest.submit(&[drawn(event, entry)], &[]);
        guest.submit(&[enqueue(event + 1, entry)], &[]);
    }
    let lost = guest.submit(&[egl(waiting(Class::Wait, &[3]))], &[]);
    assert_eq!(lost.status, LOST);
    let wait = guest.submit(&[waiting(Class::Wait, &[4])], &[]);
    assert_eq!(wait.status, OK);
    let end_ns = wait.answer().observed[0].end_ns;
    assert_eq!(end_ns, entry + CPU + 2 * DURATION, "as its own board says");
}
