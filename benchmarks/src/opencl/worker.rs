//! An OpenCL program whose kernels keep one compute unit at work, and the memory.

use super::program::Program;
use crate::board::Board;
use crate::error::BenchError;
use crate::program::{self, Device, Program as _};
use gil_wire::call::Handle;
use std::time::Duration;

/// One work-group that goes through a buffer again and again.
const SOURCE: &str = "
kernel void work(global float *data)
{
    for (uint round = 0; round < 4; ++round)
        for (uint at = get_local_id(0); at < (1 << 20); at += 64)
            data[at] = data[at] * 0.5f + 1.0f;
}";
/// Bytes of its buffer.
const BUFFER: u64 = 4 << 20;
/// Work-items of its work-group.
const ITEMS: u64 = 64;

const CL_DEVICE_MAX_COMPUTE_UNITS: u32 = 0x1002;
const CL_DEVICE_NAME: u32 = 0x102B;
/// Bytes of a name.
const NAME: u32 = 256;

/// The program.
pub struct Worker {
    program: Program,
    kernel: Handle,
}

impl Worker {
    /// With its kernel and buffer, on the board's first device.
    ///
    /// # Errors
    /// [`BenchError`], also where there is no device.
    pub fn new(board: &Board) -> Result<Self, BenchError> {
        let mut program = Program::with_queue(board, 4096)?;
        let kernel = program.kernel_of(SOURCE, "work")?;
        let buffer = program.buffer(BUFFER)?;
        program.set_buffer(kernel, buffer)?;
        Ok(Self { program, kernel })
    }
}

impl program::Worker for Worker {
    fn device(&mut self) -> Result<Device, BenchError> {
        let name = self.program.device_info(CL_DEVICE_NAME, NAME)?;
        let name = String::from_utf8_lossy(&name);
        let units = self.program.device_info(CL_DEVICE_MAX_COMPUTE_UNITS, 4)?;
        let units = units.try_into().map_or(0, u32::from_le_bytes);
        Ok(Device {
            name: name.trim_end_matches('\0').into(),
            processors: units,
        })
    }

    fn work(&mut self, jobs: u32) -> Result<Duration, BenchError> {
        let before = self.program.device_time();
        let jobs = usize::try_from(jobs).unwrap_or(usize::MAX);
        self.program.launch_groups(self.kernel, jobs, ITEMS)?;
        self.program.finish()?;
        Ok(self.program.device_time().saturating_sub(before))
    }
}
