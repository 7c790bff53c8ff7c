//! The program's callbacks: when an event reaches a state, when an object is
//! destroyed.

use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_guest::later::{self, Moment};
use gil_guest::{Api, CallResult, Hold, callbacks};
use gil_wire::Op;
use gil_wire::ending::Ending;
use gil_wire::envelope::Class;
use gil_wire::generated::opencl::{self as wire, Kind};
use std::ffi::c_void;

/// A program's event callback.
pub type EventNotify = unsafe extern "C" fn(cl_event, cl_int, *mut c_void);

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
    Guest::returned(|| {
        let object = Object::find(Kind::Event, event)?;
        let moment = moment(wanted).ok_or(CL_INVALID_VALUE)?;
        let notify = notify.ok_or(CL_INVALID_VALUE)?;
        let callback = EventCallback {
            event: object.hold().ok_or(CL_INVALID_EVENT)?,
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
    event: Hold<Guest>,
    wanted: cl_int,
    notify: EventNotify,
    user_data: *mut c_void,
}

impl EventCallback {
    fn file(self, moment: Moment) -> CallResult<()> {
        let object = self.event.object().clone();
        let is_user = object.parent().is_some_and(|p| p.kind() == Kind::Context);
        // SAFETY: the program agrees that another thread calls its function.
        unsafe {
            if is_user && moment == Moment::Submitted {
                // It has been so since it was made.
                return callbacks::soon::<Guest>(move || self.call(Some(Ending::Done)));
            }
            let op = wire::CL_SET_EVENT_CALLBACK;
            callbacks::when(op, &object, moment, move |ended| self.call(ended))
        }
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

/// `clSetUserEventStatus`.
pub(super) fn set_user_event(entry: u64, event: cl_event, execution_status: cl_int) -> cl_int {
    Guest::returned(|| {
        let event = Object::find(Kind::Event, event)?;
        let mut request = Request::new(wire::CL_SET_USER_EVENT_STATUS, Class::Sync, entry);
        request.signals(event.number(), true);
        let args = wire::ClSetUserEventStatusArgs {
            event: event.number(),
            execution_status,
        };
        let set = request.forward(&args, |reply| {
            let reply: wire::ClSetUserEventStatusReply = reply.decode()?;
            Guest::check(reply.result)
        });
        later::progress();
        set
    })
}

/// Registers a function for the end of an object. `op` is the call that does.
///
/// # Safety
/// The program agrees that `notify` is called with `user_data`.
pub(super) unsafe fn set_destructor<T: 'static>(
    (op, kind): (Op, Kind),
    object: *mut T,
    notify: Option<unsafe extern "C" fn(*mut T, *mut c_void)>,
    user_data: *mut c_void,
) -> cl_int {
    Guest::returned(|| {
        let object = Object::find(kind, object)?;
        let notify = notify.ok_or(CL_INVALID_VALUE)?;
        // SAFETY: the program's function, with what it was registered with, on a
        // thread that it agrees to.
        unsafe {
            callbacks::when_gone(op, &object, move |gone| notify(gone.cast(), user_data));
        }
        Ok(())
    })
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
    let op = wire::CL_SET_PROGRAM_RELEASE_CALLBACK;
    let asked = Guest::returned(|| {
        let program = Object::find(Kind::Program, program)?;
        let request = Request::new(op, Class::Sync, entry);
        let args = wire::ClSetProgramReleaseCallbackArgs {
            program: program.number(),
            notify: notify.is_some(),
        };
        request.forward(&args, |reply| {
            let reply: wire::ClSetProgramReleaseCallbackReply = reply.decode()?;
            Guest::check(reply.result)
        })
    });
    match asked {
        // SAFETY: the caller's.
        CL_SUCCESS => unsafe { set_destructor((op, Kind::Program), program, notify, user_data) },
        code => code,
    }
}
