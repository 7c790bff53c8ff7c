//! Which guest memory is shared with the board, where it lies, and what of it
//! is outstanding. No I/O and no pointers: offsets and lengths only, checked
//! before anyone touches memory with them.
//!
//! - [`RamMap`]: the simulator's table of RAM ranges; every guest address and
//!   length is checked against it.
//! - [`Extents`]: the guest physical memory of one region.
//! - [`Outstanding`]: output that the board has made and the guest may not see
//!   yet, and which input overlaps with it.
#![forbid(unsafe_code)]

mod extents;
mod outstanding;
mod ram;

pub use extents::{Extent, Extents, ExtentsError};
pub use outstanding::{Outstanding, Overlap};
pub use ram::{Piece, RamError, RamMap, RamRange};
