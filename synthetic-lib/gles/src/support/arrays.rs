//! Draws. What vertex attributes and indices are in the program's memory goes to the
//! board with each draw, since the program may change it between them.

use super::{Context, shadow};
use crate::generated::manual::{Guest, Request};
use crate::generated::types::*;
use gil_gles_common::arrays::{index_bytes, index_range};
use gil_guest::api::{Api, CallResult, Current};
use gil_wire::Op;
use gil_wire::call::InData;
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;
use shadow::{Array, Attribute, Shadow};
use std::ffi::c_void;

/// The code of what does not fit a machine.
const TOO_LARGE: i32 = GL_OUT_OF_MEMORY as i32;

/// An enabled attribute whose array is in the program's memory.
#[derive(Clone, Copy)]
struct InMemory {
    index: u32,
    pointer: usize,
    array: Array,
    divisor: u32,
}

impl InMemory {
    /// Its first element and their number, of those that a draw of these vertices and so
    /// many instances reads.
    fn elements(&self, first: u32, vertices: u32, instances: u32) -> (u32, u32) {
        match self.divisor {
            0 => (first, vertices),
            divisor => (0, instances.div_ceil(divisor)),
        }
    }
}

fn in_memory(current: &Context) -> Vec<InMemory> {
    let mut shadow = shadow::of(current);
    if !shadow.reads_memory() {
        return Vec::new();
    }
    let all = shadow.array().attributes.iter().enumerate();
    let own = all.filter(|(_, it)| it.is_in_memory());
    let found = own.filter_map(|(index, it)| {
        Some(InMemory {
            index: u32::try_from(index).ok()?,
            pointer: it.pointer,
            array: it.array?,
            divisor: it.divisor,
        })
    });
    found.collect()
}

/// What a draw reads of such an array.
#[derive(Clone, Copy)]
struct Span {
    of: InMemory,
    /// The first element.
    first: u32,
    /// Its address, and that behind the last one.
    begin: usize,
    end: usize,
}

impl Span {
    fn new(of: InMemory, (first, count): (u32, u32)) -> Option<Self> {
        let layout = of.array.layout;
        let begin = of.pointer.checked_add(layout.offset(first)?)?;
        Some(Self {
            of,
            first,
            begin,
            end: begin.checked_add(layout.bytes(count)?)?,
        })
    }
}

/// Sends an array: with `block`, the addresses of what it shares with those behind it;
/// without, it is in the block before, `offset` bytes from its begin.
///
/// # Safety
/// The program's memory has the block.
unsafe fn send(
    entry: u64,
    current: &Context,
    span: Span,
    offset: usize,
    block: Option<(usize, usize)>,
) -> CallResult<()> {
    let array = span.of.array;
    let mut request = Request::new(wire::GIL_CLIENT_ARRAY, Class::Post, entry);
    let args = wire::GilClientArrayArgs {
        current: current.number(),
        index: span.of.index,
        size: array.size,
        r#type: array.ty,
        normalized: array.normalized,
        is_integer: array.is_integer,
        stride: array.stride,
        first: span.first,
        offset: offset as u64,
        data: match block {
            // SAFETY: the caller's.
            Some((begin, end)) => unsafe { request.input(begin as *const c_void, end - begin) },
            None => InData::Null,
        },
    };
    request.post(&args)
}

