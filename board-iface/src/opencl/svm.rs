//! Shared virtual memory, coarse-grained: the driver allocates it, the guest maps memory
//! of its own at the same address, and changes are copied when the program maps and
//! unmaps. An address from the guest reaches the driver only if it is inside an
//! allocation of the session.

use super::driver::Driver;
use super::enqueue::Parts;
use super::generated::types::*;
use super::session::Session;
use crate::back_end::hold::{Hold, Leaving, Left};
use crate::back_end::{Call, Objects, Order, Pointer, References, Refusal, list_ptr, size};
use crate::region::{Counted, NoRoom};
use gil_wire::call::InData;
use gil_wire::generated::opencl::{self as wire, Kind};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// Allocations of a session, at most.
const MAX_ALLOCATIONS: usize = 1 << 20;
/// A function that frees in the driver's place.
type FreeFunction = unsafe extern "C" fn(cl_command_queue, cl_uint, *mut *mut c_void, *mut c_void);
/// What may be asked of memory that both sides do not share at every instant.
const FLAGS: cl_svm_mem_flags = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;

/// One allocation; its context has a reference.
#[derive(Debug)]
struct Allocation {
    size: usize,
    context: Pointer,
    hold: Hold,
    _counted: Option<Counted>,
}

/// A session's shared virtual memory. What the guest frees is the driver's until
/// the buffers, kernel arguments and operations that use it let go: they would
/// read and write whatever the driver put there next.
#[derive(Debug, Default)]
pub struct Svm {
    allocations: BTreeMap<u64, Allocation>,
    /// Freed by the guest, and held.
    freed: Vec<(u64, Allocation)>,
    /// To be freed by the guest's operations, which have ended.
    left: Left,
}

impl Svm {
    /// The allocation around all of `size` bytes at `address`.
    fn around(&self, address: u64, size: u64) -> Option<&Allocation> {
        let (base, found) = self.allocations.range(..=address).next_back()?;
        let end = (address - base).checked_add(size)?;
        let inside = address - base < found.size as u64 && end <= found.size as u64;
        inside.then_some(found)
    }

    /// Keeps the allocation around these bytes, if there is one.
    pub(super) fn hold(&self, address: u64, size: u64) -> Option<Hold> {
        self.around(address, size).map(|found| found.hold.clone())
    }

    /// How many allocations there are.
    pub fn len(&self) -> usize {
        self.allocations.len() + self.freed.len()
    }

    /// The guest has freed an allocation.
    fn free(&mut self, address: u64) {
        let freed = self.allocations.remove(&address);
        self.freed.extend(freed.map(|freed| (address, freed)));
    }

    /// Gives back what was freed and nothing holds any more.
    pub(super) fn settle(&mut self, driver: &Driver) {
        if self.len() == 0 {
            return;
        }
        for leaving in self.left.take() {
            let found = self.allocations.get(&leaving.address);
            if found.is_some_and(|found| leaving.is_of(&found.hold)) {
                self.free(leaving.address);
            }
        }
        for (address, allocation) in self.freed.extract_if(.., |(_, a)| a.hold.is_last()) {
            allocation.free(driver, address);
        }
    }

    /// Gives up everything; how many allocations the guest had. What a driver
    /// still holds, it keeps.
    pub(super) fn release(&mut self, driver: &Driver) -> usize {
        let count = self.allocations.len();
        self.freed.extend(std::mem::take(&mut self.allocations));
        self.settle(driver);
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
    let full = session.svm.len() >= MAX_ALLOCATIONS;
    let narrow = session.guest.pointer_bits < usize::BITS;
    let Some(function) = session.functions().clSVMAlloc else {
        return Ok(0);
    };
    if args.flags & !FLAGS != 0 || full || narrow {
        return Ok(0);
    }
    let Ok(counted) = counted(session, super::manual::pointer(context)?, args.size) else {
        return Ok(0);
    };
    let (flags, alignment) = (args.flags, args.alignment);
    // SAFETY: the context is alive.
    let found = call.timed(|| unsafe { function(context, flags, len, alignment) });
    let (Some(_), Some(context)) = (Pointer::new(found), Pointer::new(context.cast())) else {
        return Ok(0);
    };
    session.driver.retain(Kind::Context, context);
    let allocation = Allocation {
        size: len,
        context,
        hold: Hold::default(),
        _counted: counted,
    };
    let address = found as usize as u64;
    session.svm.allocations.insert(address, allocation);
    Ok(address)
}

/// Counts an allocation where it lies in the board's memory.
fn counted(session: &Session, context: Pointer, size: u64) -> Result<Option<Counted>, NoRoom> {
    let counts = session.is_in_memory(context);
    counts.then(|| session.budget.object(size)).transpose()
}

/// `clSVMFree`; an address that was not allocated is ignored.
pub fn free(session: &mut Session, call: &mut Call, address: u64) {
    let driver = session.driver;
    session.svm.free(address);
    call.timed(|| session.svm.settle(driver));
}

/// In place of the driver's own freeing, which asks nobody who holds what.
unsafe extern "C" fn leave(
    _: cl_command_queue,
    _: cl_uint,
    _: *mut *mut c_void,
    _user_data: *mut c_void,
) {
}

/// `clEnqueueSVMFree`: what it frees is there until the operation ends. With a
/// callback of the guest's, which frees itself, it is a marker here.
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
    let allocations = &session.svm.allocations;
    let known = |address: &u64| {
        let found = allocations.get(address)?;
        Some(Leaving::new(*address, found.hold.clone()))
    };
    let leaving: Vec<Leaving> = addresses.iter().filter_map(known).collect();
    let mut pointers: Vec<_> = leaving.iter().map(|l| pointer(l.address)).collect();
    let function = session.functions().clEnqueueSVMFree;
    let (list, len) = (pointers.as_mut_ptr(), pointers.len() as cl_uint);
    let enqueue = |queue, count, waits, event: *mut cl_event| match function {
        // SAFETY: the objects are alive; the pointers are the driver's own, and
        // `leave` reads nothing.
        Some(function) => unsafe {
            let leave: Option<FreeFunction> = Some(leave);
            function(queue, len, list, leave, null_mut(), count, waits, event)
        },
        None => CL_INVALID_OPERATION,
    };
    if leaving.is_empty() {
        return op.marker(session, call);
    }
    call.free_at_end(leaving, session.svm.left.clone());
    op.enqueue(session, call, Order::Command, &enqueue)
}

