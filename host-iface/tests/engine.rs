//! The rules of the path, between a driver and a board in this process.

mod support;

use gil_uapi::{Status, WaitKind, flag};
use gil_wire::control::{self, Console, Exited, Failed, Started, Stream};
use gil_wire::envelope::{Class, Envelope, Queue, State};
use gil_wire::generated::opencl::CL_ENQUEUE_READ_BUFFER;
use gil_wire::hello::Hello;
use gil_wire::message::CallStatus;
use gil_wire::monitor::Event;
use std::io::Read;
use std::time::{Duration, Instant};
use support::board::{Act, FakeBoard, Got};
use support::guest::{DATA, Guest, IN, OUT, RAM_SIZE, call, config, enqueue};

const OK: u32 = Status::Ok as u32;
const SLEEP: u32 = WaitKind::Sleep as u32;
const OCCUPY: u32 = WaitKind::Occupy as u32;

fn cpu(cpu_ns: u64) -> Act {
    Act {
        cpu_ns,
        ..Act::default()
    }
}

/// An enqueue's own report.
fn done(event: u64, cpu_ns: u64, duration_ns: u64, out: &[&[u8]]) -> Act {
    let out = out.iter().map(|bytes| bytes.to_vec()).collect();
    Act {
        reports: vec![(event, duration_ns, out)],
        ..cpu(cpu_ns)
    }
}

