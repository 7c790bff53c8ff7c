//! The same functions for programs that are built for default streams of threads
//! (`--default-stream per-thread`): where a stream is null or none is named, it is the
//! calling thread's own.

use super::*;
use crate::generated::manual::{Graphs, Launches, Memory, OwnStreams};

/// The thread's own default stream, by its name.
const OWN: cudaStream_t = std::ptr::without_provenance_mut(2);

/// The stream that a program means.
pub(super) fn own(stream: cudaStream_t) -> cudaStream_t {
    match stream.is_null() {
        true => OWN,
        false => stream,
    }
}

/// Waits for what was put on the thread's own stream, as calls without a stream do.
fn finished(put: cudaError_t) -> cudaError_t {
    match put {
        // SAFETY: it takes a handle.
        cudaSuccess => within(|| unsafe { cuStreamSynchronize(OWN.cast()) }),
        code => code,
    }
}

impl OwnStreams for Guest {
    unsafe fn cudaMemcpy_ptds(
        entry: u64,
        dst: *mut c_void,
        src: *const c_void,
        count: usize,
        kind: cudaMemcpyKind,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        finished(unsafe { Self::cudaMemcpyAsync(entry, dst, src, count, kind, OWN) })
    }

    unsafe fn cudaMemcpyToSymbol_ptds(
        entry: u64,
        symbol: *const c_void,
        src: *const c_void,
        count: usize,
        offset: usize,
        kind: cudaMemcpyKind,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        finished(unsafe {
            Self::cudaMemcpyToSymbolAsync(entry, symbol, src, count, offset, kind, OWN)
        })
    }

    unsafe fn cudaMemcpyFromSymbol_ptds(
        entry: u64,
        dst: *mut c_void,
        symbol: *const c_void,
        count: usize,
        offset: usize,
        kind: cudaMemcpyKind,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        finished(unsafe {
            Self::cudaMemcpyFromSymbolAsync(entry, dst, symbol, count, offset, kind, OWN)
        })
    }

    unsafe fn cudaMemcpy2D_ptds(
        entry: u64,
        dst: *mut c_void,
        dpitch: usize,
        src: *const c_void,
        spitch: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        finished(unsafe {
            Self::cudaMemcpy2DAsync(entry, dst, dpitch, src, spitch, width, height, kind, OWN)
        })
    }

