//! Jobs of a GPU that the guest's own kernel driver runs, whose registers the simulator
//! has: the guest's memory comes as windows of its address spaces, and what jobs wrote
//! there goes back. Each processor is a queue, whatever the address space.

use super::guest::{Did, Given, Guest};
use super::jobs::{self, now_ns};
use super::node::{End, Fence, Started};
use super::refusal::Refusal;
use super::windows::Spaces;
use crate::board::Output;
use crate::region::{Budget, Region};
use gil_wire::driver::DriverError;
use gil_wire::gpu::{Fault, Job, Window, Work};
use nix::errno::Errno;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Most pixel processors of a GPU (Mali-450).
const PIXEL_PROCESSORS: u8 = 8;

/// Jobs that failed of which it is known where.
const FAULTS_MOST: usize = 64;

/// A processor's queue among a guest's jobs.
type Queue = (u32, u64);

/// What a guest has of a GPU that its own driver runs.
pub struct Gpu {
    spaces: Spaces,
    /// The address space of the last job of each processor.
    last: BTreeMap<Queue, u32>,
    /// Where the latest jobs fail, by their events.
    faults: BTreeMap<u64, Fault>,
}

impl Gpu {
    /// One without memory.
    pub fn new(budget: &Budget) -> Self {
        Self {
            spaces: Spaces::new(budget),
            last: BTreeMap::new(),
            faults: BTreeMap::new(),
        }
    }
}

/// A job's fence, and how the GPU ends the job.
#[derive(Debug)]
struct Ends(Started);

impl Fence for Ends {
    fn wait(&self, within: Duration) -> Result<Option<End>, Errno> {
        let Started { fence, status, .. } = &self.0;
        let ended = |end: End| match end.status {
            0 => End {
                status: *status,
                ..end
            },
            _ => end,
        };
        Ok(fence.wait(within)?.map(ended))
    }
}

impl Guest<'_> {
    /// What the pages of a window hold.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn gpu_memory(&mut self, given: Given<'_>) -> Result<Did, Refusal> {
        let windows = Window::parse(given.args)?;
        let [window] = &windows[..] else {
            let one = given.args.len() / windows.len().max(1);
            return Err(DriverError::Trailing(given.args.len() - one).into());
        };
        let spaces = &mut self.gpu.spaces;
        match (&given.regions[..], window.is_empty()) {
            ([], true) => spaces.unmap(window),
            ([region], false) if region.dir().is_in() => spaces.push(window, region.bytes())?,
            _ => {
                let wanted = window.len();
                return Err(Refusal::Region { index: 0, wanted });
            }
        }
        Ok(Did::default())
    }

    /// A job begins.
    ///
    /// # Errors
    /// [`Refusal`]: nothing was started.
    pub fn gpu_job(&mut self, given: Given<'_>) -> Result<Did, Refusal> {
        let served = self.served;
        let places = || Refusal::Places(served.table.driver.clone());
        let gpu = served.node.gpu().ok_or_else(places)?;
        let job = self.described(&given)?;
        let event = given.event.ok_or(Errno::EINVAL)?;
        self.jobs.check(event)?;
        let queue = queue(&job);
        // Hardware starts a job when the one before is over, if only by a reset.
        self.jobs.restart(queue);
        let submitted_ns = now_ns();
        let memory = &mut self.gpu.spaces.memory(job.space);
        let started = gpu.execute(&job, submitted_ns, memory);
        self.gpu.last.insert(queue, job.space);
        if let Some(fault) = started.fault {
            self.gpu.faults.insert(event, fault);
            if self.gpu.faults.len() > FAULTS_MOST {
                self.gpu.faults.pop_first();
            }
        }
        let fence: Rc<dyn Fence> = Rc::new(Ends(started));
        let job = jobs::Job {
            event,
            submitted_ns,
            fence: Some(fence),
            buffers: None,
            after: Vec::new(),
        };
        self.jobs.add(queue, job);
        let ended = given.finish.then(|| self.jobs.finish(event));
        Ok(Did {
            ended: Vec::from_iter(ended.flatten()),
            ..Did::default()
        })
    }

    /// Where a job fails, said once.
    ///
    /// # Errors
    /// [`Refusal`] if the arguments are no event.
    pub fn gpu_fault(&mut self, args: &[u8]) -> Result<Did, Refusal> {
        let (event, rest) = postcard::take_from_bytes(args).map_err(Refusal::Job)?;
        if !rest.is_empty() {
            return Err(DriverError::Trailing(rest.len()).into());
        }
        let fault = self.gpu.faults.remove(&event);
        Ok(Did {
            answer: postcard::to_allocvec(&fault).unwrap_or_default(),
            ..Did::default()
        })
    }

    /// The job that a call describes, of a processor that the driver's GPU has.
    fn described(&self, given: &Given<'_>) -> Result<Job, Refusal> {
        let (job, rest): (Job, _) = postcard::take_from_bytes(given.args).map_err(Refusal::Job)?;
        if !rest.is_empty() {
            return Err(DriverError::Trailing(rest.len()).into());
        }
        if !given.regions.is_empty() {
            let index = given.regions.len();
            return Err(Refusal::Region { index, wanted: 0 });
        }
        let is_known = usize::from(job.processor) < self.served.table.processors.len();
        match job.work {
            Work::Pixels { processor, .. } if processor >= PIXEL_PROCESSORS => {
                Err(Refusal::Processor(processor))
            }
            _ if !is_known => Err(Refusal::Processor(job.processor)),
            _ => Ok(job),
        }
    }

    /// Brings what is new of windows, when the jobs under way of their address spaces have
    /// ended; jobs that have ended are reported with it.
    ///
    /// # Errors
    /// [`Refusal`]: nothing was waited for.
    pub fn gpu_fetch(&mut self, given: Given<'_>) -> Result<Did, Refusal> {
        let windows = Window::parse(given.args)?;
        check_regions(&windows, &given.regions)?;
        self.settle(&windows);
        let (mut results, mut out) = (Vec::new(), Vec::new());
        for (window, region) in windows.iter().zip(given.regions) {
            let (result, bytes) = match self.gpu.spaces.pull(window, region) {
                Ok(bytes) => (0, bytes),
                Err(error) => (-(error as i32), Output::None),
            };
            results.push(result);
            out.push(bytes);
        }
        let took = self.gpu.spaces.take_time();
        Ok(self.fetched(took, results, out, given.event))
    }

    /// Waits for the jobs under way of the windows' address spaces.
    fn settle(&mut self, windows: &[Window]) {
        let began = Instant::now();
        for (queue, space) in &self.gpu.last {
            if windows.iter().any(|window| window.space == *space) {
                let left = self.limit.saturating_sub(began.elapsed());
                self.jobs.drain(*queue, left);
            }
        }
    }
}

/// The queue of a job's processor. No guest opens as many files.
fn queue(job: &Job) -> Queue {
    let unit = match job.work {
        Work::Pixels { processor, .. } => processor.into(),
        Work::Chain { .. } | Work::Geometry { .. } => 0,
    };
    (u32::MAX - unit, job.processor.into())
}

/// Each window has a region for all of its bytes.
fn check_regions(windows: &[Window], regions: &[Region]) -> Result<(), Refusal> {
    if windows.len() != regions.len() {
        let index = regions.len().min(windows.len());
        return Err(Refusal::Region { index, wanted: 0 });
    }
    for (index, (window, region)) in windows.iter().zip(regions).enumerate() {
        let wanted = window.len();
        if region.dir().is_in() || region.len() != wanted {
            return Err(Refusal::Region { index, wanted });
        }
    }
    Ok(())
}
