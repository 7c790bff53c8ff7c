use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

fn at(address: usize) -> Pointer {
    Pointer::new((address * 8) as *mut std::ffi::c_void).unwrap()
}

/// Records what was waited for.
#[derive(Default)]
struct Fake {
    finished: Vec<u64>,
    begun: Vec<u64>,
    /// What has ended before anybody waits for it.
    ended: Vec<u64>,
}

impl Device for Fake {
    fn begin(&mut self, operation: &Operation) {
        self.begun.push(operation.number);
    }

    fn finish(&mut self, operation: &Operation) -> Finished {
        self.finished.push(operation.number);
        Finished {
            duration_ns: operation.number * 10,
            ending: Ending::Done,
        }
    }

    fn finish_ended(&mut self, operation: &Operation) -> Option<Finished> {
        let has_ended = self.ended.contains(&operation.number);
        has_ended.then(|| self.finish(operation))
    }
}

fn operation(number: u64, queue: usize, in_order: bool, waits: &[usize]) -> Operation {
    Operation {
        number,
        event: at(1000 + number as usize),
        queue: QueueRef {
            queue: at(queue),
            in_order,
        },
        order: Order::Command,
        waits: waits.iter().map(|w| at(*w)).collect(),
        memory: Memory::default(),
    }
}

#[test]
fn what_waits_for_nothing_unset_is_finished_at_once() {
    let (mut ops, mut fake) = (Operations::default(), Fake::default());
    let ended = ops.enqueued(operation(1, 1, true, &[]), true, &mut fake);
    assert_eq!(ended.unwrap().1.duration_ns, 10);
    assert!(
        ops.enqueued(operation(2, 1, true, &[1001]), true, &mut fake)
            .is_some()
    );
    assert_eq!(fake.finished, [1, 2]);
}

#[test]
fn an_operation_is_there_until_it_is_reported() {
    let (mut ops, mut fake) = (Operations::default(), Fake::default());
    ops.user_event(at(500));
    ops.enqueued(operation(1, 1, true, &[]), false, &mut fake);
    ops.enqueued(operation(2, 2, true, &[500]), false, &mut fake);
    ops.enqueued(operation(3, 3, true, &[]), true, &mut fake);
    assert_eq!([1, 2, 3].map(|number| ops.has(number)), [true, true, false]);
    ops.set(at(500), false, &mut fake);
    assert!(ops.has(2) && !ops.is_blocked(2), "it is under way");
    ops.finish(1, &mut fake);
    ops.finish(2, &mut fake);
    assert!(!ops.has(1) && !ops.has(2));
}

#[test]
fn no_operation_goes_before_it_has_ended() {
    let (mut ops, mut fake) = (Operations::default(), Fake::default());
    ops.enqueued(operation(1, 1, true, &[]), false, &mut fake);
    ops.enqueued(operation(1, 2, true, &[]), false, &mut fake);
    assert_eq!(fake.finished, [1], "its memory is the driver's until then");
    assert!(ops.finish(1, &mut fake).is_some());
    assert_eq!(fake.finished, [1, 1]);
}

#[test]
fn a_user_event_blocks_directly_through_others_and_through_the_queue() {
    let (mut ops, mut fake) = (Operations::default(), Fake::default());
    ops.user_event(at(500));
    for op in [
        operation(1, 1, true, &[500]),
        operation(2, 1, true, &[]),
        operation(3, 2, true, &[1002]),
    ] {
        assert!(ops.enqueued(op, true, &mut fake).is_none());
    }
    assert!(
        ops.enqueued(operation(4, 3, true, &[]), true, &mut fake)
            .is_some()
    );
    let ended = ops.set(at(500), true, &mut fake);
    let seqs: Vec<u64> = ended.iter().map(|(op, _)| op.number).collect();
    assert_eq!(seqs, [1, 2, 3]);
    assert_eq!(fake.finished, [4, 1, 2, 3]);
    assert!(!ops.has_blocked());
}

#[test]
fn two_user_events_unblock_step_by_step() {
    let (mut ops, mut fake) = (Operations::default(), Fake::default());
    ops.user_event(at(500));
    ops.user_event(at(501));
    assert!(
        ops.enqueued(operation(1, 1, true, &[500]), true, &mut fake)
            .is_none()
    );
    assert!(
        ops.enqueued(operation(2, 1, true, &[501]), true, &mut fake)
            .is_none()
    );
    assert!(ops.set(at(501), true, &mut fake).is_empty());
    assert_eq!(ops.set(at(500), true, &mut fake).len(), 2);
}

