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
