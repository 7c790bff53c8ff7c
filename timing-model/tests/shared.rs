//! Timelines that share engines give what one timeline with all operations
//! gives, and never revise what they published.

use gil_timing::{Contention, Delays, Engine, Engines, Event, Operation, Order, QueueRef};
use proptest::prelude::*;
use std::collections::HashMap;

/// Endings are numbers here.
type Timeline = gil_timing::Timeline<i32>;
type Interval = gil_timing::Interval<i32>;

const COMPUTE: Engine = Engine(1);
const COPY_IN: Engine = Engine(2);
const COPY_OUT: Engine = Engine(3);
const GEOMETRY: Engine = Engine(8);
const PIXEL: Engine = Engine(9);

const PROCESSES: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    /// A process enqueues: which, its queue, engine, an earlier event of its
    /// own to wait for, what it takes.
    Enqueue(usize, u64, Engine, Option<usize>, u64),
    /// Time passes.
    Pass(u64),
    /// A process waits for one of its events.
    Wait(usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    let engine = prop_oneof![
        3 => Just(COMPUTE),
        2 => Just(COPY_IN),
        1 => Just(COPY_OUT),
        1 => Just(Engine::NONE),
        2 => Just(GEOMETRY),
        2 => Just(PIXEL),
    ];
    let enqueue = (
        0..PROCESSES,
        0..3u64,
        engine,
        prop::option::of(0..8usize),
        0..200u64,
    );
    prop_oneof![
        6 => enqueue.prop_map(|(p, q, e, w, d)| Step::Enqueue(p, q, e, w, d)),
        2 => (0..150u64).prop_map(Step::Pass),
        1 => (0..PROCESSES, 0..8usize).prop_map(|(p, n)| Step::Wait(p, n)),
    ]
}

/// Processes on one timeline, or on one each.
struct World {
    timelines: Vec<Timeline>,
    now_ns: u64,
    durations: HashMap<Event, u64>,
    of_process: [Vec<Event>; PROCESSES],
    published: Vec<(Event, Interval)>,
}

impl World {
    fn new(timelines: Vec<Timeline>) -> Self {
        Self {
            timelines,
            now_ns: 0,
            durations: HashMap::new(),
            of_process: Default::default(),
            published: Vec::new(),
        }
    }

    fn place(&self, process: usize) -> usize {
        process % self.timelines.len()
    }

    /// Publishes whatever is next anywhere, if it starts by then.
    fn publish_first(&mut self, by_ns: u64) -> bool {
        let turns = self.timelines.iter_mut().enumerate();
        let turns = turns.filter_map(|(n, timeline)| Some((timeline.next_candidate()?.turn, n)));
        let Some((turn, at)) = turns.min().filter(|(turn, _)| turn.start_ns() <= by_ns) else {
            return false;
        };
        let timeline = &mut self.timelines[at];
        let next = timeline.next_candidate().expect("it has the turn");
        assert_eq!(turn, next.turn);
        timeline
            .report(next.event, self.durations[&next.event], 0)
            .unwrap();
        assert_eq!(timeline.publish(), Ok(next.event));
        let interval = timeline.interval(next.event).unwrap();
        assert_eq!(interval.start_ns, next.start_ns);
        self.published.push((next.event, interval));
        true
    }

    fn gate(&mut self) {
        while self.publish_first(self.now_ns) {}
        for timeline in &mut self.timelines {
            let attention = timeline.attention_ns();
            assert!(attention.is_none_or(|at_ns| at_ns > self.now_ns));
        }
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Pass(ns) => self.now_ns += ns,
            Step::Enqueue(process, queue, engine, wait, duration) => {
                self.gate();
                let event = 1 + self.durations.len() as u64;
                let own = &self.of_process[process];
                let waits = wait.and_then(|n| own.get(n)).copied().into_iter().collect();
                let operation = self.operation((process, queue), engine, event, waits);
                let at = self.place(process);
                self.timelines[at].enqueue(operation).unwrap();
                self.durations.insert(event, duration);
                self.of_process[process].push(event);
            }
            Step::Wait(process, n) => {
                self.gate();
                let Some(&event) = self.of_process[process].get(n) else {
                    return;
                };
                let at = self.place(process);
                while self.timelines[at].interval(event).is_none() {
                    assert!(self.publish_first(u64::MAX), "nothing is blocked");
                }
                let interval = self.timelines[at].interval(event).unwrap();
                self.now_ns = self.now_ns.max(interval.end_ns);
            }
        }
    }

    fn operation(
        &self,
        (process, queue): (usize, u64),
        engine: Engine,
        event: Event,
        waits: Vec<Event>,
    ) -> Operation {
        Operation {
            event,
            entry_ns: self.now_ns,
            submit_ns: self.now_ns,
            queue: Some(QueueRef {
                id: 10 * process as u64 + queue,
                in_order: queue != 1,
                device: u64::from(queue == 2),
                // What is one timeline's own is the reference.
                is_shared: self.timelines.len() > 1,
            }),
            engine,
            share: gil_timing::Share::WHOLE,
            order: Order::Command,
            waits,
            observable: true,
            attended: false,
            delays: Delays::default(),
        }
    }

    fn run(mut self, steps: &[Step]) -> Vec<(Event, Interval)> {
        steps.iter().for_each(|step| self.take(step));
        while self.publish_first(u64::MAX) {}
        assert_eq!(self.published.len(), self.durations.len());
        self.published
    }
}

