//! What a driver does when a kernel is first launched. PoCL, for one, compiles a kernel for
//! the size of its work-groups then, on a thread of its own and before the operation starts,
//! so that neither a call's time nor the operation's has it in it. It takes as long in each
//! run as it took first, like a build.
//!
//! A session looks once for each kernel and size: it lets all its queues run empty, since a
//! device's work may be done by the process's threads, launches, and counts what the other
//! threads and the process's children do on the CPU until the operation starts. Behind an
//! operation that does not end soon, which may wait for the program itself, it looks no more.

use super::driver::{Driver, fetch, fetch_handle};
use super::generated::types::*;
use super::session::Session;
use super::work::Work;
use crate::back_end::work::Owed;
use crate::back_end::{Enqueued, Events, Objects, Pointer, cpu_time};
use foldhash::HashSet;
use gil_wire::generated::opencl::{ClEnqueueNDRangeKernelArgs, Kind};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Most first launches that a session looks at.
const LOOKED_AT_MAX: usize = 1 << 12;
/// Most sizes of work-groups that are remembered of a kernel.
const SIZES_MAX: usize = 16;
/// What a launch takes on the CPU at most if nothing is compiled: the profile has it.
const SHORT: Duration = Duration::from_micros(200);
/// How long an operation may take to start. Other users of the device may be why.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the queues may take to run empty.
const QUIET: Duration = Duration::from_secs(2);
/// Between two looks.
const PAUSE: Duration = Duration::from_micros(50);

/// The first launches of a session.
#[derive(Debug, Default)]
pub struct FirstLaunches {
    /// The numbers of those that it has seen.
    seen: HashSet<u64>,
    /// The one that is being enqueued.
    under_way: Option<First>,
    /// What they took that no answer has told yet.
    owed: Option<Owed>,
    /// Whether the queues did not run empty, or a launch did not start: no more are looked at.
    gave_up: bool,
}

/// One first launch.
#[derive(Clone, Copy, Debug)]
struct First {
    number: u64,
    /// What other threads had been executed before.
    others: Duration,
}

impl FirstLaunches {
    /// What is owed to the next answer.
    pub(super) fn take(&mut self) -> Option<Owed> {
        self.owed.take()
    }

    /// The answer could not tell it.
    pub(super) fn put_back(&mut self, owed: Owed) {
        self.owed = Some(owed);
    }
}

impl Session {
    /// A kernel is about to be launched: is it the first time that this program's kernel has
    /// work-groups of this size, it is looked at, if it can start at once.
    pub(super) fn may_be_first(&mut self, args: &ClEnqueueNDRangeKernelArgs) {
        self.first_launches.under_way = None;
        let Some(number) = self.first(args) else {
            return;
        };
        let waits = !args.event_wait_list.is_empty() || !self.operations.none_blocks();
        if waits || self.first_launches.gave_up {
            return;
        }
        if !self.runs_empty() {
            self.first_launches.gave_up = true;
            return;
        }
        self.first_launches.under_way = Some(First {
            number,
            others: cpu_time::others(),
        });
    }

    /// Lets all queues run empty; whether they did. Each operation's queue was flushed as it was
    /// enqueued.
    fn runs_empty(&self) -> bool {
        let began = Instant::now();
        let mut left: Vec<Pointer> = self.operations.events_under_way().collect();
        while let Some(event) = left.last() {
            if self.driver.has_ended(*event) {
                left.pop();
                continue;
            }
            if began.elapsed() > QUIET {
                return false;
            }
            sleep(PAUSE);
        }
        true
    }

    /// The number of the launch, if it is a first one.
    fn first(&mut self, args: &ClEnqueueNDRangeKernelArgs) -> Option<u64> {
        let mut size = [0; 3];
        let local = args.local_work_size.iter().flatten();
        size.iter_mut()
            .zip(local)
            .for_each(|(to, from)| *to = *from);
        let known = &mut self.kernel_mut(args.kernel)?.launched;
        if known.contains(&size) || known.len() == SIZES_MAX {
            return None;
        }
        known.push(size);
        let number = self.number_launch(args, size)?;
        let seen = &mut self.first_launches.seen;
        (seen.len() < LOOKED_AT_MAX && seen.insert(number)).then_some(number)
    }

    fn number_launch(&self, args: &ClEnqueueNDRangeKernelArgs, size: [u64; 3]) -> Option<u64> {
        let kernel = self.table.get(args.kernel, Kind::Kernel).ok()?;
        let queue = self
            .table
            .get(args.command_queue, Kind::CommandQueue)
            .ok()?;
        let info = self.functions().clGetKernelInfo?;
        let ask = |name| {
            // SAFETY: the kernel is alive, and `fetch` provides a buffer of the size it states.
            fetch(|len, value, needs| unsafe {
                info(kernel.as_ptr().cast(), name, len, value, needs)
            })
        };
        let program = fetch_handle(&ask(CL_KERNEL_PROGRAM)?)?;
        let texts = self.texts(program);
        if texts.is_empty() || texts.iter().any(|text| text.is_empty()) {
            return None;
        }
        let device = device_of(self.driver, queue)?;
        let mut sum = self.sum(Work::Launch, &[device]);
        sum.add(&ask(CL_KERNEL_FUNCTION_NAME)?);
        size.iter().for_each(|one| sum.add(&one.to_le_bytes()));
        for text in &texts {
            text.parts(|part| sum.add(part));
        }
        Some(sum.number())
    }

    /// An operation was enqueued: if it is a first launch, waits until it starts.
    pub(super) fn look_at_first(&mut self, op: &Enqueued<'_>) {
        let Some(First { number, others }) = self.first_launches.under_way.take() else {
            return;
        };
        let (Some(event), CL_SUCCESS) = (Pointer::new(op.event), op.result) else {
            return;
        };
        if let Ok(queue) = self.table.get(op.queue, Kind::CommandQueue) {
            self.driver.flush(queue);
        }
        let began = Instant::now();
        while self.driver.is_waiting(event) {
            if began.elapsed() >= PATIENCE {
                // What the threads did so long is not known for compiling.
                self.first_launches.gave_up = true;
                cpu_time::look();
                return;
            }
            sleep(PAUSE);
        }
        let took = cpu_time::others().saturating_sub(others);
        // These were looked at.
        cpu_time::look();
        let took = if took < SHORT { Duration::ZERO } else { took };
        let owed = Owed::new(number, took);
        let before = self.first_launches.owed.take();
        self.first_launches.owed = Some(before.map_or(owed, |before| before.and(owed)));
    }
}

/// A queue's device.
fn device_of(driver: &Driver, queue: Pointer) -> Option<Pointer> {
    let info = driver.functions.clGetCommandQueueInfo?;
    // SAFETY: the queue is alive, and `fetch` provides a buffer of the size it states.
    let device = fetch(|len, value, needs| unsafe {
        info(queue.as_ptr().cast(), CL_QUEUE_DEVICE, len, value, needs)
    });
    fetch_handle(&device?)
}
