//! Asynchronous time: the board works on while the simulation goes on, and
//! simulated times are as if it had not.

mod support;

use gil_uapi::{REPLY_MAX, Status, WaitKind, flag, kind};
use gil_wire::ending::Ending;
use gil_wire::envelope::{
    Class, Engine, Envelope, MORE_NOTICES, MORE_TEXT, Observation, PRINTED_MAX, Queue, State,
};
use std::time::Duration;
use support::board::{Act, FakeBoard, Got, Later};
use support::guest::{DATA, Guest, IN, OUT, RAM_SIZE, call, enqueue};
use support::times::{CPU, DURATION, answers, guest, waiting};

const OK: u32 = Status::Ok as u32;
const SLEEP: u32 = WaitKind::Sleep as u32;

fn awaited(board: &FakeBoard) -> Vec<u64> {
    let got = board.got().into_iter();
    let events = got.filter_map(|got| match got {
        Got::Await(event) => Some(event),
        _ => None,
    });
    events.collect()
}

fn on(queue: u64, envelope: Envelope<'static>) -> Envelope<'static> {
    let queue = Queue {
        id: queue,
        in_order: false,
        device: 1,
    };
    Envelope {
        queue: Some(queue),
        ..envelope
    }
}

fn set(event: u64, entry: u64) -> Envelope<'static> {
    Envelope {
        signals: Some(event),
        args: b"set",
        ..call(Class::Sync, entry)
    }
}

#[test]
fn durations_are_learnt_when_their_operations_start() {
    let board = FakeBoard::new(answers);
    let mut guest = guest(&board);
    let first = guest.submit(&[enqueue(1, 1_000_000)], &[]);
    assert!(board.calls()[0].finish, "the device is idle");
    assert_eq!(first.attention_ns, 0, "nothing follows");
    guest.now_ns = 1_000_200;
    let second = guest.submit(&[enqueue(2, 1_000_200)], &[]);
    assert!(!board.calls()[1].finish, "it starts later");
    assert_eq!(second.flags & flag::PENDING, flag::PENDING);
    assert_eq!(second.attention_ns, 1_000_100 + DURATION);
    guest.now_ns = second.attention_ns - 1;
    let poll = guest.submit(&[waiting(Class::Poll, &[1, 2])], &[]);
    let states = |seen: &support::guest::Seen| {
        let observed = seen.answer().observed;
        observed.iter().map(|o| o.state).collect::<Vec<_>>()
    };
    assert_eq!(states(&poll), [State::Running, State::Queued]);
    assert!(awaited(&board).is_empty());
    guest.now_ns += 1;
    let attended = guest.simple(kind::ATTEND);
    assert_eq!((attended.status, attended.attention_ns), (OK, 0));
    assert_eq!(awaited(&board), [2]);
    let poll = guest.submit(&[waiting(Class::Poll, &[1, 2])], &[]);
    assert_eq!(states(&poll), [State::Complete, State::Running]);
    let wait = guest.submit(&[waiting(Class::Wait, &[2])], &[]);
    assert_eq!(
        (wait.wait, wait.deadline_ns),
        (SLEEP, 1_000_100 + 2 * DURATION)
    );
    assert_eq!(awaited(&board), [2], "each is awaited once");
    let report = guest.host.finish();
    assert_eq!(report.simulated.gpu_ns, 2 * DURATION);
}

/// All but the first wait for the one before.
fn enqueue_four(guest: &mut Guest) {
    for event in 1..=4 {
        guest.submit(&[enqueue(event, guest.now_ns)], &[]);
        guest.now_ns = 1_000_200;
    }
}

/// Four launches, one behind the other; the end of the second comes with those
/// in `with`. What is seen of them all, and which were asked for.
fn four(with: Vec<u64>) -> (Vec<Observation>, Vec<u64>) {
    let board = FakeBoard::new(move |call| Act {
        later: answers(call)
            .later
            .into_iter()
            .map(|later| with_them(later, &with))
            .collect(),
        ..answers(call)
    });
    let mut guest = guest(&board);
    enqueue_four(&mut guest);
    guest.now_ns = 1_000_100 + DURATION;
    let early = guest.submit(&[waiting(Class::Poll, &[1, 2, 3, 4])], &[]);
    let mut seen = early.answer().observed.to_vec();
    let all = guest.submit(&[waiting(Class::Wait, &[1, 2, 3, 4])], &[]);
    seen.extend(all.answer().observed.iter().copied());
    assert_eq!(all.deadline_ns, 1_000_100 + 4 * DURATION);
    assert_eq!(guest.host.finish().simulated.gpu_ns, 4 * DURATION);
    (seen, awaited(&board))
}

