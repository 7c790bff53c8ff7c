//! EGL in the guest.

use super::guest_manual::Manual;
use super::types::*;
pub use crate::guest_double::*;

pub struct Guest;

impl Manual for Guest {
    unsafe fn eglSwapBuffers(_: u64, _: EGLDisplay, _: EGLSurface) -> EGLBoolean {
        never()
    }
}

pub mod details {}
pub mod helpers {}
