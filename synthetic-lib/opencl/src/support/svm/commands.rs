//! Commands on shared virtual memory.

use super::super::details::Details;
use super::{Mapping, contains, is_shared_with, list_data, shared, words};
use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_guest::{Api, CallResult, Hold, data};
use gil_guest::{callbacks, later::Moment};
use gil_wire::call::{Handle, InData, NewEvent, OutRoom};
use gil_wire::envelope::{Class, Engine};
use gil_wire::generated::opencl::{self as wire, Kind};
use std::ffi::c_void;

/// An enqueue on a queue, before its arguments.
struct Enqueue {
    queue: Object,
    waits: Vec<Handle>,
    signal: NewEvent,
    event: *mut cl_event,
}

/// A wait list and where the event goes, as the program gave them.
pub(in super::super) type Events = (cl_uint, *const cl_event, *mut cl_event);

impl Enqueue {
    /// # Safety
    /// As those of an enqueue.
    unsafe fn new(entry: u64, queue: cl_command_queue, events: Events) -> CallResult<Self> {
        let (count, list, event) = events;
        let queue = Object::find(Kind::CommandQueue, queue)?;
        // Before any other error.
        is_shared_with(entry, Handle(queue.queue().device))?;
        Ok(Self {
            queue,
            // SAFETY: the caller's.
            waits: unsafe { Object::wait_list(count, list) }?,
            signal: gil_guest::new_event(event),
            event,
        })
    }

    fn request(&self, op: gil_wire::Op, engine: Engine, entry: u64) -> Request {
        let mut request = Request::new(op, Class::Enqueue, entry);
        request.queue(self.queue.queue(), engine);
        request.waits(&self.waits);
        request.signals(self.signal.number, self.signal.kept);
        request
    }

    /// # Safety
    /// The place for the event is null or valid.
    unsafe fn give_event(&self) {
        // SAFETY: the caller's.
        unsafe { Object::give_event(self.event, self.signal, &self.queue) };
    }
}

/// A program's request to map.
pub(in super::super) struct Asked {
    pub(in super::super) blocking: bool,
    pub(in super::super) flags: cl_map_flags,
    pub(in super::super) address: *mut c_void,
    pub(in super::super) size: usize,
}

/// `clEnqueueSVMMap`.
///
/// # Safety
/// As `clEnqueueSVMMap` in the OpenCL specification.
pub(in super::super) unsafe fn map(
    entry: u64,
    queue: cl_command_queue,
    asked: &Asked,
    events: Events,
) -> cl_int {
    Guest::returned(|| {
        // SAFETY: the caller's.
        let enqueue = unsafe { Enqueue::new(entry, queue, events) }?;
        let known = CL_MAP_READ | CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
        let mixed = asked.flags & CL_MAP_WRITE_INVALIDATE_REGION != 0
            && asked.flags != CL_MAP_WRITE_INVALIDATE_REGION;
        let inside = asked.size != 0 && contains(asked.address, asked.size);
        if asked.flags & !known != 0 || mixed || !inside {
            return Err(CL_INVALID_VALUE);
        }
        // SAFETY: shared memory of that size.
        unsafe { fetch(entry, &enqueue, asked) }?;
        shared().mappings.push(Mapping {
            address: asked.address as usize,
            size: asked.size,
            writes: asked.flags & !CL_MAP_READ != 0,
        });
        // SAFETY: the caller's.
        unsafe { enqueue.give_event() };
        Ok(())
    })
}

/// # Safety
/// What is asked for is shared memory.
unsafe fn fetch(entry: u64, enqueue: &Enqueue, asked: &Asked) -> CallResult<()> {
    let mut request = enqueue.request(wire::CL_ENQUEUE_SVM_MAP, Engine::COPY_OUT, entry);
    request.blocking(asked.blocking);
    let memory = match asked.flags & CL_MAP_WRITE_INVALIDATE_REGION {
        // SAFETY: the caller's.
        0 => unsafe { request.output_region(asked.address, asked.size) },
        _ => OutRoom::Null,
    };
    let args = wire::ClEnqueueSVMMapArgs {
        command_queue: enqueue.queue.number(),
        address: asked.address as usize as u64,
        size: asked.size as u64,
        memory,
        event_wait_list: enqueue.waits.clone(),
        event: enqueue.signal,
    };
    request.forward(&args, |reply| {
        let reply: wire::ClEnqueueSVMMapReply = reply.decode()?;
        Guest::check(reply.result)
    })
}

