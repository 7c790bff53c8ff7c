//! What is current in a thread: the client API, a context and its surfaces.

use super::image;
use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult, Hold};
use gil_wire::call::Handle;
use gil_wire::envelope::Class;
use gil_wire::generated::egl as wire;
use std::cell::{Cell, RefCell};

/// A context that is current, and its surfaces, which live as long.
#[derive(Debug)]
struct Binding {
    context: Hold<Guest>,
    draw: Option<Hold<Guest>>,
    read: Option<Hold<Guest>>,
}

/// A thread's binding. When the thread ends, the context is flushed, and current nowhere.
#[derive(Debug)]
struct Thread(RefCell<Option<Binding>>);

impl Drop for Thread {
    fn drop(&mut self) {
        let Some(binding) = self.0.take() else {
            return;
        };
        let entry = gil_guest::entry();
        image::flushed_of(entry, binding.context.object());
        NUMBER.set(Handle::NULL);
        let request = Request::new(wire::GIL_RELEASE_THREAD, Class::Post, entry);
        let context = binding.context.object().number();
        // There is nobody to report an error to.
        let _ = request.post(&wire::GilReleaseThreadArgs { context });
    }
}

thread_local! {
    static API: Cell<EGLenum> = const { Cell::new(EGL_OPENGL_ES_API) };
    /// The number of the context that is current: most calls need no more.
    static NUMBER: Cell<Handle> = const { Cell::new(Handle::NULL) };
    static THREAD: Thread = const { Thread(RefCell::new(None)) };
}

/// The client API whose contexts the thread creates.
pub fn api() -> EGLenum {
    API.get()
}

/// Chooses it.
pub fn set_api(api: EGLenum) {
    API.set(api);
}

/// The thread's current context.
pub fn context() -> Option<Object> {
    bound(|binding| Some(binding.context.object().clone()))
}

/// Its number; null if there is none.
#[inline(always)]
pub fn number() -> Handle {
    NUMBER.get()
}

/// The same for as long as `use_it` takes, without a reference of its own.
#[inline]
pub fn with<R>(use_it: impl FnOnce(&Object) -> R) -> Option<R> {
    bound(|binding| Some(use_it(binding.context.object())))
}

/// The surface that the thread draws to.
pub fn draw() -> Option<Object> {
    bound(|binding| Some(binding.draw.as_ref()?.object().clone()))
}

/// The surface that the thread reads from.
pub fn read() -> Option<Object> {
    bound(|binding| Some(binding.read.as_ref()?.object().clone()))
}

#[inline]
fn bound<R>(get: impl FnOnce(&Binding) -> Option<R>) -> Option<R> {
    // None in a thread that is ending.
    let get = |thread: &Thread| get(thread.0.borrow().as_ref()?);
    THREAD.try_with(get).ok().flatten()
}

/// Makes a context with its surfaces current in this thread; none of them: nothing is.
///
/// # Errors
/// The API's code; then what was current still is.
pub fn make(
    entry: u64,
    context: Option<&Object>,
    draw: Option<&Object>,
    read: Option<&Object>,
) -> CallResult<()> {
    let hold = |object: Option<&Object>, code| match object {
        Some(object) => object.hold().map(Some).ok_or(code),
        None => Ok(None),
    };
    let next = match hold(context, EGL_BAD_CONTEXT)? {
        None => None,
        Some(context) => Some(Binding {
            context,
            draw: hold(draw, EGL_BAD_SURFACE)?,
            read: hold(read, EGL_BAD_SURFACE)?,
        }),
    };
    match self::context() {
        None if next.is_none() => return Ok(()),
        // A context that is let go is flushed.
        Some(last) if context.is_none_or(|next| next.number() != last.number()) => {
            image::flushed(entry);
        }
        _ => {}
    }
    let number = |object: Option<&Object>| object.map_or(Handle::NULL, Object::number);
    let request = Request::new(wire::EGL_MAKE_CURRENT, Class::Sync, entry);
    let args = wire::EglMakeCurrentArgs {
        draw: number(draw),
        read: number(read),
        context: number(context),
    };
    let made = request.forward(&args, |reply| {
        let reply: wire::EglMakeCurrentReply = reply.decode()?;
        Guest::check(reply.result)
    });
    match made {
        // What is lost can be let go.
        Err(EGL_CONTEXT_LOST) if context.is_none() => {}
        made => made?,
    }
    NUMBER.set(number(context));
    // What was current may die only now, outside the borrow.
    let last = THREAD.try_with(|thread| thread.0.replace(next));
    drop(last);
    Ok(())
}
