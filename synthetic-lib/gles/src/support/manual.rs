//! The other entry points that are written by hand.

use super::{arrays, shadow, texts};
use crate::generated::manual::{Guest, Manual, Request};
use crate::generated::types::*;
use gil_guest::api::{Api, Current, data};
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;
use std::ffi::c_void;
use std::ptr;

/// More values than a uniform has: a 4 × 4 matrix.
const UNIFORM_VALUES: usize = 16;

impl Manual for Guest {
    unsafe fn glBindBuffer(entry: u64, target: GLenum, buffer: GLuint) {
        Self::nothing(|| {
            let current = Self::current()?;
            {
                let mut shadow = shadow::of(&current);
                match target {
                    GL_ARRAY_BUFFER => shadow.array_buffer = buffer,
                    GL_ELEMENT_ARRAY_BUFFER => shadow.element_buffer = buffer,
                    _ => {}
                }
            }
            let request = Request::new(wire::GL_BIND_BUFFER, Class::Post, entry);
            request.post(&wire::GlBindBufferArgs {
                current: current.number(),
                target,
                buffer,
            })
        });
    }

    unsafe fn glDeleteBuffers(entry: u64, n: GLsizei, buffers: *const GLuint) {
        Self::nothing(|| {
            let current = Self::current()?;
            let count = usize::try_from(n).map_err(|_| Self::INVALID_VALUE)?;
            // SAFETY: the caller's.
            let list = unsafe { data::array::<Self, u32, u32>(buffers.cast(), count) }?;
            {
                let mut shadow = shadow::of(&current);
                for &buffer in list.iter().flatten().filter(|buffer| **buffer != 0) {
                    shadow.forget_buffer(buffer);
                }
            }
            let request = Request::new(wire::GL_DELETE_BUFFERS, Class::Post, entry);
            request.post(&wire::GlDeleteBuffersArgs {
                current: current.number(),
                n,
                buffers: list,
            })
        });
    }

    unsafe fn glEnableVertexAttribArray(entry: u64, index: GLuint) {
        Self::nothing(|| {
            let current = Self::current()?;
            if let Some(attribute) = shadow::of(&current).attribute(index) {
                attribute.is_enabled = true;
            }
            let request = Request::new(wire::GL_ENABLE_VERTEX_ATTRIB_ARRAY, Class::Post, entry);
            request.post(&wire::GlEnableVertexAttribArrayArgs {
                current: current.number(),
                index,
            })
        });
    }

