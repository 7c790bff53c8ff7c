//! The calls that are written by hand.

use super::copies::{at, on_memory};
use super::generated::manual::Manual;
use super::generated::types::*;
use super::launches::Geometry;
use super::linker;
use super::logs::Logs;
use super::memory::Owner;
use super::occupancy;
use super::session::{Context, Data, Function, Session};
use super::shared;
use super::support::Board;
use crate::back_end::{Call, Current, Enqueues, Objects, References, Refusal};
use gil_cuda_common::image;
use gil_cuda_common::ptx::Param;
use gil_cuda_common::room::Room;
use gil_wire::call::{Handle, InData, NewEvent};
use gil_wire::ending::Ending;
use gil_wire::generated::cuda::{self as wire, Kind};
use std::ffi::c_int;
use std::ptr::null_mut;

/// Most parameters of a kernel.
const PARAMS_MAX: usize = 4096;

/// The result of a function, or that the driver lacks it.
pub(super) fn call_if<F>(
    call: &mut Call,
    function: Option<F>,
    run: impl FnOnce(F) -> CUresult,
) -> CUresult {
    match function {
        Some(function) => call.timed(|| run(function)),
        None => CUDA_ERROR_NOT_SUPPORTED,
    }
}

impl Session {
    /// The driver made a context.
    fn has_context(
        &mut self,
        new: Handle,
        context: CUcontext,
        primary: Option<CUdevice>,
    ) -> Result<(), Refusal> {
        let data = Data::Context(Context {
            primary,
            events: Default::default(),
            pinned: Default::default(),
        });
        self.bind_with(Kind::Context, new, context, data)
    }

    /// Loads a module from bytes that are a whole image.
    fn load(
        &mut self,
        call: &mut Call,
        (current, new): (Handle, Handle),
        data: &InData<'_>,
        (options, logs): (&[u64], &[u64]),
    ) -> Result<(CUresult, Vec<u64>), Refusal> {
        let refused = |error| Ok((error, Vec::new()));
        self.can_bind(new)?;
        self.make_current(current)?;
        let bytes = call.bytes(data)?.unwrap_or_default();
        if !image::is_whole(bytes) {
            return refused(CUDA_ERROR_INVALID_IMAGE);
        }
        let len = bytes.len();
        let place = call.input(data, len)?;
        let (mut names, mut values) = match linker::numbers(options) {
            Ok(options) => options,
            Err(error) => return refused(error),
        };
        let mut logs = match Logs::new(logs) {
            Ok(logs) => logs,
            Err(error) => return refused(error),
        };
        for (name, value) in logs.as_mut().map(Logs::options).into_iter().flatten() {
            names.push(name.cast_signed());
            values.push(value);
        }
        let mut module: CUmodule = null_mut();
        let load = self.functions().cuModuleLoadDataEx;
        let result = call_if(call, load, |load| {
            let count = names.len() as u32;
            // SAFETY: the image is whole, the lists have as many entries, and the buffers that they
            // name are there until this returns.
            unsafe {
                load(
                    &mut module,
                    place,
                    count,
                    names.as_mut_ptr(),
                    values.as_mut_ptr(),
                )
            }
        });
        if result == CUDA_SUCCESS {
            let image = call.bytes(data)?.unwrap_or_default();
            self.has_loaded(image);
            self.bind_with(Kind::Module, new, module, Data::Of(current))?;
        }
        let told = logs.map(|logs| logs.told(&names, &values).words());
        Ok((result, told.unwrap_or_default()))
    }

    /// A kernel's parameters, as the driver has them.
    fn params_of(&self, function: CUfunction) -> Result<Vec<Param>, CUresult> {
        let mut all = Vec::new();
        loop {
            let (mut offset, mut size) = (0, 0);
            let ask = self.driver().own.cuFuncGetParamInfo;
            // SAFETY: the function is alive; there is space for two numbers.
            match unsafe { ask(function, all.len(), &mut offset, &mut size) } {
                // The driver reads a value for each of them.
                CUDA_SUCCESS if all.len() == PARAMS_MAX => return Err(CUDA_ERROR_NOT_SUPPORTED),
                CUDA_SUCCESS => all.push(Param { offset, size }),
                // There are no more.
                CUDA_ERROR_INVALID_VALUE => return Ok(all),
                error => return Err(error),
            }
        }
    }

