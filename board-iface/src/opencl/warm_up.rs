//! What keeps a GPU busy until a kernel comes whose execution is measured.
//!
//! Timers of a GPU that has nothing to do start before the kernel does: on an NVIDIA H200 a
//! kernel is 10 us longer so than behind another one. Programs that launch without waiting
//! keep the GPU busy, and the guest's do not: it is slower than what it simulates, so that
//! most of its kernels find an idle GPU. So a kernel of the board's own, which lasts a moment,
//! is enqueued in front, and 4 us are left of the 10. What a program does see of an idle GPU
//! is in the board's profile (`launch_ns`, `wake_ns`).

use super::driver::{Driver, fetch, fetch_handle};
use super::generated::types::*;
use super::objects::Data;
use super::session::Session;
use crate::back_end::{Events, Pointer, References, WarmUps, cpu_time};
use gil_wire::call::Handle;
use gil_wire::generated::opencl::Kind;
use std::ptr::{null, null_mut};

/// Each turn depends on the one before, and goes through memory.
const SOURCE: &std::ffi::CStr =
    c"kernel void gil_warm_up(int turns) { volatile int x = 0; for (int i = 0; i < turns; i++) x += i; }";
const NAME: &std::ffi::CStr = c"gil_warm_up";
/// Nanoseconds that it lasts at least: more than a driver takes to submit a kernel.
const LASTS_NS: u64 = 20_000;
/// Turns, at first and at most.
const TURNS: std::ops::RangeInclusive<cl_int> = 64..=1 << 16;

/// Of one queue.
#[derive(Debug, Default)]
pub enum WarmUp {
    /// Nobody has asked.
    #[default]
    Unknown,
    /// Its device needs none, or its driver takes none.
    None,
    /// It is enqueued in front.
    Some(Spin),
}

/// A kernel that lasts a moment.
#[derive(Debug)]
pub struct Spin {
    driver: &'static Driver,
    kernel: Pointer,
}

impl Drop for Spin {
    fn drop(&mut self) {
        self.driver.release(Kind::Kernel, self.kernel);
    }
}

impl Session {
    /// A kernel is about to be launched on this queue: if nothing is under way, and it would
    /// start at once, its device is made busy for a moment.
    pub(super) fn warm_up(&mut self, queue: Handle, waits: &[Handle]) {
        if !waits.is_empty() || self.operations.is_busy() {
            return;
        }
        let Ok(pointer) = self.table.get(queue, Kind::CommandQueue) else {
            return;
        };
        let driver = self.driver;
        let Some(Data::Queue(made)) = self.table.data_mut(queue) else {
            return;
        };
        if !made.in_order {
            return;
        }
        if matches!(made.warm_up, WarmUp::Unknown) {
            let spin = wants(driver, pointer).then(|| Spin::new(driver, pointer));
            made.warm_up = spin.flatten().map_or(WarmUp::None, WarmUp::Some);
            // What the driver's threads did for it is no call's.
            cpu_time::look();
        }
        if let WarmUp::Some(spin) = &made.warm_up {
            spin.enqueue(pointer, null_mut());
        }
    }
}

/// Whether kernels of this queue's device are to find it busy.
fn wants(driver: &Driver, queue: Pointer) -> bool {
    let is_gpu = || {
        let device = info(driver, queue, CL_QUEUE_DEVICE)?;
        let ask = driver.functions.clGetDeviceInfo?;
        // SAFETY: the device is alive, and `fetch` provides a buffer of the size it states.
        let kind = fetch(|len, value, needs| unsafe {
            ask(device.as_ptr().cast(), CL_DEVICE_TYPE, len, value, needs)
        })?;
        let kind = cl_device_type::from_ne_bytes(*kind.first_chunk()?);
        Some(kind & CL_DEVICE_TYPE_GPU != 0)
    };
    match driver.warm_ups() {
        WarmUps::None => false,
        WarmUps::Gpus => is_gpu().unwrap_or(false),
        WarmUps::All => true,
    }
}

