//! The windows of each platform: where their buffers are, and who shows them.

pub mod android;
mod egl_window;
pub mod fbdev;
pub mod gbm;
pub mod wayland;
pub mod x11;

use gil_gbm::buffer::Layout;
use gil_gbm::format::Format;
use gil_guest::Import;
use gil_guest::api::CallResult;
use memmap2::MmapRaw;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;

/// The memory of a buffer, for the board.
#[derive(Debug)]
pub enum Place {
    /// A buffer of another driver's.
    Import(Arc<Import>),
    /// Memory that the process has mapped.
    Memory(*mut c_void),
}

/// The buffers of a window, whoever shows them.
pub trait Native: std::fmt::Debug + Send + Sync {
    /// The program's window: it has one surface at most.
    fn identity(&self) -> usize;

    /// The picture's width and height.
    fn size(&self) -> (u32, u32);

    /// Of its pixels.
    fn format(&self) -> Format;

    /// A buffer that may be drawn to: its number, below
    /// [`BUFFERS_MAX`](gil_gbm::chain::BUFFERS_MAX).
    ///
    /// # Errors
    /// The API's code if there is none.
    fn dequeue(&self) -> CallResult<usize>;

    /// Where a buffer's picture is, and how it lies.
    ///
    /// # Errors
    /// The API's code.
    fn target(&self, buffer: usize) -> CallResult<(Place, Layout)>;

    /// Whether the buffer that was dequeued has its number anew: its picture is not known.
    fn is_new(&self, _buffer: usize) -> bool {
        false
    }

    /// A buffer is finished: what shows the window may take it. Of the picture before,
    /// these rows are `changed`.
    ///
    /// # Errors
    /// The API's code.
    fn queue(&self, buffer: usize, changed: &[Range<u32>]) -> CallResult<()>;

    /// A buffer was not drawn to.
    fn cancel(&self, buffer: usize);

    /// Whether a frame waits until what shows the window wants one.
    fn set_paced(&self, _is_paced: bool) {}

    /// The window's new size, from which on its buffers have it; none if it has not changed.
    fn resized(&self) -> Option<(u32, u32)> {
        None
    }
}

/// A picture of this size at the beginning of mapped memory; `stride`: bytes from a row to
/// the next.
fn mapped(
    memory: &MmapRaw,
    (width, height): (u32, u32),
    format: Format,
    stride: u32,
) -> (Place, Layout) {
    let layout = Layout {
        width,
        height,
        format,
        stride,
        offset: 0,
    };
    (Place::Memory(memory.as_mut_ptr().cast()), layout)
}
