use super::*;
use gil_wire::message::{self, CallStatus};
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

/// What is current in a thread of the driver's, as contexts are.
#[derive(Debug)]
struct Current {
    context: u8,
    living: Arc<AtomicUsize>,
}

impl Current {
    fn new(context: u8, living: &Arc<AtomicUsize>) -> Self {
        living.fetch_add(1, Ordering::Relaxed);
        Self {
            context,
            living: living.clone(),
        }
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        self.living.fetch_sub(1, Ordering::Relaxed);
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

/// Makes current what a call brings; without arguments, says what is current.
#[derive(Debug, Default)]
struct Driver {
    /// Contexts that are current somewhere.
    current: Arc<AtomicUsize>,
    calls: Arc<Mutex<Vec<(u64, ThreadId)>>>,
    /// How many were current anywhere as the session ended.
    left: Arc<Mutex<Option<usize>>>,
}

impl Drop for Driver {
    fn drop(&mut self) {
        *self.left.lock().unwrap() = Some(self.current.load(Ordering::Relaxed));
    }
}

const PANIC: &[u8] = b"panic";

impl Session for Driver {
    fn apis(&self) -> Vec<Described> {
        Vec::new()
    }

    fn call(&mut self, call: Call<'_>) -> Outcome {
        assert_ne!(call.head.args, PANIC, "as it was asked to");
        let mut calls = self.calls.lock().unwrap();
        calls.push((call.head.seq, std::thread::current().id()));
        if let [context] = call.head.args {
            CURRENT.set(Some(Current::new(*context, &self.current)));
        }
        let current = CURRENT.with_borrow(|one| one.as_ref().map_or(0, |one| one.context));
        Outcome {
            status: CallStatus::Ran,
            result: vec![current],
            ..Outcome::refused("")
        }
    }

    fn finish(&mut self, _: u64, _: &Budget) -> Option<Ended> {
        None
    }

    fn not_run(&self, _: Op) -> i32 {
        7
    }
}

fn call(session: &mut GuestThreads<Driver>, seq: u64, thread: u32, args: &[u8]) -> Outcome {
    let head = message::Call {
        seq,
        op: Op::new(900, 1),
        thread,
        answer: true,
        finish: true,
        event: None,
        args,
        regions: Vec::new(),
    };
    session.call(Call {
        head: &head,
        regions: Vec::new(),
        budget: &Budget::new(1 << 20),
    })
}

#[test]
fn each_guest_thread_sees_what_it_made_current() {
    let driver = Driver::default();
    let calls = driver.calls.clone();
    let mut session = GuestThreads::new(driver);
    let mut seq = 0;
    let mut result = |thread, args: &[u8]| {
        seq += 1;
        call(&mut session, seq, thread, args).result
    };
    for thread in [7, 5, 9] {
        assert_eq!(result(thread, &[thread as u8]), [thread as u8]);
    }
    for thread in [5, 7, 9, 9, 5, 7] {
        assert_eq!(result(thread, &[]), [thread as u8], "thread {thread}");
    }
    assert_eq!(result(5, &[50]), [50]);
    assert_eq!((result(5, &[]), result(7, &[])), (vec![50], vec![7]));
    // In their order, and those of the thread that came first on this one.
    let calls = calls.lock().unwrap();
    assert!(calls.iter().map(|(seq, _)| *seq).eq(1..=12));
    let here = std::thread::current().id();
    let own = calls.iter().filter(|(_, on)| *on == here);
    assert!(own.map(|(seq, _)| *seq).eq([1, 5, 9, 12]));
    CURRENT.set(None);
}

#[test]
fn what_is_current_goes_with_its_thread_before_the_session_ends() {
    let driver = Driver::default();
    let (current, left) = (driver.current.clone(), driver.left.clone());
    let mut session = GuestThreads::new(driver);
    call(&mut session, 0, 0, &[]);
    for thread in 1..=2 * MAX_THREADS as u32 {
        call(&mut session, 0, thread, &[thread as u8]);
    }
    assert_eq!(current.load(Ordering::Relaxed), MAX_THREADS);
    // The last ones are left.
    assert_eq!(call(&mut session, 0, 128, &[]).result, [128]);
    assert_eq!(call(&mut session, 0, 1, &[]).result, [0]);
    drop(session);
    assert_eq!(*left.lock().unwrap(), Some(0));
}

#[test]
fn a_call_that_panics_loses_the_session_alone() {
    let mut session = GuestThreads::new(Driver::default());
    assert_eq!(session.not_run(Op::new(900, 1)), 7);
    assert_eq!(call(&mut session, 0, 1, &[]).status, CallStatus::Ran);
    assert_eq!(call(&mut session, 0, 2, PANIC).status, CallStatus::Lost);
    for thread in [1, 2, 3] {
        assert_eq!(call(&mut session, 0, thread, &[]).status, CallStatus::Lost);
    }
    assert!(session.fetch(900, 1).is_err());
}
