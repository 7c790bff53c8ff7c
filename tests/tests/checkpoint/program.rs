//! A program in the guest, whose calls this test makes as its library encodes
//! them, and the agent that runs them.

use crate::support::Log;
use crate::support::guest::{DATA, Guest, IN, OUT, RAM_BASE, call};
use gil_board::back_end::DriverOptions;
use gil_board::opencl::OpenClBoard;
use gil_board::server::{Server, ServerOptions, Stopper};
use gil_host::checkpoint::CheckpointError;
use gil_host::config::Time;
use gil_host::memory::Mapped;
use gil_host::{Config, Host};
use gil_uapi::Status;
use gil_wire::Op;
use gil_wire::address::Address;
use gil_wire::call::{Handle, InData, NewEvent, OutData, OutRoom, Packed, pack};
use gil_wire::ending::Ending;
use gil_wire::envelope::{Class, Envelope, Queue, State};
use gil_wire::generated::opencl::{self as cl, KernelArgument};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SCALE: &str = "
    kernel void scale(global const int *in, global int *out, int factor, local int *scratch) {
        scratch[get_local_id(0)] = in[get_global_id(0)];
        out[get_global_id(0)] = scratch[get_local_id(0)] * factor + BIAS;
    }";
/// Elements of a buffer.
pub const COUNT: usize = 1024;
/// Bytes of a buffer.
pub const BYTES: u64 = 4 * COUNT as u64;
pub const COPY_HOST_PTR: u64 = 32;
/// An image's elements, of four bytes each: 16 by 16, or 8 by 8 by 4.
pub const PIXELS: usize = 256;

/// An agent in this process.
pub struct Agent {
    address: Address,
    stopper: Stopper,
    _folder: tempfile::TempDir,
}

impl Agent {
    pub fn start() -> Option<Self> {
        let board = match OpenClBoard::load(DriverOptions::default()) {
            Ok(board) => board,
            Err(reason) => {
                gil_need::skip("an OpenCL device", reason);
                return None;
            }
        };
        let folder = tempfile::tempdir().unwrap();
        let address = Address::Unix(folder.path().join("s"));
        let options = ServerOptions::default();
        let (server, stopper) = Server::bind(&address, Arc::new(board), options).unwrap();
        std::thread::spawn(move || server.run());
        Some(Self {
            address,
            stopper,
            _folder: folder,
        })
    }

