//! What libraries look for by its name alone: earlier forms of functions, and operations of
//! streams on memory.

use super::own_streams::own;
use super::*;
use crate::generated::manual::Others;
use crate::generated::stubs;

/// A stream that can be used.
fn usable(stream: CUstream) -> CallResult<()> {
    context::with(|context| streams::with_any_lane(context, stream, |_| Ok(())))
}

/// Operations that wait for memory, of which what another does while it runs is not seen.
fn refused(stream: CUstream) -> CUresult {
    Guest::returned(|| {
        usable(stream)?;
        Err(CUDA_ERROR_NOT_SUPPORTED)
    })
}

/// A word of the device's memory is written in the stream's order. The flag says that what was
/// before need not be seen by others first, which it is in any case.
fn written(entry: u64, stream: CUstream, to: CUdeviceptr, value: u32, flags: c_uint) -> CUresult {
    Guest::returned(|| match flags & !1 == 0 && to.is_multiple_of(4) {
        true => copy::set(on(entry, wire::CU_MEMSET_D32ASYNC, stream), to, value, 1),
        false => Err(CUDA_ERROR_INVALID_VALUE),
    })
}

/// The same as a copy of a box, whose ends say their contexts.
fn plain_box(copy: &CUDA_MEMCPY3D_PEER) -> CUDA_MEMCPY3D {
    CUDA_MEMCPY3D {
        srcXInBytes: copy.srcXInBytes,
        srcY: copy.srcY,
        srcZ: copy.srcZ,
        srcLOD: copy.srcLOD,
        srcMemoryType: copy.srcMemoryType,
        srcHost: copy.srcHost,
        srcDevice: copy.srcDevice,
        srcArray: copy.srcArray,
        reserved0: std::ptr::null_mut(),
        srcPitch: copy.srcPitch,
        srcHeight: copy.srcHeight,
        dstXInBytes: copy.dstXInBytes,
        dstY: copy.dstY,
        dstZ: copy.dstZ,
        dstLOD: copy.dstLOD,
        dstMemoryType: copy.dstMemoryType,
        dstHost: copy.dstHost,
        dstDevice: copy.dstDevice,
        dstArray: copy.dstArray,
        reserved1: std::ptr::null_mut(),
        dstPitch: copy.dstPitch,
        dstHeight: copy.dstHeight,
        WidthInBytes: copy.WidthInBytes,
        Height: copy.Height,
        Depth: copy.Depth,
    }
}

/// Copies a box between contexts.
///
/// # Safety
/// As `cuMemcpy3DPeer` of its description.
unsafe fn peer_box(of: Of, copy: *const CUDA_MEMCPY3D_PEER) -> CallResult<()> {
    // SAFETY: the caller's.
    let copy = unsafe { copy.as_ref() }.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    copy::ready_between(of, (copy.dstContext, copy.srcContext))?;
    // SAFETY: the caller's.
    unsafe { rectangles::copy_box(of, &plain_box(copy)) }
}

/// The lower half of a word goes first; a word of 32 bits is what the device writes at a time.
fn written_long(
    entry: u64,
    stream: CUstream,
    to: CUdeviceptr,
    value: u64,
    flags: c_uint,
) -> CUresult {
    match to.is_multiple_of(8) {
        true => {
            let high = (value >> 32) as u32;
            match written(entry, stream, to, value as u32, flags) {
                CUDA_SUCCESS => written(entry, stream, to + 4, high, flags),
                error => error,
            }
        }
        false => CUDA_ERROR_INVALID_VALUE,
    }
}

/// What tools hear of: there are none.
fn heard() -> CUresult {
    Guest::returned(|| context::with(|context| context.healthy()))
}

impl Others for Guest {
    unsafe fn cuCtxSetFlags(_: u64, flags: c_uint) -> CUresult {
        Self::returned(|| context::set_flags(flags))
    }

