//! Pictures that are read.

use crate::generated::manual::{Guest, Reads};
use crate::generated::types::*;
use crate::support::pixels::{self, Picture};
use crate::support::{pictures, shadow};
use gil_guest::api::{Api, Current};
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
            let picture = Picture {
                place: (x, y),
                size: (width, height),
                kind: (format, r#type),
            };
            // SAFETY: the caller's.
            unsafe { pixels::read(entry, &Self::current()?, picture, pixels) }
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
            let picture = Picture {
                place: (x, y),
                size: (width, height),
                kind,
            };
            // SAFETY: the caller's.
            unsafe { pixels::read(entry, &current, picture, data) }
        });
    }

    unsafe fn glPixelStorei(entry: u64, pname: GLenum, param: GLint) {
        Self::nothing(|| {
            let current = Self::current_number()?;
            shadow::with(|shadow| pictures::store(shadow, pname, param))?;
            Self::post_numbers(wire::GL_PIXEL_STOREI, entry, |to| {
                to.handle(current);
                to.number(pname.into());
                to.signed(param.into());
            })
        });
    }
}
