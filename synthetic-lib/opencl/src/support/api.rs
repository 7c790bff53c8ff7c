//! OpenCL's implementation of the traits of [`gil_guest::api`].

use super::context::{is_one, queues_of};
use super::details::Details;
use super::{extensions, launch};
use crate::generated::manual::{Guest, Object};
use crate::generated::types::*;
use gil_guest::Error;
use gil_guest::api::{Api, CallResult, Events, Kept};
use gil_guest::registry::Registry;
use gil_wire::Op;
use gil_wire::envelope::Queue;
use gil_wire::generated::opencl::{self as wire, Kind};

/// `cl_khr_icd`: this vendor library has no platform.
const PLATFORM_NOT_FOUND: cl_int = -1001;

static REGISTRY: Registry<Kept<Guest>> = Registry::new();

impl Api for Guest {
    type Details = Details;

    const GARBLED: cl_int = CL_OUT_OF_RESOURCES;
    const FAILED_WAIT: cl_int = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;

    fn registry() -> &'static Registry<Kept<Self>> {
        &REGISTRY
    }

    fn code(op: Op, error: &Error) -> cl_int {
        match error {
            _ if error.is_final() && op == wire::CL_GET_PLATFORM_IDS => PLATFORM_NOT_FOUND,
            _ if error.is_final() => CL_DEVICE_NOT_AVAILABLE,
            Error::Bounds { .. } => CL_OUT_OF_HOST_MEMORY,
            Error::Fault => CL_INVALID_VALUE,
            _ => CL_OUT_OF_RESOURCES,
        }
    }

    fn status(ended: CallResult<()>) -> cl_int {
        ended.err().unwrap_or(CL_SUCCESS)
    }

    fn complete(kind: Kind, details: Details) -> Details {
        details.or_default(kind)
    }

    fn is_found(kind: Kind) -> bool {
        matches!(kind, Kind::Platform | Kind::Device)
    }

    fn is_event(kind: Kind) -> bool {
        kind == Kind::Event
    }

    fn queue(object: &Object) -> Queue {
        let id = object.number().0;
        match object.details() {
            Details::Queue(details) => details.queue(id),
            // No other kind is asked; a queue of its own disturbs none.
            _ => Queue {
                id,
                in_order: true,
                device: 0,
            },
        }
    }

    /// Events must be of one context.
    fn check_list(kind: Kind, objects: &[Object]) -> CallResult<()> {
        match kind == Kind::Event && !is_one(objects) {
            true => Err(CL_INVALID_CONTEXT),
            false => Ok(()),
        }
    }

    fn users(object: &Object) -> Vec<Object> {
        queues_of(object)
    }

    fn refused_late() {
        launch::forget_all();
    }

    fn shown(kind: Kind, all: &[u8]) -> Vec<u8> {
        extensions::shown(kind, all)
    }

    fn shown_versions(kind: Kind, all: &[u8]) -> Vec<u8> {
        extensions::shown_versions(kind, all)
    }
}

impl Events for Guest {
    const EVENT: Kind = Kind::Event;
    const INVALID_WAIT_LIST: cl_int = CL_INVALID_EVENT_WAIT_LIST;

    fn event() -> Details {
        Details::event()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_code() {
        let returned = Guest::returned(|| panic!("on purpose"));
        assert_eq!(returned, CL_OUT_OF_RESOURCES);
        let mut code = 1;
        // SAFETY: `code` has space for one code.
        let made: *mut u8 = unsafe { Guest::written(&mut code, || panic!("on purpose")) };
        assert!(made.is_null());
        assert_eq!(code, CL_OUT_OF_RESOURCES);
    }

    #[test]
    fn errors_of_the_bridge_have_codes() {
        let op = wire::CL_FINISH;
        let lost = Error::Lost;
        assert_eq!(Guest::failed(op, &lost), CL_DEVICE_NOT_AVAILABLE);
        let platforms = wire::CL_GET_PLATFORM_IDS;
        assert_eq!(Guest::failed(platforms, &lost), PLATFORM_NOT_FOUND);
        assert_eq!(Guest::failed(op, &Error::Fault), CL_INVALID_VALUE);
        let refused = Error::Refused { status: 3 };
        assert_eq!(Guest::failed(op, &refused), CL_OUT_OF_RESOURCES);
    }
}
