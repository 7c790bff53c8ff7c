//! Shared virtual memory, coarse-grained: the driver allocates, the guest maps
//! memory of its own at the same address, and what either changes is copied as
//! the program maps and unmaps. An address of the guest's reaches the driver
//! only where it lies in an allocation of the session's.

use super::call::Call;
use super::driver::Driver;
use super::enqueue::Parts;
use super::generated::types::*;
use super::operations::Order;
use super::refusal::Refusal;
use super::session::Session;
use super::support::size;
use crate::table::Pointer;
use gil_wire::call::InData;
use gil_wire::generated::opencl::{self as wire, Kind};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::{NonNull, null, null_mut};

/// Allocations of a session, at most.
const MAX_ALLOCATIONS: usize = 1 << 20;
/// What may be asked of memory that both sides do not share at every instant.
const FLAGS: cl_svm_mem_flags = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;

/// One allocation; its context has a reference.
#[derive(Clone, Copy, Debug)]
struct Allocation {
    size: usize,
    context: Pointer,
}

/// A session's shared virtual memory.
#[derive(Debug, Default)]
pub struct Svm {
    allocations: BTreeMap<u64, Allocation>,
}

impl Svm {
    /// The allocation around an address.
    fn around(&self, address: u64) -> Option<(u64, Allocation)> {
        let (base, allocation) = self.allocations.range(..=address).next_back()?;
        let inside = address - base < allocation.size as u64;
        inside.then_some((*base, *allocation))
    }

    /// Whether all of `size` bytes at `address` are in one allocation.
    pub fn contains(&self, address: u64, size: u64) -> bool {
        let around = self.around(address);
        around.is_some_and(|(base, found)| size <= found.size as u64 - (address - base))
    }

    /// How many allocations there are.
    pub fn len(&self) -> usize {
        self.allocations.len()
    }

    /// Gives up everything; how many allocations there were.
    pub(super) fn release(&mut self, driver: &Driver) -> usize {
        let left = std::mem::take(&mut self.allocations);
        let count = left.len();
        for (address, allocation) in left {
            allocation.free(driver, address);
        }
        count
    }
}

impl Allocation {
    fn free(self, driver: &Driver, address: u64) {
        if let Some(free) = driver.functions.clSVMFree {
            // SAFETY: the driver's own allocation, freed once; its context is
            // alive until the next line.
            unsafe { free(self.context.as_ptr().cast(), pointer(address)) };
        }
        driver.release(Kind::Context, self.context);
    }
}

fn pointer(address: u64) -> *mut c_void {
    address as usize as *mut c_void
}

/// Addresses, or sizes, as the guest sends lists of them.
fn words(call: &Call, data: &InData<'_>) -> Result<Option<Vec<u64>>, Refusal> {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
    let bytes = call.bytes(data)?;
    Ok(bytes.map(|bytes| bytes.chunks_exact(8).map(word).collect()))
}

/// `clSVMAlloc`; address 0 if there is none to be had.
///
/// # Errors
/// [`Refusal`].
pub fn alloc(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClSVMAllocArgs,
) -> Result<u64, Refusal> {
    let context: cl_context = session.get(Kind::Context, args.context)?;
    let len = size(args.size, "size")?;
    let full = session.svm.allocations.len() >= MAX_ALLOCATIONS;
    let narrow = session.guest.pointer_bits < usize::BITS;
    let Some(function) = session.functions().clSVMAlloc else {
        return Ok(0);
    };
    if args.flags & !FLAGS != 0 || full || narrow {
        return Ok(0);
    }
    let (flags, alignment) = (args.flags, args.alignment);
    // SAFETY: the context is alive.
    let found = call.timed(|| unsafe { function(context, flags, len, alignment) });
    let (Some(_), Some(context)) = (NonNull::new(found), NonNull::new(context.cast())) else {
        return Ok(0);
    };
    session.driver.retain(Kind::Context, context);
    let allocation = Allocation { size: len, context };
    let address = found as usize as u64;
    session.svm.allocations.insert(address, allocation);
    Ok(address)
}

/// `clSVMFree`; what is no allocation is left alone.
pub fn free(session: &mut Session, call: &mut Call, address: u64) {
    if let Some(allocation) = session.svm.allocations.remove(&address) {
        let driver = session.driver;
        call.timed(|| allocation.free(driver, address));
    }
}

