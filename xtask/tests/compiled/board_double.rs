//! A session of each API: what `gil_board::back_end` asks of one, so that the
//! generated dispatch has all it needs. Nothing here is called: the compiler
//! looks at the types.

use crate::guest_double::never;
use gil_board::back_end::table::Kind;
use gil_board::back_end::{
    Call, Current, Enqueued, Enqueues, Objects, Pointer, References, Refusal, Table,
};
use gil_wire::call::Handle;
use gil_wire::pieces::Pieces;
use std::marker::PhantomData;

/// A session of an API with these kinds of object and these functions.
pub struct Session<K, F>(PhantomData<(K, F)>);

/// Where bodies by hand are.
pub struct Board;

/// Nothing is kept of an object of kind `K`.
pub struct Data<K>(PhantomData<K>);

impl<K> From<K> for Data<K> {
    fn from(_: K) -> Self {
        never()
    }
}

/// Counts references to objects of kind `K`.
#[derive(Debug)]
pub struct Driver<K>(PhantomData<K>);

impl<K: Kind> References for Driver<K> {
    type Kind = K;

    fn retain(&self, _: K, _: Pointer) {
        never()
    }
    fn release(&self, _: K, _: Pointer) {
        never()
    }
}

impl<K: Kind + 'static, F: 'static> Objects for Session<K, F> {
    type Kind = K;
    type Data = Data<K>;
    type Driver = Driver<K>;
    type Functions = F;

    fn driver(&self) -> &'static Driver<K> {
        never()
    }
    fn functions(&self) -> &'static F {
        never()
    }
    fn table(&self) -> &Table<K, Data<K>> {
        never()
    }
    fn table_mut(&mut self) -> &mut Table<K, Data<K>> {
        never()
    }
}

impl<K: Kind + 'static, F: 'static> Enqueues for Session<K, F> {
    fn waits<T>(&mut self, _: &[Handle]) -> Result<Vec<*mut T>, Refusal> {
        never()
    }
    fn has_operation(&self, _: Handle) -> bool {
        never()
    }
    fn enqueued(&mut self, _: &mut Call, _: Enqueued<'_>) -> Result<(), Refusal> {
        never()
    }
}

impl<K: Kind + 'static, F: 'static> Current for Session<K, F> {
    fn make_current(&mut self, _: Handle) -> Result<(), Refusal> {
        never()
    }
    fn last_error(&self) -> i32 {
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
