//! What the target adds to what the board measured, by the setting `costs`.

mod support;

use gil_host::Config;
use gil_host::config::Time;
use gil_uapi::WaitKind;
use gil_wire::envelope::{Class, Engine, Envelope};
use support::board::{Act, FakeBoard};
use support::guest::{Guest, call, enqueue};
use support::times::{CPU, DURATION, answers};

const ENTRY: u64 = 1_000_000;

/// A guest on a target that adds this.
fn guest(board: &FakeBoard, costs: &str, time: Time) -> Guest {
    let config = Config {
        board: Some(board.address()),
        time,
        costs: costs.parse().unwrap(),
        ..Config::default()
    };
    let mut guest = Guest::with(config, false);
    guest.now_ns = ENTRY;
    guest
}

/// When a thread goes on that waits for the first operation, and for the second.
fn ends(costs: &str, time: Time) -> [u64; 2] {
    let board = FakeBoard::new(answers);
    let mut guest = guest(&board, costs, time);
    guest.submit(&[enqueue(1, ENTRY)], &[]);
    guest.submit(&[enqueue(2, ENTRY)], &[]);
    [1, 2].map(|event| {
        let wait = Envelope {
            waits: vec![event].into(),
            ..call(Class::Wait, ENTRY)
        };
        guest.submit(&[wait], &[]).deadline_ns
    })
}

#[test]
fn launches_gaps_and_completions_are_the_targets() {
    let base = ENTRY + CPU;
    for time in [Time::Async, Time::Strict] {
        assert_eq!(ends("cpu:1", time), [base + DURATION, base + 2 * DURATION]);
        let costs = "opencl.launch:30000+opencl.gap:4000+opencl.completion:7000";
        let first = base + 30_000 + DURATION;
        let expected = [first + 7_000, first + 4_000 + DURATION + 7_000];
        assert_eq!(ends(costs, time), expected, "{time:?}");
    }
}

#[test]
fn operations_of_a_queue_are_submitted_one_after_the_other() {
    let base = ENTRY + CPU;
    for time in [Time::Async, Time::Strict] {
        // The second is submitted while the first is executed, or later.
        let first = base + 6_000 + DURATION;
        let expected = [first, first + DURATION];
        assert_eq!(ends("opencl.submit:6000", time), expected, "{time:?}");
    }
    let first = base + 30_000 + DURATION;
    let expected = [first, base + 60_000 + DURATION];
    assert_eq!(ends("opencl.submit:30000", Time::Async), expected);
}

#[test]
fn a_copy_by_the_bus_has_the_drivers_work_in_it() {
    let returns = |costs: &str| {
        let board = FakeBoard::new(|call| Act {
            cpu_ns: 50_000,
            ..answers(call)
        });
        let mut guest = guest(&board, costs, Time::Async);
        let copy = Envelope {
            engine: Engine::COPY_IN,
            ..enqueue(1, ENTRY)
        };
        guest.submit(&[copy], &[]).deadline_ns
    };
    assert_eq!(returns("opencl.launch:9"), ENTRY + 50_000);
    // What takes a thread on the board 50 us takes the bus 4.
    assert_eq!(returns("opencl.to:4000/1e9"), ENTRY + 4_000);
    assert_eq!(returns("opencl.to:80000/1e9"), ENTRY + 50_000);
}

#[test]
fn durations_are_on_the_regressions_line() {
    let base = ENTRY + CPU;
    let lasts = DURATION * 3 / 2 - 500;
    let found = ends("opencl.scale:1.5+opencl.offset:-500", Time::Async);
    assert_eq!(found, [base + lasts, base + 2 * lasts]);
}

#[test]
fn the_targets_cpu_takes_its_own_time() {
    let act = Act {
        cpu_ns: CPU,
        ..Act::default()
    };
    let board = FakeBoard::acts([act]);
    let mut guest = guest(&board, "cpu:2.5", Time::Async);
    let seen = guest.submit(&[call(Class::Sync, ENTRY)], &[]);
    assert_eq!(seen.wait, WaitKind::Occupy as u32);
    assert_eq!(seen.deadline_ns, ENTRY + 250);
    let simulated = guest.host.finish().simulated;
    assert_eq!(
        (simulated.board_cpu_ns, simulated.target_cpu_ns),
        (CPU, 250)
    );
}

