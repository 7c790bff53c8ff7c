//! The guest memory that is shared with the board: its addresses, and outstanding output.
//! No I/O and no pointers: offsets and lengths, which are checked before memory is
//! accessed with them, and slices.
//!
//! - [`RamMap`]: the simulator's table of RAM ranges; every guest address and
//!   length is checked against it.
//! - [`Extents`]: the guest physical memory of one region.
//! - [`Outstanding`]: output that the guest must not see yet, and input that overlaps
//!   with it.
//! - [`Mappings`]: where a GPU's address space has its buffers.
//! - [`Differ`]: finds what changed in shared memory since a copy of it was taken.
//! - [`exact_changes`]: the same to the byte, where both sides change it.

#![deny(unsafe_code)]

mod diff;
mod exact;
mod extents;
mod mappings;
mod outstanding;
mod ram;

pub use diff::{Differ, LINE};
pub use exact::{exact_changes, joined};
pub use extents::{Extents, ExtentsError};
pub use gil_uapi::{Extent, GuestAddress, GuestLength};
pub use mappings::{Buffer, GpuAddress, Mapping, MappingError, Mappings};
pub use outstanding::{Outstanding, Overlap};
pub use ram::{Piece, RamError, RamMap, RamRange};
pub use rayon::ThreadPoolBuildError;
