//! Pictures that are read.

use crate::generated::manual::{Guest, Reads, Request};
use crate::generated::types::*;
use crate::support::{pictures, shadow};
use gil_guest::api::{Api, Current};
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;
use std::ffi::c_void;

impl Reads for Guest {
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
}
