//! Handles: the program's references, the board's numbers, and lifetimes.

use super::callbacks::{self, Notices};
use super::data::write;
use super::{Api, CallResult, Events};
use crate::registry::{self, New, Parents, Released};
use crate::{ByHand, Error};
use gil_wire::Op;
use gil_wire::call::{Handle, NewEvent};
use gil_wire::compact::Writer;
use gil_wire::envelope::{Class, Envelope, Queue};
use std::ffi::c_void;
use std::sync::Arc;

/// Longest list of objects that a call takes.
const LIST_MAX: u32 = 1 << 16;

/// The library's data about every object.
#[derive(Debug)]
pub struct Kept<A: Api> {
    kind: A::Kind,
    details: A::Details,
    notices: Notices,
}

/// A live object of the program's, checked.
#[derive(Clone, Debug)]
pub struct Object<A: Api>(Arc<registry::Object<Kept<A>>>);

impl<A: Api> Object<A> {
    /// Its number on the wire.
    pub fn number(&self) -> Handle {
        self.0.number()
    }

    /// The number of an object, or null.
    pub fn number_of(object: &Option<Self>) -> Handle {
        object.as_ref().map_or(Handle::NULL, Self::number)
    }

    /// Its kind.
    pub fn kind(&self) -> A::Kind {
        self.0.data.kind
    }

    /// The library's data about it.
    pub fn details(&self) -> &A::Details {
        &self.0.data.details
    }

    /// What is called when it is gone.
    pub(crate) fn notices(&self) -> &Notices {
        &self.0.data.notices
    }

    /// The program's references to it.
    pub fn references(&self) -> u32 {
        self.0.references()
    }

    /// The object that it was created from.
    pub fn parent(&self) -> Option<Self> {
        self.0.parents().first().cloned().map(Self)
    }

    /// The number of the object of this kind that it is, or was made from in the
    /// end.
    pub fn ancestor(&self, kind: A::Kind) -> Option<Handle> {
        let mut object = &self.0;
        while object.data.kind != kind {
            object = object.parents().first()?;
        }
        Some(object.number())
    }

    /// A queue as the timeline knows it.
    pub fn queue(&self) -> Queue {
        A::queue(self)
    }

    /// The handle that the program knows it by.
    pub fn address(&self) -> *mut c_void {
        self.0.address()
    }

    /// The live object of that kind behind a handle.
    ///
    /// # Errors
    /// The kind's code for an invalid handle; that of a lost device in a forked
    /// child.
    pub fn find<T>(kind: A::Kind, object: *mut T) -> CallResult<Self> {
        refuse_forked::<A>()?;
        let found = A::registry().get(A::tag(kind), object.cast_const().cast());
        found.map_or_else(|| A::stands_for(kind, object.cast()), |it| Ok(Self(it)))
    }

