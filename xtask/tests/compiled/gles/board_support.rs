//! OpenGL ES on the board.

pub use crate::board_double::Board;
use gil_board::back_end::{Call, Refusal};

/// What is current is EGL's.
pub type Session =
    crate::board_double::Session<crate::egl::wire::Kind, super::functions::Functions>;

/// What depends on the current context's state.
pub mod helpers {
    use super::super::wire::Source;
    use super::{Call, Refusal, Session};
    use crate::guest_double::never;
    use gil_wire::length::Length;
    use std::ffi::c_void;

    pub fn get_count(_: &Session, _: u64) -> Length {
        never()
    }
    pub fn tex_image_bytes(_: &Session, _: u64, _: u64, _: u64, _: u64) -> Length {
        never()
    }
    pub fn vertex_source(
        _: &mut Session,
        _: &mut Call,
        _: &Source<'_>,
        _: u32,
        _: i32,
        _: u32,
        _: i32,
    ) -> Result<*const c_void, Refusal> {
        never()
    }
    pub fn index_source(
        _: &mut Session,
        _: &mut Call,
        _: &Source<'_>,
        _: i32,
        _: u32,
    ) -> Result<*const c_void, Refusal> {
        never()
    }
}