/// One side of a copy: an address of the guest's that is shared memory, or the
/// call's own memory.
fn side(
    session: &Session,
    call: &mut Call,
    address: u64,
    size: u64,
    own: *mut c_void,
) -> Option<*mut c_void> {
    match address {
        0 => Some(own),
        _ => shared(session, call, address, size),
    }
}

/// Shared memory for the driver, kept until the call's operation ends.
fn shared(session: &Session, call: &mut Call, address: u64, size: u64) -> Option<*mut c_void> {
    call.hold(session.svm.hold(address, size)?);
    Some(pointer(address))
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
    let dst = side(session, call, args.dst, args.size, own_out);
    let src = side(session, call, args.src, args.size, own_in.cast_mut());
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
    call.reject(code);
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
    let to = shared(session, call, args.address, args.size);
    let Some(to) = to.filter(|_| !pattern.is_null()) else {
        return invalid(call, CL_INVALID_VALUE);
    };
    let function = session.functions().clEnqueueSVMMemFill;
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
    let Some(from) = shared(session, call, args.address, args.size) else {
        return invalid(call, CL_INVALID_VALUE);
    };
    match memory.is_null() {
        true => op.marker(session, call),
        false => copy(session, call, &op, memory, from, len),
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
    let Some(to) = shared(session, call, args.address, args.size) else {
        return invalid(call, CL_INVALID_VALUE);
    };
    copy(session, call, &op, to, memory, len)
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
        let shared = shared(session, call, *address, len_of(n).unwrap_or(0));
        shared.map(<*mut c_void>::cast_const)
    };
    let pointers: Option<Vec<*const c_void>> = addresses.iter().enumerate().map(known).collect();
    let short = sizes.as_ref().is_some_and(|s| s.len() < addresses.len());
    let Some(mut pointers) = pointers.filter(|_| !short) else {
        return invalid(call, CL_INVALID_VALUE);
    };
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
    let hold = session.svm.hold(args.address, 1);
    if args.address != 0 && hold.is_none() {
        return Ok(CL_INVALID_ARG_VALUE);
    }
    let (index, value) = (args.arg_index, pointer(args.address));
    // SAFETY: the kernel is alive, the address null or the session's.
    let result = call.timed(|| unsafe { function(kernel, index, value) });
    if result == CL_SUCCESS {
        super::kernel_args::share(session, args.kernel, index, hold)?;
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
    let holds = addresses
        .iter()
        .map(|address| session.svm.hold(*address, 1));
    let Some(holds) = holds.collect::<Option<Vec<Hold>>>() else {
        return Ok(CL_INVALID_VALUE);
    };
    let list: Vec<_> = addresses.iter().map(|address| pointer(*address)).collect();
    let (len, list) = (size_of_val(list.as_slice()), list_ptr(&list).cast());
    // SAFETY: the kernel is alive, and the list has the bytes it says.
    let result = call.timed(|| unsafe { function(kernel, name, len, list) });
    if result == CL_SUCCESS {
        super::kernel_args::share_indirectly(session, args.kernel, holds)?;
    }
    Ok(result)
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
        // SAFETY: the device is the driver's, the buffer has the stated size.
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
    let Some(hold) = session.svm.hold(args.address, args.size.max(1)) else {
        return Ok(CL_INVALID_HOST_PTR);
    };
    let Some(function) = session.functions().clCreateBuffer else {
        return Ok(CL_INVALID_OPERATION);
    };
    let mut result = CL_INVALID_OPERATION;
    let memory = pointer(args.address);
    // SAFETY: the context is alive, and the memory has the bytes it says.
    let buffer = call.timed(|| unsafe { function(context, flags, len, memory, &mut result) });
    if result == CL_SUCCESS {
        session.bind(Kind::Mem, args.new, buffer, args.context)?;
        let kept = session.driver.keep(super::manual::pointer(buffer)?, hold);
        if kept.is_err() {
            session.release(Kind::Mem, args.new)?;
            result = CL_OUT_OF_RESOURCES;
        }
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_in_one_allocation_is_known() {
        let mut svm = Svm::default();
        let context = Pointer::new(std::ptr::dangling_mut()).unwrap();
        for (address, size) in [(0x1000, 0x100), (0x1100, 0x10)] {
            let hold = Hold::default();
            let allocation = Allocation {
                size,
                context,
                hold,
                _counted: None,
            };
            svm.allocations.insert(address, allocation);
        }
        assert!(svm.around(0x1000, 0x100).is_some());
        assert!(svm.around(0x10ff, 1).is_some());
        assert!(svm.around(0x1100, 0x10).is_some());
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
            assert!(svm.around(address, size).is_none(), "{address:x} {size:x}");
        }
    }
}
