//! The timeline against a plain discrete-event simulation of the same devices:
//! moments on a heap, engines that look at what waits whenever they are free,
//! and nothing of the timeline's own code.

mod simulation;

use gil_timing::{
    Contention, Delays, Engine, Engines, Event, Operation, Order, QueueEnd, QueueRef, TimelineError,
};
use proptest::prelude::*;
use simulation::{Command, FACTOR, Simulation, contend, slowed};
use std::collections::HashMap;

/// Endings are numbers here.
type Timeline = gil_timing::Timeline<i32>;
type Interval = gil_timing::Interval<i32>;

const COMPUTE: Engine = Engine(1);
const COPY_IN: Engine = Engine(2);
const COPY_OUT: Engine = Engine(3);
/// Processors, which slow each other down.
const PROCESSORS: [Engine; 3] = [Engine(8), Engine(9), Engine(15)];

/// The first user event; the program has four.
const USER: Event = 1000;
const USERS: u64 = 4;
const QUEUES: u64 = 5;

/// Something to be enqueued. Numbers in `waits` below its own are earlier
/// events, the rest user events.
#[derive(Clone, Debug)]
struct New {
    queue: u64,
    engine: Engine,
    order: Order,
    waits: Vec<u64>,
    delay: u64,
    duration: u64,
    delays: Delays,
}

/// What a program does, at a time that is given by the steps before it.
#[derive(Clone, Debug)]
enum Step {
    Pass(u64),
    Enqueue(New),
    Set(u64),
    Poll,
    Wait(u64),
    WaitQueue(u64),
    /// Waits for all queues.
    WaitAll,
}

fn new() -> impl Strategy<Value = New> {
    let engine = prop_oneof![
        Just(COMPUTE),
        Just(COPY_IN),
        Just(COPY_OUT),
        Just(Engine::NONE),
        Just(PROCESSORS[0]),
        Just(PROCESSORS[1]),
        Just(PROCESSORS[2]),
    ];
    let order = prop_oneof![
        6 => Just(Order::Command),
        1 => Just(Order::Marker),
        1 => Just(Order::Barrier),
    ];
    let waits = prop::collection::vec(0u64..44, 0..3);
    let times = (0u64..6, 0u64..60);
    let delays = prop_oneof![Just((0, 0)), Just((7, 0)), Just((0, 3)), Just((40, 9)),];
    let times = (times, delays);
    (0..QUEUES, engine, order, waits, times).prop_map(|(queue, engine, order, waits, times)| New {
        queue,
        engine,
        order,
        waits,
        delay: times.0.0,
        duration: times.0.1,
        delays: Delays {
            launch_ns: times.1.0,
            gap_ns: times.1.1,
        },
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0u64..80).prop_map(Step::Pass),
        8 => new().prop_map(Step::Enqueue),
        1 => (0..USERS).prop_map(Step::Set),
        2 => Just(Step::Poll),
        1 => (0u64..40).prop_map(Step::Wait),
        1 => (0..QUEUES).prop_map(Step::WaitQueue),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..60)
}

/// Queues 0 and 1 are in order, 4 is on another device.
fn queue(id: u64) -> QueueRef {
    QueueRef {
        id,
        in_order: id < 2,
        device: u64::from(id == 4),
        is_shared: false,
    }
}

/// A program being run on the timeline, as the host interface runs it.
#[derive(Default)]
struct Program {
    timeline: Timeline,
    now_ns: u64,
    durations: Vec<u64>,
    published: HashMap<Event, Interval>,
    /// In the order of being published.
    order: Vec<Event>,
    /// Of these, the board reports the ends before it is asked.
    early: Vec<Event>,
    strict: bool,
    commands: Vec<Command>,
    signals: Vec<(Event, u64)>,
}

impl Program {
    fn publish(&mut self) {
        let next = self.timeline.next_candidate().expect("a candidate");
        if !next.is_reported {
            assert_eq!(self.timeline.publish(), Err(TimelineError::NotReported));
            let duration = self.durations[next.event as usize];
            self.timeline.report(next.event, duration, 0).unwrap();
        }
        assert_eq!(self.timeline.publish(), Ok(next.event));
        let interval = self.timeline.interval(next.event).unwrap();
        assert_eq!(interval.start_ns, next.start_ns);
        let before = self.published.insert(next.event, interval);
        assert_eq!(before, None, "published once");
        self.order.push(next.event);
    }

