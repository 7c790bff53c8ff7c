//! A guest's OpenCL program without a guest: its calls go through a driver's
//! stand-in, the host interface and the agent.

use super::Board;
use super::error::BenchError;
use gil_host::Host;
use gil_host::config::Config;
use gil_host::events::Sink;
use gil_host::memory::Mapped;
use gil_host::stand_in::{self, DATA, Driver, RAM_BASE, Region, Seen};
use gil_host::stats::Counters;
use gil_uapi::{Status, kind};
use gil_wire::Op;
use gil_wire::api::info;
use gil_wire::call::{Handle, InData, NewEvent, OutRoom, Packed, pack};
use gil_wire::envelope::{Class, Engine, Envelope, Order, Queue};
use gil_wire::generated::opencl as wire;
use gil_wire::message::Direction;
use gil_wire::monitor::Event;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A kernel that does as good as nothing.
const NOTHING: &str = "kernel void nothing(void) { }";
/// Devices of every type.
const CL_DEVICE_TYPE_ALL: u64 = 0xffff_ffff;
/// A buffer that kernels read and write.
const CL_MEM_READ_WRITE: u64 = 1;
/// Guest nanoseconds from one call's end to the next call.
const BETWEEN: u64 = 1000;

/// Keeps what the host interface warns of.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl Sink for Warnings {
    fn tell(&mut self, event: Event) {
        if let Event::Warning { text } = event {
            let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            texts.push(text);
        }
    }
}

/// A submission's wall time.
#[derive(Clone, Copy, Debug)]
pub struct Took {
    /// In the doorbell.
    pub wall: Duration,
    /// Of it, the time the board says it worked.
    pub board: Duration,
    /// Of it, the host interface's own work: all but the wait for an answer.
    pub own: Duration,
}

impl Took {
    /// Without the board's work.
    pub fn bridge(self) -> Duration {
        self.wall.saturating_sub(self.board)
    }
}

/// The program.
pub struct Program {
    driver: Driver,
    warnings: Warnings,
    next: u64,
    context: Handle,
    device: Handle,
    queue: Handle,
}

impl Program {
    /// A program without objects, with `data` bytes of memory.
    pub fn new(board: &Board, data: u64) -> Result<Self, BenchError> {
        let config = Config {
            board: Some(board.agent.address.parse()?),
            key: board.key.clone(),
            ..Config::default()
        };
        let warnings = Warnings::default();
        let host = Host::new(&config, "gil bench", Box::new(warnings.clone()))?;
        let (file, path) = stand_in::ram(DATA - RAM_BASE + data)?;
        host.set_memory(Box::new(Mapped::open(&path, RAM_BASE, Vec::new())?));
        let driver = Driver::new(host, file);
        driver.simple(kind::OPEN);
        Ok(Self {
            driver,
            warnings,
            next: 0,
            context: Handle::NULL,
            device: Handle::NULL,
            queue: Handle::NULL,
        })
    }

    /// The same with a context and an in-order queue on the first device.
    pub fn with_queue(board: &Board, data: u64) -> Result<Self, BenchError> {
        let mut program = Self::new(board, data)?;
        program.device = program.first_device()?;
        program.context = program.number();
        let args = wire::ClCreateContextArgs {
            num_devices: 1,
            devices: Some(vec![program.device]),
            new: program.context,
            ..Default::default()
        };
        let reply: wire::ClCreateContextReply = program.call(wire::CL_CREATE_CONTEXT, &args)?;
        program.succeeded(wire::CL_CREATE_CONTEXT, reply.result)?;
        program.queue = program.number();
        let args = wire::ClCreateCommandQueueArgs {
            context: program.context,
            device: program.device,
            properties: 0,
            new: program.queue,
        };
        let op = wire::CL_CREATE_COMMAND_QUEUE;
        let reply: wire::ClCreateCommandQueueReply = program.call(op, &args)?;
        program.succeeded(op, reply.result)?;
        Ok(program)
    }

