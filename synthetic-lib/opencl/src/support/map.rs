//! Mapped buffers. A mapped pointer names guest memory: the program's own for a
//! buffer that uses it, otherwise a shadow of the whole buffer that is made at
//! the first mapping, so that one byte of a buffer has one address for ever.
//! Mapping reads the buffer into it, unmapping writes it back.

use super::border::{CallResult, check, decode, returned, written};
use super::details::Details;
use super::objects::{Object, find, give_event, new_event, wait_list};
use super::request::Request;
use crate::generated::types::*;
use gil_wire::call::{InData, NewEvent, OutRoom};
use gil_wire::envelope::{Class, Engine};
use gil_wire::generated::opencl::{self as wire, Kind};
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

const ACCESS: cl_mem_flags = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
const HOST_ACCESS: cl_mem_flags =
    CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
const HOST_POINTER: cl_mem_flags =
    CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;

/// What the guest keeps of a memory object.
#[derive(Debug)]
pub struct Memory {
    flags: cl_mem_flags,
    size: usize,
    /// Address of the program's memory, or 0.
    host_ptr: usize,
    /// Where it begins in the buffer that it is a part of.
    origin: Option<usize>,
    shadow: OnceLock<Shadow>,
    mappings: Mutex<Vec<Mapping>>,
}

/// One region that the program has mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mapping {
    address: usize,
    offset: usize,
    size: usize,
    writes: bool,
}

impl Memory {
    /// A buffer of `size` bytes.
    pub fn new(flags: cl_mem_flags, size: usize, host_ptr: usize) -> Self {
        let access = flags & ACCESS == 0;
        Self {
            flags: flags | if access { CL_MEM_READ_WRITE } else { 0 },
            size,
            host_ptr,
            origin: None,
            shadow: OnceLock::new(),
            mappings: Mutex::default(),
        }
    }

    /// A part of it, which inherits what it does not say itself.
    pub fn part(&self, flags: cl_mem_flags, origin: usize, size: usize) -> Self {
        let inherited = |mask| self.flags & if flags & mask == 0 { mask } else { 0 };
        let pointer = self.flags & HOST_POINTER;
        let flags = flags | inherited(ACCESS) | inherited(HOST_ACCESS) | pointer;
        let host_ptr = match self.host_ptr {
            0 => 0,
            host_ptr => host_ptr.wrapping_add(origin),
        };
        Self {
            origin: Some(origin),
            ..Self::new(flags, size, host_ptr)
        }
    }

    /// The flags it was made with.
    pub fn flags(&self) -> cl_mem_flags {
        self.flags
    }

    /// The program's memory that it uses, or 0.
    pub fn host_ptr(&self) -> usize {
        match self.flags & CL_MEM_USE_HOST_PTR {
            0 => 0,
            _ => self.host_ptr,
        }
    }

    /// How often it is mapped.
    pub fn map_count(&self) -> cl_uint {
        self.mappings().len() as cl_uint
    }

    fn mappings(&self) -> MutexGuard<'_, Vec<Mapping>> {
        self.mappings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the newest mapping at `address` out.
    fn unmap(&self, address: usize) -> Option<Mapping> {
        let mut mappings = self.mappings();
        let at = mappings.iter().rposition(|m| m.address == address)?;
        Some(mappings.remove(at))
    }

    fn check_map(&self, flags: cl_map_flags, offset: usize, size: usize) -> CallResult<()> {
        const BOTH: cl_map_flags = CL_MAP_READ | CL_MAP_WRITE;
        let known = BOTH | CL_MAP_WRITE_INVALIDATE_REGION;
        let mixed = flags & CL_MAP_WRITE_INVALIDATE_REGION != 0 && flags & BOTH != 0;
        let end = offset.checked_add(size);
        let inside = size != 0 && end.is_some_and(|end| end <= self.size);
        if flags & !known != 0 || mixed || !inside {
            return Err(CL_INVALID_VALUE);
        }
        let no_read = self.flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS) != 0;
        let no_write = self.flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS) != 0;
        if no_read && flags & CL_MAP_READ != 0 || no_write && flags & !CL_MAP_READ != 0 {
            return Err(CL_INVALID_OPERATION);
        }
        Ok(())
    }
}

