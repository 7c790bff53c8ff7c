//! The traits that an API's guest library implements, and the functions that its
//! generated code calls.
//!
//! `cargo xtask gen` writes a type `Guest` for every API, its [`Described`] from
//! `api/*.toml`, and the traits of its hand-written part (`Manual`, `Local`,
//! `Helpers`, `Kept`). The library implements [`Api`] for it, and of these what
//! its description uses, or it does not compile:
//!
//! | trait | for APIs |
//! |---|---|
//! | [`Events`] | whose enqueues take and return events that are objects |
//! | [`Current`] | with an object that is current in a thread |
//! | [`DefaultQueue`] | whose enqueues may name no queue |
//! | [`Noted`] | that store the error of a call for a later query |
//! | [`Deferred`] | that call a function of the program once a queue reaches it |
//!
//! Generated stubs use these and nothing else:
//!
//! | what | where |
//! |---|---|
//! | the call's result, and its error | the provided methods of [`Api`] |
//! | handles | [`Object`]: `find`, `find_optional`, `list`, `wait_list`, `retain`, `release`, `create`, `write_all`, `give_event`, `number`, `number_of`, `queue` |
//! | one call being built | [`Request`], [`Reply`] |
//! | arrays, lists and strings in; values out | [`data`] |
//! | size-and-data queries | [`info`] |
//! | the program's callbacks | [`callbacks::notify`] |
//! | numbers, the counter, which calls were made | [`new_number`], [`new_event`], [`entry`](crate::entry), [`note`](crate::note) |

pub mod accepted;
pub mod callbacks;
pub mod data;
pub mod info;
pub mod objects;
pub mod request;

pub use info::Room;
pub use objects::{Hold, Kept, Object, new_event, new_number};
pub use request::{Reply, Request};

use crate::Error;
use crate::later::{self, Moment};
use crate::registry::{Registry, Tag};
use gil_wire::Op;
use gil_wire::call::{Handle, NewEvent};
use gil_wire::compact::Writer;
use gil_wire::ending::Ending;
use gil_wire::envelope::{Class, Envelope, Queue};
use std::ffi::c_void;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// A value, or the API's own error code.
pub type CallResult<T> = Result<T, i32>;

/// What an API's description says of it. Generated.
pub trait Described: Copy + Debug + Send + Sync + 'static {
    /// Its number in operation numbers.
    const NUMBER: u16;
    /// Kinds of its objects.
    type Kind: Copy + Debug + Eq + Send + Sync + 'static;
    /// What its calls return or write as their error.
    type Status: Copy;
    /// The code for success.
    const SUCCESS: i32;
    /// The code for what is out of all bounds.
    const BOUNDS: i32;
    /// The code for a value that a call does not know.
    const VALUE: i32;

    /// A kind's number among the library's handles.
    fn tag(kind: Self::Kind) -> Tag;
    /// The code for a handle that is none of this kind.
    fn invalid(kind: Self::Kind) -> i32;
    /// The call by which the board releases an object of this kind.
    fn release(kind: Self::Kind) -> Option<Op>;
    /// The first word of every handle: the loader's dispatch table, if there is
    /// one.
    fn dispatch() -> *const c_void;
}

/// The kinds of an API without objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoKind {}

/// An API's guest library.
pub trait Api: Described {
    /// What the library keeps of an object, to answer for it without the board.
    type Details: Debug + Default + Send + Sync + 'static;

    /// The code for an answer that is not what was asked, and for a panic.
    const GARBLED: i32;
    /// The code of a call that waited for an event that ended badly.
    const FAILED_WAIT: i32 = Self::GARBLED;

    /// Whether calls without an answer wait until there is no more room for them, because
    /// a program makes hundreds between two calls that have one.
    const POSTS_LAZILY: bool = false;

    /// Its live objects: a static of the library's.
    fn registry() -> &'static Registry<Kept<Self>>;

    /// Its code for an error between the library and the board.
    fn code(op: Op, error: &Error) -> i32;

    /// What a call with this result returns or writes.
    fn status(ended: CallResult<()>) -> Self::Status;

    /// What is kept of a new object at least.
    fn complete(_kind: Self::Kind, details: Self::Details) -> Self::Details {
        details
    }

    /// Whether objects of this kind are the board's own, made here at first
    /// sight of their numbers.
    fn is_found(_kind: Self::Kind) -> bool {
        false
    }

    /// Whether a list may have this key. Behind another one, nothing is read.
    fn is_key(_key: u64) -> bool {
        true
    }

    /// Whether an operation signals objects of this kind.
    fn is_event(_kind: Self::Kind) -> bool {
        false
    }

    /// The number under which the host keeps copies of what an object has; they go with it.
    fn mirror(_details: &Self::Details) -> Option<Handle> {
        None
    }