    fn first_device(&mut self) -> Result<Handle, BenchError> {
        let args = wire::ClGetPlatformIDsArgs {
            num_entries: 1,
            platforms: true,
            num_platforms: true,
        };
        let reply: wire::ClGetPlatformIDsReply = self.call(wire::CL_GET_PLATFORM_IDS, &args)?;
        let args = wire::ClGetDeviceIDsArgs {
            platform: *reply.platforms.first().ok_or(BenchError::NoDevice)?,
            device_type: CL_DEVICE_TYPE_ALL,
            num_entries: 1,
            devices: true,
            num_devices: true,
        };
        let reply: wire::ClGetDeviceIDsReply = self.call(wire::CL_GET_DEVICE_IDS, &args)?;
        reply.devices.first().copied().ok_or(BenchError::NoDevice)
    }

    /// A buffer.
    pub fn buffer(&mut self, size: u64) -> Result<Handle, BenchError> {
        let new = self.number();
        let args = wire::ClCreateBufferArgs {
            context: self.context,
            flags: CL_MEM_READ_WRITE,
            size,
            host_ptr: InData::Null,
            new,
        };
        let reply: wire::ClCreateBufferReply = self.call(wire::CL_CREATE_BUFFER, &args)?;
        self.succeeded(wire::CL_CREATE_BUFFER, reply.result)?;
        Ok(new)
    }

    /// A kernel that does as good as nothing.
    pub fn kernel(&mut self) -> Result<Handle, BenchError> {
        let (program, kernel) = (self.number(), self.number());
        let source = pack([Some(NOTHING.as_bytes())]);
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
        let reply: wire::ClCreateProgramWithSourceReply = self.call(op, &args)?;
        self.succeeded(op, reply.result)?;
        let args = wire::ClBuildProgramArgs {
            program,
            options: InData::Inline(b""),
            ..Default::default()
        };
        let reply: wire::ClBuildProgramReply = self.call(wire::CL_BUILD_PROGRAM, &args)?;
        self.succeeded(wire::CL_BUILD_PROGRAM, reply.result)?;
        let args = wire::ClCreateKernelArgs {
            program,
            kernel_name: InData::Inline(b"nothing"),
            new: kernel,
        };
        let reply: wire::ClCreateKernelReply = self.call(wire::CL_CREATE_KERNEL, &args)?;
        self.succeeded(wire::CL_CREATE_KERNEL, reply.result)?;
        Ok(kernel)
    }

    /// The cheapest call that goes to the board: how many platforms there are.
    pub fn null_call(&mut self) -> Result<Took, BenchError> {
        let args = wire::ClGetPlatformIDsArgs {
            num_entries: 0,
            platforms: false,
            num_platforms: true,
        };
        let args = encoded(&args);
        let envelope = self.envelope(wire::CL_GET_PLATFORM_IDS, &args);
        let (took, seen) = self.submit(&[envelope], &[]);
        self.executed(wire::CL_GET_PLATFORM_IDS, &seen)?;
        Ok(took)
    }

    /// Writes `len` bytes of the program's memory to a buffer and waits, or
    /// reads them.
    pub fn transfer(
        &mut self,
        buffer: Handle,
        dir: Direction,
        extents: &[(u64, u64)],
    ) -> Result<Took, BenchError> {
        let event = self.event();
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
        let (took, seen) = self.submit(&[envelope], &[region]);
        self.executed(op, &seen)?;
        Ok(took)
    }