/// Sends what a draw of these vertices, in so many instances, reads of the program's
/// memory. Numbers that the API refuses are the driver's affair.
///
/// # Safety
/// The arrays have the elements.
unsafe fn send_all(
    entry: u64,
    current: &Context,
    (first, count): (i32, i32),
    instances: i32,
) -> CallResult<()> {
    let (Ok(first), Ok(count @ 1..), Ok(instances @ 1..)) = (
        u32::try_from(first),
        u32::try_from(count),
        u32::try_from(instances),
    ) else {
        return Ok(());
    };
    let own = in_memory(current);
    if own.is_empty() {
        return Ok(());
    }
    let spans = own
        .into_iter()
        .map(|it| Span::new(it, it.elements(first, count, instances)));
    let mut spans = spans.collect::<Option<Vec<_>>>().ok_or(TOO_LARGE)?;
    spans.sort_by_key(|span| span.begin);
    let mut rest = &spans[..];
    while let Some(begin) = rest.first().map(|span| span.begin) {
        let (mut end, mut shared) = (begin, 0);
        // Interleaved arrays: their memory travels once.
        while let Some(span) = rest.get(shared)
            && (shared == 0 || span.begin < end)
        {
            end = end.max(span.end);
            shared += 1;
        }
        let (block, behind) = rest.split_at(shared);
        for (n, span) in block.iter().enumerate() {
            let shared = (n == 0).then_some((begin, end));
            // SAFETY: the caller's; each byte is one of the arrays'.
            unsafe { send(entry, current, *span, span.begin - begin, shared) }?;
        }
        rest = behind;
    }
    Ok(())
}

/// `glDrawArrays`.
///
/// # Safety
/// Arrays in memory have the elements that it draws.
pub unsafe fn draw(entry: u64, mode: u32, (first, count): (i32, i32)) -> CallResult<()> {
    let current = Guest::current_number()?;
    if shadow::with(|shadow| shadow.reads_memory())? {
        // SAFETY: the caller's.
        unsafe { send_all(entry, &Guest::current()?, (first, count), 1) }?;
    }
    Guest::post_numbers(wire::GL_DRAW_ARRAYS, entry, |to| {
        to.handle(current);
        to.number(mode.into());
        to.signed(first.into());
        to.signed(count.into());
    })
}

/// `glDrawArraysInstanced`.
///
/// # Safety
/// As [`draw`].
pub unsafe fn draw_instanced(
    entry: u64,
    mode: u32,
    (first, count): (i32, i32),
    instances: i32,
) -> CallResult<()> {
    let current = Guest::current_number()?;
    if shadow::with(|shadow| shadow.reads_memory())? {
        // SAFETY: the caller's.
        unsafe { send_all(entry, &Guest::current()?, (first, count), instances) }?;
    }
    Guest::post_numbers(wire::GL_DRAW_ARRAYS_INSTANCED, entry, |to| {
        to.handle(current);
        to.number(mode.into());
        to.signed(first.into());
        to.signed(count.into());
        to.signed(instances.into());
    })
}

/// A draw by indices: mode, number of indices and their type.
pub type Elements = (u32, i32, u32);

/// What a draw by indices takes beside [`Elements`].
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// `glDrawElements`.
    Plain,
    /// `glDrawElementsInstanced`: instances.
    Instanced(i32),
    /// `glDrawRangeElements`: the smallest and largest index that there may be.
    Ranged(u32, u32),
}

impl Kind {
    fn instances(self) -> i32 {
        match self {
            Self::Instanced(instances) => instances,
            Self::Plain | Self::Ranged(..) => 1,
        }
    }

    /// The call of this kind; `based` if it adds a number to each index.
    fn op(self, based: bool) -> Op {
        match (self, based) {
            (Self::Plain, false) => wire::GL_DRAW_ELEMENTS,
            (Self::Instanced(_), false) => wire::GL_DRAW_ELEMENTS_INSTANCED,
            (Self::Ranged(..), false) => wire::GL_DRAW_RANGE_ELEMENTS,
            (Self::Plain, true) => wire::GL_DRAW_ELEMENTS_BASE_VERTEX,
            (Self::Instanced(_), true) => wire::GL_DRAW_ELEMENTS_INSTANCED_BASE_VERTEX,
            (Self::Ranged(..), true) => wire::GL_DRAW_RANGE_ELEMENTS_BASE_VERTEX,
        }
    }
}

/// `glDrawElements` and its like; `base` is added to each index.
///
/// # Safety
/// The indices are where they are said to be, and arrays in memory have the elements
/// that they name.
pub unsafe fn draw_elements(
    entry: u64,
    elements: Elements,
    kind: Kind,
    base: Option<i32>,
    indices: *const c_void,
) -> CallResult<()> {
    let is_in_buffers = shadow::with(|shadow| {
        let indices = shadow.buffer(GL_ELEMENT_ARRAY_BUFFER);
        indices != 0 && !shadow.reads_memory()
    })?;
    match base {
        None if is_in_buffers => draw_bound(entry, elements, kind, indices as u64),
        // SAFETY: the caller's.
        _ => unsafe { draw_sent(entry, &Guest::current()?, elements, kind, base, indices) },
    }
}

