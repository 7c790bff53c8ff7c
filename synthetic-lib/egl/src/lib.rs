//! gil's guest EGL library: displays, contexts and surfaces, and what is current in
//! a thread. The guest library of OpenGL ES stands on it.
//!
//! It is linked into `libgil.so`, which exports its entry points as `gil_egl…`.
//! [`generated`] contains one stub per entry point; [`support`] implements what the
//! stubs need and the entry points that are written by hand.

pub mod generated;
pub mod support;
