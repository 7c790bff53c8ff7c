use super::*;
use crate::{Engine, Order, Share};
use proptest::prelude::*;

/// Endings are numbers here.
type Timeline = super::Timeline<i32>;

const COMPUTE: Engine = Engine(1);
const COPY_IN: Engine = Engine(2);
const COPY_OUT: Engine = Engine(3);

const IN_ORDER: QueueRef = QueueRef {
    id: 1,
    in_order: true,
    device: 0,
    is_shared: false,
};
const OUT_OF_ORDER: QueueRef = QueueRef {
    id: 2,
    in_order: false,
    device: 0,
    is_shared: false,
};

fn op(event: Event, submit_ns: u64, queue: QueueRef, waits: &[Event]) -> Operation {
    Operation {
        event,
        entry_ns: submit_ns,
        submit_ns,
        queue: Some(queue),
        engine: COMPUTE,
        share: Share::WHOLE,
        order: Order::Command,
        waits: waits.to_vec(),
        observable: true,
        attended: false,
        delays: Delays::default(),
    }
}

/// Publishes whatever can be.
fn settle(timeline: &mut Timeline) {
    while timeline
        .next_candidate()
        .is_some_and(|next| next.is_reported)
    {
        timeline.publish().unwrap();
    }
}

fn resolve(timeline: &mut Timeline, event: Event, duration_ns: u64, ending: i32) {
    timeline.report(event, duration_ns, ending).unwrap();
    settle(timeline);
}

fn signal(timeline: &mut Timeline, event: Event, at_ns: u64) {
    timeline.signal(event, at_ns, 0).unwrap();
    settle(timeline);
}

fn span(timeline: &Timeline, event: Event) -> (u64, u64) {
    let interval = timeline.interval(event).expect("resolved");
    (interval.start_ns, interval.end_ns)
}

#[test]
fn in_order_operations_follow_each_other() {
    let mut timeline = Timeline::new();
    for (event, submit, duration) in [(1, 100, 50), (2, 110, 30), (3, 500, 20)] {
        timeline.enqueue(op(event, submit, IN_ORDER, &[])).unwrap();
        resolve(&mut timeline, event, duration, 0);
    }
    assert_eq!(span(&timeline, 1), (100, 150));
    assert_eq!(span(&timeline, 2), (150, 180));
    assert_eq!(span(&timeline, 3), (500, 520));
    assert_eq!(timeline.queue_end(1), QueueEnd::Resolved(520));
    assert_eq!(timeline.newly_resolved(), vec![1, 2, 3]);
}

#[test]
fn engines_of_a_device_are_shared_between_queues_and_copies_overlap_kernels() {
    let mut timeline = Timeline::new();
    timeline.enqueue(op(1, 0, IN_ORDER, &[])).unwrap();
    resolve(&mut timeline, 1, 100, 0);
    timeline.enqueue(op(2, 10, OUT_OF_ORDER, &[])).unwrap();
    resolve(&mut timeline, 2, 100, 0);
    let copy = Operation {
        engine: COPY_IN,
        ..op(3, 20, OUT_OF_ORDER, &[])
    };
    timeline.enqueue(copy).unwrap();
    resolve(&mut timeline, 3, 5, 0);
    assert_eq!(span(&timeline, 2), (100, 200));
    assert_eq!(span(&timeline, 3), (20, 25));
}

#[test]
fn a_user_event_holds_what_waits_for_it_and_what_is_behind_it() {
    let mut timeline = Timeline::new();
    timeline.enqueue(op(1, 10, IN_ORDER, &[99])).unwrap();
    timeline.enqueue(op(2, 20, IN_ORDER, &[])).unwrap();
    assert_eq!(timeline.queue_end(1), QueueEnd::Blocked);
    resolve(&mut timeline, 2, 7, 0);
    assert_eq!(timeline.interval(2), None, "its predecessor is open");
    signal(&mut timeline, 99, 1000);
    assert_eq!(timeline.interval(1), None, "not measured yet");
    resolve(&mut timeline, 1, 5, 0);
    assert_eq!(span(&timeline, 1), (1000, 1005));
    assert_eq!(span(&timeline, 2), (1005, 1012));
    assert_eq!(timeline.newly_resolved(), vec![99, 1, 2]);
    assert_eq!(timeline.queue_end(1), QueueEnd::Resolved(1012));
    assert_eq!(timeline.unresolved(), 0);
}