/// `clEnqueueSVMUnmap`.
///
/// # Safety
/// As `clEnqueueSVMUnmap` in the OpenCL specification.
pub(in super::super) unsafe fn unmap(
    entry: u64,
    queue: cl_command_queue,
    address: *mut c_void,
    events: Events,
) -> cl_int {
    Guest::returned(|| {
        // SAFETY: the caller's.
        let enqueue = unsafe { Enqueue::new(entry, queue, events) }?;
        if !contains(address, 1) {
            return Err(CL_INVALID_VALUE);
        }
        let mapping = take_mapping(address as usize);
        if let Err(error) = bring(entry, &enqueue, address, mapping.as_ref()) {
            shared().mappings.extend(mapping);
            return Err(error);
        }
        // SAFETY: the caller's.
        unsafe { enqueue.give_event() };
        Ok(())
    })
}

/// The newest mapping that begins there.
fn take_mapping(address: usize) -> Option<Mapping> {
    let mappings = &mut shared().mappings;
    let at = mappings.iter().rposition(|m| m.address == address)?;
    Some(mappings.remove(at))
}

fn bring(
    entry: u64,
    enqueue: &Enqueue,
    address: *mut c_void,
    mapping: Option<&Mapping>,
) -> CallResult<()> {
    let mut request = enqueue.request(wire::CL_ENQUEUE_SVM_UNMAP, Engine::COPY_IN, entry);
    let memory = match mapping {
        // SAFETY: shared memory, which the program may not change any more.
        Some(mapping) if mapping.writes => unsafe { request.input(address, mapping.size) },
        _ => InData::Null,
    };
    let args = wire::ClEnqueueSVMUnmapArgs {
        command_queue: enqueue.queue.number(),
        address: address as usize as u64,
        size: mapping.map_or(0, |mapping| mapping.size as u64),
        memory,
        event_wait_list: enqueue.waits.clone(),
        event: enqueue.signal,
    };
    request.forward(&args, |reply| {
        let reply: wire::ClEnqueueSVMUnmapReply = reply.decode()?;
        Guest::check(reply.result)
    })
}

/// `clEnqueueSVMMemcpy`: either side may be memory of the program's own.
///
/// # Safety
/// As `clEnqueueSVMMemcpy` in the OpenCL specification.
pub(in super::super) unsafe fn memcpy(
    entry: u64,
    queue: cl_command_queue,
    blocking: bool,
    (dst, src, size): (*mut c_void, *const c_void, usize),
    events: Events,
) -> cl_int {
    Guest::returned(|| {
        // SAFETY: the caller's.
        let enqueue = unsafe { Enqueue::new(entry, queue, events) }?;
        if dst.is_null() || src.is_null() || size == 0 {
            return Err(CL_INVALID_VALUE);
        }
        if (dst as usize).abs_diff(src as usize) < size {
            return Err(CL_MEM_COPY_OVERLAP);
        }
        let (to_shared, from_shared) = (contains(dst, size), contains(src, size));
        let engine = match (to_shared, from_shared) {
            (true, false) => Engine::COPY_IN,
            (false, _) => Engine::COPY_OUT,
            (true, true) => Engine::COMPUTE,
        };
        let mut request = enqueue.request(wire::CL_ENQUEUE_SVM_MEMCPY, engine, entry);
        request.blocking(blocking);
        let number = |is_shared, address: usize| if is_shared { address as u64 } else { 0 };
        let args = wire::ClEnqueueSVMMemcpyArgs {
            command_queue: enqueue.queue.number(),
            dst: number(to_shared, dst as usize),
            src: number(from_shared, src as usize),
            size: size as u64,
            output: match to_shared {
                true => OutRoom::Null,
                // SAFETY: the caller's.
                false => unsafe { request.output_region(dst, size) },
            },
            input: match from_shared {
                true => InData::Null,
                // SAFETY: the caller's.
                false => unsafe { request.input(src, size) },
            },
            event_wait_list: enqueue.waits.clone(),
            event: enqueue.signal,
        };
        request.forward(&args, |reply| {
            let reply: wire::ClEnqueueSVMMemcpyReply = reply.decode()?;
            Guest::check(reply.result)
        })?;
        // SAFETY: the caller's.
        unsafe { enqueue.give_event() };
        Ok(())
    })
}

