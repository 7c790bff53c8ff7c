//! Sync objects. A fence is the board's, which begins with the commands in front of it as
//! it is made, so that whoever waits for it waits for the GPU alone. A reusable one
//! belongs to the program's threads: the board knows nothing of it. Native fences are the
//! guest's kernel's.
//!
//! Timeouts are times of the guest's clock.

use super::current;
use super::details::Details;
use super::native_fences::Native;
use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult};
use gil_wire::envelope::Class;
use gil_wire::generated::egl::{self as wire, Kind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The timeout that never comes.
const EGL_FOREVER: EGLTime = EGLTime::MAX;

const KINDS: [Kind; 2] = [Kind::Sync, Kind::ReusableSync];

/// What the library keeps of a fence.
#[derive(Debug, Default)]
pub struct Fence {
    /// It was found signaled, and stays so.
    is_signaled: AtomicBool,
}

/// A reusable sync object.
#[derive(Debug, Default)]
pub struct Reusable {
    state: Mutex<Signals>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Signals {
    is_signaled: bool,
    /// How often it was signaled.
    count: u64,
}

impl Reusable {
    fn state(&self) -> MutexGuard<'_, Signals> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every thread that waits goes on once it is signaled.
    fn signal(&self, is_signaled: bool) {
        let mut state = self.state();
        state.is_signaled = is_signaled;
        if is_signaled {
            state.count = state.count.wrapping_add(1);
            self.changed.notify_all();
        }
    }

    /// Waits until it is signaled, or until the deadline; whether it was signaled.
    fn wait(&self, deadline: Option<Instant>) -> bool {
        let mut state = self.state();
        let count = state.count;
        while !state.is_signaled && state.count == count {
            state = match deadline.map(|deadline| deadline.checked_duration_since(Instant::now())) {
                None => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(None | Some(Duration::ZERO)) => return false,
                Some(Some(rest)) => {
                    let waited = self.changed.wait_timeout(state, rest);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        true
    }
}

/// The sync object of a display's behind a handle.
fn find(dpy: &Object, sync: EGLSync) -> CallResult<Object> {
    let found = Object::find_any(&KINDS, sync.cast_const().cast());
    let is_its = |sync: &Object| sync.parent().is_some_and(|it| it.number() == dpy.number());
    found.filter(is_its).ok_or(EGL_BAD_PARAMETER)
}

/// The context of a display's that is current in this thread.
fn current_of(dpy: &Object) -> CallResult<Object> {
    let is_its = |context: &Object| {
        let parent = context.parent();
        parent.is_some_and(|it| it.number() == dpy.number())
    };
    current::context().filter(is_its).ok_or(EGL_BAD_MATCH)
}

/// `eglCreateSync`. A type that is none is the error `unknown`; only a native fence has an
/// attribute, a descriptor that belongs to EGL if this succeeds.
///
/// # Safety
/// That descriptor is the program's to give.
///
/// # Errors
/// The API's code.
pub unsafe fn create(
    entry: u64,
    dpy: &Object,
    ty: EGLenum,
    attributes: &[(EGLint, EGLint)],
    unknown: EGLint,
) -> CallResult<EGLSync> {
    match ty {
        EGL_SYNC_NATIVE_FENCE_ANDROID => {
            current_of(dpy)?;
            // SAFETY: the caller's.
            let made = unsafe { native(entry, attributes) }?;
            let (number, details) = (gil_guest::new_number(), Details::Native(made));
            Ok(Object::create(Kind::ReusableSync, number, &[dpy], details))
        }
        EGL_SYNC_FENCE | EGL_SYNC_REUSABLE_KHR if !attributes.is_empty() => Err(EGL_BAD_ATTRIBUTE),
        EGL_SYNC_FENCE => fence(entry, dpy),
        EGL_SYNC_REUSABLE_KHR => {
            let (number, details) = (
                gil_guest::new_number(),
                Details::Reusable(Reusable::default()),
            );
            Ok(Object::create(Kind::ReusableSync, number, &[dpy], details))
        }
        _ => Err(unknown),
    }
}

/// A native fence, made or the program's.
///
/// # Safety
/// A descriptor in the attributes is the program's to give.
unsafe fn native(entry: u64, attributes: &[(EGLint, EGLint)]) -> CallResult<Native> {
    let mut given = EGL_NO_NATIVE_FENCE_FD_ANDROID;
    for &(name, value) in attributes {
        match name {
            EGL_SYNC_NATIVE_FENCE_FD_ANDROID => given = value,
            _ => return Err(EGL_BAD_ATTRIBUTE),
        }
    }
    match given {
        EGL_NO_NATIVE_FENCE_FD_ANDROID => Native::behind(entry),
        // SAFETY: the caller's.
        fd => unsafe { Native::of_program(fd) },
    }
}

/// `eglDupNativeFenceFDANDROID`.
///
/// # Errors
/// The API's code.
pub fn descriptor(dpy: &Object, sync: EGLSync) -> CallResult<EGLint> {
    match find(dpy, sync)?.details() {
        Details::Native(native) => native.descriptor(),
        _ => Err(EGL_BAD_PARAMETER),
    }
}

fn fence(entry: u64, dpy: &Object) -> CallResult<EGLSync> {
    let context = current_of(dpy)?;
    let new = gil_guest::new_number();
    let request = Request::new(wire::EGL_CREATE_SYNC, Class::Sync, entry);
    let args = wire::EglCreateSyncArgs {
        current: context.number(),
        new,
    };
    request.forward(&args, |reply| {
        let reply: wire::EglCreateSyncReply = reply.decode()?;
        Guest::check(reply.result)?;
        let details = Details::Fence(Fence::default());
        Ok(Object::create(Kind::Sync, new, &[dpy], details))
    })
}

/// `eglDestroySync`. Threads that wait for a reusable one go on; a fence lives on while
/// they do.
///
/// # Errors
/// The API's code.
pub fn destroy(entry: u64, dpy: &Object, sync: EGLSync) -> CallResult<()> {
    let found = find(dpy, sync)?;
    if let Details::Reusable(reusable) = found.details() {
        reusable.signal(true);
    }
    super::manual::released(Object::release(found.kind(), sync, entry))
}

/// `eglClientWaitSync`: how it ended.
///
/// # Errors
/// The API's code.
pub fn client_wait(
    entry: u64,
    dpy: &Object,
    sync: EGLSync,
    flags: EGLint,
    timeout: EGLTime,
) -> CallResult<EGLint> {
    let sync = find(dpy, sync)?;
    // It lives until the wait has ended.
    let hold = sync.hold().ok_or(EGL_BAD_PARAMETER)?;
    let deadline = match timeout {
        EGL_FOREVER => None,
        timeout => Instant::now().checked_add(Duration::from_nanos(timeout)),
    };
    let is_signaled = match hold.object().details() {
        Details::Reusable(reusable) => reusable.wait(deadline),
        Details::Fence(fence) => wait_for(entry, &sync, fence, flags, deadline)?,
        Details::Native(native) => native.wait(deadline),
        _ => return Err(EGL_BAD_PARAMETER),
    };
    Ok(match is_signaled {
        true => EGL_CONDITION_SATISFIED,
        false => EGL_TIMEOUT_EXPIRED,
    })
}

/// Waits for a fence, as often as the board ends a wait before the deadline.
fn wait_for(
    entry: u64,
    sync: &Object,
    fence: &Fence,
    flags: EGLint,
    deadline: Option<Instant>,
) -> CallResult<bool> {
    let mut entry = entry;
    while !fence.is_signaled.load(Ordering::Acquire) {
        let rest = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let timeout = rest.map_or(EGL_FOREVER, |rest| {
            EGLTime::try_from(rest.as_nanos()).unwrap_or(EGL_FOREVER)
        });
        let ended = ask(entry, sync, flags, timeout)?;
        fence.is_signaled.fetch_or(ended, Ordering::AcqRel);
        if !ended && timeout == 0 {
            return Ok(false);
        }
        entry = gil_guest::entry();
    }
    Ok(true)
}

/// Has the board wait for a fence, but not for long; whether it is signaled.
fn ask(entry: u64, sync: &Object, flags: EGLint, timeout: EGLTime) -> CallResult<bool> {
    let request = Request::new(wire::EGL_CLIENT_WAIT_SYNC, Class::Sync, entry);
    let args = wire::EglClientWaitSyncArgs {
        sync: sync.number(),
        flags,
        timeout,
    };
    request.forward(&args, |reply| {
        let reply: wire::EglClientWaitSyncReply = reply.decode()?;
        Guest::check(reply.result)?;
        Ok(reply.is_signaled)
    })
}

/// `eglWaitSync`: the current context's commands from here on wait for a fence. For a
/// reusable one only threads can wait.
///
/// # Errors
/// The API's code.
pub fn server_wait(entry: u64, dpy: &Object, sync: EGLSync, flags: EGLint) -> CallResult<()> {
    let sync = find(dpy, sync)?;
    let context = current_of(dpy)?;
    if flags != 0 {
        return Err(EGL_BAD_PARAMETER);
    }
    if let Details::Native(native) = sync.details() {
        // Its end is the guest's to know: later commands are sent then.
        native.wait(None);
        return Ok(());
    }
    if sync.kind() != Kind::Sync {
        return Err(EGL_BAD_MATCH);
    }
    let request = Request::new(wire::EGL_WAIT_SYNC, Class::Post, entry);
    request.post(&wire::EglWaitSyncArgs {
        current: context.number(),
        sync: sync.number(),
    })
}

/// `eglSignalSyncKHR`.
///
/// # Errors
/// The API's code.
pub fn signal(dpy: &Object, sync: EGLSync, mode: EGLenum) -> CallResult<()> {
    let sync = find(dpy, sync)?;
    match (sync.details(), mode) {
        (Details::Reusable(reusable), EGL_SIGNALED) => reusable.signal(true),
        (Details::Reusable(reusable), EGL_UNSIGNALED) => reusable.signal(false),
        (Details::Reusable(_), _) => return Err(EGL_BAD_PARAMETER),
        _ => return Err(EGL_BAD_MATCH),
    }
    Ok(())
}

/// `eglGetSyncAttrib`, if there is a place for the value.
///
/// # Errors
/// The API's code.
pub fn attribute(
    entry: u64,
    dpy: &Object,
    sync: EGLSync,
    name: EGLint,
    has_no_place: bool,
) -> CallResult<EGLenum> {
    let sync = find(dpy, sync)?;
    if has_no_place {
        return Err(EGL_BAD_PARAMETER);
    }
    match (sync.details(), name) {
        (Details::Fence(_), EGL_SYNC_TYPE) => Ok(EGL_SYNC_FENCE),
        (Details::Fence(_), EGL_SYNC_CONDITION) => Ok(EGL_SYNC_PRIOR_COMMANDS_COMPLETE),
        (Details::Fence(fence), EGL_SYNC_STATUS) => {
            let now = Some(Instant::now());
            wait_for(entry, &sync, fence, 0, now).map(status)
        }
        (Details::Native(_), EGL_SYNC_TYPE) => Ok(EGL_SYNC_NATIVE_FENCE_ANDROID),
        (Details::Native(native), EGL_SYNC_CONDITION) => Ok(native.condition()),
        (Details::Native(native), EGL_SYNC_STATUS) => Ok(status(native.wait(Some(Instant::now())))),
        (Details::Reusable(_), EGL_SYNC_TYPE) => Ok(EGL_SYNC_REUSABLE_KHR),
        (Details::Reusable(reusable), EGL_SYNC_STATUS) => Ok(status(reusable.state().is_signaled)),
        _ => Err(EGL_BAD_ATTRIBUTE),
    }
}

fn status(is_signaled: bool) -> EGLenum {
    if is_signaled {
        EGL_SIGNALED
    } else {
        EGL_UNSIGNALED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_wait_ends_with_a_signal_or_at_its_deadline() {
        let sync = Arc::new(Reusable::default());
        assert!(!sync.wait(Some(Instant::now())));
        assert!(!sync.wait(Some(Instant::now() + Duration::from_millis(1))));
        let other = sync.clone();
        let waits = std::thread::spawn(move || other.wait(None));
        while !waits.is_finished() {
            // The signal is taken back at once: the thread goes on all the same.
            sync.signal(true);
            sync.signal(false);
            std::thread::yield_now();
        }
        assert!(waits.join().unwrap());
        assert!(!sync.wait(Some(Instant::now())));
        sync.signal(true);
        assert!(sync.wait(None));
    }
}