fn with_them(later: Later, with: &[u64]) -> Later {
    let with = with.iter().filter(|_| later.event == 2);
    Later {
        with: with.copied().collect(),
        ..later
    }
}

#[test]
fn ends_that_come_together_change_nothing_but_what_is_asked_for() {
    let (alone, asked) = four(vec![]);
    assert_eq!(asked, [2, 3, 4]);
    let (together, asked) = four(vec![3, 4]);
    assert_eq!(asked, [2]);
    assert_eq!(alone, together);
}

/// Three batches of launches that nobody waits for, and what is seen of them in the end;
/// after each batch, the program looks at what `looks` names.
fn batches(looks: &[u64]) -> (Vec<Observation>, FakeBoard, u64) {
    let board = FakeBoard::new(answers);
    let mut guest = guest(&board);
    let mut attention_ns = 0;
    for batch in 0..3 {
        let own = 1 + 4 * batch..5 + 4 * batch;
        let entry = |event| 1_000_000 + event * DURATION / 2;
        let mut envelopes: Vec<_> = own.map(|event| enqueue(event, entry(event))).collect();
        envelopes.push(waiting(Class::Poll, &[]));
        guest.now_ns = entry(5 + 4 * batch);
        let seen = guest.submit(&envelopes, &[]);
        assert_eq!(seen.status, OK);
        attention_ns = seen.attention_ns.wrapping_sub(guest.now_ns);
        if !looks.is_empty() {
            guest.submit(&[waiting(Class::Poll, looks)], &[]);
        }
    }
    if looks.is_empty() {
        assert!(awaited(&board).is_empty(), "nobody asked");
    }
    let all: Vec<u64> = (1..=12).collect();
    let seen = guest.submit(&[waiting(Class::Wait, &all)], &[]);
    (seen.answer().observed.to_vec(), board, attention_ns)
}

#[test]
fn operations_that_nobody_waits_for_are_published_together_and_at_the_same_times() {
    let (later, board, attention_ns) = batches(&[]);
    assert_eq!(awaited(&board).len(), 12);
    assert_eq!(attention_ns, 1_000_000, "the driver rings for them");
    let (at_once, board, _) = batches(&[1]);
    assert_eq!(awaited(&board).len(), 12);
    assert_eq!(later, at_once);
}

#[test]
fn what_may_have_output_is_published_at_every_doorbell() {
    let board = reads(late_read());
    let mut guest = guest(&board);
    guest.submit(&[enqueue(1, 1_000_000)], &[]);
    guest.submit(&[with_region(enqueue(2, 1_000_000))], &[(DATA, 4, OUT)]);
    guest.now_ns = 1_000_100 + DURATION + 1_000;
    let batch = [enqueue(3, guest.now_ns), waiting(Class::Poll, &[])];
    assert_eq!(guest.submit(&batch, &[]).status, OK);
    assert_eq!(awaited(&board)[0], 2);
    assert_eq!(guest.read(DATA, 4), b"made");
}

/// The board has them all before the first is on the timeline.
#[test]
fn ends_of_operations_in_front_come_together_too() {
    let board = FakeBoard::new(|call| Act {
        later: answers(call)
            .later
            .into_iter()
            .map(|later| with_them(later, &[3, 4]))
            .collect(),
        ..answers(call)
    });
    let mut guest = guest(&board);
    guest.now_ns = 1_000_000 + 8 * DURATION;
    let mut envelopes: Vec<_> = (2..=4)
        .map(|event| enqueue(event, 1_000_000 + event * DURATION))
        .collect();
    envelopes.push(waiting(Class::Wait, &[2, 3, 4]));
    let seen = guest.submit(&envelopes, &[]);
    assert_eq!(seen.status, OK);
    let answer = seen.answer();
    let starts: Vec<_> = answer.observed.iter().map(|o| o.start_ns).collect();
    assert_eq!(starts, [2, 3, 4].map(|event| 1_000_000 + event * DURATION));
    assert_eq!(awaited(&board), [2]);
}

#[test]
fn ends_that_nobody_can_take_lose_the_session() {
    let text = |event| Later {
        event,
        text: b"text".to_vec(),
        ..Later::default()
    };
    let unknown = |event| Later {
        tells_of: Some(9),
        event,
        ..Later::default()
    };
    let twice = |event| Later {
        tells_of: Some(4),
        event,
        ..Later::default()
    };
    let itself = |event| Later {
        tells_of: Some(2),
        event,
        ..Later::default()
    };
    let kinds: [fn(u64) -> Later; 4] = [text, unknown, twice, itself];
    for kind in kinds {
        let board = FakeBoard::new(move |call| Act {
            later: match call.event {
                Some(2) => vec![Later {
                    with: vec![3, 4],
                    event: 2,
                    ..Later::default()
                }],
                Some(3) => vec![kind(3)],
                event => answers(call)
                    .later
                    .into_iter()
                    .filter(|l| Some(l.event) == event)
                    .collect(),
            },
            ..answers(call)
        });
        let mut guest = guest(&board);
        enqueue_four(&mut guest);
        let wait = guest.submit(&[waiting(Class::Wait, &[2])], &[]);
        assert_eq!(wait.status, Status::Lost as u32);
    }
}