fn with_region(envelope: Envelope<'static>) -> Envelope<'static> {
    Envelope {
        regions: 1,
        ..envelope
    }
}

fn blocking(envelope: Envelope<'static>) -> Envelope<'static> {
    Envelope {
        blocking: true,
        ..envelope
    }
}

fn waiting(envelope: Envelope<'static>, waits: &[u64]) -> Envelope<'static> {
    Envelope {
        waits: waits.to_vec().into(),
        ..envelope
    }
}

fn wait(waits: &[u64]) -> Envelope<'static> {
    waiting(call(Class::Wait, 0), waits)
}

/// An enqueue on a queue of its own.
fn on_its_own(event: u64) -> Envelope<'static> {
    let queue = Queue {
        id: event,
        in_order: true,
        device: 1,
    };
    Envelope {
        queue: Some(queue),
        ..enqueue(event, 1_000_000)
    }
}

#[test]
fn a_synchronous_call_occupies_the_cpu_from_its_entry() {
    let board = FakeBoard::acts([cpu(5_000)]);
    let mut guest = Guest::new(&board);
    let seen = guest.submit(&[call(Class::Sync, 998_000)], &[]);
    assert_eq!((seen.status, seen.wait), (OK, OCCUPY));
    assert_eq!(seen.deadline_ns, 998_000 + 5_000);
    assert_eq!(seen.answer().result, b"result");
    assert_eq!(guest.host.finish().simulated.excess_ns, 0);
}

#[test]
fn the_bridges_own_instructions_are_deducted_and_what_exceeds_is_reported() {
    let board = FakeBoard::acts([cpu(1_000), cpu(1_500)]);
    let mut guest = Guest::new(&board);
    let seen = guest.submit(&[call(Class::Query, 990_000)], &[]);
    assert_eq!((seen.wait, seen.deadline_ns), (0, 0));
    guest.submit(&[call(Class::Query, 999_000)], &[]);
    assert_eq!(guest.host.finish().simulated.excess_ns, 9_000);
}

#[test]
fn a_number_is_executed_once() {
    let board = FakeBoard::new(|_| cpu(10));
    let mut guest = Guest::new(&board);
    let envelope = [call(Class::Sync, 1_000_000)];
    assert_eq!(guest.submit(&envelope, &[]).status, OK);
    let again = guest.submit_again(&envelope, &[]);
    assert_eq!(again.status, Status::Duplicate as u32);
    assert_eq!(board.calls().len(), 1);
    assert_eq!(guest.submit(&envelope, &[]).status, OK);
}

#[test]
fn posts_keep_their_order_and_go_before_the_call() {
    let board = FakeBoard::new(|_| cpu(0));
    let mut guest = Guest::new(&board);
    let post = |args| Envelope {
        args,
        ..with_region(call(Class::Post, 0))
    };
    guest.write(DATA, b"onetwo!!");
    let regions = [(DATA, 3, IN), (DATA + 3, 3, IN), (DATA + 6, 2, IN)];
    let main = with_region(call(Class::Sync, 1_000_000));
    guest.submit(&[post(b"1"), post(b"2"), main], &regions);
    guest.submit(&[post(b"3")], &[(DATA, 1, IN)]);
    guest.submit(&[call(Class::Query, 1_000_000)], &[]);
    let got = board.calls();
    let order: Vec<_> = got
        .iter()
        .map(|call| (call.seq, call.answer, &call.args[..], &call.payload[..]))
        .collect();
    assert_eq!(
        order,
        [
            (1, false, &b"1"[..], &b"one"[..]),
            (1, false, b"2", b"two"),
            (1, true, b"args", b"!!"),
            (2, false, b"3", b"o"),
            (3, true, b"args", b""),
        ]
    );
    let totals = guest.host.finish().totals;
    assert_eq!(
        (totals.calls, totals.posts, totals.bytes_to_board),
        (5, 3, 9)
    );
}

fn held_output_waits_for_its_end(callbacks: bool) {
    let board = FakeBoard::acts([done(1, 100, 50_000, &[b"result!!"])]);
    let mut guest = Guest::with(config(Some(&board)), callbacks);
    let read = with_region(enqueue(1, 1_000_000));
    let seen = guest.submit(&[read], &[(DATA, 8, OUT)]);
    assert_eq!((seen.wait, seen.deadline_ns), (OCCUPY, 1_000_100));
    assert_eq!(seen.flags, flag::HOLD, "the end is beyond the deadline");
    guest.now_ns = 1_050_099;
    let seen = guest.collect();
    assert!(seen.released.is_empty());
    assert_eq!(guest.read(DATA, 8), [0; 8], "one nanosecond early");
    let seen = guest.submit(&[wait(&[1])], &[]);
    assert_eq!((seen.wait, seen.deadline_ns), (SLEEP, 1_050_100));
    assert_eq!(seen.flags, flag::COLLECT);
    assert_eq!(guest.read(DATA, 8), [0; 8]);
    guest.now_ns = 1_050_100;
    let seen = guest.collect();
    assert_eq!(seen.released, [1]);
    assert_eq!(guest.read(DATA, 8), b"result!!");
}

#[test]
fn held_output_waits_for_its_end_in_mapped_ram() {
    held_output_waits_for_its_end(false);
}

#[test]
fn held_output_waits_for_its_end_behind_callbacks() {
    held_output_waits_for_its_end(true);
}

#[test]
fn blocking_and_synchronous_output_is_there_at_once() {
    let out = Act {
        out: vec![b"sync".to_vec()],
        ..cpu(10)
    };
    let board = FakeBoard::acts([out, done(9, 10, 500, &[b"bloc"])]);
    let mut guest = Guest::new(&board);
    let sync = with_region(call(Class::Query, 1_000_000));
    let seen = guest.submit(&[sync], &[(DATA, 6, OUT)]);
    assert_eq!(seen.flags & flag::HOLD, 0);
    assert_eq!(guest.read(DATA, 6), b"sync\0\0");
    let read = blocking(with_region(enqueue(9, 1_000_000)));
    let seen = guest.submit(&[read], &[(DATA, 4, OUT)]);
    assert_eq!((seen.wait, seen.deadline_ns), (SLEEP, 1_000_510));
    assert_eq!(seen.flags & (flag::HOLD | flag::PENDING), 0);
    assert_eq!(guest.read(DATA, 4), b"bloc");
    assert_eq!(guest.host.finish().totals.bytes_from_board, 8);
}

#[test]
fn everything_ends_before_the_board_answers() {
    let board = FakeBoard::new(|call| match call.event {
        Some(100) => cpu(0),
        event => done(event.unwrap(), 0, 1_000, &[]),
    });
    let mut guest = Guest::new(&board);
    let set = Envelope {
        signals: Some(100),
        ..call(Class::Sync, 1_000_000)
    };
    for envelope in [enqueue(1, 1_000_000), enqueue(2, 1_000_000), set] {
        assert_eq!(guest.submit(&[envelope], &[]).status, OK);
    }
    assert!(board.calls().iter().all(|call| call.finish));
}

#[test]
fn input_sees_outstanding_output_that_it_overlaps() {
    let board = FakeBoard::acts([done(1, 0, 9_000, &[b"NEW!"]), cpu(0)]);
    let mut guest = Guest::new(&board);
    guest.write(DATA, b"oldoldold");
    guest.submit(&[with_region(enqueue(1, 1_000_000))], &[(DATA + 2, 4, OUT)]);
    assert_eq!(guest.read(DATA, 9), b"oldoldold");
    guest.submit(
        &[with_region(call(Class::Sync, 1_000_000))],
        &[(DATA, 9, IN)],
    );
    assert_eq!(board.calls()[1].payload, b"olNEW!old");
    assert_eq!(guest.read(DATA, 9), b"oldoldold", "not due yet");
}

#[test]
fn newer_output_at_once_is_not_overwritten_by_older_held_output() {
    let board = FakeBoard::acts([
        done(1, 0, 1_000, &[b"older"]),
        done(2, 0, 1_000, &[b"newer"]),
    ]);
    let mut guest = Guest::new(&board);
    guest.submit(&[with_region(enqueue(1, 1_000_000))], &[(DATA, 5, OUT)]);
    let read = blocking(with_region(enqueue(2, 1_000_000)));
    let seen = guest.submit(&[read], &[(DATA, 5, OUT)]);
    assert_eq!(seen.deadline_ns, 1_002_000);
    assert_eq!(seen.released, [1]);
    guest.now_ns = 2_000_000;
    guest.collect();
    assert_eq!(guest.read(DATA, 5), b"newer");
}

#[test]
fn output_of_a_call_is_not_overwritten_by_what_ended_before_it() {
    let newer = Act {
        out: vec![b"newer".to_vec()],
        ..cpu(1_001)
    };
    let board = FakeBoard::acts([done(1, 0, 1_000, &[b"older"]), newer]);
    let mut guest = Guest::new(&board);
    guest.submit(&[with_region(enqueue(1, 1_000_000))], &[(DATA, 5, OUT)]);
    let query = with_region(call(Class::Query, 1_000_000));
    guest.submit(&[query], &[(DATA, 5, OUT)]);
    guest.now_ns = 2_000_000;
    guest.collect();
    assert_eq!(guest.read(DATA, 5), b"newer");
}

#[test]
fn output_that_comes_with_the_end_is_there_though_the_call_has_none() {
    let board = FakeBoard::acts([Act {
        out: vec![vec![]],
        ..done(1, 0, 1_000, &[b"read"])
    }]);
    let mut guest = Guest::new(&board);
    let read = blocking(with_region(enqueue(1, 1_000_000)));
    guest.submit(&[read], &[(DATA, 4, OUT)]);
    assert_eq!(guest.read(DATA, 4), b"read");
}

#[test]
fn output_that_comes_without_its_end_waits_for_it() {
    let early = Act {
        out: vec![b"made".to_vec()],
        reports: vec![(2, 10, vec![])],
        ..cpu(0)
    };
    let set = Act {
        reports: vec![(100, 0, vec![]), (1, 700, vec![])],
        ..cpu(0)
    };
    let board = FakeBoard::acts([cpu(0), early, set]);
    let mut guest = Guest::new(&board);
    guest.submit(&[waiting(on_its_own(2), &[100])], &[]);
    let read = waiting(blocking(with_region(on_its_own(1))), &[100]);
    let seen = guest.submit(&[read], &[(DATA, 4, OUT)]);
    assert_eq!(seen.flags, flag::HOLD | flag::PENDING);
    let set = Envelope {
        signals: Some(100),
        ..call(Class::Sync, 1_000_000)
    };
    guest.submit(&[set], &[]);
    let seen = guest.submit(&[wait(&[1])], &[]);
    assert_eq!(guest.read(DATA, 4), [0; 4]);
    guest.now_ns = seen.deadline_ns;
    guest.collect();
    assert_eq!(guest.read(DATA, 4), b"made");
}

#[test]
fn what_waits_for_a_user_event_is_unresolved_until_it_is_set() {
    // 1: enqueue behind user event 100. 2: wait. 3: input over its output.
    // 5: the user event is set; the board reports that, and 1.
    let set = Act {
        reports: vec![(100, 0, vec![]), (1, 700, vec![b"made".to_vec()])],
        ..cpu(50)
    };
    let board = FakeBoard::acts([cpu(20), set]);
    let mut guest = Guest::new(&board);
    let read = waiting(with_region(enqueue(1, 1_000_000)), &[100]);
    let seen = guest.submit(&[blocking(read)], &[(DATA, 4, OUT)]);
    assert_eq!(seen.status, OK);
    assert_eq!(seen.flags, flag::HOLD | flag::PENDING);

    let seen = guest.submit(&[wait(&[1])], &[]);
    assert_eq!(seen.status, Status::Unresolved as u32);
    let finish = Envelope {
        queue: enqueue(0, 0).queue,
        ..call(Class::Wait, 0)
    };
    let post = call(Class::Post, 0);
    let seen = guest.submit(&[post, finish.clone()], &[]);
    assert_eq!(seen.status, Status::Unresolved as u32);
    let sync = with_region(call(Class::Sync, 1_000_000));
    let seen = guest.submit(&[sync], &[(DATA + 3, 1, IN)]);
    assert_eq!(seen.status, Status::Unresolved as u32);
    assert_eq!(
        board.calls().len(),
        1,
        "nothing of it was executed, posts neither"
    );

    guest.now_ns = 2_000_000;
    let set = Envelope {
        signals: Some(100),
        ..call(Class::Sync, 2_000_000)
    };
    let seen = guest.submit(&[set], &[]);
    assert_eq!((seen.status, seen.deadline_ns), (OK, 2_000_050));
    assert_ne!(seen.flags & flag::PROGRESS, 0);

    let seen = guest.submit(&[wait(&[1, 100])], &[]);
    assert_eq!(
        (seen.status, seen.wait, seen.deadline_ns),
        (OK, SLEEP, 2_000_750)
    );
    let observed = seen.answer().observed;
    assert_eq!(
        (observed[0].start_ns, observed[0].end_ns),
        (2_000_050, 2_000_750)
    );
    assert_eq!(observed[0].state, State::Complete);
    assert_eq!(observed[1].end_ns, 2_000_050);
    let seen = guest.submit(&[finish], &[]);
    assert_eq!(seen.deadline_ns, 2_000_750);
    assert_eq!(guest.read(DATA, 4), [0; 4]);
    guest.now_ns = 2_000_750;
    assert_eq!(guest.collect().released, [1]);
    assert_eq!(guest.read(DATA, 4), b"made");
}

#[test]
fn an_event_that_was_not_set_stays_unresolved() {
    let board = FakeBoard::new(|_| cpu(0));
    let mut guest = Guest::new(&board);
    let set = Envelope {
        signals: Some(100),
        ..call(Class::Sync, 1_000_000)
    };
    assert_eq!(guest.submit(&[set], &[]).status, OK);
    let seen = guest.submit(&[wait(&[100])], &[]);
    assert_eq!(seen.status, Status::Unresolved as u32);
}

#[test]
fn a_recording_that_cannot_go_on_ends_the_run() {
    let board = FakeBoard::acts([Act::default(), Act::default()]);
    let folder = tempfile::tempdir().unwrap();
    // As a full disk: it takes the beginning and nothing more.
    let path = folder.path().join("recording");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let reader = std::thread::spawn({
        let path = path.clone();
        move || {
            let mut header = [0; gil_files::container::HEADER_LEN];
            std::fs::File::open(path)?.read_exact(&mut header)
        }
    });
    let config = gil_host::Config {
        trace: Some(path.clone()),
        ..config(Some(&board))
    };
    let mut guest = Guest::with(config, false);
    reader.join().unwrap().unwrap();
    for _ in 0..2 {
        assert_eq!(guest.submit(&[call(Class::Sync, 0)], &[]).status, OK);
    }
    let fatal = guest.log.fatal();
    assert_eq!(fatal.len(), 1, "{fatal:?}");
    let name = path.display().to_string();
    assert!(
        fatal[0].contains(&name) && fatal[0].contains("short"),
        "{fatal:?}"
    );
}

#[test]
fn a_recording_holds_every_call_and_its_bytes() {
    holds_every_call_and_its_bytes(false, 2);
    // Longer than what is not worth the work.
    holds_every_call_and_its_bytes(true, 600);
}

fn holds_every_call_and_its_bytes(trace_compress: bool, len: usize) {
    use gil_files::container::{HEADER_LEN, read_all};
    use gil_files::recording::{self, FILE, Record, SessionClosed, SessionOpened};
    let board = FakeBoard::acts([done(1, 7, 9, &[b"out!"])]);
    let file = tempfile::NamedTempFile::new().unwrap();
    let config = gil_host::Config {
        trace: Some(file.path().into()),
        trace_compress,
        ..config(Some(&board))
    };
    let mut guest = Guest::with(config, false);
    let input = vec![b'i'; len];
    guest.write(DATA, &input);
    let post = with_region(call(Class::Post, 0));
    let read = blocking(with_region(enqueue(1, 1_000_000)));
    let regions = [(DATA, len as u64, IN), (DATA + 1024, 4, OUT)];
    assert_eq!(guest.submit(&[post, read], &regions).status, OK);
    assert_eq!(guest.read(DATA + 1024, 4), b"out!");
    guest.close();
    let bytes = std::fs::read(file.path()).unwrap();
    let (header, mut rest) = bytes.split_first_chunk::<HEADER_LEN>().unwrap();
    FILE.check_header(header).unwrap();
    let all = read_all(&mut rest).unwrap();
    let records: Vec<_> = all
        .iter()
        .map(|(stored, payload)| {
            let record = recording::record(stored).unwrap().unwrap();
            (record, &payload[..])
        })
        .collect();
    assert_eq!(records.len(), 4, "{records:?}");
    assert!(matches!(
        records[0].0,
        Record::SessionOpened(SessionOpened {
            session: 1,
            process: 42,
            ..
        })
    ));
    assert_eq!(records[1].1, input);
    let stored = all[1].0.prefix().stored_len as usize;
    assert_eq!(stored < len / 10, trace_compress, "{stored} of {len}");
    let Record::Call(post) = &records[1].0 else {
        panic!("{records:?}")
    };
    assert!(!post.call.answer && post.done.is_none());
    assert_eq!(records[2].1, b"out!");
    let Record::Call(read) = &records[2].0 else {
        panic!("{records:?}")
    };
    let answer = read.done.as_ref().unwrap();
    assert_eq!((answer.cpu_ns, answer.reports[0].duration_ns), (7, 9));
    assert!(matches!(
        records[3].0,
        Record::SessionClosed(SessionClosed { session: 1 })
    ));
}

#[test]
fn a_poll_compares_now_with_the_interval() {
    let board = FakeBoard::acts([1, 2, 3].map(|event| done(event, 100, 1_000, &[])));
    let mut guest = Guest::new(&board);
    guest.submit(&[enqueue(1, 1_000_000)], &[]);
    guest.submit(&[enqueue(2, 1_000_000)], &[]);
    // Waits for nothing but the engine.
    guest.submit(&[on_its_own(3)], &[]);
    let mut states = |now_ns| {
        guest.now_ns = now_ns;
        let poll = waiting(call(Class::Poll, 0), &[1, 2, 3, 77]);
        let seen = guest.submit(&[poll], &[]);
        assert_eq!((seen.status, seen.wait), (OK, 0));
        seen.answer()
            .observed
            .iter()
            .map(|o| o.state)
            .collect::<Vec<_>>()
    };
    use State::{Complete, Queued, Running, Submitted};
    assert_eq!(states(1_000_099), [Queued; 4]);
    assert_eq!(states(1_000_100), [Running, Queued, Submitted, Queued]);
    assert_eq!(states(1_001_099), [Running, Queued, Submitted, Queued]);
    assert_eq!(states(1_001_100), [Complete, Running, Submitted, Queued]);
    assert_eq!(states(1_002_100), [Complete, Complete, Running, Queued]);
    assert_eq!(board.calls().len(), 3, "polls never go to the board");
}

#[test]
fn an_event_that_only_its_sender_asks_for_is_known_until_then() {
    let set = Act {
        reports: vec![(100, 0, vec![]), (1, 700, vec![])],
        ..cpu(50)
    };
    let board = FakeBoard::acts([cpu(20), set]);
    let mut guest = Guest::new(&board);
    let read = Envelope {
        observable: false,
        ..waiting(blocking(enqueue(1, 1_000_000)), &[100])
    };
    assert_eq!(guest.submit(&[read], &[]).flags, flag::PENDING);
    let set = Envelope {
        signals: Some(100),
        ..call(Class::Sync, 1_000_000)
    };
    guest.submit(&[set], &[]);
    let seen = guest.submit(&[wait(&[1])], &[]);
    assert_eq!((seen.status, seen.deadline_ns), (OK, 1_000_750));
    let seen = guest.submit(&[wait(&[1])], &[]);
    assert_eq!(seen.status, Status::Unresolved as u32, "forgotten by now");
}

#[test]
fn close_revokes_held_output() {
    let board = FakeBoard::acts([done(1, 0, 1_000, &[b"late"])]);
    let mut guest = Guest::new(&board);
    guest.submit(&[with_region(enqueue(1, 1_000_000))], &[(DATA, 4, OUT)]);
    assert_eq!(guest.close().status, OK);
    board.wait_for(&Got::Close);
    guest.now_ns = 9_000_000;
    assert_eq!(guest.collect().status, Status::BadMailbox as u32);
    guest.session = 8;
    assert_eq!(guest.simple(gil_uapi::kind::OPEN).status, OK);
    guest.collect();
    assert_eq!(guest.read(DATA, 4), [0; 4]);
}

#[test]
fn a_lost_board_is_one_sessions_and_is_said_once() {
    let board = FakeBoard::new(|call| match call.args.as_slice() {
        b"die" => Act {
            hang_up: true,
            ..Act::default()
        },
        _ => cpu(0),
    });
    let mut guest = Guest::new(&board);
    let pending = waiting(with_region(enqueue(1, 1_000_000)), &[100]);
    guest.submit(&[pending], &[(DATA, 4, OUT)]);
    let die = Envelope {
        args: b"die",
        ..call(Class::Sync, 1_000_000)
    };
    let seen = guest.submit(&[die], &[]);
    assert_eq!(seen.status, Status::Lost as u32);
    assert_ne!(seen.flags & flag::PROGRESS, 0, "sleepers must learn of it");
    assert_eq!(seen.released, [1]);
    for envelope in [call(Class::Sync, 0), wait(&[1]), call(Class::Post, 0)] {
        let seen = guest.submit(&[envelope], &[]);
        assert_eq!(seen.status, Status::Lost as u32);
    }
    let warnings = guest.log.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("process 42 lost the board in"),
        "{warnings:?}"
    );
    guest.session = 8;
    guest.simple(gil_uapi::kind::OPEN);
    assert_eq!(guest.submit(&[call(Class::Sync, 0)], &[]).status, OK);
    assert!(guest.host.finish().board.lost.is_some());
}

