//! `clEnqueueTask`.

use super::border::{CallResult, check, decode};
use super::details::Details;
use super::objects::{find, give_event, new_event, wait_list};
use super::posting::of_one_context;
use super::request::Request;
use crate::generated::types::*;
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
    let queue = find(Kind::CommandQueue, queue)?;
    let kernel = find(Kind::Kernel, kernel)?;
    // SAFETY: the caller's.
    let waits = unsafe { wait_list(count, list) }?;
    let Details::Kernel(known) = kernel.details() else {
        return Err(CL_INVALID_KERNEL);
    };
    let signal = new_event(event);
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
    let at_home = unsafe { of_one_context(&queue, count, list) };
    if at_home && known.launches().accepts_task(queue.number()) {
        request.post(&args)?;
    } else {
        request.forward(&args, |reply| {
            let reply: wire::ClEnqueueTaskReply = decode(reply)?;
            check(reply.result)
        })?;
        known.launches().accept_task(queue.number());
    }
    // SAFETY: the caller's.
    unsafe { give_event(event, signal, &queue) };
    Ok(())
}
