//! Several back ends are one board: each is loaded when it is first called, and
//! one that cannot be is no reason to refuse the others' calls.

use gil_board::back_end::{BackEnd, DriverOptions, Registered, Selection};
use gil_board::board::{Board, BoardError, Call, Ended, Guest, Outcome, Session};
use gil_board::region::Budget;
use gil_board::router::Router;
use gil_wire::Op;
use gil_wire::api::Described;
use gil_wire::ending::Ending;
use gil_wire::identity::DeviceInfo;
use gil_wire::message::{self, CallStatus};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Takes calls of one API, whose number it answers; each call's event ends when
/// it is asked for.
#[derive(Debug)]
struct One {
    apis: [u16; 1],
    loads: AtomicUsize,
    fails: bool,
}

impl One {
    const fn of(api: u16, fails: bool) -> Self {
        Self {
            apis: [api],
            loads: AtomicUsize::new(0),
            fails,
        }
    }

    fn loads(&self) -> usize {
        self.loads.load(Ordering::Relaxed)
    }
}

impl BackEnd for One {
    fn name(&self) -> &'static str {
        "one"
    }

    fn apis(&self) -> &'static [u16] {
        // Tests' back ends are statics.
        match self.apis {
            [1] => &[1],
            [2] => &[2],
            _ => &[3],
        }
    }

    fn registered(&self) -> Vec<Registered> {
        Vec::new()
    }

    fn place(&self) -> Option<PathBuf> {
        None
    }

    fn only(&self, _: &[&Registered]) -> io::Result<Selection> {
        Ok(Selection::default())
    }

    fn load(&self, _: DriverOptions) -> Result<Box<dyn Board>, BoardError> {
        self.loads.fetch_add(1, Ordering::Relaxed);
        match self.fails {
            true => Err(BoardError::Driver("it is not installed".into())),
            false => Ok(Box::new(Loaded(self.apis[0]))),
        }
    }
}

#[derive(Debug)]
struct Loaded(u16);

impl Board for Loaded {
    fn devices(&self) -> Vec<DeviceInfo> {
        Vec::new()
    }

    fn open<'b>(&'b self, _: Guest, _: &Budget) -> Result<Box<dyn Session + 'b>, BoardError> {
        Ok(Box::new(Program(self.0, Vec::new())))
    }
}

struct Program(u16, Vec<u64>);

impl Session for Program {
    fn apis(&self) -> Vec<Described> {
        Vec::new()
    }

    fn call(&mut self, call: Call<'_>) -> Outcome {
        self.1.extend(call.head.event);
        Outcome {
            status: CallStatus::Ran,
            result: vec![self.0 as u8],
            cpu_ns: 0,
            out: Vec::new(),
            ended: Vec::new(),
            work: None,
            notices: false,
            posted: Vec::new(),
        }
    }

    fn finish(&mut self, event: u64, _: &Budget) -> Option<Ended> {
        let is_own = self.1.contains(&event);
        is_own.then(|| Ended::bare(event, Ending::Failed(self.0.into())))
    }

    fn not_run(&self, _: Op) -> i32 {
        -i32::from(self.0)
    }

    fn fetch(&mut self, api: u16, object: u64) -> Result<Vec<u8>, gil_board::board::Unable> {
        Ok(vec![self.0 as u8, api as u8, object as u8])
    }
}

const GUEST: Guest = Guest {
    process: 1,
    pointer_bits: 64,
    finish: gil_wire::finish::Finish::Program,
};

fn call<'a>(op: Op, event: Option<u64>, budget: &'a Budget) -> Call<'a> {
    // A test's are few.
    let head = Box::leak(Box::new(message::Call {
        seq: 1,
        op,
        thread: 1,
        answer: true,
        finish: false,
        event,
        args: b"",
        regions: Vec::new(),
    }));
    Call {
        head,
        regions: Vec::new(),
        budget,
    }
}

#[test]
fn calls_go_to_the_back_end_of_their_api_which_is_loaded_by_the_first() {
    static FIRST: One = One::of(1, false);
    static SECOND: One = One::of(2, false);
    let router = Router::new(&[&FIRST, &SECOND], DriverOptions::default(), vec![], false);
    router.load_ahead();
    assert_eq!((FIRST.loads(), SECOND.loads()), (1, 0));
    let budget = Budget::new(1 << 20);
    let mut session = router.open(GUEST, &budget).unwrap();
    let first = session.call(call(Op::new(1, 7), Some(10), &budget));
    assert_eq!((first.result, SECOND.loads()), (vec![1], 0));
    assert_eq!(session.not_run(Op::new(2, 7)), -1, "it was not called yet");
    let second = session.call(call(Op::new(2, 7), Some(20), &budget));
    assert_eq!((second.result, SECOND.loads()), (vec![2], 1));
    session.call(call(Op::new(2, 8), None, &budget));
    assert_eq!((FIRST.loads(), SECOND.loads()), (1, 1));
    let mut ended = |event| session.finish(event, &budget).map(|ended| ended.ending);
    let failed = |code| Some(Ending::Failed(code));
    assert_eq!([20, 10, 30].map(&mut ended), [failed(2), failed(1), None]);
    assert_eq!(session.not_run(Op::new(2, 7)), -2);
    assert_eq!(session.fetch(2, 5), Ok(vec![2, 2, 5]));
    assert_eq!(session.fetch(1, 5), Ok(vec![1, 1, 5]));
}

#[test]
fn one_that_is_not_there_is_named_and_the_others_go_on() {
    static WORKS: One = One::of(1, false);
    static FAILS: One = One::of(2, true);
    let router = Router::new(&[&WORKS, &FAILS], DriverOptions::default(), vec![], false);
    let budget = Budget::new(1 << 20);
    let mut session = router.open(GUEST, &budget).unwrap();
    for (api, reason) in [(2, "it is not installed"), (9, "no back end for API 9")] {
        let outcome = session.call(call(Op::new(api, 1), None, &budget));
        assert_eq!(outcome.status, CallStatus::NotServed);
        let sentence = String::from_utf8(outcome.result).unwrap();
        assert!(sentence.contains(reason), "{sentence}");
    }
    let outcome = session.call(call(Op::new(1, 1), None, &budget));
    assert_eq!(outcome.status, CallStatus::Ran);
}