#[test]
fn a_board_that_lies_about_lengths_is_lost() {
    let lie = Act {
        lie: true,
        ..Act::default()
    };
    let unknown = done(77, 0, 1, &[]);
    let too_much = Act {
        out: vec![vec![7; 5]],
        ..Act::default()
    };
    let another = Act {
        answers_another: true,
        ..Act::default()
    };
    for act in [lie, unknown, too_much, another] {
        let board = FakeBoard::acts([act]);
        let mut guest = Guest::new(&board);
        let query = with_region(call(Class::Query, 0));
        let seen = guest.submit(&[query], &[(DATA, 4, OUT)]);
        assert_eq!(seen.status, Status::Lost as u32);
        assert_eq!(guest.read(DATA, 8), [0; 8]);
    }
}

#[test]
fn a_refused_call_is_the_guests_fault_and_the_session_goes_on() {
    let refused = Act {
        status: CallStatus::Refused,
        result: b"there is no such context".to_vec(),
        ..Act::default()
    };
    let board = FakeBoard::acts([refused, cpu(0)]);
    let mut guest = Guest::new(&board);
    let seen = guest.submit(&[call(Class::Sync, 0)], &[]);
    assert_eq!(seen.status, Status::BadRequest as u32);
    let warning = guest.log.warnings().pop().unwrap();
    assert!(warning.contains("there is no such context"), "{warning}");
    assert_eq!(guest.submit(&[call(Class::Sync, 0)], &[]).status, OK);
}

