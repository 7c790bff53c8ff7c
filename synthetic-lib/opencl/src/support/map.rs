//! Mapped memory objects. Mapping reads a part of the object into the guest's
//! memory, unmapping writes it back.

use super::elements::{layout, three};
use super::enqueue::Enqueue;
use super::memory::{Mapping, Place, base, memory};
use crate::generated::manual::Guest;
use crate::generated::types::*;
use gil_guest::{Api, CallResult, data};
use gil_wire::call::{InData, OutRoom};
use gil_wire::envelope::Engine;
use gil_wire::generated::opencl as wire;
use std::ffi::c_void;

/// A program's request to map.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) blocking: bool,
    pub(super) flags: cl_map_flags,
}

impl Asked {
    fn mapping(&self, address: usize, place: Place) -> Mapping {
        Mapping {
            address,
            place,
            writes: self.flags & !CL_MAP_READ != 0,
        }
    }

    /// Whether what is there now is read.
    fn reads(&self) -> bool {
        self.flags & CL_MAP_WRITE_INVALIDATE_REGION == 0
    }
}

/// `clEnqueueMapBuffer`.
///
/// # Safety
/// As `clEnqueueMapBuffer` in the OpenCL specification.
pub(super) unsafe fn map_buffer(
    entry: u64,
    (queue, buffer): (cl_command_queue, cl_mem),
    asked: Asked,
    (offset, size): (usize, usize),
    waits: (cl_uint, *const cl_event),
    event: *mut cl_event,
    errcode_ret: *mut cl_int,
) -> *mut c_void {
    // SAFETY: the caller's.
    unsafe {
        Guest::written(errcode_ret, || {
            let enqueue = Enqueue::new(queue, buffer, waits, event)?;
            let memory = memory(&enqueue.object)?;
            if memory.as_image().is_some() {
                return Err(CL_INVALID_MEM_OBJECT);
            }
            memory.check_bytes(offset, size)?;
            memory.check_map(asked.flags)?;
            let address = base(&enqueue.object)? + offset;
            let mapping = asked.mapping(address, Place::Bytes { offset, size });
            keep_written(entry, &enqueue, asked, &mapping)?;
            read_bytes(entry, &enqueue, asked, address, (offset, size))?;
            memory.map(mapping);
            enqueue.give_event();
            Ok(address as *mut c_void)
        })
    }
}

fn read_bytes(
    entry: u64,
    enqueue: &Enqueue,
    asked: Asked,
    address: usize,
    (offset, size): (usize, usize),
) -> CallResult<()> {
    let mut request = enqueue.request(wire::CL_ENQUEUE_MAP_BUFFER, Engine::COPY_OUT, entry);
    request.blocking(asked.blocking);
    let memory = match asked.reads() {
        // SAFETY: within the shadow, or the program's memory behind the buffer.
        true => unsafe { request.output_region(address as *mut c_void, size) },
        false => OutRoom::Null,
    };
    let args = wire::ClEnqueueMapBufferArgs {
        command_queue: enqueue.queue.number(),
        buffer: enqueue.object.number(),
        map_flags: asked.flags,
        offset: offset as u64,
        size: size as u64,
        memory,
        event_wait_list: enqueue.waits.clone(),
        event: enqueue.signal,
    };
    request.forward(&args, |reply| {
        let reply: wire::ClEnqueueMapBufferReply = reply.decode()?;
        Guest::check(reply.result)
    })
}

/// `clEnqueueMapImage`.
///
/// # Safety
/// As `clEnqueueMapImage` in the OpenCL specification.
pub(super) unsafe fn map_image(
    entry: u64,
    (queue, image): (cl_command_queue, cl_mem),
    asked: Asked,
    (origin, region): (*const usize, *const usize),
    (row_pitch, slice_pitch): (*mut usize, *mut usize),
    (waits, event): ((cl_uint, *const cl_event), *mut cl_event),
    errcode_ret: *mut cl_int,
) -> *mut c_void {
    // SAFETY: the caller's.
    unsafe {
        Guest::written(errcode_ret, || {
            let enqueue = Enqueue::new(queue, image, waits, event)?;
            let layout = layout(&enqueue.object)?;
            let (origin, region) = (three(origin)?, three(region)?);
            let has_slices = layout.form.has_slices();
            if row_pitch.is_null() || has_slices && slice_pitch.is_null() {
                return Err(CL_INVALID_VALUE);
            }
            if !layout.contains(origin, region) {
                return Err(CL_INVALID_VALUE);
            }
            let memory = memory(&enqueue.object)?;
            memory.check_map(asked.flags)?;
            let offset = layout.offset(origin).get().ok_or(CL_INVALID_VALUE)?;
            let address = base(&enqueue.object)? + offset;
            let rows = layout.rows(region);
            let place = Place::Elements {
                origin,
                region,
                rows,
            };
            let mapping = asked.mapping(address, place);
            keep_written(entry, &enqueue, asked, &mapping)?;
            read_elements(entry, &enqueue, asked, &mapping)?;
            memory.map(mapping);
            data::write(row_pitch, layout.row_pitch as usize);
            let slices = if has_slices { layout.slice_pitch } else { 0 };
            data::write(slice_pitch, slices as usize);
            enqueue.give_event();
            Ok(address as *mut c_void)
        })
    }
}