    /// An operation that is not begun.
    pub(super) fn refuse(&mut self, call: &mut Call, error: CUresult) -> CUresult {
        call.set_enqueued();
        call.reject(error);
        error
    }

    /// Makes a stream by a function that writes its handle; with the priority that the driver took.
    pub(super) fn make_stream(
        &mut self,
        call: &mut Call,
        (current, new): (Handle, Handle),
        make: Option<impl FnOnce(*mut CUstream) -> CUresult>,
        priority: i32,
    ) -> Result<(CUresult, i32), Refusal> {
        self.can_bind(new)?;
        self.make_current(current)?;
        let mut stream: CUstream = null_mut();
        let result = call_if(call, make, |make| make(&mut stream));
        if result != CUDA_SUCCESS {
            return Ok((result, 0));
        }
        self.bind_with(Kind::Stream, new, stream, Data::Of(current))?;
        let mut taken = priority;
        // SAFETY: the stream is alive; there is space for a number.
        unsafe { (self.driver().own.cuStreamGetPriority)(stream, &mut taken) };
        Ok((result, taken))
    }
}

impl Manual for Board {
    /// The driver is started where it is loaded.
    fn cu_init(
        _: &mut Session,
        _: &mut Call,
        _: wire::CuInitArgs,
    ) -> Result<wire::CuInitReply, Refusal> {
        Ok(wire::CuInitReply {
            result: CUDA_SUCCESS,
        })
    }

    fn cu_driver_get_version(
        session: &mut Session,
        call: &mut Call,
        _: wire::CuDriverGetVersionArgs,
    ) -> Result<wire::CuDriverGetVersionReply, Refusal> {
        let mut version: c_int = 0;
        let ask = session.functions().cuDriverGetVersion;
        // SAFETY: there is space for a number.
        let result = call_if(call, ask, |ask| unsafe { ask(&mut version) });
        Ok(wire::CuDriverGetVersionReply { result, version })
    }

