use super::*;
use crate::back_end::operations::Order;
use crate::back_end::table::{self, Table};
use crate::board::Output;
use crate::region::{Budget, Region};
use gil_wire::Op;
use gil_wire::call::NewEvent;
use gil_wire::message::Direction;
use std::collections::{HashMap, HashSet};
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Queue,
    Event,
}

impl table::Kind for Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Event => "event",
        }
    }
}

/// The operation behind an event.
#[derive(Debug)]
enum Event {
    /// The program, which has set it or not.
    User(Option<Ending>),
    Operation {
        queue: usize,
        waits: Vec<usize>,
    },
}

/// A driver that counts references, hangs (panics, here) where one would, and
/// lets nobody use what is gone.
#[derive(Debug, Default)]
struct Fake(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    references: HashMap<usize, u32>,
    events: HashMap<usize, Event>,
    flushed: HashSet<usize>,
}

impl State {
    fn alive(&mut self, object: usize) -> &mut u32 {
        let count = self.references.get_mut(&object);
        count.filter(|count| **count > 0).expect("it is gone")
    }

    /// How an event ended; `None` if what is behind it is not set.
    fn ending(&self, event: usize) -> Option<Ending> {
        match &self.events[&event] {
            Event::User(set) => *set,
            Event::Operation { waits, .. } => {
                let endings = waits.iter().map(|wait| self.ending(*wait));
                let endings: Option<Vec<Ending>> = endings.collect();
                let failed = endings?.iter().any(|ending| ending.is_failure());
                Some(if failed {
                    Ending::Failed(-14)
                } else {
                    Ending::Done
                })
            }
        }
    }
}

impl Fake {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// An object with one reference, the caller's.
    fn make(&self, object: usize) -> *mut c_void {
        assert!(self.state().references.insert(object, 1).is_none());
        object as *mut c_void
    }

    fn references(&self, object: usize) -> u32 {
        self.state().references[&object]
    }
}

fn address(object: Pointer) -> usize {
    object.as_ptr() as usize
}

impl References for Fake {
    type Kind = Kind;

    fn retain(&self, _: Kind, object: Pointer) {
        *self.state().alive(address(object)) += 1;
    }

    fn release(&self, _: Kind, object: Pointer) {
        *self.state().alive(address(object)) -= 1;
    }
}

impl Events for Fake {
    const QUEUE: Kind = Kind::Queue;
    const EVENT: Kind = Kind::Event;

    fn flush(&self, queue: Pointer) {
        let mut state = self.state();
        state.alive(address(queue));
        state.flushed.insert(address(queue));
    }

    fn wait(&self, event: Pointer) {
        let mut state = self.state();
        state.alive(address(event));
        assert!(state.ending(address(event)).is_some(), "waits for ever");
        if let Event::Operation { queue, .. } = &state.events[&address(event)] {
            assert!(state.flushed.contains(queue), "the device has not begun");
        }
    }

    fn has_ended(&self, event: Pointer) -> bool {
        let mut state = self.state();
        state.alive(address(event));
        state.ending(address(event)).is_some()
    }

    fn ending(&self, event: Pointer) -> Ending {
        let mut state = self.state();
        state.alive(address(event));
        state.ending(address(event)).expect("it has not ended")
    }

    /// As many as its address.
    fn duration_ns(&self, event: Pointer) -> Option<u64> {
        self.state().alive(address(event));
        Some(address(event) as u64)
    }

    fn abandon(&self, event: Pointer) {
        self.set(address(event), Ending::Failed(-1));
    }
}

impl Fake {
    fn set(&self, event: usize, ending: Ending) {
        let mut state = self.state();
        state.alive(event);
        let before = state.events.insert(event, Event::User(Some(ending)));
        assert!(matches!(before, Some(Event::User(None))));
    }
}

struct Session {
    driver: &'static Fake,
    table: Table<Kind, Data>,
    operations: Operations,
    budget: Budget,
}

struct Data;

impl From<Kind> for Data {
    fn from(_: Kind) -> Self {
        Self
    }
}

impl Objects for Session {
    type Kind = Kind;
    type Data = Data;
    type Driver = Fake;
    type Functions = ();