    pub fn config(&self, checkpoint_log: bool) -> Config {
        Config {
            board: Some(self.address.clone()),
            time: Time::Async,
            checkpoint_log,
            ..Config::default()
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}

/// A program in the guest: its calls as its library encodes them.
pub struct Program {
    pub guest: Guest,
    next: u64,
    device: Handle,
    pub context: Handle,
    pub queue: Handle,
}

#[derive(Deserialize)]
struct Result32 {
    result: i32,
}

impl Program {
    pub fn start(config: Config) -> Self {
        let mut program = Self {
            guest: Guest::with(config, false),
            next: 0,
            device: Handle::NULL,
            context: Handle::NULL,
            queue: Handle::NULL,
        };
        program.find_device();
        program.context = program.new_context();
        program.queue = program.number();
        let args = cl::ClCreateCommandQueueArgs {
            context: program.context,
            device: program.device,
            properties: 0,
            new: program.queue,
        };
        program.done(cl::CL_CREATE_COMMAND_QUEUE, &args, &[]);
        program
    }

    fn find_device(&mut self) {
        let args = cl::ClGetPlatformIDsArgs {
            num_entries: 8,
            platforms: true,
            num_platforms: true,
        };
        let found = self.ask(cl::CL_GET_PLATFORM_IDS, &args);
        let found: cl::ClGetPlatformIDsReply = postcard::from_bytes(&found).unwrap();
        let args = cl::ClGetDeviceIDsArgs {
            platform: found.platforms[0],
            device_type: 0xffff_ffff,
            num_entries: 8,
            devices: true,
            num_devices: true,
        };
        let found = self.ask(cl::CL_GET_DEVICE_IDS, &args);
        let found: cl::ClGetDeviceIDsReply = postcard::from_bytes(&found).unwrap();
        self.device = found.devices[0];
    }

    pub fn number(&mut self) -> Handle {
        self.next += 1;
        Handle(self.next)
    }

    /// Submits one call and lets its time pass; its answer's result.
    pub fn submit(&mut self, envelope: Envelope<'_>, regions: &[(u64, u64, u32)]) -> Vec<u8> {
        let envelope = Envelope {
            entry: self.guest.now_ns,
            regions: regions.len() as u32,
            ..envelope
        };
        let seen = self.guest.submit(&[envelope], regions);
        assert_eq!(
            seen.status,
            Status::Ok as u32,
            "{:?}",
            self.guest.log.warnings()
        );
        self.guest.now_ns = self.guest.now_ns.max(seen.deadline_ns) + 1;
        if seen.reply.is_empty() {
            return Vec::new();
        }
        seen.answer().result.to_vec()
    }

    pub fn ask<A: Serialize>(&mut self, op: Op, args: &A) -> Vec<u8> {
        let args = postcard::to_stdvec(args).unwrap();
        let query = call(Class::Query, 0);
        self.submit(
            Envelope {
                op,
                args: &args,
                ..query
            },
            &[],
        )
    }

    /// A synchronous call; its error.
    fn sync<A: Serialize>(&mut self, op: Op, args: &A, regions: &[(u64, u64, u32)]) -> i32 {
        let args = postcard::to_stdvec(args).unwrap();
        let sync = call(Class::Sync, 0);
        let result = self.submit(
            Envelope {
                op,
                args: &args,
                ..sync
            },
            regions,
        );
        let (result, _) = postcard::take_from_bytes::<Result32>(&result).unwrap();
        result.result
    }

    /// One that succeeds.
    pub fn done<A: Serialize>(&mut self, op: Op, args: &A, regions: &[(u64, u64, u32)]) {
        assert_eq!(self.sync(op, args, regions), 0, "{op}");
    }

    pub fn post<A: Serialize>(&mut self, op: Op, args: &A) {
        let args = postcard::to_stdvec(args).unwrap();
        let post = call(Class::Post, 0);
        self.submit(
            Envelope {
                op,
                args: &args,
                ..post
            },
            &[],
        );
    }

    fn new_context(&mut self) -> Handle {
        let new = self.number();
        let args = cl::ClCreateContextArgs {
            num_devices: 1,
            devices: Some(vec![self.device]),
            new,
            ..Default::default()
        };
        self.done(cl::CL_CREATE_CONTEXT, &args, &[]);
        new
    }

    /// A buffer that holds `first` from the beginning, if there is such.
    pub fn buffer(&mut self, flags: u64, first: Option<&[u8]>) -> Handle {
        let new = self.number();
        let args = cl::ClCreateBufferArgs {
            context: self.context,
            flags: 1 | flags,
            size: BYTES,
            host_ptr: first.map_or(InData::Null, |_| InData::Region(0)),
            new,
        };
        if let Some(first) = first {
            self.guest.write(DATA, first);
        }
        let regions = [(DATA, BYTES, IN)];
        let count = usize::from(first.is_some());
        self.done(cl::CL_CREATE_BUFFER, &args, &regions[..count]);
        new
    }

    /// A program whose source is so long that it goes by region.
    pub fn program(&mut self, source: &str) -> Handle {
        let new = self.number();
        let source = format!("{source}\n// {}", "long ".repeat(400));
        let data = pack([Some(source.as_bytes())]);
        self.guest.write(DATA, &data);
        let args = cl::ClCreateProgramWithSourceArgs {
            context: self.context,
            count: 1,
            strings: Packed {
                count: 1,
                data: InData::Region(0),
            },
            new,
        };
        let regions = [(DATA, data.len() as u64, IN)];
        self.done(cl::CL_CREATE_PROGRAM_WITH_SOURCE, &args, &regions);
        // The memory is the program's own again.
        self.guest.write(DATA, &vec![0xff; data.len()]);
        new
    }

    pub fn build(&mut self, program: Handle, options: &str) -> i32 {
        let args = cl::ClBuildProgramArgs {
            program,
            options: InData::Inline(options.as_bytes()),
            ..Default::default()
        };
        self.sync(cl::CL_BUILD_PROGRAM, &args, &[])
    }

    pub fn kernel(&mut self, program: Handle, name: &str) -> Handle {
        let new = self.number();
        let args = cl::ClCreateKernelArgs {
            program,
            kernel_name: InData::Inline(name.as_bytes()),
            new,
        };
        self.done(cl::CL_CREATE_KERNEL, &args, &[]);
        new
    }

    pub fn arg(
        &mut self,
        kernel: Handle,
        arg_index: u32,
        arg_size: u64,
        arg_value: KernelArgument<'_>,
    ) {
        let args = cl::ClSetKernelArgArgs {
            kernel,
            arg_index,
            arg_size,
            arg_value,
        };
        self.done(cl::CL_SET_KERNEL_ARG, &args, &[]);
    }

    /// The kernel with its arguments; the program is released.
    pub fn scale(&mut self, input: Handle, output: Handle, factor: i32) -> Handle {
        let program = self.program(SCALE);
        assert_ne!(self.build(program, ""), 0, "BIAS is not defined");
        assert_eq!(self.build(program, "-DBIAS=5"), 0);
        let kernel = self.kernel(program, "scale");
        self.post(
            cl::CL_RELEASE_PROGRAM,
            &cl::ClReleaseProgramArgs { program },
        );
        self.arg(kernel, 0, 8, KernelArgument::Handle(output));
        self.arg(kernel, 0, 8, KernelArgument::Handle(input));
        self.arg(kernel, 1, 8, KernelArgument::Handle(output));
        let factor = factor.to_ne_bytes();
        let factor = KernelArgument::Bytes(InData::Inline(&factor));
        self.arg(kernel, 2, 4, factor);
        self.arg(kernel, 3, 64, KernelArgument::Local);
        kernel
    }

    pub fn enqueue<A: Serialize>(
        &mut self,
        op: Op,
        args: &A,
        event: Handle,
        (waits, blocking): (&[Handle], bool),
        regions: &[(u64, u64, u32)],
    ) {
        let args = postcard::to_stdvec(args).unwrap();
        let envelope = Envelope {
            op,
            args: &args,
            queue: Some(Queue {
                id: self.queue.0,
                in_order: true,
                device: self.device.0,
            }),
            signals: Some(event.0),
            waits: waits.iter().map(|wait| wait.0).collect(),
            blocking,
            ..call(Class::Enqueue, 0)
        };
        let result = self.submit(envelope, regions);
        let (result, _) = postcard::take_from_bytes::<Result32>(&result).unwrap();
        assert_eq!(result.result, 0, "{op}");
    }

    pub fn event(&mut self) -> NewEvent {
        NewEvent {
            number: self.number(),
            kept: true,
        }
    }

    pub fn write(&mut self, buffer: Handle, data: &[u8]) -> Handle {
        self.guest.write(DATA, data);
        let event = self.event();
        let args = cl::ClEnqueueWriteBufferArgs {
            command_queue: self.queue,
            buffer,
            offset: 0,
            size: data.len() as u64,
            ptr: InData::Region(0),
            event_wait_list: vec![],
            event,
        };
        let regions = [(DATA, data.len() as u64, IN)];
        let op = cl::CL_ENQUEUE_WRITE_BUFFER;
        self.enqueue(op, &args, event.number, (&[], false), &regions);
        event.number
    }

    pub fn run(&mut self, kernel: Handle, waits: &[Handle]) -> Handle {
        let event = self.event();
        let args = cl::ClEnqueueNDRangeKernelArgs {
            command_queue: self.queue,
            kernel,
            work_dim: 1,
            global_work_size: Some(vec![COUNT as u64]),
            local_work_size: Some(vec![16]),
            event_wait_list: waits.to_vec(),
            event,
            ..Default::default()
        };
        let op = cl::CL_ENQUEUE_ND_RANGE_KERNEL;
        self.enqueue(op, &args, event.number, (waits, false), &[]);
        event.number
    }

    pub fn read(&mut self, buffer: Handle, waits: &[Handle]) -> Vec<i32> {
        let event = self.event();
        let args = cl::ClEnqueueReadBufferArgs {
            command_queue: self.queue,
            buffer,
            offset: 0,
            size: BYTES,
            ptr: OutRoom::Region(0),
            event_wait_list: waits.to_vec(),
            event,
        };
        let op = cl::CL_ENQUEUE_READ_BUFFER;
        let regions = [(DATA, BYTES, OUT)];
        self.enqueue(op, &args, event.number, (waits, true), &regions);
        self.guest.collect();
        ints(&self.guest.read(DATA, BYTES as usize))
    }

    /// How an event stands, from the timeline.
    pub fn state(&mut self, event: Handle) -> (State, Ending, u64) {
        let poll = Envelope {
            waits: vec![event.0].into(),
            ..call(Class::Poll, self.guest.now_ns)
        };
        let seen = self.guest.submit(&[poll], &[]);
        let observed = seen.answer().observed[0];
        (observed.state, observed.ending, observed.end_ns)
    }

    /// As a simulator does: passes time until all has ended, then saves.
    pub fn save(&mut self) -> std::result::Result<PathBuf, CheckpointError> {
        let end_ns = self.guest.host.settle(self.guest.now_ns);
        self.guest.now_ns = self.guest.now_ns.max(end_ns);
        assert_eq!(self.guest.host.settle(self.guest.now_ns), end_ns);
        let path = self.state_path();
        let saved = self.guest.host.checkpoint(&path, self.guest.now_ns);
        saved.map(|()| path)
    }

    /// The same guest in another simulator, on another session of the board.
    pub fn restored(self, config: &Config, path: &Path) -> Self {
        let log = Log::default();
        let host = Host::new(config, "test", Box::new(log.clone())).unwrap();
        let memory = Mapped::open(&self.guest.ram_path(), RAM_BASE, vec![]).unwrap();
        host.set_memory(Box::new(memory));
        drop(self.guest.host.finish());
        host.restore(path).unwrap();
        let mut guest = self.guest;
        guest.host = Arc::new(host);
        guest.log = log;
        Self { guest, ..self }
    }

    /// Where it is saved.
    pub fn state_path(&self) -> PathBuf {
        self.guest.folder.path().join("state")
    }
}

pub fn ints(bytes: &[u8]) -> Vec<i32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|word| i32::from_ne_bytes(*word)).collect()
}

