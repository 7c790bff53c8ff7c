//! `libgil.so`: every API's guest library, with one runtime.
//!
//! A process that uses several APIs has one session with the board, since the
//! runtime's state (the device, the handles, the threads) is there once. What is
//! exported begins with `gil_`, so that no program finds a name of an API that
//! it did not load; programs and loaders open the thin libraries of the crate
//! `gil-guest-names`, which jump here.

// Named, or their exported functions would not be linked.
use gil_opencl as _;