/// `clEnqueueSVMFree`. With a callback of the guest's, which frees itself, it
/// is a marker here.
///
/// # Errors
/// [`Refusal`].
pub fn enqueue_free(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClEnqueueSVMFreeArgs<'_>,
) -> Result<cl_int, Refusal> {
    let op = Parts::new(args.command_queue, &args.event_wait_list, args.event);
    if !args.frees {
        return op.marker(session, call);
    }
    let addresses = words(call, &args.addresses)?.unwrap_or_default();
    let allocations = &mut session.svm.allocations;
    let known = |address: &u64| allocations.get(address).map(|found| (*address, *found));
    let freed: BTreeMap<u64, Allocation> = addresses.iter().filter_map(known).collect();
    let mut pointers: Vec<_> = freed.keys().map(|address| pointer(*address)).collect();
    let function = session.functions().clEnqueueSVMFree;
    let (list, len) = (pointers.as_mut_ptr(), pointers.len() as cl_uint);
    let enqueue = |queue, count, waits, event: *mut cl_event| match function {
        // SAFETY: the objects are alive; the pointers are the driver's own, each
        // freed once.
        Some(function) => unsafe {
            function(queue, len, list, None, null_mut(), count, waits, event)
        },
        None => CL_INVALID_OPERATION,
    };
    if freed.is_empty() {
        return op.marker(session, call);
    }
    let result = op.enqueue(session, call, Order::Command, &enqueue)?;
    if result == CL_SUCCESS {
        for (address, allocation) in freed {
            session.svm.allocations.remove(&address);
            session.driver.release(Kind::Context, allocation.context);
        }
    }
    Ok(result)
}

/// One side of a copy: an address of the guest's that is shared memory, or the
/// call's own memory.
fn side(session: &Session, address: u64, size: u64, own: *mut c_void) -> Option<*mut c_void> {
    match address {
        0 => Some(own),
        _ if session.svm.contains(address, size) => Some(pointer(address)),
        _ => None,
    }
}

/// `clEnqueueSVMMemcpy`: an address of 0 stands for the call's memory.
///
/// # Errors
/// [`Refusal`].
pub fn memcpy(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClEnqueueSVMMemcpyArgs<'_>,
) -> Result<cl_int, Refusal> {
    let len = size(args.size, "size")?;
    let (own_out, own_in) = match (args.dst, args.src) {
        (0, 0) => {
            let output = call.output(args.output, len)?.as_mut_ptr();
            (output, call.keep_input(&args.input, len)?)
        }
        (0, _) => (call.output(args.output, len)?.as_mut_ptr(), null()),
        (_, 0) => (null_mut(), call.keep_input(&args.input, len)?),
        _ => (null_mut(), null()),
    };
    let dst = side(session, args.dst, args.size, own_out);
    let src = side(session, args.src, args.size, own_in.cast_mut());
    let (Some(dst), Some(src)) = (dst, src) else {
        return invalid(call, CL_INVALID_VALUE);
    };
    let op = Parts::new(args.command_queue, &args.event_wait_list, args.event);
    copy(session, call, &op, dst, src, len)
}

/// Copies once the operation's turn comes.
fn copy(
    session: &mut Session,
    call: &mut Call,
    op: &Parts<'_>,
    dst: *mut c_void,
    src: *const c_void,
    len: usize,
) -> Result<cl_int, Refusal> {
    let function = session.functions().clEnqueueSVMMemcpy;
    let enqueue = |queue, count, waits, event: *mut cl_event| match function {
        // SAFETY: the objects are alive; both sides have `len` bytes, in the
        // session's allocations or the operation's memory.
        Some(function) => unsafe { function(queue, CL_FALSE, dst, src, len, count, waits, event) },
        None => CL_INVALID_OPERATION,
    };
    op.enqueue(session, call, Order::Command, &enqueue)
}

/// An enqueue that the driver does not hear of: nothing will come of it.
fn invalid(call: &mut Call, code: cl_int) -> Result<cl_int, Refusal> {
    call.set_enqueued();
    call.report_own(code);
    Ok(code)
}

/// `clEnqueueSVMMemFill`.
///
/// # Errors
/// [`Refusal`].
pub fn fill(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClEnqueueSVMMemFillArgs<'_>,
) -> Result<cl_int, Refusal> {
    let len = size(args.size, "size")?;
    let pattern_len = size(args.pattern_size, "pattern_size")?;
    let pattern = call.keep_input(&args.pattern, pattern_len)?;
    if pattern.is_null() || !session.svm.contains(args.address, args.size) {
        return invalid(call, CL_INVALID_VALUE);
    }
    let function = session.functions().clEnqueueSVMMemFill;
    let to = pointer(args.address);
    let enqueue = |queue, count, waits, event: *mut cl_event| match function {
        // SAFETY: the objects are alive, the memory is the session's, and the
        // pattern has the bytes it says.
        Some(function) => unsafe {
            function(queue, to, pattern, pattern_len, len, count, waits, event)
        },
        None => CL_INVALID_OPERATION,
    };
    let op = Parts::new(args.command_queue, &args.event_wait_list, args.event);
    op.enqueue(session, call, Order::Command, &enqueue)
}

