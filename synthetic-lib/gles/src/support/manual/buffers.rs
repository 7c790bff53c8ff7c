//! Buffers, and their memory in the program.

use crate::generated::manual::{Buffers, Guest, Request};
use crate::generated::types::*;
use crate::support::{mapping, shadow};
use gil_guest::api::{Api, Current, data};
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;
use std::ffi::c_void;
use std::ptr;

impl Buffers for Guest {
    unsafe fn glBindBuffer(entry: u64, target: GLenum, buffer: GLuint) {
        Self::nothing(|| {
            let current = Self::current_number()?;
            shadow::with(|shadow| shadow.bind_buffer(target, buffer))?;
            Self::post_numbers(wire::GL_BIND_BUFFER, entry, |to| {
                to.handle(current);
                to.number(target.into());
                to.number(buffer.into());
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

    unsafe fn glMapBufferRange(
        entry: u64,
        target: GLenum,
        offset: GLintptr,
        length: GLsizeiptr,
        access: GLbitfield,
    ) -> *mut c_void {
        let mut place = ptr::null_mut();
        Self::nothing(|| {
            place = mapping::map(entry, &Self::current()?, target, offset, length, access)?;
            Ok(())
        });
        place
    }

    unsafe fn glMapBufferOES(entry: u64, target: GLenum, access: GLenum) -> *mut c_void {
        let mut place = ptr::null_mut();
        Self::nothing(|| {
            place = mapping::map_whole(entry, &Self::current()?, target, access)?;
            Ok(())
        });
        place
    }

    unsafe fn glFlushMappedBufferRange(
        entry: u64,
        target: GLenum,
        offset: GLintptr,
        length: GLsizeiptr,
    ) {
        Self::nothing(|| mapping::flush(entry, &Self::current()?, target, offset, length));
    }

    unsafe fn glUnmapBuffer(entry: u64, target: GLenum) -> GLboolean {
        Self::value(|| mapping::unmap(entry, &Self::current()?, target))
    }

    unsafe fn glGetBufferPointerv(_: u64, target: GLenum, pname: GLenum, params: *mut *mut c_void) {
        Self::nothing(|| {
            if pname != GL_BUFFER_MAP_POINTER {
                return Err(GL_INVALID_ENUM as i32);
            }
            let place = mapping::pointer(target)?;
            // SAFETY: null, or the caller's.
            unsafe { data::write(params, place) };
            Ok(())
        });
    }
}
