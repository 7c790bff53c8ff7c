//! The guest's own data about an object, to answer queries without the board.

use super::launch::Launches;
use super::memory::Memory;
use super::notices::{ContextNotify, Notify};
use crate::generated::manual::{Guest, Kept, Object};
use crate::generated::types::*;
use gil_guest::CallResult;
use gil_opencl_common::include_lines::has_absolute;
use gil_wire::call::Handle;
use gil_wire::envelope::{Observation, Queue};
use gil_wire::generated::opencl::Kind;
use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// What the guest keeps of an object.
#[derive(Debug, Default)]
pub enum Details {
    /// Nothing.
    #[default]
    None,
    /// A context.
    Context(ContextDetails),
    /// A command queue.
    Queue(QueueDetails),
    /// A memory object; apart, as other objects are smaller.
    Memory(Box<Memory>),
    /// A program that was made of a text.
    Program(Source),
    /// A kernel: the arguments that the board accepted.
    Kernel(Arguments),
    /// An event: how it ended, once that is known. It never changes again.
    Event(OnceLock<Observation>),
}

impl Details {
    /// An event of which nothing is known.
    pub(super) const fn event() -> Self {
        Self::Event(OnceLock::new())
    }

    /// What every object of a kind has at least.
    pub(super) fn or_default(self, kind: Kind) -> Self {
        match (self, kind) {
            (Self::None, Kind::Kernel) => Self::Kernel(Arguments::default()),
            (Self::None, Kind::Event) => Self::event(),
            (details, _) => details,
        }
    }
}

/// What the guest keeps of a program's text.
#[derive(Debug)]
pub struct Source {
    /// Whether it includes a file by its absolute path, which no option of a
    /// build names.
    pub(super) includes_absolute: bool,
}

/// What the guest keeps of a context.
#[derive(Debug)]
pub struct ContextDetails {
    properties: Vec<cl_context_properties>,
    notify: Option<ContextNotify>,
}

impl ContextDetails {
    /// Its properties as the program gave them.
    pub fn properties(&self) -> &[cl_context_properties] {
        &self.properties
    }

    /// What it calls when something goes wrong.
    pub(super) fn notify(&self) -> Option<ContextNotify> {
        self.notify
    }
}

/// What the guest keeps of a command queue.
#[derive(Debug)]
pub struct QueueDetails {
    device: u64,
    properties: AtomicU64,
    list: Vec<u64>,
    size: Option<cl_uint>,
}

impl QueueDetails {
    /// As the timeline knows it, with its number.
    pub fn queue(&self, id: u64) -> Queue {
        Queue {
            id,
            in_order: self.properties() & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE == 0,
            device: self.device,
        }
    }

    /// Its properties.
    pub fn properties(&self) -> cl_command_queue_properties {
        self.properties.load(Ordering::Relaxed)
    }

    /// Enables or disables profiling, as OpenCL 1.0 lets a program do; gives
    /// the properties before.
    ///
    /// # Errors
    /// `CL_INVALID_QUEUE_PROPERTIES` for the order of execution, which no
    /// device changes under way; `CL_INVALID_VALUE` for what is none.
    pub fn set(
        &self,
        properties: cl_command_queue_properties,
        enable: bool,
    ) -> CallResult<cl_command_queue_properties> {
        match properties {
            CL_QUEUE_PROFILING_ENABLE => Ok(match enable {
                true => self.properties.fetch_or(properties, Ordering::Relaxed),
                false => self.properties.fetch_and(!properties, Ordering::Relaxed),
            }),
            _ if properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0 => {
                Err(CL_INVALID_QUEUE_PROPERTIES)
            }
            _ => Err(CL_INVALID_VALUE),
        }
    }

    /// Whether its events have times.
    pub fn has_profiling(&self) -> bool {
        self.properties() & CL_QUEUE_PROFILING_ENABLE != 0
    }

    /// The list of properties that made it; empty if it was made otherwise.
    pub fn list(&self) -> &[u64] {
        &self.list
    }

    /// The size of a queue on the device.
    pub fn size(&self) -> Option<cl_uint> {
        self.size
    }
}

/// How an argument of a kernel was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Its size in bytes.
    pub size: usize,
    /// The kind of object it is; none for plain bytes and local memory.
    pub object: Option<Kind>,
    /// Whether it is local memory, of which only the size is given.
    pub local: bool,
}

/// An argument that the board accepted, and the object that it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The form in which the board accepted it.
    pub accepted: Accepted,
    /// The object's number, or null.
    pub object: Handle,
}

/// What the board accepted of a kernel once: the like of it cannot fail again.
#[derive(Debug, Default)]
pub struct Arguments {
    arguments: Mutex<Vec<Option<Argument>>>,
    launches: Mutex<Launches>,
}

impl Arguments {
    /// Kernels have fewer arguments than this.
    const MAX: usize = 1024;

