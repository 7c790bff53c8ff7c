//! EGL in the guest.

use super::guest_manual::{Guest, Helpers, Kept, Manual};
use super::types::*;
use crate::guest_double::{api, never};
use gil_guest::CallResult;
use gil_guest::api::Noted;

api!(Guest, EGL_TRUE, |_| EGL_FALSE);

impl Noted for Guest {
    fn note(_: CallResult<()>) {
        never()
    }
}

impl Manual for Guest {
    unsafe fn eglSwapBuffers(_: u64, _: EGLDisplay, _: EGLSurface) -> EGLBoolean {
        never()
    }
}

impl Helpers for Guest {}
impl Kept for Guest {}