#[test]
fn the_guests_library_stands_for_the_driver() {
    // A call's return, and the end of an enqueue that it waits for.
    let after = |costs: &str, spent: [u32; 2], class| {
        let board = FakeBoard::new(|call| Act {
            cpu_ns: 1_100,
            posted_ns: 1_000,
            ..call.event.map_or_else(Act::default, |_| answers(call))
        });
        let mut guest = guest(&board, costs, Time::Async);
        let post = |spent| Envelope {
            spent,
            ..call(Class::Post, ENTRY - 2_000)
        };
        let last = match class {
            Class::Enqueue => Envelope {
                blocking: true,
                ..enqueue(1, ENTRY)
            },
            _ => call(class, ENTRY),
        };
        // Those of a submission that is full, and those before the call.
        guest.submit(&[post(spent[0])], &[]);
        let seen = guest.submit(&[post(spent[1]), last], &[]);
        (seen.deadline_ns as i64).max(ENTRY as i64) - ENTRY as i64
    };
    let sync = |costs: &str, spent| after(costs, spent, Class::Sync);
    assert_eq!(sync("cpu:1", [0, 0]), 1_100);
    assert_eq!(sync("cpu:1", [300, 200]), 600);
    assert_eq!(sync("cpu:2", [300, 200]), 1_700);
    // Each post takes so much less than on the board, and none less than nothing.
    assert_eq!(sync("opencl.post:300", [0, 0]), 800);
    assert_eq!(sync("opencl.post:5000", [0, 0]), 100);
    assert_eq!(sync("cpu:1", [1_500, 0]), 0, "that long the library took");
    let draws = |spent| after("cpu:1", spent, Class::Enqueue) - DURATION as i64;
    assert_eq!([draws([0, 0]), draws([300, 200])], [1_100, 600]);
    assert_eq!(draws([900, 600]), -400, "the driver was there earlier");
    let long = DURATION as u32;
    assert_eq!(
        draws([long, long]),
        -(DURATION as i64),
        "what has passed has"
    );
}

#[test]
fn a_thread_that_is_late_catches_up_where_it_waits() {
    let board = FakeBoard::new(|call| Act {
        cpu_ns: 700,
        posted_ns: 200,
        ..call.event.map_or_else(Act::default, |_| answers(call))
    });
    let mut guest = guest(&board, "cpu:1", Time::Async);
    let spent = |envelope, spent| Envelope { spent, ..envelope };
    // Answered when it would have returned long ago; it took the library 3 us.
    guest.now_ns = ENTRY + 2_000;
    let first = guest.submit(&[call(Class::Sync, ENTRY)], &[]);
    assert_eq!(first.wait, WaitKind::None as u32);
    let entry = ENTRY + 3_000;
    guest.now_ns = entry;
    let draw = |event, at| Envelope {
        blocking: true,
        ..enqueue(event, at)
    };
    let second = guest.submit(&[spent(draw(1, entry), 3_000)], &[]);
    let called = entry + 700 - (3_000 - 700);
    assert_eq!(second.deadline_ns, called + DURATION);
    // It has waited: what it took before is no part of what comes.
    guest.now_ns = second.deadline_ns;
    let third = guest.submit(&[draw(2, guest.now_ns)], &[]);
    assert_eq!(third.deadline_ns, guest.now_ns + 700 + DURATION);
    // Late is who called since, but what it calls is behind what it has seen to end.
    let entry = third.deadline_ns + 15_000;
    guest.now_ns = entry;
    let asked = guest.submit(&[call(Class::Query, entry - 1_000)], &[]);
    assert_eq!(asked.wait, WaitKind::None as u32);
    let wait = Envelope {
        waits: vec![2].into(),
        ..call(Class::Wait, entry)
    };
    guest.submit(&[wait], &[]);
    let other = Envelope {
        engine: Engine(2),
        queue: None,
        ..draw(3, entry)
    };
    let seen = guest.submit(&[spent(other, 4_000_000)], &[]);
    assert_eq!(seen.wait, WaitKind::None as u32, "it ended before");
    let ended = guest.submit(
        &[Envelope {
            waits: vec![3].into(),
            ..call(Class::Poll, entry)
        }],
        &[],
    );
    let start = ended.answer().observed[0].start_ns;
    assert!(start >= third.deadline_ns, "{start}");
}

#[test]
fn what_the_library_took_before_a_pause_is_still_the_drivers() {
    let board = FakeBoard::new(|_| Act {
        cpu_ns: 700,
        posted_ns: 200,
        ..Act::default()
    });
    let mut guest = guest(&board, "cpu:1", Time::Async);
    guest.now_ns = ENTRY + 200;
    let spent = |spent| Envelope {
        spent,
        ..call(Class::Post, ENTRY)
    };
    for (took, returns) in [(150, 550), (5_000, 500)] {
        guest.submit(&[spent(took)], &[]);
        let later = guest.now_ns + 30_000;
        guest.now_ns = later;
        let seen = guest.submit(&[call(Class::Sync, later)], &[]);
        assert_eq!(seen.deadline_ns, later + returns);
        guest.now_ns = ENTRY + 200;
    }
}