    /// A queue as the timeline knows it.
    fn queue(object: &Object<Self>) -> Queue {
        Queue {
            id: object.number().0,
            in_order: true,
            device: 0,
        }
    }

    /// The object of this kind that a handle stands for which is none of it.
    ///
    /// # Errors
    /// The kind's code for an invalid handle, if it stands for none.
    #[cold]
    fn stands_for(kind: Self::Kind, _handle: *mut c_void) -> CallResult<Object<Self>> {
        Err(Self::invalid(kind))
    }

    /// Whether a call takes these objects of one kind together.
    ///
    /// # Errors
    /// Its code if not.
    fn check_list(_kind: Self::Kind, _objects: &[Object<Self>]) -> CallResult<()> {
        Ok(())
    }

    /// The queues whose operations may still use an object that died.
    fn users(_object: &Object<Self>) -> Vec<Object<Self>> {
        Vec::new()
    }

    /// The code of a call that waited for an operation which ended with this one.
    fn failed_wait(_code: i32) -> i32 {
        Self::FAILED_WAIT
    }

    /// An operation was refused that the library had posted since the board had
    /// accepted its like: what was accepted so far no longer counts.
    fn refused_late() {}

    /// What programs see of the extension string of an object of this kind.
    fn shown(_kind: Self::Kind, all: &[u8]) -> Vec<u8> {
        all.to_vec()
    }

    /// The same for an array of versions and names.
    fn shown_versions(_kind: Self::Kind, all: &[u8]) -> Vec<u8> {
        all.to_vec()
    }

    // ---- what generated and hand-written code calls ----

    /// The code for an error between the library and the board. The first that
    /// ends the session is also reported on standard error, as no code says what
    /// happened.
    #[cold]
    fn failed(op: Op, error: &Error) -> i32 {
        if error.is_final() {
            tell_once(op, error);
        }
        Self::code(op, error)
    }

    /// `Err` if `result` is an error code.
    ///
    /// # Errors
    /// `result`.
    fn check(result: i32) -> CallResult<()> {
        match result == Self::SUCCESS {
            true => Ok(()),
            false => Err(result),
        }
    }

    /// Runs a call that returns its error.
    fn returned(run: impl FnOnce() -> CallResult<()>) -> Self::Status {
        Self::status(guarded::<Self, _>(run))
    }

    /// Runs a call that returns an object and writes its error.
    ///
    /// # Safety
    /// `place` is null or points to space for one error.
    unsafe fn written<T>(
        place: *mut Self::Status,
        run: impl FnOnce() -> CallResult<*mut T>,
    ) -> *mut T {
        let result = guarded::<Self, _>(run);
        // SAFETY: the caller's.
        unsafe { data::write(place, Self::status(result.map(drop))) };
        result.unwrap_or(std::ptr::null_mut())
    }

    /// Executes a call that returns a value and no error.
    fn value<T: Default>(run: impl FnOnce() -> CallResult<T>) -> T {
        let value = guarded::<Self, _>(run).unwrap_or_else(|code| {
            Self::unreported(code);
            T::default()
        });
        Self::ended();
        value
    }

    /// Executes a call that returns nothing and no error.
    fn nothing(run: impl FnOnce() -> CallResult<()>) {
        if let Err(code) = guarded::<Self, _>(run) {
            Self::unreported(code);
        }
        Self::ended();
    }

    /// A call that returns no error has ended: for an API that tells its program
    /// something before the call returns.
    fn ended() {}

    /// Posts a call whose arguments are few numbers, written by hand.
    ///
    /// # Errors
    /// The API's code for what went wrong on the way.
    #[inline(always)]
    fn post_numbers(op: Op, entry: u64, write: impl Fn(&mut Writer<'_>)) -> CallResult<()> {
        let call = Envelope::new(op, Class::Post, entry);
        crate::client()
            .and_then(|client| client.post_numbers(&call, write, Self::POSTS_LAZILY))
            .map_err(|error| Self::failed(op, &error))
    }

    /// A call that can return no error failed here, before the board saw it: for an
    /// API that keeps errors for a later question.
    fn unreported(_code: i32) {}
}

/// An API whose enqueues take and give events that are objects.
pub trait Events: Api {
    /// Their kind.
    const EVENT: Self::Kind;
    /// The code for an invalid wait list, or one that names something other
    /// than an event.
    const INVALID_WAIT_LIST: i32;

    /// The library's data about a new event.
    fn event() -> Self::Details;
}

/// An API with an object that is current in a thread.
pub trait Current: Api {
    /// The API that the object is of: this one or another.
    type Owner: Api;

