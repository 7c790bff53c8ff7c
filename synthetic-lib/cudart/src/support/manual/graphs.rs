//! Graphs, and streams that are captured.

use super::*;
use crate::generated::manual::Graphs;
use std::ptr::null_mut;

/// A launch of the program's, by the function that stands for its kernel.
///
/// # Errors
/// `cudaErrorInvalidValue`, `cudaErrorInvalidDeviceFunction`.
///
/// # Safety
/// `params` is null or a structure.
pub(super) unsafe fn launched(
    params: *const cudaKernelNodeParams,
) -> Answer<cu::CUDA_KERNEL_NODE_PARAMS_v1> {
    // SAFETY: the caller's.
    let params = unsafe { params.as_ref() }.ok_or(cudaErrorInvalidValue)?;
    Ok(cu::CUDA_KERNEL_NODE_PARAMS_v1 {
        func: binary::function(params.func)?,
        gridDimX: params.gridDim.x,
        gridDimY: params.gridDim.y,
        gridDimZ: params.gridDim.z,
        blockDimX: params.blockDim.x,
        blockDimY: params.blockDim.y,
        blockDimZ: params.blockDim.z,
        sharedMemBytes: params.sharedMemBytes,
        kernelParams: params.kernelParams,
        extra: params.extra,
    })
}

/// A copy of bytes as the driver API has it: which memory each end is, the kind says.
///
/// # Errors
/// `cudaErrorInvalidMemcpyDirection`.
fn line(
    dst: *mut c_void,
    src: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
) -> Answer<cu::CUDA_MEMCPY3D> {
    const HOST: cu::CUmemorytype = 1;
    const DEVICE: cu::CUmemorytype = 2;
    /// By the address.
    const UNIFIED: cu::CUmemorytype = 4;
    let (to, from) = match kind {
        0 => (HOST, HOST),
        1 => (DEVICE, HOST),
        2 => (HOST, DEVICE),
        3 => (DEVICE, DEVICE),
        4 => (UNIFIED, UNIFIED),
        _ => return Err(cudaErrorInvalidMemcpyDirection),
    };
    Ok(cu::CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: from,
        srcHost: src,
        srcDevice: src.expose_provenance() as u64,
        srcArray: null_mut(),
        reserved0: null_mut(),
        srcPitch: count,
        srcHeight: 1,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: to,
        dstHost: dst,
        dstDevice: dst.expose_provenance() as u64,
        dstArray: null_mut(),
        reserved1: null_mut(),
        dstPitch: count,
        dstHeight: 1,
        WidthInBytes: count,
        Height: 1,
        Depth: 1,
    })
}

