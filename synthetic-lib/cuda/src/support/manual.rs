//! The entry points that are written by hand, with the names that the API gives.

#![allow(non_snake_case)]

mod arrays;
mod batches;
mod captures;
mod copies;
mod device_memory;
mod graphs;
mod green_contexts;
mod launches;
mod libraries;
mod linking;
mod others;
mod own_streams;
pub(super) mod plain_launches;
mod shared_memory;
mod tensor_maps;
mod textures;
mod virtual_memory;

use super::copy::{self, Of};
use super::launch::Geometry;
use super::{
    context, error, event, export_tables, launch, memory, module, place, pointers, pools, primary,
    procedure, rectangles, streams,
};
use crate::generated::manual::{Guest, Manual, Request};
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult};
use gil_wire::Op;
use gil_wire::call::Handle;
use gil_wire::envelope::Class;
use gil_wire::generated::cuda as wire;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// What a context says of the API's version.
const API_VERSION: c_uint = 3020;
/// Nothing of a load's options.
const NO_OPTIONS: (u32, *mut CUjit_option, *mut *mut c_void) =
    (0, std::ptr::null_mut(), std::ptr::null_mut());

/// Writes a result to its place.
///
/// # Safety
/// `to` is null or has space for one.
unsafe fn put<T>(to: *mut T, value: impl FnOnce() -> CallResult<T>) -> CUresult {
    Guest::returned(|| {
        let to = place(to)?;
        let value = value()?;
        // SAFETY: the caller's.
        unsafe { to.write(value) };
        Ok(())
    })
}

/// Writes two results to their places, if there are any.
///
/// # Safety
/// Each is null or has space for one.
unsafe fn put_both<A, B>(
    (first, second): (*mut A, *mut B),
    values: impl FnOnce() -> CallResult<(A, B)>,
) -> CUresult {
    Guest::returned(|| {
        let (a, b) = values()?;
        // SAFETY: the caller's.
        unsafe {
            if !first.is_null() {
                first.write(a);
            }
            if !second.is_null() {
                second.write(b);
            }
        }
        Ok(())
    })
}

/// A call that waits for its end, on the default stream.
const fn whole(entry: u64, op: Op) -> Of {
    Of {
        entry,
        op,
        stream: None,
    }
}

const fn on(entry: u64, op: Op, stream: CUstream) -> Of {
    Of {
        entry,
        op,
        stream: Some(stream),
    }
}

/// Does something with what is known of a stream.
fn of_stream<T>(
    stream: CUstream,
    of_default: impl FnOnce(&context::Context) -> T,
    of_own: impl FnOnce(&streams::Stream) -> T,
) -> CallResult<T> {
    context::with(|context| {
        context.healthy()?;
        Ok(match streams::of(context, stream)? {
            None => of_default(context),
            Some(stream) => of_own(&stream),
        })
    })
}

impl Manual for Guest {
    unsafe fn cuInit(entry: u64, Flags: c_uint) -> CUresult {
        Self::returned(|| {
            if Flags != 0 {
                return Err(CUDA_ERROR_INVALID_VALUE);
            }
            let request = Request::new(wire::CU_INIT, Class::Sync, entry);
            request.forward(&wire::CuInitArgs { Flags }, |reply| {
                let reply: wire::CuInitReply = reply.decode()?;
                Self::check(reply.result)
            })?;
            context::set_initialized();
            Ok(())
        })
    }

    unsafe fn cuDriverGetVersion(entry: u64, driverVersion: *mut c_int) -> CUresult {
        let ask = || {
            let request = Request::new(wire::CU_DRIVER_GET_VERSION, Class::Query, entry);
            request.forward(&wire::CuDriverGetVersionArgs, |reply| {
                let reply: wire::CuDriverGetVersionReply = reply.decode()?;
                Self::check(reply.result)?;
                Ok(reply.version)
            })
        };
        // SAFETY: the caller's.
        unsafe { put(driverVersion, ask) }
    }

    unsafe fn cuCtxCreate_v2(
        entry: u64,
        pctx: *mut CUcontext,
        flags: c_uint,
        dev: CUdevice,
    ) -> CUresult {
        let make = || {
            context::initialized()?;
            context::make(entry, dev, flags)
        };
        // SAFETY: the caller's.
        unsafe { put(pctx, make) }
    }

