//! `libgil.so`: every API's guest library, with one runtime.
//!
//! A process that uses several APIs has one session with the board, because the
//! runtime's state (the device, the handles, the threads) exists once. Exported names
//! begin with `gil_`, so that a program finds no name of an API that it did not load.
//! Programs and loaders open the thin libraries of the crate `gil-guest-names`, which
//! jump here.

// Named, or their exported functions would not be linked.
#[cfg(target_pointer_width = "64")]
use gil_cuda as _;
#[cfg(target_pointer_width = "64")]
use gil_cudart as _;
use gil_egl as _;
use gil_gbm as _;
use gil_gles as _;
#[cfg(target_pointer_width = "64")]
use gil_nvml as _;
use gil_opencl as _;