#[test]
fn what_is_waited_for_ends_before_its_answer() {
    let board = FakeBoard::new(answers);
    let mut guest = guest(&board);
    guest.submit(&[enqueue(1, 1_000_000)], &[]);
    let blocking = Envelope {
        blocking: true,
        ..enqueue(2, 1_000_000)
    };
    let seen = guest.submit(&[blocking], &[]);
    assert_eq!(seen.deadline_ns, 1_000_000 + CPU + 2 * DURATION);
    assert!(board.calls()[1].finish, "though it starts later");
    assert!(awaited(&board).is_empty());
}

#[test]
fn a_wait_publishes_what_it_needs_in_order() {
    let board = FakeBoard::new(answers);
    let mut guest = guest(&board);
    for event in 1..=4 {
        let engine = if event == 4 {
            Engine::COPY_OUT
        } else {
            Engine::COMPUTE
        };
        let envelope = Envelope {
            engine,
            ..on(event, enqueue(event, 1_000_000))
        };
        guest.submit(&[envelope], &[]);
    }
    let wait = guest.submit(&[waiting(Class::Wait, &[2])], &[]);
    assert_eq!(wait.deadline_ns, 1_000_100 + 2 * DURATION);
    let finish = |queue| Envelope {
        queue: on(queue, enqueue(0, 0)).queue,
        ..call(Class::Wait, 0)
    };
    let all = guest.submit(&[finish(3)], &[]);
    assert_eq!(all.deadline_ns, 1_000_100 + 3 * DURATION);
    let copy = guest.submit(&[finish(4)], &[]);
    assert_eq!(copy.deadline_ns, 1_000_100 + DURATION, "beside the kernels");
}

#[test]
fn a_look_never_sleeps_and_says_what_is_blocked() {
    let board = FakeBoard::new(answers);
    let mut guest = guest(&board);
    guest.submit(&[on(1, enqueue(1, 1_000_000))], &[]);
    guest.submit(&[on(1, enqueue(2, 1_000_000))], &[]);
    let blocked = Envelope {
        waits: vec![100].into(),
        ..on(1, enqueue(3, 1_000_000))
    };
    guest.submit(&[blocked], &[]);
    let look = guest.submit(&[waiting(Class::Look, &[2, 3, 100])], &[]);
    assert_eq!((look.status, look.wait, look.deadline_ns), (OK, 0, 0));
    let observed = look.answer().observed;
    let ends: Vec<_> = observed.iter().map(|o| (o.state, o.end_ns)).collect();
    assert_eq!(
        ends,
        [
            (State::Queued, 1_000_100 + 2 * DURATION),
            (State::Queued, 0),
            (State::Queued, 0)
        ]
    );
    guest.now_ns = 2_000_000;
    let seen = guest.submit(&[set(100, 2_000_000)], &[]);
    assert_ne!(seen.flags & flag::PROGRESS, 0);
    assert_eq!(seen.attention_ns, 2_000_100);
    let look = guest.submit(&[waiting(Class::Look, &[3])], &[]);
    assert_eq!(look.answer().observed[0].end_ns, 2_000_100 + DURATION);
}

fn reads(later: Later) -> FakeBoard {
    FakeBoard::new(move |call| Act {
        later: match call.event {
            Some(2) => vec![later.clone()],
            _ => vec![],
        },
        ..match call.event {
            Some(2) => Act::default(),
            _ => answers(call),
        }
    })
}

fn late_read() -> Later {
    Later {
        event: 2,
        duration_ns: 500,
        out: vec![b"made".to_vec()],
        text: b"hello from the kernel\n".to_vec(),
        ..Later::default()
    }
}

