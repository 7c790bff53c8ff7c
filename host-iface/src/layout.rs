//! The layout of what the driver puts into guest RAM: the Rust mirror of
//! `synthetic-driver/uapi/gil.h`. A test compiles that header and compares.
//!
//! Fields are read by offset from bytes that were copied once; nothing in
//! guest RAM is ever cast to a Rust type.

/// `GIL_ABI_VERSION`.
pub const ABI_VERSION: u32 = 2;
/// `GIL_MAILBOX_MAGIC`.
pub const MAILBOX_MAGIC: u32 = 0x424d_4c47;
/// `GIL_REQUEST_MAX`: bytes of envelopes in one submission.
pub const REQUEST_MAX: u32 = 8192;
/// `GIL_REPLY_MAX`: bytes of answer, without regions.
pub const REPLY_MAX: u32 = 8192;
/// `GIL_REGIONS_MAX`: regions in one submission.
pub const REGIONS_MAX: u32 = 64;
/// `GIL_EXTENTS_PER_PAGE`.
pub const EXTENTS_PER_PAGE: u32 = 255;
/// `GIL_RELEASED_MAX`.
pub const RELEASED_MAX: usize = 16;
pub use gil_detect::marker::MARKER_A64;

/// `gil_mailbox.kind`.
pub mod kind {
    /// A session begins.
    pub const OPEN: u32 = 1;
    /// Envelopes to execute.
    pub const SUBMIT: u32 = 2;
    /// Deliver what is due, release what is delivered.
    pub const COLLECT: u32 = 3;
    /// The session ends.
    pub const CLOSE: u32 = 4;
    /// The driver's timer: publish what started, deliver what is due.
    pub const ATTEND: u32 = 5;
}

/// `gil_mailbox.flags`.
pub mod flag {
    /// Operations were resolved.
    pub const PROGRESS: u32 = 1;
    /// Output becomes due by the deadline.
    pub const COLLECT: u32 = 2;
    /// The submission's out regions stay pinned until its number is released.
    pub const HOLD: u32 = 4;
    /// More numbers are released than fit.
    pub const MORE: u32 = 8;
    /// The operation is accepted and not resolved yet.
    pub const PENDING: u32 = 16;
}

/// `gil_mailbox.status`.
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
}

/// `GIL_STATUS_UNSEEN`: preset by the driver.
pub const STATUS_UNSEEN: u32 = 0xffff_ffff;

/// `gil_mailbox.wait_kind`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum WaitKind {
    /// No delay.
    #[default]
    None = 0,
    /// The thread sleeps until the deadline.
    Sleep = 1,
    /// The vCPU is occupied until the deadline.
    Occupy = 2,
}

/// Byte offsets in `struct gil_mailbox`.
pub mod mailbox {
    #![allow(missing_docs)] // the names are the header's
    pub const MAGIC: usize = 0;
    pub const VERSION: usize = 4;
    pub const SESSION: usize = 8;
    pub const SEQ: usize = 16;
    pub const KIND: usize = 24;
    pub const POINTER_BITS: usize = 28;
    pub const PROCESS: usize = 32;
    pub const THREAD: usize = 36;
    pub const NOW_NS: usize = 40;
    pub const NOW_COUNTER: usize = 48;
    pub const COUNTER_HZ: usize = 56;
    pub const REGION_COUNT: usize = 60;
    pub const REGIONS: usize = 64;
    pub const REQUEST: usize = 72;
    pub const REPLY: usize = 80;
    pub const REQUEST_LEN: usize = 88;
    pub const REPLY_CAP: usize = 92;
    pub const STATUS: usize = 96;
    pub const REPLY_LEN: usize = 100;
    pub const DEADLINE_NS: usize = 104;
    pub const WAIT_KIND: usize = 112;
    pub const FLAGS: usize = 116;
    pub const RELEASED_COUNT: usize = 120;
    pub const RELEASED: usize = 128;
    pub const ATTENTION_NS: usize = 256;
    /// Bytes of the whole.
    pub const SIZE: usize = 264;
}

/// Byte offsets in `struct gil_mbox_region`.
pub mod region {
    #![allow(missing_docs)] // the names are the header's
    pub const LEN: usize = 0;
    pub const EXTENTS: usize = 8;
    pub const DIR: usize = 16;
    /// Bytes of one.
    pub const SIZE: usize = 24;
}

/// Byte offsets in `struct gil_extent_page`.
pub mod extent_page {
    #![allow(missing_docs)] // the names are the header's
    pub const NEXT: usize = 0;
    pub const COUNT: usize = 8;
    pub const EXTENT: usize = 16;
    /// Bytes of one extent: address and length, 8 each.
    pub const EXTENT_SIZE: usize = 16;
    /// Bytes of a page.
    pub const SIZE: usize = 4096;
}

/// The little-endian number at `at`.
///
/// # Panics
/// If it runs past the end: callers pass whole structures.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

/// The little-endian number at `at`.
///
/// # Panics
/// If it runs past the end: callers pass whole structures.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}
