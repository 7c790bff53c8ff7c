//! The arrays of OpenGL ES 1.1: those of texture coordinates belong to texture units, and
//! the driver speaks of that of the client's active unit.

use super::Gles;
use super::generated::types::*;
use crate::back_end::{Call, Current, Objects, Refusal};
use gil_gles_common::fixed::Array;
use gil_wire::call::Handle;
use std::ffi::{CStr, c_void};
use std::ptr::with_exposed_provenance;

/// By which a driver has vertex array objects.
const VERTEX_ARRAYS: &[u8] = b"GL_OES_vertex_array_object";

/// What the program said of an array's elements: components, their type, and bytes from
/// one to the next.
pub type Elements = (GLint, GLenum, GLsizei);

impl Gles {
    /// The numbers of the arrays that draws read from the program's memory.
    pub fn fixed_in_memory(&self) -> Vec<u32> {
        let all = Array::all(self.units());
        let read = all.filter(|array| {
            self.at_unit(*array, || {
                self.is_enabled(array.name()) && self.integer(array.buffer_name()) == 0
            })
        });
        read.map(Array::number).collect()
    }

    /// How many texture units the context has.
    pub fn units(&self) -> u32 {
        u32::try_from(self.integer(GL_MAX_TEXTURE_UNITS)).unwrap_or(0)
    }

    fn is_enabled(&self, name: GLenum) -> bool {
        // SAFETY: it takes any name.
        let is_enabled =
            |function: unsafe extern "C" fn(GLenum) -> GLboolean| unsafe { function(name) };
        self.functions()
            .glIsEnabled
            .is_some_and(|it| is_enabled(it) != 0)
    }

    /// Does it while an array's texture unit is the client's active one, if it has one.
    fn at_unit<R>(&self, array: Array, act: impl FnOnce() -> R) -> R {
        let select = self.functions().glClientActiveTexture;
        let (Some(unit), Some(select)) = (array.unit(), select) else {
            return act();
        };
        let active = self.integer(GL_CLIENT_ACTIVE_TEXTURE).cast_unsigned();
        // SAFETY: it takes any unit.
        unsafe { select(GL_TEXTURE0 + unit) };
        let result = act();
        // SAFETY: the same.
        unsafe { select(active) };
        result
    }

    /// The array of the client's active texture unit.
    pub fn active_array(&self) -> Array {
        let active = self.integer(GL_CLIENT_ACTIVE_TEXTURE).cast_unsigned();
        Array::TexCoord(active.saturating_sub(GL_TEXTURE0))
    }

    /// Has the driver take an array from an address, which it keeps: draws are checked.
    pub fn describe_fixed(&self, array: Array, (size, ty, stride): Elements, address: usize) {
        let functions = self.functions();
        let pointer = with_exposed_provenance::<c_void>(address);
        let sized = match array {
            Array::Vertex => functions.glVertexPointer,
            Array::Color => functions.glColorPointer,
            Array::TexCoord(_) => functions.glTexCoordPointer,
            Array::Normal | Array::PointSize => None,
        };
        let plain = match array {
            Array::Normal => functions.glNormalPointer,
            Array::PointSize => functions.glPointSizePointerOES,
            Array::Vertex | Array::Color | Array::TexCoord(_) => None,
        };
        // SAFETY: the address is kept, not used.
        self.at_unit(array, || unsafe {
            if let Some(function) = sized {
                function(size, ty, stride, pointer);
            }
            if let Some(function) = plain {
                function(ty, stride, pointer);
            }
        });
    }

    /// `glVertexPointer` and its like: the offset counts if a buffer is bound.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn point(
        &mut self,
        call: &mut Call,
        context: Handle,
        array: impl FnOnce(&Self) -> Array,
        elements: Elements,
        offset: u64,
    ) -> Result<(), Refusal> {
        self.make_current(context)?;
        let offset = usize::try_from(offset).map_err(|_| Refusal::wide("offset"))?;
        let is_bound = self.integer(GL_ARRAY_BUFFER_BINDING) != 0;
        // An address of the guest's means nothing here.

        let array = array(self);
        call.timed(|| self.describe_fixed(array, elements, if is_bound { offset } else { 0 }));
        self.forget_array(context, array.number())
    }

    /// Whether a vertex array object of the program's is bound.
    ///
    /// # Errors
    /// [`Refusal::Table`] if there is no such context.
    pub fn has_vertex_array(&mut self, context: Handle) -> Result<bool, Refusal> {
        Ok(self.knows_vertex_arrays(context)? && self.integer(GL_VERTEX_ARRAY_BINDING) != 0)
    }

    /// Whether the driver knows such objects: of OpenGL ES 1.1 by an extension.
    fn knows_vertex_arrays(&mut self, context: Handle) -> Result<bool, Refusal> {
        if !self.is_fixed() {
            return Ok(true);
        }
        if let Some(known) = self.state(context)?.knows_vertex_arrays {
            return Ok(known);
        }
        let extensions = self.functions().glGetString.map(|function| {
            // SAFETY: it takes any name; the text stays as long as the context.
            unsafe { function(GL_EXTENSIONS) }
        });
        let extensions = extensions.filter(|text| !text.is_null());
        // SAFETY: the same.
        let extensions = extensions.map_or(&[][..], |text| unsafe {
            CStr::from_ptr(text.cast()).to_bytes()
        });
        let known = extensions
            .split(|&byte| byte == b' ')
            .any(|word| word == VERTEX_ARRAYS);
        self.state(context)?.knows_vertex_arrays = Some(known);
        Ok(known)
    }
}
