//! Buffers in the program's memory. The board's driver has a buffer mapped only while it
//! copies: the program gets memory of the library's, and what it wrote there goes to the
//! board when it unmaps or flushes.

use super::{Context, shadow};
use crate::generated::manual::{Guest, Request};
use crate::generated::stubs;
use crate::generated::types::*;
use gil_egl::support::work;
use gil_guest::api::{Api, CallResult, Current, data};
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;
use shadow::Mapped;
use std::ffi::c_void;

const INVALID_OPERATION: i32 = GL_INVALID_OPERATION as i32;
const INVALID_VALUE: i32 = GL_INVALID_VALUE as i32;
/// Of `GL_OES_mapbuffer`.
const GL_WRITE_ONLY_OES: u32 = 0x88B9;

/// `glMapBufferRange`: the memory, or null if the board's driver refuses.
///
/// # Errors
/// The API's code.
pub fn map(
    entry: u64,
    current: &Context,
    target: u32,
    offset: isize,
    length: isize,
    access: u32,
) -> CallResult<*mut c_void> {
    let buffer = shadow::of(current).buffer(target);
    if shadow::of(current).mapped.contains_key(&buffer) {
        return Err(INVALID_OPERATION);
    }
    let len = usize::try_from(length).map_err(|_| INVALID_VALUE)?;
    let mut bytes = Vec::new();
    let room = bytes.try_reserve_exact(len);
    room.map_err(|_| GL_OUT_OF_MEMORY as i32)?;
    bytes.resize(len, 0);
    let mut bytes = bytes.into_boxed_slice();
    let place: *mut c_void = bytes.as_mut_ptr().cast();
    let discards = GL_MAP_INVALIDATE_RANGE_BIT | GL_MAP_INVALIDATE_BUFFER_BIT;
    let mut request: Request = match access & GL_MAP_READ_BIT {
        0 => Request::new(wire::GL_MAP_BUFFER_RANGE, Class::Sync, entry),
        // What the device wrote is there first.
        _ => work::handed_over(wire::GL_MAP_BUFFER_RANGE, entry, current, true),
    };
    let args = wire::GlMapBufferRangeArgs {
        current: current.number(),
        target,
        offset: offset as i64,
        length: length as i64,
        access,
        data: match access & discards {
            // SAFETY: there is as much space.
            0 => unsafe { request.output(place, len) },
            _ => gil_wire::call::OutRoom::Null,
        },
    };
    let is_mapped = request.forward(&args, |reply| {
        let reply: wire::GlMapBufferRangeReply<'_> = reply.decode()?;
        Guest::check(reply.result)?;
        // SAFETY: the same.
        unsafe { data::write_data(&reply.data, place, len) };
        Ok(reply.is_mapped)
    })?;
    if !is_mapped || buffer == 0 {
        return Ok(std::ptr::null_mut());
    }
    let mapped = Mapped {
        offset,
        access,
        bytes,
    };
    shadow::of(current).mapped.insert(buffer, mapped);
    Ok(place)
}

/// `glMapBufferOES`: all of a buffer, to be written. What the program does not write
/// stays.
///
/// # Errors
/// The API's code.
pub fn map_whole(
    entry: u64,
    current: &Context,
    target: u32,
    access: u32,
) -> CallResult<*mut c_void> {
    if access != GL_WRITE_ONLY_OES {
        return Err(GL_INVALID_ENUM as i32);
    }
    let mut size = 0;
    // SAFETY: this name has one value.
    unsafe { stubs::glGetBufferParameteriv(target, GL_BUFFER_SIZE, &mut size) };
    let access = GL_MAP_READ_BIT | GL_MAP_WRITE_BIT;
    map(entry, current, target, 0, size as isize, access)
}

/// `glUnmapBuffer`.
///
/// # Errors
/// The API's code.
pub fn unmap(current: &Context, target: u32) -> CallResult<()> {
    let buffer = shadow::of(current).buffer(target);
    let mapped = shadow::of(current).mapped.remove(&buffer);
    let mapped = mapped.ok_or(INVALID_OPERATION)?;
    let writes = GL_MAP_WRITE_BIT | GL_MAP_FLUSH_EXPLICIT_BIT;
    if mapped.access & writes == GL_MAP_WRITE_BIT {
        send(target, mapped.offset, &mapped.bytes);
    }
    Ok(())
}

/// `glFlushMappedBufferRange`.
///
/// # Errors
/// The API's code.
pub fn flush(current: &Context, target: u32, offset: isize, length: isize) -> CallResult<()> {
    let buffer = shadow::of(current).buffer(target);
    let shadow = shadow::of(current);
    let mapped = shadow.mapped.get(&buffer).ok_or(INVALID_OPERATION)?;
    if mapped.access & GL_MAP_FLUSH_EXPLICIT_BIT == 0 {
        return Err(INVALID_OPERATION);
    }
    let begin = usize::try_from(offset).map_err(|_| INVALID_VALUE)?;
    let len = usize::try_from(length).map_err(|_| INVALID_VALUE)?;
    let end = begin.checked_add(len).ok_or(INVALID_VALUE)?;
    let bytes = mapped.bytes.get(begin..end).ok_or(INVALID_VALUE)?;
    send(target, mapped.offset.saturating_add(offset), bytes);
    Ok(())
}

fn send(target: u32, offset: isize, bytes: &[u8]) {
    let len = bytes.len() as isize;
    // SAFETY: the bytes are there.
    unsafe {
        crate::generated::stubs::glBufferSubData(target, offset, len, bytes.as_ptr().cast());
    }
}

/// Where the program has the buffer of a target.
///
/// # Errors
/// The API's code.
pub fn pointer(target: u32) -> CallResult<*mut c_void> {
    let current = Guest::current()?;
    let shadow = shadow::of(&current);
    match shadow.buffer(target) {
        0 => Err(INVALID_OPERATION),
        buffer => {
            let mapped = shadow.mapped.get(&buffer);
            let place = mapped.map(|mapped| mapped.bytes.as_ptr().cast_mut().cast());
            Ok(place.unwrap_or(std::ptr::null_mut()))
        }
    }
}

/// A parameter of a buffer that says how it is mapped, if it is.
pub fn parameter(target: u32, name: u32) -> Option<GLint> {
    let current = Guest::current().ok()?;
    let shadow = shadow::of(&current);
    let mapped = shadow.mapped.get(&shadow.buffer(target))?;
    match name {
        GL_BUFFER_MAPPED => Some(1),
        GL_BUFFER_ACCESS_FLAGS => Some(mapped.access.cast_signed()),
        GL_BUFFER_MAP_OFFSET => GLint::try_from(mapped.offset).ok(),
        GL_BUFFER_MAP_LENGTH => GLint::try_from(mapped.bytes.len()).ok(),
        _ => None,
    }
}