    unsafe fn cudaMemset_ptds(
        entry: u64,
        devPtr: *mut c_void,
        value: c_int,
        count: usize,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaMemsetAsync(entry, devPtr, value, count, OWN) }
    }

    unsafe fn cudaMemcpyAsync_ptsz(
        entry: u64,
        dst: *mut c_void,
        src: *const c_void,
        count: usize,
        kind: cudaMemcpyKind,
        stream: cudaStream_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaMemcpyAsync(entry, dst, src, count, kind, own(stream)) }
    }

    unsafe fn cudaMemcpyToSymbolAsync_ptsz(
        entry: u64,
        symbol: *const c_void,
        src: *const c_void,
        count: usize,
        offset: usize,
        kind: cudaMemcpyKind,
        stream: cudaStream_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe {
            Self::cudaMemcpyToSymbolAsync(entry, symbol, src, count, offset, kind, own(stream))
        }
    }

    unsafe fn cudaMemcpyFromSymbolAsync_ptsz(
        entry: u64,
        dst: *mut c_void,
        symbol: *const c_void,
        count: usize,
        offset: usize,
        kind: cudaMemcpyKind,
        stream: cudaStream_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe {
            Self::cudaMemcpyFromSymbolAsync(entry, dst, symbol, count, offset, kind, own(stream))
        }
    }

    unsafe fn cudaMemcpy2DAsync_ptsz(
        entry: u64,
        dst: *mut c_void,
        dpitch: usize,
        src: *const c_void,
        spitch: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
        stream: cudaStream_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe {
            Self::cudaMemcpy2DAsync(
                entry,
                dst,
                dpitch,
                src,
                spitch,
                width,
                height,
                kind,
                own(stream),
            )
        }
    }

    unsafe fn cudaMemsetAsync_ptsz(
        entry: u64,
        devPtr: *mut c_void,
        value: c_int,
        count: usize,
        stream: cudaStream_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaMemsetAsync(entry, devPtr, value, count, own(stream)) }
    }

    unsafe fn cudaStreamQuery_ptsz(entry: u64, stream: cudaStream_t) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaStreamQuery(entry, own(stream)) }
    }

    unsafe fn cudaStreamGetDevice_ptsz(
        entry: u64,
        hStream: cudaStream_t,
        device: *mut c_int,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaStreamGetDevice(entry, own(hStream), device) }
    }

    unsafe fn cudaStreamGetFlags_ptsz(
        entry: u64,
        hStream: cudaStream_t,
        flags: *mut c_uint,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaStreamGetFlags(entry, own(hStream), flags) }
    }

    unsafe fn cudaStreamGetId_ptsz(
        entry: u64,
        hStream: cudaStream_t,
        streamId: *mut u64,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaStreamGetId(entry, own(hStream), streamId) }
    }

    unsafe fn cudaStreamIsCapturing_ptsz(
        entry: u64,
        stream: cudaStream_t,
        pCaptureStatus: *mut cudaStreamCaptureStatus,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaStreamIsCapturing(entry, own(stream), pCaptureStatus) }
    }

    unsafe fn cudaStreamGetPriority_ptsz(
        entry: u64,
        hStream: cudaStream_t,
        priority: *mut c_int,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaStreamGetPriority(entry, own(hStream), priority) }
    }

    unsafe fn cudaEventRecord_ptsz(
        entry: u64,
        event: cudaEvent_t,
        stream: cudaStream_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaEventRecord(entry, event, own(stream)) }
    }

    unsafe fn cudaEventRecordWithFlags_ptsz(
        entry: u64,
        event: cudaEvent_t,
        stream: cudaStream_t,
        flags: c_uint,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaEventRecordWithFlags(entry, event, own(stream), flags) }
    }

    unsafe fn cudaStreamWaitEvent_ptsz(
        entry: u64,
        stream: cudaStream_t,
        event: cudaEvent_t,
        flags: c_uint,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaStreamWaitEvent(entry, own(stream), event, flags) }
    }

    unsafe fn cudaStreamAddCallback_ptsz(
        entry: u64,
        stream: cudaStream_t,
        callback: Option<unsafe extern "C" fn(cudaStream_t, cudaError_t, *mut c_void)>,
        userData: *mut c_void,
        flags: c_uint,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaStreamAddCallback(entry, own(stream), callback, userData, flags) }
    }

    unsafe fn cudaStreamSynchronize_ptsz(entry: u64, stream: cudaStream_t) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaStreamSynchronize(entry, own(stream)) }
    }

    unsafe fn cudaLaunchKernel_ptsz(
        entry: u64,
        func: *const c_void,
        gridDim: dim3,
        blockDim: dim3,
        args: *mut *mut c_void,
        sharedMem: usize,
        stream: cudaStream_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe {
            Self::cudaLaunchKernel(entry, func, gridDim, blockDim, args, sharedMem, own(stream))
        }
    }

    unsafe fn cudaLaunchKernelExC_ptsz(
        entry: u64,
        config: *const cudaLaunchConfig_t,
        func: *const c_void,
        args: *mut *mut c_void,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe {
            let own = config.as_ref().map(|config| cudaLaunchConfig_t {
                stream: own(config.stream),
                ..*config
            });
            let config = own.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
            Self::cudaLaunchKernelExC(entry, config, func, args)
        }
    }

    unsafe fn cudaLaunchHostFunc_ptsz(
        entry: u64,
        stream: cudaStream_t,
        r#fn: Option<unsafe extern "C" fn(*mut c_void)>,
        userData: *mut c_void,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaLaunchHostFunc(entry, own(stream), r#fn, userData) }
    }

    unsafe fn cudaLaunchCooperativeKernel_ptsz(
        entry: u64,
        func: *const c_void,
        gridDim: dim3,
        blockDim: dim3,
        args: *mut *mut c_void,
        sharedMem: usize,
        stream: cudaStream_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe {
            Self::cudaLaunchCooperativeKernel(
                entry,
                func,
                gridDim,
                blockDim,
                args,
                sharedMem,
                own(stream),
            )
        }
    }

    unsafe fn cudaStreamCopyAttributes_ptsz(
        entry: u64,
        dst: cudaStream_t,
        src: cudaStream_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaStreamCopyAttributes(entry, own(dst), own(src)) }
    }

    unsafe fn cudaStreamGetAttribute_ptsz(
        entry: u64,
        hStream: cudaStream_t,
        attr: cudaLaunchAttributeID,
        value_out: *mut cudaLaunchAttributeValue,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaStreamGetAttribute(entry, own(hStream), attr, value_out) }
    }

    unsafe fn cudaStreamSetAttribute_ptsz(
        entry: u64,
        hStream: cudaStream_t,
        attr: cudaLaunchAttributeID,
        value: *const cudaLaunchAttributeValue,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaStreamSetAttribute(entry, own(hStream), attr, value) }
    }

    unsafe fn __cudaLaunchKernel_ptsz(
        entry: u64,
        kernel: cudaKernel_t,
        gridDim: dim3,
        blockDim: dim3,
        args: *mut *mut c_void,
        sharedMem: usize,
        stream: cudaStream_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe {
            Self::__cudaLaunchKernel(
                entry,
                kernel,
                gridDim,
                blockDim,
                args,
                sharedMem,
                own(stream),
            )
        }
    }

    unsafe fn cudaStreamBeginCapture_ptsz(
        entry: u64,
        stream: cudaStream_t,
        mode: cudaStreamCaptureMode,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaStreamBeginCapture(entry, own(stream), mode) }
    }

    unsafe fn cudaStreamBeginCaptureToGraph_ptsz(
        entry: u64,
        stream: cudaStream_t,
        graph: cudaGraph_t,
        dependencies: *const cudaGraphNode_t,
        dependencyData: *const cudaGraphEdgeData,
        numDependencies: usize,
        mode: cudaStreamCaptureMode,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe {
            Self::cudaStreamBeginCaptureToGraph(
                entry,
                own(stream),
                graph,
                dependencies,
                dependencyData,
                numDependencies,
                mode,
            )
        }
    }

    unsafe fn cudaStreamEndCapture_ptsz(
        entry: u64,
        stream: cudaStream_t,
        pGraph: *mut cudaGraph_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaStreamEndCapture(entry, own(stream), pGraph) }
    }

    unsafe fn cudaStreamGetCaptureInfo_ptsz(
        entry: u64,
        stream: cudaStream_t,
        captureStatus_out: *mut cudaStreamCaptureStatus,
        id_out: *mut u64,
        graph_out: *mut cudaGraph_t,
        dependencies_out: *mut *const cudaGraphNode_t,
        edgeData_out: *mut *const cudaGraphEdgeData,
        numDependencies_out: *mut usize,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe {
            Self::cudaStreamGetCaptureInfo(
                entry,
                own(stream),
                captureStatus_out,
                id_out,
                graph_out,
                dependencies_out,
                edgeData_out,
                numDependencies_out,
            )
        }
    }

    unsafe fn cudaStreamUpdateCaptureDependencies_ptsz(
        entry: u64,
        stream: cudaStream_t,
        dependencies: *mut cudaGraphNode_t,
        dependencyData: *const cudaGraphEdgeData,
        numDependencies: usize,
        flags: c_uint,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe {
            Self::cudaStreamUpdateCaptureDependencies(
                entry,
                own(stream),
                dependencies,
                dependencyData,
                numDependencies,
                flags,
            )
        }
    }

    unsafe fn cudaGraphUpload_ptsz(
        entry: u64,
        graphExec: cudaGraphExec_t,
        stream: cudaStream_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaGraphUpload(entry, graphExec, own(stream)) }
    }

    unsafe fn cudaGraphLaunch_ptsz(
        entry: u64,
        graphExec: cudaGraphExec_t,
        stream: cudaStream_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaGraphLaunch(entry, graphExec, own(stream)) }
    }
}
