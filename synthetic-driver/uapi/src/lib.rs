//! The Rust mirror of `gil.h`, which lies beside this crate and is the one truth:
//! a test compiles it and compares every constant, size and offset.
//!
//! - the ioctls of `/dev/gil`: [`Info`], [`Submit`], [`Wait`];
//! - the table of disks that `gil_disk.ko` reads: [`disks`] (`gil_disks.h`);
//! - what the driver puts into guest RAM for the host interface: [`Mailbox`] and
//!   what it names; addresses and lengths there are [`GuestAddress`] and
//!   [`GuestLength`].
//!
//! All fields are little-endian, as every machine is that this is built for.
//! Structures are copied out of guest RAM as bytes; nothing there is ever
//! referred to as a Rust type.

#[cfg(target_endian = "big")]
compile_error!("gil.h is little-endian, and so must be the machine");

mod address;
pub mod disks;

pub use address::{GuestAddress, GuestLength, VirtualAddress};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// `GIL_ABI_VERSION`.
pub const ABI_VERSION: u32 = 4;
/// The path of `GIL_DEVICE_NAME`.
pub const DEVICE_PATH: &str = "/dev/gil";
/// `GIL_REQUEST_MAX`: bytes of envelopes in one submission.
pub const REQUEST_MAX: u32 = 8192;
/// `GIL_REPLY_MAX`: bytes of answer, without regions.
pub const REPLY_MAX: u32 = 8192;
/// `GIL_REGIONS_MAX`: regions in one submission.
pub const REGIONS_MAX: u32 = 64;
/// `GIL_MAILBOX_MAGIC`.
pub const MAILBOX_MAGIC: u32 = 0x424d_4c47;
/// `GIL_MARKER_A64`: `mov x27, x27`.
pub const MARKER_A64: u32 = 0xaa1b_03fb;
/// `GIL_EXTENTS_PER_PAGE`.
pub const EXTENTS_PER_PAGE: usize = 255;
/// `GIL_RELEASED_MAX`.
pub const RELEASED_MAX: usize = 16;

/// Which way a region's bytes go, seen from the board: `GIL_DIR_*`.
pub mod dir {
    /// The board reads them.
    pub const IN: u32 = 1;
    /// The board writes them.
    pub const OUT: u32 = 2;
    /// Both.
    pub const INOUT: u32 = 3;
}

/// How a submission went: `GIL_STATUS_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Status {
    /// Executed.
    Ok = 0,
    /// Needs an operation that is not resolved yet; nothing was executed.
    Unresolved = 1,
    /// The host refused the mailbox.
    BadMailbox = 2,
    /// An envelope that does not decode, or a call the board refused.
    BadRequest = 3,
    /// The board, or this session on it, is gone.
    Lost = 4,
    /// The sequence number was executed before; nothing was executed now.
    Duplicate = 5,
    /// The board does not serve the last call's API; what stood in front was
    /// executed.
    Unserved = 6,
}

/// `GIL_STATUS_UNSEEN`: preset by the driver; nobody answered the doorbell.
pub const STATUS_UNSEEN: u32 = 0xffff_ffff;

/// How a thread waits for a call's end: `GIL_WAIT_*`, but [`WAIT_PROGRESS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum WaitKind {
    /// No delay.
    #[default]
    None = 0,
    /// The thread sleeps until the deadline.
    Sleep = 1,
    /// The processor is occupied until the deadline.
    Occupy = 2,
}

/// `GIL_WAIT_PROGRESS`, in [`Wait::kind`]: sleep until the session's progress
/// exceeds a number.
pub const WAIT_PROGRESS: u32 = 3;
/// `GIL_WAIT_COLLECT`, in [`Wait::flags`]: ring a collecting doorbell when the
/// deadline has passed.
pub const WAIT_COLLECT: u32 = 1;

/// What the host says besides: `GIL_FLAG_*`.
pub mod flag {
    /// Operations were resolved.
    pub const PROGRESS: u32 = 1;
    /// Output is ready by the deadline: collect it after the wait.
    pub const COLLECT: u32 = 2;
    /// The submission's out regions stay pinned until its number is released.
    pub const HOLD: u32 = 4;
    /// More numbers are released than fit.
    pub const MORE: u32 = 8;
    /// The operation is accepted and not resolved yet.
    pub const PENDING: u32 = 16;
    /// Answer to [`OPEN`](super::kind::OPEN): short waits of the session spin.
    pub const SPIN: u32 = 32;
}

