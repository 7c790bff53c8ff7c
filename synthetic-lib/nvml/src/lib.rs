//! gil's guest library of NVML, NVIDIA's management library.
//!
//! It is linked into `libgil.so`, which exports its entry points as `gil_nvml…`; the thin
//! library `libnvidia-ml.so.1` jumps there. [`generated`] contains one stub per entry point;
//! [`support`] implements what the stubs need and the entry points that are written by hand.

#[allow(non_snake_case, reason = "the names of the API's structures")]
pub mod generated;
pub mod support;