#[test]
fn what_a_board_says_is_shown_short_and_without_control_characters() {
    let screen = b"\x1b[2J and more".repeat(50_000);
    let says = |status| Act {
        status,
        result: screen.clone(),
        ..Act::default()
    };
    let board = FakeBoard::acts([says(CallStatus::Refused), says(CallStatus::Lost)]);
    let mut guest = Guest::new(&board);
    for _ in 0..2 {
        guest.submit(&[call(Class::Sync, 0)], &[]);
        let warning = guest.log.warnings().pop().unwrap();
        assert!(warning.contains(r"\u{1b}[2J and more"), "{warning}");
        assert!(!warning.contains('\x1b') && warning.len() < 10_000);
    }
}

#[test]
fn cancel_ends_a_wait_for_the_board() {
    let board = FakeBoard::new(|_| Act {
        silent: true,
        ..Act::default()
    });
    let mut guest = Guest::new(&board);
    let cancel = guest.host.cancel();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        cancel.set();
    });
    let start = Instant::now();
    let seen = guest.submit(&[call(Class::Sync, 0)], &[]);
    assert_eq!(seen.status, Status::Lost as u32);
    assert!(
        start.elapsed() < Duration::from_secs(1),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_timeout_names_the_call() {
    let board = FakeBoard::new(|_| Act {
        silent: true,
        ..Act::default()
    });
    let config = gil_host::Config {
        board_timeout: Some(Duration::from_millis(150)),
        ..config(Some(&board))
    };
    let mut guest = Guest::with(config, false);
    let seen = guest.submit(&[call(Class::Sync, 0)], &[]);
    assert_eq!(seen.status, Status::Lost as u32);
    let warning = &guest.log.warnings()[0];
    let op = call(Class::Sync, 0).op.to_string();
    assert!(
        warning.contains(&op) && warning.contains("0.15 s"),
        "{warning}"
    );
}

#[test]
fn wall_time_on_the_board_costs_no_simulated_time() {
    let script = |delay| {
        let slow = move |call: &support::board::Call| Act {
            delay,
            ..done(call.event.unwrap(), 1_000, 40_000, &[])
        };
        let board = FakeBoard::new(slow);
        let mut guest = Guest::new(&board);
        let mut deadlines = Vec::new();
        for event in 1..=10 {
            let seen = guest.submit(&[blocking(enqueue(event, guest.now_ns))], &[]);
            deadlines.push(seen.deadline_ns);
            guest.now_ns = seen.deadline_ns + 500;
        }
        let report = guest.host.finish();
        assert_eq!(report.simulated.gpu_ns, 400_000);
        assert_eq!(report.simulated.board_cpu_ns, 10_000);
        deadlines
    };
    let expected: Vec<u64> = (0..10).map(|i| 1_041_000 + i * 41_500).collect();
    assert_eq!(script(Duration::ZERO), expected);
    assert_eq!(script(Duration::from_millis(20)), expected);
}

#[test]
fn another_version_is_refused_in_one_sentence() {
    let hello = Hello {
        version: 99,
        ..Hello::ours()
    };
    let board = FakeBoard::with_hello(hello, |_| Act::default());
    let mut guest = Guest::new(&board);
    let seen = guest.submit(&[call(Class::Sync, 0)], &[]);
    assert_eq!(seen.status, Status::Lost as u32);
    let warning = &guest.log.warnings()[0];
    assert!(warning.contains("version 99"), "{warning}");
}

#[test]
fn no_board_is_one_sentence() {
    let mut guest = Guest::with(config(None), false);
    let seen = guest.submit(&[call(Class::Sync, 0)], &[]);
    assert_eq!(seen.status, Status::Lost as u32);
    assert!(guest.log.warnings()[0].contains("board=ADDR"));
}

/// A submission: its envelopes, the regions of its mailbox, and what is wrong.
type Odd = (
    Vec<Envelope<'static>>,
    &'static [(u64, u64, u32)],
    &'static str,
);

#[test]
fn submissions_of_another_shape_are_refused() {
    let (sync, post) = (call(Class::Sync, 0), call(Class::Post, 0));
    let set = Envelope {
        signals: None,
        ..enqueue(1, 0)
    };
    let own = Envelope {
        op: control::CONSOLE,
        ..post.clone()
    };
    let out = &[(DATA, 4, OUT)];
    let not_last = "needs an answer is not the last one";
    let no_answer = "without an answer has an out region";
    let odd: [Odd; 10] = [
        (vec![sync.clone(), sync.clone()], &[], not_last),
        (vec![blocking(enqueue(1, 0)), sync.clone()], &[], not_last),
        (vec![with_region(post.clone())], out, no_answer),
        (
            vec![with_region(enqueue(1, 0)), sync.clone()],
            out,
            no_answer,
        ),
        (vec![post, own], &[], "among calls to the board"),
        (vec![with_region(sync.clone())], &[], "than the submission"),
        (vec![sync.clone()], out, "than its envelopes"),
        (vec![set], &[], "without an event"),
        (vec![enqueue(1, 0), enqueue(1, 0)], &[], "in use already"),
        (vec![enqueue(9, 0)], &[], "event 9 is in use already"),
    ];
    let board = FakeBoard::acts([done(9, 0, 1, &[])]);
    let mut guest = Guest::new(&board);
    assert_eq!(guest.submit(&[enqueue(9, 0)], &[]).status, OK);
    for (envelopes, regions, reason) in odd {
        let seen = guest.submit(&envelopes, regions);
        assert_eq!(seen.status, Status::BadRequest as u32, "{reason}");
        let warning = guest.log.warnings().pop().unwrap();
        assert!(warning.contains(reason), "{warning}");
    }
    assert_eq!(board.calls().len(), 1, "nothing of them was executed");
}

#[test]
fn polls_on_behalf_of_counted_calls_are_not_counted() {
    let board = FakeBoard::new(|call| done(call.event.unwrap_or_default(), 0, 1, &[]));
    let mut guest = Guest::new(&board);
    let mut count = |op, class| {
        let envelope = Envelope {
            op,
            class,
            ..enqueue(guest.seq + 1, 0)
        };
        guest.submit(&[envelope], &[]);
        guest.host.entry(op).map_or(0, |entry| entry.count)
    };
    assert_eq!(count(CL_ENQUEUE_READ_BUFFER, Class::Poll), 0);
    assert_eq!(count(CL_ENQUEUE_READ_BUFFER, Class::Wait), 0, "it drains");
    assert_eq!(count(CL_ENQUEUE_READ_BUFFER, Class::Enqueue), 1);
    let query = gil_wire::generated::opencl::CL_GET_EVENT_INFO;
    assert_eq!(count(query, Class::Poll), 1, "the program asked");
}

#[test]
fn who_reads_more_than_there_is_ram_waits() {
    let board = FakeBoard::new(|call| match call.event {
        Some(3) => cpu(0),
        Some(5) => done(5, 0, 1_000, &[]),
        event => done(event.unwrap(), 0, 1_000, &[&[7; RAM_SIZE as usize / 2]]),
    });
    let mut guest = Guest::new(&board);
    let half = [(DATA, RAM_SIZE / 2, OUT)];
    for event in [1, 2] {
        let seen = guest.submit(&[with_region(on_its_own(event))], &half);
        assert_eq!(seen.flags, flag::HOLD, "as much as there is RAM");
    }
    let gated = waiting(with_region(on_its_own(3)), &[100]);
    let seen = guest.submit(&[gated], &half);
    assert_eq!(seen.flags, flag::HOLD | flag::PENDING, "it cannot wait");
    let seen = guest.submit(&[on_its_own(5)], &[]);
    assert_ne!(seen.wait, SLEEP, "it reads nothing");
    let seen = guest.submit(&[with_region(on_its_own(4))], &half);
    assert_eq!((seen.wait, seen.flags & flag::HOLD), (SLEEP, 0));
}

#[test]
fn many_released_numbers_come_in_parts() {
    let board = FakeBoard::new(|call| done(call.event.unwrap(), 0, 1_000, &[b"x"]));
    let mut guest = Guest::new(&board);
    for event in 1..=20 {
        let read = with_region(enqueue(event, 1_000_000));
        guest.submit(&[read], &[(DATA + event, 1, OUT)]);
    }
    guest.now_ns = 9_000_000;
    let seen = guest.collect();
    assert_eq!(seen.released, (1..=16).collect::<Vec<_>>());
    assert_eq!(seen.flags, flag::MORE);
    let seen = guest.collect();
    assert_eq!(seen.released, [17, 18, 19, 20]);
    assert_eq!(seen.flags, 0);
    assert_eq!(guest.read(DATA + 1, 20), [b'x'; 20]);
}

fn control(op: gil_wire::Op, args: &[u8]) -> Envelope<'_> {
    Envelope {
        op,
        args,
        ..call(Class::Sync, 0)
    }
}