pub fn bytes(ints: impl IntoIterator<Item = i32>) -> Vec<u8> {
    ints.into_iter().flat_map(i32::to_ne_bytes).collect()
}

impl Program {
    /// An image of [`PIXELS`] elements.
    pub fn image(&mut self, flat: bool, first: &[u8]) -> Handle {
        let new = self.number();
        let (width, height, depth) = if flat { (16, 16, 0) } else { (8, 8, 4) };
        let args = cl::ClCreateImageArgs {
            context: self.context,
            new,
            flags: 1 | COPY_HOST_PTR,
            channel_order: 0x10b5,                          // CL_RGBA
            channel_type: 0x10da,                           // CL_UNSIGNED_INT8
            image_type: if flat { 0x10f1 } else { 0x10f2 }, // 2D or 3D
            width,
            height,
            depth,
            host_ptr: InData::Inline(first),
            ..Default::default()
        };
        self.done(cl::CL_CREATE_IMAGE, &args, &[]);
        new
    }

    pub fn read_image(&mut self, image: Handle, flat: bool) -> Vec<u8> {
        let event = self.event();
        let args = cl::ClEnqueueReadImageArgs {
            command_queue: self.queue,
            image,
            origin: vec![0, 0, 0],
            region: if flat { vec![16, 16, 1] } else { vec![8, 8, 4] },
            memory: OutRoom::Region(0),
            event_wait_list: vec![],
            event,
        };
        let op = cl::CL_ENQUEUE_READ_IMAGE;
        let regions = [(DATA, 1024, OUT)];
        self.enqueue(op, &args, event.number, (&[], true), &regions);
        self.guest.collect();
        self.guest.read(DATA, 1024)
    }