fn with_region(envelope: Envelope<'static>) -> Envelope<'static> {
    Envelope {
        regions: 1,
        ..envelope
    }
}

#[test]
fn output_and_text_arrive_at_their_simulated_end() {
    let board = reads(late_read());
    let mut guest = guest(&board);
    guest.submit(&[enqueue(1, 1_000_000)], &[]);
    let read = guest.submit(&[with_region(enqueue(2, 1_000_000))], &[(DATA, 4, OUT)]);
    assert_eq!(read.flags, flag::HOLD | flag::PENDING);
    assert_eq!(read.attention_ns, 1_000_100 + DURATION);
    guest.now_ns = read.attention_ns + 50;
    let started = guest.simple(kind::ATTEND);
    assert_eq!(started.attention_ns, 1_000_100 + DURATION + 500);
    assert_eq!(guest.read(DATA, 4), [0; 4]);
    let wait = guest.submit(&[waiting(Class::Wait, &[2])], &[]);
    assert_eq!(wait.deadline_ns, started.attention_ns);
    assert_eq!(wait.flags, flag::COLLECT);
    let patience = gil_wire::control::LATE_NS * 2 / 5;
    assert_eq!(
        wait.attention_ns,
        wait.deadline_ns + patience,
        "if its own thread does not"
    );
    assert_eq!(
        (wait.answer().printed, wait.answer().more),
        (&b""[..], MORE_TEXT),
        "who waits has it too late to write it"
    );
    guest.now_ns = started.attention_ns + 20;
    let arrived = guest.simple(kind::ATTEND);
    assert_eq!(guest.read(DATA, 4), b"made");
    assert!(arrived.released.is_empty(), "an interrupt cannot unpin");
    assert_eq!(guest.collect().released, [2]);
    let poll = guest.submit(&[call(Class::Poll, guest.now_ns)], &[]);
    assert_eq!(poll.answer().printed, b"hello from the kernel\n");
    assert_eq!(guest.host.finish().totals.late_deliveries, 0);
}

#[test]
fn text_that_is_asked_for_takes_the_room_of_an_answer() {
    const TEXT: usize = 2 * PRINTED_MAX + 300;
    let text = [b't'; TEXT].to_vec();
    let board = FakeBoard::new(move |call| match call.event {
        Some(1) => Act {
            later: vec![Later {
                event: 1,
                duration_ns: DURATION,
                text: text.clone(),
                ..Later::default()
            }],
            ..Act::default()
        },
        _ => Act {
            result: vec![b'r'; usize::from(u16::from_le_bytes([call.args[0], call.args[1]]))],
            ..Act::default()
        },
    });
    let mut guest = guest(&board);
    guest.submit(&[enqueue(1, 1_000_000)], &[]);
    let mut room = REPLY_MAX as usize;
    let told = |guest: &mut Guest, len: usize| {
        let query = Envelope {
            args: &(len as u16).to_le_bytes(),
            ..call(Class::Query, guest.now_ns)
        };
        let seen = guest.submit(&[query], &[]);
        assert_eq!(seen.status, OK, "{:?}", guest.log.warnings());
        let answer = seen.answer();
        let (printed, more) = (answer.printed.len(), answer.more);
        (seen.reply.len() - len, printed, more)
    };
    let (head, ..) = told(&mut guest, 8000);
    room -= head;
    guest.now_ns += 2 * DURATION;
    assert_eq!(told(&mut guest, room), (head, 0, MORE_TEXT), "it is full");
    assert_eq!(told(&mut guest, 8).1, 0, "it has to be asked for");
    let mut asked = || {
        let poll = guest.submit(&[call(Class::Poll, guest.now_ns)], &[]);
        let answer = poll.answer();
        (answer.printed.len(), answer.more)
    };
    let most = PRINTED_MAX;
    assert_eq!([asked(), asked()], [(most, MORE_TEXT); 2]);
    assert_eq!(asked(), (TEXT - 2 * most, 0));
    let (_, printed, more) = told(&mut guest, 8);
    assert_eq!((printed, more), (0, 0));
}

#[test]
fn the_board_keeps_no_more_input_than_there_is_ram() {
    let board = FakeBoard::new(answers);
    let mut guest = guest(&board);
    let third = [(DATA, RAM_SIZE * 3 / 8, IN)];
    for event in 1..=3 {
        guest.submit(&[with_region(enqueue(event, 1_000_000))], &third);
    }
    assert!(awaited(&board).is_empty(), "the first ended with its call");
    guest.submit(&[with_region(enqueue(4, 1_000_000))], &third);
    assert_eq!(awaited(&board), [2]);
    let wait = guest.submit(&[waiting(Class::Wait, &[4])], &[]);
    assert_eq!(
        wait.answer().observed[0].end_ns,
        1_000_000 + CPU + 4 * DURATION
    );
}

#[test]
fn input_that_just_fits_into_ram_waits_for_nothing() {
    let board = FakeBoard::new(answers);
    let mut guest = guest(&board);
    guest.submit(&[enqueue(1, 1_000_000)], &[]);
    let half = [(DATA, RAM_SIZE / 2, IN)];
    for event in 2..=3 {
        guest.submit(&[with_region(enqueue(event, 1_000_000))], &half);
    }
    guest.submit(&[enqueue(4, 1_000_000)], &[]);
    assert!(awaited(&board).is_empty());
    guest.submit(&[with_region(enqueue(5, 1_000_000))], &[(DATA, 1, IN)]);
    assert_eq!(awaited(&board), [2]);
}

#[test]
fn who_brings_no_input_waits_for_nothing() {
    let board = FakeBoard::new(answers);
    let mut guest = guest(&board);
    let half = [(DATA, RAM_SIZE / 2, IN)];
    // Behind an event that nobody sets: the board has to keep all of it.
    for event in 1..=3 {
        let gated = Envelope {
            waits: vec![100].into(),
            ..on(event, with_region(enqueue(event, 1_000_000)))
        };
        assert_eq!(guest.submit(&[gated], &half).status, OK);
    }
    for event in 4..=6 {
        guest.submit(&[enqueue(event, 1_000_000)], &[]);
    }
    assert!(awaited(&board).is_empty());
}

#[test]
fn output_does_not_end_with_an_enqueue_in_front_of_its_own() {
    let board = FakeBoard::new(|call| match call.event {
        Some(3) => Act {
            cpu_ns: 30_000,
            later: vec![Later {
                event: 3,
                ..late_read()
            }],
            ..Act::default()
        },
        _ => answers(call),
    });
    let mut guest = guest(&board);
    guest.submit(&[enqueue(1, 1_000_000)], &[]);
    let both = [enqueue(2, 1_000_000), with_region(enqueue(3, 1_000_000))];
    let read = guest.submit(&both, &[(DATA, 4, OUT)]);
    assert_eq!(read.flags, flag::HOLD | flag::PENDING);
    guest.now_ns = 1_000_100 + 2 * DURATION + 1_000;
    guest.simple(kind::ATTEND);
    assert_eq!(awaited(&board), [2], "the read is not submitted yet");
    assert!(guest.collect().released.is_empty());
    let wait = guest.submit(&[waiting(Class::Wait, &[3])], &[]);
    assert_eq!(wait.deadline_ns, 1_030_000 + 500);
    guest.now_ns = wait.deadline_ns;
    assert_eq!(guest.collect().released, [2]);
    assert_eq!(guest.read(DATA, 4), b"made");
}

/// Of several outputs during one wait, each comes at its own end.
#[test]
fn output_that_ends_long_before_a_wait_does_is_rung_for() {
    let board = FakeBoard::new(|call| Act {
        later: vec![Later {
            event: call.event.unwrap_or_default(),
            duration_ns: 1_000_000,
            out: vec![b"made".to_vec()],
            ..Later::default()
        }],
        cpu_ns: CPU,
        ..Act::default()
    });
    let mut guest = guest(&board);
    for event in 1..=3 {
        let at = DATA + 8 * event;
        guest.submit(&[with_region(enqueue(event, 1_000_000))], &[(at, 4, OUT)]);
    }
    let end = |event: u64| 1_000_000 + CPU + event * 1_000_000;
    let wait = guest.submit(&[waiting(Class::Wait, &[3])], &[]);
    assert_eq!((wait.deadline_ns, wait.flags), (end(3), flag::COLLECT));
    let mut rings = vec![wait.attention_ns];
    while *rings.last().unwrap() < end(3) {
        guest.now_ns = rings[rings.len() - 1];
        rings.push(guest.simple(kind::ATTEND).attention_ns);
    }
    assert_eq!(rings, [end(1), end(2), end(3)], "the last as for any timer");
    assert_eq!(guest.read(DATA + 16, 4), b"made");
    guest.now_ns = end(3);
    assert_eq!(guest.collect().released, [1, 2, 3]);
    assert_eq!(guest.host.finish().totals.late_deliveries, 0);
}

fn release(event: u64) -> Envelope<'static> {
    Envelope {
        retires: Some(event),
        ..call(Class::Post, 1_000_000)
    }
}

