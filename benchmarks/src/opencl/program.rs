//! An OpenCL program.

use super::matmul::EMULATED_STACK;
use crate::board::Board;
use crate::error::BenchError;
use crate::program::{self, Caller, NullCall, Took, encoded};
use gil_host::stand_in::Region;
use gil_wire::Op;
use gil_wire::call::{Handle, InData, InfoValue, NewEvent, OutData, OutRoom, Packed, pack};
use gil_wire::envelope::{Answer, Class, Engine, Envelope, Queue};
use gil_wire::generated::opencl as wire;
use gil_wire::message::Direction;
use std::time::Duration;

/// A kernel that does as good as nothing.
const NOTHING: &str = "kernel void nothing(void) { }";
/// What is the matter with a board that has none.
const NO_DEVICE: BenchError = BenchError::NoDevice {
    api: "OpenCL",
    package: EMULATED_STACK,
};
/// Devices of every type.
const CL_DEVICE_TYPE_ALL: u64 = 0xffff_ffff;
/// A buffer that kernels read and write.
const CL_MEM_READ_WRITE: u64 = 1;
/// How many platforms there are.
pub fn null_call() -> NullCall {
    let args = wire::ClGetPlatformIDsArgs {
        num_entries: 0,
        platforms: false,
        num_platforms: true,
    };
    NullCall {
        op: wire::CL_GET_PLATFORM_IDS,
        args: encoded(&args),
    }
}

/// The program.
pub struct Program {
    caller: Caller,
    context: Handle,
    device: Handle,
    queue: Handle,
}

impl Program {
    /// A program without objects, with `data` bytes of memory.
    ///
    /// # Errors
    /// [`BenchError`] if the host interface does not take it.
    pub fn new(board: &Board, data: u64) -> Result<Self, BenchError> {
        Ok(Self {
            caller: Caller::new(board, data)?,
            context: Handle::NULL,
            device: Handle::NULL,
            queue: Handle::NULL,
        })
    }

    /// The same with a context and an in-order queue on the first device.
    ///
    /// # Errors
    /// [`BenchError`], also where there is no device.
    pub fn with_queue(board: &Board, data: u64) -> Result<Self, BenchError> {
        let mut program = Self::new(board, data)?;
        program.device = program.first_device()?;
        program.context = program.caller.number();
        let args = wire::ClCreateContextArgs {
            num_devices: 1,
            devices: Some(vec![program.device]),
            new: program.context,
            ..Default::default()
        };
        let reply: wire::ClCreateContextReply =
            program.caller.call(wire::CL_CREATE_CONTEXT, &args)?;
        program.succeeded(wire::CL_CREATE_CONTEXT, reply.result)?;
        program.queue = program.caller.number();
        let args = wire::ClCreateCommandQueueArgs {
            context: program.context,
            device: program.device,
            properties: 0,
            new: program.queue,
        };
        let op = wire::CL_CREATE_COMMAND_QUEUE;
        let reply: wire::ClCreateCommandQueueReply = program.caller.call(op, &args)?;
        program.succeeded(op, reply.result)?;
        Ok(program)
    }

    fn first_device(&mut self) -> Result<Handle, BenchError> {
        let args = wire::ClGetPlatformIDsArgs {
            num_entries: 1,
            platforms: true,
            num_platforms: true,
        };
        let reply: wire::ClGetPlatformIDsReply =
            self.caller.call(wire::CL_GET_PLATFORM_IDS, &args)?;
        let args = wire::ClGetDeviceIDsArgs {
            platform: *reply.platforms.first().ok_or(NO_DEVICE)?,
            device_type: CL_DEVICE_TYPE_ALL,
            num_entries: 1,
            devices: true,
            num_devices: true,
        };
        let reply: wire::ClGetDeviceIDsReply = self.caller.call(wire::CL_GET_DEVICE_IDS, &args)?;
        reply.devices.first().copied().ok_or(NO_DEVICE)
    }

