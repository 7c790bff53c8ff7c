//! The board agent: executes forwarded GPU calls on a real device.
//!
//! | module | what |
//! |---|---|
//! | [`server`] | accepting connections, with a thread or a process for each session |
//! | [`process`] | the agent's own processes: one per session, one per driver that is queried |
//! | [`meter`], [`operator`] | sessions' counters; the status for operators |
//! | [`confine`] | restricts a session's process |
//! | [`inventory`] | this machine's devices, and why others are excluded |
//! | [`session`] | one connection's requests and replies, its bounds |
//! | [`board`] | what a back end offers: devices, sessions, outcomes |
//! | [`back_end`] | the base of every back end: drivers, objects, operations |
//! | [`router`] | all back ends as one board, each loaded at its first call |
//! | [`opencl`] | the back end of that API |
//! | [`graphics`] | the back end of EGL and OpenGL ES |
//! | [`cuda`] | the back end of CUDA's driver API |
//! | [`nvml`] | the back end of NVML |
//! | [`drivers`] | the back end of GPUs' kernel drivers |
//! | [`replay`] | a recording instead of a device |
//! | [`cli`], [`log`] | the command line; the log |
//!
//! A guest and its simulator are not trusted: a request is checked before a driver
//! sees any of it, and an invalid one is answered with an error.

pub mod back_end;
pub mod board;
pub mod cli;
pub mod confine;
pub mod cuda;
pub mod drivers;
pub mod graphics;
pub mod inventory;
pub mod log;
pub mod meter;
pub mod nvml;
pub mod opencl;
pub mod operator;
pub mod printed;
pub mod process;
pub mod region;
pub mod replay;
pub mod router;
pub mod server;
pub mod session;

/// The back ends of gil's own agent.
pub const BACK_ENDS: &[&dyn back_end::BackEnd] = &[
    &opencl::OpenCl,
    &graphics::Graphics,
    &cuda::Cuda,
    &nvml::Nvml,
    &drivers::Drivers,
];
