//! A guest program as the board sees it: OpenCL calls, encoded as the guest's
//! library encodes them.

use super::{Client, Done};
use gil_wire::Op;
use gil_wire::address::Address;
use gil_wire::call::{Handle, InData, NewEvent, OutRoom, Packed, pack};
use gil_wire::ending::Ending;
use gil_wire::generated::opencl::{self as wire, KernelArgument};
use gil_wire::message::{CallStatus, Direction, RegionDesc};
use serde::{Deserialize, Serialize};

pub const SUCCESS: i32 = 0;
pub const OUT_OF_ORDER: u64 = 1;
pub const SCALE: &str = "
    kernel void scale(global int *data, int factor, local int *scratch) {
        data[get_global_id(0)] *= factor;
    }";

pub struct Program {
    pub client: Client,
    next: u64,
    pub platform: Handle,
    pub device: Handle,
    pub context: Handle,
}

/// How an enqueue was answered.
pub struct Enqueue {
    pub result: i32,
    pub event: Handle,
    pub done: Done,
}

impl Enqueue {
    /// Asserts that the operation ended with the call; returns its duration.
    pub fn ended(&self) -> u64 {
        assert_eq!(self.result, SUCCESS);
        let [(report, out)] = &self.done.reports[..] else {
            panic!("{:?}", self.done);
        };
        assert_eq!((report.event, report.ending), (self.event.0, Ending::Done));
        assert!(out.is_empty(), "its own output comes with the answer");
        report.duration_ns
    }

    /// Asserts that it is blocked.
    pub fn blocked(&self) {
        assert_eq!(self.result, SUCCESS);
        assert!(self.done.reports.is_empty(), "{:?}", self.done);
        assert!(self.done.out.iter().all(Vec::is_empty));
    }
}

pub fn out(len: usize) -> RegionDesc {
    RegionDesc {
        len: len as u64,
        dir: Direction::Out,
    }
}

pub fn input(len: usize) -> RegionDesc {
    RegionDesc {
        len: len as u64,
        dir: Direction::In,
    }
}

pub fn ints(bytes: &[u8]) -> Vec<i32> {
    let chunks = bytes.chunks_exact(4);
    chunks
        .map(|c| i32::from_ne_bytes(c.try_into().unwrap()))
        .collect()
}

pub fn bytes(ints: &[i32]) -> Vec<u8> {
    ints.iter().flat_map(|i| i.to_ne_bytes()).collect()
}

impl Program {
    /// A session with the first device and a context.
    pub fn start(address: &Address) -> Self {
        Self::with(Client::connect(address))
    }

    /// The same, on a connection without a session.
    pub fn with(mut client: Client) -> Self {
        client.send_open();
        client.expect_opened();
        let mut program = Self {
            client,
            next: 0,
            platform: Handle::NULL,
            device: Handle::NULL,
            context: Handle::NULL,
        };
        program.platform = program.platforms()[0];
        program.device = program.devices(program.platform)[0];
        program.context = program.new_context();
        program
    }

    pub fn number(&mut self) -> Handle {
        self.next += 1;
        Handle(self.next)
    }

    pub fn event(&mut self) -> NewEvent {
        let number = self.number();
        self.client.event = Some(number.0);
        NewEvent { number, kept: true }
    }

    pub fn raw<A: Serialize>(
        &mut self,
        op: Op,
        args: &A,
        regions: &[RegionDesc],
        payload: &[&[u8]],
    ) -> Done {
        let args = postcard::to_stdvec(args).unwrap();
        self.client.call(op, &args, regions, payload)
    }

    /// A call that must run; returns its reply, decoded.
    pub fn call<A: Serialize, R: for<'a> Deserialize<'a>>(&mut self, op: Op, args: &A) -> R {
        let done = self.raw(op, args, &[], &[]);
        reply(&done)
    }

