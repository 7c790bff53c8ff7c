//! Events. The board has none: a record is an operation on the timeline, and an event the
//! number of its latest one.

use super::context::{self, Context};
use super::{Details, capture, create, streams};
use crate::generated::manual::{Guest, Object};
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult, new_number};
use gil_wire::Op;
use gil_wire::call::NewEvent;
use gil_wire::compact::Writer;
use gil_wire::envelope::{Class, Envelope, State};
use gil_wire::generated::cuda::{self as wire, Kind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How threads wait, no times, and use by other processes.
const FLAGS: u32 = 7;
/// An event without times.
const NO_TIMES: u32 = 2;
/// An event for other processes.
const FOR_OTHERS: u32 = 4;

/// An event.
#[derive(Debug)]
pub struct Event {
    /// Its context.
    pub context: Arc<Context>,
    flags: u32,
    recorded: Mutex<Recorded>,
    /// The last of the program's functions that the record is behind.
    after: AtomicU64,
    /// What it stands for, if it was last recorded on a captured stream.
    captured: Mutex<Option<capture::Recorded>>,
    /// Whether there is something in it.
    is_captured: AtomicBool,
}

/// An event's records.
#[derive(Debug, Default)]
struct Recorded {
    /// The latest; 0 for none.
    latest: u64,
    /// Threads that wait for a record.
    waiting: u32,
    /// Earlier ones, which threads may wait for.
    earlier: Vec<u64>,
}

impl Recorded {
    /// Another is the latest one, or 0 for none. Nobody asks for the one before any more, but
    /// those who wait for it.
    fn replace(&mut self, entry: u64, latest: u64) -> CallResult<()> {
        match std::mem::replace(&mut self.latest, latest) {
            0 => Ok(()),
            last if self.waiting > 0 => {
                self.earlier.push(last);
                Ok(())
            }
            last => streams::retire(entry, last),
        }
    }
}

impl Event {
    fn captured(&self) -> MutexGuard<'_, Option<capture::Recorded>> {
        self.captured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs what waits for the latest record, which stays known meanwhile; `None` if there is
    /// none. Other threads may use the event while this one waits.
    fn waiting<R>(&self, entry: u64, wait: impl FnOnce(u64) -> R) -> Option<R> {
        let mut recorded = self.recorded();
        let latest = recorded.latest;
        if latest == 0 {
            return None;
        }
        recorded.waiting += 1;
        drop(recorded);
        let result = wait(latest);
        let mut recorded = self.recorded();
        recorded.waiting -= 1;
        if recorded.waiting == 0 {
            for earlier in std::mem::take(&mut recorded.earlier) {
                // The next call reports a session that is lost.
                let _ = streams::retire(entry, earlier);
            }
        }
        Some(result)
    }
}

/// Does something with the event behind a handle.
#[inline(always)]
fn with<R>(event: CUevent, work: impl FnOnce(&Event) -> CallResult<R>) -> CallResult<R> {
    context::initialized()?;
    let object = Object::find(Kind::Event, event)?;
    match object.details() {
        Details::Event(event) => {
            event.context.healthy()?;
            work(event)
        }
        _ => Err(CUDA_ERROR_INVALID_HANDLE),
    }
}

/// Makes an event in the current context.
///
/// # Errors
/// The API's code.
pub fn make(flags: u32) -> CallResult<CUevent> {
    if flags & !FLAGS != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    if flags & FOR_OTHERS != 0 {
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    }
    context::with(|context| {
        context.healthy()?;
        let event = Event {
            context: context.clone(),
            flags,
            recorded: Mutex::default(),
            after: AtomicU64::new(0),
            captured: Mutex::new(None),
            is_captured: AtomicBool::new(false),
        };
        create(Kind::Event, new_number(), Details::Event(event))
    })
}

/// Destroys an event.
///
/// # Errors
/// The API's code.
pub fn destroy(entry: u64, handle: CUevent) -> CallResult<()> {
    context::permitted()?;
    context::initialized()?;
    let object = Object::find(Kind::Event, handle)?;
    Object::release(Kind::Event, handle, entry)?;
    match object.details() {
        Details::Event(event) => {
            forget(entry, event);
            Ok(())
        }
        _ => Err(CUDA_ERROR_INVALID_HANDLE),
    }
}

/// Nobody asks for its record any more.
pub fn forget(entry: u64, event: &Event) {
    // The next call reports a session that is lost.
    let _ = event.recorded().replace(entry, 0);
}

/// Records what is on a stream so far, with flags.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for flags other than 0 and that of records in graphs from
/// outside, which only a capture has; or as [`record`].
pub fn record_with(entry: u64, event: CUevent, stream: CUstream, flags: u32) -> CallResult<()> {
    match flags {
        0 => record(entry, event, stream),
        // Also for others than those of a capture.
        1 if capture::is_any() && capture::records(event, stream, true)? => Ok(()),
        1 => record(entry, event, stream),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

/// Records what is on a stream so far.
///
/// # Errors
/// The API's code.
pub fn record(entry: u64, event: CUevent, stream: CUstream) -> CallResult<()> {
    if capture::is_any() && capture::records(event, stream, false)? {
        return Ok(());
    }
    context::with(|context| {
        with(event, |event| {
            if !Arc::ptr_eq(&event.context, context) {
                return Err(CUDA_ERROR_INVALID_HANDLE);
            }
            streams::with_lane(context, stream, |lane| {
                streams::order(entry, context, lane)?;
                let mut recorded = event.recorded();
                let signals = NewEvent {
                    number: new_number(),
                    kept: true,
                };
                let call = (wire::CU_EVENT_RECORD, signals);
                streams::enqueue(entry, call, context, lane, &[])?;
                lane.has_one_more(context);
                event.after.store(lane.after(), Ordering::Relaxed);
                if event.is_captured.swap(false, Ordering::AcqRel) {
                    event.captured().take();
                }
                recorded.replace(entry, signals.number.0)
            })
        })
    })
}

/// An event stands for nodes of a graph from now on.
///
/// # Errors
/// The API's code.
pub fn capture(event: CUevent, recorded: capture::Recorded) -> CallResult<()> {
    with(event, |event| {
        *event.captured() = Some(recorded);
        event.is_captured.store(true, Ordering::Release);
        Ok(())
    })
}

/// An event that is waited for or asked, which stands for no nodes.
///
/// # Errors
/// `CUDA_ERROR_CAPTURED_EVENT`.
fn with_recorded<R>(event: CUevent, work: impl FnOnce(&Event) -> CallResult<R>) -> CallResult<R> {
    with(event, |event| {
        match event.is_captured.load(Ordering::Acquire) {
            true => Err(CUDA_ERROR_CAPTURED_EVENT),
            false => work(event),
        }
    })
}

/// What is put on a stream from here on waits for an event's record.
///
/// # Errors
/// The API's code.
pub fn stream_waits(entry: u64, stream: CUstream, handle: CUevent, flags: u32) -> CallResult<()> {
    if flags & !1 != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    context::with(|context| {
        with(handle, |event| {
            let is_captured = event.is_captured.load(Ordering::Acquire);
            if is_captured || capture::is_any() {
                let recorded = event.captured().clone();
                if capture::waits(stream, handle, recorded, flags == 1)? {
                    return Ok(());
                }
            }
            streams::with_lane(context, stream, |lane| {
                let recorded = event.recorded();
                if recorded.latest == 0 {
                    return Ok(());
                }
                streams::order(entry, context, lane)?;
                post_wait(entry, context, lane, recorded.latest)?;
                lane.comes_after(event.after.load(Ordering::Relaxed));
                lane.has_one_more(context);
                Ok(())
            })
        })
    })
}

fn post_wait(entry: u64, context: &Context, lane: &streams::Lane, recorded: u64) -> CallResult<()> {
    let op = wire::CU_STREAM_WAIT_EVENT;
    let number = new_number();
    let waits = [recorded];
    let call = Envelope {
        queue: Some(lane.queue),
        waits: waits.as_slice().into(),
        signals: Some(number.0),
        ..Envelope::new(op, Class::Enqueue, entry)
    };
    let args = gil_guest::ByHand(|to: &mut Writer<'_>| {
        to.handle(context.number);
        to.handle(lane.number);
        to.number(recorded);
        to.handle(number);
        to.byte(0);
    });
    gil_guest::client()
        .and_then(|client| client.post(&call, &args))
        .map_err(|error| Guest::failed(op, &error))
}

/// Waits for an event's record.
///
/// # Errors
/// The code of what failed, or the API's for what went wrong on the way.
pub fn finish(entry: u64, op: Op, event: CUevent) -> CallResult<()> {
    context::permitted()?;
    with_recorded(event, |event| {
        let waited = event.waiting(entry, |recorded| {
            let observed = gil_guest::client()
                .and_then(|client| client.observe(op, entry, &[recorded]))
                .map_err(|error| Guest::failed(op, &error))?;
            streams::judge(&event.context, &observed)
        });
        waited.unwrap_or(Ok(()))
    })
}

/// Whether what an event recorded has ended.
///
/// # Errors
/// `CUDA_ERROR_NOT_READY` if not, or as [`finish`].
pub fn query(entry: u64, op: Op, event: CUevent) -> CallResult<()> {
    context::permitted()?;
    with_recorded(event, |event| match &*event.recorded() {
        Recorded { latest: 0, .. } => Ok(()),
        recorded => streams::is_over(entry, op, &event.context, recorded.latest),
    })
}

/// Milliseconds of simulated time between the ends of two events' records.
///
/// # Errors
/// `CUDA_ERROR_NOT_READY` if either has not ended, `CUDA_ERROR_INVALID_HANDLE` if either is
/// not recorded or has no times, or as [`finish`].
pub fn between(entry: u64, op: Op, start: CUevent, end: CUevent) -> CallResult<f32> {
    context::permitted()?;
    let ended_at = |event: CUevent| {
        with_recorded(event, |event| {
            let known = event.recorded();
            let recorded = known.latest;
            if recorded == 0 || event.flags & NO_TIMES != 0 {
                return Err(CUDA_ERROR_INVALID_HANDLE);
            }
            let observed = gil_guest::client()
                .and_then(|client| client.poll(op, entry, &[recorded]))
                .map_err(|error| Guest::failed(op, &error))?;
            match observed.first().filter(|it| it.state == State::Complete) {
                None => Err(CUDA_ERROR_NOT_READY),
                Some(seen) => {
                    streams::judge(&event.context, &observed)?;
                    Ok(seen.end_ns)
                }
            }
        })
    };
    let (from, to) = (ended_at(start)?, ended_at(end)?);
    let passed = i128::from(to) - i128::from(from);
    Ok((passed as f64 / 1e6) as f32)
}