    /// As [`find`](Self::find), where null is allowed.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn find_optional<T>(kind: A::Kind, object: *mut T) -> CallResult<Option<Self>> {
        match object.is_null() {
            true => Ok(None),
            false => Self::find(kind, object).map(Some),
        }
    }

    /// The live object behind a handle that may be of any of these kinds.
    pub fn find_any(kinds: &[A::Kind], object: *const c_void) -> Option<Self> {
        let object = A::registry().get_any(object).map(Self)?;
        kinds.contains(&object.kind()).then_some(object)
    }

    /// The numbers of a list of objects.
    ///
    /// # Errors
    /// The kind's code for an invalid handle, the API's for objects that it does
    /// not take together and for a list without bounds.
    ///
    /// # Safety
    /// `list` is null or names `count` handles.
    pub unsafe fn list<T>(
        kind: A::Kind,
        count: u32,
        list: *const *mut T,
    ) -> CallResult<Option<Vec<Handle>>> {
        if list.is_null() {
            return Ok(None);
        }
        // SAFETY: the caller's.
        let objects = unsafe { Self::checked(kind, count, list) }?;
        A::check_list(kind, &objects)?;
        Ok(Some(objects.iter().map(Self::number).collect()))
    }

    /// # Safety
    /// `list` names `count` handles.
    unsafe fn checked<T>(kind: A::Kind, count: u32, list: *const *mut T) -> CallResult<Vec<Self>> {
        if count > LIST_MAX {
            return Err(A::BOUNDS);
        }
        // SAFETY: the caller's.
        let handle = |n: u32| unsafe { *list.add(n as usize) };
        (0..count).map(|n| Self::find(kind, handle(n))).collect()
    }

    /// One more reference.
    ///
    /// # Errors
    /// The kind's code for an invalid handle.
    pub fn retain<T>(kind: A::Kind, object: *mut T) -> CallResult<()> {
        match Self::find(kind, object)?.0.retain() {
            true => Ok(()),
            false => Err(A::invalid(kind)),
        }
    }

    /// Drops one reference. The board is notified of every object that dies,
    /// each before the object it was made from.
    ///
    /// # Errors
    /// The kind's code for an invalid handle, or what went wrong on the way to
    /// the board.
    pub fn release<T>(kind: A::Kind, object: *mut T, entry: u64) -> CallResult<()> {
        refuse_forked::<A>()?;
        let mut told = Ok(());
        // Each is released, even if the first release failed.
        let died = |object: &Arc<_>| told = told.and(bury::<A>(object, entry));
        match A::registry().release(A::tag(kind), object.cast_const().cast(), died) {
            Released::Invalid => Err(A::invalid(kind)),
            Released::Kept | Released::Died => told,
        }
    }

    /// Keeps it alive although the program may release it; none if it is dead.
    pub fn hold(&self) -> Option<Hold<A>> {
        A::registry().hold(&self.0).then(|| Hold(self.clone()))
    }

    /// The handle of a new object with one reference, the program's. Null if a
    /// parent died meanwhile.
    pub fn create<T>(
        kind: A::Kind,
        number: Handle,
        parents: &[&Self],
        details: A::Details,
    ) -> *mut T {
        let parents = parents.iter().map(|parent| parent.0.clone()).collect();
        match A::registry().insert(new(kind, number, parents, details)) {
            Some(object) => object.address().cast(),
            None => std::ptr::null_mut(),
        }
    }

    /// The handle of the object of a number that the board named. Objects of the
    /// board's own are made at first sight; other numbers that nobody made are
    /// null.
    pub fn found<T>(kind: A::Kind, number: Handle) -> *mut T {
        if let Some(object) = Self::numbered(kind, number) {
            return object.address().cast();
        }
        if !number.is_boards() || !A::is_found(kind) {
            return std::ptr::null_mut();
        }
        let make = || new::<A>(kind, number, Parents::new(), A::Details::default());
        A::registry().intern(number, make).address().cast()
    }

    /// The live object that has this number.
    pub fn numbered(kind: A::Kind, number: Handle) -> Option<Self> {
        A::registry().numbered(A::tag(kind), number).map(Self)
    }

    /// The live objects of a kind.
    pub fn all(kind: A::Kind) -> Vec<Self> {
        let is_it = |object: &registry::Object<Kept<A>>| object.data.kind == kind;
        A::registry().all(is_it).into_iter().map(Self).collect()
    }

    /// Writes the handles of these numbers, as far as there is room: of what the
    /// board found if `parents` is none, of new objects otherwise.
    ///
    /// # Safety
    /// `to` is null or points to space for `room` handles.
    pub unsafe fn write_all<T>(
        kind: A::Kind,
        to: *mut *mut T,
        room: usize,
        handles: &[Handle],
        parents: Option<&[&Self]>,
    ) {
        if to.is_null() {
            return;
        }
        for (n, number) in handles.iter().take(room).enumerate() {
            let object = match parents {
                None => Self::found(kind, *number),
                Some(parents) => Self::create(kind, *number, parents, A::Details::default()),
            };
            // SAFETY: the caller's; `n` is below `room`.
            unsafe { to.add(n).write(object) };
        }
    }
}

impl<A: Events> Object<A> {
    /// The numbers of an enqueue's wait list.
    ///
    /// # Errors
    /// The API's code if count and list do not agree or an event is none; that of
    /// a lost device in a forked child.
    ///
    /// # Safety
    /// `list` is null or names `count` handles.
    #[inline]
    pub unsafe fn wait_list<T>(count: u32, list: *const *mut T) -> CallResult<Vec<Handle>> {
        match (count, list.is_null()) {
            (0, true) => Ok(Vec::new()),
            (0, false) | (_, true) => Err(A::INVALID_WAIT_LIST),
            // SAFETY: the caller's.
            _ => unsafe { Self::waited(count, list) },
        }
    }

