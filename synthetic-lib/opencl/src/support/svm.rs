//! Shared virtual memory: the guest's memory at the addresses that the board's
//! driver chose, so that pointers inside structures are valid on both sides.
//! Changes are copied when the program maps and unmaps.

pub(super) mod commands;

use crate::generated::manual::{Guest, Helpers, Kept, Object, Request};
use crate::generated::types::*;
use gil_guest::pages::Pages;
use gil_guest::{Api, CallResult};
use gil_wire::call::{Handle, InData};
use gil_wire::envelope::Class;
use gil_wire::generated::opencl::{self as wire, Kind};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What the program may ask: no memory is shared at every instant.
const FLAGS: cl_svm_mem_flags = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
/// Addresses that the board is asked for before there is no memory.
const ATTEMPTS: usize = 4;
/// Pointers of one call, at most.
const LIST_MAX: cl_uint = 1 << 16;

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
pub(super) fn capabilities(entry: u64, device: Handle) -> CallResult<u64> {
    let request = Request::new(wire::GIL_GET_SVM_CAPABILITIES, Class::Query, entry);
    let args = wire::GilGetSvmCapabilitiesArgs { device };
    request.forward(&args, |reply| {
        let reply: wire::GilGetSvmCapabilitiesReply = reply.decode()?;
        Guest::check(reply.result)?;
        Ok(reply.value)
    })
}

/// Devices that were asked, and whether they share memory.
static ASKED: Mutex<BTreeMap<Handle, bool>> = Mutex::new(BTreeMap::new());

/// Whether a device shares memory with this program.
///
/// # Errors
/// `CL_INVALID_OPERATION` if not; the API's code.
fn is_shared_with(entry: u64, device: Handle) -> CallResult<()> {
    is_wide()?;
    let asked = || ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = asked().get(&device).copied();
    let shares = match known {
        Some(shares) => shares,
        None => capabilities(entry, device)? != 0,
    };
    asked().insert(device, shares);
    match shares {
        true => Ok(()),
        false => Err(CL_INVALID_OPERATION),
    }
}

/// No device shares memory with a program of 32 bits.
///
/// # Errors
/// `CL_INVALID_OPERATION` in one.
fn is_wide() -> CallResult<()> {
    match usize::BITS {
        64.. => Ok(()),
        _ => Err(CL_INVALID_OPERATION),
    }
}

/// `clSVMAlloc`.
pub(super) fn alloc(
    entry: u64,
    context: cl_context,
    flags: cl_svm_mem_flags,
    size: usize,
    alignment: cl_uint,
) -> *mut c_void {
    let Ok(context) = Object::find(Kind::Context, context) else {
        return std::ptr::null_mut();
    };
    if flags & !FLAGS != 0 || size == 0 || is_wide().is_err() {
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
        let reply: wire::ClSVMAllocReply = reply.decode()?;
        Guest::check(reply.result)?;
        usize::try_from(reply.address).map_err(|_| CL_OUT_OF_RESOURCES)
    })
}

fn give_back(context: &Object, address: usize) {
    let request = Request::new(wire::CL_SVM_FREE, Class::Post, gil_guest::entry());
    // The function returns no errors.
    let _ = request.post(&wire::ClSVMFreeArgs {
        context: context.number(),
        address: address as u64,
    });
}

/// `clSVMFree`.
pub(super) fn free(context: cl_context, svm_pointer: *mut c_void) {
    let Ok(context) = Object::find(Kind::Context, context) else {
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
    if list.is_empty() {
        return InData::Null;
    }
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
    Guest::returned(|| {
        let kernel = Object::find(Kind::Kernel, kernel)?;
        is_wide()?;
        let op = wire::CL_SET_KERNEL_ARG_SVM_POINTER;
        let request = Request::new(op, Class::Sync, entry);
        let args = wire::ClSetKernelArgSVMPointerArgs {
            kernel: kernel.number(),
            arg_index,
            address: arg_value as usize as u64,
        };
        request.forward(&args, |reply| {
            let reply: wire::ClSetKernelArgSVMPointerReply = reply.decode()?;
            Guest::check(reply.result)
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
    Guest::returned(|| {
        let kernel = Object::find(Kind::Kernel, kernel)?;
        if is_about_shared(name) {
            is_wide()?;
        }
        let is_empty = name == CL_KERNEL_EXEC_INFO_SVM_PTRS && size == 0;
        if value.is_null() && !is_empty {
            return Err(CL_INVALID_VALUE);
        }
        if name == CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM {
            // SAFETY: the caller's: space for a `cl_bool`, if it says so.
            return unsafe { system_memory(size, value) };
        }
        let is_list = size.is_multiple_of(size_of::<usize>());
        if name != CL_KERNEL_EXEC_INFO_SVM_PTRS || !is_list {
            return Err(CL_INVALID_VALUE);
        }
        let count = cl_uint::try_from(size / size_of::<usize>());
        let count = count.map_err(|_| CL_OUT_OF_HOST_MEMORY)?;
        let pointers = match is_empty {
            true => Vec::new(),
            // SAFETY: the caller's.
            false => unsafe { words(count, value.cast()) }?,
        };
        let mut request = Request::new(wire::CL_SET_KERNEL_EXEC_INFO, Class::Sync, entry);
        let args = wire::ClSetKernelExecInfoArgs {
            kernel: kernel.number(),
            param_name: name,
            value: list_data(&mut request, &pointers),
        };
        request.forward(&args, |reply| {
            let reply: wire::ClSetKernelExecInfoReply = reply.decode()?;
            Guest::check(reply.result)
        })
    })
}

fn is_about_shared(name: cl_kernel_exec_info) -> bool {
    matches!(
        name,
        CL_KERNEL_EXEC_INFO_SVM_PTRS | CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM
    )
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
    let new = gil_guest::new_number();
    let args = wire::GilCreateSvmBufferArgs {
        context: context.number(),
        flags: Guest::device_flags(flags & !CL_MEM_USE_HOST_PTR) | CL_MEM_USE_HOST_PTR,
        size: size as u64,
        address: host_ptr as usize as u64,
        new,
    };
    Some(request.forward(&args, |reply| {
        let reply: wire::GilCreateSvmBufferReply = reply.decode()?;
        Guest::check(reply.result)?;
        // SAFETY: the memory is looked at by none.
        let details = unsafe { Guest::buffer(flags, size, host_ptr) };
        Ok(Object::create(Kind::Mem, new, &[context], details))
    }))
}
