//! CUDA in the guest.

use super::guest_manual::{Guest, Helpers, Kept, Object, Request};
use super::types::CUDA_SUCCESS;
use super::wire::ModuleImage;
use crate::guest_double::{api, never};
use gil_guest::CallResult;
use gil_guest::api::{DefaultQueue, Deferred};
use gil_wire::envelope::Queue;
use std::ffi::c_void;

api!(Guest, CUDA_SUCCESS, |code| code);

impl DefaultQueue for Guest {
    fn default_queue() -> CallResult<Queue> {
        never()
    }
}

impl Deferred for Guest {
    const LOST: i32 = 46;
}

impl Kept for Guest {}

/// What the module's metadata says.
impl Helpers for Guest {
    fn ready() -> CallResult<()> {
        never()
    }

    fn kernel_params(_: &Object) -> CallResult<Vec<usize>> {
        never()
    }

    unsafe fn module_image<'a>(_: &mut Request, _: *const c_void) -> CallResult<ModuleImage<'a>> {
        never()
    }
}
