//! The ioctls of `/dev/gil`: the mirror of `synthetic-driver/uapi/gil.h`.
//!
//! `tests/uapi.rs` compiles that header and compares every constant, size and
//! offset with what stands here.

use gil_wire::message::Direction;

/// Version of the border that this mirror describes.
pub const ABI_VERSION: u32 = 2;
/// The device's path.
pub const DEVICE_PATH: &str = "/dev/gil";

/// Largest request of one submission, bytes.
pub const REQUEST_MAX: usize = 8192;
/// Largest reply of one submission, bytes.
pub const REPLY_MAX: usize = 8192;
/// Most regions of one submission.
pub const REGIONS_MAX: usize = 64;

/// The submission was executed.
pub const STATUS_OK: u32 = 0;
/// Nothing was executed: something it needs is not resolved yet.
pub const STATUS_UNRESOLVED: u32 = 1;
/// The host refused the mailbox.
pub const STATUS_BAD_MAILBOX: u32 = 2;
/// The host or the board refused the request.
pub const STATUS_BAD_REQUEST: u32 = 3;
/// The board, or this session on it, is gone.
pub const STATUS_LOST: u32 = 4;
/// The sequence number was executed before.
pub const STATUS_DUPLICATE: u32 = 5;
/// Nobody answered the doorbell.
pub const STATUS_UNSEEN: u32 = u32::MAX;

/// No delay.
pub const WAIT_NONE: u32 = 0;
/// Sleep until the deadline.
pub const WAIT_SLEEP: u32 = 1;
/// Occupy the processor until the deadline.
pub const WAIT_OCCUPY: u32 = 2;
/// Sleep until the session's progress exceeds a number.
pub const WAIT_PROGRESS: u32 = 3;

/// Output becomes due by the deadline: collect it after the wait.
pub const FLAG_COLLECT: u32 = 2;
/// The operation is accepted and not resolved yet.
pub const FLAG_PENDING: u32 = 16;

/// Ring a collecting doorbell when the deadline has passed.
pub const WAIT_FLAG_COLLECT: u32 = 1;

/// Memory that a call names: `struct gil_region`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// User virtual address.
    pub addr: u64,
    /// Bytes, not 0.
    pub len: u64,
    /// A [`Direction`] as a number.
    pub dir: u32,
    /// 0.
    pub reserved: u32,
}

impl Region {
    /// The region of `len` bytes at `start`.
    pub fn new(start: *const libc::c_void, len: usize, dir: Direction) -> Self {
        Self {
            addr: start as usize as u64,
            len: len as u64,
            dir: dir as u32,
            reserved: 0,
        }
    }
}

/// `struct gil_submit`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Submit {
    /// User address of the envelopes.
    pub request: u64,
    /// User address of the room for the answer.
    pub reply: u64,
    /// User address of the [`Region`]s.
    pub regions: u64,
    /// Bytes of the request.
    pub request_len: u32,
    /// Bytes of room at `reply`.
    pub reply_cap: u32,
    /// Number of regions.
    pub region_count: u32,
    /// 0.
    pub reserved: u32,
    /// Out: a `STATUS_` number.
    pub status: u32,
    /// Out: bytes of the answer.
    pub reply_len: u32,
    /// Out: when the call ends, `CLOCK_MONOTONIC` nanoseconds.
    pub deadline_ns: u64,
    /// Out: when the doorbell rang, `CLOCK_MONOTONIC` nanoseconds.
    pub now_ns: u64,
    /// Out: the session's progress before the doorbell rang.
    pub progress: u64,
    /// Out: a `WAIT_` number.
    pub wait_kind: u32,
    /// Out: `FLAG_` bits.
    pub flags: u32,
}

/// `struct gil_wait`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait {
    /// `CLOCK_MONOTONIC` nanoseconds.
    pub deadline_ns: u64,
    /// With [`WAIT_PROGRESS`]: the progress to exceed.
    pub progress: u64,
    /// A `WAIT_` number.
    pub kind: u32,
    /// [`WAIT_FLAG_COLLECT`] or 0.
    pub flags: u32,
}

/// `struct gil_info`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// The driver's [`ABI_VERSION`].
    pub abi_version: u32,
    /// 0.
    pub reserved: u32,
    /// The session's number.
    pub session: u64,
}

/// Number of the info ioctl.
pub const IOC_INFO: u64 = nix::request_code_read!(b'g', 0x01, size_of::<Info>()) as u64;
/// Number of the submit ioctl.
pub const IOC_SUBMIT: u64 = nix::request_code_readwrite!(b'g', 0x02, size_of::<Submit>()) as u64;
/// Number of the wait ioctl.
pub const IOC_WAIT: u64 = nix::request_code_write!(b'g', 0x03, size_of::<Wait>()) as u64;

nix::ioctl_read!(
    /// `GIL_IOC_INFO`.
    ioc_info, b'g', 0x01, Info
);
nix::ioctl_readwrite!(
    /// `GIL_IOC_SUBMIT`.
    ioc_submit, b'g', 0x02, Submit
);
nix::ioctl_write_ptr!(
    /// `GIL_IOC_WAIT`.
    ioc_wait, b'g', 0x03, Wait
);
