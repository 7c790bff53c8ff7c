//! Buffers in the program's memory. While one is mapped, the board's driver has it mapped
//! too; the program gets memory of the library's, and what it wrote there goes to the
//! board when it unmaps or flushes.

use super::{Context, shadow};
use crate::generated::manual::{Guest, Request};
use crate::generated::stubs;
use crate::generated::types::*;
use gil_egl::support::work;
use gil_guest::api::{Api, CallResult, Current, data};
use gil_wire::call::InData;
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;
use shadow::Mapped;
use std::ffi::c_void;

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
    let mapped = Mapped { access, bytes };
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
    map(entry, current, target, 0, size as isize, GL_MAP_WRITE_BIT)
}

/// `glUnmapBuffer`: whether the buffer has what the program wrote.
///
/// # Errors
/// The API's code.
pub fn unmap(entry: u64, current: &Context, target: u32) -> CallResult<GLboolean> {
    let buffer = shadow::of(current).buffer(target);
    let mapped = shadow::of(current).mapped.remove(&buffer);
    let mut request = Request::new(wire::GL_UNMAP_BUFFER, Class::Sync, entry);
    let writes = GL_MAP_WRITE_BIT | GL_MAP_FLUSH_EXPLICIT_BIT;
    let written = mapped
        .as_ref()
        .filter(|mapped| mapped.access & writes == GL_MAP_WRITE_BIT);
    let args = wire::GlUnmapBufferArgs {
        current: current.number(),
        target,
        data: input(&mut request, written.map(|mapped| &mapped.bytes[..])),
    };
    request.forward(&args, |reply| {
        let reply: wire::GlUnmapBufferReply = reply.decode()?;
        Guest::check(reply.result)?;
        Ok(reply.value)
    })
}

/// `glFlushMappedBufferRange`. What is wrong the board's driver finds.
///
/// # Errors
/// The API's code.
pub fn flush(
    entry: u64,
    current: &Context,
    target: u32,
    offset: isize,
    length: isize,
) -> CallResult<()> {
    let shadow = shadow::of(current);
    let mapped = shadow.mapped.get(&shadow.buffer(target));
    let mapped = mapped.filter(|mapped| mapped.access & GL_MAP_FLUSH_EXPLICIT_BIT != 0);
    let range = usize::try_from(offset)
        .ok()
        .zip(usize::try_from(length).ok());
    let range = range.and_then(|(begin, len)| Some(begin..begin.checked_add(len)?));
    let bytes = mapped.zip(range);
    let bytes = bytes.and_then(|(mapped, range)| mapped.bytes.get(range));
    let mut request = Request::new(wire::GL_FLUSH_MAPPED_BUFFER_RANGE, Class::Sync, entry);
    let args = wire::GlFlushMappedBufferRangeArgs {
        current: current.number(),
        target,
        offset: offset as i64,
        length: length as i64,
        data: input(&mut request, bytes),
    };
    request.forward(&args, |reply| {
        let reply: wire::GlFlushMappedBufferRangeReply = reply.decode()?;
        Guest::check(reply.result)
    })
}

/// Bytes for the board, if there are some.
fn input<'a>(request: &mut Request, bytes: Option<&[u8]>) -> InData<'a> {
    match bytes {
        // SAFETY: the bytes stay until the request is answered.
        Some(bytes) => unsafe { request.input(bytes.as_ptr().cast(), bytes.len()) },
        None => InData::Null,
    }
}

/// Where the program has the buffer of a target.
///
/// # Errors
/// The API's code.
pub fn pointer(target: u32) -> CallResult<*mut c_void> {
    let current = Guest::current()?;
    let buffer = shadow::of(&current).buffer(target);
    if buffer == 0 {
        let mut none = 0;
        // The board's driver finds what is wrong: the target, or that it has no buffer.
        // SAFETY: this name has one value.
        unsafe { stubs::glGetBufferParameteriv(target, GL_BUFFER_MAPPED, &mut none) };
        return Err(Guest::SILENT);
    }
    let shadow = shadow::of(&current);
    let mapped = shadow.mapped.get(&buffer);
    let place = mapped.map(|mapped| mapped.bytes.as_ptr().cast_mut().cast());
    Ok(place.unwrap_or(std::ptr::null_mut()))
}
