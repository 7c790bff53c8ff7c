//! The same functions for programs that are built for default streams of threads: where a
//! stream is null or none is named, it is the calling thread's own.

use super::*;
use crate::generated::manual::{Captures, Copies, Graphs, Launches, OwnStreams};

/// The thread's own default stream, by its name.
const OWN: CUstream = std::ptr::without_provenance_mut(2);

/// The stream that a program means.
pub(super) fn own(stream: CUstream) -> CUstream {
    match stream.is_null() {
        true => OWN,
        false => stream,
    }
}

/// Waits for what was put on the thread's own stream, as calls without a stream do.
fn finished(entry: u64, op: Op, put: CUresult) -> CUresult {
    Guest::returned(|| {
        Guest::check(put)?;
        context::with(|context| {
            streams::with_lane(context, OWN, |lane| {
                streams::finish(entry, op, context, lane)
            })
        })
    })
}

impl OwnStreams for Guest {
    unsafe fn cuMemcpyHtoD_v2_ptds(
        entry: u64,
        dstDevice: CUdeviceptr,
        srcHost: *const c_void,
        ByteCount: usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        let put = unsafe { Self::cuMemcpyHtoDAsync_v2(entry, dstDevice, srcHost, ByteCount, OWN) };
        finished(entry, wire::CU_MEMCPY_HTO_D_V2, put)
    }

    unsafe fn cuMemcpyDtoH_v2_ptds(
        entry: u64,
        dstHost: *mut c_void,
        srcDevice: CUdeviceptr,
        ByteCount: usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        let put = unsafe { Self::cuMemcpyDtoHAsync_v2(entry, dstHost, srcDevice, ByteCount, OWN) };
        finished(entry, wire::CU_MEMCPY_DTO_H_V2, put)
    }

