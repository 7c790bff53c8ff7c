//! gil's back end for libgbm: buffers that the guest's display can show, and surfaces
//! of them that EGL draws to. A program calls Mesa's `libgbm.so.1`, which opens the
//! back end by the name of the kernel's display driver.
//!
//! Buffers are the display driver's dumb buffers, or a render node's: linear, in the guest's RAM. What is
//! drawn comes from the board into that memory, by the number that gil's driver gives
//! the buffer ([`Buffer::import`]).
//!
//! | module | what |
//! |---|---|
//! | [`abi`] | the structures that libgbm and a back end share |
//! | [`buffer`] | buffers of a display driver |
//! | [`device`] | the display driver, and its numbers of buffers |
//! | [`chain`] | the buffers of a window: which is shown, which may be drawn to |
//! | [`format`](mod@format) | pixel formats |
//! | `virtio` | buffers by a render node |
//! | `backend` | what libgbm calls |

pub mod abi;
mod backend;
pub mod buffer;
pub mod chain;
pub mod device;
pub mod format;
mod virtio;

pub use backend::{Window, buffer_of, device_of, is_device, surface_of};
pub use buffer::Buffer;
pub use chain::Chain;
