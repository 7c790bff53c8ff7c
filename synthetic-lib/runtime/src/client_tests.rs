use super::*;
use crate::double::{Double, Played};
use gil_wire::ending::Ending;
use gil_wire::envelope::{Observation, State};
use gil_wire::message::Direction;
use std::collections::VecDeque;

const OP: Op = Op::new(1, 7);

fn post() -> Envelope<'static> {
    Envelope::new(OP, Class::Post, 1)
}

fn sync() -> Envelope<'static> {
    Envelope::new(OP, Class::Sync, 2)
}

fn client(double: &Double) -> Client {
    Client::new(Box::new(double.clone()))
}

/// A device that gives these answers, then plain ones.
fn scripted(answers: impl IntoIterator<Item = Result<Played, Errno>>) -> Double {
    let mut answers: VecDeque<_> = answers.into_iter().collect();
    Double::answering(move |_, _| answers.pop_front().unwrap_or(Ok(Played::default())))
}

fn with_outcome(edit: impl FnOnce(&mut Outcome)) -> Result<Played, Errno> {
    let mut played = Played::result(&42u32);
    edit(&mut played.outcome);
    Ok(played)
}

fn observation(event: u64) -> Observation {
    Observation {
        event,
        state: State::Complete,
        ending: Ending::Done,
        queued_ns: 1,
        submitted_ns: 2,
        start_ns: 3,
        end_ns: 4,
    }
}

#[test]
fn posts_travel_in_order_in_front_of_the_next_call_and_once() {
    let double = scripted([]);
    let client = client(&double);
    for n in 1..=3u32 {
        client.post(&post(), &n).unwrap();
    }
    assert_eq!(double.submissions(), 0);
    client.forward(&sync(), &4u32, |_| ()).unwrap();
    client.forward(&sync(), &5u32, |_| ()).unwrap();
    let seen = double.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].args::<u32>(), [1, 2, 3, 4]);
    assert_eq!(seen[1].args::<u32>(), [5]);
}

#[test]
fn the_batch_is_bounded_by_number_and_by_bytes() {
    let double = scripted([]);
    let client = client(&double);
    for n in 0..130u32 {
        client.post(&post(), &n).unwrap();
    }
    let lengths: Vec<_> = double.seen().iter().map(|s| s.envelopes().len()).collect();
    assert_eq!(lengths, [64, 64]);
    client.post(&post(), &vec![0u8; 5000]).unwrap();
    client.post(&post(), &vec![0u8; 5000]).unwrap();
    assert_eq!(double.seen()[2].envelopes().len(), 3);
    client.forward(&sync(), &vec![0u8; 5000], |_| ()).unwrap();
    assert_eq!(
        double.submissions(),
        5,
        "the post alone, then the call alone"
    );
    let error = client.post(&post(), &vec![0u8; 9000]).unwrap_err();
    assert!(matches!(error, Error::Bounds { .. }), "{error}");
}

#[test]
fn calls_say_what_the_library_took_for_those_before() {
    const LONG: u32 = 2_000_000_000;
    const TAKES: u32 = 5_000_000;
    let asleep = || {
        with_outcome(|o| {
            (o.wait_kind, o.deadline_ns) = (uapi::WAIT_SLEEP, 500);
        })
    };
    let mut answers = VecDeque::from([Ok(Played::default()), Ok(Played::default()), asleep()]);
    let double = Double::answering(move |_, _| {
        std::thread::sleep(std::time::Duration::from_nanos(TAKES.into()));
        answers.pop_front().unwrap_or(Ok(Played::default()))
    });
    let client = client(&double);
    let call = |class, ago| Envelope::new(OP, class, counter::now() - u64::from(ago));
    for n in 0..64u32 {
        let ago = if n == 3 { LONG } else { 0 };
        client.post(&call(Class::Post, ago), &n).unwrap();
    }
    // The next one says what handing over those took, and a call what an answer took that
    // came at once.
    client.post(&call(Class::Post, 0), &64u32).unwrap();
    for n in 65..69u32 {
        client
            .forward(&call(Class::Sync, LONG), &n, |_| ())
            .unwrap();
    }
    let seen = double.seen();
    let spent = |n: usize| -> Vec<u32> { seen[n].envelopes().iter().map(|e| e.spent).collect() };
    let first = spent(0);
    let long: Vec<_> = (0..64).filter(|&n| first[n] >= LONG).collect();
    assert_eq!(long, [3]);
    assert!((TAKES..LONG).contains(&spent(1)[0]), "{:?}", spent(1));
    assert_eq!(spent(1)[1], 0);
    assert!(spent(2)[0] >= LONG, "{:?}", spent(2));
    assert_eq!(spent(3), [0], "it waited, as on the target");
    assert!(spent(4)[0] >= LONG, "{:?}", spent(4));
}

