//! The mirror of `gil_disks.h`: the table of disks that a simulator maps behind
//! the RAM that the guest's kernel uses.

use crate::{GuestAddress, GuestLength};
use zerocopy::{Immutable, IntoBytes};

/// `GIL_DISKS_MAGIC`.
pub const MAGIC: u32 = 0x534b_5344;
/// `GIL_DISKS_MAX`.
pub const MAX: usize = 16;

/// `struct gil_disk`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoBytes, Immutable)]
pub struct Disk {
    /// Where it begins, at a whole page.
    pub gpa: GuestAddress,
    /// Bytes, whole pages, not 0.
    pub len: GuestLength,
}

/// `struct gil_disks`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoBytes, Immutable)]
pub struct Disks {
    /// [`MAGIC`].
    pub magic: u32,
    /// How many of `disk` there are.
    pub count: u32,
    /// Disk N is `/dev/gildiskN`.
    pub disk: [Disk; MAX],
}

impl Disks {
    /// The table of these; none if there are more than [`MAX`].
    #[must_use]
    pub fn new(disks: &[Disk]) -> Option<Self> {
        let mut table = Self {
            magic: MAGIC,
            count: u32::try_from(disks.len()).ok()?,
            disk: [Disk::default(); MAX],
        };
        table.disk.get_mut(..disks.len())?.copy_from_slice(disks);
        Some(table)
    }
}
