//! Vertex arrays and their objects.

use crate::generated::manual::{Guest, Request, VertexArrays};
use crate::generated::stubs;
use crate::generated::types::*;
use crate::support::{arrays, shadow};
use gil_guest::api::{Api, CallResult, Current, data};
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;
use std::ffi::c_void;

impl VertexArrays for Guest {
    unsafe fn glEnableVertexAttribArray(entry: u64, index: GLuint) {
        Self::nothing(|| {
            let current = Self::current_number()?;
            shadow::with(|shadow| shadow.enable(index, true))?;
            Self::post_numbers(wire::GL_ENABLE_VERTEX_ATTRIB_ARRAY, entry, |to| {
                to.handle(current);
                to.number(index.into());
            })
        });
    }

    unsafe fn glDisableVertexAttribArray(entry: u64, index: GLuint) {
        Self::nothing(|| {
            let current = Self::current_number()?;
            shadow::with(|shadow| shadow.enable(index, false))?;
            Self::post_numbers(wire::GL_DISABLE_VERTEX_ATTRIB_ARRAY, entry, |to| {
                to.handle(current);
                to.number(index.into());
            })
        });
    }

    unsafe fn glVertexAttribPointer(
        entry: u64,
        index: GLuint,
        size: GLint,
        r#type: GLenum,
        normalized: GLboolean,
        stride: GLsizei,
        pointer: *const c_void,
    ) {
        Self::nothing(|| {
            let current = Self::current_number()?;
            let array = Self::array((size, r#type, stride), normalized, false);
            let offset = shadow::with(|shadow| describe(shadow, index, array, pointer))??;
            Self::post_numbers(wire::GL_VERTEX_ATTRIB_POINTER, entry, |to| {
                to.handle(current);
                to.number(index.into());
                to.signed(size.into());
                to.number(r#type.into());
                to.byte(normalized);
                to.signed(stride.into());
                to.number(offset);
            })
        });
    }

    unsafe fn glVertexAttribIPointer(
        entry: u64,
        index: GLuint,
        size: GLint,
        r#type: GLenum,
        stride: GLsizei,
        pointer: *const c_void,
    ) {
        Self::nothing(|| {
            let current = Self::current_number()?;
            let array = Self::array((size, r#type, stride), 0, true);
            // What is an error leaves the attribute as it was.
            let array = array.filter(|_| matches!(r#type, GL_BYTE..=GL_UNSIGNED_INT));
            let offset = shadow::with(|shadow| describe(shadow, index, array, pointer))??;
            Self::post_numbers(wire::GL_VERTEX_ATTRIB_I_POINTER, entry, |to| {
                to.handle(current);
                to.number(index.into());
                to.signed(size.into());
                to.number(r#type.into());
                to.signed(stride.into());
                to.number(offset);
            })
        });
    }

    unsafe fn glVertexAttribDivisor(entry: u64, index: GLuint, divisor: GLuint) {
        Self::nothing(|| {
            let current = Self::current_number()?;
            shadow::with(|shadow| {
                if let Some(attribute) = shadow.attribute(index) {
                    attribute.divisor = divisor;
                }
            })?;
            Self::post_numbers(wire::GL_VERTEX_ATTRIB_DIVISOR, entry, |to| {
                to.handle(current);
                to.number(index.into());
                to.number(divisor.into());
            })
        });
    }

    unsafe fn glBindVertexArray(entry: u64, array: GLuint) {
        Self::nothing(|| {
            let current = Self::current_number()?;
            shadow::with(|shadow| shadow.bind_vertex_array(array))?;
            Self::post_numbers(wire::GL_BIND_VERTEX_ARRAY, entry, |to| {
                to.handle(current);
                to.number(array.into());
            })
        });
    }

    unsafe fn glDeleteVertexArrays(entry: u64, n: GLsizei, arrays: *const GLuint) {
        Self::nothing(|| {
            let current = Self::current()?;
            let count = usize::try_from(n).map_err(|_| Self::INVALID_VALUE)?;
            // SAFETY: the caller's.
            let list = unsafe { data::array::<Self, u32, u32>(arrays.cast(), count) }?;
            {
                let mut shadow = shadow::of(&current);
                for &array in list.iter().flatten().filter(|array| **array != 0) {
                    shadow.forget_vertex_array(array);
                }
            }
            let request = Request::new(wire::GL_DELETE_VERTEX_ARRAYS, Class::Post, entry);
            request.post(&wire::GlDeleteVertexArraysArgs {
                current: current.number(),
                n,
                arrays: list,
            })
        });
    }

    unsafe fn glGetVertexAttribPointerv(
        _: u64,
        index: GLuint,
        pname: GLenum,
        pointer: *mut *mut c_void,
    ) {
        Self::nothing(|| {
            let current = Self::current()?;
            if pname != GL_VERTEX_ATTRIB_ARRAY_POINTER {
                return Err(GL_INVALID_ENUM as i32);
            }
            let mut most = 0;
            // SAFETY: this name has one value.
            unsafe { stubs::glGetIntegerv(GL_MAX_VERTEX_ATTRIBS, &mut most) };
            let found = shadow::of(&current).attribute(index).map(|it| it.pointer);
            let is_one = index < most.unsigned_abs();
            let found = found.filter(|_| is_one).ok_or(Self::INVALID_VALUE)?;
            // SAFETY: null, or the caller's.
            unsafe { data::write(pointer, found as *mut c_void) };
            Ok(())
        });
    }
}

/// Notes an attribute's array; the offset into the buffer that has it.
fn describe(
    shadow: &mut shadow::Shadow,
    index: u32,
    array: Option<shadow::Array>,
    pointer: *const c_void,
) -> CallResult<u64> {
    arrays::describe(shadow, array, pointer, |shadow| shadow.attribute(index))
}
