//! Draws. A driver reads arrays of the program's memory where the program said they
//! are: here these are copies, which live until the next one, and no draw reads beyond
//! them.

use super::Gles;
use super::generated::types::*;
use crate::back_end::{Call, Current, Objects, Refusal};
use gil_gles_common::arrays::{Layout, index_bytes, index_range};
use gil_gles_common::fixed::Array;
use gil_wire::call::{Handle, InData};
use gil_wire::generated::gles as wire;
use std::ffi::c_void;
use std::ptr::null;
use std::sync::Arc;

/// A copy of elements of an array.
#[derive(Debug)]
pub struct Held {
    /// The first element's number.
    first: u32,
    /// How many there are.
    count: u32,
    /// Memory with them, which the driver has the address of. Interleaved arrays share
    /// it.
    _memory: Arc<[u8]>,
}

impl Held {
    /// Whether all of these are there.
    fn covers(&self, first: u32, last: u32) -> bool {
        first >= self.first && u64::from(last) < u64::from(self.first) + u64::from(self.count)
    }
}

/// What a draw by indices names.
#[derive(Debug)]
pub struct Elements<'a> {
    /// The context.
    pub current: Handle,
    /// How many indices.
    pub count: GLint,
    /// Their type.
    pub ty: GLenum,
    /// Where they are in the buffer that is bound.
    pub offset: u64,
    /// They themselves, if none is.
    pub indices: &'a InData<'a>,
    /// How often they are drawn.
    pub instances: GLint,
    /// What is added to each index.
    pub base: GLint,
}

/// Most attributes that are looked at.
const ATTRIBUTES: i32 = 64;

impl Gles {
    /// A number of the context's state; 0 if the driver does not say.
    pub fn integer(&self, name: u32) -> GLint {
        // More room than any single name needs.
        let mut values = [0; 64];
        if let Some(get) = self.functions().glGetIntegerv {
            // SAFETY: there is space for more values than the name has.
            unsafe { get(name, values.as_mut_ptr()) };
        }
        values[0]
    }

    fn attribute(&self, index: u32, name: u32) -> GLint {
        let mut values = [0; 4];
        if let Some(get) = self.functions().glGetVertexAttribiv {
            // SAFETY: there is space for as many values as any name has.
            unsafe { get(index, name, values.as_mut_ptr()) };
        }
        values[0]
    }

