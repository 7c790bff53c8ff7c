//! Handles: what the program holds, what the board gave, and what dies when.

use super::border::code;
use super::callbacks::{self, Notices};
use super::details::Details;
use super::{CallResult, write};
use crate::generated::dispatch::DISPATCH;
use crate::generated::types::*;
use gil_guest::registry::{self, New, Parents, Registry, Released, Tag};
use gil_guest::{ByHand, Call};
use gil_wire::call::{Handle, NewEvent};
use gil_wire::compact::Writer;
use gil_wire::envelope::{Class, Queue};
use gil_wire::generated::opencl::Kind;
use std::ffi::c_void;
use std::sync::Arc;

/// Longest list of objects that a call takes.
const LIST_MAX: cl_uint = 4096;

/// What is kept of every object.
#[derive(Debug)]
pub struct Kept {
    kind: Kind,
    details: Details,
    notices: Notices,
}

static REGISTRY: Registry<Kept> = Registry::new();

/// A live object of the program's, checked.
#[derive(Clone, Debug)]
pub struct Object(Arc<registry::Object<Kept>>);

impl Object {
    /// Its number on the wire.
    pub fn number(&self) -> Handle {
        self.0.number()
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.0.data.kind
    }

    /// What the guest keeps of it.
    pub fn details(&self) -> &Details {
        &self.0.data.details
    }

    /// What is called when it is gone.
    pub(super) fn notices(&self) -> &Notices {
        &self.0.data.notices
    }

    /// The program's references to it.
    pub fn references(&self) -> cl_uint {
        self.0.references()
    }

    /// What it was made from.
    pub fn parent(&self) -> Option<Self> {
        self.0.parents().first().cloned().map(Self)
    }

    /// The context it belongs to.
    pub fn context(&self) -> Option<Self> {
        let mut object = self.clone();
        while object.kind() != Kind::Context {
            object = object.parent()?;
        }
        Some(object)
    }

    /// A command queue as the timeline knows it.
    pub fn queue(&self) -> Queue {
        let id = self.number().0;
        match self.details() {
            Details::Queue(details) => details.queue(id),
            // No other kind is asked; a queue of its own disturbs none.
            _ => Queue {
                id,
                in_order: true,
                device: 0,
            },
        }
    }

    /// The handle that the program knows it by.
    pub fn address(&self) -> *mut c_void {
        self.0.address()
    }
}

fn tag(kind: Kind) -> Tag {
    kind as Tag
}

/// The live object of that kind behind a handle.
///
/// # Errors
/// The kind's code for an invalid handle; that of a lost device in a forked
/// child.
pub fn find<T>(kind: Kind, object: *mut T) -> CallResult<Object> {
    refuse_forked()?;
    let found = REGISTRY.get(tag(kind), object.cast_const().cast());
    found.map(Object).ok_or(kind.invalid())
}

fn refuse_forked() -> CallResult<()> {
    match gil_guest::process::is_forked() {
        false => Ok(()),
        true => Err(super::border::forked()),
    }
}

/// As [`find`], where null is allowed.
///
/// # Errors
/// As [`find`].
pub fn find_optional<T>(kind: Kind, object: *mut T) -> CallResult<Option<Object>> {
    match object.is_null() {
        true => Ok(None),
        false => find(kind, object).map(Some),
    }
}

/// The live object behind a handle that may be of any of these kinds.
pub(super) fn find_any(kinds: &[Kind], object: *const c_void) -> Option<Object> {
    let object = REGISTRY.get_any(object).map(Object)?;
    kinds.contains(&object.kind()).then_some(object)
}

/// The numbers of a list of objects. Events must be of one context.
///
/// # Errors
/// The kind's code for an invalid handle, `CL_INVALID_CONTEXT` for events of
/// several contexts, `CL_OUT_OF_HOST_MEMORY` for a list without bounds.
///
/// # Safety
/// `list` is null or names `count` handles.
pub unsafe fn find_list<T>(
    kind: Kind,
    count: cl_uint,
    list: *const *mut T,
) -> CallResult<Option<Vec<Handle>>> {
    if list.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's.
    let objects = unsafe { checked(kind, count, list) }?;
    if kind == Kind::Event && !of_one_context(&objects) {
        return Err(CL_INVALID_CONTEXT);
    }
    Ok(Some(objects.iter().map(Object::number).collect()))
}