/// Guest memory as large as a buffer; pages come as they are touched.
#[derive(Debug)]
struct Shadow {
    address: usize,
    len: usize,
}

impl Shadow {
    fn new(len: usize) -> CallResult<Self> {
        let (prot, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
        );
        // SAFETY: new memory at an address that the kernel chooses.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), len, prot, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return Err(CL_MAP_FAILURE);
        }
        Ok(Self {
            address: address as usize,
            len,
        })
    }
}

impl Drop for Shadow {
    fn drop(&mut self) {
        // SAFETY: its own memory, which the program may not use after it
        // released the buffer.
        unsafe { libc::munmap(self.address as *mut c_void, self.len) };
    }
}

fn memory(object: &Object) -> CallResult<&Memory> {
    match object.details() {
        Details::Memory(memory) => Ok(memory),
        _ => Err(CL_INVALID_MEM_OBJECT),
    }
}

/// The guest address of a buffer's first byte.
fn base(buffer: &Object) -> CallResult<usize> {
    let memory = memory(buffer)?;
    if memory.host_ptr() != 0 {
        return Ok(memory.host_ptr());
    }
    if let (Some(origin), Some(whole)) = (memory.origin, buffer.parent()) {
        return Ok(base(&whole)? + origin);
    }
    if let Some(shadow) = memory.shadow.get() {
        return Ok(shadow.address);
    }
    let shadow = Shadow::new(memory.size)?;
    Ok(memory.shadow.get_or_init(|| shadow).address)
}

/// An enqueue on `queue` about `object`, before its arguments.
struct Enqueue {
    queue: Object,
    object: Object,
    waits: Vec<gil_wire::call::Handle>,
    signal: NewEvent,
    event: *mut cl_event,
}

