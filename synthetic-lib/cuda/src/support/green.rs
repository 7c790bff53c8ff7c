//! Green contexts: parts of a device's processors, with streams of their own in its primary context.
//! How much of the device a kernel on such a stream occupies on the timeline is no more than the
//! part.

use super::context::{self, Context};
use super::streams::{self, Stream};
use super::{Details, create, primary};
use crate::generated::manual::{Guest, Request};
use crate::generated::stubs::{
    cuCtxPopCurrent_v2, cuCtxPushCurrent_v2, cuEventCreate, cuEventDestroy_v2, cuEventRecord,
    cuStreamWaitEvent,
};
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult, new_number};
use gil_wire::envelope::Class;
use gil_wire::generated::cuda::{self as wire, Kind};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Words of a resource on the wire.
const WORDS: usize = size_of::<CUdevResource>() / 8;
/// Most resources that a call may have.
const RESOURCES_MAX: u32 = 1024;
/// What streams of green contexts are made with.
const NON_BLOCKING: c_uint = 1;
/// An event that has no time.
const DISABLE_TIMING: c_uint = 2;

/// A green context.
#[derive(Debug)]
pub struct Green {
    /// By which programs know it, and the board.
    pub number: u64,
    /// Thousandths of the device's processors.
    pub thousandths: u16,
    device: CUdevice,
    context: Arc<Context>,
    is_destroyed: AtomicBool,
    streams: Mutex<Streams>,
}

/// The streams of a green context.
#[derive(Debug, Default)]
struct Streams {
    /// Those that the program made, by their handles.
    live: Vec<(usize, Weak<Stream>)>,
    /// One that waits for the others, or that others wait for; made when it is needed.
    own: Option<(usize, Arc<Stream>)>,
    /// Whether streams that are made wait for what the own one has.
    has_waits: bool,
}

static ALL: Mutex<BTreeMap<u64, Arc<Green>>> = Mutex::new(BTreeMap::new());

fn all() -> MutexGuard<'static, BTreeMap<u64, Arc<Green>>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

fn stream_at(address: usize) -> CUstream {
    std::ptr::with_exposed_provenance_mut(address)
}

impl Green {
    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether its streams are usable.
    ///
    /// # Errors
    /// `CUDA_ERROR_CONTEXT_IS_DESTROYED`.
    pub fn is_alive(&self) -> CallResult<()> {
        match self.is_destroyed.load(Ordering::Relaxed) {
            true => Err(CUDA_ERROR_CONTEXT_IS_DESTROYED),
            false => Ok(()),
        }
    }

    /// Handles of its streams that are not destroyed.
    fn handles(&self) -> Vec<usize> {
        let mut streams = self.streams();
        let is_live = |(_, stream): &(usize, Weak<Stream>)| stream.strong_count() > 0;
        streams.live.retain(is_live);
        streams.live.iter().map(|(handle, _)| *handle).collect()
    }

    /// Its streams, and its own one.
    fn all_streams(&self) -> Vec<Arc<Stream>> {
        let streams = self.streams();
        let live = streams.live.iter().filter_map(|(_, it)| it.upgrade());
        let own = streams.own.iter().map(|(_, stream)| stream.clone());
        live.chain(own).collect()
    }

    /// Does something while its primary context is current.
    fn on<R>(&self, work: impl FnOnce() -> CallResult<R>) -> CallResult<R> {
        // SAFETY: a context's handle, and space for one.
        Guest::check(unsafe { cuCtxPushCurrent_v2(self.context.handle()) })?;
        let done = work();
        let mut popped = null_mut();
        // SAFETY: there is space for a handle.
        Guest::check(unsafe { cuCtxPopCurrent_v2(&mut popped) })?;
        done
    }

    /// The stream of its own.
    fn own(&self, entry: u64) -> CallResult<CUstream> {
        if let Some((own, _)) = &self.streams().own {
            return Ok(stream_at(*own));
        }
        let (handle, stream) = self.make_stream(entry, 0)?;
        let made = (handle.expose_provenance(), stream);
        // Another thread may have made one meanwhile: that one is used.
        let mut streams = self.streams();
        let (own, _) = streams.own.get_or_insert(made);
        Ok(stream_at(*own))
    }

