//! Copies, and memory that is set.

use super::context::{self, Context};
use super::graph::work::{self, End, Set, Work};
use super::shared::{self, Bytes, Uses};
use super::{capture, function, memory, streams};
use crate::generated::manual::{Guest, Request};
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult, Reply, new_number};
use gil_wire::Op;
use gil_wire::call::NewEvent;
use gil_wire::envelope::{Class, Engine};
use gil_wire::generated::cuda as wire;
use serde::Serialize;
use std::ffi::c_void;
use std::sync::Arc;

/// One call: when it was entered, its operation, and its stream, if it returns at once.
#[derive(Clone, Copy, Debug)]
pub struct Of {
    /// When.
    pub entry: u64,
    /// Which.
    pub op: Op,
    /// The stream; `None` for a call that waits for its end, on the default stream.
    pub stream: Option<CUstream>,
}

impl Of {
    /// Whether its stream is captured, so that it is a node of a graph now.
    ///
    /// # Errors
    /// The API's code.
    #[inline(always)]
    pub fn is_taken(self, work: impl FnOnce() -> CallResult<Work>) -> CallResult<bool> {
        match self.stream {
            Some(stream) => capture::takes(stream, work),
            None => Ok(false),
        }
    }

    /// Does something on the call's queue with this memory of the device's.
    ///
    /// # Errors
    /// The API's code.
    pub fn with(
        self,
        places: &[Bytes],
        engine: Engine,
        work: impl FnOnce(&Arc<Context>, &streams::Lane, Request, NewEvent) -> CallResult<()>,
    ) -> CallResult<()> {
        shared::around((self.entry, self.stream), Uses::Of(places), || {
            self.on(engine, work)
        })
    }

    /// Does something on the call's queue.
    ///
    /// # Errors
    /// The API's code.
    pub fn on(
        self,
        engine: Engine,
        work: impl FnOnce(&Arc<Context>, &streams::Lane, Request, NewEvent) -> CallResult<()>,
    ) -> CallResult<()> {
        context::with(|context| {
            let stream = self.stream.unwrap_or(std::ptr::null_mut());
            streams::with_lane(context, stream, |lane| {
                streams::order(self.entry, context, lane)?;
                let event = NewEvent {
                    number: new_number(),
                    kept: false,
                };
                let mut request = Request::new(self.op, Class::Enqueue, self.entry);
                request.queue(lane.queue, engine);
                request.signals(event.number, false);
                request.blocking(self.stream.is_none());
                let before = lane.has_one_more(context);
                work(context, lane, request, event).or_else(|code| context.failed(code))?;
                if self.stream.is_none() {
                    lane.has_seen(before);
                }
                Ok(())
            })
        })
    }
}

/// A copy as a node of a graph.
fn copied(to: End, from: End, bytes: usize) -> Work {
    Work::Copy(Box::new(work::line(to, from, bytes)))
}

/// Every copy's reply is its result.
///
/// # Errors
/// The board's code.
pub fn ended(reply: Reply<'_, Guest>) -> CallResult<()> {
    let reply: wire::CuMemcpyHtoDV2Reply = reply.decode()?;
    Guest::check(reply.result)
}

fn forward(request: Request, args: &impl Serialize) -> CallResult<()> {
    request.forward(args, ended)
}

/// Memory of the program's that a copy names.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for null.
pub fn host(ptr: *const c_void, bytes: usize) -> CallResult<()> {
    match ptr.is_null() && bytes > 0 {
        true => Err(CUDA_ERROR_INVALID_VALUE),
        false => Ok(()),
    }
}

/// From the program's memory to the device's.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `from` names as many bytes, until the operation ended.
pub unsafe fn up(of: Of, to: CUdeviceptr, from: *const c_void, bytes: usize) -> CallResult<()> {
    if of.is_taken(|| Ok(copied(End::Device(to), End::Host(from), bytes)))? {
        return Ok(());
    }
    host(from, bytes)?;
    if bytes == 0 {
        return nothing();
    }
    of.with(
        &[Bytes::written(to, bytes)],
        Engine::COPY_IN,
        |context, lane, mut request, event| {
            // The bytes leave now, and functions of the program's before it may write them.
            function::settle(lane);
            let pinned = memory::pinned_part(from, bytes);
            let args = wire::CuMemcpyHtoDV2Args {
                current: context.number,
                hStream: lane.number,
                to,
                data: match pinned.as_ref().and_then(|part| part.import(bytes)) {
                    Some((import, offset)) => request.input_in(import, offset, bytes),
                    // SAFETY: the caller's.
                    None => unsafe { request.input(from, bytes) },
                },
                bytes: bytes as u64,
                is_pinned: pinned.is_some(),
                event,
            };
            forward(request, &args)
        },
    )
}

/// From the device's memory to the program's.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `to` has space for as many bytes, until the operation ended.
pub unsafe fn down(of: Of, to: *mut c_void, from: CUdeviceptr, bytes: usize) -> CallResult<()> {
    if of.is_taken(|| Ok(copied(End::Host(to), End::Device(from), bytes)))? {
        return Ok(());
    }
    host(to, bytes)?;
    if bytes == 0 {
        return nothing();
    }
    of.with(
        &[Bytes::read(from, bytes)],
        Engine::COPY_OUT,
        |context, lane, mut request, event| {
            let pinned = memory::pinned_part(to, bytes);
            let args = wire::CuMemcpyDtoHV2Args {
                current: context.number,
                hStream: lane.number,
                from,
                data: match pinned.as_ref().and_then(|part| part.import(bytes)) {
                    Some((import, offset)) => request.output_in(import, offset, bytes),
                    // SAFETY: the caller's.
                    None => unsafe { request.output_region(to, bytes) },
                },
                bytes: bytes as u64,
                is_pinned: pinned.is_some(),
                event,
            };
            forward(request, &args)
        },
    )
}