    /// The second half of a buffer.
    pub fn half(&mut self, buffer: Handle) -> Handle {
        let new = self.number();
        let args = cl::ClCreateSubBufferArgs {
            buffer,
            flags: 1,
            buffer_create_type: 0x1220, // CL_BUFFER_CREATE_TYPE_REGION
            buffer_create_info: Some(cl::ClBufferRegion {
                origin: BYTES / 2,
                size: BYTES / 2,
            }),
            new,
        };
        self.done(cl::CL_CREATE_SUB_BUFFER, &args, &[]);
        new
    }

    /// All kernels of a program, which the board numbers.
    pub fn kernels(&mut self, program: Handle) -> Vec<Handle> {
        let args = cl::ClCreateKernelsInProgramArgs {
            program,
            num_kernels: 4,
            kernels: true,
            num_kernels_ret: true,
        };
        let args = postcard::to_stdvec(&args).unwrap();
        let op = cl::CL_CREATE_KERNELS_IN_PROGRAM;
        let sync = call(Class::Sync, 0);
        let envelope = Envelope {
            op,
            args: &args,
            ..sync
        };
        let reply = self.submit(envelope, &[]);
        let reply: cl::ClCreateKernelsInProgramReply = postcard::from_bytes(&reply).unwrap();
        assert_eq!(reply.result, 0);
        reply.kernels
    }

