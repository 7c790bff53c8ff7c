//! Nodes of graphs by one description, which names their kind, and nodes that copy boxes.

use super::graphs::launched;
use super::*;
use crate::generated::manual::AnyNodes;

/// Words that a node of a kind has of the description's union, in the order of its fields in `driver_types.h`.
mod words {
    /// `cudaKernelNodeParamsV2`, whose fields are those of the first version.
    pub const KERNEL: usize = size_of::<super::cudaKernelNodeParams>() / 8;
    /// `cudaMemcpyNodeParams`: flags and three reserved ones, then the copy.
    pub const COPY: usize = COPIED + size_of::<super::cudaMemcpy3DParms>() / 8;
    /// Where the copy begins.
    pub const COPIED: usize = 2;
    /// Where the driver's begins, behind flags and a context.
    pub const DRIVERS_COPY: usize = 2;
}

/// The node as the driver API describes it. Kinds that have no functions and no copies are laid out alike.
///
/// # Errors
/// `cudaErrorInvalidValue`, also if anything behind what the kind has is not zero, and as [`launched`] and
/// [`rectangles::described`].
///
/// # Safety
/// `params` is null or a description, with the pointers of its kind.
unsafe fn described(params: *const cudaGraphNodeParams) -> Answer<cu::CUgraphNodeParams> {
    // SAFETY: the caller's.
    let params = unsafe { params.as_ref() }.ok_or(cudaErrorInvalidValue)?;
    let mut it = cu::CUgraphNodeParams {
        r#type: params.r#type,
        reserved0: params.reserved0,
        reserved1: params.reserved1,
        reserved2: params.reserved2,
    };
    let used = match params.r#type {
        cu::CU_GRAPH_NODE_TYPE_KERNEL => words::KERNEL,
        cu::CU_GRAPH_NODE_TYPE_MEMCPY => words::COPY,
        _ => return Ok(it),
    };
    if params.reserved1[used..].iter().any(|word| *word != 0) {
        return Err(cudaErrorInvalidValue);
    }
    it.reserved1 = [0; 29];
    // SAFETY: both unions have as many words, of the structures that the type says.
    unsafe {
        if used == words::KERNEL {
            let kernel = launched((&raw const params.reserved1).cast())?;
            // The driver's later versions have two fields more, which are null.
            (&raw mut it.reserved1)
                .cast::<cu::CUDA_KERNEL_NODE_PARAMS_v1>()
                .write(kernel);
        } else {
            if params.reserved1[..words::COPIED] != [0; words::COPIED] {
                return Err(cudaErrorInvalidValue);
            }
            let copy = rectangles::described((&raw const params.reserved1[words::COPIED]).cast())?;
            let to = &raw mut it.reserved1[words::DRIVERS_COPY];
            to.cast::<cu::CUDA_MEMCPY3D>()
                .write(copy.ok_or(cudaErrorInvalidValue)?);
        }
    }
    Ok(it)
}

/// A box that a node copies.
///
/// # Errors
/// As [`rectangles::described`], and `cudaErrorInvalidValue` of an empty one.
///
/// # Safety
/// `params` is null or a structure.
unsafe fn copied(params: *const cudaMemcpy3DParms) -> Answer<cu::CUDA_MEMCPY3D> {
    device::ready()?;
    // SAFETY: the caller's.
    unsafe { rectangles::described(params) }?.ok_or(cudaErrorInvalidValue)
}

impl AnyNodes for Guest {
    unsafe fn cudaGraphAddNode(
        _: u64,
        pGraphNode: *mut cudaGraphNode_t,
        graph: cudaGraph_t,
        pDependencies: *const cudaGraphNode_t,
        dependencyData: *const cudaGraphEdgeData,
        numDependencies: usize,
        nodeParams: *mut cudaGraphNodeParams,
    ) -> cudaError_t {
        returned(|| {
            device::ready()?;
            // SAFETY: the caller's; edges are laid out alike.
            driver(unsafe {
                let mut params = described(nodeParams)?;
                cuGraphAddNode_v2(
                    pGraphNode.cast(),
                    graph.cast(),
                    pDependencies.cast(),
                    dependencyData.cast(),
                    numDependencies,
                    &raw mut params,
                )
            })
        })
    }

    unsafe fn cudaGraphNodeSetParams(
        _: u64,
        node: cudaGraphNode_t,
        nodeParams: *mut cudaGraphNodeParams,
    ) -> cudaError_t {
        returned(|| {
            device::ready()?;
            // SAFETY: the caller's.
            driver(unsafe {
                let mut params = described(nodeParams)?;
                cuGraphNodeSetParams(node.cast(), &raw mut params)
            })
        })
    }

    unsafe fn cudaGraphExecNodeSetParams(
        _: u64,
        graphExec: cudaGraphExec_t,
        node: cudaGraphNode_t,
        nodeParams: *mut cudaGraphNodeParams,
    ) -> cudaError_t {
        returned(|| {
            device::ready()?;
            // SAFETY: the caller's.
            driver(unsafe {
                let mut params = described(nodeParams)?;
                cuGraphExecNodeSetParams(graphExec.cast(), node.cast(), &raw mut params)
            })
        })
    }

    unsafe fn cudaGraphAddMemcpyNode(
        _: u64,
        pGraphNode: *mut cudaGraphNode_t,
        graph: cudaGraph_t,
        pDependencies: *const cudaGraphNode_t,
        numDependencies: usize,
        pCopyParams: *const cudaMemcpy3DParms,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        returned(|| unsafe {
            let copy = copied(pCopyParams)?;
            driver(cuGraphAddMemcpyNode(
                pGraphNode.cast(),
                graph.cast(),
                pDependencies.cast(),
                numDependencies,
                &raw const copy,
                std::ptr::null_mut(),
            ))
        })
    }

    unsafe fn cudaGraphMemcpyNodeSetParams(
        _: u64,
        node: cudaGraphNode_t,
        pNodeParams: *const cudaMemcpy3DParms,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        returned(|| unsafe {
            let copy = copied(pNodeParams)?;
            driver(cuGraphMemcpyNodeSetParams(node.cast(), &raw const copy))
        })
    }

    unsafe fn cudaGraphExecMemcpyNodeSetParams(
        _: u64,
        hGraphExec: cudaGraphExec_t,
        node: cudaGraphNode_t,
        pNodeParams: *const cudaMemcpy3DParms,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        returned(|| unsafe {
            let copy = copied(pNodeParams)?;
            driver(cuGraphExecMemcpyNodeSetParams(
                hGraphExec.cast(),
                node.cast(),
                &raw const copy,
                std::ptr::null_mut(),
            ))
        })
    }
}
