//! Streams: queues of the timeline. The default stream of a context and the streams that are
//! not made otherwise wait for each other, which is said to the timeline by marks: operations
//! without work, on one queue and waited for on the other. The board's driver orders its own
//! streams alike.

use super::capture::{self, Joined};
use super::context::{self, Context};
use super::green::Green;
use super::{Details, create, launch};
use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult, new_number};
use gil_wire::Op;
use gil_wire::call::{Handle, NewEvent};
use gil_wire::compact::Writer;
use gil_wire::envelope::{Class, Envelope, Observation, Queue, State};
use gil_wire::generated::cuda::{self as wire, Kind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The default stream by its own name.
const LEGACY: usize = 1;
/// The default stream of the calling thread.
const PER_THREAD: usize = 2;
/// A stream that waits for no default stream.
const NON_BLOCKING: u32 = 1;
/// Marks of destroyed streams that are kept; one more has the oldest waited for.
const ENDED_MAX: usize = 64;

/// A queue, and what is on it.
#[derive(Debug)]
pub struct Lane {
    /// The stream's number on the wire; null for the default stream.
    pub number: Handle,
    /// As the timeline knows it.
    pub queue: Queue,
    /// How many thousandths of the device its kernels have at most.
    pub part: u16,
    /// Whether it and the default stream wait for each other.
    is_blocking: bool,
    /// How many operations were put there.
    put: AtomicU64,
    /// How many of these have been waited for.
    seen: AtomicU64,
    /// How many of these the default stream waits for.
    told: AtomicU64,
    /// For how many of the default stream's it waits.
    behind: AtomicU64,
    /// The last of the program's functions that it is behind; 0 for none.
    after: AtomicU64,
    /// The mark that queries ask for, and behind how many operations it is.
    asked: Mutex<Option<(u64, u64)>>,
    /// What it is captured by.
    pub captured: Mutex<Option<Joined>>,
}

impl Stream {
    /// Whether its green context, if it has one, is there.
    ///
    /// # Errors
    /// `CUDA_ERROR_CONTEXT_IS_DESTROYED`.
    #[inline(always)]
    pub fn is_usable(&self) -> CallResult<()> {
        match &self.green {
            None => Ok(()),
            Some(green) => green.is_alive(),
        }
    }
}

impl Lane {
    fn new(number: Handle, queue: Queue, is_blocking: bool) -> Self {
        Self {
            number,
            queue,
            part: 1000,
            is_blocking,
            put: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            told: AtomicU64::new(0),
            behind: AtomicU64::new(0),
            after: AtomicU64::new(0),
            asked: Mutex::new(None),
            captured: Mutex::new(None),
        }
    }

    /// A context's default stream.
    pub fn legacy(queue: Queue) -> Self {
        Self::new(Handle::NULL, queue, false)
    }

    /// Whether it and the default stream wait for each other.
    pub fn is_blocking(&self) -> bool {
        self.is_blocking
    }

    #[inline(always)]
    fn is_legacy(&self) -> bool {
        self.number.is_null()
    }

    /// Whether all that was put there has been waited for.
    fn is_idle(&self) -> bool {
        self.put.load(Ordering::Relaxed) == self.seen.load(Ordering::Relaxed)
    }

    /// An operation was put there.
    #[inline(always)]
    pub fn has_one_more(&self, context: &Context) -> u64 {
        if self.is_blocking {
            context.is_behind.store(true, Ordering::Relaxed);
        }
        self.put.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The last of the program's functions that what is put there next comes behind.
    pub fn after(&self) -> u64 {
        self.after.load(Ordering::Relaxed)
    }

    /// What is put there next comes behind one of the program's functions, too.
    pub fn comes_after(&self, function: u64) {
        self.after.fetch_max(function, Ordering::Relaxed);
    }

    /// So many of its operations have been waited for.
    pub fn has_seen(&self, put: u64) {
        self.seen.fetch_max(put, Ordering::Relaxed);
    }
}

/// A stream that the program made.
#[derive(Debug)]
pub struct Stream {
    /// Its queue.
    pub lane: Lane,
    /// Its context.
    pub context: Arc<Context>,
    /// The part of the device that it has, if not all of it.
    pub green: Option<Arc<Green>>,
    /// How it was made.
    pub flags: u32,
    /// Its priority, as the board's driver took it.
    pub priority: i32,
}

/// Does something with the stream behind a handle, of the current context, which is not
/// captured; with an initial look at whether the context can go on.
///
/// # Errors
/// The API's code.
#[inline(always)]
pub fn with_lane<R>(
    context: &Arc<Context>,
    stream: CUstream,
    work: impl FnOnce(&Lane) -> CallResult<R>,
) -> CallResult<R> {
    with_any_lane(context, stream, |lane| {
        if capture::is_any() {
            capture::refuse(context, lane)?;
        }
        work(lane)
    })
}

/// The same with a stream that may be captured.
///
/// # Errors
/// The API's code.
#[inline(always)]
pub fn with_any_lane<R>(
    context: &Arc<Context>,
    stream: CUstream,
    work: impl FnOnce(&Lane) -> CallResult<R>,
) -> CallResult<R> {
    context.healthy()?;
    if stream.addr() <= LEGACY {
        return work(&context.legacy);
    }
    if stream.addr() == PER_THREAD {
        return work(&context::own_stream(context)?.lane);
    }
    let object = Object::find(Kind::Stream, stream)?;
    let Details::Stream(stream) = object.details() else {
        return Err(CUDA_ERROR_INVALID_HANDLE);
    };
    if !Arc::ptr_eq(&stream.context, context) {
        return Err(CUDA_ERROR_INVALID_HANDLE);
    }
    stream.is_usable()?;
    work(&stream.lane)
}

/// The stream behind a handle that the program made.
///
/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE`.
pub fn find(stream: CUstream) -> CallResult<Arc<Stream>> {
    let object = Object::find(Kind::Stream, stream)?;
    match object.details() {
        Details::Stream(stream) => Ok(stream.clone()),
        _ => Err(CUDA_ERROR_INVALID_HANDLE),
    }
}

/// The stream behind any handle, in a context; `None` for its default stream.
///
/// # Errors
/// The API's code.
pub fn of(context: &Arc<Context>, stream: CUstream) -> CallResult<Option<Arc<Stream>>> {
    match stream.addr() {
        ..=LEGACY => Ok(None),
        PER_THREAD => context::own_stream(context).map(Some),
        _ => find(stream).map(Some),
    }
}

/// Makes a stream in the current context.
///
/// # Errors
/// The API's code.
pub fn make(entry: u64, op: Op, flags: u32, priority: i32) -> CallResult<CUstream> {
    if flags & !NON_BLOCKING != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    context::with(|context| {
        context.healthy()?;
        let stream = make_in(entry, op, context, (flags, priority))?;
        let number = stream.lane.number;
        create(Kind::Stream, number, Details::Stream(stream))
    })
}

/// Makes the default stream of a thread in a context, which is for it and no handle.
///
/// # Errors
/// The API's code.
#[cold]
pub fn make_own(context: &Arc<Context>) -> CallResult<Arc<Stream>> {
    make_in(gil_guest::entry(), wire::CU_STREAM_CREATE, context, (0, 0))
}

fn make_in(
    entry: u64,
    op: Op,
    context: &Arc<Context>,
    (flags, priority): (u32, i32),
) -> CallResult<Arc<Stream>> {
    let new = new_number();
    // Both calls have the same arguments.
    let args = wire::CuStreamCreateWithPriorityArgs {
        current: context.number,
        new,
        flags,
        priority,
    };
    let request = Request::new(op, Class::Sync, entry);
    let priority = request.forward(&args, |reply| {
        let reply: wire::CuStreamCreateWithPriorityReply = reply.decode()?;
        Guest::check(reply.result)?;
        Ok(reply.priority)
    })?;
    Ok(add(context, new, (flags, priority), None))
}

/// Notes a stream that the board made in a context, or in a green context of it.
pub fn add(
    context: &Arc<Context>,
    number: Handle,
    (flags, priority): (u32, i32),
    green: Option<Arc<Green>>,
) -> Arc<Stream> {
    let queue = Queue {
        id: number.0,
        ..context.legacy.queue
    };
    let mut lane = Lane::new(number, queue, flags & NON_BLOCKING == 0);
    if let Some(green) = &green {
        lane.part = green.thousandths;
    }
    let stream = Arc::new(Stream {
        lane,
        context: context.clone(),
        green,
        flags,
        priority,
    });
    context.streams().live.push(Arc::downgrade(&stream));
    stream
}

/// Destroys a stream: what is on it goes on.
///
/// # Errors
/// The API's code.
pub fn destroy(entry: u64, handle: CUstream) -> CallResult<()> {
    context::initialized()?;
    let stream = find(handle)?;
    stream.is_usable()?;
    capture::forget(&stream.lane);
    Object::release(Kind::Stream, handle, entry)?;
    launch::changed();
    let context = &stream.context;
    let is_other = |known: &Weak<Stream>| !std::ptr::eq(known.as_ptr(), Arc::as_ptr(&stream));
    context.streams().live.retain(is_other);
    if stream.lane.is_blocking {
        context.legacy.comes_after(stream.lane.after());
    }
    if !stream.lane.is_idle() && context.healthy().is_ok() {
        let mark = mark(entry, context, &stream.lane, &[], true)?;
        let oldest = {
            let mut streams = context.streams();
            streams.ended.push((mark, stream.lane.is_blocking));
            (streams.ended.len() > ENDED_MAX).then(|| streams.ended.remove(0).0)
        };
        if let Some(oldest) = oldest {
            wait(entry, wire::CU_STREAM_DESTROY_V2, context, None, oldest)?;
        }
    }
    let args = wire::CuStreamDestroyV2Args {
        hStream: stream.lane.number,
    };
    let request = Request::new(wire::CU_STREAM_DESTROY_V2, Class::Sync, entry);
    request.forward(&args, |reply| {
        let reply: wire::CuStreamDestroyV2Reply = reply.decode()?;
        Guest::check(reply.result)
    })
}

/// Puts an operation without work on a queue, which waits for these events; its event, which
/// is for the library to wait for if `kept`, and to retire.
///
/// # Errors
/// The API's code.
pub fn mark(
    entry: u64,
    context: &Context,
    lane: &Lane,
    waits: &[u64],
    kept: bool,
) -> CallResult<u64> {
    let event = NewEvent {
        number: new_number(),
        kept,
    };
    enqueue(entry, (wire::GIL_MARK, event), context, lane, waits)?;
    Ok(event.number.0)
}

/// Posts an operation whose arguments are its context, stream and event alone.
///
/// # Errors
/// The API's code.
pub fn enqueue(
    entry: u64,
    (op, event): (Op, NewEvent),
    context: &Context,
    lane: &Lane,
    waits: &[u64],
) -> CallResult<()> {
    let call = Envelope {
        queue: Some(lane.queue),
        waits: waits.into(),
        signals: Some(event.number.0),
        observable: event.kept,
        ..Envelope::new(op, Class::Enqueue, entry)
    };
    let args = gil_guest::ByHand(|to: &mut Writer<'_>| {
        to.handle(context.number);
        to.handle(lane.number);
        to.handle(event.number);
        to.byte(event.kept.into());
    });
    gil_guest::client()
        .and_then(|client| client.post_here(&call, &args))
        .map_err(|error| Guest::failed(op, &error))
}

/// Nobody asks for an event any more.
///
/// # Errors
/// The API's code.
pub fn retire(entry: u64, event: u64) -> CallResult<()> {
    let call = Envelope {
        retires: Some(event),
        ..Envelope::new(wire::GIL_RETIRE, Class::Post, entry)
    };
    let args = gil_guest::ByHand(|_: &mut Writer<'_>| {});
    gil_guest::client()
        .and_then(|client| client.post_here(&call, &args))
        .map_err(|error| Guest::failed(wire::GIL_RETIRE, &error))
}

/// Has what is put on a queue next wait for what the default stream's rules say.
///
/// # Errors
/// The API's code.
#[inline(always)]
pub fn order(entry: u64, context: &Context, lane: &Lane) -> CallResult<()> {
    if lane.is_legacy() {
        return match context.is_behind.load(Ordering::Relaxed) {
            false => Ok(()),
            true => follow_streams(entry, context),
        };
    }
    let put = context.legacy.put.load(Ordering::Relaxed);
    match !lane.is_blocking || lane.behind.load(Ordering::Relaxed) == put {
        true => Ok(()),
        false => follow_legacy(entry, context, lane),
    }
}

/// A stream waits for all that is on the default stream.
#[cold]
#[inline(never)]
fn follow_legacy(entry: u64, context: &Context, lane: &Lane) -> CallResult<()> {
    let put = context.legacy.put.load(Ordering::Relaxed);
    if !context.legacy.is_idle() {
        let legacy = mark(entry, context, &context.legacy, &[], true)?;
        mark(entry, context, lane, &[legacy], false)?;
        retire(entry, legacy)?;
    }
    lane.comes_after(context.legacy.after());
    lane.behind.store(put, Ordering::Relaxed);
    Ok(())
}

/// The default stream waits for all that is on the streams that wait for it.
#[cold]
#[inline(never)]
fn follow_streams(entry: u64, context: &Context) -> CallResult<()> {
    let mut streams = context.streams();
    context.is_behind.store(false, Ordering::Relaxed);
    let mut marks = Vec::new();
    for stream in &streams.live {
        let Some(stream) = stream.upgrade() else {
            continue;
        };
        let lane = &stream.lane;
        if lane.is_blocking {
            context.legacy.comes_after(lane.after());
        }
        let put = lane.put.load(Ordering::Relaxed);
        let is_told = lane.told.swap(put, Ordering::Relaxed) == put;
        if lane.is_blocking && !is_told && !lane.is_idle() {
            marks.push(mark(entry, context, lane, &[], true)?);
        }
    }
    let ended = streams.ended.extract_if(.., |(_, blocking)| *blocking);
    marks.extend(ended.map(|(mark, _)| mark));
    drop(streams);
    if marks.is_empty() {
        return Ok(());
    }
    mark(entry, context, &context.legacy, &marks, false)?;
    context.legacy.has_one_more(context);
    marks.into_iter().try_for_each(|mark| retire(entry, mark))
}

/// Waits for all that is on a queue.
///
/// # Errors
/// The code of what failed, or the API's for what went wrong on the way.
pub fn finish(entry: u64, op: Op, context: &Context, lane: &Lane) -> CallResult<()> {
    order(entry, context, lane)?;
    let put = lane.put.load(Ordering::Relaxed);
    if lane.is_idle() {
        return Ok(());
    }
    let mark = mark(entry, context, lane, &[], true)?;
    wait(entry, op, context, Some(lane.queue), mark)?;
    lane.has_seen(put);
    Ok(())
}

/// Waits for all that is on a context's streams.
///
/// # Errors
/// As [`finish`].
pub fn finish_all(entry: u64, op: Op, context: &Context) -> CallResult<()> {
    let (live, ended) = {
        let mut streams = context.streams();
        let live: Vec<_> = streams.live.iter().filter_map(|it| it.upgrade()).collect();
        (live, std::mem::take(&mut streams.ended))
    };
    let mut result = finish(entry, op, context, &context.legacy);
    for stream in live {
        result = result.and(finish(entry, op, context, &stream.lane));
    }
    for (mark, _) in ended {
        result = result.and(wait(entry, op, context, None, mark));
    }
    result
}

/// Waits for a mark, and retires it.
fn wait(entry: u64, op: Op, context: &Context, queue: Option<Queue>, mark: u64) -> CallResult<()> {
    context::permitted()?;
    let waits = [mark];
    let call = Envelope {
        queue,
        blocking: queue.is_some(),
        waits: waits.as_slice().into(),
        retires: Some(mark),
        ..Envelope::new(op, Class::Wait, entry)
    };
    let observed = gil_guest::client()
        .and_then(|client| client.forward(&call, &(), |answer| answer.observed))
        .map_err(|error| Guest::failed(op, &error))?;
    judge(context, &observed)
}

/// Whether all of these ended well.
///
/// # Errors
/// The code of the first that did not.
pub fn judge(context: &Context, observed: &[Observation]) -> CallResult<()> {
    let mut failed = observed.iter().filter_map(|seen| seen.ending.failure());
    match failed.next() {
        None => Ok(()),
        Some(code) => {
            Guest::refused_late();
            context.failed(code)
        }
    }
}

/// Whether all that is on a queue has ended.
///
/// # Errors
/// `CUDA_ERROR_NOT_READY` if not, or as [`finish`].
pub fn query(entry: u64, op: Op, context: &Context, lane: &Lane) -> CallResult<()> {
    order(entry, context, lane)?;
    let put = lane.put.load(Ordering::Relaxed);
    if lane.is_idle() {
        return Ok(());
    }
    let mut asked = lane.asked.lock().unwrap_or_else(PoisonError::into_inner);
    let known = asked.filter(|(behind, _)| *behind == put);
    let mark = match known {
        Some((_, mark)) => mark,
        None => {
            if let Some((_, old)) = asked.take() {
                retire(entry, old)?;
            }
            let mark = mark(entry, context, lane, &[], true)?;
            *asked = Some((put, mark));
            mark
        }
    };
    is_over(entry, op, context, mark)?;
    *asked = None;
    lane.has_seen(put);
    retire(entry, mark)
}

/// Whether an operation has ended.
///
/// # Errors
/// As [`query`].
pub fn is_over(entry: u64, op: Op, context: &Context, event: u64) -> CallResult<()> {
    let observed = gil_guest::client()
        .and_then(|client| client.poll(op, entry, &[event]))
        .map_err(|error| Guest::failed(op, &error))?;
    match observed.first().map(|seen| seen.state) {
        Some(State::Complete) => judge(context, &observed),
        _ => Err(CUDA_ERROR_NOT_READY),
    }
}