    /// One that clamps to the edge, without filter or normalised coordinates.
    pub fn sampler(&mut self) -> Handle {
        let new = self.number();
        let args = cl::ClCreateSamplerArgs {
            context: self.context,
            normalized_coords: 0,
            addressing_mode: 0x1131, // CL_ADDRESS_CLAMP_TO_EDGE
            filter_mode: 0x1140,     // CL_FILTER_NEAREST
            new,
        };
        self.done(cl::CL_CREATE_SAMPLER, &args, &[]);
        new
    }

    /// The first device's binary of a program that is built.
    pub fn binary(&mut self, program: Handle) -> Vec<u8> {
        let room = 256 << 10;
        let args = cl::GilGetProgramBinaryArgs {
            program,
            index: 0,
            binary: OutRoom::Region(0),
        };
        let args = postcard::to_stdvec(&args).unwrap();
        let envelope = Envelope {
            op: cl::GIL_GET_PROGRAM_BINARY,
            args: &args,
            ..call(Class::Query, 0)
        };
        let reply = self.submit(envelope, &[(DATA, room, OUT)]);
        let reply: cl::GilGetProgramBinaryReply<'_> = postcard::from_bytes(&reply).unwrap();
        assert_eq!(reply.result, 0);
        assert!(matches!(reply.binary, OutData::Region), "{reply:?}");
        self.guest.read(DATA, reply.size as usize)
    }

    /// A program of one device's binary, built.
    pub fn of_binary(&mut self, binary: &[u8]) -> Handle {
        let new = self.number();
        let data = pack([Some(binary)]);
        self.guest.write(DATA, &data);
        let args = cl::ClCreateProgramWithBinaryArgs {
            context: self.context,
            num_devices: 1,
            device_list: Some(vec![self.device]),
            binaries: Packed {
                count: 1,
                data: InData::Region(0),
            },
            binary_status: true,
            new,
        };
        let regions = [(DATA, data.len() as u64, IN)];
        self.done(cl::CL_CREATE_PROGRAM_WITH_BINARY, &args, &regions);
        self.guest.write(DATA, &vec![0xff; data.len()]);
        assert_eq!(self.build(new, ""), 0);
        new
    }
}