/// `clEnqueueSVMMap`: fetches what the device wrote, if the program wants it.
///
/// # Errors
/// [`Refusal`].
pub fn map(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClEnqueueSVMMapArgs,
) -> Result<cl_int, Refusal> {
    let len = size(args.size, "size")?;
    let memory = call.output(args.memory, len)?.as_mut_ptr();
    let op = Parts::new(args.command_queue, &args.event_wait_list, args.event);
    if !session.svm.contains(args.address, args.size) {
        return invalid(call, CL_INVALID_VALUE);
    }
    match memory.is_null() {
        true => op.marker(session, call),
        false => copy(session, call, &op, memory, pointer(args.address), len),
    }
}

/// `clEnqueueSVMUnmap`: brings what the program wrote.
///
/// # Errors
/// [`Refusal`].
pub fn unmap(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClEnqueueSVMUnmapArgs<'_>,
) -> Result<cl_int, Refusal> {
    let len = size(args.size, "size")?;
    let memory = call.keep_input(&args.memory, len)?;
    let op = Parts::new(args.command_queue, &args.event_wait_list, args.event);
    if memory.is_null() {
        return op.marker(session, call);
    }
    if !session.svm.contains(args.address, args.size) {
        return invalid(call, CL_INVALID_VALUE);
    }
    copy(session, call, &op, pointer(args.address), memory, len)
}

/// `clEnqueueSVMMigrateMem`.
///
/// # Errors
/// [`Refusal`].
pub fn migrate(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClEnqueueSVMMigrateMemArgs<'_>,
) -> Result<cl_int, Refusal> {
    let addresses = words(call, &args.addresses)?.unwrap_or_default();
    let sizes = words(call, &args.sizes)?;
    let len_of = |n: usize| sizes.as_ref().and_then(|sizes| sizes.get(n)).copied();
    let known = |(n, address): (usize, &u64)| {
        let len = len_of(n).unwrap_or(0);
        session.svm.contains(*address, len)
    };
    let short = sizes.as_ref().is_some_and(|s| s.len() < addresses.len());
    if short || !addresses.iter().enumerate().all(known) {
        return invalid(call, CL_INVALID_VALUE);
    }
    let mut pointers: Vec<*const c_void> =
        addresses.iter().map(|a| pointer(*a).cast_const()).collect();
    let sizes: Option<Vec<usize>> = sizes.map(|s| s.iter().map(|len| *len as usize).collect());
    let sizes = sizes.as_ref().map_or(null(), Vec::as_ptr);
    let (list, len) = (pointers.as_mut_ptr(), pointers.len() as cl_uint);
    let (function, flags) = (session.functions().clEnqueueSVMMigrateMem, args.flags);
    let enqueue = |queue, count, waits, event: *mut cl_event| match function {
        // SAFETY: the objects are alive, and the addresses are the session's.
        Some(function) => unsafe { function(queue, len, list, sizes, flags, count, waits, event) },
        None => CL_INVALID_OPERATION,
    };
    let op = Parts::new(args.command_queue, &args.event_wait_list, args.event);
    op.enqueue(session, call, Order::Command, &enqueue)
}

/// `clSetKernelArgSVMPointer`.
///
/// # Errors
/// [`Refusal`].
pub fn set_kernel_arg(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClSetKernelArgSVMPointerArgs,
) -> Result<cl_int, Refusal> {
    let kernel: cl_kernel = session.get(Kind::Kernel, args.kernel)?;
    let Some(function) = session.functions().clSetKernelArgSVMPointer else {
        return Ok(CL_INVALID_OPERATION);
    };
    if args.address != 0 && !session.svm.contains(args.address, 1) {
        return Ok(CL_INVALID_ARG_VALUE);
    }
    let (index, value) = (args.arg_index, pointer(args.address));
    // SAFETY: the kernel is alive, the address null or the session's.
    let result = call.timed(|| unsafe { function(kernel, index, value) });
    if result == CL_SUCCESS {
        super::kernel_args::forget(session, kernel, index)?;
    }
    Ok(result)
}