    pub fn platforms(&mut self) -> Vec<Handle> {
        let args = wire::ClGetPlatformIDsArgs {
            num_entries: 8,
            platforms: true,
            num_platforms: true,
        };
        let reply: wire::ClGetPlatformIDsReply = self.call(wire::CL_GET_PLATFORM_IDS, &args);
        assert_eq!(reply.result, SUCCESS);
        assert_eq!(reply.platforms.len(), reply.num_platforms as usize);
        reply.platforms
    }

    pub fn devices(&mut self, platform: Handle) -> Vec<Handle> {
        let args = wire::ClGetDeviceIDsArgs {
            platform,
            device_type: 0xffff_ffff,
            num_entries: 8,
            devices: true,
            num_devices: true,
        };
        let reply: wire::ClGetDeviceIDsReply = self.call(wire::CL_GET_DEVICE_IDS, &args);
        assert_eq!(reply.result, SUCCESS);
        reply.devices
    }

    pub fn device_info(&mut self, name: u32, room: OutRoom) -> Done {
        let args = wire::ClGetDeviceInfoArgs {
            device: self.device,
            param_name: name,
            param_value: room,
        };
        self.raw(wire::CL_GET_DEVICE_INFO, &args, &[], &[])
    }

    pub fn new_context(&mut self) -> Handle {
        let new = self.number();
        let args = wire::ClCreateContextArgs {
            num_devices: 1,
            devices: Some(vec![self.device]),
            new,
            ..Default::default()
        };
        let reply: wire::ClCreateContextReply = self.call(wire::CL_CREATE_CONTEXT, &args);
        assert_eq!(reply.result, SUCCESS);
        new
    }

    pub fn queue(&mut self, properties: u64) -> Handle {
        let new = self.number();
        let args = wire::ClCreateCommandQueueArgs {
            context: self.context,
            device: self.device,
            properties,
            new,
        };
        let reply: wire::ClCreateCommandQueueReply =
            self.call(wire::CL_CREATE_COMMAND_QUEUE, &args);
        assert_eq!(reply.result, SUCCESS);
        new
    }

    pub fn buffer(&mut self, size: usize) -> Handle {
        let new = self.number();
        let args = wire::ClCreateBufferArgs {
            context: self.context,
            flags: 1,
            size: size as u64,
            host_ptr: InData::Null,
            new,
        };
        let reply: wire::ClCreateBufferReply = self.call(wire::CL_CREATE_BUFFER, &args);
        assert_eq!(reply.result, SUCCESS);
        new
    }

    pub fn program(&mut self, source: &str) -> Handle {
        let new = self.number();
        let data = pack([Some(source.as_bytes())]);
        let args = wire::ClCreateProgramWithSourceArgs {
            context: self.context,
            strings: Packed {
                count: 1,
                data: InData::Inline(&data),
            },
            new,
            count: 1,
        };
        let reply: wire::ClCreateProgramWithSourceReply =
            self.call(wire::CL_CREATE_PROGRAM_WITH_SOURCE, &args);
        assert_eq!(reply.result, SUCCESS);
        new
    }

    pub fn build(&mut self, program: Handle, options: &str) -> i32 {
        let args = wire::ClBuildProgramArgs {
            program,
            options: InData::Inline(options.as_bytes()),
            ..Default::default()
        };
        let reply: wire::ClBuildProgramReply = self.call(wire::CL_BUILD_PROGRAM, &args);
        reply.result
    }

    pub fn kernel(&mut self, program: Handle, name: &str) -> Handle {
        let new = self.number();
        let args = wire::ClCreateKernelArgs {
            program,
            kernel_name: InData::Inline(name.as_bytes()),
            new,
        };
        let reply: wire::ClCreateKernelReply = self.call(wire::CL_CREATE_KERNEL, &args);
        assert_eq!(reply.result, SUCCESS);
        new
    }

    pub fn arg(&mut self, kernel: Handle, index: u32, size: u64, value: KernelArgument<'_>) -> i32 {
        let args = wire::ClSetKernelArgArgs {
            kernel,
            arg_index: index,
            arg_size: size,
            arg_value: value,
        };
        let reply: wire::ClSetKernelArgReply = self.call(wire::CL_SET_KERNEL_ARG, &args);
        reply.result
    }