fn read_elements(entry: u64, enqueue: &Enqueue, asked: Asked, mapping: &Mapping) -> CallResult<()> {
    let Place::Elements {
        origin,
        region,
        rows,
    } = mapping.place
    else {
        return Err(CL_INVALID_MEM_OBJECT);
    };
    let mut request = enqueue.request(wire::CL_ENQUEUE_MAP_IMAGE, Engine::COPY_OUT, entry);
    request.blocking(asked.blocking);
    let memory = match asked.reads() {
        // SAFETY: within the shadow, or the program's memory behind the image.
        true => unsafe { request.output_rows(mapping.address as *mut c_void, rows) }?,
        false => OutRoom::Null,
    };
    let args = wire::ClEnqueueMapImageArgs {
        command_queue: enqueue.queue.number(),
        image: enqueue.object.number(),
        map_flags: asked.flags,
        origin: origin.to_vec(),
        region: region.to_vec(),
        memory,
        event_wait_list: enqueue.waits.clone(),
        event: enqueue.signal,
    };
    request.forward(&args, |reply| {
        let reply: wire::ClEnqueueMapImageReply = reply.decode()?;
        Guest::check(reply.result)
    })
}

/// Writes back what the program may have written through mappings that overlap
/// with a new one, which would read older bytes over it.
fn keep_written(entry: u64, enqueue: &Enqueue, asked: Asked, new: &Mapping) -> CallResult<()> {
    if !asked.reads() {
        return Ok(());
    }
    for written in memory(&enqueue.object)?.written_in(&new.place) {
        write_back(entry, &enqueue.before(), &written, true)?;
    }
    Ok(())
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
    Guest::returned(|| {
        // SAFETY: the caller's.
        let enqueue = unsafe { Enqueue::new(queue, object, waits, event) }?;
        let memory = memory(&enqueue.object)?;
        let (mapping, left) = memory.unmap(mapped as usize).ok_or(CL_INVALID_VALUE)?;
        let write_left = |left: &Mapping| write_back(entry, &enqueue.before(), left, true);
        let written = left.iter().try_for_each(|left| write_left(left).map(drop));
        if let Err(error) = written.and_then(|()| end_mapping(entry, &enqueue, &mapping)) {
            memory.map(mapping);
            return Err(error);
        }
        // SAFETY: the caller's.
        unsafe { enqueue.give_event() };
        Ok(())
    })
}

/// Writes back what was mapped for writing. A mapping that is not complete,
/// because it waits for an event that nobody has set, cannot have been written
/// to: it ends when that comes, and this thread does not wait for it.
fn end_mapping(entry: u64, enqueue: &Enqueue, mapping: &Mapping) -> CallResult<()> {
    match mapping.writes && write_back(entry, enqueue, mapping, true)? {
        true => Ok(()),
        false => write_back(entry, enqueue, mapping, false).map(drop),
    }
}

/// Ends a mapping, and writes it back if `writes`. False if nothing was done
/// because the memory still belongs to an operation that cannot end yet.
fn write_back(entry: u64, enqueue: &Enqueue, mapping: &Mapping, writes: bool) -> CallResult<bool> {
    let mut request = enqueue.request(wire::CL_ENQUEUE_UNMAP_MEM_OBJECT, Engine::COPY_IN, entry);
    let mut args = wire::ClEnqueueUnmapMemObjectArgs {
        command_queue: enqueue.queue.number(),
        memobj: enqueue.object.number(),
        offset: 0,
        size: 0,
        origin: Vec::new(),
        region: Vec::new(),
        memory: InData::Null,
        event_wait_list: enqueue.waits.clone(),
        event: enqueue.signal,
    };
    request.blocking(enqueue.is_first);
    let address = mapping.address as *const c_void;
    match mapping.place {
        Place::Bytes { offset, size } => {
            (args.offset, args.size) = (offset as u64, size as u64);
            if writes {
                // SAFETY: mapped memory, which the program may not change any more.
                args.memory = unsafe { request.input(address, size) };
            }
        }
        Place::Elements {
            origin,
            region,
            rows,
        } => {
            (args.origin, args.region) = (origin.to_vec(), region.to_vec());
            if writes {
                // SAFETY: as above.
                args.memory = unsafe { request.input_rows(address, rows) }?;
            }
        }
    }
    let done = request.try_forward(&args, |reply| {
        let reply: wire::ClEnqueueUnmapMemObjectReply = reply.decode()?;
        Guest::check(reply.result)
    })?;
    Ok(done.is_some())
}
