//! The files that outlive a run, apart from the wire. No I/O: callers open the
//! files.
//!
//! | module | who writes → who reads | what |
//! |---|---|---|
//! | [`container`] | | the header and the records that all of them have in common |
//! | [`recording`] | host interface → board agent | every request, answer and timing of a run |
//! | [`checkpoint`] | host interface → host interface | what a simulator's checkpoint keeps of sessions |
//!
//! Heads hold types of `gil_wire`: what changes those changes the files, and a
//! test that compares with files of before says so.
#![forbid(unsafe_code)]

pub mod checkpoint;
pub mod container;
pub mod recording;