#[test]
fn enqueues_leave_room_for_the_call_that_follows_them() {
    let enqueue = Envelope::new(OP, Class::Enqueue, 3);
    for last in 900..1100usize {
        let double = scripted([]);
        let client = client(&double);
        for len in [1000; 7].into_iter().chain([last, 500]) {
            client.post(&enqueue, &vec![0u8; len]).unwrap();
        }
        client.flush(OP).unwrap();
        let seen = double.seen();
        let posts = seen.iter().flat_map(|request| request.envelopes());
        let posts = posts.filter(|envelope| envelope.class == Class::Enqueue);
        assert_eq!(posts.count(), 9, "{last}");
    }
}

#[test]
fn a_batch_that_ends_with_an_enqueue_is_followed_by_a_call() {
    let double = scripted([]);
    let client = client(&double);
    let enqueue = Envelope::new(OP, Class::Enqueue, 3);
    client.flush(OP).unwrap();
    client.post(&enqueue, &1u32).unwrap();
    client.flush(OP).unwrap();
    client.post(&enqueue, &2u32).unwrap();
    client.post(&post(), &3u32).unwrap();
    client.flush(OP).unwrap();
    for n in 0..64u32 {
        client.post(&enqueue, &n).unwrap();
    }
    client.post(&enqueue, &4u32).unwrap();
    client.flush_at_exit();
    let seen = double.seen();
    let shape = |n: usize| {
        let envelopes = seen[n].envelopes();
        (envelopes.len(), envelopes.last().map(|e| e.class))
    };
    assert_eq!(shape(0), (2, Some(Class::Poll)));
    assert_eq!(shape(1), (2, Some(Class::Post)));
    assert_eq!(shape(2), (65, Some(Class::Poll)));
    assert_eq!(shape(3), (2, Some(Class::Poll)));
    assert_eq!(seen.len(), 4);
}

#[test]
fn a_submission_that_was_not_taken_keeps_its_posts() {
    let double = scripted([Err(Errno::EFAULT)]);
    let client = client(&double);
    client.post(&post(), &1u32).unwrap();
    assert_eq!(client.forward(&sync(), &2u32, |_| ()), Err(Error::Fault));
    client.forward(&sync(), &3u32, |_| ()).unwrap();
    assert_eq!(double.seen()[1].args::<u32>(), [1, 3]);
}

#[test]
fn a_signal_repeats_the_wait_and_never_the_call() {
    let double = scripted([with_outcome(|o| {
        o.wait_kind = uapi::WAIT_SLEEP;
        o.deadline_ns = 500;
        o.flags = uapi::flag::COLLECT;
    })]);
    double.interrupt_waits([Errno::EINTR; 3]);
    let result = client(&double)
        .forward(&sync(), &1u32, |a| postcard::from_bytes::<u32>(a.result))
        .unwrap();
    assert_eq!(result, Ok(42));
    let wait = uapi::Wait {
        deadline_ns: 500,
        progress: 0,
        kind: uapi::WAIT_SLEEP,
        flags: uapi::WAIT_COLLECT,
    };
    assert_eq!(double.waits(), [wait; 4]);
    assert_eq!(double.submissions(), 1);
}

#[test]
fn a_submission_that_a_signal_kept_out_is_handed_over_then() {
    let double = scripted([Err(Errno::EINTR), Err(Errno::EINTR)]);
    client(&double).forward(&sync(), &1u32, |_| ()).unwrap();
    assert_eq!(double.submissions(), 3);
}

#[test]
fn unresolved_sleeps_for_progress_and_hands_all_of_it_over_again() {
    let unresolved = |progress| {
        with_outcome(|o| {
            o.status = uapi::STATUS_UNRESOLVED;
            o.progress = progress;
        })
    };
    let double = scripted([unresolved(7), unresolved(9)]);
    double.interrupt_waits([Errno::EINTR]);
    let client = client(&double);
    client.post(&post(), &1u32).unwrap();
    client.forward(&sync(), &2u32, |_| ()).unwrap();
    client.forward(&sync(), &3u32, |_| ()).unwrap();
    let progress: Vec<_> = double
        .waits()
        .iter()
        .map(|w| (w.kind, w.progress))
        .collect();
    assert_eq!(progress, [(3, 7), (3, 7), (3, 9)]);
    let seen: Vec<_> = double.seen().iter().map(|s| s.args::<u32>()).collect();
    assert_eq!(seen, [vec![1, 2], vec![1, 2], vec![1, 2], vec![3]]);
}

