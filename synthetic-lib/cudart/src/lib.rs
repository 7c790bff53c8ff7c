//! gil's guest library of CUDA's runtime API.
//!
//! It is linked into `libgil.so`, which exports its entry points as `gil_cuda…`; the thin
//! library `libcudart.so.13` jumps there. Nothing of it goes to the board: each call is
//! answered over the driver API of the crate `gil-cuda`, in the same process.

#[allow(non_snake_case, reason = "the names of the API's structures")]
pub mod generated;
pub mod support;