/// How far these events are; those that are forgotten are as if never enqueued.
fn states(guest: &mut Guest, events: &[u64]) -> Vec<State> {
    let poll = guest.submit(&[waiting(Class::Poll, events)], &[]);
    let observed = poll.answer().observed;
    observed.iter().map(|o| o.state).collect()
}

#[test]
fn released_events_are_forgotten_and_their_output_comes() {
    let board = reads(late_read());
    let mut guest = guest(&board);
    guest.submit(&[enqueue(1, 1_000_000)], &[]);
    guest.submit(&[with_region(enqueue(2, 1_000_000))], &[(DATA, 4, OUT)]);
    guest.now_ns = 1_000_000 + 2 * CPU;
    assert_eq!(states(&mut guest, &[1, 2]), [State::Running, State::Queued]);
    for event in [1, 2] {
        guest.submit(&[release(event)], &[]);
    }
    guest.now_ns += 2 * DURATION;
    guest.collect();
    assert_eq!(guest.read(DATA, 4), b"made");
    assert_eq!(states(&mut guest, &[1, 2]), [State::Queued; 2]);
}

#[test]
fn events_that_nobody_holds_are_forgotten_at_their_ends() {
    let board = FakeBoard::new(answers);
    let mut guest = guest(&board);
    for event in [1, 2] {
        let envelope = Envelope {
            observable: false,
            ..enqueue(event, 1_000_000)
        };
        guest.submit(&[envelope], &[]);
    }
    guest.now_ns += 2 * CPU;
    assert_eq!(states(&mut guest, &[1, 2]), [State::Queued; 2]);
    guest.now_ns += 2 * DURATION;
    assert_eq!(states(&mut guest, &[1, 2]), [State::Queued; 2]);
    assert_eq!(awaited(&board), [2]);
}