    /// The argument as it was accepted before.
    pub fn accepted(&self, index: cl_uint) -> Option<Argument> {
        let all = locked(&self.arguments);
        all.get(index as usize).copied().flatten()
    }

    /// Notes that the argument was accepted.
    pub fn accept(&self, index: cl_uint, argument: Argument) {
        let index = index as usize;
        if index >= Self::MAX {
            return;
        }
        let mut all = locked(&self.arguments);
        if all.len() <= index {
            all.resize(index + 1, None);
        }
        all[index] = Some(argument);
    }

    /// The launches that were accepted with these arguments.
    pub(super) fn launches(&self) -> MutexGuard<'_, Launches> {
        locked(&self.launches)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kept for Guest {
    unsafe fn source(
        count: cl_uint,
        strings: *mut *const c_char,
        lengths: *const usize,
    ) -> Details {
        let text = |n: cl_uint| {
            // SAFETY: the caller's: as many strings, and lengths unless null; a
            // string without a length ends with a NUL.
            unsafe {
                let text = *strings.add(n as usize);
                let len = match lengths.is_null() {
                    true => 0,
                    false => *lengths.add(n as usize),
                };
                match len {
                    0 => CStr::from_ptr(text).to_bytes(),
                    _ => std::slice::from_raw_parts(text.cast::<u8>(), len),
                }
            }
        };
        // A line may go on in the next string.
        let text = match count {
            1 => Cow::Borrowed(text(0)),
            _ => Cow::Owned((0..count).map(text).collect::<Vec<_>>().concat()),
        };
        Details::Program(Source {
            includes_absolute: has_absolute(&text),
        })
    }

    unsafe fn context(
        properties: *const cl_context_properties,
        notify: Option<Notify>,
        user_data: *mut c_void,
    ) -> Details {
        Details::Context(ContextDetails {
            // SAFETY: the caller's.
            properties: unsafe { zero_terminated(properties) },
            notify: ContextNotify::new(notify, user_data),
        })
    }

    fn queue(device: &Object, properties: cl_command_queue_properties) -> Details {
        Details::Queue(QueueDetails {
            device: device.number().0,
            properties: AtomicU64::new(properties),
            list: Vec::new(),
            size: None,
        })
    }

    unsafe fn queue_list(device: &Object, properties: *const cl_queue_properties) -> Details {
        // SAFETY: the caller's.
        let list = unsafe { zero_terminated(properties) };
        let of = |key: u64| list.chunks_exact(2).find(|p| p[0] == key).map(|p| p[1]);
        Details::Queue(QueueDetails {
            device: device.number().0,
            properties: AtomicU64::new(of(u64::from(CL_QUEUE_PROPERTIES)).unwrap_or(0)),
            size: of(u64::from(CL_QUEUE_SIZE)).map(|size| size as cl_uint),
            list,
        })
    }

    unsafe fn buffer(flags: cl_mem_flags, size: usize, host_ptr: *mut c_void) -> Details {
        Details::Memory(Box::new(Memory::new(flags, size, host_ptr as usize)))
    }

    /// The host sees nothing of its memory.
    fn pipe(flags: cl_mem_flags, packet_size: cl_uint, max_packets: cl_uint) -> Details {
        let size = (packet_size as usize).saturating_mul(max_packets as usize);
        Details::Memory(Box::new(Memory::new(
            flags | CL_MEM_HOST_NO_ACCESS,
            size,
            0,
        )))
    }

    unsafe fn sub_buffer(
        buffer: &Object,
        flags: cl_mem_flags,
        buffer_create_info: *const c_void,
    ) -> Details {
        // SAFETY: the caller's.
        let region = unsafe { buffer_create_info.cast::<cl_buffer_region>().as_ref() };
        match (buffer.details(), region) {
            (Details::Memory(whole), Some(region)) => {
                Details::Memory(Box::new(whole.part(flags, region.origin, region.size)))
            }
            _ => Details::None,
        }
    }

    fn kernel() -> Details {
        Details::Kernel(Arguments::default())
    }

    fn user_event() -> Details {
        Details::event()
    }
}

/// A list of pairs with its final 0; empty if null. Bounded, so that a list
/// without an end is not read for ever.
///
/// # Safety
/// `list` is null or names such a list.
unsafe fn zero_terminated<T: Copy + Default + PartialEq>(list: *const T) -> Vec<T> {
    const PAIRS_MAX: usize = 64;
    let mut all = Vec::new();
    if list.is_null() {
        return all;
    }
    for pair in 0..PAIRS_MAX {
        // SAFETY: no 0 came before this key.
        let key = unsafe { *list.add(2 * pair) };
        all.push(key);
        if key == T::default() {
            break;
        }
        // SAFETY: a key that is not 0 has a value.
        all.push(unsafe { *list.add(2 * pair + 1) });
    }
    all
}
