//! gil's guest OpenCL library.
//!
//! It is linked into `libgil.so`, which exports its entry points as `gil_cl…`. The
//! thin libraries jump there: the one that the stock ICD loader finds through
//! `/etc/OpenCL/vendors`, and `libOpenCL.so.1` in a guest without that loader.
//! [`generated`] contains one stub per entry point, over [`gil_guest`] and traits;
//! [`support`] implements these traits and the hand-written entry points.

pub mod generated;
pub mod support;
