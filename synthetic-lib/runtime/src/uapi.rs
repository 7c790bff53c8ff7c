//! The ioctls of `/dev/gil`, as this library uses them: see [`gil_uapi`].

pub use gil_uapi::{
    ABI_VERSION, DEVICE_PATH, FENCE_MAX_NS, FenceArg, ImportArg, Info, PinArg, Region,
    STATUS_UNSEEN, Submit, WAIT_COLLECT, WAIT_PROGRESS, Wait, flag, ioc_fence, ioc_forget,
    ioc_import, ioc_info, ioc_pin, ioc_submit, ioc_wait,
};
use gil_uapi::{Status, WaitKind};
use gil_wire::message::Direction;

/// Largest request of one submission, bytes.
pub const REQUEST_MAX: usize = gil_uapi::REQUEST_MAX as usize;
/// Largest reply of one submission, bytes.
pub const REPLY_MAX: usize = gil_uapi::REPLY_MAX as usize;
/// Most regions of one submission.
pub const REGIONS_MAX: usize = gil_uapi::REGIONS_MAX as usize;

/// The submission was executed.
pub const STATUS_OK: u32 = Status::Ok as u32;
/// Nothing was executed: something it needs is not resolved yet.
pub const STATUS_UNRESOLVED: u32 = Status::Unresolved as u32;
/// The host or the board refused the request.
pub const STATUS_BAD_REQUEST: u32 = Status::BadRequest as u32;
/// The board, or this session on it, is gone.
pub const STATUS_LOST: u32 = Status::Lost as u32;
/// [`Status::Unserved`].
pub const STATUS_UNSERVED: u32 = Status::Unserved as u32;

/// No delay.
pub const WAIT_NONE: u32 = WaitKind::None as u32;
/// Sleep until the deadline.
pub const WAIT_SLEEP: u32 = WaitKind::Sleep as u32;

/// The region of `len` bytes at `start`.
pub fn region(start: *const libc::c_void, len: usize, dir: Direction) -> Region {
    Region {
        addr: start as usize as u64,
        len: len as u64,
        dir: dir as u32,
        import: 0,
    }
}