#[test]
fn a_kernels_driver_says_nothing_of_its_time() {
    let board = FakeBoard::new(|_| Act {
        cpu_ns: 700,
        posted_ns: 200,
        ..Act::default()
    });
    let mut guest = guest(&board, "cpu:1", Time::Async);
    guest.now_ns = ENTRY + 2_000;
    for n in 0..3 {
        let at_once = guest.submit(&[call(Class::Sync, ENTRY + n)], &[]);
        assert_eq!(at_once.wait, WaitKind::None as u32);
    }
    let next = guest.submit(&[call(Class::Sync, guest.now_ns)], &[]);
    assert_eq!(next.deadline_ns, guest.now_ns + 700);
}

#[test]
fn a_thread_that_did_something_else_is_on_time() {
    let board = FakeBoard::new(|call| Act {
        cpu_ns: 700,
        posted_ns: 200,
        ..call.event.map_or_else(Act::default, |_| answers(call))
    });
    let mut guest = guest(&board, "cpu:1", Time::Async);
    guest.now_ns = ENTRY + 2_000;
    guest.submit(&[call(Class::Sync, ENTRY)], &[]);
    let entry = guest.now_ns + 30_000;
    let post = Envelope {
        spent: 9_000,
        ..call(Class::Post, entry)
    };
    let draw = Envelope {
        blocking: true,
        ..enqueue(1, entry + 300)
    };
    guest.now_ns = entry + 300;
    let seen = guest.submit(&[post, draw], &[]);
    // Of what was spent only what has passed since the post counts.
    assert_eq!(seen.deadline_ns, entry + 300 + 700 - 300 + DURATION);
}

#[test]
fn what_is_read_is_read_behind_what_was_drawn() {
    let goes_on = |costs: &str, engine| {
        let board = FakeBoard::new(|call| Act {
            cpu_ns: 9_000,
            posted_ns: 2_000,
            ..answers(call)
        });
        let mut guest = guest(&board, costs, Time::Async);
        let read = Envelope {
            engine,
            blocking: true,
            ..enqueue(1, ENTRY)
        };
        let seen = guest.submit(&[read], &[]);
        assert_eq!(seen.status, gil_uapi::Status::Ok as u32, "{seen:?}");
        seen.deadline_ns
    };
    let drawn = ENTRY + 2_000 + DURATION;
    // The read of 7 us begins with the launch that it would need alone, and ends no earlier
    // than a thread that waits goes on.
    for (costs, after) in [
        ("opencl.gap:0", 7_000),
        ("opencl.launch:3000", 3_000 + 4_000),
        ("opencl.submit:1000+opencl.launch:3000", 4_000 + 3_000),
        ("opencl.launch:3000+opencl.completion:3500", 3_000 + 4_000),
        ("opencl.completion:8000", 8_000),
    ] {
        assert_eq!(goes_on(costs, Engine::GRAPHICS), drawn + after, "{costs}");
    }
    let compute = goes_on("opencl.gap:0", Engine::COMPUTE);
    assert_eq!(compute, ENTRY + 9_000 + DURATION, "it copies by itself");
}

#[test]
fn other_apis_have_their_own() {
    let base = ENTRY + CPU;
    let found = ends("gles.launch:30000+gles.scale:2", Time::Async);
    assert_eq!(found, [base + DURATION, base + 2 * DURATION]);
}

#[test]
fn what_ended_long_ago_is_not_waited_for() {
    let board = FakeBoard::new(answers);
    let mut guest = guest(&board, "opencl.completion:7000", Time::Async);
    guest.submit(&[enqueue(1, ENTRY)], &[]);
    guest.now_ns = ENTRY + 2 * DURATION;
    let wait = Envelope {
        waits: vec![1].into(),
        ..call(Class::Wait, guest.now_ns)
    };
    assert_eq!(guest.submit(&[wait], &[]).wait, WaitKind::None as u32);
}

#[test]
fn a_governor_changes_what_starts_later() {
    let base = ENTRY + CPU;
    for time in [Time::Async, Time::Strict] {
        let from = base + DURATION;
        let costs = format!("opencl.clock:{from}/0.5");
        let second = base + DURATION + DURATION / 2;
        assert_eq!(ends(&costs, time), [base + DURATION, second], "{time:?}");
        let costs = format!("opencl.clock:0/2+opencl.clock:{}/0.5", base + 2 * DURATION);
        let second = base + 2 * DURATION + DURATION / 2;
        assert_eq!(
            ends(&costs, time),
            [base + 2 * DURATION, second],
            "{time:?}"
        );
    }
}

#[test]
fn a_device_that_sleeps_wakes_once() {
    let base = ENTRY + CPU;
    let woken = [base + 500 + DURATION, base + 500 + 2 * DURATION];
    assert_eq!(ends("opencl.wake:1000/500", Time::Async), woken);
    let awake = [base + DURATION, base + 2 * DURATION];
    let never = format!("opencl.wake:{}/500", 2 * ENTRY);
    assert_eq!(ends(&never, Time::Async), awake);
}
