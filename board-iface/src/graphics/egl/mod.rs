//! EGL: the generated dispatch, and the calls that are written by hand.

pub mod generated;
pub mod support;
mod syncs;