    unsafe fn cuCtxCreate_v4(
        entry: u64,
        pctx: *mut CUcontext,
        ctxCreateParams: *mut CUctxCreateParams,
        flags: c_uint,
        dev: CUdevice,
    ) -> CUresult {
        match ctxCreateParams.is_null() {
            // SAFETY: the caller's.
            true => unsafe { Self::cuCtxCreate_v2(entry, pctx, flags, dev) },
            false => CUDA_ERROR_NOT_SUPPORTED,
        }
    }

    unsafe fn cuCtxDestroy_v2(entry: u64, ctx: CUcontext) -> CUresult {
        Self::returned(|| {
            context::initialized()?;
            match primary::is(ctx) {
                true => Err(CUDA_ERROR_INVALID_CONTEXT),
                false => context::destroy(entry, ctx),
            }
        })
    }

    unsafe fn cuCtxPushCurrent_v2(_: u64, ctx: CUcontext) -> CUresult {
        Self::returned(|| {
            context::initialized()?;
            context::push(ctx)
        })
    }

    unsafe fn cuCtxPopCurrent_v2(_: u64, pctx: *mut CUcontext) -> CUresult {
        Self::returned(|| {
            context::initialized()?;
            let last = context::pop()?;
            if !pctx.is_null() {
                // SAFETY: the caller's.
                unsafe { pctx.write(last) };
            }
            Ok(())
        })
    }

    unsafe fn cuCtxSetCurrent(_: u64, ctx: CUcontext) -> CUresult {
        Self::returned(|| {
            context::initialized()?;
            context::set(ctx)
        })
    }

    unsafe fn cuCtxGetCurrent(_: u64, pctx: *mut CUcontext) -> CUresult {
        let current = || {
            context::initialized()?;
            context::permitted()?;
            Ok(context::current_handle())
        };
        // SAFETY: the caller's.
        unsafe { put(pctx, current) }
    }

