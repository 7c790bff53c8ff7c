//! Values of uniforms.

use crate::generated::manual::{Guest, Uniforms};
use crate::generated::types::*;
use crate::support::uniforms;
use gil_guest::api::Api;

impl Uniforms for Guest {
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
}