impl Graphs for Guest {
    unsafe fn cudaStreamBeginCapture(
        _: u64,
        stream: cudaStream_t,
        mode: cudaStreamCaptureMode,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuStreamBeginCapture_v2(stream.cast(), mode) })
    }

    unsafe fn cudaStreamBeginCaptureToGraph(
        _: u64,
        stream: cudaStream_t,
        graph: cudaGraph_t,
        dependencies: *const cudaGraphNode_t,
        dependencyData: *const cudaGraphEdgeData,
        numDependencies: usize,
        mode: cudaStreamCaptureMode,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuStreamBeginCaptureToGraph(
                stream.cast(),
                graph.cast(),
                dependencies.cast(),
                dependencyData.cast(),
                numDependencies,
                mode,
            )
        })
    }

    unsafe fn cudaThreadExchangeStreamCaptureMode(
        _: u64,
        mode: *mut cudaStreamCaptureMode,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuThreadExchangeStreamCaptureMode(mode) })
    }

    unsafe fn cudaStreamEndCapture(
        _: u64,
        stream: cudaStream_t,
        pGraph: *mut cudaGraph_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuStreamEndCapture(stream.cast(), pGraph.cast()) })
    }

    unsafe fn cudaStreamGetCaptureInfo(
        _: u64,
        stream: cudaStream_t,
        captureStatus_out: *mut cudaStreamCaptureStatus,
        id_out: *mut u64,
        graph_out: *mut cudaGraph_t,
        dependencies_out: *mut *const cudaGraphNode_t,
        edgeData_out: *mut *const cudaGraphEdgeData,
        numDependencies_out: *mut usize,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuStreamGetCaptureInfo_v3(
                stream.cast(),
                captureStatus_out,
                id_out,
                graph_out.cast(),
                dependencies_out.cast(),
                edgeData_out.cast(),
                numDependencies_out,
            )
        })
    }

    unsafe fn cudaStreamUpdateCaptureDependencies(
        _: u64,
        stream: cudaStream_t,
        dependencies: *mut cudaGraphNode_t,
        dependencyData: *const cudaGraphEdgeData,
        numDependencies: usize,
        flags: c_uint,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuStreamUpdateCaptureDependencies_v2(
                stream.cast(),
                dependencies.cast(),
                dependencyData.cast(),
                numDependencies,
                flags,
            )
        })
    }

    unsafe fn cudaGraphCreate(_: u64, pGraph: *mut cudaGraph_t, flags: c_uint) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphCreate(pGraph.cast(), flags) })
    }

    unsafe fn cudaGraphKernelNodeCopyAttributes(
        _: u64,
        hDst: cudaGraphNode_t,
        hSrc: cudaGraphNode_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphKernelNodeCopyAttributes(hDst.cast(), hSrc.cast()) })
    }

    unsafe fn cudaGraphKernelNodeGetAttribute(
        _: u64,
        hNode: cudaGraphNode_t,
        attr: cudaLaunchAttributeID,
        value_out: *mut cudaLaunchAttributeValue,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphKernelNodeGetAttribute(hNode.cast(), attr, value_out.cast()) })
    }

    unsafe fn cudaGraphKernelNodeSetAttribute(
        _: u64,
        hNode: cudaGraphNode_t,
        attr: cudaLaunchAttributeID,
        value: *const cudaLaunchAttributeValue,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphKernelNodeSetAttribute(hNode.cast(), attr, value.cast()) })
    }

    unsafe fn cudaGraphMemsetNodeGetParams(
        _: u64,
        node: cudaGraphNode_t,
        pNodeParams: *mut cudaMemsetParams,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphMemsetNodeGetParams(node.cast(), pNodeParams.cast()) })
    }

    unsafe fn cudaGraphMemsetNodeSetParams(
        _: u64,
        node: cudaGraphNode_t,
        pNodeParams: *const cudaMemsetParams,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphMemsetNodeSetParams(node.cast(), pNodeParams.cast()) })
    }

    unsafe fn cudaGraphAddHostNode(
        _: u64,
        pGraphNode: *mut cudaGraphNode_t,
        graph: cudaGraph_t,
        pDependencies: *const cudaGraphNode_t,
        numDependencies: usize,
        pNodeParams: *const cudaHostNodeParams,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuGraphAddHostNode(
                pGraphNode.cast(),
                graph.cast(),
                pDependencies.cast(),
                numDependencies,
                pNodeParams.cast(),
            )
        })
    }

    unsafe fn cudaGraphHostNodeGetParams(
        _: u64,
        node: cudaGraphNode_t,
        pNodeParams: *mut cudaHostNodeParams,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphHostNodeGetParams(node.cast(), pNodeParams.cast()) })
    }

    unsafe fn cudaGraphHostNodeSetParams(
        _: u64,
        node: cudaGraphNode_t,
        pNodeParams: *const cudaHostNodeParams,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphHostNodeSetParams(node.cast(), pNodeParams.cast()) })
    }

    unsafe fn cudaGraphAddChildGraphNode(
        _: u64,
        pGraphNode: *mut cudaGraphNode_t,
        graph: cudaGraph_t,
        pDependencies: *const cudaGraphNode_t,
        numDependencies: usize,
        childGraph: cudaGraph_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuGraphAddChildGraphNode(
                pGraphNode.cast(),
                graph.cast(),
                pDependencies.cast(),
                numDependencies,
                childGraph.cast(),
            )
        })
    }

    unsafe fn cudaGraphChildGraphNodeGetGraph(
        _: u64,
        node: cudaGraphNode_t,
        pGraph: *mut cudaGraph_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphChildGraphNodeGetGraph(node.cast(), pGraph.cast()) })
    }

    unsafe fn cudaGraphAddEmptyNode(
        _: u64,
        pGraphNode: *mut cudaGraphNode_t,
        graph: cudaGraph_t,
        pDependencies: *const cudaGraphNode_t,
        numDependencies: usize,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuGraphAddEmptyNode(
                pGraphNode.cast(),
                graph.cast(),
                pDependencies.cast(),
                numDependencies,
            )
        })
    }

    unsafe fn cudaGraphAddEventRecordNode(
        _: u64,
        pGraphNode: *mut cudaGraphNode_t,
        graph: cudaGraph_t,
        pDependencies: *const cudaGraphNode_t,
        numDependencies: usize,
        event: cudaEvent_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuGraphAddEventRecordNode(
                pGraphNode.cast(),
                graph.cast(),
                pDependencies.cast(),
                numDependencies,
                event.cast(),
            )
        })
    }

    unsafe fn cudaGraphEventRecordNodeGetEvent(
        _: u64,
        node: cudaGraphNode_t,
        event_out: *mut cudaEvent_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphEventRecordNodeGetEvent(node.cast(), event_out.cast()) })
    }

    unsafe fn cudaGraphEventRecordNodeSetEvent(
        _: u64,
        node: cudaGraphNode_t,
        event: cudaEvent_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphEventRecordNodeSetEvent(node.cast(), event.cast()) })
    }

    unsafe fn cudaGraphAddEventWaitNode(
        _: u64,
        pGraphNode: *mut cudaGraphNode_t,
        graph: cudaGraph_t,
        pDependencies: *const cudaGraphNode_t,
        numDependencies: usize,
        event: cudaEvent_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuGraphAddEventWaitNode(
                pGraphNode.cast(),
                graph.cast(),
                pDependencies.cast(),
                numDependencies,
                event.cast(),
            )
        })
    }

    unsafe fn cudaGraphEventWaitNodeGetEvent(
        _: u64,
        node: cudaGraphNode_t,
        event_out: *mut cudaEvent_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphEventWaitNodeGetEvent(node.cast(), event_out.cast()) })
    }

    unsafe fn cudaGraphEventWaitNodeSetEvent(
        _: u64,
        node: cudaGraphNode_t,
        event: cudaEvent_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphEventWaitNodeSetEvent(node.cast(), event.cast()) })
    }

    unsafe fn cudaGraphClone(
        _: u64,
        pGraphClone: *mut cudaGraph_t,
        originalGraph: cudaGraph_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphClone(pGraphClone.cast(), originalGraph.cast()) })
    }

    unsafe fn cudaGraphNodeFindInClone(
        _: u64,
        pNode: *mut cudaGraphNode_t,
        originalNode: cudaGraphNode_t,
        clonedGraph: cudaGraph_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuGraphNodeFindInClone(pNode.cast(), originalNode.cast(), clonedGraph.cast())
        })
    }

    unsafe fn cudaGraphNodeGetType(
        _: u64,
        node: cudaGraphNode_t,
        pType: *mut cudaGraphNodeType,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphNodeGetType(node.cast(), pType) })
    }

    unsafe fn cudaGraphGetNodes(
        _: u64,
        graph: cudaGraph_t,
        nodes: *mut cudaGraphNode_t,
        numNodes: *mut usize,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphGetNodes(graph.cast(), nodes.cast(), numNodes) })
    }

    unsafe fn cudaGraphGetRootNodes(
        _: u64,
        graph: cudaGraph_t,
        pRootNodes: *mut cudaGraphNode_t,
        pNumRootNodes: *mut usize,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphGetRootNodes(graph.cast(), pRootNodes.cast(), pNumRootNodes) })
    }

    unsafe fn cudaGraphGetEdges(
        _: u64,
        graph: cudaGraph_t,
        from: *mut cudaGraphNode_t,
        to: *mut cudaGraphNode_t,
        edgeData: *mut cudaGraphEdgeData,
        numEdges: *mut usize,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuGraphGetEdges_v2(
                graph.cast(),
                from.cast(),
                to.cast(),
                edgeData.cast(),
                numEdges,
            )
        })
    }

    unsafe fn cudaGraphNodeGetDependencies(
        _: u64,
        node: cudaGraphNode_t,
        pDependencies: *mut cudaGraphNode_t,
        edgeData: *mut cudaGraphEdgeData,
        pNumDependencies: *mut usize,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuGraphNodeGetDependencies_v2(
                node.cast(),
                pDependencies.cast(),
                edgeData.cast(),
                pNumDependencies,
            )
        })
    }

    unsafe fn cudaGraphNodeGetDependentNodes(
        _: u64,
        node: cudaGraphNode_t,
        pDependentNodes: *mut cudaGraphNode_t,
        edgeData: *mut cudaGraphEdgeData,
        pNumDependentNodes: *mut usize,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuGraphNodeGetDependentNodes_v2(
                node.cast(),
                pDependentNodes.cast(),
                edgeData.cast(),
                pNumDependentNodes,
            )
        })
    }

    unsafe fn cudaGraphAddDependencies(
        _: u64,
        graph: cudaGraph_t,
        from: *const cudaGraphNode_t,
        to: *const cudaGraphNode_t,
        edgeData: *const cudaGraphEdgeData,
        numDependencies: usize,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuGraphAddDependencies_v2(
                graph.cast(),
                from.cast(),
                to.cast(),
                edgeData.cast(),
                numDependencies,
            )
        })
    }

    unsafe fn cudaGraphRemoveDependencies(
        _: u64,
        graph: cudaGraph_t,
        from: *const cudaGraphNode_t,
        to: *const cudaGraphNode_t,
        edgeData: *const cudaGraphEdgeData,
        numDependencies: usize,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuGraphRemoveDependencies_v2(
                graph.cast(),
                from.cast(),
                to.cast(),
                edgeData.cast(),
                numDependencies,
            )
        })
    }

    unsafe fn cudaGraphDestroyNode(_: u64, node: cudaGraphNode_t) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphDestroyNode(node.cast()) })
    }

    unsafe fn cudaGraphInstantiate(
        _: u64,
        pGraphExec: *mut cudaGraphExec_t,
        graph: cudaGraph_t,
        flags: u64,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphInstantiateWithFlags(pGraphExec.cast(), graph.cast(), flags) })
    }

    unsafe fn cudaGraphInstantiateWithFlags(
        _: u64,
        pGraphExec: *mut cudaGraphExec_t,
        graph: cudaGraph_t,
        flags: u64,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphInstantiateWithFlags(pGraphExec.cast(), graph.cast(), flags) })
    }

    unsafe fn cudaGraphExecGetFlags(
        _: u64,
        graphExec: cudaGraphExec_t,
        flags: *mut u64,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphExecGetFlags(graphExec.cast(), flags) })
    }

    unsafe fn cudaGraphExecHostNodeSetParams(
        _: u64,
        hGraphExec: cudaGraphExec_t,
        node: cudaGraphNode_t,
        pNodeParams: *const cudaHostNodeParams,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuGraphExecHostNodeSetParams(hGraphExec.cast(), node.cast(), pNodeParams.cast())
        })
    }

    unsafe fn cudaGraphExecChildGraphNodeSetParams(
        _: u64,
        hGraphExec: cudaGraphExec_t,
        node: cudaGraphNode_t,
        childGraph: cudaGraph_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuGraphExecChildGraphNodeSetParams(hGraphExec.cast(), node.cast(), childGraph.cast())
        })
    }

    unsafe fn cudaGraphExecEventRecordNodeSetEvent(
        _: u64,
        hGraphExec: cudaGraphExec_t,
        hNode: cudaGraphNode_t,
        event: cudaEvent_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuGraphExecEventRecordNodeSetEvent(hGraphExec.cast(), hNode.cast(), event.cast())
        })
    }

    unsafe fn cudaGraphExecEventWaitNodeSetEvent(
        _: u64,
        hGraphExec: cudaGraphExec_t,
        hNode: cudaGraphNode_t,
        event: cudaEvent_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuGraphExecEventWaitNodeSetEvent(hGraphExec.cast(), hNode.cast(), event.cast())
        })
    }

    unsafe fn cudaGraphNodeSetEnabled(
        _: u64,
        hGraphExec: cudaGraphExec_t,
        hNode: cudaGraphNode_t,
        isEnabled: c_uint,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphNodeSetEnabled(hGraphExec.cast(), hNode.cast(), isEnabled) })
    }

    unsafe fn cudaGraphNodeGetEnabled(
        _: u64,
        hGraphExec: cudaGraphExec_t,
        hNode: cudaGraphNode_t,
        isEnabled: *mut c_uint,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphNodeGetEnabled(hGraphExec.cast(), hNode.cast(), isEnabled) })
    }

    unsafe fn cudaGraphExecUpdate(
        _: u64,
        hGraphExec: cudaGraphExec_t,
        hGraph: cudaGraph_t,
        resultInfo: *mut cudaGraphExecUpdateResultInfo,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuGraphExecUpdate_v2(hGraphExec.cast(), hGraph.cast(), resultInfo.cast())
        })
    }

    unsafe fn cudaGraphUpload(
        _: u64,
        graphExec: cudaGraphExec_t,
        stream: cudaStream_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphUpload(graphExec.cast(), stream.cast()) })
    }

    unsafe fn cudaGraphLaunch(
        _: u64,
        graphExec: cudaGraphExec_t,
        stream: cudaStream_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphLaunch(graphExec.cast(), stream.cast()) })
    }

    unsafe fn cudaGraphExecDestroy(_: u64, graphExec: cudaGraphExec_t) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphExecDestroy(graphExec.cast()) })
    }

    unsafe fn cudaGraphDestroy(_: u64, graph: cudaGraph_t) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphDestroy(graph.cast()) })
    }

    unsafe fn cudaGraphDebugDotPrint(
        _: u64,
        graph: cudaGraph_t,
        path: *const c_char,
        flags: c_uint,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphDebugDotPrint(graph.cast(), path, flags) })
    }

    unsafe fn cudaUserObjectCreate(
        _: u64,
        object_out: *mut cudaUserObject_t,
        ptr: *mut c_void,
        destroy: Option<unsafe extern "C" fn(*mut c_void)>,
        initialRefcount: c_uint,
        flags: c_uint,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuUserObjectCreate(object_out.cast(), ptr, destroy, initialRefcount, flags)
        })
    }

    unsafe fn cudaUserObjectRetain(_: u64, object: cudaUserObject_t, count: c_uint) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuUserObjectRetain(object.cast(), count) })
    }

    unsafe fn cudaUserObjectRelease(
        _: u64,
        object: cudaUserObject_t,
        count: c_uint,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuUserObjectRelease(object.cast(), count) })
    }

    unsafe fn cudaGraphRetainUserObject(
        _: u64,
        graph: cudaGraph_t,
        object: cudaUserObject_t,
        count: c_uint,
        flags: c_uint,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphRetainUserObject(graph.cast(), object.cast(), count, flags) })
    }

    unsafe fn cudaGraphReleaseUserObject(
        _: u64,
        graph: cudaGraph_t,
        object: cudaUserObject_t,
        count: c_uint,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuGraphReleaseUserObject(graph.cast(), object.cast(), count) })
    }

    unsafe fn cudaGraphAddMemsetNode(
        _: u64,
        pGraphNode: *mut cudaGraphNode_t,
        graph: cudaGraph_t,
        pDependencies: *const cudaGraphNode_t,
        numDependencies: usize,
        pMemsetParams: *const cudaMemsetParams,
    ) -> cudaError_t {
        // SAFETY: the caller's; the structures are laid out alike.
        within(|| unsafe {
            let params = pMemsetParams.cast();
            cuGraphAddMemsetNode(
                pGraphNode.cast(),
                graph.cast(),
                pDependencies.cast(),
                numDependencies,
                params,
                null_mut(),
            )
        })
    }

    unsafe fn cudaGraphExecMemsetNodeSetParams(
        _: u64,
        hGraphExec: cudaGraphExec_t,
        node: cudaGraphNode_t,
        pNodeParams: *const cudaMemsetParams,
    ) -> cudaError_t {
        // SAFETY: the caller's; the structures are laid out alike.
        within(|| unsafe {
            cuGraphExecMemsetNodeSetParams(
                hGraphExec.cast(),
                node.cast(),
                pNodeParams.cast(),
                null_mut(),
            )
        })
    }

    unsafe fn cudaGraphAddKernelNode(
        _: u64,
        pGraphNode: *mut cudaGraphNode_t,
        graph: cudaGraph_t,
        pDependencies: *const cudaGraphNode_t,
        numDependencies: usize,
        pNodeParams: *const cudaKernelNodeParams,
    ) -> cudaError_t {
        returned(|| {
            device::ready()?;
            // SAFETY: the caller's.
            driver(unsafe {
                let params = launched(pNodeParams)?;
                let (node, before) = (pGraphNode.cast(), pDependencies.cast());
                cuGraphAddKernelNode(
                    node,
                    graph.cast(),
                    before,
                    numDependencies,
                    &raw const params,
                )
            })
        })
    }

    unsafe fn cudaGraphKernelNodeSetParams(
        _: u64,
        node: cudaGraphNode_t,
        pNodeParams: *const cudaKernelNodeParams,
    ) -> cudaError_t {
        returned(|| {
            device::ready()?;
            // SAFETY: the caller's.
            driver(unsafe {
                let params = launched(pNodeParams)?;
                cuGraphKernelNodeSetParams(node.cast(), &raw const params)
            })
        })
    }

    unsafe fn cudaGraphExecKernelNodeSetParams(
        _: u64,
        hGraphExec: cudaGraphExec_t,
        node: cudaGraphNode_t,
        pNodeParams: *const cudaKernelNodeParams,
    ) -> cudaError_t {
        returned(|| {
            device::ready()?;
            // SAFETY: the caller's.
            driver(unsafe {
                let params = launched(pNodeParams)?;
                cuGraphExecKernelNodeSetParams(hGraphExec.cast(), node.cast(), &raw const params)
            })
        })
    }

    unsafe fn cudaGraphAddMemcpyNode1D(
        _: u64,
        pGraphNode: *mut cudaGraphNode_t,
        graph: cudaGraph_t,
        pDependencies: *const cudaGraphNode_t,
        numDependencies: usize,
        dst: *mut c_void,
        src: *const c_void,
        count: usize,
        kind: cudaMemcpyKind,
    ) -> cudaError_t {
        returned(|| {
            device::ready()?;
            let copy = line(dst, src, count, kind)?;
            let (node, before) = (pGraphNode.cast(), pDependencies.cast());
            let count = numDependencies;
            // SAFETY: the caller's.
            driver(unsafe {
                cuGraphAddMemcpyNode(
                    node,
                    graph.cast(),
                    before,
                    count,
                    &raw const copy,
                    null_mut(),
                )
            })
        })
    }

    unsafe fn cudaGraphMemcpyNodeSetParams1D(
        _: u64,
        node: cudaGraphNode_t,
        dst: *mut c_void,
        src: *const c_void,
        count: usize,
        kind: cudaMemcpyKind,
    ) -> cudaError_t {
        returned(|| {
            device::ready()?;
            let copy = line(dst, src, count, kind)?;
            // SAFETY: the caller's.
            driver(unsafe { cuGraphMemcpyNodeSetParams(node.cast(), &raw const copy) })
        })
    }

    unsafe fn cudaGraphExecMemcpyNodeSetParams1D(
        _: u64,
        hGraphExec: cudaGraphExec_t,
        node: cudaGraphNode_t,
        dst: *mut c_void,
        src: *const c_void,
        count: usize,
        kind: cudaMemcpyKind,
    ) -> cudaError_t {
        returned(|| {
            device::ready()?;
            let copy = line(dst, src, count, kind)?;
            let exec = hGraphExec.cast();
            // SAFETY: the caller's.
            driver(unsafe {
                cuGraphExecMemcpyNodeSetParams(exec, node.cast(), &raw const copy, null_mut())
            })
        })
    }
}