fn info(driver: &Driver, queue: Pointer, name: cl_uint) -> Option<Pointer> {
    let ask = driver.functions.clGetCommandQueueInfo?;
    // SAFETY: the queue is alive, and `fetch` provides a buffer of the size it states.
    let value =
        fetch(|len, value, needs| unsafe { ask(queue.as_ptr().cast(), name, len, value, needs) });
    fetch_handle(&value?)
}

impl Spin {
    /// Builds it for this queue, and finds out how many turns last long enough.
    fn new(driver: &'static Driver, queue: Pointer) -> Option<Self> {
        let context = info(driver, queue, CL_QUEUE_CONTEXT)?;
        let device = info(driver, queue, CL_QUEUE_DEVICE)?;
        let functions = &driver.functions;
        let create = functions.clCreateProgramWithSource?;
        let (build, find) = (functions.clBuildProgram?, functions.clCreateKernel?);
        let mut text = SOURCE.as_ptr();
        let devices = [device.as_ptr().cast()];
        let mut result = CL_SUCCESS;
        // SAFETY: context and device are alive, the text ends with a zero; the program is
        // alive until it is released, and its kernel keeps what it needs of it.
        let kernel = unsafe {
            let context = context.as_ptr().cast();
            let program = create(context, 1, &mut text, null(), &mut result);
            let program = Pointer::new(program.cast()).filter(|_| result == CL_SUCCESS)?;
            let it = program.as_ptr().cast();
            let built = build(it, 1, devices.as_ptr(), null(), None, null_mut());
            let kernel = match built {
                CL_SUCCESS => Pointer::new(find(it, NAME.as_ptr(), &mut result).cast()),
                _ => None,
            };
            driver.release(Kind::Program, program);
            kernel
        };
        let spin = Self {
            driver,
            kernel: kernel?,
        };
        let mut turns = *TURNS.start();
        // Nor is its first execution as long as others are.
        spin.lasts_ns(queue, turns)?;
        while turns < *TURNS.end() && spin.lasts_ns(queue, turns)? < LASTS_NS {
            turns *= 2;
        }
        Some(spin)
    }

    /// How long so many turns last, which the kernel has from then on.
    fn lasts_ns(&self, queue: Pointer, turns: cl_int) -> Option<u64> {
        let set = self.driver.functions.clSetKernelArg?;
        let kernel = self.kernel.as_ptr().cast();
        // SAFETY: the kernel is alive, and its argument is an int.
        let result = unsafe { set(kernel, 0, size_of_val(&turns), (&raw const turns).cast()) };
        if result != CL_SUCCESS {
            return None;
        }
        let mut event: cl_event = null_mut();
        let is_enqueued = self.enqueue(queue, &mut event);
        let event = Pointer::new(event.cast()).filter(|_| is_enqueued)?;
        let wait = self.driver.functions.clWaitForEvents;
        let list: [cl_event; 1] = [event.as_ptr().cast()];
        // SAFETY: the event is alive.
        let result = wait.map(|wait| unsafe { wait(1, list.as_ptr()) });
        let lasts_ns = self.driver.duration_ns(event);
        self.driver.release(Kind::Event, event);
        lasts_ns.filter(|_| result == Some(CL_SUCCESS))
    }

    /// Enqueues it; whether the driver took it.
    fn enqueue(&self, queue: Pointer, event: *mut cl_event) -> bool {
        let Some(launch) = self.driver.functions.clEnqueueNDRangeKernel else {
            return false;
        };
        let one = 1usize;
        let (queue, kernel) = (queue.as_ptr().cast(), self.kernel.as_ptr().cast());
        // SAFETY: queue and kernel are alive and of one context, its argument is set, and it
        // touches no memory of anybody's.
        let result = unsafe { launch(queue, kernel, 1, null(), &one, null(), 0, null(), event) };
        result == CL_SUCCESS
    }
}
