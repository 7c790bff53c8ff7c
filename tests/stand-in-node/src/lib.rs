//! A board whose render nodes stand in for those of the drivers lima (Mali-400 MP4, of
//! the Exynos 4412) and panfrost (Mali-T628, of the Exynos 5422), for tests where there is
//! no such GPU, and of a sample that is no DRM driver. A node checks every request as the kernel's driver does, and reads what a
//! job names at its GPU addresses; how long jobs take is given.
//!
//! | module | what |
//! |---|---|
//! | [`back_end`] | gil's agent with these nodes; the variables that it reads |
//! | [`script`], [`draw`] | how long jobs take; times that are drawn |
//! | [`device`] | the device behind a node: its processors, its buffers' places |
//! | [`buffer`], [`space`] | buffers, and where an open file's address space has them |
//! | [`walk`] | a job's way through what it names |
//! | [`file`] | an open file: buffers, contexts, jobs |
//! | [`node`] | a node, by its driver |
//! | [`lima`], [`utgard`] | lima's requests; what its jobs name |
//! | [`panfrost`], [`midgard`] | panfrost's requests; what its jobs name |
//! | [`gpu`] | jobs of the guest's own driver, at the guest's GPU addresses |
//! | [`words`] | numbers in bytes |
//! | [`sample_gpu`] | the sample's requests and jobs |
//!
//! No shader is executed: a frame has no pixels. What needs none is: Midgard's jobs that
//! write a value, and null jobs.

#![deny(unsafe_code)]

pub mod back_end;
pub mod buffer;
pub mod device;
pub mod draw;
pub mod file;
pub mod gpu;
pub mod lima;
pub mod midgard;
pub mod node;
pub mod panfrost;
pub mod sample_gpu;
pub mod script;
pub mod space;
pub mod utgard;
pub mod walk;
pub mod words;
