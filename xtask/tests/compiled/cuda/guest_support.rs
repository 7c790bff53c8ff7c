//! CUDA in the guest.

pub use crate::guest_double::*;

pub struct Guest;

pub mod details {}

/// What the module's metadata says.
pub mod helpers {
    use super::super::wire::ModuleImage;
    use super::{CallResult, Object, Request, never};
    use std::ffi::c_void;

    pub fn kernel_params(_: &Object) -> CallResult<Vec<usize>> {
        never()
    }
    pub unsafe fn module_image<'a>(
        _: &mut Request,
        _: *const c_void,
    ) -> CallResult<ModuleImage<'a>> {
        never()
    }
}