#[test]
fn a_blocking_call_that_is_pending_observes_its_own_event() {
    let mut answers = VecDeque::from([with_outcome(|o| o.flags = uapi::flag::PENDING)]);
    let double = Double::answering(move |envelopes, _| {
        let last = envelopes.last().unwrap();
        match last.class {
            Class::Wait => Ok(Played {
                observed: last.waits.iter().map(|e| observation(*e)).collect(),
                ..Played::default()
            }),
            _ => answers.pop_front().unwrap(),
        }
    });
    let call = Envelope {
        blocking: true,
        signals: Some(77),
        ..Envelope::new(OP, Class::Enqueue, 5)
    };
    let (result, observed) = client(&double)
        .forward(&call, &(), |a| {
            (postcard::from_bytes::<u32>(a.result).unwrap(), a.observed)
        })
        .unwrap();
    assert_eq!(
        (result, observed),
        (42, Observations::from([observation(77)]))
    );
    assert_eq!(*double.seen()[1].envelopes()[0].waits, [77]);
}

#[test]
fn a_lost_session_stays_lost() {
    let double = scripted([Ok(Played::status(uapi::STATUS_LOST))]);
    let client = client(&double);
    let lost = Err(Error::Lost);
    assert_eq!(client.forward(&sync(), &1u32, |_| ()), lost);
    assert_eq!(client.forward(&sync(), &2u32, |_| ()), lost);
    assert_eq!(client.post(&post(), &3u32), lost);
    client.flush_at_exit();
    assert_eq!(double.submissions(), 1);
}

#[test]
fn a_lost_board_is_that_of_its_apis_only() {
    let double = scripted([Ok(Played::status(uapi::STATUS_LOST)), Ok(Played::default())]);
    let client = client(&double);
    let of = |api, class| Envelope::new(Op::new(api, 7), class, 0);
    let lost = Err(Error::Lost);
    assert_eq!(client.forward(&sync(), &1u32, |_| ()), lost);
    let other = of(2, Class::Sync);
    assert_eq!(client.post(&of(2, Class::Post), &2u32), Ok(()));
    assert_eq!(client.forward(&sync(), &3u32, |_| ()), lost);
    assert_eq!(client.forward(&other, &4u32, |_| ()), Ok(()));
    assert_eq!(double.submissions(), 2);
    assert_eq!(double.seen()[1].args::<u32>(), [2, 4]);
}

#[test]
fn other_refusals_name_the_call() {
    let double = scripted([
        Ok(Played::status(uapi::STATUS_BAD_REQUEST)),
        Ok(Played::status(uapi::STATUS_UNSEEN)),
        Err(Errno::EPERM),
    ]);
    let client = client(&double);
    let next = || client.forward(&sync(), &1u32, |_| ()).unwrap_err();
    assert!(matches!(next(), Error::Refused { status: 3 }));
    assert!(matches!(next(), Error::NotHere { .. }));
    assert_eq!(next(), Error::Forked);
    assert_eq!(next(), Error::Forked, "without asking the driver again");
    assert_eq!(double.submissions(), 3);
}

#[test]
fn long_lists_are_observed_in_parts() {
    let double = Double::answering(|envelopes, _| {
        Ok(Played {
            observed: envelopes[0].waits.iter().map(|e| observation(*e)).collect(),
            ..Played::default()
        })
    });
    let events: Vec<u64> = (1..=150).collect();
    let observed = client(&double).poll(OP, 0, &events).unwrap();
    assert_eq!(observed.iter().map(|o| o.event).collect::<Vec<_>>(), events);
    assert_eq!(double.submissions(), 3);
    assert!(
        double
            .seen()
            .iter()
            .all(|s| s.envelopes()[0].class == Class::Poll)
    );
}

#[test]
fn a_short_observation_is_an_error() {
    let error = client(&scripted([])).observe(OP, 0, &[1]).unwrap_err();
    assert!(matches!(error, Error::Answer(_)), "{error}");
}

