//! What a GPU's processors did for jobs that its kernel driver was asked to start.

use serde::{Deserialize, Serialize};

/// All jobs of the drivers whose calls the board executed. Times are nanoseconds of the
/// guest's monotonic clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Jobs {
    /// How many times as long a job lasts that begins while another processor of its GPU
    /// is at work.
    pub contention: f64,
    /// When the first of them was submitted.
    pub begin_ns: u64,
    /// When the last of them ended.
    pub end_ns: u64,
    /// The length of the slots of [`Processor::busy_ns`], of which the first begins at
    /// `begin_ns`.
    pub slot_ns: u64,
    /// By driver, device and number.
    pub processors: Vec<Processor>,
    /// Each job, where the run was asked for them, in the order in which their times were
    /// known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<Job>,
}

/// A job on one of a GPU's processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The number of its processor among [`Jobs::processors`], from 0.
    pub processor: usize,
    /// When it was submitted.
    pub submitted_ns: u64,
    /// When it started.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
}

/// A processor of a GPU. Response is waiting and execution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processor {
    /// The driver.
    pub driver: String,
    /// The device, as the run numbers it.
    pub device: u64,
    /// The name that the driver's table gives the processor.
    pub name: String,
    /// The number of its engine.
    pub engine: u8,
    /// Jobs that it executed.
    pub jobs: u64,
    /// Of all jobs, the time from start to end.
    pub execution_ns: u64,
    /// Of all jobs, the time from submission to start.
    pub waiting_ns: u64,
    /// Of all jobs, the time from submission to end.
    pub response_ns: u64,
    /// The longest response.
    pub longest_response_ns: u64,
    /// Of each slot, how long the processor was at work.
    pub busy_ns: Vec<u64>,
    /// At each rate of the GPU's clock, rising, if the guest sets it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<Rate>,
}

/// What a processor did at a rate of its clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// The rate, hertz.
    pub hz: u64,
    /// Jobs that began at it.
    pub jobs: u64,
    /// Of these, the time from start to end.
    pub execution_ns: u64,
}

impl Processor {
    /// A job's share of a sum.
    pub fn each_ns(&self, sum_ns: u64) -> u64 {
        sum_ns.checked_div(self.jobs).unwrap_or(0)
    }
}

impl Jobs {
    /// From the first submission to the last end.
    pub fn span_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }

    /// A processor as people are told of it: with its device, if there are several.
    pub fn title(&self, processor: &Processor) -> String {
        let is_other = |other: &Processor| other.device != processor.device;
        let Processor {
            driver,
            device,
            name,
            ..
        } = processor;
        match self.processors.iter().any(is_other) {
            true => format!("{driver}, {name} of device {device}"),
            false => format!("{driver}, {name}"),
        }
    }
}