    fn make_stream(&self, entry: u64, priority: c_int) -> CallResult<(CUstream, Arc<Stream>)> {
        let green = find(self.number)?;
        let new = new_number();
        let args = wire::CuGreenCtxStreamCreateArgs {
            current: self.context.number,
            new,
            green: self.number,
            flags: NON_BLOCKING,
            priority,
        };
        let request = Request::new(wire::CU_GREEN_CTX_STREAM_CREATE, Class::Sync, entry);
        let priority = request.forward(&args, |reply| {
            let reply: wire::CuGreenCtxStreamCreateReply = reply.decode()?;
            Guest::check(reply.result)?;
            Ok(reply.priority)
        })?;
        let how = (NON_BLOCKING, priority);
        let stream = streams::add(&self.context, new, how, Some(green));
        let handle = create(Kind::Stream, new, Details::Stream(stream.clone()))?;
        Ok((handle, stream))
    }

    /// Has one stream wait for what is on another now. The context is current.
    fn meet(&self, first: CUstream, then: CUstream) -> CallResult<()> {
        let mut event = null_mut();
        // SAFETY: there is space for a handle, and both streams are this context's.
        unsafe {
            Guest::check(cuEventCreate(&mut event, DISABLE_TIMING))?;
            let met = Guest::check(cuEventRecord(event, first))
                .and_then(|()| Guest::check(cuStreamWaitEvent(then, event, 0)));
            let ended = Guest::check(cuEventDestroy_v2(event));
            met.and(ended)
        }
    }

    /// Whether none of its streams is captured.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`; the captures are of no use then.
    fn is_not_captured(&self, handles: &[usize]) -> CallResult<()> {
        for handle in handles {
            streams::with_lane(&self.context, stream_at(*handle), |_| Ok(()))?;
        }
        Ok(())
    }
}

/// The green context of a number.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT`.
pub fn find(green: CUgreenCtx) -> CallResult<Arc<Green>> {
    context::initialized()?;
    all().get(&green).cloned().ok_or(CUDA_ERROR_INVALID_CONTEXT)
}

fn words(resource: &CUdevResource) -> [u64; WORDS] {
    let kind = resource.r#type.to_ne_bytes();
    let bytes = [&kind[..], &resource._internal_padding, &resource._oversize].concat();
    let (chunks, _) = bytes.as_chunks::<8>();
    std::array::from_fn(|at| chunks.get(at).copied().map_or(0, u64::from_ne_bytes))
}

