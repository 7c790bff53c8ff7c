//! The calls that are written by hand.

use super::generated::Functions;
use super::generated::manual::Manual;
use super::generated::types::*;
use super::launches::Geometry;
use super::linker;
use super::logs::Logs;
use super::memory::Owner;
use super::occupancy;
use super::operations::Needs;
use super::pinned::Staged;
use super::rectangles::{self, Ask, Filled};
use super::session::{At, Context, Data, Function, Session, Way};
use super::support::Board;
use crate::back_end::{self, Call, Current, Enqueues, Objects, References, Refusal};
use gil_cuda_common::image;
use gil_cuda_common::ptx::Param;
use gil_cuda_common::room::Room;
use gil_wire::call::{Handle, InData, NewEvent, OutRoom};
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

    /// Puts a copy or another operation on memory on its stream, if that is the session's.
    pub(super) fn on_memory(
        &mut self,
        call: &mut Call,
        at: At,
        ranges: &[(u64, u64)],
        work: &dyn Fn(&Functions, CUstream) -> CUresult,
    ) -> Result<CUresult, Refusal> {
        if !ranges
            .iter()
            .all(|(from, len)| self.ranges.has(*from, *len))
        {
            return Ok(self.refuse(call, CUDA_ERROR_INVALID_VALUE));
        }
        self.put(call, at, Some(work))
    }

    fn up(
        &mut self,
        call: &mut Call,
        at: At,
        to: u64,
        (data, bytes, is_pinned): (&InData<'_>, u64, bool),
    ) -> Result<CUresult, Refusal> {
        let len = back_end::size(bytes, "bytes")?;
        let is_ours = self.ranges.has(to, bytes);
        let region = match *data {
            InData::Region(region) => Some(region),
            _ => None,
        };
        let way = self.way(call, at.context, region, is_pinned && is_ours)?;
        let mut from = call.keep_input(data, len)?;
        if from.is_null() && len > 0 {
            return Ok(self.refuse(call, CUDA_ERROR_INVALID_VALUE));
        }
        if way == Way::ByBlock
            && let Some(block) = self.pinned(at.context, len)?
        {
            // SAFETY: the input has as many bytes.
            unsafe { block.fill(from, len) };
            from = block.address();
            self.staged = Some(Staged::up(block));
        }
        if way != Way::Plain {
            self.copy_needs = Needs::Up;
        }
        let put = self.on_memory(call, at, &[(to, bytes)], &|functions, stream| {
            let copy = functions.cuMemcpyHtoDAsync_v2;
            // SAFETY: both have as many bytes, until the operation ends.
            copy.map_or(CUDA_ERROR_NOT_SUPPORTED, |copy| unsafe {
                copy(to, from, len, stream)
            })
        });
        self.unstage(at.context);
        put
    }

    fn down(
        &mut self,
        call: &mut Call,
        at: At,
        from: u64,
        (data, bytes, is_pinned): (OutRoom, u64, bool),
    ) -> Result<CUresult, Refusal> {
        let len = back_end::size(bytes, "bytes")?;
        let region = match data {
            OutRoom::Region(region) => Some(region),
            _ => None,
        };
        let is_ours = self.ranges.has(from, bytes);
        let way = self.way(call, at.context, region, is_pinned && is_ours)?;
        let mut room = call.output(data, len)?;
        let mut to = room.as_mut_ptr();
        if to.is_null() && len > 0 {
            return Ok(self.refuse(call, CUDA_ERROR_INVALID_VALUE));
        }
        if way == Way::ByBlock
            && let Some(block) = self.pinned(at.context, len)?
        {
            let place = std::mem::replace(&mut to, block.address());
            self.staged = Some(Staged::down(block, place, len));
        }
        if way != Way::Plain {
            self.copy_needs = Needs::Down;
        }
        let put = self.on_memory(call, at, &[(from, bytes)], &|functions, stream| {
            let copy = functions.cuMemcpyDtoHAsync_v2;
            // SAFETY: both have as many bytes, until the operation ends.
            copy.map_or(CUDA_ERROR_NOT_SUPPORTED, |copy| unsafe {
                copy(to, from, len, stream)
            })
        });
        self.unstage(at.context);
        put
    }

    fn across(
        &mut self,
        call: &mut Call,
        at: At,
        (to, from): (u64, u64),
        bytes: u64,
    ) -> Result<CUresult, Refusal> {
        let len = back_end::size(bytes, "bytes")?;
        let ranges = [(to, bytes), (from, bytes)];
        self.on_memory(call, at, &ranges, &|functions, stream| {
            let copy = functions.cuMemcpyDtoDAsync_v2;
            // SAFETY: both are the session's memory, of as many bytes.
            copy.map_or(CUDA_ERROR_NOT_SUPPORTED, |copy| unsafe {
                copy(to, from, len, stream)
            })
        })
    }

    fn set(
        &mut self,
        call: &mut Call,
        at: At,
        (to, value, count): (u64, u32, u64),
        element: u64,
    ) -> Result<CUresult, Refusal> {
        let bytes = count.checked_mul(element).ok_or(Refusal::wide("count"))?;
        let len = back_end::size(count, "count")?;
        self.on_memory(call, at, &[(to, bytes)], &|functions, stream| {
            let Functions {
                cuMemsetD8Async,
                cuMemsetD16Async,
                cuMemsetD32Async,
                ..
            } = *functions;
            // SAFETY: it is the session's memory, of as many elements.
            let result = unsafe {
                match element {
                    1 => cuMemsetD8Async.map(|set| set(to, value as u8, len, stream)),
                    2 => cuMemsetD16Async.map(|set| set(to, value as u16, len, stream)),
                    _ => cuMemsetD32Async.map(|set| set(to, value, len, stream)),
                }
            };
            result.unwrap_or(CUDA_ERROR_NOT_SUPPORTED)
        })
    }

    fn make_stream(
        &mut self,
        call: &mut Call,
        (current, new): (Handle, Handle),
        flags: u32,
        priority: i32,
    ) -> Result<(CUresult, i32), Refusal> {
        self.can_bind(new)?;
        self.make_current(current)?;
        let mut stream: CUstream = null_mut();
        let make = self.functions().cuStreamCreateWithPriority;
        let result = call_if(call, make, |make| {
            // SAFETY: there is space for a handle.
            unsafe { make(&mut stream, flags, priority) }
        });
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

fn at(context: Handle, stream: Handle, event: NewEvent) -> At {
    At {
        context,
        stream,
        event,
    }
}

/// A call that is a copy or sets memory: its arguments' names are the same for all of a kind.
macro_rules! on_memory {
    ($($name:ident, $args:ty, $reply:ident, |$session:ident, $call:ident, $at:ident, $a:ident| $body:expr;)*) => {
        $(fn $name(
            $session: &mut Session,
            $call: &mut Call,
            $a: $args,
        ) -> Result<wire::$reply, Refusal> {
            let $at = at($a.current, $a.hStream, $a.event);
            let result = $body?;
            Ok(wire::$reply { result })
        })*
    };
}

/// What the arguments of a rectangle's copy ask for: they have the same names in all.
macro_rules! ask {
    ($args:ident) => {
        Ask {
            to: &$args.to,
            from: &$args.from,
            size: &$args.size,
            data: &$args.data,
            room: $args.room,
        }
    };
}

/// Likewise of a rectangle that is set.
macro_rules! filled {
    ($args:ident) => {
        Filled {
            to: $args.to,
            pitch: $args.pitch,
            value: $args.value,
            width: $args.width,
            height: $args.height,
        }
    };
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

    fn cu_link_create_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuLinkCreateV2Args,
    ) -> Result<wire::CuLinkCreateV2Reply, Refusal> {
        session.link_create(call, args)
    }

    fn cu_link_complete(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuLinkCompleteArgs,
    ) -> Result<wire::CuLinkCompleteReply, Refusal> {
        session.link_complete(call, args)
    }

    fn cu_link_destroy(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuLinkDestroyArgs,
    ) -> Result<wire::CuLinkDestroyReply, Refusal> {
        session.link_destroy(call, args)
    }

    fn cu_link_add_data_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuLinkAddDataV2Args<'_>,
    ) -> Result<wire::CuLinkAddDataV2Reply, Refusal> {
        let to = (args.state, args.input);
        let (result, logs) = session.link_add(call, to, (&args.data, &args.name), &args.options)?;
        Ok(wire::CuLinkAddDataV2Reply { result, logs })
    }

    fn cu_link_add_file_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuLinkAddFileV2Args<'_>,
    ) -> Result<wire::CuLinkAddFileV2Reply, Refusal> {
        let to = (args.state, args.input);
        let (result, logs) = session.link_add(call, to, (&args.data, &args.name), &args.options)?;
        Ok(wire::CuLinkAddFileV2Reply { result, logs })
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

    fn cu_launch_kernel_ex(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuLaunchKernelExArgs<'_>,
    ) -> Result<wire::CuLaunchKernelExReply, Refusal> {
        let at = at(args.current, args.hStream, args.event);
        let geometry = Geometry::of(
            [args.grid_x, args.grid_y, args.grid_z],
            [args.block_x, args.block_y, args.block_z],
            args.shared,
        );
        let launch = (args.f, &args.params);
        let result = session.launch_with(call, at, launch, &geometry, &args.attributes)?;
        Ok(wire::CuLaunchKernelExReply { result })
    }

    fn cu_launch_cooperative_kernel(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuLaunchCooperativeKernelArgs<'_>,
    ) -> Result<wire::CuLaunchCooperativeKernelReply, Refusal> {
        let at = at(args.current, args.hStream, args.event);
        let geometry = Geometry::of(
            [args.grid_x, args.grid_y, args.grid_z],
            [args.block_x, args.block_y, args.block_z],
            args.shared,
        );
        let launch = (args.f, &args.params);
        let result = session.launch_with(call, at, launch, &geometry, &args.attributes)?;
        Ok(wire::CuLaunchCooperativeKernelReply { result })
    }

    fn cu_module_enumerate_functions(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuModuleEnumerateFunctionsArgs,
    ) -> Result<wire::CuModuleEnumerateFunctionsReply, Refusal> {
        let (result, names) = session.function_names(call, args.hmod, args.most)?;
        Ok(wire::CuModuleEnumerateFunctionsReply { result, names })
    }

    fn cu_occupancy_max_potential_cluster_size(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuOccupancyMaxPotentialClusterSizeArgs,
    ) -> Result<wire::CuOccupancyMaxPotentialClusterSizeReply, Refusal> {
        let geometry = Geometry::of(
            [args.grid_x, args.grid_y, args.grid_z],
            [args.block_x, args.block_y, args.block_z],
            args.shared,
        );
        let ask = session.functions().cuOccupancyMaxPotentialClusterSize;
        let of = (args.current, args.hStream, args.f);
        let (result, value) = session.clusters(call, ask, of, &geometry, &args.attributes)?;
        Ok(wire::CuOccupancyMaxPotentialClusterSizeReply { result, value })
    }

    fn cu_occupancy_max_active_clusters(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuOccupancyMaxActiveClustersArgs,
    ) -> Result<wire::CuOccupancyMaxActiveClustersReply, Refusal> {
        let geometry = Geometry::of(
            [args.grid_x, args.grid_y, args.grid_z],
            [args.block_x, args.block_y, args.block_z],
            args.shared,
        );
        let ask = session.functions().cuOccupancyMaxActiveClusters;
        let of = (args.current, args.hStream, args.f);
        let (result, value) = session.clusters(call, ask, of, &geometry, &args.attributes)?;
        Ok(wire::CuOccupancyMaxActiveClustersReply { result, value })
    }

    fn cu_stream_copy_attributes(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuStreamCopyAttributesArgs,
    ) -> Result<wire::CuStreamCopyAttributesReply, Refusal> {
        let result = session.copy_attributes(call, args.current, args.dst, args.src)?;
        Ok(wire::CuStreamCopyAttributesReply { result })
    }

    fn cu_stream_get_attribute(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuStreamGetAttributeArgs,
    ) -> Result<wire::CuStreamGetAttributeReply, Refusal> {
        let of = (args.current, args.hStream);
        let (result, attribute) = session.stream_attribute(call, of, args.attr)?;
        Ok(wire::CuStreamGetAttributeReply { result, attribute })
    }

    fn cu_stream_set_attribute(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuStreamSetAttributeArgs,
    ) -> Result<wire::CuStreamSetAttributeReply, Refusal> {
        let of = (args.current, args.hStream);
        let result = session.set_stream_attribute(call, of, &args.attribute)?;
        Ok(wire::CuStreamSetAttributeReply { result })
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

    fn cu_mem_alloc_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemAllocV2Args,
    ) -> Result<wire::CuMemAllocV2Reply, Refusal> {
        session.make_current(args.current)?;
        let bytes = back_end::size(args.bytes, "bytes")?;
        let mut address = 0;
        let mut result = CUDA_ERROR_OUT_OF_MEMORY;
        if session.ranges.has_room() {
            let allocate = session.functions().cuMemAlloc_v2;
            result = call_if(call, allocate, |allocate| {
                // SAFETY: there is space for an address.
                unsafe { allocate(&mut address, bytes) }
            });
        }
        if result == CUDA_SUCCESS {
            let owner = Owner::Context(args.current);
            session.ranges.add(address, args.bytes, owner);
        }
        Ok(wire::CuMemAllocV2Reply { result, address })
    }

    fn cu_mem_alloc_pitch_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemAllocPitchV2Args,
    ) -> Result<wire::CuMemAllocPitchV2Reply, Refusal> {
        session.make_current(args.current)?;
        let width = back_end::size(args.width, "width")?;
        let height = back_end::size(args.height, "height")?;
        let (mut address, mut pitch) = (0, 0);
        let mut result = CUDA_ERROR_OUT_OF_MEMORY;
        if session.ranges.has_room() {
            let allocate = session.functions().cuMemAllocPitch_v2;
            result = call_if(call, allocate, |allocate| {
                // SAFETY: there is space for an address and a size.
                unsafe { allocate(&mut address, &mut pitch, width, height, args.element) }
            });
        }
        let pitch = pitch as u64;
        if result == CUDA_SUCCESS {
            let len = pitch.saturating_mul(args.height);
            session
                .ranges
                .add(address, len, Owner::Context(args.current));
        }
        Ok(wire::CuMemAllocPitchV2Reply {
            result,
            address,
            pitch,
        })
    }

    fn cu_array_create_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuArrayCreateV2Args,
    ) -> Result<wire::CuArrayCreateV2Reply, Refusal> {
        let result = session.make_array(call, (args.current, args.new), &args.layout)?;
        Ok(wire::CuArrayCreateV2Reply { result })
    }

    fn cu_array3d_create_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuArray3DCreateV2Args,
    ) -> Result<wire::CuArray3DCreateV2Reply, Refusal> {
        let result = session.make_array(call, (args.current, args.new), &args.layout)?;
        Ok(wire::CuArray3DCreateV2Reply { result })
    }

    fn cu_array_destroy(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuArrayDestroyArgs,
    ) -> Result<wire::CuArrayDestroyReply, Refusal> {
        let result = session.destroy_array(call, args.hArray)?;
        Ok(wire::CuArrayDestroyReply { result })
    }

    fn cu_mipmapped_array_create(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMipmappedArrayCreateArgs,
    ) -> Result<wire::CuMipmappedArrayCreateReply, Refusal> {
        let of = (args.current, args.new);
        let result = session.make_mipmapped(call, of, &args.layout, args.levels)?;
        Ok(wire::CuMipmappedArrayCreateReply { result })
    }

    fn cu_mipmapped_array_get_level(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMipmappedArrayGetLevelArgs,
    ) -> Result<wire::CuMipmappedArrayGetLevelReply, Refusal> {
        let result = session.level(call, (args.hMipmappedArray, args.new), args.level)?;
        Ok(wire::CuMipmappedArrayGetLevelReply { result })
    }

    fn cu_mipmapped_array_destroy(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMipmappedArrayDestroyArgs,
    ) -> Result<wire::CuMipmappedArrayDestroyReply, Refusal> {
        let result = session.destroy_mipmapped(call, args.hMipmappedArray)?;
        Ok(wire::CuMipmappedArrayDestroyReply { result })
    }

    fn cu_tex_object_create(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuTexObjectCreateArgs,
    ) -> Result<wire::CuTexObjectCreateReply, Refusal> {
        let words = [&*args.resource, &*args.texture, &*args.view];
        let (result, object) = session.make_texture(call, args.current, words)?;
        Ok(wire::CuTexObjectCreateReply { result, object })
    }

    fn cu_tex_object_destroy(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuTexObjectDestroyArgs,
    ) -> Result<wire::CuTexObjectDestroyReply, Refusal> {
        let result = session.destroy_texture(call, args.object)?;
        Ok(wire::CuTexObjectDestroyReply { result })
    }

    fn cu_surf_object_create(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuSurfObjectCreateArgs,
    ) -> Result<wire::CuSurfObjectCreateReply, Refusal> {
        let (result, object) = session.make_surface(call, args.current, &args.resource)?;
        Ok(wire::CuSurfObjectCreateReply { result, object })
    }

    fn cu_surf_object_destroy(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuSurfObjectDestroyArgs,
    ) -> Result<wire::CuSurfObjectDestroyReply, Refusal> {
        let result = session.destroy_surface(call, args.object)?;
        Ok(wire::CuSurfObjectDestroyReply { result })
    }

    fn cu_mem_free_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemFreeV2Args,
    ) -> Result<wire::CuMemFreeV2Reply, Refusal> {
        let Some(context) = session.ranges.take(args.address) else {
            let result = CUDA_ERROR_INVALID_VALUE;
            return Ok(wire::CuMemFreeV2Reply { result });
        };
        session.make_current(context)?;
        let free = session.functions().cuMemFree_v2;
        // SAFETY: it is the session's, and was allocated at this address.
        let result = call_if(call, free, |free| unsafe { free(args.address) });
        Ok(wire::CuMemFreeV2Reply { result })
    }

    on_memory! {
        cu_memcpy_hto_d_v2, wire::CuMemcpyHtoDV2Args<'_>, CuMemcpyHtoDV2Reply, |session, call, at, a|
            session.up(call, at, a.to, (&a.data, a.bytes, a.is_pinned));
        cu_memcpy_hto_d_async_v2, wire::CuMemcpyHtoDAsyncV2Args<'_>, CuMemcpyHtoDAsyncV2Reply, |session, call, at, a|
            session.up(call, at, a.to, (&a.data, a.bytes, a.is_pinned));
        cu_memcpy_dto_h_v2, wire::CuMemcpyDtoHV2Args, CuMemcpyDtoHV2Reply, |session, call, at, a|
            session.down(call, at, a.from, (a.data, a.bytes, a.is_pinned));
        cu_memcpy_dto_h_async_v2, wire::CuMemcpyDtoHAsyncV2Args, CuMemcpyDtoHAsyncV2Reply, |session, call, at, a|
            session.down(call, at, a.from, (a.data, a.bytes, a.is_pinned));
        cu_memcpy_dto_d_v2, wire::CuMemcpyDtoDV2Args, CuMemcpyDtoDV2Reply, |session, call, at, a|
            session.across(call, at, (a.to, a.from), a.bytes);
        cu_memcpy_dto_d_async_v2, wire::CuMemcpyDtoDAsyncV2Args, CuMemcpyDtoDAsyncV2Reply, |session, call, at, a|
            session.across(call, at, (a.to, a.from), a.bytes);
        cu_memset_d8_v2, wire::CuMemsetD8V2Args, CuMemsetD8V2Reply, |session, call, at, a|
            session.set(call, at, (a.to, a.value, a.count), 1);
        cu_memset_d16_v2, wire::CuMemsetD16V2Args, CuMemsetD16V2Reply, |session, call, at, a|
            session.set(call, at, (a.to, a.value, a.count), 2);
        cu_memset_d32_v2, wire::CuMemsetD32V2Args, CuMemsetD32V2Reply, |session, call, at, a|
            session.set(call, at, (a.to, a.value, a.count), 4);
        cu_memset_d8async, wire::CuMemsetD8AsyncArgs, CuMemsetD8AsyncReply, |session, call, at, a|
            session.set(call, at, (a.to, a.value, a.count), 1);
        cu_memset_d16async, wire::CuMemsetD16AsyncArgs, CuMemsetD16AsyncReply, |session, call, at, a|
            session.set(call, at, (a.to, a.value, a.count), 2);
        cu_memset_d32async, wire::CuMemsetD32AsyncArgs, CuMemsetD32AsyncReply, |session, call, at, a|
            session.set(call, at, (a.to, a.value, a.count), 4);
        cu_memcpy2d_v2, wire::CuMemcpy2DV2Args<'_>, CuMemcpy2DV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy2d_unaligned_v2, wire::CuMemcpy2DUnalignedV2Args<'_>, CuMemcpy2DUnalignedV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy2d_async_v2, wire::CuMemcpy2DAsyncV2Args<'_>, CuMemcpy2DAsyncV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy3d_v2, wire::CuMemcpy3DV2Args<'_>, CuMemcpy3DV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy3d_async_v2, wire::CuMemcpy3DAsyncV2Args<'_>, CuMemcpy3DAsyncV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy_hto_a_v2, wire::CuMemcpyHtoAV2Args<'_>, CuMemcpyHtoAV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy_ato_h_v2, wire::CuMemcpyAtoHV2Args<'_>, CuMemcpyAtoHV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy_dto_a_v2, wire::CuMemcpyDtoAV2Args<'_>, CuMemcpyDtoAV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy_ato_d_v2, wire::CuMemcpyAtoDV2Args<'_>, CuMemcpyAtoDV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy_ato_a_v2, wire::CuMemcpyAtoAV2Args<'_>, CuMemcpyAtoAV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy_hto_a_async_v2, wire::CuMemcpyHtoAAsyncV2Args<'_>, CuMemcpyHtoAAsyncV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy_ato_h_async_v2, wire::CuMemcpyAtoHAsyncV2Args<'_>, CuMemcpyAtoHAsyncV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memset_d2d8_v2, wire::CuMemsetD2D8V2Args, CuMemsetD2D8V2Reply, |session, call, at, a|
            rectangles::set(session, call, at, filled!(a), 1);
        cu_memset_d2d8async, wire::CuMemsetD2D8AsyncArgs, CuMemsetD2D8AsyncReply, |session, call, at, a|
            rectangles::set(session, call, at, filled!(a), 1);
        cu_memset_d2d16_v2, wire::CuMemsetD2D16V2Args, CuMemsetD2D16V2Reply, |session, call, at, a|
            rectangles::set(session, call, at, filled!(a), 2);
        cu_memset_d2d16async, wire::CuMemsetD2D16AsyncArgs, CuMemsetD2D16AsyncReply, |session, call, at, a|
            rectangles::set(session, call, at, filled!(a), 2);
        cu_memset_d2d32_v2, wire::CuMemsetD2D32V2Args, CuMemsetD2D32V2Reply, |session, call, at, a|
            rectangles::set(session, call, at, filled!(a), 4);
        cu_memset_d2d32async, wire::CuMemsetD2D32AsyncArgs, CuMemsetD2D32AsyncReply, |session, call, at, a|
            rectangles::set(session, call, at, filled!(a), 4);
        cu_mem_free_async, wire::CuMemFreeAsyncArgs, CuMemFreeAsyncReply, |session, call, at, a|
            session.free_on(call, at, a.address);
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
        let (result, priority) = session.make_stream(call, of, args.flags, args.priority)?;
        Ok(wire::CuStreamCreateReply { result, priority })
    }

    fn cu_stream_create_with_priority(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuStreamCreateWithPriorityArgs,
    ) -> Result<wire::CuStreamCreateWithPriorityReply, Refusal> {
        let of = (args.current, args.new);
        let (result, priority) = session.make_stream(call, of, args.flags, args.priority)?;
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
        let driver = session.driver();
        call.timed(|| driver.release(Kind::Stream, stream));
        Ok(wire::CuStreamDestroyV2Reply {
            result: CUDA_SUCCESS,
        })
    }

    fn cu_mem_alloc_async(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemAllocAsyncArgs,
    ) -> Result<wire::CuMemAllocAsyncReply, Refusal> {
        let at = at(args.current, args.hStream, args.event);
        let (result, address) = session.allocate_on(call, at, args.pool, args.bytes)?;
        Ok(wire::CuMemAllocAsyncReply { result, address })
    }

    fn cu_mem_alloc_from_pool_async(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemAllocFromPoolAsyncArgs,
    ) -> Result<wire::CuMemAllocFromPoolAsyncReply, Refusal> {
        let at = at(args.current, args.hStream, args.event);
        let (result, address) = session.allocate_on(call, at, args.pool, args.bytes)?;
        Ok(wire::CuMemAllocFromPoolAsyncReply { result, address })
    }

    fn cu_mem_pool_create(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemPoolCreateArgs,
    ) -> Result<wire::CuMemPoolCreateReply, Refusal> {
        let result = session.make_pool(call, args.new, args.device, args.bytes)?;
        Ok(wire::CuMemPoolCreateReply { result })
    }

    fn cu_mem_pool_destroy(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemPoolDestroyArgs,
    ) -> Result<wire::CuMemPoolDestroyReply, Refusal> {
        let result = session.destroy_pool(call, args.pool)?;
        Ok(wire::CuMemPoolDestroyReply { result })
    }

    fn cu_mem_pool_set_attribute(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemPoolSetAttributeArgs,
    ) -> Result<wire::CuMemPoolSetAttributeReply, Refusal> {
        let result = session.set_pool_attribute(call, args.pool, args.attr, args.value)?;
        Ok(wire::CuMemPoolSetAttributeReply { result })
    }

    fn cu_mem_pool_trim_to(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemPoolTrimToArgs,
    ) -> Result<wire::CuMemPoolTrimToReply, Refusal> {
        let result = session.trim_pool(call, args.pool, args.bytes)?;
        Ok(wire::CuMemPoolTrimToReply { result })
    }

    fn cu_mem_pool_set_access(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemPoolSetAccessArgs,
    ) -> Result<wire::CuMemPoolSetAccessReply, Refusal> {
        let result = session.share_pool(call, args.pool, &args.map)?;
        Ok(wire::CuMemPoolSetAccessReply { result })
    }

    fn cu_device_get_default_mem_pool(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuDeviceGetDefaultMemPoolArgs,
    ) -> Result<wire::CuDeviceGetDefaultMemPoolReply, Refusal> {
        let result = session.default_pool(call, args.new, args.dev)?;
        Ok(wire::CuDeviceGetDefaultMemPoolReply { result })
    }

    fn cu_device_set_mem_pool(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuDeviceSetMemPoolArgs,
    ) -> Result<wire::CuDeviceSetMemPoolReply, Refusal> {
        let result = session.use_pool(call, args.dev, args.pool)?;
        Ok(wire::CuDeviceSetMemPoolReply { result })
    }

    fn cu_mem_pool_get_attribute(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemPoolGetAttributeArgs,
    ) -> Result<wire::CuMemPoolGetAttributeReply, Refusal> {
        let (result, value) = session.pool_attribute(call, args.pool, args.attr)?;
        Ok(wire::CuMemPoolGetAttributeReply { result, value })
    }

    fn cu_mem_pool_get_access(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemPoolGetAccessArgs,
    ) -> Result<wire::CuMemPoolGetAccessReply, Refusal> {
        let (result, flags) = session.pool_access(call, args.pool, args.device)?;
        Ok(wire::CuMemPoolGetAccessReply { result, flags })
    }

    /// The host has heard of it.
    fn gil_retire(_: &mut Session, _: &mut Call, _: wire::GilRetireArgs) -> Result<(), Refusal> {
        Ok(())
    }
}
