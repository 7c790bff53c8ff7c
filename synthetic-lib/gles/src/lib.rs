//! gil's guest OpenGL ES library.
//!
//! It is linked into `libgil.so`, which exports its entry points as `gil_gl…`. The
//! context is EGL's ([`gil_egl`]). [`generated`] contains one stub per entry point;
//! [`support`] implements what the stubs need and the entry points that are written by
//! hand.

pub mod generated;
pub mod support;