    fn driver(&self) -> &'static Fake {
        self.driver
    }

    fn functions(&self) -> &'static () {
        &()
    }

    fn table(&self) -> &Table<Kind, Data> {
        &self.table
    }

    fn table_mut(&mut self) -> &mut Table<Kind, Data> {
        &mut self.table
    }
}

impl Queues for Session {
    fn operations(&mut self) -> &mut Operations {
        &mut self.operations
    }

    fn is_in_order(&self, _: Handle) -> bool {
        true
    }
}

/// The guest's numbers of its queue and its user event; the driver's objects are
/// eight times as far.
const QUEUE: u64 = 1;
const USER: u64 = 2;

fn at(number: u64) -> usize {
    number as usize * 8
}

impl Session {
    fn new() -> Self {
        let mut session = Self {
            driver: Box::leak(Box::default()),
            table: Table::default(),
            operations: Operations::default(),
            budget: Budget::new(1 << 20),
        };
        let queue = session.driver.make(at(QUEUE));
        let bound = session.bind(Kind::Queue, Handle(QUEUE), queue, Handle::NULL);
        bound.unwrap();
        session
    }

    /// The guest makes a user event.
    fn make_user_event(&mut self) {
        let event = self.driver.make(at(USER));
        let state = Event::User(None);
        self.driver.state().events.insert(at(USER), state);
        let bound = self.bind(Kind::Event, Handle(USER), event, Handle::NULL);
        bound.unwrap();
        self.user_event(Pointer::new(event).unwrap());
    }

    /// The guest sets it.
    fn set_user_event(&mut self, call: &mut Call, ending: Ending) {
        self.driver.set(at(USER), ending);
        let event = Pointer::new(at(USER) as *mut c_void).unwrap();
        self.user_event_set(event, call);
    }

    /// A call with one out region, to enqueue this operation.
    fn call(&self, number: u64) -> Call {
        let out = Region::holding(Direction::Out, vec![number as u8; 4], &self.budget);
        Call::new(Op::new(1, 60), Some(number), vec![out])
    }

    /// The driver's function enqueues it.
    fn enqueue(&mut self, call: &mut Call, number: u64, waits: &[u64], kept: bool) {
        let event = self.driver.make(at(number));
        let operation = Event::Operation {
            queue: at(QUEUE),
            waits: waits.iter().map(|wait| at(*wait)).collect(),
        };
        self.driver.state().events.insert(at(number), operation);
        let waits: Vec<Handle> = waits.iter().map(|wait| Handle(*wait)).collect();
        self.returned(call, number, (0, event), &waits, kept)
            .unwrap();
    }

    fn returned(
        &mut self,
        call: &mut Call,
        number: u64,
        (result, event): (i32, *mut c_void),
        waits: &[Handle],
        kept: bool,
    ) -> Result<(), Refusal> {
        let op = Enqueued {
            result,
            queue: Handle(QUEUE),
            order: Order::Command,
            waits,
            signals: NewEvent {
                number: Handle(number),
                kept,
            },
            event,
        };
        self.put_on_queue(call, op)
    }

    /// The session is over: every reference is given up.
    fn close(mut self) {
        self.end_all();
        self.release_all();
        let state = self.driver.state();
        assert!(
            state.references.values().all(|count| *count == 0),
            "{state:?}"
        );
    }
}

/// What is reported: each operation with its time, its ending, and its output.
fn reports(ended: &[Ended]) -> Vec<(u64, u64, Ending, usize)> {
    let report = |one: &Ended| {
        let out = one.out.iter().map(Output::len).sum();
        (one.event, one.duration_ns, one.ending, out)
    };
    ended.iter().map(report).collect()
}

#[test]
fn what_its_call_waits_for_is_reported_with_the_calls_own_output() {
    let mut session = Session::new();
    for kept in [true, false] {
        let number = 10 + u64::from(kept);
        let mut call = session.call(number);
        session.enqueue(&mut call, number, &[], kept);
        assert!(call.was_enqueued());
        // What the guest holds is its event alone.
        assert_eq!(session.driver.references(at(number)), u32::from(kept));
        assert_eq!(session.get::<u8>(Kind::Event, Handle(number)).is_ok(), kept);
        assert_eq!(session.driver.references(at(QUEUE)), 1);
        let outcome = call.outcome(Vec::new());
        let expected = [(number, 8 * number, Ending::Done, 0)];
        assert_eq!(reports(&outcome.ended), expected);
        assert_eq!(outcome.out[0].bytes(), [number as u8; 4]);
    }
    session.close();
}

