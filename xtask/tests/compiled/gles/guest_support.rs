//! OpenGL ES in the guest.

pub use crate::guest_double::*;

pub struct Guest;

pub mod details {}

/// What depends on the current context's state.
pub mod helpers {
    use super::super::wire::Source;
    use super::{CallResult, Object, Request, never};
    use gil_wire::length::Length;
    use std::ffi::c_void;

    pub fn get_count(_: &Object, _: u64) -> Length {
        never()
    }
    pub fn tex_image_bytes(_: &Object, _: u64, _: u64, _: u64, _: u64) -> Length {
        never()
    }
    pub unsafe fn vertex_source<'a>(
        _: &mut Request,
        _: &Object,
        _: u32,
        _: i32,
        _: u32,
        _: i32,
        _: *const c_void,
    ) -> CallResult<Source<'a>> {
        never()
    }
    pub unsafe fn index_source<'a>(
        _: &mut Request,
        _: &Object,
        _: i32,
        _: u32,
        _: *const c_void,
    ) -> CallResult<Source<'a>> {
        never()
    }
}
