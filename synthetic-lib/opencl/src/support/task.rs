//! `clEnqueueTask`.

use super::details::Details;
use crate::generated::manual::{Guest, Helpers, Object, Request};
use crate::generated::types::*;
use gil_guest::{Api, CallResult};
use gil_wire::envelope::{Class, Engine};
use gil_wire::generated::opencl::{self as wire, Kind};

/// `clEnqueueTask`: as a launch, it is the board's to judge once.
///
/// # Safety
/// As `clEnqueueTask` in the OpenCL specification.
pub(super) unsafe fn enqueue(
    entry: u64,
    (queue, kernel): (cl_command_queue, cl_kernel),
    (count, list): (cl_uint, *const cl_event),
    event: *mut cl_event,
) -> CallResult<()> {
    let queue = Object::find(Kind::CommandQueue, queue)?;
    let kernel = Object::find(Kind::Kernel, kernel)?;
    // SAFETY: the caller's.
    let waits = unsafe { Object::wait_list(count, list) }?;
    let Details::Kernel(known) = kernel.details() else {
        return Err(CL_INVALID_KERNEL);
    };
    let signal = gil_guest::new_event(event);
    let mut request = Request::new(wire::CL_ENQUEUE_TASK, Class::Enqueue, entry);
    request.queue(queue.queue(), Engine::COMPUTE);
    request.waits(&waits);
    request.signals(signal.number, signal.kept);
    let args = wire::ClEnqueueTaskArgs {
        command_queue: queue.number(),
        kernel: kernel.number(),
        event_wait_list: waits,
        event: signal,
    };
    // SAFETY: the wait list was read already.
    let at_home = unsafe { Guest::of_one_context(&queue, count, list) };
    if at_home && known.launches().accepts_task(queue.number()) {
        request.post(&args)?;
    } else {
        request.forward(&args, |reply| {
            let reply: wire::ClEnqueueTaskReply = reply.decode()?;
            Guest::check(reply.result)
        })?;
        known.launches().accept_task(queue.number());
    }
    // SAFETY: the caller's.
    unsafe { Object::give_event(event, signal, &queue) };
    Ok(())
}
