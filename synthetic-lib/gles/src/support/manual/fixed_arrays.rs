//! Vertex arrays of OpenGL ES 1.1.

use crate::generated::manual::{FixedArrays, Guest, Request};
use crate::generated::types::*;
use crate::support::fixed;
use gil_gles_common::fixed::Array;
use gil_guest::api::{Api, Current};
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;
use std::ffi::c_void;

impl FixedArrays for Guest {
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
}