/// The same of indices at an offset into a buffer, which are added to nothing, and of arrays
/// in buffers: most draws.
#[inline]
fn draw_bound(entry: u64, (mode, count, ty): Elements, kind: Kind, offset: u64) -> CallResult<()> {
    const NO_INDICES: u8 = 0; // `InData::Null`
    let current = Guest::current_number()?;
    match kind {
        Kind::Plain => Guest::post_numbers(wire::GL_DRAW_ELEMENTS, entry, |to| {
            to.handle(current);
            to.number(mode.into());
            to.signed(count.into());
            to.number(ty.into());
            to.number(offset);
            to.byte(NO_INDICES);
        }),
        Kind::Instanced(instances) => {
            Guest::post_numbers(wire::GL_DRAW_ELEMENTS_INSTANCED, entry, |to| {
                to.handle(current);
                to.number(mode.into());
                to.signed(count.into());
                to.number(ty.into());
                to.signed(instances.into());
                to.number(offset);
                to.byte(NO_INDICES);
            })
        }
        Kind::Ranged(start, end) => {
            Guest::post_numbers(wire::GL_DRAW_RANGE_ELEMENTS, entry, |to| {
                to.handle(current);
                to.number(mode.into());
                to.number(start.into());
                to.number(end.into());
                to.signed(count.into());
                to.number(ty.into());
                to.number(offset);
                to.byte(NO_INDICES);
            })
        }
    }
}

/// The same of indices or arrays that go along, or are added to.
///
/// # Safety
/// As [`draw_elements`].
#[inline(never)]
unsafe fn draw_sent(
    entry: u64,
    current: &Context,
    (mode, count, ty): Elements,
    kind: Kind,
    base: Option<i32>,
    indices: *const c_void,
) -> CallResult<()> {
    let is_bound = shadow::of(current).buffer(GL_ELEMENT_ARRAY_BUFFER) != 0;
    let size = index_bytes(ty).zip(usize::try_from(count).ok());
    let len = size.map_or(Some(0), |(size, count)| size.checked_mul(count));
    let len = len.ok_or(TOO_LARGE)?;
    if len > 0 && !in_memory(current).is_empty() {
        let range = match is_bound {
            true => range_in_buffer(entry, current, count, ty, indices as u64)?,
            // The board refuses it.
            false if indices.is_null() => None,
            // SAFETY: the caller's.
            false => index_range(
                unsafe { std::slice::from_raw_parts(indices.cast(), len) },
                ty,
                shadow::of(current).restarts,
            ),
        };
        if let Some((least, most)) = range {
            let vertices = (most - least).checked_add(1).ok_or(TOO_LARGE)?;
            let vertices = i32::try_from(vertices).map_err(|_| TOO_LARGE)?;
            let first = i64::from(least) + i64::from(base.unwrap_or(0));
            let first = i32::try_from(first).map_err(|_| TOO_LARGE)?;
            // SAFETY: the caller's.
            unsafe { send_all(entry, current, (first, vertices), kind.instances()) }?;
        }
    }
    let current = current.number();
    let mut request = Request::new(kind.op(base.is_some()), Class::Post, entry);
    let (offset, indices) = match is_bound {
        true => (indices as u64, InData::Null),
        // SAFETY: the caller's.
        false => (0, unsafe { request.input(indices, len) }),
    };
    let r#type = ty;
    match (kind, base) {
        (Kind::Plain, None) => request.post(&wire::GlDrawElementsArgs {
            current,
            mode,
            count,
            r#type,
            offset,
            indices,
        }),
        (Kind::Instanced(instances), None) => request.post(&wire::GlDrawElementsInstancedArgs {
            current,
            mode,
            count,
            r#type,
            instances,
            offset,
            indices,
        }),
        (Kind::Ranged(start, end), None) => request.post(&wire::GlDrawRangeElementsArgs {
            current,
            mode,
            start,
            end,
            count,
            r#type,
            offset,
            indices,
        }),
        (Kind::Plain, Some(base)) => request.post(&wire::GlDrawElementsBaseVertexArgs {
            current,
            mode,
            count,
            r#type,
            offset,
            indices,
            base,
        }),
        (Kind::Instanced(instances), Some(base)) => {
            request.post(&wire::GlDrawElementsInstancedBaseVertexArgs {
                current,
                mode,
                count,
                r#type,
                offset,
                indices,
                base,
                instances,
            })
        }
        (Kind::Ranged(start, end), Some(base)) => {
            request.post(&wire::GlDrawRangeElementsBaseVertexArgs {
                current,
                mode,
                count,
                r#type,
                offset,
                indices,
                base,
                start,
                end,
            })
        }
    }
}

