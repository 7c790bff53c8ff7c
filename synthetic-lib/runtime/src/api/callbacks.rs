//! The program's callbacks, called on the library's own thread: at once, when an
//! event reaches a state, or when an object is destroyed.

use super::{Api, CallResult, Object};
use crate::later::{self, EventJob, Job, Moment, NoThread};
use gil_wire::Op;
use gil_wire::ending::Ending;
use std::ffi::c_void;
use std::sync::{Mutex, OnceLock, PoisonError};

/// What a program wants done with values of its own on another thread.
struct Sent<F>(F);

// SAFETY: who makes one says so.
unsafe impl<F> Send for Sent<F> {}

impl<F> Sent<F> {
    /// The whole of it, so that closures hold no less.
    fn into_inner(self) -> F {
        self.0
    }
}

/// A job for the library's thread.
///
/// # Safety
/// What `call` holds may be used on another thread: a program that gives a
/// function and its data to an API agrees to that.
pub unsafe fn job(call: impl FnOnce() + 'static) -> Job {
    let sent = Sent(call);
    Box::new(move || sent.into_inner()())
}

/// A job for a moment of an event.
///
/// # Safety
/// As [`job`].
pub unsafe fn event_job(call: impl FnOnce(Option<Ending>) + 'static) -> EventJob {
    let sent = Sent(call);
    Box::new(move |ended| sent.into_inner()(ended))
}

/// The code where there is no thread to call on.
pub fn no_thread<A: Api>(_: NoThread) -> i32 {
    A::BOUNDS
}

/// Calls a program's function on the library's thread; on this one if there can
/// be no other.
///
/// # Safety
/// As [`job`].
pub unsafe fn notify(call: impl Fn() + Clone + 'static) {
    // SAFETY: the caller's.
    if later::soon(unsafe { job(call.clone()) }).is_err() {
        call();
    }
}

/// Calls a program's function on the library's thread.
///
/// # Errors
/// The API's code if there is no thread.
///
/// # Safety
/// As [`job`].
pub unsafe fn soon<A: Api>(call: impl FnOnce() + 'static) -> CallResult<()> {
    // SAFETY: the caller's.
    later::soon(unsafe { job(call) }).map_err(no_thread::<A>)
}

/// Calls a program's function on the library's thread when `event` has reached
/// `moment`: with how the event ended, as far as that is known, or `None` if the
/// session ended. `op` names the call on whose behalf.
///
/// # Errors
/// The API's code if there is no thread, or no session.
///
/// # Safety
/// As [`job`].
pub unsafe fn when<A: Api>(
    op: Op,
    event: &Object<A>,
    moment: Moment,
    call: impl FnOnce(Option<Ending>) + 'static,
) -> CallResult<()> {
    let client = crate::client().map_err(|error| A::failed(op, &error))?;
    // SAFETY: the caller's.
    let job = unsafe { event_job(call) };
    later::when(client, op, event.number().0, moment, job).map_err(no_thread::<A>)
}

/// What is called when an object is gone, with its handle.
type Notice = Box<dyn FnOnce(*mut c_void) + Send>;

/// What is called when an object is gone: last given, first called. Few objects
/// have any.
#[derive(Default)]
pub(crate) struct Notices(OnceLock<Mutex<Vec<(Op, Notice)>>>);

impl std::fmt::Debug for Notices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notices").finish_non_exhaustive()
    }
}

impl Notices {
    fn add(&self, op: Op, notice: Notice) {
        let all = self.0.get_or_init(Mutex::default);
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((op, notice));
    }

    fn take(&self) -> Vec<(Op, Notice)> {
        let Some(all) = self.0.get() else {
            return Vec::new();
        };
        std::mem::take(&mut *all.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Has a program's function called with the handle of `object` once that is gone
/// and no operation can use it any more. `op` names the call on whose behalf.
///
/// # Safety
/// As [`job`].
pub unsafe fn when_gone<A: Api>(
    op: Op,
    object: &Object<A>,
    call: impl FnOnce(*mut c_void) + 'static,
) {
    let sent = Sent(call);
    let notice = Box::new(move |gone| sent.into_inner()(gone));
    object.notices().add(op, notice);
}

/// An object died: what was asked for is called once the queues that may use it
/// have drained.
pub(crate) fn died<A: Api>(notices: &Notices, object: impl FnOnce() -> Object<A>) {
    let mut notices = notices.take();
    notices.reverse();
    let Some((op, _)) = notices.first() else {
        return;
    };
    let (op, object) = (*op, object());
    let queues = A::users(&object);
    let queues: Vec<u64> = queues.iter().map(|queue| queue.number().0).collect();
    let call = move || {
        let each = notices.into_iter();
        each.for_each(|(_, notice)| notice(object.address()));
    };
    // SAFETY: the functions were given for that; the object is dead.
    let job = unsafe { job(call) };
    // Without a thread there is nobody to report to.
    let _ = match queues.is_empty() {
        true => later::soon(job),
        false => later::when_drained(op, queues, job),
    };
}