/// `clEnqueueSVMMemFill`.
///
/// # Safety
/// As `clEnqueueSVMMemFill` in the OpenCL specification.
pub(in super::super) unsafe fn fill(
    entry: u64,
    queue: cl_command_queue,
    (address, size): (*mut c_void, usize),
    (pattern, pattern_size): (*const c_void, usize),
    events: Events,
) -> cl_int {
    Guest::returned(|| {
        // SAFETY: the caller's.
        let enqueue = unsafe { Enqueue::new(entry, queue, events) }?;
        let fits = pattern_size.is_power_of_two()
            && pattern_size <= 128
            && size.is_multiple_of(pattern_size)
            && (address as usize).is_multiple_of(pattern_size);
        if pattern.is_null() || size == 0 || !fits || !contains(address, size) {
            return Err(CL_INVALID_VALUE);
        }
        let op = wire::CL_ENQUEUE_SVM_MEM_FILL;
        let mut request = enqueue.request(op, Engine::COMPUTE, entry);
        let args = wire::ClEnqueueSVMMemFillArgs {
            command_queue: enqueue.queue.number(),
            address: address as usize as u64,
            // SAFETY: the caller's.
            pattern: unsafe { request.input(pattern, pattern_size) },
            pattern_size: pattern_size as u64,
            size: size as u64,
            event_wait_list: enqueue.waits.clone(),
            event: enqueue.signal,
        };
        request.forward(&args, |reply| {
            let reply: wire::ClEnqueueSVMMemFillReply = reply.decode()?;
            Guest::check(reply.result)
        })?;
        // SAFETY: the caller's.
        unsafe { enqueue.give_event() };
        Ok(())
    })
}

/// `clEnqueueSVMMigrateMem`.
///
/// # Safety
/// As `clEnqueueSVMMigrateMem` in the OpenCL specification.
pub(in super::super) unsafe fn migrate(
    entry: u64,
    queue: cl_command_queue,
    (count, pointers, sizes): (cl_uint, *const *const c_void, *const usize),
    flags: cl_mem_migration_flags,
    events: Events,
) -> cl_int {
    Guest::returned(|| {
        // SAFETY: the caller's.
        let enqueue = unsafe { Enqueue::new(entry, queue, events) }?;
        // SAFETY: the caller's.
        let pointers = unsafe { words(count, pointers.cast()) }?;
        let sizes = match sizes.is_null() {
            true => None,
            // SAFETY: the caller's.
            false => Some(unsafe { words(count, sizes) }?),
        };
        let op = wire::CL_ENQUEUE_SVM_MIGRATE_MEM;
        let mut request = enqueue.request(op, Engine::NONE, entry);
        let args = wire::ClEnqueueSVMMigrateMemArgs {
            command_queue: enqueue.queue.number(),
            addresses: list_data(&mut request, &pointers),
            sizes: sizes
                .as_ref()
                .map_or(InData::Null, |sizes| list_data(&mut request, sizes)),
            flags,
            event_wait_list: enqueue.waits.clone(),
            event: enqueue.signal,
        };
        request.forward(&args, |reply| {
            let reply: wire::ClEnqueueSVMMigrateMemReply = reply.decode()?;
            Guest::check(reply.result)
        })?;
        // SAFETY: the caller's.
        unsafe { enqueue.give_event() };
        Ok(())
    })
}