#[test]
fn an_out_of_order_queue_goes_on_past_a_blocked_command_but_not_a_barrier() {
    let (mut ops, mut fake) = (Operations::default(), Fake::default());
    ops.user_event(at(500));
    assert!(
        ops.enqueued(operation(1, 1, false, &[500]), true, &mut fake)
            .is_none()
    );
    assert!(
        ops.enqueued(operation(2, 1, false, &[]), true, &mut fake)
            .is_some()
    );
    let marker = Operation {
        order: Order::Marker,
        ..operation(3, 1, false, &[])
    };
    assert!(ops.enqueued(marker, true, &mut fake).is_none());
    let marker_with_list = Operation {
        order: Order::Marker,
        ..operation(4, 1, false, &[1002])
    };
    assert!(ops.enqueued(marker_with_list, true, &mut fake).is_some());
    let barrier = Operation {
        order: Order::Barrier,
        ..operation(5, 1, false, &[])
    };
    assert!(ops.enqueued(barrier, true, &mut fake).is_none());
    assert!(
        ops.enqueued(operation(6, 1, false, &[]), true, &mut fake)
            .is_none()
    );
    assert_eq!(ops.set(at(500), true, &mut fake).len(), 4);
}

/// A driver gives a new event the address of one that is gone.
#[test]
fn an_event_that_is_over_blocks_nobody_by_its_address() {
    let (mut ops, mut fake) = (Operations::default(), Fake::default());
    let over = 1001;
    ops.enqueued(operation(1, 1, true, &[]), true, &mut fake);
    ops.user_event(at(500));
    ops.user_event(at(501));
    ops.enqueued(operation(2, 2, true, &[500, 501, over]), true, &mut fake);
    let list = Operation {
        order: Order::Marker,
        ..operation(3, 3, false, &[over])
    };
    assert!(ops.enqueued(list, true, &mut fake).is_some());
    ops.user_event(at(over));
    assert!(ops.set(at(500), true, &mut fake).is_empty());
    ops.user_event(at(500));
    assert_eq!(ops.set(at(501), true, &mut fake).len(), 1);
    assert_eq!(fake.finished, [1, 3, 2]);
}