#[test]
fn what_its_call_does_not_wait_for_begins_and_is_reported_once_when_asked_for() {
    let mut session = Session::new();
    let mut call = session.call(10).unfinished();
    session.enqueue(&mut call, 10, &[], true);
    assert!(session.driver.state().flushed.contains(&at(QUEUE)));
    let outcome = call.outcome(Vec::new());
    assert!(outcome.ended.is_empty() && outcome.out[0].is_empty());
    // The guest gives its event up, and the operation keeps it.
    session.release(Kind::Event, Handle(10)).unwrap();
    assert_eq!(session.driver.references(at(10)), 1);
    let ended = session.end(10).unwrap();
    assert_eq!(reports(&[ended]), [(10, 80, Ending::Done, 4)]);
    assert!(session.end(10).is_none());
    session.close();
}

#[test]
fn what_waits_for_a_user_event_ends_once_that_is_set() {
    let mut session = Session::new();
    session.make_user_event();
    for (number, waits) in [(10, &[USER][..]), (11, &[]), (12, &[10])] {
        let mut call = session.call(number);
        session.enqueue(&mut call, number, waits, true);
        assert!(call.outcome(Vec::new()).ended.is_empty());
        assert!(session.end(number).is_none(), "it is blocked");
    }
    let mut call = session.call(20);
    session.set_user_event(&mut call, Ending::Done);
    let ended = call.outcome(Vec::new()).ended;
    let done = |number| (number, 8 * number, Ending::Done, 4);
    assert_eq!(reports(&ended), [done(10), done(11), done(12)]);
    assert_eq!(session.driver.references(at(USER)), 1);
    session.close();
}

#[test]
fn a_session_that_is_over_leaves_nothing_under_way_and_nothing_held() {
    let mut session = Session::new();
    let mut call = session.call(9).unfinished();
    session.enqueue(&mut call, 9, &[], false);
    session.make_user_event();
    for (number, waits) in [(10, [USER]), (11, [10])] {
        let mut call = session.call(number);
        session.enqueue(&mut call, number, &waits, true);
    }
    // The driver would hang, and panics here, had nobody set the user event.
    session.close();
}

#[test]
fn what_fails_takes_no_time_and_has_no_output() {
    let mut session = Session::new();
    session.make_user_event();
    let mut call = session.call(20);
    session.set_user_event(&mut call, Ending::Failed(-1));
    let mut call = session.call(10);
    session.enqueue(&mut call, 10, &[USER], true);
    let outcome = call.outcome(Vec::new());
    assert_eq!(reports(&outcome.ended), [(10, 0, Ending::Failed(-14), 0)]);
    assert!(outcome.out[0].is_empty());
    let mut call = session.call(11).unfinished();
    session.enqueue(&mut call, 11, &[USER], true);
    let ended = session.end(11).unwrap();
    assert_eq!(reports(&[ended]), [(11, 0, Ending::Failed(-14), 0)]);
    session.close();
}

#[test]
fn an_enqueue_that_the_driver_refuses_is_rejected_and_one_without_event_is_none() {
    let mut session = Session::new();
    let mut call = session.call(10);
    let refused = session.returned(&mut call, 10, (-5, std::ptr::null_mut()), &[], true);
    refused.unwrap();
    assert!(call.was_enqueued() && session.end(10).is_none());
    let ended = call.outcome(Vec::new()).ended;
    assert!(ended[0].rejected);
    assert_eq!(reports(&ended), [(10, 0, Ending::Failed(-5), 0)]);
    let mut call = session.call(11);
    let none = session.returned(&mut call, 11, (0, std::ptr::null_mut()), &[], true);
    assert!(matches!(none, Err(Refusal::NoEvent)));
    session.close();
}