#[test]
fn a_published_interval_is_never_revised() {
    let mut timeline = Timeline::new();
    timeline.enqueue(op(1, 10, IN_ORDER, &[])).unwrap();
    resolve(&mut timeline, 1, 5, -5);
    assert_eq!(timeline.report(1, 6, 0), Err(TimelineError::Revised(1)));
    assert_eq!(timeline.signal(1, 6, 0), Err(TimelineError::Revised(1)));
    assert_eq!(
        timeline.enqueue(op(1, 10, IN_ORDER, &[])),
        Err(TimelineError::Duplicate(1))
    );
    assert_eq!(timeline.report(7, 6, 0), Err(TimelineError::Unknown(7)));
    assert_eq!(timeline.publish(), Err(TimelineError::NotReported));
    assert_eq!(timeline.interval(1).unwrap().ending, -5);
}

#[test]
fn what_nobody_asks_for_is_forgotten_and_still_holds_its_place() {
    let mut timeline = Timeline::new();
    let unseen = Operation {
        observable: false,
        ..op(1, 10, IN_ORDER, &[])
    };
    timeline.enqueue(unseen).unwrap();
    resolve(&mut timeline, 1, 90, 0);
    assert!(timeline.open.is_empty() && timeline.ended.is_empty());
    timeline.enqueue(op(2, 20, IN_ORDER, &[])).unwrap();
    resolve(&mut timeline, 2, 1, 0);
    assert_eq!(span(&timeline, 2), (100, 101));
    timeline.retire(2);
    assert!(timeline.open.is_empty() && timeline.ended.is_empty());
}

#[test]
fn an_event_retired_while_it_is_waited_for_still_releases() {
    let mut timeline = Timeline::new();
    timeline.enqueue(op(1, 0, OUT_OF_ORDER, &[50])).unwrap();
    timeline.enqueue(op(2, 0, OUT_OF_ORDER, &[1])).unwrap();
    timeline.retire(1);
    resolve(&mut timeline, 2, 10, 0);
    signal(&mut timeline, 50, 30);
    resolve(&mut timeline, 1, 10, 0);
    assert_eq!(span(&timeline, 2), (40, 50));
    assert_eq!(timeline.interval(1), None, "forgotten");
}

#[test]
fn candidates_are_served_by_start_then_without_engine_then_by_readiness() {
    let mut timeline = Timeline::new();
    let other = QueueRef {
        device: 7,
        is_shared: false,
        ..OUT_OF_ORDER
    };
    let marker = Operation {
        engine: Engine::NONE,
        ..op(4, 100, OUT_OF_ORDER, &[])
    };
    let ops = [
        op(1, 100, OUT_OF_ORDER, &[]),
        op(2, 90, OUT_OF_ORDER, &[]),
        op(3, 100, other, &[]),
        marker,
    ];
    for op in ops {
        timeline.enqueue(op).unwrap();
    }
    let mut order = Vec::new();
    while let Some(next) = timeline.next_candidate() {
        order.push((next.event, next.start_ns));
        timeline.report(next.event, 50, 0).unwrap();
        timeline.publish().unwrap();
    }
    assert_eq!(order, [(2, 90), (4, 100), (3, 100), (1, 140)]);
}

