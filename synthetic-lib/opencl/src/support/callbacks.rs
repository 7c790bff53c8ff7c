//! Functions of the program's that are called later, on the library's own
//! thread: when an event gets somewhere, when an object dies, when a program
//! is built.

use super::border::{CallResult, check, decode, returned};
use super::objects::{Hold, Object, find, hold, queues_of};
use super::request::Request;
use crate::generated::types::*;
use gil_guest::later::{self, Moment, NoThread};
use gil_wire::ending::Ending;
use gil_wire::envelope::Class;
use gil_wire::generated::opencl::{self as wire, Kind};
use std::ffi::c_void;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A program's event callback.
pub type EventNotify = unsafe extern "C" fn(cl_event, cl_int, *mut c_void);

/// What a program wants done with values of its own on another thread.
pub(super) struct Sent<F>(F);

// SAFETY: a program that gives a callback and its data to OpenCL agrees that
// another thread calls it; nothing else is wrapped here.
unsafe impl<F> Send for Sent<F> {}

impl<F> Sent<F> {
    pub(super) fn new(call: F) -> Self {
        Self(call)
    }
}

impl<F: FnOnce()> Sent<F> {
    pub(super) fn call(self) {
        (self.0)();
    }
}

fn job(call: impl FnOnce() + 'static) -> later::Job {
    let sent = Sent(call);
    Box::new(move || sent.call())
}

/// Calls a program's function on the library's thread; on this one if there can
/// be no other.
pub fn notify(call: impl Fn() + Clone + 'static) {
    if later::soon(job(call.clone())).is_err() {
        call();
    }
}

pub(super) fn no_thread(_: NoThread) -> cl_int {
    CL_OUT_OF_HOST_MEMORY
}

// ---- events ----

/// `clSetEventCallback`.
///
/// # Safety
/// As `clSetEventCallback` in the OpenCL specification.
pub(super) unsafe fn set_event(
    event: cl_event,
    wanted: cl_int,
    notify: Option<EventNotify>,
    user_data: *mut c_void,
) -> cl_int {
    returned(|| {
        let object = find(Kind::Event, event)?;
        let moment = moment(wanted).ok_or(CL_INVALID_VALUE)?;
        let notify = notify.ok_or(CL_INVALID_VALUE)?;
        let callback = EventCallback {
            event: hold(&object).ok_or(CL_INVALID_EVENT)?,
            wanted,
            notify,
            user_data,
        };
        callback.file(moment)
    })
}

fn moment(wanted: cl_int) -> Option<Moment> {
    Some(match wanted {
        CL_SUBMITTED => Moment::Submitted,
        CL_RUNNING => Moment::Started,
        CL_COMPLETE => Moment::Ended,
        _ => return None,
    })
}

struct EventCallback {
    event: Hold,
    wanted: cl_int,
    notify: EventNotify,
    user_data: *mut c_void,
}

impl EventCallback {
    fn file(self, moment: Moment) -> CallResult<()> {
        let object = self.event.object().clone();
        let is_user = object.parent().is_some_and(|p| p.kind() == Kind::Context);
        if is_user && moment == Moment::Submitted {
            // It has been so since it was made.
            return later::soon(job(move || self.call(Some(Ending::Done)))).map_err(no_thread);
        }
        let op = wire::CL_SET_EVENT_CALLBACK;
        let client = gil_guest::client().map_err(|error| super::border::code(op, &error))?;
        let sent = Sent(move |ended| self.call(ended));
        let job = Box::new(move |ended| sent.with(ended));
        later::when(client, op, object.number().0, moment, job).map_err(no_thread)
    }

    fn call(self, ended: Option<Ending>) {
        let status = match ended {
            Some(Ending::Failed(error)) => error,
            Some(Ending::Done) => self.wanted,
            None => CL_DEVICE_NOT_AVAILABLE,
        };
        let event = self.event.object().address().cast();
        // SAFETY: the program's function, with what it was registered with.
        unsafe { (self.notify)(event, status, self.user_data) };
    }
}

impl<F: FnOnce(Option<Ending>)> Sent<F> {
    pub(super) fn with(self, ended: Option<Ending>) {
        (self.0)(ended);
    }
}

