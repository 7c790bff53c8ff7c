//! Functions of the program's that a stream calls when it reaches them, on the library's
//! thread. On the timeline, such a function is two operations without work: the first ends
//! when all before it has, at which moment the function is called; the second waits for an
//! event that is signalled when the function has returned, and what the program puts on the
//! stream later comes behind it. The board's driver hears nothing of it: it has no memory
//! that a function could change. What a function writes may be the source of a copy behind
//! it, whose bytes leave the program's memory where it is called: that call waits.

use super::capture;
use super::context::{self, Context};
use super::graph::work::{Call, Work};
use super::streams::{self, Lane};
use crate::generated::manual::{Guest, Request};
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult, callbacks, new_number};
use gil_guest::later::{self, Moment};
use gil_wire::Op;
use gil_wire::call::Handle;
use gil_wire::ending::Ending;
use gil_wire::envelope::Class;
use gil_wire::generated::cuda as wire;
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A function of the program's, and what it gets.
#[derive(Clone, Copy, Debug)]
pub enum Function {
    /// Of `cuLaunchHostFunc`: it is not called behind an error.
    Host(unsafe extern "C" fn(*mut c_void), *mut c_void),
    /// Of `cuStreamAddCallback`: it is called with the error.
    Callback(
        unsafe extern "C" fn(CUstream, CUresult, *mut c_void),
        CUstream,
        *mut c_void,
    ),
}

impl Function {
    fn call(self, status: CUresult) {
        // SAFETY: the program's function, with what it was given with.
        context::call_out(|| unsafe {
            match self {
                Self::Host(function, data) if status == CUDA_SUCCESS => function(data),
                Self::Host(..) => {}
                Self::Callback(function, stream, data) => function(stream, status, data),
            }
        });
    }
}

/// Functions that have not returned, in the order in which they were put on streams.
struct Pending {
    last: u64,
    numbers: BTreeSet<u64>,
}

static PENDING: Mutex<Pending> = Mutex::new(Pending {
    last: 0,
    numbers: BTreeSet::new(),
});
static RETURNED: Condvar = Condvar::new();

fn pending() -> MutexGuard<'static, Pending> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One more function; its number.
fn begin() -> u64 {
    let mut pending = pending();
    pending.last += 1;
    let number = pending.last;
    pending.numbers.insert(number);
    number
}

fn end(number: u64) {
    pending().numbers.remove(&number);
    RETURNED.notify_all();
}

/// Waits until the functions have returned that come before what is put on a queue next.
pub fn settle(lane: &Lane) {
    let after = lane.after();
    if after == 0 {
        return;
    }
    let mut pending = pending();
    while pending.numbers.first().is_some_and(|first| *first <= after) {
        pending = RETURNED
            .wait(pending)
            .unwrap_or_else(PoisonError::into_inner);
    }
}

/// Puts a function on a stream.
///
/// # Errors
/// The API's code.
pub fn put(entry: u64, op: Op, stream: CUstream, function: Function) -> CallResult<()> {
    if let Function::Host(function, data) = function
        && capture::takes(stream, || Ok(Work::Call(Call { function, data })))?
    {
        return Ok(());
    }
    context::with(|context| {
        streams::with_lane(context, stream, |lane| {
            let client = gil_guest::client().map_err(|error| Guest::failed(op, &error))?;
            streams::order(entry, context, lane)?;
            // Known before what tells other streams to come behind it.
            let number = begin();
            lane.comes_after(number);
            let returned = new_number();
            let marks = || -> CallResult<u64> {
                let reached = streams::mark(entry, context, lane, &[], true)?;
                streams::mark(entry, context, lane, &[returned.0], false)?;
                Ok(reached)
            };
            let reached = marks().inspect_err(|_| end(number))?;
            lane.has_one_more(context);
            let place = Place {
                context: context.clone(),
                reached,
                returned,
                number,
            };
            let left = place.clone();
            // SAFETY: a program that gives a function to a stream agrees to another thread.
            let job = unsafe {
                callbacks::event_job(move |ended| {
                    function.call(place.status(ended));
                    place.leave();
                })
            };
            later::when(client, op, reached, Moment::Ended, job).map_err(|error| {
                left.leave();
                callbacks::no_thread::<Guest>(error)
            })
        })
    })
}

/// Where a function is.
#[derive(Clone, Debug)]
struct Place {
    context: Arc<Context>,
    /// The operation in front of it.
    reached: u64,
    /// What the operation behind it waits for.
    returned: Handle,
    /// Among those that have not returned.
    number: u64,
}

impl Place {
    /// How what is in front of it ended; `None`: the session did.
    fn status(&self, ended: Option<Ending>) -> CUresult {
        match ended {
            Some(Ending::Done) => self.context.healthy().err().unwrap_or(CUDA_SUCCESS),
            Some(Ending::Failed(code)) => self.context.failed::<()>(code).err().unwrap_or(code),
            None => CUDA_ERROR_DEVICE_UNAVAILABLE,
        }
    }

    /// What is behind it goes on. Nobody is there to get an error: the next call of a
    /// session that is lost reports that.
    fn leave(&self) {
        end(self.number);
        let entry = gil_guest::entry();
        let mut request = Request::new(wire::GIL_RETURNED, Class::Sync, entry);
        request.signals(self.returned, true);
        let args = wire::GilReturnedArgs {
            event: self.returned,
        };
        let _ = request.forward(&args, |reply| {
            let reply: wire::GilReturnedReply = reply.decode()?;
            Guest::check(reply.result)
        });
        later::progress();
        for event in [self.returned.0, self.reached] {
            let _ = streams::retire(entry, event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_earlier_functions_are_waited_for() {
        let queue = gil_wire::envelope::Queue {
            id: 1,
            in_order: true,
            device: 1,
        };
        let (one, other) = (Lane::legacy(queue), Lane::legacy(queue));
        let (first, second) = (begin(), begin());
        one.comes_after(first);
        other.comes_after(second);
        end(first);
        // The second is still pending: this returns all the same.
        settle(&one);
        let waits = std::thread::spawn(move || settle(&other));
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(!waits.is_finished());
        end(second);
        waits.join().unwrap();
    }
}