#[test]
fn markers_and_barriers_order_a_queue_that_is_not() {
    let mut timeline = Timeline::new();
    let fence = |event, order, waits: &[Event]| Operation {
        order,
        engine: Engine::NONE,
        ..op(event, 0, OUT_OF_ORDER, waits)
    };
    let copy = |event| Operation {
        engine: COPY_IN,
        ..op(event, 0, OUT_OF_ORDER, &[])
    };
    let ops = [
        (op(1, 0, OUT_OF_ORDER, &[]), 50),
        (fence(2, Order::Marker, &[]), 0),
        (copy(3), 10),
        (fence(4, Order::Marker, &[3]), 0),
        (fence(5, Order::Barrier, &[]), 0),
        (copy(6), 10),
        (fence(7, Order::Barrier, &[3]), 0),
    ];
    for (op, duration) in ops {
        let event = op.event;
        timeline.enqueue(op).unwrap();
        timeline.report(event, duration, 0).unwrap();
    }
    settle(&mut timeline);
    let ends: Vec<_> = (1..=7).map(|event| span(&timeline, event).1).collect();
    assert_eq!(ends, [50, 50, 10, 10, 50, 60, 50]);
}

#[test]
fn attention_is_asked_for_where_something_unknown_may_begin() {
    let mut timeline = Timeline::new();
    assert_eq!(timeline.attention_ns(), None);
    timeline.enqueue(op(1, 100, IN_ORDER, &[])).unwrap();
    assert_eq!(
        timeline.attention_ns(),
        Some(100),
        "nobody knows its duration"
    );
    timeline.report(1, 40, 0).unwrap();
    assert_eq!(timeline.attention_ns(), None, "nothing follows it");
    timeline.enqueue(op(2, 110, IN_ORDER, &[])).unwrap();
    assert_eq!(timeline.attention_ns(), Some(140));
    let copy = Operation {
        engine: COPY_OUT,
        attended: true,
        delays: Delays::default(),
        ..op(3, 120, OUT_OF_ORDER, &[])
    };
    timeline.enqueue(copy).unwrap();
    timeline.report(3, 5, 0).unwrap();
    assert_eq!(timeline.attention_ns(), Some(125), "its output arrives");
}

#[test]
fn attention_is_asked_for_where_others_wait_for_an_engine() {
    let mut timeline = Timeline::new();
    timeline.enqueue(op(1, 100, OUT_OF_ORDER, &[])).unwrap();
    timeline.report(1, 40, 0).unwrap();
    assert_eq!(timeline.attention_ns(), None, "nothing follows it");
    timeline.enqueue(op(2, 110, OUT_OF_ORDER, &[])).unwrap();
    assert_eq!(
        timeline.attention_ns(),
        Some(140),
        "it has the engine until then"
    );
}

#[test]
fn what_is_waited_for_before_it_is_known_unblocks_when_it_can_run() {
    let mut timeline = Timeline::new();
    let blocked = |timeline: &Timeline| [1, 2, 9].map(|event| timeline.is_blocked(event));
    timeline.enqueue(op(1, 0, OUT_OF_ORDER, &[9])).unwrap();
    timeline.enqueue(op(2, 0, OUT_OF_ORDER, &[1])).unwrap();
    timeline.enqueue(op(9, 10, IN_ORDER, &[8])).unwrap();
    assert_eq!(blocked(&timeline), [true; 3], "8 is not known");
    assert_eq!(timeline.queue_end(1), QueueEnd::Blocked);
    timeline.enqueue(op(8, 20, OUT_OF_ORDER, &[])).unwrap();
    assert_eq!(blocked(&timeline), [false; 3]);
    assert_eq!(timeline.queue_end(1), QueueEnd::Open);
    assert_eq!(timeline.unresolved(), 4);
    for event in [8, 9, 1, 2] {
        resolve(&mut timeline, event, 5, 0);
    }
    let spans = [8, 9, 1, 2].map(|event| span(&timeline, event));
    assert_eq!(spans, [(20, 25), (25, 30), (30, 35), (35, 40)]);
    assert_eq!(timeline.unresolved(), 0);
}