/// Within the device's memory, which no call waits for.
///
/// # Errors
/// The API's code.
pub fn across(of: Of, to: CUdeviceptr, from: CUdeviceptr, bytes: usize) -> CallResult<()> {
    if of.is_taken(|| Ok(copied(End::Device(to), End::Device(from), bytes)))? {
        return Ok(());
    }
    if bytes == 0 {
        return nothing();
    }
    let places = [Bytes::written(to, bytes), Bytes::read(from, bytes)];
    on_device(of, &places, |context, lane, request, event| {
        let args = wire::CuMemcpyDtoDV2Args {
            current: context.number,
            hStream: lane.number,
            to,
            from,
            bytes: bytes as u64,
            event,
        };
        forward(request, &args)
    })
}

/// The contexts on either side of a copy between devices: to, from.
pub type Ends = (CUcontext, CUcontext);

/// From one context's memory to another's. A device's addresses say which device it is; a
/// call that waits comes behind all that either context has under way.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT`, or the API's code.
pub fn between(
    of: Of,
    ends: Ends,
    to: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
) -> CallResult<()> {
    ready_between(of, ends)?;
    across(of, to, from, bytes)
}

/// A call that waits comes behind all that either context has under way.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT`, or the API's code.
pub fn ready_between(of: Of, ends: Ends) -> CallResult<()> {
    context::initialized()?;
    let ends = [context::find(ends.0)?.1, context::find(ends.1)?.1];
    context::with(|current| {
        let others = ends.iter().filter(|end| !Arc::ptr_eq(end, current));
        for other in others {
            if other.is_destroyed() {
                return Err(CUDA_ERROR_CONTEXT_IS_DESTROYED);
            }
            other.healthy()?;
            if of.stream.is_none() {
                streams::finish_all(of.entry, of.op, other)?;
            }
        }
        Ok(())
    })
}

/// Sets elements of the device's memory, which no call waits for.
///
/// # Errors
/// The API's code.
pub fn set(of: Of, to: CUdeviceptr, value: u32, count: usize) -> CallResult<()> {
    let set = || Set::of(of.op, to, value, [count, 1, 0]);
    if of.is_taken(|| set().map(Work::Set))? {
        return Ok(());
    }
    if count == 0 {
        return nothing();
    }
    // Elements have four bytes at most.
    let filled = Bytes::written(to, count.saturating_mul(4));
    on_device(of, &[filled], |context, lane, request, event| {
        let args = wire::CuMemsetD8V2Args {
            current: context.number,
            hStream: lane.number,
            to,
            value,
            count: count as u64,
            event,
        };
        forward(request, &args)
    })
}

/// Does something that no call waits for, unless the program wants that of its memory.
///
/// # Errors
/// The API's code.
pub fn on_device(
    of: Of,
    places: &[Bytes],
    work: impl FnOnce(&Arc<Context>, &streams::Lane, Request, NewEvent) -> CallResult<()>,
) -> CallResult<()> {
    let stream = match of.stream {
        None if places
            .iter()
            .any(|place| memory::is_waited_for(place.address())) =>
        {
            None
        }
        stream => Some(stream.unwrap_or(std::ptr::null_mut())),
    };
    let of = Of { stream, ..of };
    of.with(places, Engine::COMPUTE, work)
}

/// A copy of nothing: all is as it should be.
///
/// # Errors
/// That which ended the context.
pub fn nothing() -> CallResult<()> {
    context::with(|context| context.healthy())
}

/// Between addresses that say themselves whose memory they are.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// As for [`up`] and [`down`], where an address is the program's.
pub unsafe fn any(
    entry: u64,
    stream: Option<CUstream>,
    to: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
) -> CallResult<()> {
    let ops = match stream {
        None => [
            wire::CU_MEMCPY_HTO_D_V2,
            wire::CU_MEMCPY_DTO_H_V2,
            wire::CU_MEMCPY_DTO_D_V2,
        ],
        Some(_) => [
            wire::CU_MEMCPY_HTO_D_ASYNC_V2,
            wire::CU_MEMCPY_DTO_H_ASYNC_V2,
            wire::CU_MEMCPY_DTO_D_ASYNC_V2,
        ],
    };
    let of = |op| Of { entry, op, stream };
    let pointer = |address: u64| std::ptr::with_exposed_provenance_mut::<c_void>(address as usize);
    // SAFETY: the caller's.
    unsafe {
        match (memory::is_devices(to), memory::is_devices(from)) {
            (true, true) => across(of(ops[2]), to, from, bytes),
            (true, false) => up(of(ops[0]), to, pointer(from), bytes),
            (false, true) => down(of(ops[1]), pointer(to), from, bytes),
            (false, false) => within(of(wire::CU_MEMCPY), pointer(to), pointer(from), bytes),
        }
    }
}

/// Within the program's memory: behind all that its stream has yet to write there.
///
/// # Safety
/// `to` and `from` name as many bytes.
unsafe fn within(of: Of, to: *mut c_void, from: *const c_void, bytes: usize) -> CallResult<()> {
    if of.is_taken(|| Ok(copied(End::Host(to), End::Host(from), bytes)))? {
        return Ok(());
    }
    host(to, bytes)?;
    host(from, bytes)?;
    context::with(|context| {
        let stream = of.stream.unwrap_or(std::ptr::null_mut());
        streams::with_lane(context, stream, |lane| {
            streams::finish(of.entry, of.op, context, lane)
        })
    })?;
    // SAFETY: the caller's.
    unsafe { std::ptr::copy(from.cast::<u8>(), to.cast::<u8>(), bytes) };
    Ok(())
}
