//! Nodes of any kind by one description, which names the kind.

use super::*;
use crate::generated::manual::AnyNodes;

/// Words of the description's union that a node of a kind has, in `cuda.h`'s order of its fields.
mod words {
    /// `CUDA_KERNEL_NODE_PARAMS_v3`, whose fields are those of the second version.
    pub const KERNEL: usize = size_of::<super::CUDA_KERNEL_NODE_PARAMS_v2>() / 8;
    /// `CUDA_MEMCPY_NODE_PARAMS`: flags and a reserved word, the context, the copy.
    pub const COPY: usize = COPIED + size_of::<super::CUDA_MEMCPY3D>() / 8;
    /// Where the copy begins.
    pub const COPIED: usize = 2;
    /// `CUDA_MEMSET_NODE_PARAMS_v2`: those of the first version, and the context.
    pub const SET: usize = size_of::<super::CUDA_MEMSET_NODE_PARAMS_v1>() / 8 + 1;
    /// `CUDA_HOST_NODE_PARAMS_v2`.
    pub const CALL: usize = size_of::<super::CUDA_HOST_NODE_PARAMS_v1>() / 8;
    /// `CUDA_CHILD_GRAPH_NODE_PARAMS`: the graph, and whose it is then.
    pub const GRAPH: usize = 2;
    /// `CUDA_EVENT_RECORD_NODE_PARAMS` and `CUDA_EVENT_WAIT_NODE_PARAMS`.
    pub const EVENT: usize = 1;
}

/// What a node gets of a graph that it is to have inside.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// A copy.
    Copied,
    /// What its step changes to, for which the graph itself is looked at.
    Looked,
}

/// The work that is described.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`, also if anything behind what the kind has is not zero, and
/// `CUDA_ERROR_NOT_SUPPORTED` of a kind that is not offered.
///
/// # Safety
/// As CUDA says of the caller.
unsafe fn described(params: *const CUgraphNodeParams, inside: Inside) -> CallResult<Work> {
    // SAFETY: the caller's.
    let params = unsafe { params.as_ref() }.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let all = &params.reserved1;
    let used = match params.r#type {
        CU_GRAPH_NODE_TYPE_KERNEL => words::KERNEL,
        CU_GRAPH_NODE_TYPE_MEMCPY => words::COPY,
        CU_GRAPH_NODE_TYPE_MEMSET => words::SET,
        CU_GRAPH_NODE_TYPE_HOST => words::CALL,
        CU_GRAPH_NODE_TYPE_GRAPH => words::GRAPH,
        CU_GRAPH_NODE_TYPE_EMPTY => 0,
        CU_GRAPH_NODE_TYPE_WAIT_EVENT | CU_GRAPH_NODE_TYPE_EVENT_RECORD => words::EVENT,
        _ => return Err(CUDA_ERROR_NOT_SUPPORTED),
    };
    let is_rest_zero = all[used..].iter().all(|word| *word == 0);
    if params.reserved0 != [0; 3] || params.reserved2 != 0 || !is_rest_zero {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let at = |word: usize| (&raw const all[word]).cast::<c_void>();
    let handle = || std::ptr::with_exposed_provenance_mut::<c_void>(all[0] as usize);
    // SAFETY: the union has as many words, of the structure that its type says, and its pointers are the caller's.
    unsafe {
        match params.r#type {
            CU_GRAPH_NODE_TYPE_KERNEL => launched_v2(at(0).cast()),
            CU_GRAPH_NODE_TYPE_MEMCPY => match all[0] {
                0 => copied(at(words::COPIED).cast()),
                _ => Err(CUDA_ERROR_INVALID_VALUE),
            },
            CU_GRAPH_NODE_TYPE_MEMSET => set(at(0).cast()),
            CU_GRAPH_NODE_TYPE_HOST => called(at(0).cast()),
            CU_GRAPH_NODE_TYPE_GRAPH => {
                // That the graph moves into its parent is for nodes of memory.
                if all[1] as i32 != 0 {
                    return Err(CUDA_ERROR_NOT_SUPPORTED);
                }
                let graph = graph::find(handle().cast())?;
                match inside {
                    Inside::Copied => graph.copied(true).map(Work::Graph),
                    Inside::Looked => Ok(Work::Graph(graph)),
                }
            }
            CU_GRAPH_NODE_TYPE_WAIT_EVENT => work::checked_event(handle().cast()).map(Work::Wait),
            CU_GRAPH_NODE_TYPE_EVENT_RECORD => {
                work::checked_event(handle().cast()).map(Work::Record)
            }
            _ => Ok(Work::Empty),
        }
    }
}

impl AnyNodes for Guest {
    unsafe fn cuGraphAddNode_v2(
        _: u64,
        phGraphNode: *mut CUgraphNode,
        hGraph: CUgraph,
        dependencies: *const CUgraphNode,
        dependencyData: *const CUgraphEdgeData,
        numDependencies: usize,
        nodeParams: *mut CUgraphNodeParams,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            added(phGraphNode, hGraph, (dependencies, numDependencies), || {
                plain(dependencyData, numDependencies)?;
                described(nodeParams, Inside::Copied)
            })
        }
    }

    unsafe fn cuGraphAddNode(
        _: u64,
        phGraphNode: *mut CUgraphNode,
        hGraph: CUgraph,
        dependencies: *const CUgraphNode,
        numDependencies: usize,
        nodeParams: *mut CUgraphNodeParams,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            added(phGraphNode, hGraph, (dependencies, numDependencies), || {
                described(nodeParams, Inside::Copied)
            })
        }
    }

    unsafe fn cuGraphNodeSetParams(
        _: u64,
        hNode: CUgraphNode,
        nodeParams: *mut CUgraphNodeParams,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| changed(hNode, unsafe { described(nodeParams, Inside::Copied) }?))
    }

    unsafe fn cuGraphExecNodeSetParams(
        _: u64,
        hGraphExec: CUgraphExec,
        hNode: CUgraphNode,
        nodeParams: *mut CUgraphNodeParams,
    ) -> CUresult {
        Self::returned(|| {
            // SAFETY: the caller's.
            let work = unsafe { described(nodeParams, Inside::Looked) }?;
            changed_in(hGraphExec, hNode, work)
        })
    }
}
