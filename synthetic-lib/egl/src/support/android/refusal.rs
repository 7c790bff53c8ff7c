//! Why a window or a buffer of Android's is not used. EGL has numbers only: the sentence is
//! kept for whoever brings up a gralloc or a window, a thread's last.

use crate::generated::types::*;
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::ptr::null;

/// Why.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// There is nothing.
    #[error("at {0:#x} is no structure: pass its address")]
    Address(usize),
    /// It is another structure.
    #[error(
        "the structure begins with {found:#010x} instead of {wanted:#010x}: pass an ANativeWindow as a window, an ANativeWindowBuffer as a buffer"
    )]
    Magic {
        /// Its magic word.
        found: u32,
        /// That of such a structure.
        wanted: u32,
    },
    /// It is an older release's.
    #[error("the structure has {found} bytes, fewer than {least}: use Android 4.2 or later")]
    Version {
        /// Bytes that it says it has.
        found: u32,
        /// Bytes that it needs.
        least: usize,
    },
    /// It has no such function.
    #[error("the window has no function {0}: fill it in")]
    Function(&'static str),
    /// A function of the window's failed.
    #[error("the window's {name} returned {result}: see what ended or took the window")]
    Operation {
        /// What the window was asked for.
        name: &'static str,
        /// What it returned: 0, or a negative error of the operating system's.
        result: c_int,
    },
    /// A buffer's memory is not described.
    #[error(
        "the buffer's native handle has {fds} descriptors and {ints} numbers: its first descriptor is to be a dma-buf"
    )]
    Handle {
        /// Its number of descriptors.
        fds: c_int,
        /// Its number of other numbers.
        ints: c_int,
    },
    /// A descriptor is something else.
    #[error("descriptor {fd} is no dma-buf: let the gralloc export its buffers as dma-bufs")]
    Descriptor {
        /// The descriptor.
        fd: c_int,
    },
    /// gil's driver does not take the memory.
    #[error("descriptor {fd}: {error}")]
    Memory {
        /// The descriptor.
        fd: c_int,
        /// The driver's error.
        error: gil_guest::Error,
    },
    /// Its pixels are of a format that nothing draws to.
    #[error("pixel format {0:#x}: use RGBA_8888, RGBX_8888, RGB_565 or BGRA_8888")]
    Format(u32),
    /// It has no possible size.
    #[error(
        "{width} x {height} pixels, {stride} from a row to the next: sides are 1 to {most}, and rows do not overlap"
    )]
    Sides {
        /// Pixels.
        width: i64,
        /// Pixels.
        height: i64,
        /// Pixels or bytes, as the buffer has it.
        stride: i64,
        /// The longest side.
        most: u32,
    },
    /// A window's buffer has another size than was asked for.
    #[error(
        "the window's buffer has {found:?} pixels instead of {wanted:?}: follow NATIVE_WINDOW_SET_BUFFERS_DIMENSIONS"
    )]
    Size {
        /// Its width and height.
        found: (u32, u32),
        /// Those that were asked for.
        wanted: (u32, u32),
    },
    /// The picture is not in the memory.
    #[error("the picture ends at byte {end} of a buffer of {len}: mend its stride or its size")]
    Short {
        /// Where the picture ends.
        end: u64,
        /// Bytes of the memory.
        len: u64,
    },
    /// There are too many descriptions.
    #[error("{0} buffers are described: call gilForgetBuffer for those that are freed")]
    Many(usize),
}

thread_local! {
    /// The thread's last.
    static LAST: RefCell<Option<CString>> = const { RefCell::new(None) };
}

impl Refusal {
    /// Nothing, if a function of a window's returned 0.
    ///
    /// # Errors
    /// [`Operation`](Self::Operation) otherwise.
    pub fn unless_done(name: &'static str, result: c_int) -> Result<(), Self> {
        match result {
            0 => Ok(()),
            result => Err(Self::Operation { name, result }),
        }
    }

    /// Keeps its sentence for [`last`]; EGL's code, which is `wrong` where the program's
    /// object is no such thing.
    pub fn noted(self, wrong: EGLint) -> EGLint {
        let text = CString::new(self.to_string()).unwrap_or_default();
        LAST.set(Some(text));
        match self {
            Self::Address(_) | Self::Magic { .. } | Self::Version { .. } | Self::Function(_) => {
                wrong
            }
            Self::Operation { .. } | Self::Size { .. } => EGL_BAD_SURFACE,
            Self::Format(_) => EGL_BAD_MATCH,
            Self::Short { .. } => EGL_BAD_ACCESS,
            Self::Handle { .. }
            | Self::Descriptor { .. }
            | Self::Memory { .. }
            | Self::Sides { .. }
            | Self::Many(_) => EGL_BAD_ALLOC,
        }
    }
}

/// `gilRefusal`: why a window or a buffer was last refused in this thread, as a sentence that
/// stays until the next; null if none was.
#[unsafe(export_name = "gil_gilRefusal")]
pub extern "C" fn last() -> *const c_char {
    LAST.with_borrow(|last| last.as_ref().map_or(null(), |text| text.as_ptr()))
}