#[test]
fn an_operation_is_reported_once() {
    let mut timeline = Timeline::new();
    timeline.enqueue(op(1, 10, IN_ORDER, &[])).unwrap();
    timeline.enqueue(op(2, 10, IN_ORDER, &[])).unwrap();
    timeline.report(2, 5, 0).unwrap();
    assert_eq!(timeline.report(2, 6, 0), Err(TimelineError::Revised(2)));
    resolve(&mut timeline, 1, 5, 0);
    assert_eq!(span(&timeline, 2), (15, 20));
    assert_eq!(timeline.report(2, 6, 0), Err(TimelineError::Revised(2)));
}

#[test]
fn an_operation_is_ready_when_all_that_it_waits_for_has_ended() {
    let mut timeline = Timeline::new();
    timeline.enqueue(op(1, 10, IN_ORDER, &[])).unwrap();
    timeline.enqueue(op(2, 12, IN_ORDER, &[])).unwrap();
    let ready = |timeline: &Timeline| [1, 2].map(|event| timeline.times(event).unwrap().ready_ns);
    assert_eq!(ready(&timeline), [Some(10), None]);
    resolve(&mut timeline, 1, 5, 0);
    assert_eq!(ready(&timeline), [Some(10), Some(15)]);
}

/// Each of its four reasons alone keeps an operation from starting.
#[test]
fn what_would_start_is_known_without_enqueueing_it() {
    let mut timeline = Timeline::new();
    timeline.enqueue(op(1, 100, IN_ORDER, &[])).unwrap();
    resolve(&mut timeline, 1, 50, 0);
    let free = |queue, waits: &[Event]| Operation {
        engine: Engine::NONE,
        ..op(2, 120, queue, waits)
    };
    let starts = [
        ("it is submitted", free(OUT_OF_ORDER, &[]), 120),
        ("its engine is free", op(2, 120, OUT_OF_ORDER, &[]), 150),
        ("its queue is there", free(IN_ORDER, &[]), 150),
        ("its event has ended", free(OUT_OF_ORDER, &[1]), 150),
    ];
    for (what, operation, at_ns) in starts {
        assert!(!timeline.would_start(&operation, at_ns - 1), "{what}");
        assert!(timeline.would_start(&operation, at_ns), "{what}");
    }
    assert!(!timeline.would_start(&free(OUT_OF_ORDER, &[1, 77]), 1 << 40));
    timeline.enqueue(op(3, 100, IN_ORDER, &[])).unwrap();
    assert!(!timeline.would_start(&free(IN_ORDER, &[]), 1 << 40));
    assert!(timeline.would_start(&free(OUT_OF_ORDER, &[]), 120));
}

#[test]
fn what_is_blocked_is_known_through_chains_and_queues() {
    let mut timeline = Timeline::new();
    timeline.enqueue(op(1, 0, OUT_OF_ORDER, &[99])).unwrap();
    timeline.enqueue(op(2, 0, IN_ORDER, &[1])).unwrap();
    timeline.enqueue(op(3, 0, IN_ORDER, &[])).unwrap();
    timeline.enqueue(op(4, 0, OUT_OF_ORDER, &[])).unwrap();
    let blocked = |timeline: &Timeline| [1, 2, 3, 4, 77].map(|event| timeline.is_blocked(event));
    assert_eq!(blocked(&timeline), [true, true, true, false, true]);
    timeline.signal(99, 5, 0).unwrap();
    assert_eq!(blocked(&timeline), [false, false, false, false, true]);
    assert_eq!(timeline.queue_end(1), QueueEnd::Open);
    assert_eq!(timeline.queue_end(2), QueueEnd::Open);
}

/// An independent, plain simulation of one in-order queue: each operation
/// begins when it is there and the one before is done.
fn reference(ops: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut clock = 0;
    ops.iter()
        .map(|&(submit, duration)| {
            while clock < submit {
                clock += 1;
            }
            let start = clock;
            for _ in 0..duration {
                clock += 1;
            }
            (start, clock)
        })
        .collect()
}

