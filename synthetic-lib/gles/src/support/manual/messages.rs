//! Debug messages and labels.

use crate::generated::manual::{Guest, Messages, Object, Request};
use crate::generated::types::*;
use crate::support::debug;
use gil_guest::api::{Api, Current, data};
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;
use std::ffi::c_void;

impl Messages for Guest {
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
            debug::receive(&current, debug::Receiver::new(callback, user_param))
        });
    }

    unsafe fn glGetDebugMessageLog(
        entry: u64,
        count: GLuint,
        size: GLsizei,
        sources: *mut GLenum,
        types: *mut GLenum,
        ids: *mut GLuint,
        severities: *mut GLenum,
        lengths: *mut GLsizei,
        texts: *mut GLchar,
    ) -> GLuint {
        let places = debug::log::Places {
            count,
            size,
            sources,
            types,
            ids,
            severities,
            lengths,
            texts,
        };
        // SAFETY: the caller's.
        Self::value(|| unsafe { debug::log::get(entry, &Self::current()?, places) })
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
}