    /// Launches the kernel `count` times in one submission.
    pub fn launch(&mut self, kernel: Handle, count: usize) -> Result<Took, BenchError> {
        let launches: Vec<(NewEvent, Vec<u8>)> = (0..count)
            .map(|_| {
                let event = self.event();
                let args = wire::ClEnqueueNDRangeKernelArgs {
                    command_queue: self.queue,
                    kernel,
                    work_dim: 1,
                    global_work_size: Some(vec![1]),
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
        let (took, seen) = self.submit(&envelopes, &[]);
        self.executed(op, &seen)?;
        Ok(took)
    }

    /// Waits for everything on the queue.
    pub fn finish(&mut self) -> Result<Took, BenchError> {
        let envelope = Envelope {
            class: Class::Wait,
            queue: Some(self.timeline_queue()),
            ..self.envelope(wire::CL_FINISH, &[])
        };
        let (took, seen) = self.submit(&[envelope], &[]);
        self.executed(wire::CL_FINISH, &seen)?;
        Ok(took)
    }

    fn call<A: Serialize, R: for<'a> Deserialize<'a>>(
        &mut self,
        op: Op,
        args: &A,
    ) -> Result<R, BenchError> {
        let args = encoded(args);
        let envelope = self.envelope(op, &args);
        let (_, seen) = self.submit(&[envelope], &[]);
        self.executed(op, &seen)?;
        let wrong = |_| self.failed(op, "bytes that are no answer".into());
        let answer: gil_wire::envelope::Answer<'_> =
            postcard::from_bytes(&seen.reply).map_err(wrong)?;
        postcard::from_bytes(answer.result).map_err(wrong)
    }

    fn envelope<'a>(&self, op: Op, args: &'a [u8]) -> Envelope<'a> {
        Envelope {
            op,
            class: info(op).and_then(|info| info.class).unwrap_or(Class::Sync),
            entry: self.driver.now_ns,
            queue: None,
            engine: Engine::COMPUTE,
            order: Order::Command,
            blocking: false,
            waits: Vec::new(),
            signals: None,
            observable: false,
            retires: None,
            regions: 0,
            rows: Vec::new(),
            args,
        }
    }

    fn enqueue<'a>(&self, op: Op, event: NewEvent, args: &'a [u8]) -> Envelope<'a> {
        Envelope {
            class: Class::Enqueue,
            queue: Some(self.timeline_queue()),
            signals: Some(event.number.0),
            ..self.envelope(op, args)
        }
    }

    fn timeline_queue(&self) -> Queue {
        Queue {
            id: self.queue.0,
            in_order: true,
            device: self.device.0,
        }
    }

    fn submit(&mut self, envelopes: &[Envelope<'_>], regions: &[Region]) -> (Took, Seen) {
        self.driver.seq += 1;
        self.driver.prepare(envelopes, regions);
        let before = self.driver.host.counters();
        let start = Instant::now();
        self.driver.doorbell();
        let wall = start.elapsed();
        let after = self.driver.host.counters();
        let since = |of: fn(&Counters) -> u64| Duration::from_nanos(of(&after) - of(&before));
        let took = Took {
            wall,
            board: since(|counters| counters.board_wall_ns),
            own: since(|counters| counters.bridge_wall_ns),
        };
        let seen = self.driver.seen();
        self.driver.now_ns = self.driver.now_ns.max(seen.deadline_ns) + BETWEEN;
        (took, seen)
    }

    fn executed(&self, op: Op, seen: &Seen) -> Result<(), BenchError> {
        match seen.status == Status::Ok as u32 {
            true => Ok(()),
            false => Err(self.failed(op, format!("status {} of the mailbox", seen.status))),
        }
    }

    fn succeeded(&self, op: Op, result: i32) -> Result<(), BenchError> {
        match result {
            0 => Ok(()),
            error => Err(self.failed(op, format!("OpenCL error {error}"))),
        }
    }

    fn failed(&self, op: Op, what: String) -> BenchError {
        let texts = self.warnings.0.lock();
        let texts = texts.unwrap_or_else(PoisonError::into_inner);
        let warnings = texts.iter().map(|text| format!("; {text}")).collect();
        BenchError::Call { op, what, warnings }
    }

    fn number(&mut self) -> Handle {
        self.next += 1;
        Handle(self.next)
    }

    fn event(&mut self) -> NewEvent {
        NewEvent {
            number: self.number(),
            kept: false,
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.driver.close();
    }
}

fn encoded(args: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(args).expect("plain data encodes")
}