/// A random program: operations on two in-order and one out-of-order queue,
/// and user events set in between.
#[derive(Clone, Debug)]
enum Step {
    Enqueue { queue: usize, waits: Vec<usize> },
    Set(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let waits = proptest::collection::vec(0usize..40, 0..3);
    prop_oneof![
        3 => (0usize..3, waits).prop_map(|(queue, waits)| Step::Enqueue { queue, waits }),
        1 => (0usize..4).prop_map(Step::Set),
    ]
}

/// Whether each operation may have run, from the definition: the fixed point
/// over everything it depends on.
fn runnable(program: &[Operation], set: &HashMap<Pointer, bool>) -> Vec<bool> {
    let mut done = Vec::<bool>::new();
    for (at, op) in program.iter().enumerate() {
        let waits_done = op.waits.iter().all(|event| {
            let earlier = program[..at].iter().position(|o| o.event == *event);
            earlier.map_or(*set.get(event).unwrap_or(&true), |index| done[index])
        });
        let before = program[..at].iter().enumerate().rev();
        let behind = before
            .filter(|(_, o)| o.queue == op.queue)
            .map(|(i, _)| done[i])
            .next();
        done.push(waits_done && (!op.queue.in_order || behind.unwrap_or(true)));
    }
    done
}

proptest! {
    #[test]
    fn exactly_the_runnable_operations_are_finished(steps in proptest::collection::vec(step(), 0..40)) {
        let (mut ops, mut fake) = (Operations::default(), Fake::default());
        let mut set: HashMap<Pointer, bool> = (0..4).map(|e| (at(1 + e), false)).collect();
        set.keys().for_each(|event| ops.user_event(*event));
        let mut program = Vec::new();
        for step in steps {
            match step {
                Step::Enqueue { queue, waits } => {
                    let seq = program.len() as u64;
                    // Waits name user events (1..=4) or earlier operations.
                    let waits: Vec<usize> = waits.into_iter()
                        .map(|w| if w < 4 { 1 + w } else { 1000 + w - 4 })
                        .filter(|w| *w < 1000 + seq as usize)
                        .collect();
                    let make = || operation(seq, 100 + queue, queue < 2, &waits);
                    program.push(make());
                    ops.enqueued(make(), true, &mut fake);
                }
                Step::Set(event) => {
                    set.insert(at(1 + event), true);
                    ops.set(at(1 + event), true, &mut fake);
                }
            }
            let expected: Vec<u64> = runnable(&program, &set).into_iter().enumerate()
                .filter(|(_, done)| *done).map(|(seq, _)| seq as u64).collect();
            let mut finished = fake.finished.clone();
            finished.sort_unstable();
            prop_assert_eq!(&finished, &expected);
        }
    }
}

#[test]
fn what_need_not_end_is_begun_and_ends_when_asked_for() {
    let (mut ops, mut fake) = (Operations::default(), Fake::default());
    ops.user_event(at(500));
    for op in [
        operation(1, 1, true, &[]),
        operation(2, 2, true, &[500]),
        operation(3, 2, true, &[]),
    ] {
        assert!(ops.enqueued(op, false, &mut fake).is_none());
    }
    assert_eq!((&fake.begun[..], &fake.finished[..]), (&[1][..], &[][..]));
    assert!(ops.finish(2, &mut fake).is_none(), "it is blocked");
    assert!(ops.set(at(500), false, &mut fake).is_empty());
    assert_eq!(fake.begun, [1, 2, 3]);
    assert_eq!(ops.finish(2, &mut fake).unwrap().1.duration_ns, 20);
    assert!(ops.finish(2, &mut fake).is_none(), "it was reported");
    ops.finish_all(&mut fake);
    fake.finished[1..].sort_unstable();
    assert_eq!(fake.finished, [2, 1, 3]);
}

#[test]
fn what_has_ended_behind_the_one_that_was_waited_for_is_found_in_its_order() {
    let (mut ops, mut fake) = (Operations::default(), Fake::default());
    assert!(
        ops.finish_behind(&mut fake).is_none(),
        "nothing was waited for"
    );
    for number in 1..=6 {
        let queue = if number == 4 { 2 } else { 1 };
        ops.enqueued(operation(number, queue, true, &[]), false, &mut fake);
    }
    fake.ended = vec![2, 3, 4, 6];
    assert!(ops.finish_behind(&mut fake).is_none());
    ops.finish(2, &mut fake).unwrap();
    assert!(ops.finish_behind(&mut fake).is_none(), "the first goes on");
    fake.ended.push(1);
    let mut behind = || {
        ops.finish_behind(&mut fake)
            .map(|(operation, _)| operation.number)
    };
    assert_eq!([(); 3].map(|()| behind()), [Some(1), Some(3), None]);
    assert!(!ops.has(3) && ops.has(4), "4 is on another queue");
    assert!(ops.finish(3, &mut fake).is_none(), "it was reported");
    ops.finish(5, &mut fake).unwrap();
    let last = ops.finish_behind(&mut fake).unwrap();
    assert_eq!((last.0.number, last.1.duration_ns), (6, 60));
    assert!(ops.finish_behind(&mut fake).is_none());
    assert_eq!(fake.finished, [2, 1, 3, 5, 6]);
}

#[test]
fn a_queue_remembers_few_operations_that_were_reported() {
    let (mut ops, mut fake) = (Operations::default(), Fake::default());
    ops.enqueued(operation(0, 1, false, &[]), false, &mut fake);
    for number in 1..10_000 {
        ops.enqueued(operation(number, 1, false, &[]), false, &mut fake);
        ops.finish(number, &mut fake).unwrap();
        assert!(ops.finish_behind(&mut fake).is_none(), "0 goes on");
        assert!(ops.lines[&at(1)].len() <= LINE_SLACK + 4);
    }
    fake.ended.push(0);
    ops.enqueued(operation(10_000, 1, false, &[]), false, &mut fake);
    ops.finish(10_000, &mut fake).unwrap();
    assert_eq!(ops.finish_behind(&mut fake).unwrap().0.number, 0);
}