#[test]
fn a_released_event_is_forgotten_though_its_sender_waits_for_it() {
    let board = FakeBoard::new(|call| Act {
        reports: vec![],
        ..answers(call)
    });
    let mut guest = guest(&board);
    let read = Envelope {
        waits: vec![100].into(),
        blocking: true,
        observable: false,
        ..enqueue(1, 1_000_000)
    };
    guest.submit(&[read], &[]);
    let set = Envelope {
        signals: Some(100),
        ..call(Class::Post, 1_000_000)
    };
    guest.submit(&[set], &[]);
    guest.now_ns += 2 * DURATION;
    assert_eq!(states(&mut guest, &[1]), [State::Complete]);
    guest.submit(&[release(1)], &[]);
    assert_eq!(states(&mut guest, &[1]), [State::Queued]);
}

#[test]
fn what_comes_too_late_is_counted() {
    let board = reads(late_read());
    let mut guest = guest(&board);
    guest.submit(&[enqueue(1, 1_000_000)], &[]);
    guest.submit(&[with_region(enqueue(2, 1_000_000))], &[(DATA, 4, OUT)]);
    guest.now_ns = 1_000_100 + DURATION + 500 + gil_wire::control::LATE_NS + 1;
    guest.collect();
    assert_eq!(guest.read(DATA, 4), b"made");
    assert_eq!(guest.host.finish().totals.late_deliveries, 1);
}

#[test]
fn input_over_output_that_is_not_made_yet_waits_for_the_board_only() {
    let board = reads(late_read());
    let mut guest = guest(&board);
    guest.submit(&[enqueue(1, 1_000_000)], &[]);
    guest.submit(&[with_region(enqueue(2, 1_000_000))], &[(DATA, 4, OUT)]);
    let sync = Envelope {
        args: b"set",
        ..with_region(call(Class::Sync, 1_000_000))
    };
    let seen = guest.submit(&[sync], &[(DATA + 2, 4, IN)]);
    assert_eq!(seen.status, OK);
    assert_eq!(board.calls()[2].payload, b"de\0\0");
    assert_eq!(guest.read(DATA, 4), [0; 4], "not due");
}

#[test]
fn enqueues_in_front_are_put_at_their_own_times() {
    let board = FakeBoard::new(answers);
    let mut guest = guest(&board);
    guest.now_ns = 1_050_000;
    let all = [
        enqueue(1, 1_000_000),
        enqueue(2, 1_001_000),
        call(Class::Post, 1_002_000),
        enqueue(3, 1_040_000),
        waiting(Class::Wait, &[1, 2, 3]),
    ];
    let seen = guest.submit(&all, &[]);
    assert_eq!(
        (seen.status, seen.wait),
        (OK, 0),
        "all ended before the wait"
    );
    let observed = seen.answer().observed;
    let spans: Vec<_> = observed.iter().map(|o| (o.start_ns, o.end_ns)).collect();
    assert_eq!(
        spans,
        [
            (1_000_000, 1_010_000),
            (1_010_000, 1_020_000),
            (1_040_000, 1_050_000)
        ]
    );
    let calls = board.calls();
    assert!(calls.iter().all(|call| !call.answer));
    let is_finished = |call: &support::board::Call| call.event.is_some() && call.finish;
    assert!(!calls.iter().any(is_finished), "they are awaited");
    assert_eq!(awaited(&board), [1, 2, 3]);
}

#[test]
fn an_enqueue_in_front_goes_before_what_starts_after_its_entry() {
    let board = FakeBoard::new(answers);
    let mut guest = guest(&board);
    guest.submit(&[enqueue(1, 1_000_000)], &[]);
    guest.submit(&[enqueue(2, 1_000_000)], &[]);
    let begin = 1_000_000 + CPU;
    guest.now_ns = begin + 2 * DURATION;
    // Ready while the first runs; the second is ready at its end.
    let third = on(6, enqueue(3, begin + 1));
    let wait = guest.submit(&[third, waiting(Class::Wait, &[3, 2])], &[]);
    let observed = wait.answer().observed;
    let starts: Vec<_> = observed.iter().map(|o| o.start_ns).collect();
    assert_eq!(starts, [begin + DURATION, begin + 2 * DURATION]);
}

