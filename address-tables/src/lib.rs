//! Which guest memory is shared with the board, where it lies, and what of it
//! is outstanding. No I/O and no pointers: offsets and lengths, checked
//! before anyone touches memory with them, and slices.
//!
//! - [`RamMap`]: the simulator's table of RAM ranges; every guest address and
//!   length is checked against it.
//! - [`Extents`]: the guest physical memory of one region.
//! - [`Outstanding`]: output that the board has made and the guest may not see
//!   yet, and which input overlaps with it.
//! - [`Differ`]: what of shared memory changed since a copy of it was taken.

#![deny(unsafe_code)]

mod diff;
mod extents;
mod outstanding;
mod ram;

pub use diff::{Differ, LINE};
pub use extents::{Extents, ExtentsError};
pub use gil_uapi::{Extent, GuestAddress, GuestLength};
pub use outstanding::{Outstanding, Overlap};
pub use ram::{Piece, RamError, RamMap, RamRange};
pub use rayon::ThreadPoolBuildError;