/// A program's function that frees.
pub(in super::super) type FreeFunction =
    unsafe extern "C" fn(cl_command_queue, cl_uint, *mut *mut c_void, *mut c_void);

/// Pointers to be freed once an operation has ended.
struct Freed {
    event: Hold<Guest>,
    queue: cl_command_queue,
    pointers: Vec<*mut c_void>,
    function: Option<FreeFunction>,
    user_data: *mut c_void,
}

impl Freed {
    fn free(mut self) {
        let Some(function) = self.function else {
            return self.pointers.iter().for_each(|pointer| {
                shared().pages.bury(*pointer as usize);
            });
        };
        let (count, list) = (self.pointers.len() as cl_uint, self.pointers.as_mut_ptr());
        // SAFETY: the program's function, with what it was registered with.
        unsafe { function(self.queue, count, list, self.user_data) };
    }
}

/// `clEnqueueSVMFree`.
///
/// # Safety
/// As `clEnqueueSVMFree` in the OpenCL specification.
pub(in super::super) unsafe fn enqueue_free(
    entry: u64,
    queue: cl_command_queue,
    (count, pointers): (cl_uint, *mut *mut c_void),
    function: Option<FreeFunction>,
    user_data: *mut c_void,
    events: Events,
) -> cl_int {
    Guest::returned(|| {
        // SAFETY: the caller's.
        let mut enqueue = unsafe { Enqueue::new(entry, queue, events) }?;
        // SAFETY: the caller's.
        let addresses = unsafe { words(count, pointers.cast_const().cast()) }?;
        // The library itself waits for it.
        enqueue.signal.kept = true;
        send_free(entry, &enqueue, &addresses, function.is_none())?;
        if function.is_none() {
            let mut shared = shared();
            let each = addresses.iter().map(|address| *address as usize);
            each.for_each(|address| shared.pages.doom(address));
        }
        // SAFETY: the caller's.
        let event = unsafe { own_event(&enqueue) }?;
        let freed = Freed {
            event,
            queue,
            pointers: addresses
                .iter()
                .map(|a| *a as usize as *mut c_void)
                .collect(),
            function,
            user_data,
        };
        freed.file()
    })
}

fn send_free(entry: u64, enqueue: &Enqueue, addresses: &[u64], frees: bool) -> CallResult<()> {
    let mut request = enqueue.request(wire::CL_ENQUEUE_SVM_FREE, Engine::NONE, entry);
    let args = wire::ClEnqueueSVMFreeArgs {
        command_queue: enqueue.queue.number(),
        addresses: list_data(&mut request, addresses),
        frees,
        event_wait_list: enqueue.waits.clone(),
        event: enqueue.signal,
    };
    request.forward(&args, |reply| {
        let reply: wire::ClEnqueueSVMFreeReply = reply.decode()?;
        Guest::check(reply.result)
    })
}

/// An event that the library holds, and the program if it wants it.
///
/// # Safety
/// The place for the event is null or valid.
unsafe fn own_event(enqueue: &Enqueue) -> CallResult<Hold<Guest>> {
    let parents = [&enqueue.queue];
    let number = enqueue.signal.number;
    let made: cl_event = Object::create(Kind::Event, number, &parents, Details::default());
    let held = Object::find(Kind::Event, made)
        .ok()
        .and_then(|event| event.hold());
    match enqueue.event.is_null() {
        // SAFETY: the caller's.
        false => unsafe { data::write(enqueue.event, made) },
        true => Object::release(Kind::Event, made, gil_guest::entry())?,
    }
    held.ok_or(CL_OUT_OF_RESOURCES)
}

impl Freed {
    fn file(self) -> CallResult<()> {
        let op = wire::CL_ENQUEUE_SVM_FREE;
        let event = self.event.object().clone();
        // SAFETY: the program agrees that another thread calls its function.
        unsafe { callbacks::when(op, &event, Moment::Ended, move |_| self.free()) }
    }
}
