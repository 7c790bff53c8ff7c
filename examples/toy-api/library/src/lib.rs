//! `libgil.so` with one API more: as `synthetic-lib/gil`, which an API of gil's
//! own would be added to.

// Named, or their exported functions would not be linked.
use gil_opencl as _;
use gil_toy_guest as _;