/// A resource, as the board's driver wrote it.
///
/// # Errors
/// `CUDA_ERROR_UNKNOWN` if it is none.
fn resource(words: &[u64]) -> CallResult<CUdevResource> {
    if words.len() != WORDS {
        return Err(CUDA_ERROR_UNKNOWN);
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let part = |from: usize, len: usize| bytes.get(from..from + len).unwrap_or_default();
    Ok(CUdevResource {
        r#type: c_int::from_ne_bytes(part(0, 4).try_into().map_err(|_| CUDA_ERROR_UNKNOWN)?),
        _internal_padding: part(4, 92).try_into().map_err(|_| CUDA_ERROR_UNKNOWN)?,
        _oversize: part(96, 48).try_into().map_err(|_| CUDA_ERROR_UNKNOWN)?,
    })
}

/// What there is of a device.
///
/// # Errors
/// The API's code.
pub fn of_device(
    entry: u64,
    device: CUdevice,
    kind: CUdevResourceType,
) -> CallResult<CUdevResource> {
    context::initialized()?;
    let args = wire::CuDeviceGetDevResourceArgs { device, kind };
    let request = Request::new(wire::CU_DEVICE_GET_DEV_RESOURCE, Class::Query, entry);
    request.forward(&args, |reply| {
        let reply: wire::CuDeviceGetDevResourceReply = reply.decode()?;
        Guest::check(reply.result)?;
        resource(&reply.resource)
    })
}

/// What a context has of its device.
///
/// # Errors
/// The API's code.
pub fn of_context(
    entry: u64,
    context: CUcontext,
    kind: CUdevResourceType,
) -> CallResult<CUdevResource> {
    let current = context::named(context)?.number;
    let args = wire::CuCtxGetDevResourceArgs { current, kind };
    let request = Request::new(wire::CU_CTX_GET_DEV_RESOURCE, Class::Query, entry);
    request.forward(&args, |reply| {
        let reply: wire::CuCtxGetDevResourceReply = reply.decode()?;
        Guest::check(reply.result)?;
        resource(&reply.resource)
    })
}

/// What a green context has of its device.
///
/// # Errors
/// The API's code.
pub fn of_green(
    entry: u64,
    green: CUgreenCtx,
    kind: CUdevResourceType,
) -> CallResult<CUdevResource> {
    let green = find(green)?.number;
    let args = wire::CuGreenCtxGetDevResourceArgs { green, kind };
    let request = Request::new(wire::CU_GREEN_CTX_GET_DEV_RESOURCE, Class::Query, entry);
    request.forward(&args, |reply| {
        let reply: wire::CuGreenCtxGetDevResourceReply = reply.decode()?;
        Guest::check(reply.result)?;
        resource(&reply.resource)
    })
}

/// Groups of multiprocessors, how many there are, and what remains.
pub struct Split {
    /// How many groups.
    pub count: c_uint,
    /// None if the program asked for their number alone.
    pub groups: Vec<CUdevResource>,
    /// What is in no group.
    pub remaining: Option<CUdevResource>,
}

/// Divides a resource into at most so many groups; `None` asks how many there would be.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `input` is null or a resource.
pub unsafe fn split(
    entry: u64,
    most: Option<c_uint>,
    input: *const CUdevResource,
    (flags, least): (c_uint, c_uint),
) -> CallResult<Split> {
    context::initialized()?;
    // SAFETY: the caller's.
    let input = unsafe { input.as_ref() }.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let args = wire::CuDevSmResourceSplitByCountArgs {
        asks: most.is_none(),
        most: most.unwrap_or(0).min(RESOURCES_MAX),
        input: words(input).to_vec(),
        flags,
        least,
    };
    let most = args.most;
    let request = Request::new(wire::CU_DEV_SM_RESOURCE_SPLIT_BY_COUNT, Class::Query, entry);
    request.forward(&args, |reply| {
        let reply: wire::CuDevSmResourceSplitByCountReply = reply.decode()?;
        Guest::check(reply.result)?;
        if args.asks {
            return Ok(Split {
                count: reply.count,
                groups: Vec::new(),
                remaining: None,
            });
        }
        let groups = reply.groups.chunks(WORDS).map(resource);
        let groups = groups.collect::<CallResult<Vec<_>>>()?;
        // There is no more room in the program.
        if reply.count > most || groups.len() != reply.count as usize {
            return Err(CUDA_ERROR_UNKNOWN);
        }
        Ok(Split {
            count: reply.count,
            groups,
            remaining: Some(resource(&reply.remaining)?),
        })
    })
}

/// A description of resources.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `resources` is null or has `count` of them.
pub unsafe fn describe(
    entry: u64,
    resources: *const CUdevResource,
    count: c_uint,
) -> CallResult<CUdevResourceDesc> {
    context::initialized()?;
    if resources.is_null() || count == 0 || count > RESOURCES_MAX {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller's.
    let resources = unsafe { std::slice::from_raw_parts(resources, count as usize) };
    let new = new_number().0;
    let args = wire::CuDevResourceGenerateDescArgs {
        new,
        resources: resources.iter().flat_map(words).collect(),
    };
    let request = Request::new(wire::CU_DEV_RESOURCE_GENERATE_DESC, Class::Sync, entry);
    request.forward(&args, |reply| {
        let reply: wire::CuDevResourceGenerateDescReply = reply.decode()?;
        Guest::check(reply.result)?;
        Ok(new)
    })
}

/// Makes a green context. It keeps its device's primary context.
///
/// # Errors
/// The API's code.
pub fn make(
    entry: u64,
    desc: CUdevResourceDesc,
    device: CUdevice,
    flags: c_uint,
) -> CallResult<CUgreenCtx> {
    let handle = primary::retain(entry, device)?;
    let made = context::named(handle).and_then(|context| {
        let number = new_number().0;
        let args = wire::CuGreenCtxCreateArgs {
            current: context.number,
            new: number,
            desc,
            device,
            flags,
        };
        let request = Request::new(wire::CU_GREEN_CTX_CREATE, Class::Sync, entry);
        let thousandths = request.forward(&args, |reply| {
            let reply: wire::CuGreenCtxCreateReply = reply.decode()?;
            Guest::check(reply.result)?;
            Ok(reply.thousandths)
        })?;
        let green = Green {
            number,
            thousandths: thousandths.min(1000) as u16,
            device,
            context,
            is_destroyed: AtomicBool::new(false),
            streams: Mutex::default(),
        };
        all().insert(number, Arc::new(green));
        Ok(number)
    });
    if made.is_err() {
        let _ = primary::release(entry, device, false);
    }
    made
}

/// Destroys a green context; its streams are of no use any more.
///
/// # Errors
/// The API's code.
pub fn destroy(entry: u64, green: CUgreenCtx) -> CallResult<()> {
    let green = find(green)?;
    // What is on its streams ends first: the board's driver keeps none of it.
    if green.context.healthy().is_ok() {
        for stream in green.all_streams() {
            let op = wire::CU_GREEN_CTX_DESTROY;
            streams::finish(entry, op, &green.context, &stream.lane)?;
        }
    }
    if all().remove(&green.number).is_none() {
        return Err(CUDA_ERROR_INVALID_CONTEXT);
    }
    green.is_destroyed.store(true, Ordering::Relaxed);
    green.streams().own = None;
    super::launch::changed();
    let ended = match green.context.is_destroyed() {
        // It went with that.
        true => Ok(()),
        false => {
            let args = wire::CuGreenCtxDestroyArgs {
                green: green.number,
            };
            let request = Request::new(wire::CU_GREEN_CTX_DESTROY, Class::Sync, entry);
            request.forward(&args, |reply| {
                let reply: wire::CuGreenCtxDestroyReply = reply.decode()?;
                Guest::check(reply.result)
            })
        }
    };
    match primary::release(entry, green.device, false) {
        // Reset by the program.
        Err(CUDA_ERROR_INVALID_CONTEXT) => ended,
        released => ended.and(released),
    }
}

/// Makes a stream of a green context.
///
/// # Errors
/// The API's code.
pub fn stream(
    entry: u64,
    green: CUgreenCtx,
    flags: c_uint,
    priority: c_int,
) -> CallResult<CUstream> {
    let green = find(green)?;
    if flags != NON_BLOCKING {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    green.context.healthy()?;
    let (handle, stream) = green.make_stream(entry, priority)?;
    let own = {
        let mut streams = green.streams();
        let new = (handle.expose_provenance(), Arc::downgrade(&stream));
        streams.live.push(new);
        let own = streams.own.as_ref().filter(|_| streams.has_waits);
        own.map(|(own, _)| stream_at(*own))
    };
    if let Some(own) = own {
        green.on(|| green.meet(own, handle))?;
    }
    Ok(handle)
}

/// Has an event stand for all that is on a green context's streams now.
///
/// # Errors
/// The API's code.
pub fn record(entry: u64, green: CUgreenCtx, event: CUevent) -> CallResult<()> {
    let green = find(green)?;
    let handles = green.handles();
    green.is_not_captured(&handles)?;
    let own = green.own(entry)?;
    green.on(|| {
        for handle in handles {
            green.meet(stream_at(handle), own)?;
        }
        // SAFETY: a stream, and what the program says is an event.
        Guest::check(unsafe { cuEventRecord(event, own) })
    })
}

/// Has all that comes on a green context's streams wait for an event.
///
/// # Errors
/// The API's code.
pub fn wait(entry: u64, green: CUgreenCtx, event: CUevent) -> CallResult<()> {
    let green = find(green)?;
    let handles = green.handles();
    green.is_not_captured(&handles)?;
    let own = green.own(entry)?;
    green.on(|| {
        for stream in handles.into_iter().map(stream_at).chain([own]) {
            // SAFETY: a stream, and what the program says is an event.
            Guest::check(unsafe { cuStreamWaitEvent(stream, event, 0) })?;
        }
        green.streams().has_waits = true;
        Ok(())
    })
}

/// The green context of a stream; 0 if it has none.
///
/// # Errors
/// The API's code.
pub fn of_stream(stream: CUstream) -> CallResult<CUgreenCtx> {
    context::with(|context| {
        let stream = streams::of(context, stream)?;
        let green = stream.as_ref().and_then(|stream| stream.green.as_ref());
        Ok(green.map_or(0, |green| green.number))
    })
}