    fn enqueue<'a>(&self, op: Op, event: NewEvent, args: &'a [u8]) -> Envelope<'a> {
        Envelope {
            class: Class::Enqueue,
            queue: Some(self.timeline_queue()),
            signals: Some(event.number.0),
            ..self.caller.envelope(op, args)
        }
    }

    fn timeline_queue(&self) -> Queue {
        Queue {
            id: self.queue.0,
            in_order: true,
            device: self.device.0,
        }
    }

    /// Sets a kernel's first argument to a buffer.
    ///
    /// # Errors
    /// [`BenchError::Call`].
    pub fn set_buffer(&mut self, kernel: Handle, buffer: Handle) -> Result<(), BenchError> {
        let args = wire::ClSetKernelArgArgs {
            kernel,
            arg_index: 0,
            arg_size: 8,
            arg_value: wire::KernelArgument::Handle(buffer),
        };
        let op = wire::CL_SET_KERNEL_ARG;
        let reply: wire::ClSetKernelArgReply = self.caller.call(op, &args)?;
        self.succeeded(op, reply.result)
    }

    /// What the device says of itself, at most `room` bytes.
    ///
    /// # Errors
    /// [`BenchError::Call`].
    pub fn device_info(&mut self, param_name: u32, room: u32) -> Result<Vec<u8>, BenchError> {
        let args = encoded(&wire::ClGetDeviceInfoArgs {
            device: self.device,
            param_name,
            param_value: OutRoom::Inline(room),
        });
        let op = wire::CL_GET_DEVICE_INFO;
        let envelope = self.caller.envelope(op, &args);
        let (_, seen) = self.caller.submit(&[envelope], &[]);
        self.caller.executed(op, &seen)?;
        let wrong = |_| self.caller.failed(op, "bytes that are no answer".into());
        let answer: Answer<'_> = postcard::from_bytes(&seen.reply).map_err(wrong)?;
        let reply: wire::ClGetDeviceInfoReply<'_> =
            postcard::from_bytes(answer.result).map_err(wrong)?;
        self.succeeded(op, reply.result)?;
        match reply.value {
            InfoValue::Bytes(OutData::Inline(bytes)) => Ok(bytes.to_vec()),
            _ => Err(self.caller.failed(op, "no value".into())),
        }
    }

    /// Device time of all operations so far.
    pub fn device_time(&self) -> Duration {
        self.caller.device_time()
    }

    /// A kernel of this source.
    ///
    /// # Errors
    /// [`BenchError::Call`].
    pub fn kernel_of(&mut self, source: &str, name: &str) -> Result<Handle, BenchError> {
        let (program, kernel) = (self.caller.number(), self.caller.number());
        let source = pack([Some(source.as_bytes())]);
        let args = wire::ClCreateProgramWithSourceArgs {
            context: self.context,
            count: 1,
            strings: Packed {
                count: 1,
                data: InData::Inline(&source),
            },
            new: program,
        };
        let op = wire::CL_CREATE_PROGRAM_WITH_SOURCE;
        let reply: wire::ClCreateProgramWithSourceReply = self.caller.call(op, &args)?;
        self.succeeded(op, reply.result)?;
        let args = wire::ClBuildProgramArgs {
            program,
            options: InData::Inline(b""),
            ..Default::default()
        };
        let reply: wire::ClBuildProgramReply = self.caller.call(wire::CL_BUILD_PROGRAM, &args)?;
        self.succeeded(wire::CL_BUILD_PROGRAM, reply.result)?;
        let args = wire::ClCreateKernelArgs {
            program,
            kernel_name: InData::Inline(name.as_bytes()),
            new: kernel,
        };
        let reply: wire::ClCreateKernelReply = self.caller.call(wire::CL_CREATE_KERNEL, &args)?;
        self.succeeded(wire::CL_CREATE_KERNEL, reply.result)?;
        Ok(kernel)
    }

    /// Launches the kernel `count` times in one submission, each with one work-group of
    /// so many work-items.
    ///
    /// # Errors
    /// [`BenchError::Call`].
    pub fn launch_groups(
        &mut self,
        kernel: Handle,
        count: usize,
        items: u64,
    ) -> Result<Took, BenchError> {
        let launches: Vec<(NewEvent, Vec<u8>)> = (0..count)
            .map(|_| {
                let event = self.caller.event();
                let args = wire::ClEnqueueNDRangeKernelArgs {
                    command_queue: self.queue,
                    kernel,
                    work_dim: 1,
                    global_work_size: Some(vec![items]),
                    local_work_size: Some(vec![items]),
                    event,
                    ..Default::default()
                };
                (event, encoded(&args))
            })
            .collect();
        let op = wire::CL_ENQUEUE_ND_RANGE_KERNEL;
        let envelopes = launches.iter();
        let envelopes = envelopes.map(|(event, args)| self.enqueue(op, *event, args));
        let envelopes: Vec<_> = envelopes.collect();
        let (took, seen) = self.caller.submit(&envelopes, &[]);
        self.caller.executed(op, &seen)?;
        Ok(took)
    }

    fn succeeded(&self, op: Op, result: i32) -> Result<(), BenchError> {
        match result {
            0 => Ok(()),
            error => Err(self.caller.failed(op, format!("OpenCL error {error}"))),
        }
    }
}

