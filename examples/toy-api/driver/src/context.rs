//! Contexts: a queue on a device, whose commands run in order.

use crate::device::Found;
use crate::error::{Error, FAILED, INVALID_VALUE};
use opencl3::command_queue::{CL_QUEUE_PROFILING_ENABLE, CommandQueue};
use opencl3::context::Context as ClContext;
use opencl3::event::Event;
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer as ClBuffer, CL_MEM_READ_WRITE, ClMem};
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, CL_NON_BLOCKING};
use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const SOURCE: &str = "kernel void scale(global uint *v, uint factor) {
    v[get_global_id(0)] *= factor;
}";

/// A context.
#[derive(Debug)]
pub struct Context {
    context: ClContext,
    work: Mutex<Work>,
}

#[derive(Debug)]
struct Work {
    queue: CommandQueue,
    scale: Kernel,
    /// The latest command's.
    latest: Option<Event>,
}

/// Memory in a context.
#[derive(Debug)]
pub struct Buffer {
    context: Arc<Context>,
    memory: Mutex<ClBuffer<u8>>,
    size: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Context {
    /// One on this device.
    ///
    /// # Errors
    /// OpenCL's.
    pub fn new(found: &Found) -> Result<Self, Error> {
        let context = ClContext::from_device(found.device())?;
        let queue =
            CommandQueue::create_default_with_properties(&context, CL_QUEUE_PROFILING_ENABLE, 0)?;
        let program = Program::create_and_build_from_source(&context, SOURCE, "")?;
        let scale = Kernel::create(&program, "scale")?;
        let work = Work {
            queue,
            scale,
            latest: None,
        };
        Ok(Self {
            context,
            work: Mutex::new(work),
        })
    }

    /// Waits for all commands.
    ///
    /// # Errors
    /// [`FAILED`] if the latest did.
    pub fn finish(&self) -> Result<(), Error> {
        let work = lock(&self.work);
        work.queue.finish()?;
        match &work.latest {
            Some(latest) if latest.command_execution_status()?.0 < 0 => Err(Error(FAILED)),
            _ => Ok(()),
        }
    }

    /// Waits for all commands; nanoseconds of the latest on the device, 0 if
    /// there is none.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn elapsed(&self) -> Result<u64, Error> {
        self.finish()?;
        let work = lock(&self.work);
        let Some(latest) = &work.latest else {
            return Ok(0);
        };
        let begun = latest.profiling_command_start()?;
        Ok(latest.profiling_command_end()?.saturating_sub(begun))
    }

    /// Runs `then` once all commands so far are done.
    pub fn when_done(self: Arc<Self>, then: impl FnOnce(Result<(), Error>) + Send + 'static) {
        std::thread::spawn(move || then(self.finish()));
    }
}

impl Buffer {
    /// Memory of this size.
    ///
    /// # Errors
    /// [`INVALID_VALUE`] for none, or OpenCL's.
    pub fn new(context: Arc<Context>, size: usize) -> Result<Self, Error> {
        if size == 0 {
            return Err(Error(INVALID_VALUE));
        }
        // SAFETY: the memory is OpenCL's own.
        let memory = unsafe {
            ClBuffer::create(&context.context, CL_MEM_READ_WRITE, size, ptr::null_mut())
        }?;
        Ok(Self {
            context,
            memory: Mutex::new(memory),
            size,
        })
    }

    /// Whether it was made in this context.
    pub fn is_of(&self, context: &Arc<Context>) -> bool {
        Arc::ptr_eq(&self.context, context)
    }

    fn check(&self, offset: usize, size: usize) -> Result<(), Error> {
        match offset.checked_add(size) {
            Some(end) if end <= self.size && size > 0 => Ok(()),
            _ => Err(Error(INVALID_VALUE)),
        }
    }

    /// Takes these bytes, behind all commands before.
    ///
    /// # Errors
    /// [`INVALID_VALUE`] if they are not within it, or OpenCL's.
    pub fn upload(&self, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        self.check(offset, bytes.len())?;
        let work = lock(&self.context.work);
        let mut memory = lock(&self.memory);
        // SAFETY: the bytes are there until it returns.
        unsafe {
            let queue = &work.queue;
            queue.enqueue_write_buffer(&mut memory, CL_BLOCKING, offset, bytes, &[])?;
        }
        Ok(())
    }

    /// Multiplies its numbers.
    ///
    /// # Errors
    /// [`INVALID_VALUE`] if it is not made of numbers, or OpenCL's.
    pub fn scale(&self, factor: u32) -> Result<(), Error> {
        if !self.size.is_multiple_of(4) {
            return Err(Error(INVALID_VALUE));
        }
        let mut work = lock(&self.context.work);
        let memory = lock(&self.memory).get();
        let items = [self.size / 4];
        // SAFETY: the kernel takes a buffer and a number, and uses as many
        // numbers as the buffer has.
        let latest = unsafe {
            work.scale.set_arg(0, &memory)?;
            work.scale.set_arg(1, &factor)?;
            let (kernel, queue) = (work.scale.get(), &work.queue);
            queue.enqueue_nd_range_kernel(
                kernel,
                1,
                ptr::null(),
                items.as_ptr(),
                ptr::null(),
                &[],
            )?
        };
        work.latest = Some(latest);
        Ok(work.queue.flush()?)
    }

    /// Writes bytes of it to memory, before it returns if `wait`.
    ///
    /// # Errors
    /// [`INVALID_VALUE`] if they are not within it, or OpenCL's.
    ///
    /// # Safety
    /// `to` has room for `size` bytes until the command is done.
    pub unsafe fn read(
        &self,
        offset: usize,
        to: *mut c_void,
        size: usize,
        wait: bool,
    ) -> Result<(), Error> {
        self.check(offset, size)?;
        let mut work = lock(&self.context.work);
        let memory = lock(&self.memory);
        let blocking = if wait { CL_BLOCKING } else { CL_NON_BLOCKING };
        // SAFETY: the caller's.
        let latest = unsafe {
            let room = std::slice::from_raw_parts_mut(to.cast::<u8>(), size);
            work.queue
                .enqueue_read_buffer(&memory, blocking, offset, room, &[])?
        };
        work.latest = Some(latest);
        Ok(work.queue.flush()?)
    }
}
