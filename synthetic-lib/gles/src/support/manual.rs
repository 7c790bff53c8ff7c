//! The other entry points that are written by hand.

use super::arrays::{self, Kind};
use super::{debug, fixed, images, mapping, pictures, shadow, texts, uniforms};
use crate::generated::manual::{Guest, Manual, Object, Request};
use crate::generated::stubs;
use crate::generated::types::*;
use gil_egl::support::{strings, work};
use gil_gles_common::fixed::Array;
use gil_guest::api::{Api, CallResult, Current, data};
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;
use std::ffi::c_void;
use std::ptr;

impl Manual for Guest {
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
            let current = Self::current()?;
            let array = Self::array((size, r#type, stride), 0, true);
            let offset = shadow::with(|shadow| describe(shadow, index, array, pointer))??;
            let request = Request::new(wire::GL_VERTEX_ATTRIB_I_POINTER, Class::Post, entry);
            request.post(&wire::GlVertexAttribIPointerArgs {
                current: current.number(),
                index,
                size,
                r#type,
                stride,
                offset,
            })
        });
    }

    unsafe fn glVertexPointer(
        entry: u64,
        size: GLint,
        r#type: GLenum,
        stride: GLsizei,
        pointer: *const c_void,
    ) {
        Self::nothing(|| {
            let current = Self::current()?;
            let offset = fixed::describe(&current, Array::Vertex, (size, r#type, stride), pointer)?;
            let request = Request::new(wire::GL_VERTEX_POINTER, Class::Post, entry);
            request.post(&wire::GlVertexPointerArgs {
                current: current.number(),
                size,
                r#type,
                stride,
                offset,
            })
        });
    }

    unsafe fn glColorPointer(
        entry: u64,
        size: GLint,
        r#type: GLenum,
        stride: GLsizei,
        pointer: *const c_void,
    ) {
        Self::nothing(|| {
            let current = Self::current()?;
            let offset = fixed::describe(&current, Array::Color, (size, r#type, stride), pointer)?;
            let request = Request::new(wire::GL_COLOR_POINTER, Class::Post, entry);
            request.post(&wire::GlColorPointerArgs {
                current: current.number(),
                size,
                r#type,
                stride,
                offset,
            })
        });
    }

    unsafe fn glTexCoordPointer(
        entry: u64,
        size: GLint,
        r#type: GLenum,
        stride: GLsizei,
        pointer: *const c_void,
    ) {
        Self::nothing(|| {
            let current = Self::current()?;
            let offset = fixed::describe(
                &current,
                fixed::active(&current),
                (size, r#type, stride),
                pointer,
            )?;
            let request = Request::new(wire::GL_TEX_COORD_POINTER, Class::Post, entry);
            request.post(&wire::GlTexCoordPointerArgs {
                current: current.number(),
                size,
                r#type,
                stride,
                offset,
            })
        });
    }

    unsafe fn glNormalPointer(entry: u64, r#type: GLenum, stride: GLsizei, pointer: *const c_void) {
        Self::nothing(|| {
            let current = Self::current()?;
            let offset = fixed::describe(&current, Array::Normal, (3, r#type, stride), pointer)?;
            let request = Request::new(wire::GL_NORMAL_POINTER, Class::Post, entry);
            request.post(&wire::GlNormalPointerArgs {
                current: current.number(),
                r#type,
                stride,
                offset,
            })
        });
    }

    unsafe fn glPointSizePointerOES(
        entry: u64,
        r#type: GLenum,
        stride: GLsizei,
        pointer: *const c_void,
    ) {
        Self::nothing(|| {
            let current = Self::current()?;
            let offset = fixed::describe(&current, Array::PointSize, (1, r#type, stride), pointer)?;
            let request = Request::new(wire::GL_POINT_SIZE_POINTER_OES, Class::Post, entry);
            request.post(&wire::GlPointSizePointerOESArgs {
                current: current.number(),
                r#type,
                stride,
                offset,
            })
        });
    }

    unsafe fn glEnableClientState(entry: u64, array: GLenum) {
        Self::nothing(|| {
            let current = Self::current()?;
            fixed::enable(&current, array, true);
            let request = Request::new(wire::GL_ENABLE_CLIENT_STATE, Class::Post, entry);
            request.post(&wire::GlEnableClientStateArgs {
                current: current.number(),
                array,
            })
        });
    }

    unsafe fn glDisableClientState(entry: u64, array: GLenum) {
        Self::nothing(|| {
            let current = Self::current()?;
            fixed::enable(&current, array, false);
            let request = Request::new(wire::GL_DISABLE_CLIENT_STATE, Class::Post, entry);
            request.post(&wire::GlDisableClientStateArgs {
                current: current.number(),
                array,
            })
        });
    }

    unsafe fn glClientActiveTexture(entry: u64, texture: GLenum) {
        Self::nothing(|| {
            let current = Self::current()?;
            fixed::activate(&current, texture);
            let request = Request::new(wire::GL_CLIENT_ACTIVE_TEXTURE, Class::Post, entry);
            request.post(&wire::GlClientActiveTextureArgs {
                current: current.number(),
                texture,
            })
        });
    }

    unsafe fn glMultiDrawArraysEXT(
        entry: u64,
        mode: GLenum,
        first: *const GLint,
        count: *const GLsizei,
        primcount: GLsizei,
    ) {
        Self::nothing(|| {
            // SAFETY: the caller's.
            unsafe { arrays::draw_several(entry, mode, (first, count), primcount) }
        });
    }

    unsafe fn glMultiDrawElementsEXT(
        entry: u64,
        mode: GLenum,
        count: *const GLsizei,
        r#type: GLenum,
        indices: *const *const c_void,
        primcount: GLsizei,
    ) {
        Self::nothing(|| {
            let (current, kind, lists) = (Self::current()?, (mode, r#type), (count, indices));
            // SAFETY: the caller's.
            unsafe { arrays::draw_several_elements(entry, &current, kind, lists, primcount) }
        });
    }

    unsafe fn glVertexAttribDivisor(entry: u64, index: GLuint, divisor: GLuint) {
        Self::nothing(|| {
            let current = Self::current()?;
            if let Some(attribute) = shadow::of(&current).attribute(index) {
                attribute.divisor = divisor;
            }
            let request = Request::new(wire::GL_VERTEX_ATTRIB_DIVISOR, Class::Post, entry);
            request.post(&wire::GlVertexAttribDivisorArgs {
                current: current.number(),
                index,
                divisor,
            })
        });
    }

    unsafe fn glBindVertexArray(entry: u64, array: GLuint) {
        Self::nothing(|| {
            let current = Self::current()?;
            shadow::of(&current).bind_vertex_array(array);
            let request = Request::new(wire::GL_BIND_VERTEX_ARRAY, Class::Post, entry);
            request.post(&wire::GlBindVertexArrayArgs {
                current: current.number(),
                array,
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

    unsafe fn glDrawArrays(entry: u64, mode: GLenum, first: GLint, count: GLsizei) {
        // SAFETY: the caller's.
        Self::nothing(|| unsafe { arrays::draw(entry, mode, (first, count)) });
    }

    unsafe fn glDrawArraysInstanced(
        entry: u64,
        mode: GLenum,
        first: GLint,
        count: GLsizei,
        instancecount: GLsizei,
    ) {
        Self::nothing(|| {
            let current = Self::current()?;
            // SAFETY: the caller's.
            unsafe { arrays::draw_instanced(entry, &current, mode, (first, count), instancecount) }
        });
    }

    unsafe fn glDrawElements(
        entry: u64,
        mode: GLenum,
        count: GLsizei,
        r#type: GLenum,
        indices: *const c_void,
    ) {
        Self::nothing(|| {
            let (current, elements) = (Self::current()?, (mode, count, r#type));
            // SAFETY: the caller's.
            unsafe { arrays::draw_elements(entry, &current, elements, Kind::Plain, None, indices) }
        });
    }

    unsafe fn glDrawElementsInstanced(
        entry: u64,
        mode: GLenum,
        count: GLsizei,
        r#type: GLenum,
        indices: *const c_void,
        instancecount: GLsizei,
    ) {
        Self::nothing(|| {
            let (current, elements) = (Self::current()?, (mode, count, r#type));
            let kind = Kind::Instanced(instancecount);
            // SAFETY: the caller's.
            unsafe { arrays::draw_elements(entry, &current, elements, kind, None, indices) }
        });
    }

    unsafe fn glDrawRangeElements(
        entry: u64,
        mode: GLenum,
        start: GLuint,
        end: GLuint,
        count: GLsizei,
        r#type: GLenum,
        indices: *const c_void,
    ) {
        Self::nothing(|| {
            let (current, elements) = (Self::current()?, (mode, count, r#type));
            let kind = Kind::Ranged(start, end);
            // SAFETY: the caller's.
            unsafe { arrays::draw_elements(entry, &current, elements, kind, None, indices) }
        });
    }

    unsafe fn glDrawElementsBaseVertex(
        entry: u64,
        mode: GLenum,
        count: GLsizei,
        r#type: GLenum,
        indices: *const c_void,
        basevertex: GLint,
    ) {
        Self::nothing(|| {
            let (current, elements) = (Self::current()?, (mode, count, r#type));
            let (kind, base) = (Kind::Plain, Some(basevertex));
            // SAFETY: the caller's.
            unsafe { arrays::draw_elements(entry, &current, elements, kind, base, indices) }
        });
    }

    unsafe fn glDrawRangeElementsBaseVertex(
        entry: u64,
        mode: GLenum,
        start: GLuint,
        end: GLuint,
        count: GLsizei,
        r#type: GLenum,
        indices: *const c_void,
        basevertex: GLint,
    ) {
        Self::nothing(|| {
            let (current, elements) = (Self::current()?, (mode, count, r#type));
            let (kind, base) = (Kind::Ranged(start, end), Some(basevertex));
            // SAFETY: the caller's.
            unsafe { arrays::draw_elements(entry, &current, elements, kind, base, indices) }
        });
    }

    unsafe fn glDrawElementsInstancedBaseVertex(
        entry: u64,
        mode: GLenum,
        count: GLsizei,
        r#type: GLenum,
        indices: *const c_void,
        instancecount: GLsizei,
        basevertex: GLint,
    ) {
        Self::nothing(|| {
            let (current, elements) = (Self::current()?, (mode, count, r#type));
            let (kind, base) = (Kind::Instanced(instancecount), Some(basevertex));
            // SAFETY: the caller's.
            unsafe { arrays::draw_elements(entry, &current, elements, kind, base, indices) }
        });
    }

    unsafe fn glDrawArraysIndirect(entry: u64, mode: GLenum, indirect: *const c_void) {
        Self::nothing(|| {
            let request = Request::new(wire::GL_DRAW_ARRAYS_INDIRECT, Class::Post, entry);
            request.post(&wire::GlDrawArraysIndirectArgs {
                current: Self::current()?.number(),
                mode,
                offset: indirect as u64,
            })
        });
    }

    unsafe fn glDrawElementsIndirect(
        entry: u64,
        mode: GLenum,
        r#type: GLenum,
        indirect: *const c_void,
    ) {
        Self::nothing(|| {
            let request = Request::new(wire::GL_DRAW_ELEMENTS_INDIRECT, Class::Post, entry);
            request.post(&wire::GlDrawElementsIndirectArgs {
                current: Self::current()?.number(),
                mode,
                r#type,
                offset: indirect as u64,
            })
        });
    }

    unsafe fn glDebugMessageInsert(
        entry: u64,
        source: GLenum,
        r#type: GLenum,
        id: GLuint,
        severity: GLenum,
        length: GLsizei,
        buf: *const GLchar,
    ) {
        Self::nothing(|| {
            let current = Self::current()?;
            let mut request = Request::new(wire::GL_DEBUG_MESSAGE_INSERT, Class::Post, entry);
            // SAFETY: the caller's.
            let (length, buf) = unsafe { debug::text(&mut request, length, buf) }?;
            request.post(&wire::GlDebugMessageInsertArgs {
                current: current.number(),
                source,
                r#type,
                id,
                severity,
                length,
                buf,
            })?;
            debug::deliver(&current)
        });
    }

    unsafe fn glDebugMessageCallback(
        _: u64,
        callback: Option<debug::Callback>,
        user_param: *const c_void,
    ) {
        Self::nothing(|| {
            let current = Self::current()?;
            shadow::of(&current).debug = debug::Receiver::new(callback, user_param);
            debug::deliver(&current)
        });
    }

    unsafe fn glPushDebugGroup(
        entry: u64,
        source: GLenum,
        id: GLuint,
        length: GLsizei,
        message: *const GLchar,
    ) {
        Self::nothing(|| {
            let current = Self::current()?;
            let mut request = Request::new(wire::GL_PUSH_DEBUG_GROUP, Class::Post, entry);
            // SAFETY: the caller's.
            let (length, message) = unsafe { debug::text(&mut request, length, message) }?;
            request.post(&wire::GlPushDebugGroupArgs {
                current: current.number(),
                source,
                id,
                length,
                message,
            })?;
            debug::deliver(&current)
        });
    }

    unsafe fn glPopDebugGroup(entry: u64) {
        Self::nothing(|| {
            let current = Self::current()?;
            let request = Request::new(wire::GL_POP_DEBUG_GROUP, Class::Post, entry);
            request.post(&wire::GlPopDebugGroupArgs {
                current: current.number(),
            })?;
            debug::deliver(&current)
        });
    }

    unsafe fn glObjectLabel(
        entry: u64,
        identifier: GLenum,
        name: GLuint,
        length: GLsizei,
        label: *const GLchar,
    ) {
        Self::nothing(|| {
            let current = Self::current()?;
            let mut request = Request::new(wire::GL_OBJECT_LABEL, Class::Post, entry);
            // SAFETY: the caller's.
            let (length, label) = unsafe { debug::text(&mut request, length, label) }?;
            request.post(&wire::GlObjectLabelArgs {
                current: current.number(),
                identifier,
                name,
                length,
                label,
            })
        });
    }

    unsafe fn glLabelObjectEXT(
        entry: u64,
        r#type: GLenum,
        object: GLuint,
        length: GLsizei,
        label: *const GLchar,
    ) {
        Self::nothing(|| {
            let current = Self::current()?;
            let mut request = Request::new(wire::GL_LABEL_OBJECT_EXT, Class::Post, entry);
            // Here 0, not a number below, says that the text ends with a 0.
            let length = if length == 0 { -1 } else { length };
            // SAFETY: the caller's.
            let (length, label) = unsafe { debug::text(&mut request, length, label) }?;
            request.post(&wire::GlLabelObjectEXTArgs {
                current: current.number(),
                r#type,
                object,
                length,
                label,
            })
        });
    }

    unsafe fn glObjectPtrLabel(
        entry: u64,
        ptr: *const c_void,
        length: GLsizei,
        label: *const GLchar,
    ) {
        Self::nothing(|| {
            let current = Self::current()?;
            let sync = Object::find(wire::Kind::Sync, ptr.cast_mut())?;
            let mut request = Request::new(wire::GL_OBJECT_PTR_LABEL, Class::Post, entry);
            // SAFETY: the caller's.
            let (_, label) = unsafe { debug::text(&mut request, length, label) }?;
            request.post(&wire::GlObjectPtrLabelArgs {
                current: current.number(),
                sync: sync.number(),
                label,
            })
        });
    }

    unsafe fn glGetObjectPtrLabel(
        entry: u64,
        ptr: *const c_void,
        buf_size: GLsizei,
        length: *mut GLsizei,
        label: *mut GLchar,
    ) {
        Self::nothing(|| {
            let current = Self::current()?;
            let sync = Object::find(wire::Kind::Sync, ptr.cast_mut())?;
            let room = usize::try_from(buf_size).map_err(|_| Self::INVALID_VALUE)?;
            let mut request = Request::new(wire::GL_GET_OBJECT_PTR_LABEL, Class::Query, entry);
            let args = wire::GlGetObjectPtrLabelArgs {
                current: current.number(),
                sync: sync.number(),
                // SAFETY: the caller's.
                label: unsafe { request.output(label.cast(), room) },
            };
            request.forward(&args, |reply| {
                let reply: wire::GlGetObjectPtrLabelReply<'_> = reply.decode()?;
                // SAFETY: the caller's.
                unsafe {
                    data::write_data(&reply.label, label.cast(), room);
                    data::write(length, reply.length);
                }
                Ok(())
            })
        });
    }

    unsafe fn glGetPointerv(_: u64, pname: GLenum, params: *mut *mut c_void) {
        Self::nothing(|| {
            let current = Self::current()?;
            let debug = shadow::of(&current).debug.pointer(pname);
            let found = debug.or_else(|| fixed::pointer(&current, pname));
            let found = found.ok_or(GL_INVALID_ENUM as i32)?;
            // SAFETY: null, or the caller's.
            unsafe { data::write(params, found) };
            Ok(())
        });
    }

    /// A session that is lost has lost its contexts.
    unsafe fn glGetGraphicsResetStatus(entry: u64) -> GLenum {
        Self::value(|| {
            let request = Request::new(wire::GL_GET_GRAPHICS_RESET_STATUS, Class::Query, entry);
            let args = wire::GlGetGraphicsResetStatusArgs {
                current: Self::current()?.number(),
            };
            let answer = request.forward(&args, |reply| {
                let reply: wire::GlGetGraphicsResetStatusReply = reply.decode()?;
                Ok(reply.value)
            });
            match answer {
                Err(super::LOST) => Ok(GL_UNKNOWN_CONTEXT_RESET),
                answer => answer,
            }
        })
    }

    unsafe fn glMapBufferOES(entry: u64, target: GLenum, access: GLenum) -> *mut c_void {
        let mut place = ptr::null_mut();
        Self::nothing(|| {
            place = mapping::map_whole(entry, &Self::current()?, target, access)?;
            Ok(())
        });
        place
    }

    unsafe fn glReadnPixels(
        entry: u64,
        x: GLint,
        y: GLint,
        width: GLsizei,
        height: GLsizei,
        format: GLenum,
        r#type: GLenum,
        buf_size: GLsizei,
        data: *mut c_void,
    ) {
        Self::nothing(|| {
            let (current, kind) = (Self::current()?, (format, r#type));
            pictures::fits(&current, (width, height), kind, buf_size)?;
            // SAFETY: the caller's.
            unsafe { pictures::read(entry, &current, (x, y), (width, height), kind, data) }
        });
    }

    unsafe fn glGetnUniformfv(
        entry: u64,
        program: GLuint,
        location: GLint,
        buf_size: GLsizei,
        params: *mut GLfloat,
    ) {
        // SAFETY: the caller's.
        Self::nothing(|| unsafe {
            uniforms::floats(entry, (program, location), Some(buf_size), params)
        });
    }

    unsafe fn glGetnUniformiv(
        entry: u64,
        program: GLuint,
        location: GLint,
        buf_size: GLsizei,
        params: *mut GLint,
    ) {
        // SAFETY: the caller's.
        Self::nothing(|| unsafe {
            uniforms::integers(entry, (program, location), Some(buf_size), params)
        });
    }

    unsafe fn glGetnUniformuiv(
        entry: u64,
        program: GLuint,
        location: GLint,
        buf_size: GLsizei,
        params: *mut GLuint,
    ) {
        // SAFETY: the caller's.
        Self::nothing(|| unsafe {
            uniforms::unsigned(entry, (program, location), Some(buf_size), params)
        });
    }

    unsafe fn glReadPixels(
        entry: u64,
        x: GLint,
        y: GLint,
        width: GLsizei,
        height: GLsizei,
        format: GLenum,
        r#type: GLenum,
        pixels: *mut c_void,
    ) {
        Self::nothing(|| {
            let (current, size) = (Self::current()?, (width, height));
            // SAFETY: the caller's.
            unsafe { pictures::read(entry, &current, (x, y), size, (format, r#type), pixels) }
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

    unsafe fn glUnmapBuffer(entry: u64, target: GLenum) -> GLboolean {
        Self::value(|| mapping::unmap(entry, &Self::current()?, target))
    }

    unsafe fn glFlushMappedBufferRange(
        entry: u64,
        target: GLenum,
        offset: GLintptr,
        length: GLsizeiptr,
    ) {
        Self::nothing(|| mapping::flush(entry, &Self::current()?, target, offset, length));
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

    unsafe fn glGetStringi(_: u64, name: GLenum, index: GLuint) -> *const GLubyte {
        let mut found = ptr::null();
        Self::nothing(|| {
            if name != GL_EXTENSIONS {
                return Err(GL_INVALID_ENUM as i32);
            }
            let index = usize::try_from(index).map_err(|_| Self::INVALID_VALUE)?;
            let word = texts::extensions()?.nth(index).ok_or(Self::INVALID_VALUE)?;
            found = strings::keep(word).as_ptr().cast();
            Ok(())
        });
        found
    }

    unsafe fn glIsSync(_: u64, sync: GLsync) -> GLboolean {
        GLboolean::from(Object::find(wire::Kind::Sync, sync).is_ok())
    }

    unsafe fn glPixelStorei(entry: u64, pname: GLenum, param: GLint) {
        Self::nothing(|| {
            let current = Self::current()?;
            pictures::store(&mut shadow::of(&current), pname, param);
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
            debug::deliver(&current)?;
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
        // SAFETY: the caller's.
        Self::nothing(|| unsafe { uniforms::floats(entry, (program, location), None, params) });
    }

    unsafe fn glGetUniformiv(entry: u64, program: GLuint, location: GLint, params: *mut GLint) {
        // SAFETY: the caller's.
        Self::nothing(|| unsafe { uniforms::integers(entry, (program, location), None, params) });
    }

    unsafe fn glGetUniformuiv(entry: u64, program: GLuint, location: GLint, params: *mut GLuint) {
        // SAFETY: the caller's.
        Self::nothing(|| unsafe { uniforms::unsigned(entry, (program, location), None, params) });
    }

    /// The board's driver begins with what was called so far.
    unsafe fn glBindFramebuffer(entry: u64, target: GLenum, framebuffer: GLuint) {
        Self::nothing(|| {
            let current = Self::current()?;
            if target != GL_READ_FRAMEBUFFER {
                shadow::of(&current).framebuffer = framebuffer;
                images::bound(framebuffer);
            }
            let request = Request::new(wire::GL_BIND_FRAMEBUFFER, Class::Post, entry);
            request.post(&wire::GlBindFramebufferArgs {
                current: current.number(),
                target,
                framebuffer,
            })
        });
    }

    unsafe fn glFramebufferTexture2D(
        entry: u64,
        target: GLenum,
        attachment: GLenum,
        textarget: GLenum,
        texture: GLuint,
        level: GLint,
    ) {
        Self::nothing(|| {
            let current = Self::current()?;
            images::attached(
                &current,
                (target, attachment),
                images::Name::Texture(texture),
            );
            let request = Request::new(wire::GL_FRAMEBUFFER_TEXTURE2D, Class::Post, entry);
            request.post(&wire::GlFramebufferTexture2DArgs {
                current: current.number(),
                target,
                attachment,
                textarget,
                texture,
                level,
            })
        });
    }

    unsafe fn glFramebufferRenderbuffer(
        entry: u64,
        target: GLenum,
        attachment: GLenum,
        renderbuffertarget: GLenum,
        renderbuffer: GLuint,
    ) {
        Self::nothing(|| {
            let current = Self::current()?;
            let name = images::Name::Renderbuffer(renderbuffer);
            images::attached(&current, (target, attachment), name);
            let request = Request::new(wire::GL_FRAMEBUFFER_RENDERBUFFER, Class::Post, entry);
            request.post(&wire::GlFramebufferRenderbufferArgs {
                current: current.number(),
                target,
                attachment,
                renderbuffertarget,
                renderbuffer,
            })
        });
    }

    unsafe fn glBindTexture(entry: u64, target: GLenum, texture: GLuint) {
        Self::nothing(|| {
            let current = Self::current_number()?;
            images::sampled(entry, images::Name::Texture(texture))?;
            Self::post_numbers(wire::GL_BIND_TEXTURE, entry, |to| {
                to.handle(current);
                to.number(target.into());
                to.number(texture.into());
            })
        });
    }

    unsafe fn glDeleteTextures(entry: u64, n: GLsizei, textures: *const GLuint) {
        Self::nothing(|| {
            let current = Self::current()?;
            // SAFETY: the caller's.
            let textures = unsafe { names(n, textures) }?;
            images::deleted(&textures, images::Name::Texture);
            let request = Request::new(wire::GL_DELETE_TEXTURES, Class::Post, entry);
            request.post(&wire::GlDeleteTexturesArgs {
                current: current.number(),
                n,
                textures: Some(textures),
            })
        });
    }

    unsafe fn glDeleteRenderbuffers(entry: u64, n: GLsizei, renderbuffers: *const GLuint) {
        Self::nothing(|| {
            let current = Self::current()?;
            // SAFETY: the caller's.
            let renderbuffers = unsafe { names(n, renderbuffers) }?;
            images::deleted(&renderbuffers, images::Name::Renderbuffer);
            let request = Request::new(wire::GL_DELETE_RENDERBUFFERS, Class::Post, entry);
            request.post(&wire::GlDeleteRenderbuffersArgs {
                current: current.number(),
                n,
                renderbuffers: Some(renderbuffers),
            })
        });
    }

    unsafe fn glDeleteFramebuffers(entry: u64, n: GLsizei, framebuffers: *const GLuint) {
        Self::nothing(|| {
            let current = Self::current()?;
            // SAFETY: the caller's.
            let framebuffers = unsafe { names(n, framebuffers) }?;
            {
                let bound = &mut shadow::of(&current).framebuffer;
                *bound = if framebuffers.contains(bound) {
                    0
                } else {
                    *bound
                };
            }
            images::deleted(&framebuffers, images::Name::Framebuffer);
            let request = Request::new(wire::GL_DELETE_FRAMEBUFFERS, Class::Post, entry);
            request.post(&wire::GlDeleteFramebuffersArgs {
                current: current.number(),
                n,
                framebuffers: Some(framebuffers),
            })
        });
    }

    unsafe fn glEGLImageTargetTexture2DOES(entry: u64, target: GLenum, image: GLeglImageOES) {
        Self::nothing(|| {
            let current = Self::current()?;
            let image = images::find(image)?;
            images::targets(entry, images::target(target)?, &image)?;
            let op = wire::GL_EGL_IMAGE_TARGET_TEXTURE2DOES;
            let request = Request::new(op, Class::Post, entry);
            request.post(&wire::GlEGLImageTargetTexture2DOESArgs {
                current: current.number(),
                target,
                image: image.number(),
            })
        });
    }

    unsafe fn glEGLImageTargetRenderbufferStorageOES(
        entry: u64,
        target: GLenum,
        image: GLeglImageOES,
    ) {
        Self::nothing(|| {
            let current = Self::current()?;
            let image = images::find(image)?;
            images::targets(entry, images::target(target)?, &image)?;
            let op = wire::GL_EGL_IMAGE_TARGET_RENDERBUFFER_STORAGE_OES;
            let request = Request::new(op, Class::Post, entry);
            request.post(&wire::GlEGLImageTargetRenderbufferStorageOESArgs {
                current: current.number(),
                target,
                image: image.number(),
            })
        });
    }

    unsafe fn glFlush(entry: u64) {
        Self::nothing(|| {
            let current = Self::current()?;
            let request: Request = work::handed_over(wire::GL_FLUSH, entry, &current, false);
            let args = wire::GlFlushArgs {
                current: current.number(),
            };
            request.forward(&args, |_| Ok(()))?;
            images::drain(entry, &current)?;
            debug::deliver(&current)
        });
    }

    unsafe fn glFinish(entry: u64) {
        Self::nothing(|| {
            let current = Self::current()?;
            let request: Request = work::handed_over(wire::GL_FINISH, entry, &current, true);
            let args = wire::GlFinishArgs {
                current: current.number(),
            };
            request.forward(&args, |_| Ok(()))?;
            images::drain(entry, &current)
        });
    }

    /// Without a timeout, it asks how the board stands.
    unsafe fn glClientWaitSync(
        entry: u64,
        sync: GLsync,
        flags: GLbitfield,
        timeout: GLuint64,
    ) -> GLenum {
        Self::value(|| {
            let (current, op) = (Self::current()?, wire::GL_CLIENT_WAIT_SYNC);
            let sync = Object::find(wire::Kind::Sync, sync)?;
            let request: Request = match timeout {
                0 => Request::new(op, Class::Sync, entry),
                _ => work::handed_over(op, entry, &current, true),
            };
            let args = wire::GlClientWaitSyncArgs {
                current: current.number(),
                sync: sync.number(),
                flags,
                timeout,
            };
            request.forward(&args, |reply| {
                let reply: wire::GlClientWaitSyncReply = reply.decode()?;
                Ok(reply.value)
            })
        })
    }
}

/// The names of objects that a program deletes.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `names` is null or has `n` of them.
unsafe fn names(n: GLsizei, names: *const GLuint) -> CallResult<Vec<u32>> {
    let count = usize::try_from(n).map_err(|_| Guest::INVALID_VALUE)?;
    // SAFETY: the caller's.
    let list = unsafe { data::array::<Guest, u32, u32>(names.cast(), count) }?;
    Ok(list.unwrap_or_default())
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

impl Guest {
    /// For numbers below zero and the like.
    const INVALID_VALUE: i32 = GL_INVALID_VALUE as i32;
}