/// `clSetKernelExecInfo`.
///
/// # Errors
/// [`Refusal`].
pub fn set_exec_info(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClSetKernelExecInfoArgs<'_>,
) -> Result<cl_int, Refusal> {
    let kernel: cl_kernel = session.get(Kind::Kernel, args.kernel)?;
    let Some(function) = session.functions().clSetKernelExecInfo else {
        return Ok(CL_INVALID_OPERATION);
    };
    let name = args.param_name;
    let addresses = match name {
        CL_KERNEL_EXEC_INFO_SVM_PTRS => words(call, &args.value)?.unwrap_or_default(),
        _ => return Ok(CL_INVALID_VALUE),
    };
    let known = |address: &u64| session.svm.contains(*address, 1);
    if addresses.is_empty() || !addresses.iter().all(known) {
        return Ok(CL_INVALID_VALUE);
    }
    let list: Vec<_> = addresses.iter().map(|address| pointer(*address)).collect();
    let (len, list) = (size_of_val(list.as_slice()), list.as_ptr().cast());
    // SAFETY: the kernel is alive, and the list has the bytes it says.
    Ok(call.timed(|| unsafe { function(kernel, name, len, list) }))
}

/// What a device can, as far as the guest can have it: coarse-grained sharing.
///
/// # Errors
/// [`Refusal`].
pub fn capabilities(
    session: &mut Session,
    call: &mut Call,
    args: &wire::GilGetSvmCapabilitiesArgs,
) -> Result<wire::GilGetSvmCapabilitiesReply, Refusal> {
    let device: cl_device_id = session.get(Kind::Device, args.device)?;
    let mut value: cl_device_svm_capabilities = 0;
    let room = (&raw mut value).cast();
    let has_functions = session.functions().clEnqueueSVMMemcpy.is_some();
    let name = CL_DEVICE_SVM_CAPABILITIES;
    let result = match session.functions().clGetDeviceInfo {
        // SAFETY: the device is the driver's, the room as large as said.
        Some(ask) => call.timed(|| unsafe { ask(device, name, 8, room, null_mut()) }),
        None => CL_INVALID_OPERATION,
    };
    // Libraries of 32-bit programs share nothing, on whatever board.
    let is_wide = usize::BITS == 64 && session.guest.pointer_bits == usize::BITS;
    let fits = is_wide && has_functions;
    let shown = if fits {
        CL_DEVICE_SVM_COARSE_GRAIN_BUFFER
    } else {
        0
    };
    // A driver older than shared memory does not know the name.
    let known = if result == CL_SUCCESS { value } else { 0 };
    Ok(wire::GilGetSvmCapabilitiesReply {
        result: CL_SUCCESS,
        value: known & shown,
    })
}

/// A buffer whose memory is shared.
///
/// # Errors
/// [`Refusal`].
pub fn create_buffer(
    session: &mut Session,
    call: &mut Call,
    args: &wire::GilCreateSvmBufferArgs,
) -> Result<cl_int, Refusal> {
    let context: cl_context = session.get(Kind::Context, args.context)?;
    let (len, flags) = (size(args.size, "size")?, args.flags);
    session.can_bind(args.new)?;
    if !session.svm.contains(args.address, args.size.max(1)) {
        return Ok(CL_INVALID_HOST_PTR);
    }
    let Some(function) = session.functions().clCreateBuffer else {
        return Ok(CL_INVALID_OPERATION);
    };
    let mut result = CL_INVALID_OPERATION;
    let memory = pointer(args.address);
    // SAFETY: the context is alive, and the memory has the bytes it says.
    let buffer = call.timed(|| unsafe { function(context, flags, len, memory, &mut result) });
    if result == CL_SUCCESS {
        session.bind(Kind::Mem, args.new, buffer, args.context)?;
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_in_one_allocation_is_known() {
        let mut svm = Svm::default();
        let context = NonNull::dangling();
        for (address, size) in [(0x1000, 0x100), (0x1100, 0x10)] {
            svm.allocations
                .insert(address, Allocation { size, context });
        }
        assert!(svm.contains(0x1000, 0x100));
        assert!(svm.contains(0x10ff, 1));
        assert!(svm.contains(0x1100, 0x10));
        for (address, size) in [
            (0xfff, 1),
            (0x1000, 0x101),
            (0x10ff, 2),
            (0x1110, 0),
            (0x1110, 1),
            (0x1100, u64::MAX),
            (u64::MAX, 1),
            (0, 0),
        ] {
            assert!(!svm.contains(address, size), "{address:x} {size:x}");
        }
    }
}
