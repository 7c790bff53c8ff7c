//! Hand-written enqueues: their common part, markers and barriers.

use super::generated::types::*;
use super::session::Session;
use crate::back_end::{Call, Enqueued, Enqueues, Objects, Order, Refusal, list_ptr};
use gil_wire::call::{Handle, NewEvent};
use gil_wire::generated::opencl::Kind;
use std::ptr::null_mut;

/// Enqueues something that signals an event: queue, wait list's length and
/// address, event.
pub type Enqueue<'f> =
    &'f dyn Fn(cl_command_queue, cl_uint, *const cl_event, *mut cl_event) -> cl_int;

/// The parts that every enqueue has.
pub struct Parts<'a> {
    queue: Handle,
    waits: &'a [Handle],
    event: NewEvent,
}

impl<'a> Parts<'a> {
    /// Of a call with these arguments.
    pub fn new(queue: Handle, waits: &'a [Handle], event: NewEvent) -> Self {
        Self {
            queue,
            waits,
            event,
        }
    }

    /// Calls the enqueue function and hands the operation to the session.
    ///
    /// # Errors
    /// [`Refusal`]; what the driver says is in the result.
    pub fn enqueue(
        &self,
        session: &mut Session,
        call: &mut Call,
        order: Order,
        function: Enqueue<'_>,
    ) -> Result<cl_int, Refusal> {
        let queue: cl_command_queue = session.get(Kind::CommandQueue, self.queue)?;
        let waits: Vec<cl_event> = session.waits(self.waits)?;
        session.can_signal(call, self.event)?;
        let mut event: cl_event = null_mut();
        let count = waits.len() as cl_uint;
        let result = call.timed(|| function(queue, count, list_ptr(&waits), &mut event));
        let enqueued = Enqueued {
            result,
            queue: self.queue,
            order,
            waits: self.waits,
            signals: self.event,
            event: event.cast(),
        };
        session.enqueued(call, enqueued)?;
        Ok(result)
    }

    /// Ends when its wait list, or without one everything before it, has ended.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    pub fn marker(&self, session: &mut Session, call: &mut Call) -> Result<cl_int, Refusal> {
        let functions = session.functions();
        let enqueue = |queue, count, list, event: *mut cl_event| {
            // SAFETY: the objects are alive.
            unsafe {
                match (
                    functions.clEnqueueMarkerWithWaitList,
                    functions.clEnqueueMarker,
                ) {
                    (Some(marker), _) => marker(queue, count, list, event),
                    (None, Some(marker)) => {
                        let waited = match functions.clEnqueueWaitForEvents {
                            Some(wait) if count > 0 => wait(queue, count, list),
                            _ => CL_SUCCESS,
                        };
                        first_error(waited, || marker(queue, event))
                    }
                    _ => CL_INVALID_OPERATION,
                }
            }
        };
        self.enqueue(session, call, Order::Marker, &enqueue)
    }

    /// As a marker; what comes after it on the queue waits for it.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    pub fn barrier(&self, session: &mut Session, call: &mut Call) -> Result<cl_int, Refusal> {
        let functions = session.functions();
        let enqueue = |queue, count, list, event: *mut cl_event| {
            // SAFETY: the objects are alive.
            unsafe {
                if let Some(barrier) = functions.clEnqueueBarrierWithWaitList {
                    return barrier(queue, count, list, event);
                }
                let blocked = match (functions.clEnqueueWaitForEvents, functions.clEnqueueBarrier) {
                    (Some(wait), _) if count > 0 => wait(queue, count, list),
                    (_, Some(barrier)) => barrier(queue),
                    _ => CL_INVALID_OPERATION,
                };
                first_error(blocked, || match functions.clEnqueueMarker {
                    Some(marker) => marker(queue, event),
                    None => CL_INVALID_OPERATION,
                })
            }
        };
        self.enqueue(session, call, Order::Barrier, &enqueue)
    }
}

/// The first of two results that is an error.
pub fn first_error(result: cl_int, next: impl FnOnce() -> cl_int) -> cl_int {
    match result {
        CL_SUCCESS => next(),
        code => code,
    }
}
