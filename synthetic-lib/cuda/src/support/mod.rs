//! What is written by hand.
//!
//! | module | what |
//! |---|---|
//! | here | the API as the runtime asks for it |
//! | `context` | contexts, and what is current in a thread |
//! | `primary` | the context that a device's users share |
//! | `streams` | streams, their order, and waiting for them |
//! | `event` | events: records on the timeline |
//! | `launch` | kernels |
//! | `graph` | graphs: nodes, what they do, how they are launched, what they keep |
//! | `capture` | streams whose work becomes nodes |
//! | `function` | functions of the program's that streams call |
//! | `stream_attribute` | what streams have besides flags and a priority |
//! | `occupancy` | which blocks fill a device |
//! | `copy` | copies, and memory that is set |
//! | `rectangles` | copies of rectangles and boxes, and rectangles that are set |
//! | `arrays` | arrays, and arrays with mipmaps |
//! | `textures` | textures and surfaces |
//! | `memory` | the device's memory, and the program's that is pinned |
//! | `pools` | stream-ordered memory, and the pools that it comes from |
//! | `pointers` | what is known of an address |
//! | `module` | modules, functions, variables |
//! | `library` | libraries and their kernels |
//! | `link` | the linker |
//! | `jit` | the compiler's options, and what it tells |
//! | `image` | how long a module's image is |
//! | `procedure` | functions by name and version |
//! | `error` | the names of errors |
//! | `export_tables` | tables of functions for NVIDIA's own libraries |
//! | `manual` | the entry points |

mod arrays;
mod capture;
pub mod context;
mod copy;
pub mod error;
mod event;
mod export_tables;
mod function;
mod graph;
mod green;
mod image;
mod jit;
mod large_pages;
mod launch;
mod library;
mod link;
mod manual;
mod memory;
mod module;
mod occupancy;
mod pointers;
mod pools;
mod primary;
mod procedure;
mod rectangles;
mod shared;
mod stream_attribute;
mod streams;
mod tensor_maps;
mod textures;
mod thread_end;
mod virtual_memory;

use crate::generated::manual::{Guest, Helpers, Kept as KeptOf, Local, Object};
use crate::generated::types::*;
use arrays::{Array, Mipmapped};
use context::Context;
use event::Event;
use gil_guest::Error;
use gil_guest::api::{Api, CallResult, Current, Kept};
use gil_guest::registry::Registry;
use gil_wire::Op;
use gil_wire::generated::cuda::{self as wire, Kind};
use graph::exec::Exec;
use graph::user::User;
use graph::{Graph, Place};
use launch::Function;
use library::{Kernel, Library};
use link::Link;
use module::Module;
use pools::Pool;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use streams::Stream;

static REGISTRY: Registry<Kept<Guest>> = Registry::new();

/// What the library keeps of an object.
#[derive(Debug, Default)]
pub enum Details {
    /// Nothing.
    #[default]
    None,
    /// A context.
    Context(Arc<Context>),
    /// A stream.
    Stream(Arc<Stream>),
    /// An event.
    Event(Event),
    /// A module.
    Module(Module),
    /// A function.
    Function(Function),
    /// An array.
    Array(Arc<Array>),
    /// An array with mipmaps.
    Mipmapped(Arc<Mipmapped>),
    /// A pool of memory.
    Pool(Pool),
    /// A library.
    Library(Arc<Library>),
    /// A kernel of one.
    Kernel(Arc<Kernel>),
    /// A state of the linker.
    Link(Arc<Link>),
    /// A graph.
    Graph(Arc<Graph>),
    /// A node of one.
    Node(Place),
    /// A graph as it is launched.
    Exec(Arc<Exec>),
    /// An object of the program's that graphs keep.
    User(Arc<User>),
}