/// Any process of the guest may send it.
#[test]
fn a_failure_is_no_success_and_its_words_move_no_cursor() {
    let said = |reason: &str| {
        let mut guest = Guest::with(config(None), false);
        let reason = reason.into();
        let failed = Failed { code: 0, reason };
        let failed = postcard::to_stdvec(&failed).unwrap();
        guest.submit(&[control(control::FAILED, &failed)], &[]);
        guest.log.0.lock().unwrap().last().cloned()
    };
    let failed = |reason: &str| Event::Failed {
        code: 125,
        reason: reason.into(),
    };
    let cleared = failed(r"clear\u{1b}[2J\n");
    assert_eq!(said("clear\u{1b}[2J\n"), Some(cleared));
    // A run does not end with an empty sentence.
    let silent = failed("a process of the guest says that the program failed, and not why");
    assert_eq!(said(" \n"), Some(silent));
}

#[test]
fn control_calls_are_answered_without_a_board() {
    let mut guest = Guest::with(config(None), false);
    let started = postcard::to_stdvec(&Started { process: 9 }).unwrap();
    assert_eq!(
        guest
            .submit(&[control(control::STARTED, &started)], &[])
            .status,
        OK
    );
    let console = Console {
        stream: Stream::Err,
        bytes: b"hello",
    };
    let console = postcard::to_stdvec(&console).unwrap();
    let seen = guest.submit(&[control(control::CONSOLE, &console)], &[]);
    assert_eq!((seen.status, seen.wait), (OK, 0));
    let again = guest.submit_again(&[control(control::CONSOLE, &console)], &[]);
    assert_eq!(again.status, Status::Duplicate as u32);
    guest.now_ns += 5_000;
    let exited = Exited {
        code: Some(3),
        signal: None,
    };
    let exited = postcard::to_stdvec(&exited).unwrap();
    guest.submit(&[control(control::EXITED, &exited)], &[]);
    let events = guest.log.0.lock().unwrap().clone();
    let bytes = b"hello".to_vec();
    let stream = Stream::Err;
    assert_eq!(events[3], Event::Console { stream, bytes });
    assert_eq!(events.len(), 5, "{events:?}");
    let report = guest.host.finish();
    assert_eq!(report.program.exit_code, Some(3));
    assert_eq!(report.simulated.boot_ns, 1_000_000);
    assert_eq!(report.simulated.program_ns, 5_000);
    let seen = guest.submit(&[control(gil_wire::Op::new(0, 99), b"")], &[]);
    assert_eq!(
        seen.status,
        Status::BadMailbox as u32,
        "finished: no session is left"
    );
}