#[test]
fn what_ended_before_is_known_to_a_new_timeline() {
    let mut before = Timeline::new();
    for (event, submit_ns) in [(7, 10), (3, 20)] {
        before.enqueue(op(event, submit_ns, IN_ORDER, &[])).unwrap();
        resolve(&mut before, event, 5, -1);
    }
    before.enqueue(op(9, 30, IN_ORDER, &[])).unwrap();
    assert_eq!(before.last_end_ns(), 25);
    let ended = before.ended();
    assert_eq!(
        ended.iter().map(|(event, _)| *event).collect::<Vec<_>>(),
        [3, 7]
    );
    let mut after = Timeline::new();
    for (event, interval) in &ended {
        after.restore(*event, *interval).unwrap();
        assert_eq!(
            after.restore(*event, *interval),
            Err(TimelineError::Duplicate(*event))
        );
    }
    assert_eq!(after.ended(), ended);
    assert_eq!(after.times(3).unwrap().queued_ns, 20);
    after.enqueue(op(10, 12, OUT_OF_ORDER, &[3])).unwrap();
    resolve(&mut after, 10, 1, 0);
    assert_eq!(span(&after, 10), (25, 26), "it waits for the one before");
    assert!(after.newly_resolved().iter().all(|event| *event == 10));
}

proptest! {
    #[test]
    fn an_in_order_queue_matches_the_reference(
        steps in prop::collection::vec((0u64..50, 0u64..50), 1..40),
        resolve_late: bool,
    ) {
        let mut submit = 0;
        let ops: Vec<_> = steps.iter().map(|&(gap, duration)| {
            submit += gap;
            (submit, duration)
        }).collect();
        let mut timeline = Timeline::new();
        for (event, &(submit, duration)) in ops.iter().enumerate() {
            timeline.enqueue(op(event as u64, submit, IN_ORDER, &[])).unwrap();
            if !resolve_late {
                resolve(&mut timeline, event as u64, duration, 0);
            }
        }
        if resolve_late {
            for (event, &(_, duration)) in ops.iter().enumerate().rev() {
                resolve(&mut timeline, event as u64, duration, 0);
            }
        }
        let spans: Vec<_> = (0..ops.len()).map(|e| span(&timeline, e as u64)).collect();
        prop_assert_eq!(spans, reference(&ops));
    }

    /// Whatever waits for whatever: nothing starts before its submission or its
    /// dependencies' ends, and no two operations share an engine.
    #[test]
    fn dependencies_and_engines_are_respected(
        graph in prop::collection::vec((0u64..20, 0u64..30, prop::collection::vec(0u64..30, 0..3), any::<bool>()), 1..30),
        user_at in 0u64..2000,
    ) {
        const USER: Event = 1000;
        let mut timeline = Timeline::new();
        let mut submit = 0;
        let mut ops = Vec::new();
        for (event, (gap, duration, waits, in_order)) in graph.into_iter().enumerate() {
            let event = event as u64;
            submit += gap;
            // Earlier events, or the user event for a number that is not there.
            let waits: Vec<_> = waits.into_iter().map(|w| if w < event { w } else { USER }).collect();
            let queue = if in_order { IN_ORDER } else { OUT_OF_ORDER };
            timeline.enqueue(op(event, submit, queue, &waits)).unwrap();
            resolve(&mut timeline, event, duration, 0);
            ops.push((submit, duration, waits));
        }
        signal(&mut timeline, USER, submit + user_at);
        let mut spans = Vec::new();
        for (event, (submit, duration, waits)) in ops.iter().enumerate() {
            let (start, end) = span(&timeline, event as u64);
            prop_assert_eq!(end - start, *duration);
            prop_assert!(start >= *submit);
            for wait in waits {
                prop_assert!(start >= timeline.interval(*wait).unwrap().end_ns);
            }
            if end > start {
                spans.push((start, end));
            }
        }
        spans.sort_unstable();
        prop_assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        prop_assert_eq!(timeline.unresolved(), 0);
    }
}