impl program::Program for Program {
    fn buffer(&mut self, size: u64) -> Result<Handle, BenchError> {
        let new = self.caller.number();
        let args = wire::ClCreateBufferArgs {
            context: self.context,
            flags: CL_MEM_READ_WRITE,
            size,
            host_ptr: InData::Null,
            new,
        };
        let reply: wire::ClCreateBufferReply = self.caller.call(wire::CL_CREATE_BUFFER, &args)?;
        self.succeeded(wire::CL_CREATE_BUFFER, reply.result)?;
        Ok(new)
    }

    fn kernel(&mut self) -> Result<Handle, BenchError> {
        self.kernel_of(NOTHING, "nothing")
    }

    fn null_call(&mut self) -> Result<Took, BenchError> {
        let NullCall { op, args } = null_call();
        let envelope = self.caller.envelope(op, &args);
        let (took, seen) = self.caller.submit(&[envelope], &[]);
        self.caller.executed(op, &seen)?;
        Ok(took)
    }

    fn transfer(
        &mut self,
        buffer: Handle,
        dir: Direction,
        extents: &[(u64, u64)],
    ) -> Result<Took, BenchError> {
        let event = self.caller.event();
        let (command_queue, event_wait_list) = (self.queue, Vec::new());
        let size = extents.iter().map(|extent| extent.1).sum();
        let (op, engine, args) = match dir {
            Direction::In => {
                let args = wire::ClEnqueueWriteBufferArgs {
                    command_queue,
                    buffer,
                    offset: 0,
                    size,
                    ptr: InData::Region(0),
                    event_wait_list,
                    event,
                };
                (
                    wire::CL_ENQUEUE_WRITE_BUFFER,
                    Engine::COPY_IN,
                    encoded(&args),
                )
            }
            _ => {
                let args = wire::ClEnqueueReadBufferArgs {
                    command_queue,
                    buffer,
                    offset: 0,
                    size,
                    ptr: OutRoom::Region(0),
                    event_wait_list,
                    event,
                };
                (
                    wire::CL_ENQUEUE_READ_BUFFER,
                    Engine::COPY_OUT,
                    encoded(&args),
                )
            }
        };
        let envelope = Envelope {
            engine,
            blocking: true,
            regions: 1,
            ..self.enqueue(op, event, &args)
        };
        let region = Region {
            dir: dir as u64,
            extents: extents.into(),
        };
        let (took, seen) = self.caller.submit(&[envelope], &[region]);
        self.caller.executed(op, &seen)?;
        Ok(took)
    }

    fn launch(&mut self, kernel: Handle, count: usize) -> Result<Took, BenchError> {
        self.launch_groups(kernel, count, 1)
    }

    fn finish(&mut self) -> Result<Took, BenchError> {
        let envelope = Envelope {
            class: Class::Wait,
            queue: Some(self.timeline_queue()),
            ..self.caller.envelope(wire::CL_FINISH, &[])
        };
        let (took, seen) = self.caller.submit(&[envelope], &[]);
        self.caller.executed(wire::CL_FINISH, &seen)?;
        Ok(took)
    }
}