    /// Nothing that has started stays unpublished.
    fn gate(&mut self) {
        let until = if self.strict { u64::MAX } else { self.now_ns };
        while self
            .timeline
            .next_candidate()
            .is_some_and(|n| n.start_ns <= until)
        {
            self.publish();
        }
        let attention = self.timeline.attention_ns();
        assert!(attention.is_none_or(|at_ns| at_ns > self.now_ns));
    }

    fn run(&mut self, step: &Step) {
        self.gate();
        match step {
            Step::Pass(ns) => self.now_ns += ns,
            Step::Poll => {}
            Step::Set(user) => {
                // What starts at the moment of the call is under way already.
                self.now_ns += 1;
                self.set(USER + user);
            }
            Step::Enqueue(new) => self.enqueue(new),
            Step::Wait(event) => {
                if !self.timeline.is_blocked(*event) {
                    self.wait(|timeline| timeline.interval(*event).map(|i| i.end_ns));
                }
            }
            Step::WaitQueue(id) => self.wait_queue(*id),
            Step::WaitAll => (0..QUEUES).for_each(|id| self.wait_queue(id)),
        }
        self.gate();
        for (event, interval) in &self.published {
            assert_eq!(self.timeline.interval(*event), Some(*interval), "revised");
        }
    }

    fn set(&mut self, event: Event) {
        if self.signals.iter().all(|(set, _)| *set != event) {
            self.signals.push((event, self.now_ns));
            self.timeline.signal(event, self.now_ns, 0).unwrap();
        }
    }

    fn wait_queue(&mut self, id: u64) {
        if self.timeline.queue_end(id) != QueueEnd::Blocked {
            self.wait(|timeline| match timeline.queue_end(id) {
                QueueEnd::Resolved(end_ns) => Some(end_ns),
                _ => None,
            });
        }
    }

    fn wait(&mut self, end: impl Fn(&Timeline) -> Option<u64>) {
        while end(&self.timeline).is_none() {
            self.publish();
        }
        self.now_ns = self.now_ns.max(end(&self.timeline).unwrap());
    }

    fn enqueue(&mut self, new: &New) {
        let event = self.durations.len() as Event;
        let named = |&w: &u64| if w < event { w } else { USER + w % USERS };
        let is_fence = new.order != Order::Command;
        let duration = if is_fence { 0 } else { new.duration };
        self.durations.push(duration);
        let op = Operation {
            event,
            entry_ns: self.now_ns,
            submit_ns: self.now_ns + new.delay,
            queue: Some(queue(new.queue)),
            engine: if is_fence { Engine::NONE } else { new.engine },
            share: gil_timing::Share::WHOLE,
            order: new.order,
            waits: new.waits.iter().map(named).collect(),
            observable: true,
            attended: false,
            delays: new.delays,
        };
        self.commands.push(Command::new(&op, duration));
        self.timeline.enqueue(op).unwrap();
        if self.early.contains(&event) {
            self.timeline.report(event, duration, 0).unwrap();
        }
    }

    /// Every user event is set, and everything waited for.
    fn end(&mut self) {
        (0..USERS).for_each(|user| self.run(&Step::Set(user)));
        self.run(&Step::WaitAll);
        assert_eq!(self.timeline.unresolved(), 0);
    }

    fn spans(&self) -> Vec<(u64, u64)> {
        let span = |event| {
            let interval: &Interval = &self.published[&event];
            (interval.start_ns, interval.end_ns)
        };
        (0..self.durations.len() as Event).map(span).collect()
    }

    fn simulated(&self) -> Vec<(u64, u64)> {
        Simulation::new(self.commands.clone(), &self.signals).run()
    }
}

fn ran(steps: &[Step], early: &[Event], strict: bool) -> Program {
    let contention = Contention::new(FACTOR).unwrap();
    let mut program = Program {
        timeline: Timeline::sharing(Engines::with_contention(contention)),
        early: early.to_vec(),
        strict,
        // At 0 is what never was.
        now_ns: 1,
        ..Program::default()
    };
    steps.iter().for_each(|step| program.run(step));
    program.end();
    program
}

