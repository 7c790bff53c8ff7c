//! Calls of a GPU's kernel driver: one API a driver, whose entries are gil's own calls
//! and the driver's ioctls.

use crate::Op;
use crate::state::Effect;

/// The module of a board that serves all of them.
pub const BACK_END: &str = "drivers";

/// A program opened the node.
pub const OPEN: u16 = 1;
/// It closed it.
pub const CLOSE: u16 = 2;
/// Nobody has a buffer any more.
pub const FREE: u16 = 3;
/// A buffer's bytes, of a guest that may have written them.
pub const CHANGED: u16 = 4;
/// The entry of the ioctl of number 0.
pub const IOCTLS: u16 = 16;

/// What a call leaves behind for a checkpoint: nothing. A driver's memory and its jobs
/// cannot be kept.
pub fn effect(_op: Op, _args: &[u8], _result: Option<&[u8]>) -> Option<Effect> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api;
    use crate::generated::virtio_gpu;

    #[test]
    fn calls_have_the_names_that_c_has() {
        let name = |entry| Op::new(virtio_gpu::API, entry).to_string();
        assert_eq!(name(OPEN), "gilDriverOpen");
        assert_eq!(name(CLOSE), "gilDriverClose");
        assert_eq!(name(FREE), "gilDriverFree");
        assert_eq!(name(CHANGED), "gilDriverChanged");
        assert_eq!(name(IOCTLS + 2), "VIRTGPU_EXECBUFFER");
        assert_eq!(virtio_gpu::VIRTGPU_EXECBUFFER.entry(), IOCTLS + 2);
        let api = api::api(virtio_gpu::API).unwrap();
        assert_eq!((api.title, api.back_end), ("virtio_gpu driver", BACK_END));
    }
}