/// The counts of several draws in one call: what is wrong with one of them is wrong with
/// the call.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `count` is null or has `draws` numbers.
unsafe fn counts<'a>(count: *const GLsizei, draws: GLsizei) -> CallResult<&'a [GLsizei]> {
    let draws = usize::try_from(draws).map_err(|_| GL_INVALID_VALUE as i32)?;
    if count.is_null() {
        return Ok(&[]);
    }
    // SAFETY: the caller's.
    let counts = unsafe { std::slice::from_raw_parts(count, draws) };
    match counts.iter().any(|count| *count < 0) {
        true => Err(GL_INVALID_VALUE as i32),
        false => Ok(counts),
    }
}

/// `glMultiDrawArraysEXT`.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// The lists have `draws` numbers; for each as [`draw`].
pub unsafe fn draw_several(
    entry: u64,
    mode: u32,
    (first, count): (*const GLint, *const GLsizei),
    draws: GLsizei,
) -> CallResult<()> {
    // SAFETY: the caller's.
    unsafe {
        for (at, count) in counts(count, draws)?.iter().enumerate() {
            draw(entry, mode, (*first.add(at), *count))?;
        }
    }
    Ok(())
}

/// `glMultiDrawElementsEXT`.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// The lists have `draws` numbers and addresses; for each as [`draw_elements`].
pub unsafe fn draw_several_elements(
    entry: u64,
    (mode, ty): (u32, u32),
    (count, indices): (*const GLsizei, *const *const c_void),
    bases: Option<*const GLint>,
    draws: GLsizei,
) -> CallResult<()> {
    // SAFETY: the caller's.
    unsafe {
        for (at, count) in counts(count, draws)?.iter().enumerate() {
            let (elements, indices) = ((mode, *count, ty), *indices.add(at));
            let base = bases.map(|bases| *bases.add(at));
            draw_elements(entry, elements, Kind::Plain, base, indices)?;
        }
    }
    Ok(())
}

/// Notes where an array is, in the place that `of` finds, if it is one that the API takes;
/// the offset into the buffer that has it.
///
/// # Errors
/// The API's code.
pub fn describe(
    shadow: &mut Shadow,
    array: Option<Array>,
    pointer: *const c_void,
    of: impl FnOnce(&mut Shadow) -> Option<&mut Attribute>,
) -> CallResult<u64> {
    let buffer = shadow.buffer(GL_ARRAY_BUFFER);
    if buffer == 0 && shadow.has_vertex_array() && !pointer.is_null() {
        return Err(GL_INVALID_OPERATION as i32);
    }
    if array.is_some()
        && let Some(attribute) = of(shadow)
    {
        (attribute.buffer, attribute.pointer) = (buffer, pointer as usize);
        attribute.array = array;
    }
    Ok(if buffer == 0 { 0 } else { pointer as u64 })
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
    pub fn array(
        (size, ty, stride): (i32, u32, i32),
        normalized: u8,
        is_integer: bool,
    ) -> Option<Array> {
        Some(Array {
            layout: gil_gles_common::arrays::Layout::new(size, ty, stride)?,
            size,
            ty,
            normalized,
            is_integer,
            stride,
        })
    }
}
