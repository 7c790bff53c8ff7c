//! The guest's support code as the generated stubs see it. Nothing here is
//! called: the compiler looks at the types.

use gil_wire::Op;
use gil_wire::call::{Handle, InData, NewEvent, OutData, OutRoom, Property};
use gil_wire::envelope::{Class, Engine, Order, Queue};
use serde::{Deserialize, Serialize};
use std::ffi::{c_char, c_void};

pub fn never<T>() -> T {
    panic!("the stubs are compiled, not called")
}

pub fn entry() -> u64 {
    never()
}

pub fn note(_: Op) {}

pub type CallResult<T> = Result<T, i32>;
pub const BOUNDS: i32 = -1;

pub struct Request;

impl Request {
    pub fn new(_: Op, _: Class, _: u64) -> Self {
        never()
    }
    pub unsafe fn input<'a>(&mut self, _: *const c_void, _: usize) -> InData<'a> {
        never()
    }
    pub unsafe fn string<'a>(&mut self, _: *const c_char) -> InData<'a> {
        never()
    }
    pub unsafe fn output_region(&mut self, _: *mut c_void, _: usize) -> OutRoom {
        never()
    }
    pub fn queue(&mut self, _: Queue, _: Engine) {}

    pub fn order(&mut self, _: Order) {}
    pub fn signals(&mut self, _: Handle, _: bool) {}
    pub fn forward<A: Serialize, T>(
        self,
        _: &A,
        read: impl FnOnce(&[u8]) -> CallResult<T>,
    ) -> CallResult<T> {
        read(&[])
    }
    pub fn post<A: Serialize>(self, _: &A) -> CallResult<()> {
        never()
    }
}

#[derive(Clone)]
pub struct Object;

impl Object {
    pub fn number(&self) -> Handle {
        never()
    }
}

#[derive(Default)]
pub struct Details {
    of: Option<Handle>,
}

pub struct Room;

pub fn decode<'a, R: Deserialize<'a>>(_: &'a [u8]) -> CallResult<R> {
    never()
}
pub fn check(_: i32) -> CallResult<()> {
    never()
}
pub fn returned<R>(_: impl FnOnce() -> CallResult<()>) -> R {
    never()
}
pub fn nothing(run: impl FnOnce() -> CallResult<()>) {
    let _ = run();
}
pub fn value<T: Default>(run: impl FnOnce() -> CallResult<T>) -> T {
    run().unwrap_or_default()
}
pub fn noted<T>(run: impl FnOnce() -> CallResult<*mut T>) -> *mut T {
    run().unwrap_or(std::ptr::null_mut())
}
pub fn current() -> CallResult<Object> {
    never()
}
pub fn find<K, T>(_: K, _: *mut T) -> CallResult<Object> {
    never()
}
pub fn find_optional<K, T>(_: K, _: *mut T) -> CallResult<Option<Object>> {
    never()
}
pub fn number(_: &Option<Object>) -> Handle {
    never()
}
pub fn queue_or_default(_: &Option<Object>) -> CallResult<Queue> {
    never()
}
pub fn new_number() -> Handle {
    never()
}
pub fn new_event(_: *mut c_void) -> NewEvent {
    never()
}
pub fn create<K, T>(_: K, _: Handle, _: &[&Object], _: Details) -> *mut T {
    never()
}
pub unsafe fn write<T>(_: *mut T, _: T) {
    never()
}
pub unsafe fn write_handles<K, T>(
    _: K,
    _: *mut *mut T,
    _: usize,
    _: &[Handle],
    _: Option<&[&Object]>,
) {
    never()
}
pub unsafe fn write_data(_: &OutData<'_>, _: *mut c_void, _: usize) {
    never()
}
pub unsafe fn array<T, U>(_: *const T, _: usize) -> CallResult<Option<Vec<U>>> {
    never()
}
pub unsafe fn properties_until<T>(
    _: T,
    _: *const T,
    _: &[(u64, ())],
    _: &[u64],
) -> CallResult<Option<Vec<Property>>> {
    never()
}
pub unsafe fn pack_strings<L>(
    _: u32,
    _: *const *const c_char,
    _: *const L,
) -> CallResult<Option<Vec<u8>>> {
    never()
}
pub unsafe fn pack_pieces(
    _: &[usize],
    _: *const *const c_void,
) -> CallResult<(u32, Option<Vec<u8>>)> {
    never()
}
/// The callback is called when the queue gets there.
pub fn defer<F>(_: Option<F>, _: *mut c_void) {
    never()
}
