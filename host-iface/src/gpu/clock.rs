//! The clock of a GPU.

use crate::pace::Pace;
use gil_gpu_registers::Gpu;

/// A rate that this GPU's clock cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the guest asks for a clock of {hz} Hz, which the {gpu} does not have: it keeps the one before",
    gpu = .gpu.name()
)]
pub struct RateError {
    /// The GPU.
    pub gpu: Gpu,
    /// The rate.
    pub hz: u64,
}

/// A GPU's clock: at the board's rate, until another is set.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    gpu: Gpu,
    hz: u64,
}

impl Clock {
    /// At the board's rate.
    pub fn new(gpu: Gpu) -> Self {
        let hz = board_hz(gpu);
        Self { gpu, hz }
    }

    /// It has this rate from now on.
    ///
    /// # Errors
    /// [`RateError`] for one that is none of the GPU's.
    pub fn set(&mut self, hz: u64) -> Result<(), RateError> {
        if !self.gpu.rates().contains(&hz) {
            let gpu = self.gpu;
            return Err(RateError { gpu, hz });
        }
        self.hz = hz;
        Ok(())
    }

    /// It has the one of the GPU's rates that is the nearest to this from now on: clocks of
    /// simulators are not exact.
    pub fn set_near(&mut self, hz: u64) {
        let rates = self.gpu.rates().iter().copied();
        self.hz = rates
            .min_by_key(|rate| rate.abs_diff(hz))
            .unwrap_or(self.hz);
    }

    /// Its rate.
    pub fn hz(self) -> u64 {
        self.hz
    }

    /// The pace of jobs that begin now.
    pub fn pace(self) -> Pace {
        Pace::new(self.hz, board_hz(self.gpu))
    }
}

fn board_hz(gpu: Gpu) -> u64 {
    gpu.rates().last().copied().unwrap_or_default()
}
