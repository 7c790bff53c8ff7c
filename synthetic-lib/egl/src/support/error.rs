//! The error of a thread's last call.

use crate::generated::types::*;
use std::cell::Cell;

thread_local! {
    static LAST: Cell<EGLint> = const { Cell::new(EGL_SUCCESS) };
}

/// The last call of this thread ended so.
pub fn set(code: EGLint) {
    LAST.set(code);
}

/// How this thread's last call ended; from here on, well.
pub fn take() -> EGLint {
    LAST.replace(EGL_SUCCESS)
}