/// Why a doorbell rings: `GIL_MBOX_*`.
pub mod kind {
    /// A session begins.
    pub const OPEN: u32 = 1;
    /// Envelopes to execute.
    pub const SUBMIT: u32 = 2;
    /// Deliver output that is ready, release what is delivered.
    pub const COLLECT: u32 = 3;
    /// The session ends.
    pub const CLOSE: u32 = 4;
    /// The driver's timer: publish what started, deliver what is ready.
    pub const ATTEND: u32 = 5;
    /// A GPU whose registers are RAM: a store, or the time.
    pub const GPU: u32 = 6;
    /// The clock of the target's GPU: what it is, or what it is from now on.
    pub const CLOCK: u32 = 7;
}

/// What [`kind::CLOCK`] tells, by its request's length, and where the answer has what, in
/// its `released`.
pub mod clock {
    /// The rate from now on.
    pub const SET: u32 = 8;
    /// The rate that it has; those that it can have come before.
    pub const RATE: usize = 15;
    /// Most of these.
    pub const RATES_MAX: usize = 15;
}

/// What [`kind::GPU`] tells, by its request's length, and where the answer has what, in its
/// `released`.
pub mod gpu {
    /// The GPU's driver stores to a register.
    pub const STORE: u32 = 4;
    /// Where the driver's code is.
    pub const CODE: u32 = 8;
    /// The rate that the GPU's clock has from now on.
    pub const CLOCK: u32 = 12;

    /// The interrupt lines that are high, a bit each.
    pub const LINES: usize = 0;
    /// The virtual address at which the GPU's driver has the registers; 0: not known.
    pub const REGISTERS: usize = 1;
}

/// Memory that a program's call names: `struct gil_region`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// User virtual address; in an import, the first byte's offset.
    pub addr: u64,
    /// Bytes, not 0.
    pub len: u64,
    /// See [`dir`].
    pub dir: u32,
    /// [`ImportArg::id`] or [`PinArg::id`], or 0: memory of the program's.
    pub import: u32,
}

/// `struct gil_submit`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Submit {
    /// User address of the envelopes.
    pub request: u64,
    /// User address of the buffer for the answer.
    pub reply: u64,
    /// User address of the [`Region`]s.
    pub regions: u64,
    /// Bytes of the request.
    pub request_len: u32,
    /// The size of the buffer at `reply` in bytes.
    pub reply_cap: u32,
    /// Number of regions.
    pub region_count: u32,
    /// 0.
    pub reserved: u32,
    /// Out: a [`Status`] as a number, or [`STATUS_UNSEEN`].
    pub status: u32,
    /// Out: bytes of the answer.
    pub reply_len: u32,
    /// Out: when the call ends, `CLOCK_MONOTONIC` nanoseconds.
    pub deadline_ns: u64,
    /// Out: when the doorbell rang, `CLOCK_MONOTONIC` nanoseconds.
    pub now_ns: u64,
    /// Out: the session's progress before the doorbell rang.
    pub progress: u64,
    /// Out: a [`WaitKind`] as a number.
    pub wait_kind: u32,
    /// Out: see [`flag`].
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
    /// A [`WaitKind`] as a number, or [`WAIT_PROGRESS`].
    pub kind: u32,
    /// [`WAIT_COLLECT`] or 0.
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

/// `struct gil_import_arg`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportArg {
    /// A descriptor of a dma-buf.
    pub fd: i32,
    /// 0.
    pub flags: u32,
    /// Out: bytes.
    pub len: u64,
    /// Out: its number, never 0.
    pub id: u32,
    /// 0.
    pub reserved: u32,
}

/// `struct gil_pin_arg`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PinArg {
    /// User virtual address.
    pub addr: u64,
    /// Bytes, not 0.
    pub len: u64,
    /// 0.
    pub flags: u32,
    /// Out: its number, never 0.
    pub id: u32,
}

/// `struct gil_fence_arg`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FenceArg {
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    pub deadline_ns: u64,
    /// 0.
    pub flags: u32,
    /// Out: a descriptor of a sync file.
    pub fd: i32,
}