impl Details {
    /// The context that the object belongs to, and with which it goes.
    pub fn owner(&self) -> Option<&Arc<Context>> {
        match self {
            Self::None
            | Self::Context(_)
            | Self::Pool(_)
            | Self::Library(_)
            | Self::Kernel(_)
            | Self::Graph(_)
            | Self::Node(_)
            | Self::Exec(_)
            | Self::User(_) => None,
            Self::Stream(stream) => Some(&stream.context),
            Self::Event(event) => Some(&event.context),
            Self::Module(module) => Some(&module.context),
            Self::Function(function) => Some(&function.context),
            Self::Link(link) => Some(&link.context),
            Self::Array(array) => Some(&array.context),
            Self::Mipmapped(array) => Some(&array.context),
        }
    }
}

impl Api for Guest {
    type Details = Details;

    const GARBLED: CUresult = CUDA_ERROR_UNKNOWN;

    fn registry() -> &'static Registry<Kept<Self>> {
        &REGISTRY
    }

    fn code(op: Op, error: &Error) -> CUresult {
        match error {
            Error::Forked => CUDA_ERROR_NOT_INITIALIZED,
            // As on a machine without a device.
            error if op == wire::CU_INIT && error.is_final() => CUDA_ERROR_NO_DEVICE,
            Error::NotServed => CUDA_ERROR_NO_DEVICE,
            error if error.is_final() => CUDA_ERROR_DEVICE_UNAVAILABLE,
            Error::Bounds { .. } => CUDA_ERROR_OUT_OF_MEMORY,
            Error::Fault => CUDA_ERROR_INVALID_VALUE,
            _ => CUDA_ERROR_UNKNOWN,
        }
    }

    fn status(ended: CallResult<()>) -> CUresult {
        ended.err().unwrap_or(CUDA_SUCCESS)
    }

    fn failed_wait(code: i32) -> i32 {
        code
    }

    fn stands_for(kind: Kind, handle: *mut c_void) -> CallResult<Object> {
        match kind {
            Kind::Function => library::function_for(handle),
            _ => Err(kind.invalid()),
        }
    }

    fn refused_late() {
        launch::forget_all();
    }
}

impl Current for Guest {
    type Owner = Self;

    fn current() -> CallResult<Object> {
        context::current()
    }
}

impl Helpers for Guest {
    fn initialized() -> CallResult<()> {
        context::initialized()
    }

    fn usable() -> CallResult<()> {
        context::with(|context| context.healthy())
    }

    unsafe fn lacks(
        _: u64,
        pi: *mut c_int,
        attrib: CUdevice_attribute,
        _: CUdevice,
    ) -> Option<CallResult<()>> {
        if pi.is_null() || !LACKS.contains(&attrib) {
            return None;
        }
        Some(context::initialized().map(|()| {
            // SAFETY: the caller's place.
            unsafe { *pi = 0 };
        }))
    }
}

/// Attributes of what is on the board and not in the guest: memory that is used while kernels
/// run, pools of the program's memory and for other processes, addresses of the program's own, functions
/// with one address for all, and what belongs to these.
const LACKS: [CUdevice_attribute; 17] = [
    CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
    CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
    CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM,
    CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES,
    CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST,
    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES,
    CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS,
    CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR,
    CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS,
    CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED,
];

impl KeptOf for Guest {}

impl Local for Guest {}

/// The handle of a new object.
///
/// # Errors
/// `CUDA_ERROR_OUT_OF_MEMORY` if it has none.
fn create<T>(kind: Kind, number: gil_wire::call::Handle, details: Details) -> CallResult<*mut T> {
    let made: *mut T = Object::create(kind, number, &[], details);
    match made.is_null() {
        true => Err(CUDA_ERROR_OUT_OF_MEMORY),
        false => Ok(made),
    }
}

/// A place that may not be null.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for null.
fn place<T>(place: *mut T) -> CallResult<*mut T> {
    match place.is_null() {
        true => Err(CUDA_ERROR_INVALID_VALUE),
        false => Ok(place),
    }
}