#[test]
fn what_is_waited_for_is_bounded() {
    let mut timeline = Timeline::new();
    let waits: Vec<Event> = (1..=1 << 16).collect();
    let enqueue = |timeline: &mut Timeline, n: u64| {
        timeline.enqueue(Operation {
            queue: None,
            ..op((1 << 32) + n, 0, IN_ORDER, &waits)
        })
    };
    let most = crate::MAX_WAITS / waits.len();
    (0..most as u64).for_each(|n| enqueue(&mut timeline, n).unwrap());
    let refused = enqueue(&mut timeline, most as u64);
    assert_eq!(refused, Err(TimelineError::TooManyWaits(crate::MAX_WAITS)));
    waits
        .iter()
        .for_each(|&event| signal(&mut timeline, event, 1));
    timeline.report(1 << 32, 1, 0).unwrap();
    timeline.publish().unwrap();
    enqueue(&mut timeline, most as u64).unwrap();
}

#[test]
fn the_events_of_all_timelines_are_bounded() {
    let engines = Engines::default();
    let (mut one, mut other) = (
        Timeline::sharing(engines.clone()),
        Timeline::sharing(engines.clone()),
    );
    let half = crate::MAX_KNOWN as u64 / 2;
    for event in 0..half {
        signal(&mut one, event, 1);
        signal(&mut other, event, 1);
    }
    assert_eq!(one.signal(half, 1, 0), Err(TimelineError::Full));
    assert_eq!(
        other.enqueue(op(half, 0, IN_ORDER, &[])),
        Err(TimelineError::Full)
    );
    one.retire(7);
    other.enqueue(op(half, 0, IN_ORDER, &[])).unwrap();
    assert_eq!(one.signal(half, 1, 0), Err(TimelineError::Full));
    drop(other);
    signal(&mut one, half, 1);
}

#[test]
fn queues_and_devices_that_a_guest_makes_up_are_forgotten() {
    let mut timeline = Timeline::new();
    for n in 1..100_000 {
        let queue = QueueRef {
            id: n,
            in_order: n % 2 == 0,
            device: n,
            is_shared: false,
        };
        timeline
            .enqueue(Operation {
                observable: false,
                ..op(n, n, queue, &[])
            })
            .unwrap();
        timeline.report(n, 1, 0).unwrap();
        timeline.publish().unwrap();
    }
    let (queues, lanes) = (timeline.queues.len(), timeline.lanes.len());
    assert!(queues <= 8192 && lanes <= 2048, "{queues} {lanes}");
    assert_eq!(timeline.queue_end(99_999), QueueEnd::Resolved(100_000));
    assert_eq!(timeline.queue_end(1), QueueEnd::Resolved(0));
}

#[test]
fn parts_of_an_engine_run_together() {
    let mut timeline = Timeline::new();
    let queue = |id| QueueRef { id, ..IN_ORDER };
    let part = |event, id, thousandths| Operation {
        share: Share::of_thousand(thousandths, 1),
        ..op(event, 0, queue(id), &[])
    };
    // Two streams of kernels of a third of the device each, and one of a kernel of all of it.
    for (event, id, thousandths) in [(1, 1, 333), (2, 2, 333), (3, 1, 333), (4, 3, 1000)] {
        timeline.enqueue(part(event, id, thousandths)).unwrap();
    }
    for event in [1, 2, 3, 4] {
        timeline.report(event, 100, 0).unwrap();
    }
    settle(&mut timeline);
    let runs = |event| timeline.interval(event).map(|it| (it.start_ns, it.end_ns));
    let found = [1, 2, 3, 4].map(runs);
    assert_eq!(
        found,
        [(0, 100), (0, 100), (200, 300), (100, 200)].map(Some)
    );
}