fn engines() -> Engines {
    Engines::with_contention(Contention::new(2.1).unwrap())
}

fn sharing() -> Vec<Timeline> {
    let engines = engines();
    let timeline = |_| Timeline::sharing(engines.clone());
    (0..PROCESSES).map(timeline).collect()
}

proptest! {
    #[test]
    fn timelines_that_share_engines_are_as_one(steps in prop::collection::vec(step(), 1..80)) {
        let one = World::new(vec![Timeline::sharing(engines())]).run(&steps);
        let many = World::new(sharing()).run(&steps);
        prop_assert_eq!(many, one);
    }
}

/// When a kernel of 50 ns, enqueued at 0, starts on a device.
fn start_ns(timeline: &mut Timeline, event: Event, device: u64, is_shared: bool) -> u64 {
    let operation = Operation {
        event,
        entry_ns: 0,
        submit_ns: 0,
        queue: Some(QueueRef {
            id: event,
            in_order: true,
            device,
            is_shared,
        }),
        engine: COMPUTE,
        share: gil_timing::Share::WHOLE,
        order: Order::Command,
        waits: vec![],
        observable: true,
        attended: false,
        delays: Delays::default(),
    };
    timeline.enqueue(operation).unwrap();
    timeline.report(event, 50, 0).unwrap();
    assert_eq!(timeline.publish(), Ok(event));
    timeline.interval(event).unwrap().start_ns
}

#[test]
fn devices_of_one_process_are_its_own() {
    for timeline in &mut sharing() {
        assert_eq!(start_ns(timeline, 1, 5, false), 0);
    }
}

/// Jobs of two processes on two processors of one device.
#[test]
fn processors_of_a_device_contend_whoever_uses_them() {
    let run = |timeline: &mut Timeline, device, engine| {
        let queue = QueueRef {
            id: 1,
            in_order: true,
            device,
            is_shared: true,
        };
        let operation = Operation {
            event: 1,
            entry_ns: 0,
            submit_ns: 0,
            queue: Some(queue),
            engine,
            share: gil_timing::Share::WHOLE,
            order: Order::Command,
            waits: vec![],
            observable: true,
            attended: false,
            delays: Delays::default(),
        };
        timeline.enqueue(operation).unwrap();
        timeline.report(1, 100, 0).unwrap();
        assert_eq!(timeline.publish(), Ok(1));
        timeline.interval(1).unwrap().end_ns
    };
    let runs = [(5, GEOMETRY), (5, PIXEL), (6, PIXEL), (5, COMPUTE)];
    let engines = engines();
    let ends = runs.map(|(device, engine)| {
        let mut timeline = Timeline::sharing(engines.clone());
        run(&mut timeline, device, engine)
    });
    assert_eq!(ends, [100, 210, 100, 100]);
}

/// A guest that names devices without end takes no memory with it.
#[test]
fn only_so_many_engines_are_shared() {
    let mut timelines = sharing();
    let [one, other, _] = &mut timelines[..] else {
        panic!("three")
    };
    for device in 0..=1024 {
        assert_eq!(start_ns(one, 1 + device, device, true), 0, "{device}");
    }
    assert_eq!(
        start_ns(other, 1, 1023, true),
        50,
        "the last that is shared"
    );
    assert_eq!(start_ns(other, 2, 1024, true), 0, "one more is its own");
    assert_eq!(start_ns(one, 2000, 1024, true), 50, "each has its own");
}
