//! Buffers by a render node of `virtio_gpu`, where the kernel makes no dumb ones: programs
//! that a compositor shows have no other node.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `struct drm_virtgpu_resource_create` of `drm/virtgpu_drm.h`.
#[repr(C)]
#[derive(Default)]
struct Resource {
    target: u32,
    format: u32,
    bind: u32,
    width: u32,
    height: u32,
    depth: u32,
    array_size: u32,
    last_level: u32,
    samples: u32,
    flags: u32,
    handle: u32,
    number: u32,
    size: u32,
    stride: u32,
}

/// `DRM_IOCTL_VIRTGPU_RESOURCE_CREATE`.
const CREATE: u32 = 0xc038_6444;
const _: () = assert!(size_of::<Resource>() == 0x38);

/// `PIPE_TEXTURE_2D`, of one level and one sample, as a device without 3D has it.
const TEXTURE_2D: u32 = 2;
/// `VIRTIO_GPU_FORMAT_B8G8R8X8_UNORM`.
const WORDS: u32 = 2;

/// A buffer that was made.
#[derive(Debug)]
pub struct Made {
    /// The display driver's number of it.
    pub handle: u32,
    /// Bytes from a row to the next.
    pub pitch: u32,
    /// Bytes of its memory.
    pub size: u64,
}

/// A buffer with pixels of 32 bits.
///
/// # Errors
/// The display driver's.
pub fn create(node: BorrowedFd<'_>, width: u32, height: u32) -> io::Result<Made> {
    let too_large = || io::Error::from_raw_os_error(libc::EINVAL);
    let pitch = width.checked_mul(4).ok_or_else(too_large)?;
    let size = pitch.checked_mul(height).ok_or_else(too_large)?;
    let mut resource = Resource {
        target: TEXTURE_2D,
        format: WORDS,
        width,
        height,
        depth: 1,
        array_size: 1,
        size,
        ..Resource::default()
    };
    // SAFETY: the driver reads and writes the structure, of which the number says the size.
    let done = unsafe { libc::ioctl(node.as_raw_fd(), CREATE as _, &raw mut resource) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Made {
        handle: resource.handle,
        pitch,
        size: size.into(),
    })
}