/// # Safety
/// `list` names `count` handles.
unsafe fn checked<T>(kind: Kind, count: cl_uint, list: *const *mut T) -> CallResult<Vec<Object>> {
    if count > LIST_MAX {
        return Err(CL_OUT_OF_HOST_MEMORY);
    }
    // SAFETY: the caller's.
    let handle = |n: cl_uint| unsafe { *list.add(n as usize) };
    (0..count).map(|n| find(kind, handle(n))).collect()
}

fn of_one_context(objects: &[Object]) -> bool {
    let context = |object: &Object| object.context().map(|context| context.number());
    objects
        .windows(2)
        .all(|two| context(&two[0]) == context(&two[1]))
}

/// The numbers of an enqueue's wait list.
///
/// # Errors
/// `CL_INVALID_EVENT_WAIT_LIST` if count and list do not agree or an event is
/// none; that of a lost device in a forked child.
///
/// # Safety
/// `list` is null or names `count` handles.
#[inline]
pub unsafe fn wait_list(count: cl_uint, list: *const cl_event) -> CallResult<Vec<Handle>> {
    match (count, list.is_null()) {
        (0, true) => Ok(Vec::new()),
        (0, false) | (_, true) => Err(CL_INVALID_EVENT_WAIT_LIST),
        // SAFETY: the caller's.
        _ => unsafe { waited(count, list) },
    }
}

/// # Safety
/// `list` names `count` handles.
unsafe fn waited(count: cl_uint, list: *const cl_event) -> CallResult<Vec<Handle>> {
    // SAFETY: the caller's.
    let events = unsafe { checked(Kind::Event, count, list) };
    match events {
        Ok(events) => Ok(events.iter().map(Object::number).collect()),
        Err(CL_INVALID_EVENT) => Err(CL_INVALID_EVENT_WAIT_LIST),
        Err(other) => Err(other),
    }
}

/// The number of an object, or null.
pub fn number(object: &Option<Object>) -> Handle {
    object.as_ref().map_or(Handle::NULL, Object::number)
}

/// One more reference.
///
/// # Errors
/// The kind's code for an invalid handle.
pub fn retain<T>(kind: Kind, object: *mut T) -> CallResult<()> {
    let object = find(kind, object)?;
    match object.0.retain() {
        true => Ok(()),
        false => Err(kind.invalid()),
    }
}

/// One reference less. What dies is told to the board, each object before what
/// it was made from.
///
/// # Errors
/// The kind's code for an invalid handle, or what went wrong on the way to the
/// board.
pub fn release<T>(kind: Kind, object: *mut T, entry: u64) -> CallResult<()> {
    refuse_forked()?;
    let mut told = Ok(());
    // Every one is told, whatever became of the first.
    let died = |object: &Arc<_>| told = told.and(bury(object, entry));
    match REGISTRY.release(tag(kind), object.cast_const().cast(), died) {
        Released::Invalid => Err(kind.invalid()),
        Released::Kept | Released::Died => told,
    }
}

fn bury(dead: &Arc<registry::Object<Kept>>, entry: u64) -> CallResult<()> {
    let told = tell_board(dead, entry);
    callbacks::died(dead.data.kind, &dead.data.notices, || Object(dead.clone()));
    told
}

/// An object kept alive although the program may have released it.
#[derive(Debug)]
pub(super) struct Hold(Object);

impl Hold {
    pub(super) fn object(&self) -> &Object {
        &self.0
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // The board hears of it as of any release; nobody hears of an error.
        let entry = gil_guest::entry();
        REGISTRY.let_go(&self.0.0, |dead| {
            let _ = bury(dead, entry);
        });
    }
}

/// Keeps an object alive; none if it is dead.
pub(super) fn hold(object: &Object) -> Option<Hold> {
    REGISTRY.hold(&object.0).then(|| Hold(object.clone()))
}

/// The live command queues of an object's context.
pub(super) fn queues_of(object: &Object) -> Vec<Object> {
    let Some(context) = object.context() else {
        return Vec::new();
    };
    let is_queue = |queue: &registry::Object<Kept>| queue.data.kind == Kind::CommandQueue;
    let queues = REGISTRY.all(is_queue).into_iter().map(Object);
    let of_it = |queue: &Object| {
        queue
            .context()
            .is_some_and(|c| c.number() == context.number())
    };
    queues.filter(of_it).collect()
}