    unsafe fn cuCtxGetDevice_v2(_: u64, device: *mut CUdevice, ctx: CUcontext) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(device, || Ok(context::named(ctx)?.device)) }
    }

    unsafe fn cuCtxSynchronize_v2(entry: u64, ctx: CUcontext) -> CUresult {
        Self::returned(|| {
            let context = context::named(ctx)?;
            context.healthy()?;
            streams::finish_all(entry, wire::CU_CTX_SYNCHRONIZE, &context)
        })
    }

    unsafe fn cuStreamBeginCapture_ptsz(_: u64, hStream: CUstream) -> CUresult {
        // SAFETY: the caller's.
        unsafe { stubs::cuStreamBeginCapture(own(hStream)) }
    }

    unsafe fn cuStreamWriteValue32_ptsz(
        entry: u64,
        stream: CUstream,
        addr: CUdeviceptr,
        value: cuuint32_t,
        flags: c_uint,
    ) -> CUresult {
        written(entry, own(stream), addr, value, flags)
    }

    unsafe fn cuStreamWriteValue32_v2_ptsz(
        entry: u64,
        stream: CUstream,
        addr: CUdeviceptr,
        value: cuuint32_t,
        flags: c_uint,
    ) -> CUresult {
        written(entry, own(stream), addr, value, flags)
    }

    unsafe fn cuStreamWriteValue64_ptsz(
        entry: u64,
        stream: CUstream,
        addr: CUdeviceptr,
        value: cuuint64_t,
        flags: c_uint,
    ) -> CUresult {
        written_long(entry, own(stream), addr, value, flags)
    }

    unsafe fn cuStreamWriteValue64_v2_ptsz(
        entry: u64,
        stream: CUstream,
        addr: CUdeviceptr,
        value: cuuint64_t,
        flags: c_uint,
    ) -> CUresult {
        written_long(entry, own(stream), addr, value, flags)
    }

    unsafe fn cuCtxCreate(
        entry: u64,
        pctx: *mut CUcontext,
        flags: c_uint,
        dev: CUdevice,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { <Self as Manual>::cuCtxCreate_v2(entry, pctx, flags, dev) }
    }

    unsafe fn cuCtxCreate_v3(
        entry: u64,
        pctx: *mut CUcontext,
        paramsArray: *mut CUexecAffinityParam,
        numParams: c_int,
        flags: c_uint,
        dev: CUdevice,
    ) -> CUresult {
        match paramsArray.is_null() && numParams == 0 {
            // SAFETY: the caller's.
            true => unsafe { <Self as Manual>::cuCtxCreate_v2(entry, pctx, flags, dev) },
            false => CUDA_ERROR_NOT_SUPPORTED,
        }
    }

    unsafe fn cuCtxDestroy(entry: u64, ctx: CUcontext) -> CUresult {
        // SAFETY: the caller's.
        unsafe { <Self as Manual>::cuCtxDestroy_v2(entry, ctx) }
    }

    unsafe fn cuCtxAttach(_: u64, pctx: *mut CUcontext, flags: c_uint) -> CUresult {
        let attach = || match flags {
            0 => context::attach(),
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        };
        // SAFETY: the caller's.
        unsafe { put(pctx, attach) }
    }

    unsafe fn cuCtxDetach(entry: u64, ctx: CUcontext) -> CUresult {
        Self::returned(|| context::detach(entry, ctx))
    }

    unsafe fn cuStreamDestroy(_: u64, hStream: CUstream) -> CUresult {
        // SAFETY: the caller's.
        unsafe { stubs::cuStreamDestroy_v2(hStream) }
    }

    unsafe fn cuEventDestroy(_: u64, hEvent: CUevent) -> CUresult {
        // SAFETY: the caller's.
        unsafe { stubs::cuEventDestroy_v2(hEvent) }
    }

    unsafe fn cuMemHostRegister(
        _: u64,
        p: *mut c_void,
        bytesize: usize,
        Flags: c_uint,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { stubs::cuMemHostRegister_v2(p, bytesize, Flags) }
    }

    unsafe fn cuLinkCreate(
        _: u64,
        numOptions: c_uint,
        options: *mut CUjit_option,
        optionValues: *mut *mut c_void,
        stateOut: *mut CUlinkState,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { stubs::cuLinkCreate_v2(numOptions, options, optionValues, stateOut) }
    }

    unsafe fn cuLinkAddData(
        _: u64,
        state: CUlinkState,
        r#type: CUjitInputType,
        data: *mut c_void,
        size: usize,
        name: *const c_char,
        numOptions: c_uint,
        options: *mut CUjit_option,
        optionValues: *mut *mut c_void,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            stubs::cuLinkAddData_v2(
                state,
                r#type,
                data,
                size,
                name,
                numOptions,
                options,
                optionValues,
            )
        }
    }

    unsafe fn cuLinkAddFile(
        _: u64,
        state: CUlinkState,
        r#type: CUjitInputType,
        path: *const c_char,
        numOptions: c_uint,
        options: *mut CUjit_option,
        optionValues: *mut *mut c_void,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { stubs::cuLinkAddFile_v2(state, r#type, path, numOptions, options, optionValues) }
    }

    unsafe fn cuDeviceGetProperties(_: u64, prop: *mut CUdevprop, dev: CUdevice) -> CUresult {
        let ask = || {
            let one = |name: CUdevice_attribute| -> CallResult<c_int> {
                let mut value = 0;
                // SAFETY: there is space for a number.
                Self::check(unsafe { stubs::cuDeviceGetAttribute(&mut value, name, dev) })?;
                Ok(value)
            };
            Ok(CUdevprop {
                maxThreadsPerBlock: one(1)?,
                maxThreadsDim: [one(2)?, one(3)?, one(4)?],
                maxGridSize: [one(5)?, one(6)?, one(7)?],
                sharedMemPerBlock: one(8)?,
                totalConstantMemory: one(9)?,
                SIMDWidth: one(10)?,
                memPitch: one(11)?,
                regsPerBlock: one(12)?,
                clockRate: one(13)?,
                textureAlign: one(14)?,
            })
        };
        // SAFETY: the caller's.
        unsafe { put(prop, ask) }
    }

    unsafe fn cuStreamWriteValue64(
        entry: u64,
        stream: CUstream,
        addr: CUdeviceptr,
        value: cuuint64_t,
        flags: c_uint,
    ) -> CUresult {
        written_long(entry, stream, addr, value, flags)
    }

    unsafe fn cuStreamWriteValue64_v2(
        entry: u64,
        stream: CUstream,
        addr: CUdeviceptr,
        value: cuuint64_t,
        flags: c_uint,
    ) -> CUresult {
        written_long(entry, stream, addr, value, flags)
    }

    unsafe fn cuMemcpy3DPeer(entry: u64, pCopy: *const CUDA_MEMCPY3D_PEER) -> CUresult {
        let of = Of {
            entry,
            op: wire::CU_MEMCPY3D_V2,
            stream: None,
        };
        // SAFETY: the caller's.
        Self::returned(|| unsafe { peer_box(of, pCopy) })
    }

    unsafe fn cuMemcpy3DPeerAsync(
        entry: u64,
        pCopy: *const CUDA_MEMCPY3D_PEER,
        hStream: CUstream,
    ) -> CUresult {
        let of = on(entry, wire::CU_MEMCPY3D_ASYNC_V2, hStream);
        // SAFETY: the caller's.
        Self::returned(|| unsafe { peer_box(of, pCopy) })
    }

    unsafe fn cuProfilerStart(_: u64) -> CUresult {
        heard()
    }

    unsafe fn cuProfilerStop(_: u64) -> CUresult {
        heard()
    }

    unsafe fn cuDevicePrimaryCtxRelease(_: u64, dev: CUdevice) -> CUresult {
        // SAFETY: the caller's.
        unsafe { stubs::cuDevicePrimaryCtxRelease_v2(dev) }
    }

    unsafe fn cuDevicePrimaryCtxReset(_: u64, dev: CUdevice) -> CUresult {
        // SAFETY: the caller's.
        unsafe { stubs::cuDevicePrimaryCtxReset_v2(dev) }
    }

    unsafe fn cuDevicePrimaryCtxSetFlags(_: u64, dev: CUdevice, flags: c_uint) -> CUresult {
        // SAFETY: the caller's.
        unsafe { stubs::cuDevicePrimaryCtxSetFlags_v2(dev, flags) }
    }

    unsafe fn cuCtxPopCurrent(_: u64, pctx: *mut CUcontext) -> CUresult {
        // SAFETY: the caller's.
        unsafe { stubs::cuCtxPopCurrent_v2(pctx) }
    }

    unsafe fn cuCtxPushCurrent(_: u64, ctx: CUcontext) -> CUresult {
        // SAFETY: the caller's.
        unsafe { stubs::cuCtxPushCurrent_v2(ctx) }
    }

    unsafe fn cuStreamWaitValue32(
        _: u64,
        stream: CUstream,
        _: CUdeviceptr,
        _: cuuint32_t,
        _: c_uint,
    ) -> CUresult {
        refused(stream)
    }

    unsafe fn cuStreamWaitValue32_v2(
        _: u64,
        stream: CUstream,
        _: CUdeviceptr,
        _: cuuint32_t,
        _: c_uint,
    ) -> CUresult {
        refused(stream)
    }

    unsafe fn cuStreamWriteValue32(
        entry: u64,
        stream: CUstream,
        addr: CUdeviceptr,
        value: cuuint32_t,
        flags: c_uint,
    ) -> CUresult {
        written(entry, stream, addr, value, flags)
    }

    unsafe fn cuStreamWriteValue32_v2(
        entry: u64,
        stream: CUstream,
        addr: CUdeviceptr,
        value: cuuint32_t,
        flags: c_uint,
    ) -> CUresult {
        written(entry, stream, addr, value, flags)
    }

    unsafe fn cuStreamBatchMemOp(
        _: u64,
        stream: CUstream,
        _: c_uint,
        _: *mut CUstreamBatchMemOpParams,
        _: c_uint,
    ) -> CUresult {
        refused(stream)
    }

    unsafe fn cuStreamBatchMemOp_v2(
        _: u64,
        stream: CUstream,
        _: c_uint,
        _: *mut CUstreamBatchMemOpParams,
        _: c_uint,
    ) -> CUresult {
        refused(stream)
    }
}