#[test]
fn what_stands_in_front_reaches_the_board_once_and_waits_never() {
    let board = FakeBoard::new(answers);
    let mut guest = guest(&board);
    let post = |args| Envelope {
        args,
        ..call(Class::Post, 1_000_000)
    };
    let wait = || waiting(Class::Wait, &[2]);
    for envelopes in [
        vec![enqueue(1, 1_000_000), post(b"one"), set(100, 1_000_000)],
        vec![enqueue(2, 1_000_000), wait()],
        vec![post(b"two"), wait()],
        vec![enqueue(3, 1_000_000), post(b"three")],
    ] {
        assert_eq!(guest.submit(&envelopes, &[]).status, OK);
    }
    // Once the board tells of the last, it has all of them.
    guest.submit(&[waiting(Class::Wait, &[3])], &[]);
    let calls = board.calls();
    let got: Vec<_> = calls
        .iter()
        .map(|call| (call.seq, &call.args[..]))
        .collect();
    let wanted: [(u64, &[u8]); 7] = [
        (1, b"args"),
        (1, b"one"),
        (1, b"set"),
        (2, b"args"),
        (3, b"two"),
        (4, b"args"),
        (4, b"three"),
    ];
    assert_eq!(got, wanted);
}

#[test]
fn what_stands_in_front_of_a_blocked_wait_is_executed_once() {
    let board = FakeBoard::new(answers);
    let mut guest = guest(&board);
    let gated = Envelope {
        waits: vec![100].into(),
        ..enqueue(1, 1_000_000)
    };
    let wait = waiting(Class::Wait, &[1]);
    let seen = guest.submit(&[gated, wait.clone()], &[]);
    assert_eq!(seen.status, Status::Unresolved as u32);
    assert_eq!(seen.flags, flag::PENDING);
    guest.submit(&[set(100, 1_000_000)], &[]);
    assert_eq!(board.calls().len(), 2, "each once");
    assert_eq!(guest.submit(&[wait], &[]).deadline_ns, 1_000_100 + DURATION);
}

#[test]
fn what_an_event_unblocks_is_not_waited_for_by_whoever_sets_it() {
    let board = FakeBoard::new(answers);
    let mut guest = guest(&board);
    let gated = Envelope {
        waits: vec![100].into(),
        ..enqueue(1, 1_000_000)
    };
    guest.submit(&[gated], &[]);
    let seen = guest.submit(&[set(100, 1_000_000)], &[]);
    assert!(!board.calls()[1].finish);
    assert_eq!(seen.deadline_ns, 1_000_100);
    assert!(awaited(&board).is_empty());
}

#[test]
fn a_board_lost_while_it_works_ends_the_session() {
    let board = FakeBoard::new(|call| match call.event {
        Some(2) => Act {
            later: vec![Later {
                event: 2,
                out: vec![b"more than there is room for".to_vec()],
                ..Later::default()
            }],
            ..Act::default()
        },
        _ => answers(call),
    });
    let mut guest = guest(&board);
    guest.submit(&[enqueue(1, 1_000_000)], &[]);
    guest.submit(&[with_region(enqueue(2, 1_000_000))], &[(DATA, 4, OUT)]);
    guest.now_ns = 1_000_100 + DURATION;
    let attended = guest.simple(kind::ATTEND);
    assert_eq!((attended.status, attended.attention_ns), (OK, 0));
    assert_ne!(
        attended.flags & flag::PROGRESS,
        0,
        "sleepers must learn of it"
    );
    assert_eq!(guest.collect().released, [2]);
    let wait = guest.submit(&[waiting(Class::Wait, &[2])], &[]);
    assert_eq!(wait.status, Status::Lost as u32);
    assert_eq!(guest.read(DATA, 4), [0; 4]);
    assert_eq!(guest.log.warnings().len(), 1, "{:?}", guest.log.warnings());
}

#[test]
fn a_board_that_tells_of_another_operation_is_lost() {
    let board = FakeBoard::new(|call| {
        let mut act = answers(call);
        act.later[0].tells_of = Some(3);
        act
    });
    let mut guest = guest(&board);
    for event in 1..=3 {
        guest.submit(&[enqueue(event, 1_000_000)], &[]);
    }
    let wait = guest.submit(&[waiting(Class::Wait, &[2])], &[]);
    assert_eq!(
        (awaited(&board), wait.status),
        (vec![2], Status::Lost as u32)
    );
}

