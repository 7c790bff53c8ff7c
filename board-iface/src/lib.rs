//! The board agent: runs forwarded GPU calls on a real device.
//!
//! | module | what |
//! |---|---|
//! | [`server`] | accepting connections, a thread or a process and a session each |
//! | [`process`] | the agent's own processes: one a session, one a driver that is asked what it has |
//! | [`meter`], [`operator`] | what sessions did; telling an operator |
//! | [`confine`] | what a session's process may do |
//! | [`inventory`] | what this machine has, and why something is left out |
//! | [`session`] | one connection's requests and replies, its bounds |
//! | [`board`] | what a back end offers: devices, sessions, outcomes |
//! | [`back_end`] | how an API's drivers are found, asked and loaded; what all APIs do alike |
//! | [`router`] | all back ends as one board, each loaded when it is first called |
//! | [`opencl`] | the back end of that API |
//! | [`replay`] | a recording instead of a device |
//! | [`cli`] | the command line |
//!
//! A guest and its simulator are not trusted: a request is checked before a
//! driver sees any of it, and what is wrong with it is an answer.

pub mod back_end;
pub mod board;
pub mod cli;
pub mod confine;
pub mod inventory;
pub mod meter;
pub mod opencl;
pub mod operator;
pub mod printed;
pub mod process;
pub mod region;
pub mod replay;
pub mod router;
pub mod server;
pub mod session;

/// What gil's own agent serves.
pub const BACK_ENDS: &[&dyn back_end::BackEnd] = &[&opencl::OpenCl];