/// `GIL_IOC_INFO`.
pub const IOC_INFO: u64 = nix::request_code_read!(b'g', 0x01, size_of::<Info>()) as u64;
/// `GIL_IOC_SUBMIT`.
pub const IOC_SUBMIT: u64 = nix::request_code_readwrite!(b'g', 0x02, size_of::<Submit>()) as u64;
/// `GIL_IOC_WAIT`.
pub const IOC_WAIT: u64 = nix::request_code_write!(b'g', 0x03, size_of::<Wait>()) as u64;
/// `GIL_IOC_IMPORT`.
pub const IOC_IMPORT: u64 = nix::request_code_readwrite!(b'g', 0x04, size_of::<ImportArg>()) as u64;
/// `GIL_IOC_PIN`.
pub const IOC_PIN: u64 = nix::request_code_readwrite!(b'g', 0x09, size_of::<PinArg>()) as u64;
/// `GIL_IOC_FORGET`.
#[allow(
    clippy::unnecessary_cast,
    reason = "systems with 32 bits have another type"
)]
pub const IOC_FORGET: u64 = nix::request_code_none!(b'g', 0x05) as u64;
/// `GIL_FENCE_MAX_NS`: nanoseconds from now to a fence's deadline, at most.
pub const FENCE_MAX_NS: u64 = 60_000_000_000;
/// `GIL_IOC_FENCE`.
pub const IOC_FENCE: u64 = nix::request_code_readwrite!(b'g', 0x08, size_of::<FenceArg>()) as u64;

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
nix::ioctl_readwrite!(
    /// `GIL_IOC_IMPORT`.
    ioc_import, b'g', 0x04, ImportArg
);
nix::ioctl_readwrite!(
    /// `GIL_IOC_PIN`.
    ioc_pin, b'g', 0x09, PinArg
);
nix::ioctl_write_int_bad!(
    /// `GIL_IOC_FORGET`.
    ioc_forget,
    nix::request_code_none!(b'g', 0x05)
);
nix::ioctl_readwrite!(
    /// `GIL_IOC_FENCE`.
    ioc_fence, b'g', 0x08, FenceArg
);

/// `struct gil_mailbox`: what the driver asks, and room for the [`Answer`].
#[repr(C)]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
pub struct Mailbox {
    /// [`MAILBOX_MAGIC`].
    pub magic: u32,
    /// [`ABI_VERSION`].
    pub version: u32,
    /// Unique since boot, never 0.
    pub session: u64,
    /// From 1, unique in the session.
    pub seq: u64,
    /// See [`kind`].
    pub kind: u32,
    /// Width of the program's pointers: 32 or 64.
    pub pointer_bits: u32,
    /// Guest process id.
    pub process: u32,
    /// Guest thread id.
    pub thread: u32,
    /// `CLOCK_MONOTONIC` nanoseconds at the doorbell.
    pub now_ns: u64,
    /// The virtual counter at the same instant.
    pub now_counter: u64,
    /// The counter's frequency.
    pub counter_hz: u32,
    /// Number of [`MailboxRegion`]s.
    pub region_count: u32,
    /// The address of the first region.
    pub regions: GuestAddress,
    /// The address of the envelopes.
    pub request: GuestAddress,
    /// The address of the buffer for the answer's bytes.
    pub reply: GuestAddress,
    /// Bytes of the request.
    pub request_len: u32,
    /// The size of that buffer in bytes.
    pub reply_cap: u32,
    /// The host's answer.
    pub answer: Answer,
}

/// The second half of `struct gil_mailbox`, which the host writes.
#[repr(C)]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
pub struct Answer {
    /// A [`Status`] as a number; [`STATUS_UNSEEN`] before.
    pub status: u32,
    /// Bytes of the answer.
    pub reply_len: u32,
    /// Until when the thread waits.
    pub deadline_ns: u64,
    /// A [`WaitKind`] as a number.
    pub wait_kind: u32,
    /// See [`flag`].
    pub flags: u32,
    /// Of `released`.
    pub released_count: u32,
    /// 0.
    pub reserved: u32,
    /// Numbers whose held regions may be unpinned.
    pub released: [u64; RELEASED_MAX],
    /// When the driver rings [`kind::ATTEND`] by itself; 0: not at all.
    pub attention_ns: u64,
}

/// `struct gil_mbox_region`.
#[repr(C)]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
pub struct MailboxRegion {
    /// Bytes, not 0.
    pub len: GuestLength,
    /// Where the first [`ExtentPage`] is.
    pub extents: GuestAddress,
    /// Bytes of the first page's extents before the region. Its chain may go on
    /// behind it: that of an import is written once.
    pub skip: GuestLength,
    /// See [`dir`].
    pub dir: u32,
    /// 0.
    pub reserved: u32,
}

/// Contiguous guest physical memory: `struct gil_extent`.
#[repr(C)]
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
)]
pub struct Extent {
    /// Its first address.
    pub gpa: GuestAddress,
    /// Bytes.
    pub len: GuestLength,
}

/// `struct gil_extent_page`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct ExtentPage {
    /// The address of the next one, or 0.
    pub next: GuestAddress,
    /// Of `extent`.
    pub count: u32,
    /// 0.
    pub reserved: u32,
    /// Pieces of a region, in order.
    pub extent: [Extent; EXTENTS_PER_PAGE],
}
