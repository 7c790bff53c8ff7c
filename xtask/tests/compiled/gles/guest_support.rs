//! OpenGL ES in the guest. What is current is a context of EGL's.

use super::guest_manual::{Guest, Helpers, Kept, Request};
use super::wire::Source;
use crate::guest_double::{api, never};
use gil_guest::CallResult;
use gil_guest::api::{Current, CurrentObject};
use gil_wire::length::Length;
use std::ffi::c_void;

type Context = CurrentObject<Guest>;

api!(Guest, (), |_| ());

impl Current for Guest {
    type Owner = crate::egl::guest_manual::Guest;

    fn current() -> CallResult<Context> {
        never()
    }
}

impl Kept for Guest {}

/// What depends on the current context's state.
impl Helpers for Guest {
    fn get_count(_: &Context, _: u64) -> Length {
        never()
    }

    fn tex_image_bytes(_: &Context, _: u64, _: u64, _: u64, _: u64) -> Length {
        never()
    }

    unsafe fn vertex_source<'a>(
        _: &mut Request,
        _: &Context,
        _: u32,
        _: i32,
        _: u32,
        _: i32,
        _: *const c_void,
    ) -> CallResult<Source<'a>> {
        never()
    }

    unsafe fn index_source<'a>(
        _: &mut Request,
        _: &Context,
        _: i32,
        _: u32,
        _: *const c_void,
    ) -> CallResult<Source<'a>> {
        never()
    }
}