    /// # Safety
    /// `list` names `count` handles.
    unsafe fn waited<T>(count: u32, list: *const *mut T) -> CallResult<Vec<Handle>> {
        // SAFETY: the caller's.
        match unsafe { Self::checked(A::EVENT, count, list) } {
            Ok(events) => Ok(events.iter().map(Self::number).collect()),
            Err(code) if code == A::invalid(A::EVENT) => Err(A::INVALID_WAIT_LIST),
            Err(other) => Err(other),
        }
    }

    /// Gives the program the event of an enqueue that succeeded, if it wants it.
    ///
    /// # Safety
    /// `event` is null or points to space for one handle.
    #[inline]
    pub unsafe fn give_event<T>(event: *mut *mut T, number: NewEvent, queue: &Self) {
        if number.kept {
            // SAFETY: the caller's.
            unsafe { write(event, queue.enqueued(number.number).cast()) };
        }
    }

    /// The event of an enqueue. As [`create`](Self::create), but programs make
    /// many.
    #[inline(never)]
    fn enqueued(&self, number: Handle) -> *mut c_void {
        let made = A::registry().insert(New {
            dispatch: A::dispatch(),
            tag: A::tag(A::EVENT),
            number,
            parents: Parents::from_buf([self.0.clone()]),
            data: Kept {
                kind: A::EVENT,
                details: A::event(),
                notices: Notices::default(),
            },
        });
        made.map_or(std::ptr::null_mut(), |made| made.address())
    }
}

/// A number for something new.
pub fn new_number() -> Handle {
    crate::client::next_number()
}

/// The event that an enqueue signals; the program wants it if `event` is not
/// null.
pub fn new_event<T>(event: *mut T) -> NewEvent {
    NewEvent {
        number: new_number(),
        kept: !event.is_null(),
    }
}

fn new<A: Api>(
    kind: A::Kind,
    number: Handle,
    parents: Parents<Kept<A>>,
    details: A::Details,
) -> New<Kept<A>> {
    New {
        dispatch: A::dispatch(),
        tag: A::tag(kind),
        number,
        parents,
        data: Kept {
            kind,
            details: A::complete(kind, details),
            notices: Notices::default(),
        },
    }
}

fn refuse_forked<A: Api>() -> CallResult<()> {
    match crate::process::is_forked() {
        false => Ok(()),
        true => Err(forked::<A>()),
    }
}

/// The code of any call in a forked child.
#[cold]
fn forked<A: Api>() -> i32 {
    A::failed(Op::new(A::NUMBER, 0), &Error::Forked)
}

fn bury<A: Api>(dead: &Arc<registry::Object<Kept<A>>>, entry: u64) -> CallResult<()> {
    let told = tell_board::<A>(dead, entry);
    callbacks::died(&dead.data.notices, || Object::<A>(dead.clone()));
    told
}

fn tell_board<A: Api>(dead: &registry::Object<Kept<A>>, entry: u64) -> CallResult<()> {
    let (kind, number) = (dead.data.kind, dead.number());
    let Some(op) = A::release(kind) else {
        return Ok(());
    };
    let call = Envelope {
        retires: A::is_event(kind).then_some(number.0),
        mirror: A::mirror(&dead.data.details).map(|number| number.0),
        ..Envelope::new(op, Class::Post, entry)
    };
    let args = ByHand(|to: &mut Writer<'_>| to.handle(number));
    crate::client()
        .and_then(|client| client.post_here(&call, &args))
        .map_err(|error| A::failed(op, &error))
}

/// An object kept alive although the program may have released it.
#[derive(Debug)]
pub struct Hold<A: Api>(Object<A>);

impl<A: Api> Hold<A> {
    /// The object.
    pub fn object(&self) -> &Object<A> {
        &self.0
    }
}

impl<A: Api> Drop for Hold<A> {
    fn drop(&mut self) {
        // The board hears of it as of any release; nobody hears of an error.
        let entry = crate::entry();
        A::registry().let_go(&self.0.0, |dead| {
            let _ = bury::<A>(dead, entry);
        });
    }
}