fn tell_board(dead: &registry::Object<Kept>, entry: u64) -> CallResult<()> {
    let (kind, number) = (dead.data.kind, dead.number());
    let Some(op) = kind.release() else {
        return Ok(());
    };
    let call = Call {
        retires: (kind == Kind::Event).then_some(number.0),
        ..Call::new(op, Class::Post, entry)
    };
    let args = ByHand(|to: &mut Writer<'_>| to.handle(number));
    gil_guest::client()
        .and_then(|client| client.post_here(&call, &args))
        .map_err(|error| code(op, &error))
}

/// A new object with one reference, the program's. Null if a parent died
/// meanwhile.
pub fn create<T>(kind: Kind, number: Handle, parents: &[&Object], details: Details) -> *mut T {
    let parents = parents.iter().map(|parent| parent.0.clone()).collect();
    match REGISTRY.insert(new(kind, number, parents, details)) {
        Some(object) => object.address().cast(),
        None => std::ptr::null_mut(),
    }
}

fn new(kind: Kind, number: Handle, parents: Parents<Kept>, details: Details) -> New<Kept> {
    New {
        dispatch: (&raw const DISPATCH).cast(),
        tag: tag(kind),
        number,
        parents,
        data: Kept {
            kind,
            details: details.or_default(kind),
            notices: Notices::default(),
        },
    }
}

/// The object of a number that the board named. Platforms and devices are made
/// at first sight; other numbers that nobody made are null.
pub fn found<T>(kind: Kind, number: Handle) -> *mut T {
    if let Some(object) = REGISTRY.numbered(tag(kind), number) {
        return object.address().cast();
    }
    if !number.is_boards() || !matches!(kind, Kind::Platform | Kind::Device) {
        return std::ptr::null_mut();
    }
    let object = REGISTRY.intern(number, || new(kind, number, Parents::new(), Details::None));
    object.address().cast()
}

/// The live object that has this number.
pub(super) fn numbered(kind: Kind, number: Handle) -> Option<Object> {
    REGISTRY.numbered(tag(kind), number).map(Object)
}

/// The live kernels.
pub(super) fn kernels() -> Vec<Object> {
    let is_kernel = |object: &registry::Object<Kept>| object.data.kind == Kind::Kernel;
    REGISTRY.all(is_kernel).into_iter().map(Object).collect()
}

/// A number for something new.
pub fn new_number() -> Handle {
    gil_guest::client::next_number()
}

/// The event that an enqueue signals; the program wants it if it gave room.
pub fn new_event(event: *mut cl_event) -> NewEvent {
    NewEvent {
        number: new_number(),
        kept: !event.is_null(),
    }
}

/// Gives the program the event of an enqueue that succeeded, if it wants it.
///
/// # Safety
/// `event` is null or names room for one handle.
pub unsafe fn give_event(event: *mut cl_event, number: NewEvent, queue: &Object) {
    if number.kept {
        // SAFETY: the caller's.
        unsafe { write(event, enqueued(number.number, queue)) };
    }
}

/// The event of an enqueue. As [`create`], but programs make many.
#[inline(never)]
fn enqueued(number: Handle, queue: &Object) -> cl_event {
    let made = REGISTRY.insert(New {
        dispatch: (&raw const DISPATCH).cast(),
        tag: tag(Kind::Event),
        number,
        parents: Parents::from_buf([queue.0.clone()]),
        data: Kept {
            kind: Kind::Event,
            details: Details::event(),
            notices: Notices::default(),
        },
    });
    made.map_or(std::ptr::null_mut(), |made| made.address().cast())
}

/// Writes the objects of these numbers, as far as there is room: what the board
/// found if `parents` is none, new ones otherwise.
///
/// # Safety
/// `to` is null or names room for `room` handles.
pub unsafe fn write_handles<T>(
    kind: Kind,
    to: *mut *mut T,
    room: usize,
    handles: &[Handle],
    parents: Option<&[&Object]>,
) {
    if to.is_null() {
        return;
    }
    for (n, number) in handles.iter().take(room).enumerate() {
        let object = match parents {
            None => found(kind, *number),
            Some(parents) => create(kind, *number, parents, Details::None),
        };
        // SAFETY: the caller's; `n` is below `room`.
        unsafe { to.add(n).write(object) };
    }
}