impl Enqueue {
    /// # Safety
    /// As the wait list's of an enqueue.
    unsafe fn new(
        queue: cl_command_queue,
        object: cl_mem,
        (count, list): (cl_uint, *const cl_event),
        event: *mut cl_event,
    ) -> CallResult<Self> {
        let queue = find(Kind::CommandQueue, queue)?;
        let object = find(Kind::Mem, object)?;
        let context = |object: &Object| object.context().map(|c| c.number());
        if context(&queue) != context(&object) {
            return Err(CL_INVALID_CONTEXT);
        }
        Ok(Self {
            queue,
            object,
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
    pub(super) offset: usize,
    pub(super) size: usize,
}

/// `clEnqueueMapBuffer`.
///
/// # Safety
/// As `clEnqueueMapBuffer` in the OpenCL specification.
pub(super) unsafe fn map(
    entry: u64,
    queue: cl_command_queue,
    buffer: cl_mem,
    asked: &Asked,
    waits: (cl_uint, *const cl_event),
    event: *mut cl_event,
    errcode_ret: *mut cl_int,
) -> *mut c_void {
    // SAFETY: the caller's.
    unsafe {
        written(errcode_ret, || {
            let enqueue = Enqueue::new(queue, buffer, waits, event)?;
            memory(&enqueue.object)?.check_map(asked.flags, asked.offset, asked.size)?;
            let address = base(&enqueue.object)? + asked.offset;
            read_into(entry, &enqueue, asked, address)?;
            memory(&enqueue.object)?.mappings().push(Mapping {
                address,
                offset: asked.offset,
                size: asked.size,
                writes: asked.flags & !CL_MAP_READ != 0,
            });
            enqueue.give_event();
            Ok(address as *mut c_void)
        })
    }
}

fn read_into(entry: u64, enqueue: &Enqueue, asked: &Asked, address: usize) -> CallResult<()> {
    let mut request = enqueue.request(wire::CL_ENQUEUE_MAP_BUFFER, Engine::CopyOut, entry);
    request.blocking(asked.blocking);
    let memory = match asked.flags & CL_MAP_WRITE_INVALIDATE_REGION {
        // SAFETY: within the shadow, or the program's memory behind the buffer.
        0 => unsafe { request.output_region(address as *mut c_void, asked.size) },
        _ => OutRoom::Null,
    };
    let args = wire::ClEnqueueMapBufferArgs {
        command_queue: enqueue.queue.number(),
        buffer: enqueue.object.number(),
        map_flags: asked.flags,
        offset: asked.offset as u64,
        size: asked.size as u64,
        memory,
        event_wait_list: enqueue.waits.clone(),
        event: enqueue.signal,
    };
    request.forward(&args, |reply| {
        let reply: wire::ClEnqueueMapBufferReply = decode(reply)?;
        check(reply.result)
    })
}

/// `clEnqueueUnmapMemObject`.
///
/// # Safety
/// As `clEnqueueUnmapMemObject` in the OpenCL specification.
pub(super) unsafe fn unmap(
    entry: u64,
    queue: cl_command_queue,
    object: cl_mem,
    mapped: *mut c_void,
    waits: (cl_uint, *const cl_event),
    event: *mut cl_event,
) -> cl_int {
    returned(|| {
        // SAFETY: the caller's.
        let enqueue = unsafe { Enqueue::new(queue, object, waits, event) }?;
        let memory = memory(&enqueue.object)?;
        let mapping = memory.unmap(mapped as usize).ok_or(CL_INVALID_VALUE)?;
        if let Err(error) = write_back(entry, &enqueue, &mapping) {
            memory.mappings().push(mapping);
            return Err(error);
        }
        // SAFETY: the caller's.
        unsafe { enqueue.give_event() };
        Ok(())
    })
}

fn write_back(entry: u64, enqueue: &Enqueue, mapping: &Mapping) -> CallResult<()> {
    let mut request = enqueue.request(wire::CL_ENQUEUE_UNMAP_MEM_OBJECT, Engine::CopyIn, entry);
    let memory = match mapping.writes {
        // SAFETY: mapped memory, which the program may not change any more.
        true => unsafe { request.input(mapping.address as *const c_void, mapping.size) },
        false => InData::Null,
    };
    let args = wire::ClEnqueueUnmapMemObjectArgs {
        command_queue: enqueue.queue.number(),
        memobj: enqueue.object.number(),
        offset: mapping.offset as u64,
        size: mapping.size as u64,
        memory,
        event_wait_list: enqueue.waits.clone(),
        event: enqueue.signal,
    };
    request.forward(&args, |reply| {
        let reply: wire::ClEnqueueUnmapMemObjectReply = decode(reply)?;
        check(reply.result)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_mapped_is_refused() {
        let memory = Memory::new(CL_MEM_HOST_READ_ONLY, 100, 0);
        assert_eq!(memory.check_map(CL_MAP_READ, 0, 100), Ok(()));
        for (flags, offset, size) in [
            (CL_MAP_READ, 0, 0),
            (CL_MAP_READ, 1, 100),
            (CL_MAP_READ, usize::MAX, 2),
            (8, 0, 1),
            (CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION, 0, 1),
        ] {
            let result = memory.check_map(flags, offset, size);
            assert_eq!(result, Err(CL_INVALID_VALUE), "{flags} {offset} {size}");
        }
        let write = memory.check_map(CL_MAP_WRITE, 0, 1);
        assert_eq!(write, Err(CL_INVALID_OPERATION));
    }

    #[test]
    fn a_part_inherits_what_it_does_not_say() {
        let whole = Memory::new(CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, 100, 0x1000);
        let part = whole.part(0, 16, 8);
        assert_eq!(part.flags(), CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR);
        assert_eq!(part.host_ptr(), 0x1010);
        assert_eq!(
            whole.part(CL_MEM_WRITE_ONLY, 0, 8).flags() & ACCESS,
            CL_MEM_WRITE_ONLY
        );
        assert_eq!(Memory::new(0, 1, 0).flags(), CL_MEM_READ_WRITE);
    }
}
