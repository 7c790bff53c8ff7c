//! Shared virtual memory: the guest's memory at the addresses that the board's
//! driver gave, so that pointers inside structures hold on both sides. What
//! either side changes is copied as the program maps and unmaps.

use super::border::{CallResult, check, decode, returned};
use super::callbacks::{Sent, no_thread};
use super::helpers::device_flags;
use super::objects::{
    Hold, Object, create, find, give_event, hold, new_event, new_number, release, wait_list,
};
use super::pages::Pages;
use super::request::Request;
use super::{Details, details, write};
use crate::generated::types::*;
use gil_guest::later::{self, Moment};
use gil_wire::call::{Handle, InData, NewEvent, OutRoom};
use gil_wire::envelope::{Class, Engine};
use gil_wire::generated::opencl::{self as wire, Kind};
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What the program may ask: no memory is shared at every instant.
const FLAGS: cl_svm_mem_flags = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
/// Addresses that the board is asked for before there is no memory.
const ATTEMPTS: usize = 4;
/// Pointers of one call, at most.
const LIST_MAX: cl_uint = 4096;

/// A region that the program has mapped.
#[derive(Clone, Copy, Debug)]
struct Mapping {
    address: usize,
    size: usize,
    writes: bool,
}

#[derive(Debug)]
struct Shared {
    pages: Pages,
    mappings: Vec<Mapping>,
}

static SHARED: Mutex<Shared> = Mutex::new(Shared {
    pages: Pages::new(),
    mappings: Vec::new(),
});

fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether all of `size` bytes at `address` are shared memory.
fn contains(address: *const c_void, size: usize) -> bool {
    shared().pages.contains(address as usize, size)
}

/// What a device shares, as the guest can have it.
///
/// # Errors
/// The API's code.
pub(super) fn capabilities(entry: u64, device: &Object) -> CallResult<u64> {
    let request = Request::new(wire::GIL_GET_SVM_CAPABILITIES, Class::Query, entry);
    let args = wire::GilGetSvmCapabilitiesArgs {
        device: device.number(),
    };
    request.forward(&args, |reply| {
        let reply: wire::GilGetSvmCapabilitiesReply = decode(reply)?;
        check(reply.result)?;
        Ok(reply.value)
    })
}

/// `clSVMAlloc`.
pub(super) fn alloc(
    entry: u64,
    context: cl_context,
    flags: cl_svm_mem_flags,
    size: usize,
    alignment: cl_uint,
) -> *mut c_void {
    let Ok(context) = find(Kind::Context, context) else {
        return std::ptr::null_mut();
    };
    if flags & !FLAGS != 0 || size == 0 || usize::BITS < 64 {
        return std::ptr::null_mut();
    }
    // Addresses that are taken here are kept until another is found.
    let mut taken = Vec::new();
    let mut found = 0;
    while found == 0 && taken.len() < ATTEMPTS {
        let address = ask(entry, &context, flags, size, alignment).unwrap_or(0);
        match address {
            0 => break,
            _ if shared().pages.adopt(address, size) => found = address,
            _ => taken.push(address),
        }
    }
    taken
        .into_iter()
        .for_each(|address| give_back(&context, address));
    found as *mut c_void
}

fn ask(
    entry: u64,
    context: &Object,
    flags: cl_svm_mem_flags,
    size: usize,
    alignment: cl_uint,
) -> CallResult<usize> {
    let request = Request::new(wire::CL_SVM_ALLOC, Class::Sync, entry);
    let args = wire::ClSVMAllocArgs {
        context: context.number(),
        flags,
        size: size as u64,
        alignment,
    };
    request.forward(&args, |reply| {
        let reply: wire::ClSVMAllocReply = decode(reply)?;
        check(reply.result)?;
        usize::try_from(reply.address).map_err(|_| CL_OUT_OF_RESOURCES)
    })
}

fn give_back(context: &Object, address: usize) {
    let request = Request::new(wire::CL_SVM_FREE, Class::Post, gil_guest::entry());
    // The function tells no errors.
    let _ = request.post(&wire::ClSVMFreeArgs {
        context: context.number(),
        address: address as u64,
    });
}

/// `clSVMFree`.
pub(super) fn free(context: cl_context, svm_pointer: *mut c_void) {
    let Ok(context) = find(Kind::Context, context) else {
        return;
    };
    if forget(svm_pointer as usize) {
        give_back(&context, svm_pointer as usize);
    }
}

