//! What is written by hand.
//!
//! | module | what |
//! |---|---|
//! | here | the API as the runtime asks for it |
//! | `uses` | how often the process has started NVML |
//! | `lists` | lists, and how much room they need |
//! | `error` | the sentences of errors |

pub mod error;
#[allow(non_snake_case, reason = "the names of the API's parameters")]
mod lists;
pub mod uses;

use crate::generated::manual::{self, Guest, Helpers, Local, Manual, Object, Request};
use crate::generated::types::*;
use gil_guest::Error;
use gil_guest::api::{Api, CallResult, Kept};
use gil_guest::registry::Registry;
use gil_wire::Op;
use gil_wire::envelope::Class;
use gil_wire::generated::nvml::{self as wire, Kind};
use std::ffi::{c_char, c_uint, c_void};

static REGISTRY: Registry<Kept<Guest>> = Registry::new();

impl Api for Guest {
    /// All that there is to know of a device, the board knows.
    type Details = ();

    const GARBLED: nvmlReturn_t = NVML_ERROR_UNKNOWN;

    fn registry() -> &'static Registry<Kept<Self>> {
        &REGISTRY
    }

    fn code(_: Op, error: &Error) -> nvmlReturn_t {
        match error {
            Error::Forked => NVML_ERROR_UNINITIALIZED,
            // As on a machine without NVIDIA's driver.
            Error::NotServed => NVML_ERROR_DRIVER_NOT_LOADED,
            error if error.is_final() => NVML_ERROR_GPU_IS_LOST,
            Error::Bounds { .. } | Error::Fault => NVML_ERROR_INVALID_ARGUMENT,
            _ => NVML_ERROR_UNKNOWN,
        }
    }

    fn status(ended: CallResult<()>) -> nvmlReturn_t {
        ended.err().unwrap_or(NVML_SUCCESS)
    }

    /// Devices are the board's.
    fn is_found(kind: Kind) -> bool {
        kind == Kind::Device
    }

    /// A handle that stands for nothing is looked at only once NVML is started.
    fn stands_for(kind: Kind, _: *mut c_void) -> CallResult<Object> {
        uses::initialized()?;
        Err(kind.invalid())
    }
}

impl Helpers for Guest {
    fn initialized() -> CallResult<()> {
        uses::initialized()
    }
}

impl manual::Kept for Guest {}

impl Local for Guest {}

/// Starts NVML, or counts one more user.
fn start(entry: u64, flags: c_uint) -> CallResult<()> {
    uses::add(|| {
        let request = Request::new(wire::NVML_INIT_V2, Class::Sync, entry);
        request.forward(&wire::NvmlInitV2Args { flags }, |reply| {
            let reply: wire::NvmlInitV2Reply = reply.decode()?;
            Guest::check(reply.result)
        })
    })
}

impl Manual for Guest {
    unsafe fn nvmlInit_v2(entry: u64) -> nvmlReturn_t {
        Self::returned(|| start(entry, 0))
    }

    unsafe fn nvmlInitWithFlags(entry: u64, flags: c_uint) -> nvmlReturn_t {
        Self::returned(|| start(entry, flags))
    }

    unsafe fn nvmlShutdown(_: u64) -> nvmlReturn_t {
        Self::returned(uses::remove)
    }

    unsafe fn nvmlErrorString(_: u64, result: nvmlReturn_t) -> *const c_char {
        error::sentence(result).as_ptr()
    }
}