    /// This thread's current object.
    ///
    /// # Errors
    /// The API's code if there is none.
    fn current() -> CallResult<Object<Self::Owner>>;

    /// Its number.
    ///
    /// # Errors
    /// As [`current`](Self::current).
    #[inline(always)]
    fn current_number() -> CallResult<Handle> {
        Self::current().map(|object| object.number())
    }
}

/// What is current in a thread of the API `A`.
pub type CurrentObject<A> = Object<<A as Current>::Owner>;

/// An API whose enqueues may name no queue.
pub trait DefaultQueue: Api {
    /// The queue that is meant then.
    ///
    /// # Errors
    /// The API's code if there is none.
    fn default_queue() -> CallResult<Queue>;

    /// The queue of an enqueue.
    ///
    /// # Errors
    /// As [`default_queue`](Self::default_queue).
    fn queue_or_default(object: &Option<Object<Self>>) -> CallResult<Queue> {
        match object {
            Some(object) => Ok(object.queue()),
            None => Self::default_queue(),
        }
    }
}

/// An API that keeps the error of a call for a later question.
pub trait Noted: Api {
    /// Keeps an error, or that there was none.
    fn note(ended: CallResult<()>);

    /// Runs a call that returns an object, or null.
    fn noted<T>(run: impl FnOnce() -> CallResult<*mut T>) -> *mut T {
        let result = guarded::<Self, _>(run);
        Self::note(result.map(drop));
        result.unwrap_or(std::ptr::null_mut())
    }
}

/// An API that calls a function of the program's once a queue gets there.
pub trait Deferred: Api {
    /// The code of an operation whose session ended before it.
    const LOST: i32;

    /// Calls `call` with the code that the operation of `event` ended with, once
    /// it has. The operation is enqueued. `call` is a function of the program's
    /// with its data, which may be used on the library's thread.
    fn defer(op: Op, event: NewEvent, call: impl FnOnce(i32) + 'static) {
        let Ok(client) = crate::client() else {
            // The next call says so.
            return;
        };
        let call = move |ended: Option<Ending>| {
            // A session that is lost keeps no events.
            let _ = client.retire(op, event.number.0);
            call(match ended {
                Some(Ending::Done) => Self::SUCCESS,
                Some(Ending::Failed(code)) => code,
                None => Self::LOST,
            });
        };
        // SAFETY: the program agreed to that as it gave the function to the API.
        let job = unsafe { callbacks::event_job(call) };
        // Without a thread there is nobody to report to.
        let _ = later::when(client, op, event.number.0, Moment::Ended, job);
    }
}

/// Nothing unwinds into C: a panic, where it does not abort, is an error code.
fn guarded<A: Api, T>(run: impl FnOnce() -> CallResult<T>) -> CallResult<T> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(Err(A::GARBLED))
}

#[cold]
fn tell_once(op: Op, error: &Error) {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if TOLD.swap(true, Ordering::Relaxed) {
        return;
    }
    let line = match error {
        Error::Lost | Error::NotServed => format!("gil: {op}: {error}\n"),
        // It is the same in whatever call.
        _ => format!("gil: {error}\n"),
    };
    // Not through std: in a forked child its lock may be held for ever.
    // SAFETY: writes the bytes of a live string.
    unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::double::{Plain, PlainKind};
    use gil_wire::call::Handle;

    impl DefaultQueue for Plain {
        fn default_queue() -> CallResult<Queue> {
            Err(7)
        }
    }

    static NOTED: AtomicBool = AtomicBool::new(false);

    impl Noted for Plain {
        fn note(ended: CallResult<()>) {
            NOTED.store(ended == Err(Self::GARBLED), Ordering::Relaxed);
        }
    }

    #[test]
    fn nothing_unwinds_into_c() {
        assert_eq!(Plain::returned(|| panic!("on purpose")), Plain::GARBLED);
        assert_eq!(Plain::value(|| Ok(5)), 5);
        assert_eq!(Plain::value::<u32>(|| panic!("on purpose")), 0);
        Plain::nothing(|| panic!("on purpose"));
        assert!(Plain::noted::<u8>(|| panic!("on purpose")).is_null());
        assert!(NOTED.load(Ordering::Relaxed));
    }

    #[test]
    fn a_queue_that_is_not_named_is_the_default() {
        assert_eq!(Plain::queue_or_default(&None), Err(7));
        let made: *mut u8 = Object::<Plain>::create(PlainKind::Buffer, Handle(5), &[], ());
        let queue = Object::<Plain>::find(PlainKind::Buffer, made).unwrap();
        assert_eq!(Plain::queue_or_default(&Some(queue)).unwrap().id, 5);
        assert!(Object::<Plain>::find(PlainKind::Device, made).is_err());
    }
}
