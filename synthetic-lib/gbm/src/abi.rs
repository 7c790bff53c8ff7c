//! The structures that libgbm and its back ends share: version 1 of the interface that
//! Mesa's `src/gbm/main/gbm_backend_abi.h` declares. libgbm reads some fields itself.

#![allow(missing_docs, reason = "the fields have the header's names")]

use std::ffi::{c_char, c_int, c_uint, c_void};

/// The interface's version that this back end has.
pub const VERSION: u32 = 1;

/// `enum gbm_bo_import_type`: a descriptor, a descriptor with a modifier.
pub const IMPORT_FD: u32 = 0x5503;
pub const IMPORT_FD_MODIFIER: u32 = 0x5504;

/// `enum gbm_bo_flags`: what a buffer is for.
pub const USE_SCANOUT: u32 = 1 << 0;
pub const USE_CURSOR: u32 = 1 << 1;
pub const USE_RENDERING: u32 = 1 << 2;
pub const USE_WRITE: u32 = 1 << 3;
pub const USE_LINEAR: u32 = 1 << 4;

/// `GBM_MAX_PLANES`.
pub const MAX_PLANES: usize = 4;

#[repr(C)]
#[derive(Clone, Copy)]
pub union BoHandle {
    pub ptr: *mut c_void,
    pub s32: i32,
    pub u32: u32,
    pub s64: i64,
    pub u64: u64,
}

/// `struct gbm_import_fd_data`.
#[repr(C)]
#[derive(Debug)]
pub struct ImportFd {
    pub fd: c_int,
    pub width: u32,
    pub height: u32,
    pub stride: u32,
    pub format: u32,
}

/// `struct gbm_import_fd_modifier_data`.
#[repr(C)]
#[derive(Debug)]
pub struct ImportFdModifier {
    pub width: u32,
    pub height: u32,
    pub format: u32,
    pub num_fds: u32,
    pub fds: [c_int; MAX_PLANES],
    pub strides: [c_int; MAX_PLANES],
    pub offsets: [c_int; MAX_PLANES],
    pub modifier: u64,
}

/// `struct gbm_device`. libgbm fills in `dummy` and `backend_desc`.
#[repr(C)]
pub struct Device {
    pub dummy: *mut c_void,
    pub backend_desc: *const c_void,
    pub backend_version: u32,
    pub fd: c_int,
    pub name: *const c_char,
    pub destroy: unsafe extern "C" fn(*mut Device),
    pub is_format_supported: unsafe extern "C" fn(*mut Device, u32, u32) -> c_int,
    pub get_format_modifier_plane_count: unsafe extern "C" fn(*mut Device, u32, u64) -> c_int,
    pub bo_create:
        unsafe extern "C" fn(*mut Device, u32, u32, u32, u32, *const u64, c_uint) -> *mut Bo,
    pub bo_import: unsafe extern "C" fn(*mut Device, u32, *mut c_void, u32) -> *mut Bo,
    pub bo_map: unsafe extern "C" fn(
        *mut Bo,
        u32,
        u32,
        u32,
        u32,
        u32,
        *mut u32,
        *mut *mut c_void,
    ) -> *mut c_void,
    pub bo_unmap: unsafe extern "C" fn(*mut Bo, *mut c_void),
    pub bo_write: unsafe extern "C" fn(*mut Bo, *const c_void, usize) -> c_int,
    pub bo_get_fd: unsafe extern "C" fn(*mut Bo) -> c_int,
    pub bo_get_planes: unsafe extern "C" fn(*mut Bo) -> c_int,
    pub bo_get_handle: unsafe extern "C" fn(*mut Bo, c_int) -> BoHandle,
    pub bo_get_plane_fd: unsafe extern "C" fn(*mut Bo, c_int) -> c_int,
    pub bo_get_stride: unsafe extern "C" fn(*mut Bo, c_int) -> u32,
    pub bo_get_offset: unsafe extern "C" fn(*mut Bo, c_int) -> u32,
    pub bo_get_modifier: unsafe extern "C" fn(*mut Bo) -> u64,
    pub bo_destroy: unsafe extern "C" fn(*mut Bo),
    pub surface_create:
        unsafe extern "C" fn(*mut Device, u32, u32, u32, u32, *const u64, c_uint) -> *mut Surface,
    pub surface_lock_front_buffer: unsafe extern "C" fn(*mut Surface) -> *mut Bo,
    pub surface_release_buffer: unsafe extern "C" fn(*mut Surface, *mut Bo),
    pub surface_has_free_buffers: unsafe extern "C" fn(*mut Surface) -> c_int,
    pub surface_destroy: unsafe extern "C" fn(*mut Surface),
    /// Of version 1: copies between buffers.
    pub bo_blit: Option<BoBlit>,
}

/// `gbm_device.v1.bo_blit`.
pub type BoBlit = unsafe extern "C" fn(
    *mut Bo,
    *mut Bo,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_uint,
) -> c_int;

/// `struct gbm_bo`.
#[repr(C)]
pub struct Bo {
    pub gbm: *mut Device,
    pub v0: BoV0,
}

/// `struct gbm_bo_v0`. It is aligned as its handle: behind the pointer in [`Bo`] 32-bit
/// programs have four bytes between them.
#[repr(C)]
pub struct BoV0 {
    pub width: u32,
    pub height: u32,
    pub stride: u32,
    pub format: u32,
    pub handle: BoHandle,
    pub user_data: *mut c_void,
    pub destroy_user_data: Option<unsafe extern "C" fn(*mut Bo, *mut c_void)>,
}

const _: () = assert!(std::mem::offset_of!(Bo, v0) == 8);

/// `struct gbm_surface`.
#[repr(C)]
#[derive(Debug)]
pub struct Surface {
    pub gbm: *mut Device,
    pub width: u32,
    pub height: u32,
    pub format: u32,
    pub flags: u32,
    pub modifiers: *mut u64,
    pub modifier_count: c_uint,
}

/// `struct gbm_backend`.
#[repr(C)]
pub struct Backend {
    pub backend_version: u32,
    pub backend_name: *const c_char,
    pub create_device: unsafe extern "C" fn(c_int, u32) -> *mut Device,
}

// SAFETY: it is a constant that points to constants.
unsafe impl Sync for Backend {}

/// `struct gbm_core`: what libgbm has for back ends.
#[repr(C)]
pub struct Core {
    pub core_version: u32,
    pub format_canonicalize: unsafe extern "C" fn(u32) -> u32,
}
