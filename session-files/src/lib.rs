//! The files that outlive a run. No I/O: callers open the files.
//!
//! | module | who writes → who reads | what |
//! |---|---|---|
//! | [`container`] | | the header and the record format of all of them |
//! | [`recording`] | host interface → board agent | every request, answer and timing of a run |
//! | [`difference`] | → replays, `gil trace diff` | where a request differs from a recorded one |
//! | [`checkpoint`] | host interface → host interface | the sessions in a simulator's checkpoint |
//! | [`calls`] | host interface → `gil report` | a row for every call of a run |
//!
//! Heads contain types of `gil_wire`. A change of these types changes the files,
//! which a test detects by reading files of earlier versions.
#![forbid(unsafe_code)]

pub mod calls;
pub mod checkpoint;
pub mod container;
pub mod difference;
pub mod recording;