    unsafe fn glDisableVertexAttribArray(entry: u64, index: GLuint) {
        Self::nothing(|| {
            let current = Self::current()?;
            if let Some(attribute) = shadow::of(&current).attribute(index) {
                attribute.is_enabled = false;
            }
            let request = Request::new(wire::GL_DISABLE_VERTEX_ATTRIB_ARRAY, Class::Post, entry);
            request.post(&wire::GlDisableVertexAttribArrayArgs {
                current: current.number(),
                index,
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
            let current = Self::current()?;
            let buffer = {
                let mut shadow = shadow::of(&current);
                let buffer = shadow.array_buffer;
                let array = Self::array(size, r#type, normalized, stride);
                if let (Some(attribute), Some(_)) = (shadow.attribute(index), array) {
                    (attribute.buffer, attribute.pointer) = (buffer, pointer as usize);
                    attribute.array = array;
                }
                buffer
            };
            let request = Request::new(wire::GL_VERTEX_ATTRIB_POINTER, Class::Post, entry);
            request.post(&wire::GlVertexAttribPointerArgs {
                current: current.number(),
                index,
                size,
                r#type,
                normalized,
                stride,
                offset: if buffer == 0 { 0 } else { pointer as u64 },
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
            let found = shadow::of(&current).attribute(index).map(|it| it.pointer);
            let found = found.ok_or(Self::INVALID_VALUE)?;
            // SAFETY: null, or the caller's.
            unsafe { data::write(pointer, found as *mut c_void) };
            Ok(())
        });
    }

    unsafe fn glDrawArrays(entry: u64, mode: GLenum, first: GLint, count: GLsizei) {
        // SAFETY: the caller's.
        Self::nothing(|| unsafe { arrays::draw(entry, &Self::current()?, mode, first, count) });
    }

    unsafe fn glDrawElements(
        entry: u64,
        mode: GLenum,
        count: GLsizei,
        r#type: GLenum,
        indices: *const c_void,
    ) {
        Self::nothing(|| {
            let current = Self::current()?;
            // SAFETY: the caller's.
            unsafe { arrays::draw_elements(entry, &current, (mode, count, r#type), indices) }
        });
    }

    unsafe fn glPixelStorei(entry: u64, pname: GLenum, param: GLint) {
        Self::nothing(|| {
            let current = Self::current()?;
            if matches!(param, 1 | 2 | 4 | 8) {
                let mut shadow = shadow::of(&current);
                match pname {
                    GL_UNPACK_ALIGNMENT => shadow.unpack.alignment = param,
                    GL_PACK_ALIGNMENT => shadow.pack.alignment = param,
                    _ => {}
                }
            }
            let request = Request::new(wire::GL_PIXEL_STOREI, Class::Post, entry);
            request.post(&wire::GlPixelStoreiArgs {
                current: current.number(),
                pname,
                param,
            })
        });
    }

    unsafe fn glGetError(entry: u64) -> GLenum {
        let lost = |code: i32| match code {
            super::LOST => Ok(code.unsigned_abs()),
            code => Err(code),
        };
        Self::value(|| {
            let current = Self::current().map_err(|_| Self::SILENT)?;
            let request = Request::new(wire::GL_GET_ERROR, Class::Query, entry);
            let args = wire::GlGetErrorArgs {
                current: current.number(),
            };
            let answer = request.forward(&args, |reply| {
                let reply: wire::GlGetErrorReply = reply.decode()?;
                Ok(reply.value)
            });
            answer.or_else(lost)
        })
    }

    unsafe fn glGetString(entry: u64, name: GLenum) -> *const GLubyte {
        let mut found = ptr::null();
        Self::nothing(|| {
            found = texts::get(entry, &Self::current()?, name)?.as_ptr().cast();
            Ok(())
        });
        found
    }

    unsafe fn glGetUniformfv(entry: u64, program: GLuint, location: GLint, params: *mut GLfloat) {
        Self::nothing(|| {
            let request = Request::new(wire::GL_GET_UNIFORMFV, Class::Query, entry);
            let args = wire::GlGetUniformfvArgs {
                current: Self::current()?.number(),
                program,
                location,
            };
            request.forward(&args, |reply| {
                let reply: wire::GlGetUniformfvReply = reply.decode()?;
                for (n, word) in reply.values.iter().take(UNIFORM_VALUES).enumerate() {
                    // SAFETY: the board's driver wrote as many.
                    unsafe { params.add(n).write(f32::from_bits(*word as u32)) };
                }
                Ok(())
            })
        });
    }

    unsafe fn glGetUniformiv(entry: u64, program: GLuint, location: GLint, params: *mut GLint) {
        Self::nothing(|| {
            let request = Request::new(wire::GL_GET_UNIFORMIV, Class::Query, entry);
            let args = wire::GlGetUniformivArgs {
                current: Self::current()?.number(),
                program,
                location,
            };
            request.forward(&args, |reply| {
                let reply: wire::GlGetUniformivReply = reply.decode()?;
                for (n, word) in reply.values.iter().take(UNIFORM_VALUES).enumerate() {
                    // SAFETY: the board's driver wrote as many.
                    unsafe { params.add(n).write(*word as u32 as i32) };
                }
                Ok(())
            })
        });
    }

    /// The board's driver begins with what was called so far.
    unsafe fn glFlush(entry: u64) {
        Self::nothing(|| {
            let current = Self::current()?;
            let request = Request::new(wire::GL_FLUSH, Class::Post, entry);
            request.post(&wire::GlFlushArgs {
                current: current.number(),
            })?;
            let flushed = gil_guest::client().and_then(|client| client.flush(wire::GL_FLUSH));
            flushed.map_err(|error| Self::failed(wire::GL_FLUSH, &error))
        });
    }
}

impl Guest {
    /// For numbers below zero and the like.
    const INVALID_VALUE: i32 = GL_INVALID_VALUE as i32;
}
