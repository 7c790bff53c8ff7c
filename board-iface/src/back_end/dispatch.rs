//! Executing a call: the input of the generated dispatch, the traits that it needs of
//! a session, and the work around every call.
//!
//! A back end's session has the methods of [`Objects`]; of [`Enqueues`] if its
//! API has operations; and of [`Current`] if objects are current in threads.

use super::call::Call;
use super::objects::Objects;
use super::operations::Order;
use super::refusal::Refusal;
use gil_wire::Op;
use gil_wire::call::{Handle, NewEvent};
use gil_wire::envelope::Class;
use std::ffi::c_void;

/// An encoded answer, empty for posts.
pub type Answer = Result<Vec<u8>, Refusal>;

/// Runs one entry point: decodes its arguments, calls the driver, encodes the
/// answer.
pub type DispatchFn<S> = fn(&mut S, &mut Call, args: &[u8]) -> Answer;

/// An enqueue function returned.
#[derive(Clone, Copy, Debug)]
pub struct Enqueued<'a> {
    /// What it returned; 0 for success.
    pub result: i32,
    /// On which queue.
    pub queue: Handle,
    /// Its order on the queue.
    pub order: Order,
    /// Its wait list.
    pub waits: &'a [Handle],
    /// The guest's number for its event.
    pub signals: NewEvent,
    /// Its event, if the function succeeded and the API has events.
    pub event: *mut c_void,
}

/// A session of an API that enqueues operations.
pub trait Enqueues: Objects {
    /// The events of a wait list, for the driver.
    ///
    /// # Errors
    /// [`Refusal::Table`] for the first that is not there.
    fn waits<T>(&mut self, list: &[Handle]) -> Result<Vec<*mut T>, Refusal>;

    /// Whether an operation that signals this event is blocked, under way or not
    /// reported.
    fn has_operation(&self, event: Handle) -> bool;

    /// Whether the call may enqueue an operation that signals this event: the
    /// call says the same, and no other operation has the number. The driver
    /// uses the memory of an operation, and the host asks how it ended, by it.
    ///
    /// # Errors
    /// [`Refusal::Signals`], [`Refusal::Signalled`] or [`Refusal::Table`].
    fn can_signal(&self, call: &Call, event: NewEvent) -> Result<(), Refusal> {
        let number = event.number;
        call.signals(number)?;
        if self.has_operation(number) {
            return Err(Refusal::Signalled(number.0));
        }
        self.can_bind(number)
    }

    /// An enqueue function returned: the call's memory becomes the operation's,
    /// which is waited for if the call says so and if it does not wait for what
    /// the guest has yet to cause.
    ///
    /// # Errors
    /// [`Refusal`].
    fn enqueued(&mut self, call: &mut Call, operation: Enqueued<'_>) -> Result<(), Refusal>;
}

/// A session of an API whose calls work on an object that is current in their
/// thread.
pub trait Current: Objects {
    /// Has this object be current for the driver.
    ///
    /// # Errors
    /// [`Refusal::Table`] if it is not there.
    fn make_current(&mut self, object: Handle) -> Result<(), Refusal>;

    /// The error of the last call, where a function does not return it.
    fn last_error(&self) -> i32;
}

/// What is generated for an API, and its own view of what is not run.
#[derive(Debug)]
pub struct Dispatch<S> {
    /// The function that runs an operation.
    pub function: fn(Op) -> Option<DispatchFn<S>>,
    /// The answer of a call that failed before the driver was asked.
    pub failed: fn(Op, i32) -> Option<Answer>,
    /// The API's error where a refusal is the program's affair, or nobody's
    /// fault.
    pub code: fn(&Refusal, Op) -> Option<i32>,
    /// The API's error for a function that the board lacks.
    pub missing: i32,
}

impl<S> Dispatch<S> {
    /// Runs a call; what it gives goes back to the guest. Of an enqueue that
    /// never reached the driver, the call reports that nothing comes of it.
    ///
    /// # Errors
    /// [`Refusal`] for a request that is none.
    pub fn run(&self, session: &mut S, call: &mut Call, args: &[u8]) -> Answer {
        let function = (self.function)(call.op());
        let function = function.ok_or(Refusal::UnknownOp(call.op()))?;
        let result = function(session, call, args);
        let result = result.or_else(|refusal| self.not_asked(call, refusal))?;
        if is_enqueue(call.op()) && !call.was_enqueued() {
            // The driver lacks the function: nothing will come of this either.
            call.reject(self.missing);
        }
        Ok(result)
    }