/// The program without user events.
fn without_users(steps: Vec<Step>) -> Vec<Step> {
    let steps = steps.into_iter().filter(|s| !matches!(s, Step::Set(_)));
    let cleared = steps.map(|step| match step {
        Step::Enqueue(new) => Step::Enqueue(New {
            waits: vec![],
            ..new
        }),
        step => step,
    });
    cleared.collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Without waits, nothing is published before its time has come: the
    /// timeline is the plain simulation. (A wait may publish an operation whose
    /// start is ahead; what is enqueued until then queues behind it.)
    #[test]
    fn the_timeline_is_the_plain_simulation(steps in steps()) {
        let is_wait = |step: &Step| matches!(step, Step::Wait(_) | Step::WaitQueue(_));
        let steps: Vec<Step> = steps.into_iter().filter(|step| !is_wait(step)).collect();
        let program = ran(&steps, &[], false);
        prop_assert_eq!(program.spans(), program.simulated());
    }

    /// Who waits for everything finds nothing ahead afterwards: the plain
    /// simulation again.
    #[test]
    fn waits_for_everything_change_nothing(steps in steps()) {
        let mut all = without_users(steps);
        for step in &mut all {
            if matches!(step, Step::Wait(_) | Step::WaitQueue(_)) {
                *step = Step::WaitAll;
            }
        }
        let program = ran(&all, &[], false);
        prop_assert_eq!(program.spans(), program.simulated());
    }

    /// When a duration is learnt changes nothing.
    #[test]
    fn the_order_of_reports_does_not_matter(
        steps in steps(),
        early in prop::collection::vec(0u64..40, 0..40),
    ) {
        let asked = ran(&steps, &[], false);
        let told = ran(&steps, &early, false);
        prop_assert_eq!(asked.spans(), told.spans());
        prop_assert_eq!(asked.now_ns, told.now_ns);
    }

    /// Strict mode publishes each operation as it is enqueued. Where each is
    /// waited for before the next one, both modes give the same intervals,
    /// whatever the queues and engines.
    #[test]
    fn strict_mode_is_the_same_where_everything_is_observed(steps in steps()) {
        let observed = without_users(steps).into_iter().flat_map(|step| {
            let is_enqueue = matches!(step, Step::Enqueue(_));
            [step].into_iter().chain(is_enqueue.then_some(Step::WaitAll))
        });
        let observed: Vec<Step> = observed.collect();
        let [strict, other] = [true, false].map(|strict| ran(&observed, &[], strict));
        prop_assert_eq!(strict.spans(), other.spans());
        prop_assert_eq!(strict.now_ns, other.now_ns);
    }

    /// On one queue in order, operations are ready in the order in which they
    /// are enqueued: both modes agree whatever is observed.
    #[test]
    fn strict_mode_is_the_same_on_one_queue_in_order(steps in steps()) {
        let one = |step: Step| match step {
            Step::Enqueue(new) => Step::Enqueue(New { queue: 0, ..new }),
            step => step,
        };
        let steps: Vec<Step> = without_users(steps).into_iter().map(one).collect();
        let [strict, other] = [true, false].map(|strict| ran(&steps, &[], strict));
        prop_assert_eq!(strict.spans(), other.spans());
    }

    /// In any program and mode an engine does one thing at a time, for as long
    /// as it takes, and nothing starts before it may.
    #[test]
    fn engines_and_dependencies_are_respected(steps in steps(), strict: bool) {
        let program = ran(&steps, &[], strict);
        let spans = program.spans();
        let signals: HashMap<_, _> = program.signals.iter().copied().collect();
        let mut busy: HashMap<_, Vec<(u64, u64)>> = HashMap::new();
        for (command, &(start, end)) in program.commands.iter().zip(&spans) {
            prop_assert!(start >= command.submit_ns);
            prop_assert!([command.duration, slowed(command.duration)].contains(&(end - start)));
            for wait in &command.waits {
                let ended = signals.get(wait).copied();
                prop_assert!(start >= ended.unwrap_or_else(|| spans[*wait as usize].1));
            }
            if let (Some(engine), true) = (command.engine, end > start) {
                busy.entry(engine).or_default().push((start, end));
            }
        }
        for mut spans in busy.into_values() {
            spans.sort_unstable();
            prop_assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        }
    }
    /// In any program and mode an operation on a processor is slowed down if, and only
    /// if, another processor of the device was known to be at work when it starts.
    #[test]
    fn processors_that_start_beside_others_are_slowed(steps in steps(), strict: bool) {
        let program = ran(&steps, &[], strict);
        let spans = program.spans();
        let runs = |event: Event| (program.commands[event as usize].engine, spans[event as usize]);
        for (place, &event) in program.order.iter().enumerate() {
            let (own, (start, end)) = runs(event);
            let is_beside = |&other: &Event| {
                let (engine, (from, until)) = runs(other);
                let are_two = own.zip(engine).is_some_and(|(own, other)| contend(own, other));
                are_two && from <= start && start < until
            };
            let duration = program.commands[event as usize].duration;
            let expected = match program.order[..place].iter().any(is_beside) {
                true => slowed(duration),
                false => duration,
            };
            prop_assert_eq!(end - start, expected);
        }
    }
}
