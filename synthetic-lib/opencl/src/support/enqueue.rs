//! Hand-written enqueues on one memory object.

use super::context::context_of;
use crate::generated::manual::{Object, Request};
use crate::generated::types::*;
use gil_guest::CallResult;
use gil_wire::call::NewEvent;
use gil_wire::envelope::{Class, Engine};
use gil_wire::generated::opencl::Kind;

/// An enqueue on `queue` about `object`, before its arguments.
pub(super) struct Enqueue {
    pub(super) queue: Object,
    pub(super) object: Object,
    pub(super) waits: Vec<gil_wire::call::Handle>,
    pub(super) signal: NewEvent,
    /// Whether it ends before what comes after it is enqueued.
    pub(super) is_first: bool,
    event: *mut cl_event,
}

impl Enqueue {
    /// # Safety
    /// As the wait list's of an enqueue.
    pub(super) unsafe fn new(
        queue: cl_command_queue,
        object: cl_mem,
        (count, list): (cl_uint, *const cl_event),
        event: *mut cl_event,
    ) -> CallResult<Self> {
        let queue = Object::find(Kind::CommandQueue, queue)?;
        let object = Object::find(Kind::Mem, object)?;
        if context_of(&queue) != context_of(&object) {
            return Err(CL_INVALID_CONTEXT);
        }
        Ok(Self {
            queue,
            object,
            // SAFETY: the caller's.
            waits: unsafe { Object::wait_list(count, list) }?,
            signal: gil_guest::new_event(event),
            is_first: false,
            event,
        })
    }

    /// One of the library's own, to end before this one begins: by the queue's
    /// order, or before this one is enqueued.
    pub(super) fn before(&self) -> Self {
        Self {
            queue: self.queue.clone(),
            object: self.object.clone(),
            waits: Vec::new(),
            signal: gil_guest::new_event(std::ptr::null_mut::<cl_event>()),
            is_first: !self.queue.queue().in_order,
            event: std::ptr::null_mut(),
        }
    }

    pub(super) fn request(&self, op: gil_wire::Op, engine: Engine, entry: u64) -> Request {
        let mut request = Request::new(op, Class::Enqueue, entry);
        request.queue(self.queue.queue(), engine);
        request.waits(&self.waits);
        request.signals(self.signal.number, self.signal.kept);
        request
    }

    /// # Safety
    /// The place for the event is null or valid.
    pub(super) unsafe fn give_event(&self) {
        // SAFETY: the caller's.
        unsafe { Object::give_event(self.event, self.signal, &self.queue) };
    }
}
