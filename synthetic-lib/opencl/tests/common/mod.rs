//! A board that answers as a test says, and objects to try calls on.
#![allow(dead_code, reason = "each test program uses some of it")]

use gil_guest::double::{Double, Played, Seen};
use gil_opencl::generated::manual::{Guest, Kept, Object};
use gil_opencl::generated::types::*;
use gil_opencl::support::Details;
use gil_wire::ending::Ending;
use gil_wire::envelope::{Class, Envelope, Observation, State};
use gil_wire::generated::opencl::Kind;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

type Answer = Box<dyn FnMut(&Envelope<'_>) -> Played + Send>;

static TURN: Mutex<()> = Mutex::new(());
static ANSWER: Mutex<Option<Answer>> = Mutex::new(None);

fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn double() -> &'static Double {
    static DOUBLE: OnceLock<Double> = OnceLock::new();
    DOUBLE.get_or_init(|| {
        let double = Double::answering(|envelopes, _| {
            let last = envelopes.last().expect("not empty");
            let mut answer = lock(&ANSWER);
            // Releases of earlier tests' objects may come along as posts.
            Ok(match (last.class, answer.as_mut()) {
                (Class::Post, _) | (_, None) => Played::default(),
                (_, Some(answer)) => answer(last),
            })
        });
        assert!(gil_guest::process::install(Box::new(double.clone())));
        double
    })
}

/// The board, for one test at a time.
pub struct Board {
    from: usize,
    _turn: MutexGuard<'static, ()>,
}

/// A board that answers each call but posts so.
pub fn board(answer: impl FnMut(&Envelope<'_>) -> Played + Send + 'static) -> Board {
    let turn = lock(&TURN);
    let double = double();
    gil_guest::client().unwrap().flush(gil_wire::Op(0)).unwrap();
    *lock(&ANSWER) = Some(Box::new(answer));
    Board {
        from: double.submissions(),
        _turn: turn,
    }
}

/// A board that says 0 to every call.
pub fn agreeing() -> Board {
    board(|_| Played::result(&0i32))
}

impl Board {
    /// What it was handed so far.
    pub fn seen(&self) -> Vec<Seen> {
        double().seen().split_off(self.from)
    }

    /// As [`Board::seen`], with the posts that wait.
    pub fn all(&self) -> Vec<Seen> {
        gil_guest::client().unwrap().flush(gil_wire::Op(0)).unwrap();
        self.seen()
    }
}

/// Context, queue and buffer that the board knows.
pub struct World {
    pub context: cl_context,
    pub queue: cl_command_queue,
    pub buffer: cl_mem,
}

pub const SIZE: usize = 5000;

pub fn world(properties: cl_command_queue_properties) -> World {
    let context = Object::create(
        Kind::Context,
        gil_guest::new_number(),
        &[],
        Details::default(),
    );
    let parent = Object::find(Kind::Context, context).unwrap();
    let details = Guest::queue(&parent, properties);
    let queue = Object::create(
        Kind::CommandQueue,
        gil_guest::new_number(),
        &[&parent],
        details,
    );
    World {
        context,
        queue,
        buffer: buffer(context, 0, std::ptr::null_mut()),
    }
}

pub fn buffer(context: cl_context, flags: cl_mem_flags, host: *mut std::ffi::c_void) -> cl_mem {
    let parent = Object::find(Kind::Context, context).unwrap();
    // SAFETY: no test touches the memory behind `host` but its own.
    let details = unsafe { Guest::buffer(flags, SIZE, host) };
    Object::create(Kind::Mem, gil_guest::new_number(), &[&parent], details)
}

pub fn kernel(context: cl_context) -> cl_kernel {
    let parent = Object::find(Kind::Context, context).unwrap();
    Object::create(
        Kind::Kernel,
        gil_guest::new_number(),
        &[&parent],
        Details::default(),
    )
}

pub fn observation(event: u64, state: State, ending: Ending) -> Observation {
    Observation {
        event,
        state,
        ending,
        queued_ns: 1,
        submitted_ns: 2,
        start_ns: 3,
        end_ns: 4,
    }
}

/// An answer to an observation: every event is so.
pub fn observed(envelope: &Envelope<'_>, state: State, ending: Ending) -> Played {
    let each = |event: &u64| observation(*event, state, ending);
    Played {
        observed: envelope.waits.iter().map(each).collect(),
        ..Played::default()
    }
}
