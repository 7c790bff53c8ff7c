//! Streams whose work becomes nodes of a graph (`CUDA C++ Programming Guide`, stream capture). A
//! call that puts work on such a stream asks here first; every other call on it ends the capture.
//!
//! An event that is recorded there stands for the nodes that the stream has come to, and a stream
//! that waits for it is captured, too, from then on.

use super::context::{self, Context};
use super::graph::work::Work;
use super::graph::{self, Graph, Id};
use super::streams::{self, Lane, Stream};
use super::{event, launch};
use crate::generated::types::*;
use gil_guest::api::CallResult;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::ThreadId;

/// A mode in which a capture may end in another thread than it began in.
const RELAXED: CUstreamCaptureMode = 2;
/// The latest mode.
const MODES: std::ops::RangeInclusive<CUstreamCaptureMode> = 0..=RELAXED;

/// How many streams are captured, in the whole process.
static CAPTURED: AtomicUsize = AtomicUsize::new(0);
static LAST: AtomicU64 = AtomicU64::new(0);

/// Threads' modes, of those that are not the first.
static THREADS: Mutex<Vec<(ThreadId, CUstreamCaptureMode)>> = Mutex::new(Vec::new());

/// One.
#[derive(Debug)]
pub struct Capture {
    id: u64,
    graph: Arc<Graph>,
    mode: CUstreamCaptureMode,
    thread: ThreadId,
    /// The queue of the stream that it began with.
    first: u64,
    /// Whether the graph is the capture's own, which nobody has if it fails.
    is_own: bool,
    is_invalid: AtomicBool,
    streams: Mutex<Streams>,
}

/// A capture's streams.
#[derive(Debug, Default)]
struct Streams {
    all: Vec<Weak<Stream>>,
    /// Whether it is over: no other stream joins it.
    is_over: bool,
}

/// A captured stream.
#[derive(Debug)]
pub struct Joined {
    capture: Arc<Capture>,
    /// The nodes that what comes next is behind.
    behind: Vec<Id>,
    /// Their handles, as the program was last shown them.
    shown: Vec<CUgraphNode>,
}

// SAFETY: handles are numbers to the library.
unsafe impl Send for Joined {}

