//! Draws.

use crate::generated::manual::{Draws, Guest, Request};
use crate::generated::types::*;
use crate::support::arrays::{self, Kind};
use crate::support::images;
use gil_guest::api::{Api, Current};
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;
use std::ffi::c_void;

impl Draws for Guest {
    unsafe fn glMultiDrawArraysEXT(
        entry: u64,
        mode: GLenum,
        first: *const GLint,
        count: *const GLsizei,
        primcount: GLsizei,
    ) {
        Self::nothing(|| {
            images::draws();
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
            let (kind, lists) = ((mode, r#type), (count, indices));
            images::draws();
            // SAFETY: the caller's.
            unsafe { arrays::draw_several_elements(entry, kind, lists, None, primcount) }
        });
    }

    unsafe fn glMultiDrawElementsBaseVertexEXT(
        entry: u64,
        mode: GLenum,
        count: *const GLsizei,
        r#type: GLenum,
        indices: *const *const c_void,
        drawcount: GLsizei,
        basevertex: *const GLint,
    ) {
        Self::nothing(|| {
            images::draws();
            let (kind, lists) = ((mode, r#type), (count, indices));
            let bases = Some(basevertex);
            // SAFETY: the caller's.
            unsafe { arrays::draw_several_elements(entry, kind, lists, bases, drawcount) }
        });
    }

    unsafe fn glDrawArrays(entry: u64, mode: GLenum, first: GLint, count: GLsizei) {
        Self::nothing(|| {
            images::draws();
            // SAFETY: the caller's.
            unsafe { arrays::draw(entry, mode, (first, count)) }
        });
    }

    unsafe fn glDrawArraysInstanced(
        entry: u64,
        mode: GLenum,
        first: GLint,
        count: GLsizei,
        instancecount: GLsizei,
    ) {
        Self::nothing(|| {
            images::draws();
            // SAFETY: the caller's.
            unsafe { arrays::draw_instanced(entry, mode, (first, count), instancecount) }
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
            images::draws();
            let elements = (mode, count, r#type);
            // SAFETY: the caller's.
            unsafe { arrays::draw_elements(entry, elements, Kind::Plain, None, indices) }
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
            images::draws();
            let elements = (mode, count, r#type);
            let kind = Kind::Instanced(instancecount);
            // SAFETY: the caller's.
            unsafe { arrays::draw_elements(entry, elements, kind, None, indices) }
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
            images::draws();
            let elements = (mode, count, r#type);
            let kind = Kind::Ranged(start, end);
            // SAFETY: the caller's.
            unsafe { arrays::draw_elements(entry, elements, kind, None, indices) }
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
            images::draws();
            let elements = (mode, count, r#type);
            let (kind, base) = (Kind::Plain, Some(basevertex));
            // SAFETY: the caller's.
            unsafe { arrays::draw_elements(entry, elements, kind, base, indices) }
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
            images::draws();
            let elements = (mode, count, r#type);
            let (kind, base) = (Kind::Ranged(start, end), Some(basevertex));
            // SAFETY: the caller's.
            unsafe { arrays::draw_elements(entry, elements, kind, base, indices) }
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
            images::draws();
            let elements = (mode, count, r#type);
            let (kind, base) = (Kind::Instanced(instancecount), Some(basevertex));
            // SAFETY: the caller's.
            unsafe { arrays::draw_elements(entry, elements, kind, base, indices) }
        });
    }

    unsafe fn glDrawArraysIndirect(entry: u64, mode: GLenum, indirect: *const c_void) {
        Self::nothing(|| {
            images::draws();
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
            images::draws();
            let request = Request::new(wire::GL_DRAW_ELEMENTS_INDIRECT, Class::Post, entry);
            request.post(&wire::GlDrawElementsIndirectArgs {
                current: Self::current()?.number(),
                mode,
                r#type,
                offset: indirect as u64,
            })
        });
    }
}
