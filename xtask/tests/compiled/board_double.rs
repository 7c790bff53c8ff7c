//! The board's support code as the generated dispatch sees it. Nothing here is
//! called: the compiler looks at the types.

pub use crate::guest_double::never;
use gil_wire::call::{Handle, InData, NewEvent, OutData, OutRoom, Property};
use gil_wire::length::Length;
use gil_wire::pieces::Pieces;
use serde::{Deserialize, Serialize};
use std::ffi::{CString, c_void};
use std::marker::PhantomData;

pub struct Session<F>(PhantomData<F>);
pub struct Call;
pub struct Refusal;
pub struct Board;
pub struct Output;

pub enum Order {
    Command,
    Marker,
    Barrier,
}

pub struct Enqueued<'a, T> {
    pub result: i32,
    pub queue: Handle,
    pub order: Order,
    pub waits: &'a [Handle],
    pub signals: NewEvent,
    pub event: *mut T,
}

impl Refusal {
    pub fn missing_size(_: &'static str) -> Self {
        never()
    }
    pub fn wide(_: &'static str) -> Self {
        never()
    }
}

impl<F> Session<F> {
    pub fn functions(&self) -> &'static F {
        never()
    }
    pub fn get<K, T>(&self, _: K, _: Handle) -> Result<*mut T, Refusal> {
        never()
    }
    pub fn get_optional<K, T>(&self, _: K, _: Handle) -> Result<*mut T, Refusal> {
        never()
    }
    pub fn can_bind(&self, _: Handle) -> Result<(), Refusal> {
        never()
    }
    pub fn bind<K, T>(&mut self, _: K, _: Handle, _: *mut T, _: Handle) -> Result<(), Refusal> {
        never()
    }
    pub fn found<K, T>(&mut self, _: K, _: *mut T) -> Handle {
        never()
    }
    pub fn made<K, T>(&mut self, _: K, _: *mut T) -> Handle {
        never()
    }
    pub fn enqueued(&mut self, _: &mut Call, _: Enqueued<'_, c_void>) -> Result<(), Refusal> {
        never()
    }
    pub fn properties_until<T>(
        &self,
        _: T,
        _: &Option<Vec<Property>>,
        _: &[(u64, ())],
    ) -> Result<Option<Vec<u64>>, Refusal> {
        never()
    }
    pub fn make_current(&mut self, _: Handle) -> Result<(), Refusal> {
        never()
    }
    pub fn last_error(&self) -> i32 {
        never()
    }
}

impl Call {
    pub fn timed<R>(&mut self, f: impl FnOnce() -> R) -> R {
        f()
    }
    pub fn input(&mut self, _: &InData<'_>, _: usize) -> Result<*const c_void, Refusal> {
        never()
    }
    pub fn bytes<'a>(&'a self, _: &InData<'a>) -> Result<Option<&'a [u8]>, Refusal> {
        never()
    }
    pub fn string(&mut self, _: &InData<'_>) -> Result<Option<CString>, Refusal> {
        never()
    }
    pub fn output(&mut self, _: OutRoom, _: usize) -> Result<Output, Refusal> {
        never()
    }
}

impl Output {
    pub fn as_mut_ptr(&mut self) -> *mut c_void {
        never()
    }
    pub fn data(&self, _: &mut Call, _: usize) -> OutData<'_> {
        never()
    }
}

/// The sizes of the pieces behind an array of pointers.
pub struct Sizes;

impl Sizes {
    pub fn check(&self, _: &Pieces) -> Result<(), Refusal> {
        never()
    }
}

pub fn decode<'a, A: Deserialize<'a>>(_: &'a [u8]) -> Result<A, Refusal> {
    never()
}
pub fn encode<R: Serialize>(_: &R) -> Result<Vec<u8>, Refusal> {
    never()
}
pub fn room(_: u32) -> usize {
    never()
}
pub fn size(_: u64, _: &'static str) -> Result<usize, Refusal> {
    never()
}
pub fn bytes(_: Length, _: &'static str) -> Result<usize, Refusal> {
    never()
}
pub fn offset(_: i64, _: &'static str) -> Result<isize, Refusal> {
    never()
}
pub fn words(_: &[u64], _: &'static str) -> Result<Vec<isize>, Refusal> {
    never()
}
