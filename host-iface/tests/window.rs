//! Region bytes in memory shared with the board.

mod support;

use gil_transport::window::CAPABILITY;
use gil_uapi::Status;
use gil_wire::envelope::{Class, Envelope};
use gil_wire::hello::Hello;
use support::board::{Act, FakeBoard};
use support::guest::{DATA, Guest, IN, OUT, call, config, enqueue};

const OK: u32 = Status::Ok as u32;
const LOST: u32 = Status::Lost as u32;

fn able() -> Hello {
    Hello::ours().with_capabilities(CAPABILITY)
}

fn with_regions(envelope: Envelope<'static>, regions: u32) -> Envelope<'static> {
    Envelope {
        regions: regions as _,
        ..envelope
    }
}

fn sends(out: &[&[u8]]) -> impl FnMut(&support::board::Call) -> Act + Send + 'static {
    let out: Vec<Vec<u8>> = out.iter().map(|bytes| bytes.to_vec()).collect();
    move |_| Act {
        out: out.clone(),
        ..Act::default()
    }
}

/// A call that takes 6 bytes and brings 9, with posts that bring 2 in front.
fn exchange(board: &FakeBoard, callbacks: bool, trace: Option<std::path::PathBuf>) {
    let config = gil_host::Config {
        trace,
        ..config(Some(board))
    };
    let mut guest = Guest::with(config, callbacks);
    guest.write(DATA, b"input!");
    guest.write(DATA + 8, b"po");
    let post = with_regions(call(Class::Post, 0), 1);
    let query = with_regions(call(Class::Query, 0), 3);
    for _ in 0..2 {
        let regions = [
            (DATA + 8, 2, IN),
            (DATA + 16, 4, OUT),
            (DATA, 6, IN),
            (DATA + 32, 9, OUT),
        ];
        let seen = guest.submit(&[post.clone(), query.clone()], &regions);
        assert_eq!(seen.status, OK, "{:?}", guest.log.warnings());
        assert_eq!(guest.read(DATA + 16, 5), b"one\0\0");
        assert_eq!(guest.read(DATA + 32, 9), b"the other");
        guest.write(DATA + 16, &[0; 32]);
    }
}

#[test]
fn regions_cross_in_the_window_if_both_sides_can() {
    for callbacks in [false, true] {
        for hello in [able(), Hello::ours()] {
            let board = FakeBoard::with_hello(hello, sends(&[b"one", b"the other"]));
            exchange(&board, callbacks, None);
            let calls = board.calls();
            let seen: Vec<_> = calls.iter().map(|c| (c.answer, &c.payload[..])).collect();
            let one: [(bool, &[u8]); 2] = [(false, b"po"), (true, b"input!")];
            assert_eq!(seen, [one, one].concat());
            let expected = hello == able();
            assert!(calls.iter().all(|c| c.in_window == (expected && c.answer)));
        }
    }
}

#[test]
fn a_recording_holds_the_windows_bytes() {
    let mut files = Vec::new();
    for hello in [able(), Hello::ours()] {
        let board = FakeBoard::with_hello(hello, sends(&[b"one", b"the other"]));
        let file = tempfile::NamedTempFile::new().unwrap();
        exchange(&board, false, Some(file.path().into()));
        let bytes = std::fs::read(file.path()).unwrap();
        let has = |what: &[u8]| bytes.windows(what.len()).any(|some| some == what);
        assert!(has(b"input!") && has(b"onethe other"));
        files.push(bytes.len());
    }
    // Only measured times differ.
    assert!(files[0].abs_diff(files[1]) <= 16, "{files:?}");
}

#[test]
fn output_that_comes_late_is_held_as_from_the_socket() {
    let board = FakeBoard::with_hello(able(), |call| Act {
        cpu_ns: 5,
        out: vec![b"late".to_vec()],
        reports: vec![(call.event.unwrap(), 1000, vec![])],
        ..Act::default()
    });
    let mut guest = Guest::new(&board);
    let read = with_regions(enqueue(1, 1_000_000), 1);
    assert_eq!(guest.submit(&[read], &[(DATA, 4, OUT)]).status, OK);
    assert!(board.calls()[0].in_window);
    assert_eq!(guest.read(DATA, 4), [0; 4], "its time has not come");
    guest.now_ns += 10_000;
    guest.collect();
    assert_eq!(guest.read(DATA, 4), b"late");
}

#[test]
fn a_board_that_lies_about_the_window_is_lost() {
    let claims = Act {
        claims_window: true,
        ..Act::default()
    };
    let too_much = Act {
        out: vec![vec![7; 5]],
        ..Act::default()
    };
    let lie = Act {
        lie: true,
        ..Act::default()
    };
    for (hello, act) in [(Hello::ours(), claims), (able(), too_much), (able(), lie)] {
        let board = FakeBoard::with_hello(hello, move |_| act.clone());
        let mut guest = Guest::new(&board);
        let query = with_regions(call(Class::Query, 0), 1);
        let seen = guest.submit(&[query], &[(DATA, 4, OUT)]);
        assert_eq!(seen.status, LOST);
        assert_eq!(guest.read(DATA, 8), [0; 8]);
    }
}