#[test]
fn regions_travel_with_their_call() {
    let double = scripted([]);
    let client = client(&double);
    let room = [0u8; 16];
    let region = uapi::region(room.as_ptr().cast(), room.len(), Direction::Out);
    client.post(&post(), &1u32).unwrap();
    let call = Envelope {
        regions: 1,
        ..sync()
    };
    client
        .forward_with(&call, &[region], &2u32, |_| ())
        .unwrap();
    client.post_with(&call, &[region], &3u32).unwrap();
    let seen = double.seen();
    assert_eq!(seen[0].regions, [region]);
    assert_eq!(seen[0].envelopes()[1].regions, 1);
    assert_eq!(seen.len(), 2, "a post that names memory does not wait");
    let many = Envelope {
        regions: 65,
        ..sync()
    };
    let error = client
        .forward_with(&many, &[region; 65], &4u32, |_| ())
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::Bounds {
                len: 65,
                max: 64,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn exit_hands_over_what_waits() {
    let double = scripted([]);
    let client = client(&double);
    client.flush_at_exit();
    client.post(&post(), &1u32).unwrap();
    client.flush_at_exit();
    client.flush_at_exit();
    assert_eq!(double.submissions(), 1);
}

#[test]
fn every_threads_posts_arrive_once_and_in_that_threads_order() {
    const EACH: u32 = 500;
    let double = scripted([]);
    let client = client(&double);
    let work = |thread: u32| {
        for n in 0..EACH {
            client.post(&post(), &(thread, n)).unwrap();
            if n % 7 == thread {
                client.forward(&sync(), &(u32::MAX, n), |_| ()).unwrap();
            }
        }
    };
    std::thread::scope(|scope| {
        (0..4).for_each(|thread| drop(scope.spawn(move || work(thread))));
    });
    client.flush(OP).unwrap();
    let all: Vec<(u32, u32)> = double.seen().iter().flat_map(|s| s.args()).collect();
    for thread in 0..4 {
        let order: Vec<_> = all.iter().filter(|p| p.0 == thread).map(|p| p.1).collect();
        assert_eq!(order, (0..EACH).collect::<Vec<_>>());
    }
}

#[test]
fn an_answer_that_says_nothing_may_be_left_out() {
    let answer = decode(&[]).unwrap();
    assert!(answer.result.is_empty() && answer.observed.is_empty());
    assert!(matches!(decode(&[0xff]), Err(Error::Answer(_))));
}

#[test]
fn what_finds_no_room_waits_for_its_queue_once() {
    let memory = [0u8; 64];
    let region = uapi::region(memory.as_ptr().cast(), 64, Direction::Out);
    let call = Envelope {
        queue: Some(Queue {
            id: 9,
            in_order: true,
            device: 1,
        }),
        regions: 1,
        ..sync()
    };
    let full = || Err(Errno::ENOMEM);
    let double = scripted([full(), Ok(Played::default()), Ok(Played::result(&7u32))]);
    let run = |double| client(double).forward_with(&call, &[region], &1u32, |_| ());
    run(&double).unwrap();
    let classes: Vec<_> = double
        .seen()
        .iter()
        .map(|s| s.envelopes()[0].class)
        .collect();
    assert_eq!(classes, [Class::Sync, Class::Wait, Class::Sync]);
    let stuck = Ok(Played::status(uapi::STATUS_UNRESOLVED));
    let double = scripted([full(), stuck]);
    assert!(run(&double).is_err());
    let double = scripted([full(), Ok(Played::default()), full()]);
    assert!(run(&double).is_err());
}

#[test]
fn text_of_kernels_is_written_in_order_to_its_end() {
    let mut left = vec![("three\n", false), ("two ", true), ("one ", true)];
    let double = Double::answering(move |_, _| {
        let (text, more) = left.pop().unwrap_or_default();
        Ok(Played {
            printed: text.into(),
            more: if more { MORE_TEXT } else { 0 },
            ..Played::default()
        })
    });
    let client = Client::new(Box::new(double.clone()));
    let call = Envelope::new(OP, Class::Wait, 0);
    client.forward(&call, &(), |_| ()).unwrap();
    client.forward(&call, &(), |_| ()).unwrap();
    assert_eq!(double.submissions(), 4);
    assert_eq!(*crate::stdout::WRITTEN.lock().unwrap(), b"one two three\n");
}

#[test]
fn what_is_enqueued_last_leaves_as_with_any_flush_and_later_handlers_posts_at_once() {
    let double = scripted([]);
    let client = client(&double);
    let enqueue = Envelope::new(OP, Class::Enqueue, 3);
    client.post(&enqueue, &1u32).unwrap();
    client.flush_at_exit();
    client.post(&enqueue, &2u32).unwrap();
    client.post(&post(), &3u32).unwrap();
    let seen = double.seen();
    let shapes: Vec<Vec<_>> = seen
        .iter()
        .map(|s| s.envelopes().iter().map(|e| (e.op, e.class)).collect())
        .collect();
    let flushed = vec![(OP, Class::Enqueue), (OP, Class::Poll)];
    assert_eq!(
        shapes,
        [flushed.clone(), flushed, vec![(post().op, Class::Post)]]
    );
}