/// One program, on boards of different speed in wall time.
#[test]
fn simulated_times_do_not_depend_on_when_the_board_answers() {
    let run = |delays: [u64; 3]| {
        let board = FakeBoard::new(move |call| {
            let mut act = answers(call);
            let delay = delays[call.seq as usize % 3];
            act.delay = Duration::from_millis(delay);
            act.later[0].delay = Duration::from_millis(2 * delay);
            act
        });
        let mut guest = guest(&board);
        let mut seen = Vec::new();
        for event in 1..=6 {
            guest.now_ns += 1_700;
            let envelope = Envelope {
                engine: if event % 2 == 0 {
                    Engine::COPY_IN
                } else {
                    Engine::COMPUTE
                },
                waits: (event > 3).then(|| event - 3).into_iter().collect(),
                ..on(event % 2, enqueue(event, guest.now_ns))
            };
            let answer = guest.submit(&[envelope], &[]);
            seen.push((answer.deadline_ns, answer.flags, answer.attention_ns));
        }
        let wait = guest.submit(&[waiting(Class::Wait, &[1, 2, 3, 4, 5, 6])], &[]);
        let spans = wait.answer().observed;
        (seen, wait.deadline_ns, spans)
    };
    let prompt = run([0, 0, 0]);
    assert_eq!(prompt, run([0, 3, 9]));
    assert_eq!(prompt, run([7, 0, 1]));
}

/// The second of two enqueues has no answer, and is refused.
fn refuses(call: &support::board::Call) -> Act {
    let mut act = answers(call);
    if !call.answer {
        act.later[0].ending = Ending::Failed(-54);
        act.later[0].duration_ns = 0;
        act.later[0].rejected = true;
    }
    act
}

#[test]
fn the_next_wait_for_a_queue_is_told_of_what_was_refused_there() {
    let board = FakeBoard::new(refuses);
    let mut guest = guest(&board);
    let finish = |queue| Envelope {
        queue: on(queue, enqueue(0, 0)).queue,
        blocking: true,
        ..call(Class::Wait, 0)
    };
    let drain = Envelope {
        blocking: false,
        ..finish(1)
    };
    let on = |queue, event| on(queue, enqueue(event, 1_000_000));
    let last = guest.submit(&[on(1, 1), on(1, 2), on(2, 3)], &[]);
    let told = |seen: &support::guest::Seen| {
        let answer = seen.answer();
        let observed = answer.observed.iter().map(|o| (o.event, o.ending));
        (observed.collect::<Vec<_>>(), answer.more)
    };
    assert_eq!(told(&last), (vec![], MORE_NOTICES), "they began at once");
    assert_eq!(guest.submit(&[finish(3)], &[]).status, OK);
    assert!(guest.submit(&[drain], &[]).reply.is_empty(), "tells nobody");
    let first = guest.submit(&[finish(1)], &[]);
    assert_eq!(told(&first), (vec![(1, Ending::Failed(-54))], 0));
    let again = guest.submit(&[finish(1)], &[]);
    assert_eq!(told(&again), (vec![], 0), "once");
    let own = guest.submit(&[waiting(Class::Wait, &[2])], &[]);
    assert_eq!(told(&own).0, [(2, Ending::Failed(-54))]);
}

#[test]
fn blocking_enqueues_are_told_too_and_events_that_are_seen_need_not_be() {
    let board = FakeBoard::new(refuses);
    let mut guest = guest(&board);
    let blocking = |event| Envelope {
        blocking: true,
        ..on(1, enqueue(event, 1_000_000))
    };
    let posted = on(1, enqueue(1, 1_000_000));
    let read = guest.submit(&[posted, blocking(2)], &[]);
    let told: Vec<_> = read.answer().observed.iter().map(|o| o.event).collect();
    assert_eq!(told, [1]);
    let posted = on(1, enqueue(3, 1_000_000));
    let wait = guest.submit(&[posted, waiting(Class::Wait, &[3])], &[]);
    assert_eq!(wait.answer().observed[0].ending, Ending::Failed(-54));
    let read = guest.submit(&[blocking(4)], &[]);
    assert!(read.answer().observed.is_empty(), "its event said so");
}

#[test]
fn what_the_driver_says_is_announced_once() {
    let board = FakeBoard::new(|call| Act {
        notices: call.args == b"says",
        ..Act::default()
    });
    let mut guest = guest(&board);
    let says = Envelope {
        args: b"says",
        ..call(Class::Sync, 0)
    };
    let more: Vec<u8> = [says, call(Class::Query, 0), call(Class::Poll, 0)]
        .map(|call| guest.submit(&[call], &[]).answer().more)
        .to_vec();
    assert_eq!(more, [MORE_NOTICES, 0, 0]);
}