    /// Whether arrays of the program's memory have the elements of a draw.
    fn has_elements(
        &mut self,
        context: Handle,
        vertices: (u32, u32),
        instances: u32,
    ) -> Result<bool, Refusal> {
        let arrays = self.arrays_in_memory();
        // A vertex array of the program's own has none of its memory.
        if !arrays.is_empty() && self.has_vertex_array(context)? {
            return Ok(false);
        }
        for (array, divisor) in arrays {
            let (first, last) = match divisor {
                0 => vertices,
                divisor => (0, instances.saturating_sub(1) / divisor),
            };
            let held = self.state(context)?.arrays.get(&array);
            if !held.is_some_and(|held| held.covers(first, last)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The arrays that draws read from the program's memory: their numbers and divisors.
    fn arrays_in_memory(&self) -> Vec<(u32, u32)> {
        if self.is_fixed() {
            let arrays = self.fixed_in_memory().into_iter();
            return arrays.map(|array| (array, 0)).collect();
        }
        let all = (0..self.attributes()).filter(|attribute| {
            self.attribute(*attribute, GL_VERTEX_ATTRIB_ARRAY_ENABLED) != 0
                && self.attribute(*attribute, GL_VERTEX_ATTRIB_ARRAY_BUFFER_BINDING) == 0
        });
        let divisor = |array| self.attribute(array, GL_VERTEX_ATTRIB_ARRAY_DIVISOR);
        all.map(|array| (array, divisor(array).unsigned_abs()))
            .collect()
    }

    /// How many attributes the context has, of those that are looked at.
    fn attributes(&self) -> u32 {
        let count = self.integer(GL_MAX_VERTEX_ATTRIBS).clamp(0, ATTRIBUTES);
        count.unsigned_abs()
    }

    /// The API's error for an array that the context does not have.
    fn missing_array(&self, index: u32, fixed: Option<Array>) -> Option<GLenum> {
        match fixed.map(Array::unit) {
            None => (index >= self.attributes()).then_some(GL_INVALID_VALUE),
            Some(None) => None,
            Some(Some(unit)) => (unit >= self.units()).then_some(GL_INVALID_ENUM),
        }
    }

    /// Takes elements of an attribute's array, for the draws behind it.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn take_array(
        &mut self,
        call: &mut Call,
        args: &wire::GilClientArrayArgs<'_>,
    ) -> Result<(), Refusal> {
        self.make_current(args.current)?;
        let none = || Refusal::parameter("size", u64::from(args.size.unsigned_abs()));
        let elements = (args.size, args.r#type, args.stride);
        let fixed = match self.is_fixed() {
            true => Some(Array::of_number(args.index).ok_or_else(none)?),
            false => None,
        };
        let layout = match fixed {
            Some(array) => array.layout(args.size, args.r#type, args.stride),
            None => Layout::new(args.size, args.r#type, args.stride),
        };
        let layout = layout.ok_or_else(none)?;
        if self.has_vertex_array(args.current)? {
            return Err(Refusal::parameter("vertex array", 1));
        }
        if let Some(code) = self.missing_array(args.index, fixed) {
            return self.keep_error(args.current, code);
        }
        if let Some(bytes) = call.bytes(&args.data)? {
            self.state(args.current)?.block = bytes.into();
        }
        let memory = self.state(args.current)?.block.clone();
        let offset = usize::try_from(args.offset).map_err(|_| Refusal::wide("offset"))?;
        let bytes = memory.get(offset..).unwrap_or_default();
        let before = layout.offset(args.first).ok_or_else(none)?;
        let count = layout.elements(bytes.len());
        // The driver adds to it what lies before the first element.
        let pointer: *const u8 = bytes.as_ptr().wrapping_sub(before);
        let is_accepted = self.accepts(args.current, |gles| {
            let describe = || match fixed {
                Some(array) => gles.describe_fixed(array, elements, pointer.expose_provenance()),
                None => gles.describe(args, pointer.cast()),
            };
            call.timed(|| gles.without_buffer(describe));
        })?;
        let arrays = &mut self.state(args.current)?.arrays;
        if is_accepted {
            let held = Held {
                first: args.first,
                count,
                _memory: memory,
            };
            arrays.insert(args.index, held);
        } else if let Some(held) = arrays.get_mut(&args.index) {
            // The driver still has its address, so the memory stays. No draw reads it.
            held.count = 0;
        }
        Ok(())
    }

    /// Does it while no buffer is bound that arrays could be in.
    fn without_buffer(&self, act: impl FnOnce()) {
        let Some(bind) = self.functions().glBindBuffer else {
            return;
        };
        let bound = self.integer(GL_ARRAY_BUFFER_BINDING).unsigned_abs();
        let bind = |buffer| {
            if bound != 0 {
                // SAFETY: it takes any number.
                unsafe { bind(GL_ARRAY_BUFFER, buffer) };
            }
        };
        bind(0);
        act();
        bind(bound);
    }

    /// Has the driver take an attribute's array from an address.
    fn describe(&self, args: &wire::GilClientArrayArgs<'_>, pointer: *const c_void) {
        let functions = self.functions();
        let integers = functions.glVertexAttribIPointer.filter(|_| args.is_integer);
        let (index, size, ty, stride) = (args.index, args.size, args.r#type, args.stride);
        // SAFETY: the address is kept, not used; draws are checked.
        unsafe {
            match (integers, functions.glVertexAttribPointer) {
                (Some(describe), _) => describe(index, size, ty, stride, pointer),
                (None, Some(describe)) => {
                    describe(index, size, ty, args.normalized, stride, pointer);
                }
                (None, None) => {}
            }
        }
    }

    /// Whether a draw of vertices in memory may go to the driver. One that may not is an
    /// error of the API's, as where a buffer is too small.
    fn may_draw(
        &mut self,
        context: Handle,
        (first, count): (i32, i32),
        instances: i32,
    ) -> Result<bool, Refusal> {
        match (
            u32::try_from(first),
            u32::try_from(count),
            u32::try_from(instances),
        ) {
            (Ok(first), Ok(more @ 1..), Ok(instances @ 1..)) => {
                let last = first.saturating_add(more - 1);
                self.or_error(context, (first, last), instances)
            }
            // The API has this undefined, and recommends the error: a driver may read
            // what lies before an array.
            (Err(_), Ok(1..), Ok(1..)) => {
                self.keep_error(context, GL_INVALID_VALUE)?;
                Ok(false)
            }
            _ => Ok(true),
        }
    }

    /// As [`has_elements`](Self::has_elements); if not, the program finds an error.
    fn or_error(
        &mut self,
        context: Handle,
        vertices: (u32, u32),
        instances: u32,
    ) -> Result<bool, Refusal> {
        let has = self.has_elements(context, vertices, instances)?;
        if !has {
            self.keep_error(context, GL_INVALID_OPERATION)?;
        }
        Ok(has)
    }

    /// A draw whose numbers are in a buffer: how much it reads of arrays in the program's
    /// memory is not known, and the API has it read none.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn draw_indirect(
        &mut self,
        call: &mut Call,
        context: Handle,
        offset: u64,
        function: Option<impl FnOnce(*const c_void)>,
    ) -> Result<(), Refusal> {
        self.make_current(context)?;
        let offset = usize::try_from(offset).map_err(|_| Refusal::wide("offset"))?;
        if self.integer(GL_VERTEX_ARRAY_BINDING) == 0
            || self.integer(GL_DRAW_INDIRECT_BUFFER_BINDING) == 0
            || !self.arrays_in_memory().is_empty()
        {
            return self.keep_error(context, GL_INVALID_OPERATION);
        }
        if let Some(function) = function {
            call.timed(|| function(std::ptr::without_provenance(offset)));
        }
        Ok(())
    }

    /// An attribute's array is a buffer's, or none, from here on. A vertex array of the
    /// program's own has none of its memory.
    ///
    /// # Errors
    /// [`Refusal::Table`].
    pub fn forget_array(&mut self, context: Handle, index: u32) -> Result<(), Refusal> {
        if !self.has_vertex_array(context)? {
            self.state(context)?.arrays.remove(&index);
        }
        Ok(())
    }

    /// `glDrawArrays`.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn draw(&mut self, call: &mut Call, args: &wire::GlDrawArraysArgs) -> Result<(), Refusal> {
        self.make_current(args.current)?;
        if !self.may_draw(args.current, (args.first, args.count), 1)? {
            return Ok(());
        }
        if let Some(function) = self.functions().glDrawArrays {
            // SAFETY: arrays in memory have the elements; buffers are the driver's.
            call.timed(|| unsafe { function(args.mode, args.first, args.count) });
        }
        Ok(())
    }

    /// `glDrawArraysInstanced`.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn draw_instanced(
        &mut self,
        call: &mut Call,
        args: &wire::GlDrawArraysInstancedArgs,
    ) -> Result<(), Refusal> {
        self.make_current(args.current)?;
        if !self.may_draw(args.current, (args.first, args.count), args.instances)? {
            return Ok(());
        }
        if let Some(function) = self.functions().glDrawArraysInstanced {
            let instances = args.instances;
            // SAFETY: as in `draw`.
            call.timed(|| unsafe { function(args.mode, args.first, args.count, instances) });
        }
        Ok(())
    }

    /// A draw by indices: `function` gets their address, or their offset in the buffer
    /// that is bound.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn draw_elements(
        &mut self,
        call: &mut Call,
        elements: &Elements<'_>,
        function: Option<impl FnOnce(*const c_void)>,
    ) -> Result<(), Refusal> {
        self.make_current(elements.current)?;
        let Some(function) = function else {
            return Ok(());
        };
        let size = index_bytes(elements.ty).zip(usize::try_from(elements.count).ok());
        let len = size.map_or(Some(0), |(size, count)| size.checked_mul(count));
        let len = len.ok_or(Refusal::missing_size("indices"))?;
        let is_bound = self.integer(GL_ELEMENT_ARRAY_BUFFER_BINDING) != 0;
        let range = match is_bound {
            // Only if there are such arrays the buffer has to be read.
            true if !self.arrays_in_memory().is_empty() => {
                let (count, ty) = (elements.count, elements.ty);
                self.buffer_range(elements.current, (count, ty), elements.offset)?
            }
            true => None,
            false => {
                let bytes = call.bytes(elements.indices)?.unwrap_or_default();
                if bytes.len() < len {
                    let have = bytes.len();
                    return Err(Refusal::Short { have, needed: len });
                }
                let restarts = self.state(elements.current)?.restarts;
                index_range(&bytes[..len], elements.ty, restarts)
            }
        };
        if let (Some(range), Ok(instances @ 1..)) = (range, u32::try_from(elements.instances)) {
            let moved = |index: u32| {
                let index = i64::from(index) + i64::from(elements.base);
                u32::try_from(index).unwrap_or(u32::MAX)
            };
            let vertices = (moved(range.0), moved(range.1));
            if !self.or_error(elements.current, vertices, instances)? {
                return Ok(());
            }
        }
        let indices: *const c_void = match is_bound {
            true => std::ptr::without_provenance(
                usize::try_from(elements.offset).map_err(|_| Refusal::wide("offset"))?,
            ),
            false if len == 0 => null(),
            false => call.input(elements.indices, len)?,
        };
        call.timed(|| function(indices));
        Ok(())
    }

    /// The smallest and largest of the indices in the buffer that is bound; of one that
    /// cannot be read, all that there can be.
    ///
    /// # Errors
    /// [`Refusal::Table`] if there is no such context.
    pub fn buffer_range(
        &mut self,
        context: Handle,
        (count, ty): (GLint, u32),
        offset: u64,
    ) -> Result<Option<(u32, u32)>, Refusal> {
        let restarts = self.state(context)?.restarts;
        let size = index_bytes(ty).zip(usize::try_from(count).ok());
        let len = size.and_then(|(size, count)| size.checked_mul(count));
        let Some(len @ 1..) = len else {
            return Ok(None);
        };
        Ok(match self.read_indices(context, offset, len)? {
            Some(bytes) => index_range(&bytes, ty, restarts),
            None => Some((0, u32::MAX)),
        })
    }

    /// What is noted of a switch that the driver turned: whether primitives restart, by the
    /// driver's own word.
    ///
    /// # Errors
    /// [`Refusal::Table`] if there is no such context.
    pub fn note_switch(&mut self, context: Handle, cap: u32) -> Result<(), Refusal> {
        if cap == GL_PRIMITIVE_RESTART_FIXED_INDEX {
            let is_enabled = self.functions().glIsEnabled;
            // A driver that does not know the name has kept that error already.
            // SAFETY: it takes any name.
            let restarts = is_enabled.is_some_and(|function| unsafe { function(cap) } != 0);
            self.state(context)?.restarts = restarts;
        }
        Ok(())
    }
}
