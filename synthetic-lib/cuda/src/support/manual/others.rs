//! What libraries look for by its name alone: earlier forms of functions, and operations of
//! streams on memory.

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

impl Others for Guest {
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