/// The guest's side of an allocation goes. False if there is none.
fn forget(address: usize) -> bool {
    let mut shared = shared();
    let Some(size) = shared.pages.abandon(address) else {
        return false;
    };
    let inside = |mapping: &Mapping| mapping.address.wrapping_sub(address) < size;
    shared.mappings.retain(|mapping| !inside(mapping));
    true
}

/// An enqueue on a queue, before its arguments.
struct Enqueue {
    queue: Object,
    waits: Vec<Handle>,
    signal: NewEvent,
    event: *mut cl_event,
}

/// A wait list and where the event goes, as the program gave them.
pub(super) type Events = (cl_uint, *const cl_event, *mut cl_event);

impl Enqueue {
    /// # Safety
    /// As those of an enqueue.
    unsafe fn new(queue: cl_command_queue, events: Events) -> CallResult<Self> {
        let (count, list, event) = events;
        Ok(Self {
            queue: find(Kind::CommandQueue, queue)?,
            // SAFETY: the caller's.
            waits: unsafe { wait_list(count, list) }?,
            signal: new_event(event),
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
    /// The event's room is null or there.
    unsafe fn give_event(&self) {
        // SAFETY: the caller's.
        unsafe { give_event(self.event, self.signal, &self.queue) };
    }
}

/// What a program asks to map.
pub(super) struct Asked {
    pub(super) blocking: bool,
    pub(super) flags: cl_map_flags,
    pub(super) address: *mut c_void,
    pub(super) size: usize,
}

/// `clEnqueueSVMMap`.
///
/// # Safety
/// As `clEnqueueSVMMap` in the OpenCL specification.
pub(super) unsafe fn map(
    entry: u64,
    queue: cl_command_queue,
    asked: &Asked,
    events: Events,
) -> cl_int {
    returned(|| {
        // SAFETY: the caller's.
        let enqueue = unsafe { Enqueue::new(queue, events) }?;
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
    let mut request = enqueue.request(wire::CL_ENQUEUE_SVM_MAP, Engine::CopyOut, entry);
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
        let reply: wire::ClEnqueueSVMMapReply = decode(reply)?;
        check(reply.result)
    })
}

/// `clEnqueueSVMUnmap`.
///
/// # Safety
/// As `clEnqueueSVMUnmap` in the OpenCL specification.
pub(super) unsafe fn unmap(
    entry: u64,
    queue: cl_command_queue,
    address: *mut c_void,
    events: Events,
) -> cl_int {
    returned(|| {
        // SAFETY: the caller's.
        let enqueue = unsafe { Enqueue::new(queue, events) }?;
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
    let mut request = enqueue.request(wire::CL_ENQUEUE_SVM_UNMAP, Engine::CopyIn, entry);
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
        let reply: wire::ClEnqueueSVMUnmapReply = decode(reply)?;
        check(reply.result)
    })
}

/// `clEnqueueSVMMemcpy`: either side may be memory of the program's own.
///
/// # Safety
/// As `clEnqueueSVMMemcpy` in the OpenCL specification.
pub(super) unsafe fn memcpy(
    entry: u64,
    queue: cl_command_queue,
    blocking: bool,
    (dst, src, size): (*mut c_void, *const c_void, usize),
    events: Events,
) -> cl_int {
    returned(|| {
        // SAFETY: the caller's.
        let enqueue = unsafe { Enqueue::new(queue, events) }?;
        if dst.is_null() || src.is_null() || size == 0 {
            return Err(CL_INVALID_VALUE);
        }
        if (dst as usize).abs_diff(src as usize) < size {
            return Err(CL_MEM_COPY_OVERLAP);
        }
        let (to_shared, from_shared) = (contains(dst, size), contains(src, size));
        let engine = match (to_shared, from_shared) {
            (true, false) => Engine::CopyIn,
            (false, _) => Engine::CopyOut,
            (true, true) => Engine::Compute,
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
            let reply: wire::ClEnqueueSVMMemcpyReply = decode(reply)?;
            check(reply.result)
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
pub(super) unsafe fn fill(
    entry: u64,
    queue: cl_command_queue,
    (address, size): (*mut c_void, usize),
    (pattern, pattern_size): (*const c_void, usize),
    events: Events,
) -> cl_int {
    returned(|| {
        // SAFETY: the caller's.
        let enqueue = unsafe { Enqueue::new(queue, events) }?;
        let fits = pattern_size.is_power_of_two()
            && pattern_size <= 128
            && size.is_multiple_of(pattern_size)
            && (address as usize).is_multiple_of(pattern_size);
        if pattern.is_null() || size == 0 || !fits || !contains(address, size) {
            return Err(CL_INVALID_VALUE);
        }
        let op = wire::CL_ENQUEUE_SVM_MEM_FILL;
        let mut request = enqueue.request(op, Engine::Compute, entry);
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
            let reply: wire::ClEnqueueSVMMemFillReply = decode(reply)?;
            check(reply.result)
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
pub(super) unsafe fn migrate(
    entry: u64,
    queue: cl_command_queue,
    (count, pointers, sizes): (cl_uint, *const *const c_void, *const usize),
    flags: cl_mem_migration_flags,
    events: Events,
) -> cl_int {
    returned(|| {
        // SAFETY: the caller's.
        let enqueue = unsafe { Enqueue::new(queue, events) }?;
        // SAFETY: the caller's.
        let pointers = unsafe { words(count, pointers.cast()) }?;
        let sizes = match sizes.is_null() {
            true => None,
            // SAFETY: the caller's.
            false => Some(unsafe { words(count, sizes) }?),
        };
        let op = wire::CL_ENQUEUE_SVM_MIGRATE_MEM;
        let mut request = enqueue.request(op, Engine::None, entry);
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
            let reply: wire::ClEnqueueSVMMigrateMemReply = decode(reply)?;
            check(reply.result)
        })?;
        // SAFETY: the caller's.
        unsafe { enqueue.give_event() };
        Ok(())
    })
}

/// A list of the program's, in the wire's width. `usize` is little-endian on
/// every guest.
///
/// # Safety
/// `list` is null or names `count` words.
unsafe fn words(count: cl_uint, list: *const usize) -> CallResult<Vec<u64>> {
    if count == 0 || list.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    if count > LIST_MAX {
        return Err(CL_OUT_OF_HOST_MEMORY);
    }
    // SAFETY: the caller's.
    Ok((0..count as usize)
        .map(|n| unsafe { *list.add(n) } as u64)
        .collect())
}

/// A list as it goes to the board; it must live until the request is forwarded.
fn list_data<'a>(request: &mut Request, list: &'a [u64]) -> InData<'a> {
    // SAFETY: the list's own bytes.
    unsafe { request.input(list.as_ptr().cast(), size_of_val(list)) }
}

/// `clSetKernelArgSVMPointer`.
pub(super) fn set_kernel_arg(
    entry: u64,
    kernel: cl_kernel,
    arg_index: cl_uint,
    arg_value: *const c_void,
) -> cl_int {
    returned(|| {
        let kernel = find(Kind::Kernel, kernel)?;
        let op = wire::CL_SET_KERNEL_ARG_SVM_POINTER;
        let request = Request::new(op, Class::Sync, entry);
        let args = wire::ClSetKernelArgSVMPointerArgs {
            kernel: kernel.number(),
            arg_index,
            address: arg_value as usize as u64,
        };
        request.forward(&args, |reply| {
            let reply: wire::ClSetKernelArgSVMPointerReply = decode(reply)?;
            check(reply.result)
        })
    })
}

/// `clSetKernelExecInfo`.
///
/// # Safety
/// As `clSetKernelExecInfo` in the OpenCL specification.
pub(super) unsafe fn set_exec_info(
    entry: u64,
    kernel: cl_kernel,
    name: cl_kernel_exec_info,
    size: usize,
    value: *const c_void,
) -> cl_int {
    returned(|| {
        let kernel = find(Kind::Kernel, kernel)?;
        if value.is_null() {
            return Err(CL_INVALID_VALUE);
        }
        if name == CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM {
            // SAFETY: the caller's: room for a `cl_bool`, if it says so.
            return unsafe { system_memory(size, value) };
        }
        let is_list = size != 0 && size.is_multiple_of(size_of::<usize>());
        if name != CL_KERNEL_EXEC_INFO_SVM_PTRS || !is_list {
            return Err(CL_INVALID_VALUE);
        }
        let count = cl_uint::try_from(size / size_of::<usize>());
        let count = count.map_err(|_| CL_OUT_OF_HOST_MEMORY)?;
        // SAFETY: the caller's.
        let pointers = unsafe { words(count, value.cast()) }?;
        let mut request = Request::new(wire::CL_SET_KERNEL_EXEC_INFO, Class::Sync, entry);
        let args = wire::ClSetKernelExecInfoArgs {
            kernel: kernel.number(),
            param_name: name,
            value: list_data(&mut request, &pointers),
        };
        request.forward(&args, |reply| {
            let reply: wire::ClSetKernelExecInfoReply = decode(reply)?;
            check(reply.result)
        })
    })
}

/// No device shares the program's other memory.
///
/// # Safety
/// `value` names `size` bytes.
unsafe fn system_memory(size: usize, value: *const c_void) -> CallResult<()> {
    if size != size_of::<cl_bool>() {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: the caller's.
    match unsafe { value.cast::<cl_bool>().read_unaligned() } {
        CL_FALSE => Ok(()),
        _ => Err(CL_INVALID_OPERATION),
    }
}

/// A program's function that frees.
pub(super) type FreeFunction =
    unsafe extern "C" fn(cl_command_queue, cl_uint, *mut *mut c_void, *mut c_void);

/// Pointers to be freed once an operation has ended.
struct Freed {
    event: Hold,
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
pub(super) unsafe fn enqueue_free(
    entry: u64,
    queue: cl_command_queue,
    (count, pointers): (cl_uint, *mut *mut c_void),
    function: Option<FreeFunction>,
    user_data: *mut c_void,
    events: Events,
) -> cl_int {
    returned(|| {
        // SAFETY: the caller's.
        let mut enqueue = unsafe { Enqueue::new(queue, events) }?;
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
    let mut request = enqueue.request(wire::CL_ENQUEUE_SVM_FREE, Engine::None, entry);
    let args = wire::ClEnqueueSVMFreeArgs {
        command_queue: enqueue.queue.number(),
        addresses: list_data(&mut request, addresses),
        frees,
        event_wait_list: enqueue.waits.clone(),
        event: enqueue.signal,
    };
    request.forward(&args, |reply| {
        let reply: wire::ClEnqueueSVMFreeReply = decode(reply)?;
        check(reply.result)
    })
}

/// An event that the library holds, and the program if it wants it.
///
/// # Safety
/// The event's room is null or there.
unsafe fn own_event(enqueue: &Enqueue) -> CallResult<Hold> {
    let parents = [&enqueue.queue];
    let number = enqueue.signal.number;
    let made: cl_event = create(Kind::Event, number, &parents, Details::default());
    let held = find(Kind::Event, made).ok().and_then(|event| hold(&event));
    match enqueue.event.is_null() {
        // SAFETY: the caller's.
        false => unsafe { write(enqueue.event, made) },
        true => release(Kind::Event, made, gil_guest::entry())?,
    }
    held.ok_or(CL_OUT_OF_RESOURCES)
}

impl Freed {
    fn file(self) -> CallResult<()> {
        let op = wire::CL_ENQUEUE_SVM_FREE;
        let event = self.event.object().number().0;
        let client = gil_guest::client().map_err(|error| super::border::code(op, &error))?;
        let sent = Sent::new(move |_ended: Option<cl_int>| self.free());
        let job = Box::new(move |ended| sent.with(ended));
        later::when(client, op, event, Moment::Ended, job).map_err(no_thread)
    }
}

/// A buffer that is shared memory, if it would be.
///
/// # Errors
/// The API's code.
pub(super) fn create_buffer(
    entry: u64,
    context: &Object,
    flags: cl_mem_flags,
    size: usize,
    host_ptr: *mut c_void,
) -> Option<CallResult<cl_mem>> {
    let uses = flags & CL_MEM_USE_HOST_PTR != 0 && !host_ptr.is_null();
    if !uses || !contains(host_ptr, 1) {
        return None;
    }
    if !contains(host_ptr, size) {
        return Some(Err(CL_INVALID_BUFFER_SIZE));
    }
    let request = Request::new(wire::GIL_CREATE_SVM_BUFFER, Class::Sync, entry);
    let new = new_number();
    let args = wire::GilCreateSvmBufferArgs {
        context: context.number(),
        flags: device_flags(flags & !CL_MEM_USE_HOST_PTR) | CL_MEM_USE_HOST_PTR,
        size: size as u64,
        address: host_ptr as usize as u64,
        new,
    };
    Some(request.forward(&args, |reply| {
        let reply: wire::GilCreateSvmBufferReply = decode(reply)?;
        check(reply.result)?;
        let details = details::buffer(flags, size, host_ptr);
        Ok(create(Kind::Mem, new, &[context], details))
    }))
}