    /// The kernel `scale` with its arguments set.
    pub fn scale(&mut self, buffer: Handle, factor: i32) -> Handle {
        let program = self.program(SCALE);
        assert_eq!(self.build(program, ""), SUCCESS);
        let kernel = self.kernel(program, "scale");
        let factor = factor.to_ne_bytes();
        let factor = KernelArgument::Bytes(InData::Inline(&factor));
        assert_eq!(
            self.arg(kernel, 0, 8, KernelArgument::Handle(buffer)),
            SUCCESS
        );
        assert_eq!(self.arg(kernel, 1, 4, factor), SUCCESS);
        assert_eq!(self.arg(kernel, 2, 64, KernelArgument::Local), SUCCESS);
        kernel
    }

    pub fn write(
        &mut self,
        queue: Handle,
        buffer: Handle,
        data: &[u8],
        waits: &[Handle],
    ) -> Enqueue {
        let event = self.event();
        let args = wire::ClEnqueueWriteBufferArgs {
            command_queue: queue,
            buffer,
            offset: 0,
            size: data.len() as u64,
            ptr: InData::Region(0),
            event_wait_list: waits.to_vec(),
            event,
        };
        let op = wire::CL_ENQUEUE_WRITE_BUFFER;
        let done = self.raw(op, &args, &[input(data.len())], &[data]);
        let decoded: wire::ClEnqueueWriteBufferReply = reply(&done);
        Enqueue {
            result: decoded.result,
            event: event.number,
            done,
        }
    }

    pub fn read(&mut self, queue: Handle, buffer: Handle, len: usize, waits: &[Handle]) -> Enqueue {
        let event = self.event();
        let args = wire::ClEnqueueReadBufferArgs {
            command_queue: queue,
            buffer,
            offset: 0,
            size: len as u64,
            ptr: OutRoom::Region(0),
            event_wait_list: waits.to_vec(),
            event,
        };
        let done = self.raw(wire::CL_ENQUEUE_READ_BUFFER, &args, &[out(len)], &[]);
        let decoded: wire::ClEnqueueReadBufferReply = reply(&done);
        Enqueue {
            result: decoded.result,
            event: event.number,
            done,
        }
    }

    pub fn run(&mut self, queue: Handle, kernel: Handle, size: usize, waits: &[Handle]) -> Enqueue {
        let event = self.event();
        let args = wire::ClEnqueueNDRangeKernelArgs {
            command_queue: queue,
            kernel,
            work_dim: 1,
            global_work_size: Some(vec![size as u64]),
            event_wait_list: waits.to_vec(),
            event,
            ..Default::default()
        };
        let done = self.raw(wire::CL_ENQUEUE_ND_RANGE_KERNEL, &args, &[], &[]);
        let decoded: wire::ClEnqueueNDRangeKernelReply = reply(&done);
        Enqueue {
            result: decoded.result,
            event: event.number,
            done,
        }
    }

    pub fn user_event(&mut self) -> Handle {
        let new = self.number();
        let args = wire::ClCreateUserEventArgs {
            context: self.context,
            new,
        };
        let reply: wire::ClCreateUserEventReply = self.call(wire::CL_CREATE_USER_EVENT, &args);
        assert_eq!(reply.result, SUCCESS);
        new
    }

    pub fn set(&mut self, event: Handle, status: i32) -> Done {
        let args = wire::ClSetUserEventStatusArgs {
            event,
            execution_status: status,
        };
        self.client.event = Some(event.0);
        let done = self.raw(wire::CL_SET_USER_EVENT_STATUS, &args, &[], &[]);
        let decoded: wire::ClSetUserEventStatusReply = reply(&done);
        assert_eq!(decoded.result, SUCCESS);
        done
    }
}

/// The reply of a call that ran.
pub fn reply<'a, R: Deserialize<'a>>(done: &'a Done) -> R {
    let said = String::from_utf8_lossy(&done.result);
    assert_eq!(done.status, CallStatus::Ran, "{said}");
    postcard::from_bytes(&done.result).unwrap()
}