/// `clSetUserEventStatus`.
pub(super) fn set_user_event(entry: u64, event: cl_event, execution_status: cl_int) -> cl_int {
    returned(|| {
        let event = find(Kind::Event, event)?;
        let mut request = Request::new(wire::CL_SET_USER_EVENT_STATUS, Class::Sync, entry);
        request.signals(event.number(), true);
        let args = wire::ClSetUserEventStatusArgs {
            event: event.number(),
            execution_status,
        };
        let set = request.forward(&args, |reply| {
            let reply: wire::ClSetUserEventStatusReply = decode(reply)?;
            check(reply.result)
        });
        later::progress();
        set
    })
}

// ---- the end of objects ----

/// What is called when an object is gone.
type Notice = Box<dyn FnOnce(*mut c_void) + Send>;

/// What is called when an object is gone: last given, first called. Few objects
/// have any.
#[derive(Default)]
pub(super) struct Notices(OnceLock<Mutex<Vec<Notice>>>);

impl std::fmt::Debug for Notices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notices").finish_non_exhaustive()
    }
}

impl Notices {
    fn add(&self, notice: Notice) {
        let all = self.0.get_or_init(Mutex::default);
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(notice);
    }

    fn take(&self) -> Vec<Notice> {
        let Some(all) = self.0.get() else {
            return Vec::new();
        };
        std::mem::take(&mut *all.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Registers a function for the end of an object.
///
/// # Safety
/// The program agrees that `notify` is called with `user_data`.
pub(super) unsafe fn set_destructor<T: 'static>(
    kind: Kind,
    object: *mut T,
    notify: Option<unsafe extern "C" fn(*mut T, *mut c_void)>,
    user_data: *mut c_void,
) -> cl_int {
    returned(|| {
        let object = find(kind, object)?;
        let notify = notify.ok_or(CL_INVALID_VALUE)?;
        // SAFETY: the program's function, with what it was registered with.
        let call = move |object: *mut c_void| unsafe { notify(object.cast(), user_data) };
        let sent = Sent(call);
        let notice = Box::new(move |object| sent.of(object));
        object.notices().add(notice);
        Ok(())
    })
}

impl<F: FnOnce(*mut c_void)> Sent<F> {
    fn of(self, object: *mut c_void) {
        (self.0)(object);
    }
}

/// An object died: what was registered is called once no operation can use it
/// any more.
pub(super) fn died(kind: Kind, notices: &Notices, object: impl FnOnce() -> Object) {
    let mut notices = notices.take();
    if notices.is_empty() {
        return;
    }
    notices.reverse();
    let object = object();
    let queues = queues_of(&object);
    let queues: Vec<u64> = queues.iter().map(|queue| queue.number().0).collect();
    let (gone, call) = (object, notices);
    let job = job(move || call.into_iter().for_each(|notice| notice(gone.address())));
    let op = match kind {
        Kind::Mem => wire::CL_SET_MEM_OBJECT_DESTRUCTOR_CALLBACK,
        Kind::Program => wire::CL_SET_PROGRAM_RELEASE_CALLBACK,
        _ => wire::CL_SET_CONTEXT_DESTRUCTOR_CALLBACK,
    };
    // Without a thread nobody is left to be told.
    let _ = match queues.is_empty() {
        true => later::soon(job),
        false => later::when_drained(op, queues, job),
    };
}

/// `clSetProgramReleaseCallback`: where the board's driver has it, it is the
/// guest that knows when the program goes.
///
/// # Safety
/// As `clSetProgramReleaseCallback` in the OpenCL specification.
pub(super) unsafe fn set_program_release(
    entry: u64,
    program: cl_program,
    notify: Option<unsafe extern "C" fn(cl_program, *mut c_void)>,
    user_data: *mut c_void,
) -> cl_int {
    let asked = returned(|| {
        let program = find(Kind::Program, program)?;
        let op = wire::CL_SET_PROGRAM_RELEASE_CALLBACK;
        let request = Request::new(op, Class::Sync, entry);
        let args = wire::ClSetProgramReleaseCallbackArgs {
            program: program.number(),
            notify: notify.is_some(),
        };
        request.forward(&args, |reply| {
            let reply: wire::ClSetProgramReleaseCallbackReply = decode(reply)?;
            check(reply.result)
        })
    });
    match asked {
        // SAFETY: the caller's.
        CL_SUCCESS => unsafe { set_destructor(Kind::Program, program, notify, user_data) },
        code => code,
    }
}