    fn cu_ctx_create_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuCtxCreateV2Args,
    ) -> Result<wire::CuCtxCreateV2Reply, Refusal> {
        session.can_bind(args.new)?;
        let mut context: CUcontext = null_mut();
        let make = session.functions().cuCtxCreate_v2;
        let result = call_if(call, make, |make| {
            // SAFETY: there is space for a handle.
            unsafe { make(&mut context, args.flags, args.dev) }
        });
        if result == CUDA_SUCCESS {
            session.has_context(args.new, context, None)?;
            // The driver has made it current.
            session.driver().set_current(null_mut());
            session.is_current_no_more();
        }
        Ok(wire::CuCtxCreateV2Reply { result })
    }

    fn cu_ctx_destroy_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuCtxDestroyV2Args,
    ) -> Result<wire::CuCtxDestroyV2Reply, Refusal> {
        let result = session.destroy(call, args.ctx)?;
        Ok(wire::CuCtxDestroyV2Reply { result })
    }

    fn cu_device_primary_ctx_retain(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuDevicePrimaryCtxRetainArgs,
    ) -> Result<wire::CuDevicePrimaryCtxRetainReply, Refusal> {
        session.can_bind(args.new)?;
        let mut context: CUcontext = null_mut();
        let retain = session.functions().cuDevicePrimaryCtxRetain;
        let result = call_if(call, retain, |retain| {
            // SAFETY: there is space for a handle.
            unsafe { retain(&mut context, args.dev) }
        });
        if result == CUDA_SUCCESS {
            session.has_context(args.new, context, Some(args.dev))?;
        }
        Ok(wire::CuDevicePrimaryCtxRetainReply { result, flags: 0 })
    }

    fn cu_module_load_data(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuModuleLoadDataArgs<'_>,
    ) -> Result<wire::CuModuleLoadDataReply, Refusal> {
        let of = (args.current, args.new);
        let options = (&*args.options, &*args.logs);
        let (result, logs) = session.load(call, of, &args.image, options)?;
        Ok(wire::CuModuleLoadDataReply { result, logs })
    }

    fn cu_module_load_data_ex(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuModuleLoadDataExArgs<'_>,
    ) -> Result<wire::CuModuleLoadDataExReply, Refusal> {
        let of = (args.current, args.new);
        let options = (&*args.options, &*args.logs);
        let (result, logs) = session.load(call, of, &args.image, options)?;
        Ok(wire::CuModuleLoadDataExReply { result, logs })
    }

    fn cu_module_load_fat_binary(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuModuleLoadFatBinaryArgs<'_>,
    ) -> Result<wire::CuModuleLoadFatBinaryReply, Refusal> {
        let of = (args.current, args.new);
        let options = (&*args.options, &*args.logs);
        let (result, logs) = session.load(call, of, &args.image, options)?;
        Ok(wire::CuModuleLoadFatBinaryReply { result, logs })
    }

    fn cu_module_load(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuModuleLoadArgs<'_>,
    ) -> Result<wire::CuModuleLoadReply, Refusal> {
        let of = (args.current, args.new);
        let options = (&*args.options, &*args.logs);
        let (result, logs) = session.load(call, of, &args.image, options)?;
        Ok(wire::CuModuleLoadReply { result, logs })
    }

    fn gil_linked(
        session: &mut Session,
        call: &mut Call,
        args: wire::GilLinkedArgs,
    ) -> Result<Vec<u8>, Refusal> {
        session.linked(call, args)
    }

    fn cu_module_unload(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuModuleUnloadArgs,
    ) -> Result<wire::CuModuleUnloadReply, Refusal> {
        let context = session.owner(Kind::Module, args.hmod)?;
        session.make_current(context)?;
        let module = session.drop_object(Kind::Module, args.hmod)?;
        session.forget_module(args.hmod);
        let unload = session.functions().cuModuleUnload;
        let result = call_if(call, unload, |unload| {
            // SAFETY: it is alive, and nothing names it any more.
            unsafe { unload(module.as_ptr().cast()) }
        });
        Ok(wire::CuModuleUnloadReply { result })
    }

    fn cu_module_get_function(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuModuleGetFunctionArgs<'_>,
    ) -> Result<wire::CuModuleGetFunctionReply, Refusal> {
        let reply = |result, params, room| {
            Ok(wire::CuModuleGetFunctionReply {
                result,
                params,
                room,
            })
        };
        session.can_bind(args.new)?;
        let context = session.owner(Kind::Module, args.hmod)?;
        session.make_current(context)?;
        let module: CUmodule = session.get(Kind::Module, args.hmod)?;
        let name = call.string(&args.name)?.unwrap_or_default();
        let mut function: CUfunction = null_mut();
        let get = session.functions().cuModuleGetFunction;
        let result = call_if(call, get, |get| {
            // SAFETY: the module is alive, the name ends with a 0.
            unsafe { get(&mut function, module, name.as_ptr()) }
        });
        if result != CUDA_SUCCESS {
            return reply(result, Vec::new(), Vec::new());
        }
        let params = match session.params_of(function) {
            Ok(params) => params,
            Err(error) => return reply(error, Vec::new(), Vec::new()),
        };
        let words = params.iter().flat_map(|param| [param.offset, param.size]);
        let words = words.map(|word| word as u64).collect();
        let room = occupancy::room(session.driver(), function);
        let data = Data::Function(Function {
            module: args.hmod,
            context,
            params,
            room: Room::new(&room),
        });
        session.bind_with(Kind::Function, args.new, function, data)?;
        reply(CUDA_SUCCESS, words, room)
    }

    fn cu_module_get_global_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuModuleGetGlobalV2Args<'_>,
    ) -> Result<wire::CuModuleGetGlobalV2Reply, Refusal> {
        let context = session.owner(Kind::Module, args.hmod)?;
        session.make_current(context)?;
        let module: CUmodule = session.get(Kind::Module, args.hmod)?;
        let name = call.string(&args.name)?.unwrap_or_default();
        let (mut address, mut bytes) = (0, 0);
        let get = session.functions().cuModuleGetGlobal_v2;
        let result = call_if(call, get, |get| {
            // SAFETY: the module is alive, the name ends with a 0.
            unsafe { get(&mut address, &mut bytes, module, name.as_ptr()) }
        });
        let bytes = bytes as u64;
        if result == CUDA_SUCCESS && session.ranges.has_room() {
            let owner = Owner::Module {
                module: args.hmod,
                context,
            };
            session.ranges.add(address, bytes, owner);
        }
        Ok(wire::CuModuleGetGlobalV2Reply {
            result,
            address,
            bytes,
        })
    }

    fn cu_launch_kernel(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuLaunchKernelArgs<'_>,
    ) -> Result<wire::CuLaunchKernelReply, Refusal> {
        let at = at(args.current, args.hStream, args.event);
        let geometry = Geometry::of(
            [args.grid_x, args.grid_y, args.grid_z],
            [args.block_x, args.block_y, args.block_z],
            args.shared,
        );
        let result = session.launch(call, at, (args.f, &args.params), &geometry)?;
        Ok(wire::CuLaunchKernelReply { result })
    }

    /// The host signals the event; nothing here waits for it.
    fn gil_returned(
        session: &mut Session,
        call: &mut Call,
        args: wire::GilReturnedArgs,
    ) -> Result<wire::GilReturnedReply, Refusal> {
        let event = NewEvent {
            number: args.event,
            kept: false,
        };
        session.can_signal(call, event)?;
        call.report_own(Ending::Done);
        Ok(wire::GilReturnedReply {
            result: CUDA_SUCCESS,
        })
    }

    fn gil_share_memory(
        session: &mut Session,
        call: &mut Call,
        args: wire::GilShareMemoryArgs,
    ) -> Result<wire::GilShareMemoryReply, Refusal> {
        let (result, address) = session.share(call, args.current, args.bytes)?;
        Ok(wire::GilShareMemoryReply { result, address })
    }

    fn gil_share_free(
        session: &mut Session,
        call: &mut Call,
        args: wire::GilShareFreeArgs,
    ) -> Result<wire::GilShareFreeReply, Refusal> {
        let result = session.unshare(call, (args.current, args.address))?;
        Ok(wire::GilShareFreeReply { result })
    }

    on_memory! {
        gil_share_up, wire::GilShareUpArgs<'_>, GilShareUpReply, |session, call, at, a|
            session.share_up(call, at, (shared::part(a.address, a.offset, a.bytes)?, &a.data));
        gil_share_down, wire::GilShareDownArgs, GilShareDownReply, |session, call, at, a|
            session.share_down(call, at, (shared::part(a.address, a.offset, a.bytes)?, a.data));
        cu_event_record, wire::CuEventRecordArgs, CuEventRecordReply, |session, call, at, _a|
            session.put(call, at, None);
        gil_mark, wire::GilMarkArgs, GilMarkReply, |session, call, at, _a|
            session.put(call, at, None);
        cu_stream_wait_event, wire::CuStreamWaitEventArgs, CuStreamWaitEventReply, |session, call, at, a|
            session.wait_on(call, at, a.wait);
    }

    fn cu_stream_create(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuStreamCreateArgs,
    ) -> Result<wire::CuStreamCreateReply, Refusal> {
        let of = (args.current, args.new);
        let (flags, priority) = (args.flags, args.priority);
        let make = session.functions().cuStreamCreateWithPriority;
        // SAFETY: there is space for a handle.
        let make = make.map(|make| move |place| unsafe { make(place, flags, priority) });
        let (result, priority) = session.make_stream(call, of, make, priority)?;
        Ok(wire::CuStreamCreateReply { result, priority })
    }

    fn cu_stream_create_with_priority(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuStreamCreateWithPriorityArgs,
    ) -> Result<wire::CuStreamCreateWithPriorityReply, Refusal> {
        let of = (args.current, args.new);
        let (flags, priority) = (args.flags, args.priority);
        let make = session.functions().cuStreamCreateWithPriority;
        // SAFETY: there is space for a handle.
        let make = make.map(|make| move |place| unsafe { make(place, flags, priority) });
        let (result, priority) = session.make_stream(call, of, make, priority)?;
        Ok(wire::CuStreamCreateWithPriorityReply { result, priority })
    }

    fn cu_stream_destroy_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuStreamDestroyV2Args,
    ) -> Result<wire::CuStreamDestroyV2Reply, Refusal> {
        let context = session.owner(Kind::Stream, args.hStream)?;
        session.make_current(context)?;
        let stream = session.drop_object(Kind::Stream, args.hStream)?;
        session.operations.forget_queue(args.hStream);
        session.greens.forget_stream(args.hStream);
        let driver = session.driver();
        call.timed(|| driver.release(Kind::Stream, stream));
        Ok(wire::CuStreamDestroyV2Reply {
            result: CUDA_SUCCESS,
        })
    }

    /// The host has heard of it.
    fn gil_retire(_: &mut Session, _: &mut Call, _: wire::GilRetireArgs) -> Result<(), Refusal> {
        Ok(())
    }
}
