//! What the runtime needs of contexts and modules. Runtimes of CUDA 12 and later use only the
//! handles of primary contexts; older ones load their modules here.

use super::super::{place, primary};
use super::{Id, Table};
use crate::generated::manual::Guest;
use crate::generated::stubs::cuModuleLoadFatBinary;
use crate::generated::types::*;
use gil_guest::api::Api;
use std::ffi::{c_uint, c_void};

pub const ID: Id = [
    0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9,
];

pub static TABLE: Table<13> = Table::sized(&[
    (1, load as *const c_void),
    (2, primary_context as *const c_void),
    (6, load_with as *const c_void),
    (8, load_from as *const c_void),
]);

/// Loads a module from what the compiler puts around a fat binary.
unsafe extern "C" fn load(module: *mut CUmodule, wrapper: *const c_void) -> CUresult {
    // SAFETY: the caller's.
    unsafe { cuModuleLoadFatBinary(module, wrapper) }
}

/// As [`load`], with more of which nothing is known but that it may be nothing.
unsafe extern "C" fn load_with(
    module: *mut CUmodule,
    wrapper: *const c_void,
    first: *const c_void,
    second: *const c_void,
    third: c_uint,
) -> CUresult {
    if !first.is_null() || !second.is_null() || third != 0 {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    // SAFETY: the caller's.
    unsafe { cuModuleLoadFatBinary(module, wrapper) }
}

/// As [`load_with`], of a fat binary.
unsafe extern "C" fn load_from(
    binary: *const c_void,
    module: *mut CUmodule,
    first: *const c_void,
    second: *const c_void,
    third: c_uint,
) -> CUresult {
    // SAFETY: the caller's.
    unsafe { load_with(module, binary, first, second, third) }
}

/// The handle of a device's primary context, which does not come into use by that.
unsafe extern "C" fn primary_context(context: *mut CUcontext, device: CUdevice) -> CUresult {
    let entry = gil_guest::entry();
    Guest::returned(|| {
        let to = place(context)?;
        let handle = primary::handle(entry, device)?;
        // SAFETY: the caller's place.
        unsafe { to.write(handle) };
        Ok(())
    })
}
