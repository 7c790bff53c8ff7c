//! gil's guest OpenCL library.
//!
//! It is linked into `libgil.so`, which exports its entry points as `gil_cl…`.
//! What the stock ICD loader finds through `/etc/OpenCL/vendors`, and what is
//! `libOpenCL.so.1` where there is no loader, jumps there. [`generated`] holds
//! one stub an entry point, which stand on [`gil_guest`] and on traits;
//! [`support`] implements these, and the few entry points that are written by
//! hand.

pub mod generated;
pub mod support;