    /// The answer where the driver was not asked: the API's error, as if the
    /// driver had given it.
    fn not_asked(&self, call: &mut Call, refusal: Refusal) -> Answer {
        let op = call.op();
        let code = (self.code)(&refusal, op);
        let answer = code.and_then(|code| Some((code, (self.failed)(op, code)?)));
        let Some((code, answer)) = answer else {
            return Err(refusal);
        };
        tracing::info!("{op} fails with {code}: {refusal}");
        if is_enqueue(op) {
            call.set_enqueued();
            call.reject(code);
        }
        answer
    }
}

fn is_enqueue(op: Op) -> bool {
    let info = gil_wire::api::info(op);
    info.is_some_and(|info| info.class == Some(Class::Enqueue))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_wire::ending::Ending;

    /// A call of OpenCL's, as an example of an enqueue and of one that is none.
    const ENQUEUE: Op = Op::new(1, 60);
    const QUERY: Op = Op::new(1, 1);

    fn dispatch(function: DispatchFn<()>) -> Dispatch<()> {
        // The functions below are given to it by the tests.
        static FUNCTION: std::sync::Mutex<Option<DispatchFn<()>>> = std::sync::Mutex::new(None);
        *FUNCTION.lock().unwrap() = Some(function);
        Dispatch {
            function: |op| match op.entry() {
                999 => None,
                _ => *FUNCTION.lock().unwrap(),
            },
            failed: |_, code| Some(Ok(vec![code as u8])),
            code: |refusal, _| matches!(refusal, Refusal::Wide(_)).then_some(7),
            missing: 9,
        }
    }

    fn run(function: DispatchFn<()>, op: Op) -> (Answer, Vec<(Ending, bool)>) {
        let mut call = Call::new(op, Some(3), Vec::new());
        let result = dispatch(function).run(&mut (), &mut call, &[]);
        let ended = call.outcome(Vec::new()).ended;
        let ended = ended.iter().map(|one| (one.ending, one.rejected));
        (result, ended.collect())
    }

    #[test]
    fn an_enqueue_that_no_driver_saw_is_rejected_with_its_error() {
        let lacks: DispatchFn<()> = |_, _, _| Ok(vec![1]);
        let (result, ended) = run(lacks, ENQUEUE);
        assert_eq!(
            (result.unwrap(), ended),
            (vec![1], vec![(Ending::Failed(9), true)])
        );
        assert_eq!(run(lacks, QUERY).1, []);
        let reaches: DispatchFn<()> = |_, call, _| {
            call.set_enqueued();
            Ok(vec![])
        };
        assert_eq!(run(reaches, ENQUEUE).1, []);
        let wide: DispatchFn<()> = |_, _, _| Err(Refusal::wide("size"));
        let (result, ended) = run(wide, ENQUEUE);
        assert_eq!(
            (result.unwrap(), ended),
            (vec![7], vec![(Ending::Failed(7), true)])
        );
        let (result, ended) = run(wide, QUERY);
        assert_eq!((result.unwrap(), ended), (vec![7], vec![]));
        let none: DispatchFn<()> = |_, _, _| Err(Refusal::NoEvent);
        let (result, ended) = run(none, ENQUEUE);
        assert!(matches!(result, Err(Refusal::NoEvent)) && ended.is_empty());
        let unknown = run(lacks, Op::new(1, 999)).0.unwrap_err();
        assert!(
            unknown.to_string().contains("call of this board"),
            "{unknown}"
        );
    }
}
