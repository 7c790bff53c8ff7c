//! What the toy API's stubs need beside what every API has.

use crate::generated::manual::{self, Guest, Helpers, Local, Manual, Object};
use crate::generated::types::*;
use gil_guest::Error;
use gil_guest::api::{Api, CallResult, Current, Deferred, Kept};
use gil_guest::registry::Registry;
use gil_wire::Op;
use gil_wire::call::Handle;
use gil_wire::envelope::Queue;
use gil_wire::generated::toy::Kind;
use std::cell::Cell;
use std::ffi::c_uint;
use std::ptr;

static REGISTRY: Registry<Kept<Guest>> = Registry::new();

thread_local! {
    static CURRENT: Cell<toyContext> = const { Cell::new(ptr::null_mut()) };
}

/// What the library keeps of an object.
#[derive(Clone, Copy, Debug, Default)]
pub enum Details {
    /// Nothing.
    #[default]
    None,
    /// Of a context: its device.
    Context(c_uint),
}

impl Api for Guest {
    type Details = Details;

    const GARBLED: toyResult = TOY_FAILED;

    fn registry() -> &'static Registry<Kept<Self>> {
        &REGISTRY
    }

    fn code(_: Op, error: &Error) -> toyResult {
        match error {
            Error::NotServed => TOY_NOT_SUPPORTED,
            error if error.is_final() => TOY_NO_DEVICE,
            Error::Bounds { .. } => TOY_OUT_OF_MEMORY,
            Error::Fault => TOY_INVALID_VALUE,
            _ => TOY_FAILED,
        }
    }

    fn status(ended: CallResult<()>) -> toyResult {
        ended.err().unwrap_or(TOY_SUCCESS)
    }

    /// Devices have no handles; on the wire each has a number that the board
    /// gave.
    fn queue(context: &Object) -> Queue {
        let device = match context.details() {
            Details::Context(device) => u64::from(*device),
            Details::None => 0,
        };
        Queue {
            id: context.number().0,
            in_order: true,
            device: Handle::BOARD | (device + 1),
        }
    }
}

impl Current for Guest {
    type Owner = Self;

    fn current() -> CallResult<Object> {
        let current = CURRENT.get();
        match current.is_null() {
            true => Err(TOY_NO_CONTEXT),
            false => Object::find(Kind::Context, current),
        }
    }
}

impl Deferred for Guest {
    const LOST: toyResult = TOY_NO_DEVICE;
}

impl Manual for Guest {
    unsafe fn toyContextSetCurrent(_: u64, context: toyContext) -> toyResult {
        Self::returned(|| {
            Object::find_optional(Kind::Context, context)?;
            CURRENT.set(context);
            Ok(())
        })
    }
}

impl Helpers for Guest {}

impl manual::Kept for Guest {
    fn context(device: c_uint) -> Details {
        Details::Context(device)
    }
}

impl Local for Guest {}
