//! Devices' engines, which all processes of a run have in common.

mod support;

use gil_uapi::{Status, kind};
use gil_wire::call::Handle;
use gil_wire::envelope::{Class, Engine, Envelope, Queue, State};
use gil_wire::identity::DeviceIdentity;
use support::board::{Act, FakeBoard, Got};
use support::guest::{Guest, enqueue};
use support::times::{CPU, DURATION, answers, guest, waiting};

const OK: u32 = Status::Ok as u32;

/// A device that the board has.
const DEVICE: u64 = Handle::BOARD | 2;
/// Another, or the same by another number.
const OTHER: u64 = Handle::BOARD | 3;

/// An enqueue on a queue of its own, of a device that all processes have in
/// common.
fn on_device(event: u64, entry: u64, engine: Engine) -> Envelope<'static> {
    on(DEVICE, event, entry, engine)
}

fn on(device: u64, event: u64, entry: u64, engine: Engine) -> Envelope<'static> {
    let queue = Queue {
        id: event,
        in_order: true,
        device,
    };
    Envelope {
        queue: Some(queue),
        engine,
        ..enqueue(event, entry)
    }
}

/// Two processes, whose guest this is by turns.
fn two_processes(board: &FakeBoard) -> Guest {
    let mut guest = guest(board);
    guest.session = 8;
    assert_eq!(guest.simple(kind::OPEN).status, OK);
    guest
}

#[test]
fn processes_take_turns_on_a_devices_engines() {
    let board = FakeBoard::new(answers);
    let mut guest = two_processes(&board);
    let end = |guest: &mut Guest, session: u64, event: u64| {
        guest.session = session;
        let wait = guest.submit(&[waiting(Class::Wait, &[event])], &[]);
        wait.answer().observed[0].end_ns
    };
    let begin = 1_000_000 + CPU;
    for (session, event) in [(7, 1), (8, 1), (7, 2), (8, 2)] {
        guest.session = session;
        guest.submit(&[on_device(event, 1_000_000, Engine::COMPUTE)], &[]);
    }
    guest.submit(&[on_device(3, 1_000_000, Engine::COPY_OUT)], &[]);
    // The last of one process, for which those of the other come first.
    assert_eq!(end(&mut guest, 8, 2), begin + 4 * DURATION);
    assert_eq!(end(&mut guest, 7, 2), begin + 3 * DURATION);
    assert_eq!(end(&mut guest, 7, 1), begin + DURATION);
    assert_eq!(end(&mut guest, 8, 1), begin + 2 * DURATION);
    assert_eq!(
        end(&mut guest, 8, 3),
        begin + DURATION,
        "beside the kernels"
    );
}

#[test]
fn who_waits_for_anothers_operation_is_rung_when_it_begins() {
    let board = FakeBoard::new(answers);
    let mut guest = two_processes(&board);
    let begin = 1_000_000 + CPU;
    guest.session = 7;
    guest.submit(&[on_device(1, 1_000_000, Engine::COMPUTE)], &[]);
    guest.now_ns += 2 * CPU;
    guest.submit(&[on_device(2, guest.now_ns, Engine::COMPUTE)], &[]);
    guest.session = 8;
    let other = guest.submit(&[on_device(1, guest.now_ns, Engine::COMPUTE)], &[]);
    assert_eq!(other.attention_ns, begin + DURATION, "as far as is known");
    guest.now_ns = other.attention_ns;
    let rung = guest.simple(kind::ATTEND);
    assert_eq!(rung.attention_ns, begin + 2 * DURATION, "taken meanwhile");
    guest.now_ns = rung.attention_ns;
    assert_eq!(guest.simple(kind::ATTEND).attention_ns, 0);
    let poll = guest.submit(&[waiting(Class::Poll, &[1])], &[]);
    assert_eq!(poll.answer().observed[0].state, State::Running);
    let report = guest.host.finish();
    assert_eq!(report.simulated.gpu_ns, 3 * DURATION);
}

#[test]
fn a_process_that_loses_its_board_or_ends_holds_nobody_up() {
    let board = FakeBoard::new(|call| Act {
        later: Vec::new(),
        ..answers(call)
    });
    let mut guest = two_processes(&board);
    guest.session = 7;
    guest.submit(&[on_device(1, 1_000_000, Engine::COMPUTE)], &[]);
    guest.now_ns += 2 * CPU;
    // Nobody will ever say how this ends.
    guest.submit(&[on_device(2, guest.now_ns, Engine::COMPUTE)], &[]);
    guest.session = 8;
    guest.submit(&[on_device(1, guest.now_ns, Engine::COPY_IN)], &[]);
    guest.now_ns += 5 * DURATION;
    let third = on_device(2, guest.now_ns, Engine::COMPUTE);
    assert_eq!(guest.submit(&[third], &[]).status, OK);
    let wait = guest.submit(&[waiting(Class::Wait, &[2])], &[]);
    assert_eq!(wait.answer().observed[0].start_ns, guest.now_ns + CPU);
    guest.session = 7;
    let lost = guest.submit(&[waiting(Class::Wait, &[2])], &[]);
    assert_eq!(lost.status, Status::Lost as u32);
}

fn uuid(byte: u8) -> Option<DeviceIdentity> {
    Some(DeviceIdentity {
        uuid: Some([byte; 16]),
        place: format!("by the name of the API that says {byte}"),
        ..DeviceIdentity::default()
    })
}

/// When a kernel on `DEVICE` and one on `OTHER` end that are enqueued at once,
/// by two processes.
fn ends(first: Option<DeviceIdentity>, second: Option<DeviceIdentity>) -> [u64; 2] {
    let board = FakeBoard::new(answers);
    let identities = [(DEVICE, first), (OTHER, second)].into();
    board.objects.lock().unwrap().identities = identities;
    let mut guest = two_processes(&board);
    for (session, device) in [(7, DEVICE), (8, OTHER)] {
        guest.session = session;
        guest.submit(&[on(device, 1, 1_000_000, Engine::COMPUTE)], &[]);
    }
    [7, 8].map(|session| {
        guest.session = session;
        let wait = guest.submit(&[waiting(Class::Wait, &[1])], &[]);
        wait.answer().observed[0].end_ns
    })
}

#[test]
fn one_physical_device_has_one_engine_by_whatever_numbers_it_is_used() {
    let alone = 1_000_000 + CPU + DURATION;
    assert_eq!(ends(uuid(1), uuid(1)), [alone, alone + DURATION]);
    assert_eq!(ends(uuid(1), uuid(2)), [alone, alone]);
    assert_eq!(ends(None, None), [alone, alone], "nobody else's");
}

#[test]
fn the_board_is_asked_once_for_each_device_of_a_session() {
    let board = FakeBoard::new(answers);
    let mut guest = guest(&board);
    for event in 1..4 {
        guest.submit(&[on_device(event, 1_000_000, Engine::COMPUTE)], &[]);
    }
    // One that the process made by itself is its own.
    guest.submit(&[on(5, 9, 1_000_000, Engine::COMPUTE)], &[]);
    let asked = board
        .got()
        .into_iter()
        .filter(|got| matches!(got, Got::Identify(_)));
    assert_eq!(asked.collect::<Vec<_>>(), [Got::Identify(DEVICE)]);
}