    unsafe fn cuMemcpyDtoD_v2_ptds(
        entry: u64,
        dstDevice: CUdeviceptr,
        srcDevice: CUdeviceptr,
        ByteCount: usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuMemcpyDtoDAsync_v2(entry, dstDevice, srcDevice, ByteCount, OWN) }
    }

    unsafe fn cuMemsetD8_v2_ptds(entry: u64, dstDevice: CUdeviceptr, uc: u8, N: usize) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuMemsetD8Async(entry, dstDevice, uc, N, OWN) }
    }

    unsafe fn cuMemsetD16_v2_ptds(
        entry: u64,
        dstDevice: CUdeviceptr,
        us: u16,
        N: usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuMemsetD16Async(entry, dstDevice, us, N, OWN) }
    }

    unsafe fn cuMemsetD32_v2_ptds(
        entry: u64,
        dstDevice: CUdeviceptr,
        ui: c_uint,
        N: usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuMemsetD32Async(entry, dstDevice, ui, N, OWN) }
    }

    unsafe fn cuMemcpy_ptds(
        entry: u64,
        dst: CUdeviceptr,
        src: CUdeviceptr,
        ByteCount: usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        let put = unsafe { Self::cuMemcpyAsync(entry, dst, src, ByteCount, OWN) };
        finished(entry, wire::CU_MEMCPY, put)
    }

    unsafe fn cuMemcpyHtoDAsync_v2_ptsz(
        entry: u64,
        dstDevice: CUdeviceptr,
        srcHost: *const c_void,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuMemcpyHtoDAsync_v2(entry, dstDevice, srcHost, ByteCount, own(hStream)) }
    }

    unsafe fn cuMemcpyDtoHAsync_v2_ptsz(
        entry: u64,
        dstHost: *mut c_void,
        srcDevice: CUdeviceptr,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuMemcpyDtoHAsync_v2(entry, dstHost, srcDevice, ByteCount, own(hStream)) }
    }

    unsafe fn cuMemcpyDtoDAsync_v2_ptsz(
        entry: u64,
        dstDevice: CUdeviceptr,
        srcDevice: CUdeviceptr,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuMemcpyDtoDAsync_v2(entry, dstDevice, srcDevice, ByteCount, own(hStream)) }
    }

    unsafe fn cuMemcpyAsync_ptsz(
        entry: u64,
        dst: CUdeviceptr,
        src: CUdeviceptr,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuMemcpyAsync(entry, dst, src, ByteCount, own(hStream)) }
    }

    unsafe fn cuMemsetD8Async_ptsz(
        entry: u64,
        dstDevice: CUdeviceptr,
        uc: u8,
        N: usize,
        hStream: CUstream,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuMemsetD8Async(entry, dstDevice, uc, N, own(hStream)) }
    }

    unsafe fn cuMemsetD16Async_ptsz(
        entry: u64,
        dstDevice: CUdeviceptr,
        us: u16,
        N: usize,
        hStream: CUstream,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuMemsetD16Async(entry, dstDevice, us, N, own(hStream)) }
    }

    unsafe fn cuMemsetD32Async_ptsz(
        entry: u64,
        dstDevice: CUdeviceptr,
        ui: c_uint,
        N: usize,
        hStream: CUstream,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuMemsetD32Async(entry, dstDevice, ui, N, own(hStream)) }
    }

    unsafe fn cuStreamGetPriority_ptsz(
        entry: u64,
        hStream: CUstream,
        priority: *mut c_int,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuStreamGetPriority(entry, own(hStream), priority) }
    }

    unsafe fn cuStreamGetId_ptsz(entry: u64, hStream: CUstream, streamId: *mut u64) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuStreamGetId(entry, own(hStream), streamId) }
    }

    unsafe fn cuStreamIsCapturing_ptsz(
        entry: u64,
        hStream: CUstream,
        captureStatus: *mut CUstreamCaptureStatus,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuStreamIsCapturing(entry, own(hStream), captureStatus) }
    }

    unsafe fn cuStreamGetFlags_ptsz(entry: u64, hStream: CUstream, flags: *mut c_uint) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuStreamGetFlags(entry, own(hStream), flags) }
    }

    unsafe fn cuStreamGetDevice_ptsz(
        entry: u64,
        hStream: CUstream,
        device: *mut CUdevice,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuStreamGetDevice(entry, own(hStream), device) }
    }

    unsafe fn cuStreamGetCtx_ptsz(entry: u64, hStream: CUstream, pctx: *mut CUcontext) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuStreamGetCtx(entry, own(hStream), pctx) }
    }

    unsafe fn cuStreamWaitEvent_ptsz(
        entry: u64,
        hStream: CUstream,
        hEvent: CUevent,
        Flags: c_uint,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuStreamWaitEvent(entry, own(hStream), hEvent, Flags) }
    }

    unsafe fn cuStreamAddCallback_ptsz(
        entry: u64,
        hStream: CUstream,
        callback: Option<unsafe extern "C" fn(CUstream, CUresult, *mut c_void)>,
        userData: *mut c_void,
        flags: c_uint,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuStreamAddCallback(entry, own(hStream), callback, userData, flags) }
    }

    unsafe fn cuStreamQuery_ptsz(entry: u64, hStream: CUstream) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuStreamQuery(entry, own(hStream)) }
    }

    unsafe fn cuStreamSynchronize_ptsz(entry: u64, hStream: CUstream) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuStreamSynchronize(entry, own(hStream)) }
    }

    unsafe fn cuEventRecord_ptsz(entry: u64, hEvent: CUevent, hStream: CUstream) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuEventRecord(entry, hEvent, own(hStream)) }
    }

    unsafe fn cuEventRecordWithFlags_ptsz(
        entry: u64,
        hEvent: CUevent,
        hStream: CUstream,
        flags: c_uint,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuEventRecordWithFlags(entry, hEvent, own(hStream), flags) }
    }

    unsafe fn cuLaunchKernel_ptsz(
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
        // SAFETY: the caller's.
        unsafe {
            Self::cuLaunchKernel(
                entry,
                f,
                gridDimX,
                gridDimY,
                gridDimZ,
                blockDimX,
                blockDimY,
                blockDimZ,
                sharedMemBytes,
                own(hStream),
                kernelParams,
                extra,
            )
        }
    }

    unsafe fn cuLaunchKernelEx_ptsz(
        entry: u64,
        config: *const CUlaunchConfig,
        f: CUfunction,
        kernelParams: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            let own = config.as_ref().map(|config| CUlaunchConfig {
                hStream: own(config.hStream),
                ..*config
            });
            let config = own.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
            Self::cuLaunchKernelEx(entry, config, f, kernelParams, extra)
        }
    }

    unsafe fn cuLaunchHostFunc_ptsz(
        entry: u64,
        hStream: CUstream,
        r#fn: Option<unsafe extern "C" fn(*mut c_void)>,
        userData: *mut c_void,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuLaunchHostFunc(entry, own(hStream), r#fn, userData) }
    }

    unsafe fn cuLaunchCooperativeKernel_ptsz(
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
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            Self::cuLaunchCooperativeKernel(
                entry,
                f,
                gridDimX,
                gridDimY,
                gridDimZ,
                blockDimX,
                blockDimY,
                blockDimZ,
                sharedMemBytes,
                own(hStream),
                kernelParams,
            )
        }
    }

    unsafe fn cuStreamCopyAttributes_ptsz(entry: u64, dst: CUstream, src: CUstream) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuStreamCopyAttributes(entry, own(dst), own(src)) }
    }

    unsafe fn cuStreamGetAttribute_ptsz(
        entry: u64,
        hStream: CUstream,
        attr: CUlaunchAttributeID,
        value_out: *mut CUlaunchAttributeValue,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuStreamGetAttribute(entry, own(hStream), attr, value_out) }
    }

    unsafe fn cuStreamSetAttribute_ptsz(
        entry: u64,
        hStream: CUstream,
        attr: CUlaunchAttributeID,
        value: *const CUlaunchAttributeValue,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuStreamSetAttribute(entry, own(hStream), attr, value) }
    }

    unsafe fn cuGraphInstantiateWithParams_ptsz(
        entry: u64,
        phGraphExec: *mut CUgraphExec,
        hGraph: CUgraph,
        instantiateParams: *mut CUDA_GRAPH_INSTANTIATE_PARAMS,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuGraphInstantiateWithParams(entry, phGraphExec, hGraph, instantiateParams) }
    }

    unsafe fn cuGraphUpload_ptsz(
        entry: u64,
        hGraphExec: CUgraphExec,
        hStream: CUstream,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuGraphUpload(entry, hGraphExec, own(hStream)) }
    }

    unsafe fn cuGraphLaunch_ptsz(
        entry: u64,
        hGraphExec: CUgraphExec,
        hStream: CUstream,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuGraphLaunch(entry, hGraphExec, own(hStream)) }
    }

    unsafe fn cuStreamBeginCapture_v2_ptsz(
        entry: u64,
        hStream: CUstream,
        mode: CUstreamCaptureMode,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuStreamBeginCapture_v2(entry, own(hStream), mode) }
    }

    unsafe fn cuStreamBeginCaptureToGraph_ptsz(
        entry: u64,
        hStream: CUstream,
        hGraph: CUgraph,
        dependencies: *const CUgraphNode,
        dependencyData: *const CUgraphEdgeData,
        numDependencies: usize,
        mode: CUstreamCaptureMode,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            Self::cuStreamBeginCaptureToGraph(
                entry,
                own(hStream),
                hGraph,
                dependencies,
                dependencyData,
                numDependencies,
                mode,
            )
        }
    }

    unsafe fn cuStreamEndCapture_ptsz(
        entry: u64,
        hStream: CUstream,
        phGraph: *mut CUgraph,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuStreamEndCapture(entry, own(hStream), phGraph) }
    }

    unsafe fn cuStreamGetCaptureInfo_v3_ptsz(
        entry: u64,
        hStream: CUstream,
        captureStatus_out: *mut CUstreamCaptureStatus,
        id_out: *mut cuuint64_t,
        graph_out: *mut CUgraph,
        dependencies_out: *mut *const CUgraphNode,
        edgeData_out: *mut *const CUgraphEdgeData,
        numDependencies_out: *mut usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            Self::cuStreamGetCaptureInfo_v3(
                entry,
                own(hStream),
                captureStatus_out,
                id_out,
                graph_out,
                dependencies_out,
                edgeData_out,
                numDependencies_out,
            )
        }
    }

    unsafe fn cuStreamGetCaptureInfo_v2_ptsz(
        entry: u64,
        hStream: CUstream,
        captureStatus_out: *mut CUstreamCaptureStatus,
        id_out: *mut cuuint64_t,
        graph_out: *mut CUgraph,
        dependencies_out: *mut *const CUgraphNode,
        numDependencies_out: *mut usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            Self::cuStreamGetCaptureInfo_v2(
                entry,
                own(hStream),
                captureStatus_out,
                id_out,
                graph_out,
                dependencies_out,
                numDependencies_out,
            )
        }
    }

    unsafe fn cuStreamGetCaptureInfo_ptsz(
        entry: u64,
        hStream: CUstream,
        captureStatus_out: *mut CUstreamCaptureStatus,
        id_out: *mut cuuint64_t,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuStreamGetCaptureInfo(entry, own(hStream), captureStatus_out, id_out) }
    }

    unsafe fn cuStreamUpdateCaptureDependencies_v2_ptsz(
        entry: u64,
        hStream: CUstream,
        dependencies: *mut CUgraphNode,
        dependencyData: *const CUgraphEdgeData,
        numDependencies: usize,
        flags: c_uint,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            Self::cuStreamUpdateCaptureDependencies_v2(
                entry,
                own(hStream),
                dependencies,
                dependencyData,
                numDependencies,
                flags,
            )
        }
    }

    unsafe fn cuStreamUpdateCaptureDependencies_ptsz(
        entry: u64,
        hStream: CUstream,
        dependencies: *mut CUgraphNode,
        numDependencies: usize,
        flags: c_uint,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            Self::cuStreamUpdateCaptureDependencies(
                entry,
                own(hStream),
                dependencies,
                numDependencies,
                flags,
            )
        }
    }
}
