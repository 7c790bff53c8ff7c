//! Draws. What vertex attributes and indices are in the program's memory goes to the
//! board with each draw, since the program may change it between them.

use super::{Context, shadow};
use crate::generated::manual::{Guest, Request};
use crate::generated::types::*;
use gil_gles_common::arrays::{index_bytes, index_range};
use gil_guest::api::CallResult;
use gil_wire::call::InData;
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;
use shadow::Array;
use std::ffi::c_void;

/// The code of what does not fit a machine.
const TOO_LARGE: i32 = GL_OUT_OF_MEMORY as i32;

/// The enabled attributes whose arrays are in the program's memory: number, address,
/// array.
fn in_memory(current: &Context) -> Vec<(u32, usize, Array)> {
    let shadow = shadow::of(current);
    let all = shadow.attributes.iter().enumerate();
    let own = all.filter(|(_, it)| it.is_enabled && it.buffer == 0 && it.pointer != 0);
    own.filter_map(|(index, it)| Some((u32::try_from(index).ok()?, it.pointer, it.array?)))
        .collect()
}

/// Sends the elements from `first` on of such an array.
///
/// # Safety
/// The program's array has them.
unsafe fn send(
    entry: u64,
    current: &Context,
    (index, pointer, array): (u32, usize, Array),
    first: u32,
    count: u32,
) -> CallResult<()> {
    let begin = array.layout.offset(first).ok_or(TOO_LARGE)?;
    let len = array.layout.bytes(count).ok_or(TOO_LARGE)?;
    let at = pointer.checked_add(begin).ok_or(TOO_LARGE)? as *const c_void;
    let mut request = Request::new(wire::GIL_CLIENT_ARRAY, Class::Post, entry);
    let args = wire::GilClientArrayArgs {
        current: current.number(),
        index,
        size: array.size,
        r#type: array.ty,
        normalized: array.normalized,
        stride: array.stride,
        first,
        // SAFETY: the caller's.
        data: unsafe { request.input(at, len) },
    };
    request.post(&args)
}

/// `glDrawArrays`.
///
/// # Safety
/// Arrays in memory have the elements that it draws.
pub unsafe fn draw(
    entry: u64,
    current: &Context,
    mode: u32,
    first: i32,
    count: i32,
) -> CallResult<()> {
    // Numbers that the API refuses are the driver's affair.
    if let (Ok(from), Ok(vertices @ 1..)) = (u32::try_from(first), u32::try_from(count)) {
        for array in in_memory(current) {
            // SAFETY: the caller's.
            unsafe { send(entry, current, array, from, vertices) }?;
        }
    }
    let request = Request::new(wire::GL_DRAW_ARRAYS, Class::Post, entry);
    request.post(&wire::GlDrawArraysArgs {
        current: current.number(),
        mode,
        first,
        count,
    })
}

/// `glDrawElements`.
///
/// # Safety
/// The indices are where they are said to be, and arrays in memory have the elements
/// that they name.
pub unsafe fn draw_elements(
    entry: u64,
    current: &Context,
    (mode, count, ty): (u32, i32, u32),
    indices: *const c_void,
) -> CallResult<()> {
    let is_bound = shadow::of(current).element_buffer != 0;
    let size = index_bytes(ty).zip(usize::try_from(count).ok());
    let len = size.map_or(Some(0), |(size, count)| size.checked_mul(count));
    let len = len.ok_or(TOO_LARGE)?;
    let own = in_memory(current);
    if !own.is_empty() && len > 0 {
        let range = match is_bound {
            true => range_in_buffer(entry, current, count, ty, indices as u64)?,
            // SAFETY: the caller's.
            false => index_range(
                unsafe { std::slice::from_raw_parts(indices.cast(), len) },
                ty,
            ),
        };
        if let Some((least, most)) = range {
            for array in own {
                let vertices = (most - least).checked_add(1).ok_or(TOO_LARGE)?;
                // SAFETY: the caller's.
                unsafe { send(entry, current, array, least, vertices) }?;
            }
        }
    }
    let mut request = Request::new(wire::GL_DRAW_ELEMENTS, Class::Post, entry);
    let args = wire::GlDrawElementsArgs {
        current: current.number(),
        mode,
        count,
        r#type: ty,
        offset: if is_bound { indices as u64 } else { 0 },
        indices: match is_bound {
            true => InData::Null,
            // SAFETY: the caller's.
            false => unsafe { request.input(indices, len) },
        },
    };
    request.post(&args)
}

/// The smallest and largest index in the buffer that is bound.
fn range_in_buffer(
    entry: u64,
    current: &Context,
    count: i32,
    ty: u32,
    offset: u64,
) -> CallResult<Option<(u32, u32)>> {
    let request = Request::new(wire::GIL_INDEX_RANGE, Class::Query, entry);
    let args = wire::GilIndexRangeArgs {
        current: current.number(),
        count,
        r#type: ty,
        offset,
    };
    request.forward(&args, |reply| {
        let reply: wire::GilIndexRangeReply = reply.decode()?;
        Ok((reply.least <= reply.most).then_some((reply.least, reply.most)))
    })
}

impl Guest {
    /// The bytes of an array that the program describes; where none, the driver finds
    /// what is wrong.
    pub fn array(size: i32, ty: u32, normalized: u8, stride: i32) -> Option<Array> {
        Some(Array {
            layout: gil_gles_common::arrays::Layout::new(size, ty, stride)?,
            size,
            ty,
            normalized,
            stride,
        })
    }
}
