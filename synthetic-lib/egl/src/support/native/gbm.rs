//! Surfaces of libgbm: the program shows their buffers.

use super::{Native, Place};
use crate::generated::types::*;
use gil_gbm::Window;
use gil_gbm::buffer::Layout;
use gil_gbm::format::Format;
use gil_guest::api::CallResult;
use std::ffi::c_void;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A surface.
#[derive(Debug)]
struct Surface {
    identity: usize,
    window: Arc<Window>,
}

/// Where the display drivers are.
const CARD: &str = "/dev/dri/card0";

/// Whether a program that names no device has one.
pub fn is_there() -> bool {
    Path::new(CARD).exists()
}

/// The surface at an address.
///
/// # Errors
/// `EGL_BAD_NATIVE_WINDOW` if there is none.
pub fn window(native: usize) -> CallResult<Box<dyn Native>> {
    let window = gil_gbm::surface_of(native as *const c_void);
    let window = window.ok_or(EGL_BAD_NATIVE_WINDOW)?;
    Ok(Box::new(Surface {
        identity: native,
        window,
    }))
}

impl Native for Surface {
    fn identity(&self) -> usize {
        self.identity
    }

    fn size(&self) -> (u32, u32) {
        self.window.size
    }

    fn format(&self) -> Format {
        self.window.format
    }

    fn dequeue(&self) -> CallResult<usize> {
        if self.window.is_gone() {
            return Err(EGL_BAD_NATIVE_WINDOW);
        }
        // The program gives buffers back: waiting for it here would never end.
        self.window.chain.dequeue().ok_or(EGL_BAD_ALLOC)
    }

    fn target(&self, buffer: usize) -> CallResult<(Place, Layout)> {
        let buffer = self.window.buffer(buffer).map_err(|_| EGL_BAD_ALLOC)?;
        let import = buffer.import_once().map_err(|_| EGL_BAD_ALLOC)?;
        Ok((Place::Import(import.clone()), buffer.layout))
    }

    fn queue(&self, buffer: usize, _: &[Range<u32>]) -> CallResult<()> {
        self.window.chain.queue(buffer);
        Ok(())
    }

    fn cancel(&self, buffer: usize) {
        self.window.chain.cancel(buffer);
    }
}