    unsafe fn cuCtxGetDevice(_: u64, device: *mut CUdevice) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(device, || context::with(|context| Ok(context.device))) }
    }

    unsafe fn cuCtxGetFlags(_: u64, flags: *mut c_uint) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(flags, || context::with(|context| Ok(context.flags()))) }
    }

    unsafe fn cuCtxGetId(_: u64, ctx: CUcontext, ctxId: *mut cuuint64_t) -> CUresult {
        let id = || match ctx.is_null() {
            true => context::with(|context| Ok(context.id)),
            false => {
                context::initialized()?;
                Ok(context::find(ctx)?.1.id)
            }
        };
        // SAFETY: the caller's.
        unsafe { put(ctxId, id) }
    }

    unsafe fn cuCtxSynchronize(entry: u64) -> CUresult {
        Self::returned(|| {
            context::with(|context| {
                context.healthy()?;
                streams::finish_all(entry, wire::CU_CTX_SYNCHRONIZE, context)
            })
        })
    }

    unsafe fn cuCtxGetApiVersion(_: u64, ctx: CUcontext, version: *mut c_uint) -> CUresult {
        let known = || {
            context::initialized()?;
            if !ctx.is_null() {
                context::find(ctx)?;
            }
            Ok(API_VERSION)
        };
        // SAFETY: the caller's.
        unsafe { put(version, known) }
    }

    unsafe fn cuDevicePrimaryCtxRetain(
        entry: u64,
        pctx: *mut CUcontext,
        dev: CUdevice,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(pctx, || primary::retain(entry, dev)) }
    }

    unsafe fn cuDevicePrimaryCtxRelease_v2(entry: u64, dev: CUdevice) -> CUresult {
        Self::returned(|| primary::release(entry, dev, false))
    }

    unsafe fn cuDevicePrimaryCtxReset_v2(entry: u64, dev: CUdevice) -> CUresult {
        Self::returned(|| primary::release(entry, dev, true))
    }

    unsafe fn cuDevicePrimaryCtxSetFlags_v2(entry: u64, dev: CUdevice, flags: c_uint) -> CUresult {
        Self::returned(|| primary::set_flags(entry, dev, flags))
    }

    unsafe fn cuDevicePrimaryCtxGetState(
        entry: u64,
        dev: CUdevice,
        flags: *mut c_uint,
        active: *mut c_int,
    ) -> CUresult {
        let state = || {
            let (flags, is_active) = primary::state(entry, dev)?;
            Ok((flags, c_int::from(is_active)))
        };
        // SAFETY: the caller's.
        unsafe { put_both((flags, active), state) }
    }

    unsafe fn cuModuleLoadData(
        entry: u64,
        module: *mut CUmodule,
        image: *const c_void,
    ) -> CUresult {
        let call = (entry, wire::CU_MODULE_LOAD_DATA);
        // SAFETY: the caller's.
        unsafe { put(module, || module::load(call, image, NO_OPTIONS)) }
    }

    unsafe fn cuModuleLoadDataEx(
        entry: u64,
        module: *mut CUmodule,
        image: *const c_void,
        numOptions: c_uint,
        options: *mut CUjit_option,
        optionValues: *mut *mut c_void,
    ) -> CUresult {
        let call = (entry, wire::CU_MODULE_LOAD_DATA_EX);
        let options = (numOptions, options, optionValues);
        // SAFETY: the caller's.
        unsafe { put(module, || module::load(call, image, options)) }
    }

    unsafe fn cuModuleLoadFatBinary(
        entry: u64,
        module: *mut CUmodule,
        fatCubin: *const c_void,
    ) -> CUresult {
        let call = (entry, wire::CU_MODULE_LOAD_FAT_BINARY);
        // SAFETY: the caller's.
        unsafe { put(module, || module::load(call, fatCubin, NO_OPTIONS)) }
    }

    unsafe fn cuModuleLoad(entry: u64, module: *mut CUmodule, fname: *const c_char) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(module, || module::load_file(entry, fname)) }
    }

    unsafe fn cuModuleUnload(entry: u64, hmod: CUmodule) -> CUresult {
        Self::returned(|| {
            module::check_own(hmod)?;
            module::unload(entry, hmod)
        })
    }

    unsafe fn cuModuleGetFunction(
        entry: u64,
        hfunc: *mut CUfunction,
        hmod: CUmodule,
        name: *const c_char,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(hfunc, || module::function(entry, hmod, name)) }
    }

    unsafe fn cuModuleGetGlobal_v2(
        entry: u64,
        dptr: *mut CUdeviceptr,
        bytes: *mut usize,
        hmod: CUmodule,
        name: *const c_char,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put_both((dptr, bytes), || module::variable(entry, hmod, name)) }
    }

    unsafe fn cuModuleGetLoadingMode(_: u64, mode: *mut CUmoduleLoadingMode) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            put(mode, || {
                context::initialized().map(|()| CU_MODULE_EAGER_LOADING)
            })
        }
    }

    unsafe fn cuFuncGetModule(_: u64, hmod: *mut CUmodule, hfunc: CUfunction) -> CUresult {
        let module = || {
            module::with_function(hfunc, |function| {
                Ok(std::ptr::with_exposed_provenance_mut(function.module))
            })
        };
        // SAFETY: the caller's.
        unsafe { put(hmod, module) }
    }

    unsafe fn cuFuncGetName(_: u64, name: *mut *const c_char, hfunc: CUfunction) -> CUresult {
        let known = || module::with_function(hfunc, |function| Ok(function.name.as_ptr()));
        // SAFETY: the caller's.
        unsafe { put(name, known) }
    }

    unsafe fn cuFuncGetParamInfo(
        _: u64,
        func: CUfunction,
        paramIndex: usize,
        paramOffset: *mut usize,
        paramSize: *mut usize,
    ) -> CUresult {
        let known = || {
            place(paramOffset)?;
            module::with_function(func, |function| {
                let known = function.params.get(paramIndex);
                known.ok_or(CUDA_ERROR_INVALID_VALUE)
            })
        };
        // SAFETY: the caller's.
        unsafe { put_both((paramOffset, paramSize), known) }
    }

    #[inline]
    unsafe fn cuLaunchKernel(
        entry: u64,
        f: CUfunction,
        gridDimX: c_uint,
        gridDimY: c_uint,
        gridDimZ: c_uint,
        blockDimX: c_uint,
        blockDimY: c_uint,
        blockDimZ: c_uint,
        sharedMemBytes: c_uint,
        hStream: CUstream,
        kernelParams: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> CUresult {
        let geometry = Geometry {
            grid: [gridDimX, gridDimY, gridDimZ],
            block: [blockDimX, blockDimY, blockDimZ],
            shared: sharedMemBytes,
        };
        let values = (kernelParams, extra);
        // SAFETY: the caller's.
        Self::returned(|| unsafe { launch::launch(entry, f, &geometry, hStream, values) })
    }

    unsafe fn cuCtxEnablePeerAccess(entry: u64, peerContext: CUcontext, Flags: c_uint) -> CUresult {
        let request = Request::new(wire::CU_CTX_ENABLE_PEER_ACCESS, Class::Sync, entry);
        Self::returned(|| {
            let (current, peerContext) = peers(peerContext)?;
            let args = wire::CuCtxEnablePeerAccessArgs {
                current,
                peerContext,
                Flags,
            };
            request.forward(&args, |reply| {
                let reply: wire::CuCtxEnablePeerAccessReply = reply.decode()?;
                Self::check(reply.result)
            })
        })
    }

    unsafe fn cuCtxDisablePeerAccess(entry: u64, peerContext: CUcontext) -> CUresult {
        let request = Request::new(wire::CU_CTX_DISABLE_PEER_ACCESS, Class::Sync, entry);
        Self::returned(|| {
            let (current, peerContext) = peers(peerContext)?;
            let args = wire::CuCtxDisablePeerAccessArgs {
                current,
                peerContext,
            };
            request.forward(&args, |reply| {
                let reply: wire::CuCtxDisablePeerAccessReply = reply.decode()?;
                Self::check(reply.result)
            })
        })
    }

    unsafe fn cuStreamCreate(entry: u64, phStream: *mut CUstream, Flags: c_uint) -> CUresult {
        let op = wire::CU_STREAM_CREATE;
        // SAFETY: the caller's.
        unsafe { put(phStream, || streams::make(entry, op, Flags, 0)) }
    }

    unsafe fn cuStreamCreateWithPriority(
        entry: u64,
        phStream: *mut CUstream,
        flags: c_uint,
        priority: c_int,
    ) -> CUresult {
        let op = wire::CU_STREAM_CREATE_WITH_PRIORITY;
        // SAFETY: the caller's.
        unsafe { put(phStream, || streams::make(entry, op, flags, priority)) }
    }

    unsafe fn cuStreamDestroy_v2(entry: u64, hStream: CUstream) -> CUresult {
        Self::returned(|| streams::destroy(entry, hStream))
    }

    unsafe fn cuStreamSynchronize(entry: u64, hStream: CUstream) -> CUresult {
        Self::returned(|| {
            context::with(|context| {
                streams::with_lane(context, hStream, |lane| {
                    streams::finish(entry, wire::CU_STREAM_SYNCHRONIZE, context, lane)
                })
            })
        })
    }

    unsafe fn cuStreamQuery(entry: u64, hStream: CUstream) -> CUresult {
        Self::returned(|| {
            context::with(|context| {
                streams::with_lane(context, hStream, |lane| {
                    streams::query(entry, wire::CU_STREAM_QUERY, context, lane)
                })
            })
        })
    }

    unsafe fn cuStreamWaitEvent(
        entry: u64,
        hStream: CUstream,
        hEvent: CUevent,
        Flags: c_uint,
    ) -> CUresult {
        Self::returned(|| event::stream_waits(entry, hStream, hEvent, Flags))
    }

    unsafe fn cuStreamGetFlags(_: u64, hStream: CUstream, flags: *mut c_uint) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(flags, || of_stream(hStream, |_| 0, |stream| stream.flags)) }
    }

    unsafe fn cuStreamGetPriority(_: u64, hStream: CUstream, priority: *mut c_int) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            put(priority, || {
                of_stream(hStream, |_| 0, |stream| stream.priority)
            })
        }
    }

    unsafe fn cuStreamGetCtx(_: u64, hStream: CUstream, pctx: *mut CUcontext) -> CUresult {
        let context = || {
            of_stream(
                hStream,
                |context| context.handle(),
                |stream| stream.context.handle(),
            )
        };
        // SAFETY: the caller's.
        unsafe { put(pctx, context) }
    }

    unsafe fn cuEventCreate(_: u64, phEvent: *mut CUevent, Flags: c_uint) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(phEvent, || event::make(Flags)) }
    }

    unsafe fn cuEventDestroy_v2(entry: u64, hEvent: CUevent) -> CUresult {
        Self::returned(|| event::destroy(entry, hEvent))
    }

    unsafe fn cuEventRecord(entry: u64, hEvent: CUevent, hStream: CUstream) -> CUresult {
        Self::returned(|| event::record(entry, hEvent, hStream))
    }

    unsafe fn cuEventQuery(entry: u64, hEvent: CUevent) -> CUresult {
        Self::returned(|| event::query(entry, wire::CU_EVENT_QUERY, hEvent))
    }

    unsafe fn cuEventSynchronize(entry: u64, hEvent: CUevent) -> CUresult {
        Self::returned(|| event::finish(entry, wire::CU_EVENT_SYNCHRONIZE, hEvent))
    }

    unsafe fn cuEventElapsedTime(
        entry: u64,
        pMilliseconds: *mut f32,
        hStart: CUevent,
        hEnd: CUevent,
    ) -> CUresult {
        let op = wire::CU_EVENT_ELAPSED_TIME;
        // SAFETY: the caller's.
        unsafe { put(pMilliseconds, || event::between(entry, op, hStart, hEnd)) }
    }

    unsafe fn cuGetErrorName(_: u64, error: CUresult, pStr: *mut *const c_char) -> CUresult {
        // SAFETY: the caller's.
        unsafe { told(pStr, error::find(error).map(|(name, _)| name.as_ptr())) }
    }

    unsafe fn cuGetErrorString(_: u64, error: CUresult, pStr: *mut *const c_char) -> CUresult {
        // SAFETY: the caller's.
        unsafe { told(pStr, error::find(error).map(|(_, text)| text.as_ptr())) }
    }

    unsafe fn cuGetProcAddress(
        entry: u64,
        symbol: *const c_char,
        pfn: *mut *mut c_void,
        cudaVersion: c_int,
        flags: cuuint64_t,
    ) -> CUresult {
        let none = std::ptr::null_mut();
        // SAFETY: the caller's.
        unsafe { Self::cuGetProcAddress_v2(entry, symbol, pfn, cudaVersion, flags, none) }
    }

    unsafe fn cuGetProcAddress_v2(
        _: u64,
        symbol: *const c_char,
        pfn: *mut *mut c_void,
        cudaVersion: c_int,
        flags: cuuint64_t,
        symbolStatus: *mut CUdriverProcAddressQueryResult,
    ) -> CUresult {
        Self::returned(|| {
            let pfn = place(pfn)?;
            // SAFETY: the caller's.
            unsafe {
                let (found, status) = procedure::find(symbol, cudaVersion, flags);
                if !symbolStatus.is_null() {
                    symbolStatus.write(status);
                }
                pfn.write(found.unwrap_or(std::ptr::null_mut()));
                found.map(drop)
            }
        })
    }

    /// NVIDIA's own libraries get functions without names by this call, which nobody
    /// documents.
    unsafe fn cuGetExportTable(
        _: u64,
        ppExportTable: *mut *const c_void,
        pExportTableId: *const CUuuid,
    ) -> CUresult {
        Self::returned(|| {
            let table = place(ppExportTable)?;
            // SAFETY: the caller's; a number may be at any address.
            let found = unsafe {
                table.write(std::ptr::null());
                let id = place(pExportTableId.cast_mut())?.cast::<[u8; 16]>();
                export_tables::find(&id.read_unaligned())
            };
            // SAFETY: the caller's.
            unsafe { table.write(found.ok_or(CUDA_ERROR_NOT_FOUND)?) };
            Ok(())
        })
    }
}

/// The numbers of the current context and of another that is in use.
fn peers(peer: CUcontext) -> CallResult<(Handle, Handle)> {
    context::with(|context| {
        context.healthy()?;
        match context::find(peer)?.1 {
            peer if peer.is_destroyed() => Err(CUDA_ERROR_INVALID_CONTEXT),
            peer => Ok((context.number, peer.number)),
        }
    })
}

/// Gives a text of the library's; null and an error if there is none.
///
/// # Safety
/// `to` is null or has space for an address.
unsafe fn told(to: *mut *const c_char, text: Option<*const c_char>) -> CUresult {
    Guest::returned(|| {
        let to = place(to)?;
        // SAFETY: the caller's.
        unsafe { to.write(text.unwrap_or(std::ptr::null())) };
        text.map(drop).ok_or(CUDA_ERROR_INVALID_VALUE)
    })
}
