//! gil's guest OpenCL library.
//!
//! It is an ICD vendor library, which the stock ICD loader finds through
//! `/etc/OpenCL/vendors`, and works as `libOpenCL.so.1` where there is no
//! loader. [`generated`] holds one stub an entry point; [`support`] what they
//! stand on, and the few entry points that are written by hand.

pub mod generated;
pub mod support;
