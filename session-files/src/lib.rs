//! The files that outlive a run, apart from the wire. No I/O: callers move the
//! bytes.
//!
//! | module | who writes → who reads | what |
//! |---|---|---|
//! | [`recording`] | host interface → board agent | every request, answer and timing of a run |
//! | [`checkpoint`] | host interface → host interface | what a simulator's checkpoint keeps of sessions |
#![forbid(unsafe_code)]

pub mod checkpoint;
pub mod recording;