impl Drop for Joined {
    fn drop(&mut self) {
        CAPTURED.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What an event that was recorded on a captured stream stands for.
#[derive(Clone, Debug)]
pub struct Recorded {
    capture: Weak<Capture>,
    behind: Vec<Id>,
}

/// What a program is told of a captured stream.
pub struct Info {
    /// Whether it is captured.
    pub status: CUstreamCaptureStatus,
    /// The capture's number.
    pub id: u64,
    /// The graph.
    pub graph: CUgraph,
    /// The nodes that what comes next is behind: where, until the stream is used again, and how many.
    pub behind: (*const CUgraphNode, usize),
}

/// Whether any stream is captured. Every call that puts work on a stream asks.
#[inline(always)]
pub fn is_any() -> bool {
    CAPTURED.load(Ordering::Acquire) != 0
}

fn locked<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Capture {
    fn is_valid(&self) -> bool {
        !self.is_invalid.load(Ordering::Acquire)
    }

    /// Its streams are captured no more: what each had come to.
    fn ended(&self) -> Vec<Joined> {
        let all = {
            let mut streams = locked(&self.streams);
            streams.is_over = true;
            std::mem::take(&mut streams.all)
        };
        let its = |joined: &mut Joined| std::ptr::eq(&raw const *joined.capture, self);
        let streams = all.iter().filter_map(Weak::upgrade);
        let taken = |stream: Arc<Stream>| locked(&stream.lane.captured).take_if(its);
        streams.filter_map(taken).collect()
    }

    /// It is of no use any more; the code, for who made it so.
    fn spoil(&self, code: CUresult) -> CUresult {
        self.is_invalid.store(true, Ordering::Release);
        code
    }
}

/// A captured lane goes: its stream does, or the thread whose own it is. With the stream that it began
/// with, a capture is over.
pub fn forget(lane: &Lane) {
    let Some(joined) = locked(&lane.captured).take() else {
        return;
    };
    let capture = joined.capture.clone();
    drop(joined);
    capture.spoil(CUDA_SUCCESS);
    if capture.first == lane.queue.id {
        drop(capture.ended());
        launch::changed();
    }
}

/// Does something with a stream that is captured; `None` if it is not.
fn with<R>(
    stream: CUstream,
    work: impl FnOnce(&Arc<Stream>, &mut Joined) -> CallResult<R>,
) -> CallResult<Option<R>> {
    context::with(|context| {
        let Some(stream) = streams::of(context, stream)? else {
            return Ok(None);
        };
        let mut captured = locked(&stream.lane.captured);
        captured
            .as_mut()
            .map(|joined| work(&stream, joined))
            .transpose()
    })
}

/// A call of work that a graph may have: whether it became a node.
///
/// # Errors
/// The API's code.
#[inline(always)]
pub fn takes(stream: CUstream, work: impl FnOnce() -> CallResult<Work>) -> CallResult<bool> {
    match is_any() {
        false => Ok(false),
        true => take(stream, work),
    }
}

#[cold]
#[inline(never)]
fn take(stream: CUstream, work: impl FnOnce() -> CallResult<Work>) -> CallResult<bool> {
    let taken = with(stream, |_, joined| {
        joined.check()?;
        let (id, _) = joined.capture.graph.add(&joined.behind, work()?)?;
        joined.behind = vec![id];
        Ok(())
    })?;
    Ok(taken.is_some())
}

impl Joined {
    fn check(&self) -> CallResult<()> {
        match self.capture.is_valid() {
            true => Ok(()),
            false => Err(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
        }
    }
}

/// A call that no graph can have.
///
/// # Errors
/// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` if the stream is captured, and
/// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT` if it is a default stream with which a captured one waits. The
/// capture is of no use then.
#[cold]
#[inline(never)]
pub fn refuse(context: &Context, lane: &Lane) -> CallResult<()> {
    if let Some(joined) = &*locked(&lane.captured) {
        let code = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        return Err(joined.capture.spoil(code));
    }
    if !lane.number.is_null() {
        return Ok(());
    }
    let waiting = context.captured_beside_legacy();
    match waiting {
        Some(stream) => match &*locked(&stream.lane.captured) {
            Some(joined) => Err(joined.capture.spoil(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)),
            None => Ok(()),
        },
        None => Ok(()),
    }
}

/// Begins to capture a stream, into a new graph or behind nodes of one.
///
/// # Errors
/// The API's code.
pub fn begin(
    stream: CUstream,
    mode: CUstreamCaptureMode,
    into: Option<(Arc<Graph>, Vec<Id>)>,
) -> CallResult<()> {
    if !MODES.contains(&mode) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    context::with(|context| {
        context.healthy()?;
        let stream = streams::of(context, stream)?;
        // The default stream of all threads.
        let stream = stream.ok_or(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)?;
        let mut captured = locked(&stream.lane.captured);
        if captured.is_some() {
            return Err(CUDA_ERROR_ILLEGAL_STATE);
        }
        let is_own = into.is_none();
        let (graph, behind) = match into {
            Some(into) => into,
            None => (graph::find(graph::make()?)?, Vec::new()),
        };
        let capture = Arc::new(Capture {
            id: LAST.fetch_add(1, Ordering::Relaxed) + 1,
            graph,
            mode,
            thread: std::thread::current().id(),
            first: stream.lane.queue.id,
            is_own,
            is_invalid: AtomicBool::new(false),
            streams: Mutex::default(),
        });
        join(&stream, &mut captured, capture, behind)
    })
}

fn join(
    stream: &Arc<Stream>,
    captured: &mut Option<Joined>,
    capture: Arc<Capture>,
    behind: Vec<Id>,
) -> CallResult<()> {
    let mut streams = locked(&capture.streams);
    if streams.is_over {
        return Err(CUDA_ERROR_CAPTURED_EVENT);
    }
    streams.all.push(Arc::downgrade(stream));
    drop(streams);
    *captured = Some(Joined {
        capture,
        behind,
        shown: Vec::new(),
    });
    CAPTURED.fetch_add(1, Ordering::AcqRel);
    // The launches that threads know of are not looked at again.
    launch::changed();
    Ok(())
}

/// Ends a capture; its graph, for which the program has a handle from now on.
///
/// # Errors
/// The API's code.
pub fn end(entry: u64, stream: CUstream) -> CallResult<CUgraph> {
    let (capture, behind) = with(stream, |stream, joined| {
        let capture = joined.capture.clone();
        if capture.first != stream.lane.queue.id {
            return Err(capture.spoil(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED));
        }
        if capture.mode != RELAXED && capture.thread != std::thread::current().id() {
            return Err(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
        }
        Ok((capture, joined.behind.clone()))
    })?
    .ok_or(CUDA_ERROR_ILLEGAL_STATE)?;
    let ended = capture.ended();
    let mut each = ended.iter();
    let is_joined = each.all(|joined| capture.graph.leads_to(&joined.behind, &behind));
    drop(ended);
    launch::changed();
    let shown = graph::shown(&capture.graph)?;
    let code = match (capture.is_valid(), is_joined) {
        (true, true) => return Ok(shown),
        (true, false) => CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
        (false, _) => CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
    };
    if capture.is_own {
        // The program never had it, or may have by a question alone.
        let _ = graph::destroy(entry, shown);
    }
    Err(code)
}

/// What is known of a stream's capture.
///
/// # Errors
/// The API's code; `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT` for a default stream with which a captured
/// one waits.
pub fn info(stream: CUstream) -> CallResult<Info> {
    let none = Info {
        status: CU_STREAM_CAPTURE_STATUS_NONE,
        id: 0,
        graph: std::ptr::null_mut(),
        behind: (std::ptr::null(), 0),
    };
    context::with(|context| {
        context.healthy()?;
        let is_legacy = streams::of(context, stream)?.is_none();
        match is_legacy && is_any() && context.captured_beside_legacy().is_some() {
            true => Err(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT),
            false => Ok(()),
        }
    })?;
    let known = with(stream, |_, joined| {
        let capture = &joined.capture;
        joined.shown = capture.graph.handles(joined.behind.iter().copied());
        let status = match capture.is_valid() {
            true => CU_STREAM_CAPTURE_STATUS_ACTIVE,
            false => CU_STREAM_CAPTURE_STATUS_INVALIDATED,
        };
        Ok(Info {
            status,
            id: capture.id,
            graph: graph::shown(&capture.graph)?,
            behind: (joined.shown.as_ptr(), joined.shown.len()),
        })
    })?;
    Ok(known.unwrap_or(none))
}

/// Changes what comes before the next work of a captured stream: these nodes, too, or alone.
///
/// # Errors
/// The API's code.
pub fn update(stream: CUstream, nodes: &[CUgraphNode], flags: u32) -> CallResult<()> {
    with(stream, |_, joined| {
        joined.check()?;
        let mut new = joined.capture.graph.ids(nodes)?;
        match flags {
            0 => {
                new.retain(|id| !joined.behind.contains(id));
                joined.behind.append(&mut new);
            }
            1 => joined.behind = new,
            _ => return Err(CUDA_ERROR_INVALID_VALUE),
        }
        Ok(())
    })?
    .ok_or(CUDA_ERROR_ILLEGAL_STATE)
}

/// The calling thread's mode, which becomes another. It says which calls CUDA forbids while a stream is
/// captured, of which this library forbids none.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`.
pub fn exchange_mode(new: CUstreamCaptureMode) -> CallResult<CUstreamCaptureMode> {
    if !MODES.contains(&new) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let thread = std::thread::current().id();
    let mut threads = locked(&THREADS);
    let known = threads.iter().position(|(known, _)| *known == thread);
    let old = known.map_or(0, |at| threads.swap_remove(at).1);
    if new != 0 {
        threads.push((thread, new));
    }
    Ok(old)
}

/// An event is recorded: whether on a captured stream, where it stands for nodes or, if other
/// programs see it (`is_outside`), is recorded by a node.
///
/// # Errors
/// The API's code.
#[cold]
#[inline(never)]
pub fn records(event: CUevent, stream: CUstream, is_outside: bool) -> CallResult<bool> {
    if is_outside {
        return take(stream, || {
            super::graph::work::checked_event(event).map(Work::Record)
        });
    }
    let recorded = with(stream, |_, joined| {
        joined.check()?;
        Ok(Recorded {
            capture: Arc::downgrade(&joined.capture),
            behind: joined.behind.clone(),
        })
    })?;
    match recorded {
        Some(recorded) => event::capture(event, recorded).map(|()| true),
        None => Ok(false),
    }
}

/// A stream waits for an event: whether that concerns captures alone.
///
/// # Errors
/// The API's code.
#[cold]
#[inline(never)]
pub fn waits(
    stream: CUstream,
    handle: CUevent,
    recorded: Option<Recorded>,
    is_outside: bool,
) -> CallResult<bool> {
    if is_outside {
        return take(stream, || {
            super::graph::work::checked_event(handle).map(Work::Wait)
        });
    }
    let Some(recorded) = recorded else {
        // Work that no graph has cannot come before a node.
        let isolated = with(stream, |_, joined| {
            let code = CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
            Err::<(), _>(joined.capture.spoil(code))
        })?;
        return Ok(isolated.is_some());
    };
    let capture = recorded.capture.upgrade();
    let capture = capture.ok_or(CUDA_ERROR_CAPTURED_EVENT)?;
    context::with(|context| {
        let stream = streams::of(context, stream)?;
        let stream = stream.ok_or(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
        let stream = stream.map_err(|code| capture.spoil(code))?;
        let mut captured = locked(&stream.lane.captured);
        match &mut *captured {
            None => join(&stream, &mut captured, capture, recorded.behind)?,
            Some(joined) if Arc::ptr_eq(&joined.capture, &capture) => {
                joined.check()?;
                let known = &mut joined.behind;
                let new = recorded.behind.iter().filter(|id| !known.contains(id));
                let new: Vec<Id> = new.copied().collect();
                known.extend(new);
            }
            Some(joined) => {
                capture.spoil(CUDA_SUCCESS);
                return Err(joined.capture.spoil(CUDA_ERROR_STREAM_CAPTURE_MERGE));
            }
        }
        Ok(true)
    })
}
