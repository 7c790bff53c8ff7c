//! Graphs: entry points.

mod any_node;
mod nodes;

use super::*;
use crate::generated::manual::{Graphs, Object};
use crate::support::capture;
use crate::support::graph::work::{self, Call, Kernel, Set, Work};
use crate::support::graph::{self, Node, exec, user};
use crate::support::stream_attribute;
use gil_cuda_common::attribute::{self, Attribute};
use gil_wire::generated::cuda::Kind;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::ptr::{null, null_mut};

fn checked() -> CallResult<()> {
    context::initialized()
}

/// Edges that are no more than an order, as all are that CUDA had before version 12.3.
///
/// # Errors
/// `CUDA_ERROR_NOT_SUPPORTED` for others.
///
/// # Safety
/// `data` is null or has as many.
pub(super) unsafe fn plain(data: *const CUgraphEdgeData, count: usize) -> CallResult<()> {
    if data.is_null() {
        return Ok(());
    }
    for n in 0..count {
        // SAFETY: the caller's.
        let edge = unsafe { *data.add(n) };
        if edge.from_port != 0 || edge.to_port != 0 || edge.r#type != 0 {
            return Err(CUDA_ERROR_NOT_SUPPORTED);
        }
    }
    Ok(())
}

const PLAIN: CUgraphEdgeData = CUgraphEdgeData {
    from_port: 0,
    to_port: 0,
    r#type: 0,
    reserved: [0; 5],
};

/// Adds a node.
///
/// # Safety
/// As CUDA says of the caller.
unsafe fn added(
    to: *mut CUgraphNode,
    graph: CUgraph,
    (nodes, count): (*const CUgraphNode, usize),
    work: impl FnOnce() -> CallResult<Work>,
) -> CUresult {
    let add = || {
        let graph = graph::find(graph)?;
        // SAFETY: the caller's.
        let before = graph.ids(&unsafe { graph::named(nodes, count) }?)?;
        Ok(graph.add(&before, work()?)?.1)
    };
    // SAFETY: the caller's.
    unsafe { put(to, add) }
}

/// What a node has, of a kind that has it.
///
/// # Safety
/// As CUDA says of the caller.
unsafe fn read<T>(
    node: CUgraphNode,
    to: *mut T,
    read: impl FnOnce(&Work) -> Option<T>,
) -> CUresult {
    let known = || {
        graph::with_node(node, |node| {
            read(&node.work).ok_or(CUDA_ERROR_INVALID_VALUE)
        })
    };
    // SAFETY: the caller's.
    unsafe { put(to, known) }
}

/// Gives a node other work of its kind.
fn changed(node: CUgraphNode, new: Work) -> CallResult<()> {
    graph::with_node(node, |node| match node.work.kind() == new.kind() {
        true => {
            let new = match (&node.work, new) {
                (Work::Kernel(old), Work::Kernel(mut new)) => {
                    new.attributes.clone_from(&old.attributes);
                    Work::Kernel(new)
                }
                (_, new) => new,
            };
            node.work = new;
            Ok(())
        }
        false => Err(CUDA_ERROR_INVALID_VALUE),
    })
}

/// Gives a node's step other work of its kind.
fn changed_in(exec: CUgraphExec, node: CUgraphNode, new: Work) -> CallResult<()> {
    exec::find(exec)?.change(graph::node(node)?.1, new)
}

/// A launch of the program's.
///
/// # Safety
/// As CUDA says of the caller.
unsafe fn launched(params: *const CUDA_KERNEL_NODE_PARAMS_v1) -> CallResult<Work> {
    // SAFETY: the caller's.
    let params = unsafe { params.as_ref() }.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let params = CUDA_KERNEL_NODE_PARAMS_v2 {
        func: params.func,
        gridDimX: params.gridDimX,
        gridDimY: params.gridDimY,
        gridDimZ: params.gridDimZ,
        blockDimX: params.blockDimX,
        blockDimY: params.blockDimY,
        blockDimZ: params.blockDimZ,
        sharedMemBytes: params.sharedMemBytes,
        kernelParams: params.kernelParams,
        extra: params.extra,
        kern: null_mut(),
        ctx: null_mut(),
    };
    // SAFETY: the caller's.
    unsafe { launched_v2(&raw const params) }
}

/// The same, by a library's kernel if there is no function.
///
/// # Safety
/// As CUDA says of the caller.
unsafe fn launched_v2(params: *const CUDA_KERNEL_NODE_PARAMS_v2) -> CallResult<Work> {
    // SAFETY: the caller's.
    let params = unsafe { params.as_ref() }.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let function = match params.func.is_null() {
        true => params.kern.cast(),
        false => params.func,
    };
    let geometry = Geometry {
        grid: [params.gridDimX, params.gridDimY, params.gridDimZ],
        block: [params.blockDimX, params.blockDimY, params.blockDimZ],
        shared: params.sharedMemBytes,
    };
    let values = (params.kernelParams, params.extra);
    // SAFETY: the caller's.
    let kernel = unsafe { Kernel::new(function, geometry, values, Vec::new()) }?;
    Ok(Work::Kernel(Box::new(kernel)))
}

/// A launch for the program, with the node's own values.
fn described(kernel: &Kernel) -> CUDA_KERNEL_NODE_PARAMS_v1 {
    let [gridDimX, gridDimY, gridDimZ] = kernel.geometry.grid;
    let [blockDimX, blockDimY, blockDimZ] = kernel.geometry.block;
    CUDA_KERNEL_NODE_PARAMS_v1 {
        func: std::ptr::with_exposed_provenance_mut(kernel.function),
        gridDimX,
        gridDimY,
        gridDimZ,
        blockDimX,
        blockDimY,
        blockDimZ,
        sharedMemBytes: kernel.geometry.shared,
        kernelParams: kernel.pointers(),
        extra: null_mut(),
    }
}

fn described_v2(kernel: &Kernel) -> CUDA_KERNEL_NODE_PARAMS_v2 {
    let known = described(kernel);
    let is_function = Object::find_any(&[Kind::Function], known.func.cast()).is_some();
    CUDA_KERNEL_NODE_PARAMS_v2 {
        func: if is_function { known.func } else { null_mut() },
        gridDimX: known.gridDimX,
        gridDimY: known.gridDimY,
        gridDimZ: known.gridDimZ,
        blockDimX: known.blockDimX,
        blockDimY: known.blockDimY,
        blockDimZ: known.blockDimZ,
        sharedMemBytes: known.sharedMemBytes,
        kernelParams: known.kernelParams,
        extra: known.extra,
        kern: if is_function {
            null_mut()
        } else {
            known.func.cast()
        },
        ctx: null_mut(),
    }
}

/// # Safety
/// As CUDA says of the caller.
unsafe fn copied(params: *const CUDA_MEMCPY3D) -> CallResult<Work> {
    // SAFETY: the caller's.
    let params = unsafe { params.as_ref() }.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    rectangles::checked(params)?;
    Ok(Work::Copy(Box::new(*params)))
}

/// # Safety
/// As CUDA says of the caller.
unsafe fn set(params: *const CUDA_MEMSET_NODE_PARAMS_v1) -> CallResult<Work> {
    // SAFETY: the caller's.
    let params = unsafe { params.as_ref() }.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let set = Set {
        to: params.dst,
        pitch: params.pitch,
        value: params.value,
        element: params.elementSize,
        width: params.width,
        height: params.height,
    };
    set.checked().map(Work::Set)
}

/// # Safety
/// As CUDA says of the caller.
unsafe fn called(params: *const CUDA_HOST_NODE_PARAMS_v1) -> CallResult<Work> {
    // SAFETY: the caller's.
    let params = unsafe { params.as_ref() }.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let function = params.r#fn.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let data = params.userData;
    Ok(Work::Call(Call { function, data }))
}

/// A graph's edges, as lists.
///
/// # Safety
/// As CUDA says of the caller.
unsafe fn edges(
    graph: CUgraph,
    (from, to): (*mut CUgraphNode, *mut CUgraphNode),
    data: *mut CUgraphEdgeData,
    count: *mut usize,
) -> CallResult<()> {
    let edges = graph::find(graph)?.edges();
    if from.is_null() != to.is_null() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let (first, second): (Vec<_>, Vec<_>) = edges.into_iter().unzip();
    // SAFETY: the caller's. The last list says how many there are.
    unsafe {
        let room = *place(count)?;
        if !data.is_null() && !to.is_null() {
            graph::list(&vec![PLAIN; first.len()], PLAIN, data, count)?;
        }
        for (all, to) in [(&first, from), (&second, to)] {
            *count = room;
            graph::list(all, null_mut(), to, count)?;
        }
    }
    Ok(())
}

/// What a node comes behind, or what comes behind it, as lists.
///
/// # Safety
/// As CUDA says of the caller.
unsafe fn beside(
    node: CUgraphNode,
    is_behind: bool,
    to: *mut CUgraphNode,
    data: *mut CUgraphEdgeData,
    count: *mut usize,
) -> CallResult<()> {
    let (graph, id) = graph::node(node)?;
    let all = graph.beside(id, is_behind);
    // SAFETY: the caller's.
    unsafe {
        let room = *place(count)?;
        if !data.is_null() && !to.is_null() {
            graph::list(&vec![PLAIN; all.len()], PLAIN, data, count)?;
            *count = room;
        }
        graph::list(&all, null_mut(), to, count)?;
    }
    Ok(())
}

/// Has nodes come behind others, or no more.
///
/// # Safety
/// As CUDA says of the caller.
unsafe fn connect(
    graph: CUgraph,
    (from, to): (*const CUgraphNode, *const CUgraphNode),
    data: *const CUgraphEdgeData,
    count: usize,
    is_added: bool,
) -> CallResult<()> {
    let graph = graph::find(graph)?;
    // SAFETY: the caller's.
    let (from, to) = unsafe {
        plain(data, count)?;
        (graph::named(from, count)?, graph::named(to, count)?)
    };
    let edges = graph.ids(&from)?.into_iter().zip(graph.ids(&to)?);
    graph.connect(&edges.collect::<Vec<_>>(), is_added)
}

impl Graphs for Guest {
    unsafe fn cuGraphCreate(_: u64, phGraph: *mut CUgraph, flags: c_uint) -> CUresult {
        if flags != 0 {
            return CUDA_ERROR_INVALID_VALUE;
        }
        // SAFETY: the caller's.
        unsafe { put(phGraph, || checked().and_then(|()| graph::make())) }
    }

    unsafe fn cuGraphClone(_: u64, phGraphClone: *mut CUgraph, originalGraph: CUgraph) -> CUresult {
        let copy = || graph::shown(&graph::find(originalGraph)?.copied(false)?);
        // SAFETY: the caller's.
        unsafe { put(phGraphClone, copy) }
    }

    unsafe fn cuGraphNodeFindInClone(
        _: u64,
        phNode: *mut CUgraphNode,
        hOriginalNode: CUgraphNode,
        hClonedGraph: CUgraph,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(phNode, || graph::find_in_copy(hOriginalNode, hClonedGraph)) }
    }

    unsafe fn cuGraphNodeGetType(
        _: u64,
        hNode: CUgraphNode,
        r#type: *mut CUgraphNodeType,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { read(hNode, r#type, |work| Some(work.kind())) }
    }

    unsafe fn cuGraphGetNodes(
        _: u64,
        hGraph: CUgraph,
        nodes: *mut CUgraphNode,
        numNodes: *mut usize,
    ) -> CUresult {
        Self::returned(|| {
            let all = graph::find(hGraph)?.nodes(false);
            // SAFETY: the caller's.
            unsafe { graph::list(&all, null_mut(), nodes, numNodes) }
        })
    }

    unsafe fn cuGraphGetRootNodes(
        _: u64,
        hGraph: CUgraph,
        rootNodes: *mut CUgraphNode,
        numRootNodes: *mut usize,
    ) -> CUresult {
        Self::returned(|| {
            let all = graph::find(hGraph)?.nodes(true);
            // SAFETY: the caller's.
            unsafe { graph::list(&all, null_mut(), rootNodes, numRootNodes) }
        })
    }

    unsafe fn cuGraphDestroyNode(entry: u64, hNode: CUgraphNode) -> CUresult {
        Self::returned(|| graph::destroy_node(entry, hNode))
    }

    unsafe fn cuGraphExecGetFlags(
        _: u64,
        hGraphExec: CUgraphExec,
        flags: *mut cuuint64_t,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(flags, || Ok(exec::find(hGraphExec)?.flags & !exec::UPLOAD)) }
    }

    unsafe fn cuGraphNodeSetEnabled(
        _: u64,
        hGraphExec: CUgraphExec,
        hNode: CUgraphNode,
        isEnabled: c_uint,
    ) -> CUresult {
        Self::returned(|| {
            let exec = exec::find(hGraphExec)?;
            exec.enabled(graph::node(hNode)?.1, Some(isEnabled != 0))
                .map(|_| ())
        })
    }

    unsafe fn cuGraphNodeGetEnabled(
        _: u64,
        hGraphExec: CUgraphExec,
        hNode: CUgraphNode,
        isEnabled: *mut c_uint,
    ) -> CUresult {
        let known = || exec::find(hGraphExec)?.enabled(graph::node(hNode)?.1, None);
        // SAFETY: the caller's.
        unsafe { put(isEnabled, || known().map(c_uint::from)) }
    }

    unsafe fn cuGraphExecDestroy(entry: u64, hGraphExec: CUgraphExec) -> CUresult {
        Self::returned(|| exec::destroy(entry, hGraphExec))
    }

    unsafe fn cuGraphDestroy(entry: u64, hGraph: CUgraph) -> CUresult {
        Self::returned(|| graph::destroy(entry, hGraph))
    }

    unsafe fn cuGraphDebugDotPrint(
        _: u64,
        hGraph: CUgraph,
        path: *const c_char,
        flags: c_uint,
    ) -> CUresult {
        Self::returned(|| {
            let _ = flags;
            if path.is_null() {
                return Err(CUDA_ERROR_INVALID_VALUE);
            }
            // SAFETY: the caller's.
            let path = unsafe { CStr::from_ptr(path) };
            let text = graph::find(hGraph)?.as_dot();
            let path = OsStr::from_bytes(path.to_bytes());
            std::fs::write(path, text).map_err(|_| CUDA_ERROR_OPERATING_SYSTEM)
        })
    }

    unsafe fn cuUserObjectCreate(
        _: u64,
        object_out: *mut CUuserObject,
        ptr: *mut c_void,
        destroy: Option<unsafe extern "C" fn(*mut c_void)>,
        initialRefcount: c_uint,
        flags: c_uint,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            put(object_out, || {
                user::make(ptr, destroy, initialRefcount, flags)
            })
        }
    }

    unsafe fn cuUserObjectRetain(_: u64, object: CUuserObject, count: c_uint) -> CUresult {
        Self::returned(|| user::retain(object, count))
    }

    unsafe fn cuUserObjectRelease(_: u64, object: CUuserObject, count: c_uint) -> CUresult {
        Self::returned(|| user::release(object, count))
    }

    unsafe fn cuGraphRetainUserObject(
        _: u64,
        graph: CUgraph,
        object: CUuserObject,
        count: c_uint,
        flags: c_uint,
    ) -> CUresult {
        Self::returned(|| {
            if flags & !user::MOVE != 0 {
                return Err(CUDA_ERROR_INVALID_VALUE);
            }
            let user = user::find(object)?;
            let is_moved = flags == user::MOVE;
            graph::find(graph)?.held(|held| held.keep(user, count, is_moved))
        })
    }

    unsafe fn cuGraphReleaseUserObject(
        _: u64,
        graph: CUgraph,
        object: CUuserObject,
        count: c_uint,
    ) -> CUresult {
        Self::returned(|| {
            let user = user::find(object)?;
            let gone = graph::find(graph)?.held(|held| held.drop_some(&user, count))?;
            gone.let_go();
            Ok(())
        })
    }

    unsafe fn cuGraphGetEdges_v2(
        _: u64,
        hGraph: CUgraph,
        from: *mut CUgraphNode,
        to: *mut CUgraphNode,
        edgeData: *mut CUgraphEdgeData,
        numEdges: *mut usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe { edges(hGraph, (from, to), edgeData, numEdges) })
    }

    unsafe fn cuGraphGetEdges(
        _: u64,
        hGraph: CUgraph,
        from: *mut CUgraphNode,
        to: *mut CUgraphNode,
        numEdges: *mut usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe { edges(hGraph, (from, to), null_mut(), numEdges) })
    }

    unsafe fn cuGraphNodeGetDependencies_v2(
        _: u64,
        hNode: CUgraphNode,
        dependencies: *mut CUgraphNode,
        edgeData: *mut CUgraphEdgeData,
        numDependencies: *mut usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe { beside(hNode, false, dependencies, edgeData, numDependencies) })
    }

    unsafe fn cuGraphNodeGetDependencies(
        _: u64,
        hNode: CUgraphNode,
        dependencies: *mut CUgraphNode,
        numDependencies: *mut usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe {
            beside(hNode, false, dependencies, null_mut(), numDependencies)
        })
    }

    unsafe fn cuGraphNodeGetDependentNodes_v2(
        _: u64,
        hNode: CUgraphNode,
        dependentNodes: *mut CUgraphNode,
        edgeData: *mut CUgraphEdgeData,
        numDependentNodes: *mut usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe {
            beside(hNode, true, dependentNodes, edgeData, numDependentNodes)
        })
    }

    unsafe fn cuGraphNodeGetDependentNodes(
        _: u64,
        hNode: CUgraphNode,
        dependentNodes: *mut CUgraphNode,
        numDependentNodes: *mut usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe {
            beside(hNode, true, dependentNodes, null_mut(), numDependentNodes)
        })
    }

    unsafe fn cuGraphAddDependencies_v2(
        _: u64,
        hGraph: CUgraph,
        from: *const CUgraphNode,
        to: *const CUgraphNode,
        edgeData: *const CUgraphEdgeData,
        numDependencies: usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe { connect(hGraph, (from, to), edgeData, numDependencies, true) })
    }

    unsafe fn cuGraphAddDependencies(
        _: u64,
        hGraph: CUgraph,
        from: *const CUgraphNode,
        to: *const CUgraphNode,
        numDependencies: usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe { connect(hGraph, (from, to), null(), numDependencies, true) })
    }

    unsafe fn cuGraphRemoveDependencies_v2(
        _: u64,
        hGraph: CUgraph,
        from: *const CUgraphNode,
        to: *const CUgraphNode,
        edgeData: *const CUgraphEdgeData,
        numDependencies: usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe { connect(hGraph, (from, to), edgeData, numDependencies, false) })
    }

    unsafe fn cuGraphRemoveDependencies(
        _: u64,
        hGraph: CUgraph,
        from: *const CUgraphNode,
        to: *const CUgraphNode,
        numDependencies: usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe { connect(hGraph, (from, to), null(), numDependencies, false) })
    }

    unsafe fn cuGraphInstantiateWithFlags(
        entry: u64,
        phGraphExec: *mut CUgraphExec,
        hGraph: CUgraph,
        flags: u64,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            put(phGraphExec, || {
                exec::make(entry, &*graph::find(hGraph)?, flags)
            })
        }
    }

    unsafe fn cuGraphInstantiateWithParams(
        entry: u64,
        phGraphExec: *mut CUgraphExec,
        hGraph: CUgraph,
        instantiateParams: *mut CUDA_GRAPH_INSTANTIATE_PARAMS,
    ) -> CUresult {
        Self::returned(|| {
            // SAFETY: the caller's.
            let params = unsafe { instantiateParams.as_mut() }.ok_or(CUDA_ERROR_INVALID_VALUE)?;
            params.hErrNode_out = null_mut();
            params.result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
            let to = place(phGraphExec)?;
            let made = exec::make(entry, &*graph::find(hGraph)?, params.flags)?;
            params.result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
            // SAFETY: the caller's.
            unsafe { to.write(made) };
            Ok(())
        })
    }

    unsafe fn cuGraphInstantiate_v2(
        entry: u64,
        phGraphExec: *mut CUgraphExec,
        hGraph: CUgraph,
        phErrorNode: *mut CUgraphNode,
        logBuffer: *mut c_char,
        bufferSize: usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            if !phErrorNode.is_null() {
                phErrorNode.write(null_mut());
            }
            if !logBuffer.is_null() && bufferSize > 0 {
                logBuffer.write(0);
            }
            put(phGraphExec, || exec::make(entry, &*graph::find(hGraph)?, 0))
        }
    }

    unsafe fn cuGraphInstantiate(
        entry: u64,
        phGraphExec: *mut CUgraphExec,
        hGraph: CUgraph,
        phErrorNode: *mut CUgraphNode,
        logBuffer: *mut c_char,
        bufferSize: usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            if !phErrorNode.is_null() {
                phErrorNode.write(null_mut());
            }
            if !logBuffer.is_null() && bufferSize > 0 {
                logBuffer.write(0);
            }
            put(phGraphExec, || exec::make(entry, &*graph::find(hGraph)?, 0))
        }
    }

    unsafe fn cuGraphExecUpdate_v2(
        entry: u64,
        hGraphExec: CUgraphExec,
        hGraph: CUgraph,
        resultInfo: *mut CUgraphExecUpdateResultInfo,
    ) -> CUresult {
        Self::returned(|| {
            let to = place(resultInfo)?;
            let updated = exec::find(hGraphExec)?.update(entry, &*graph::find(hGraph)?);
            let info = CUgraphExecUpdateResultInfo {
                result: updated.err().unwrap_or(CU_GRAPH_EXEC_UPDATE_SUCCESS),
                errorNode: null_mut(),
                errorFromNode: null_mut(),
            };
            // SAFETY: the caller's.
            unsafe { to.write(info) };
            updated.map_err(|_| CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
        })
    }

    unsafe fn cuGraphExecUpdate(
        entry: u64,
        hGraphExec: CUgraphExec,
        hGraph: CUgraph,
        hErrorNode_out: *mut CUgraphNode,
        updateResult_out: *mut CUgraphExecUpdateResult,
    ) -> CUresult {
        Self::returned(|| {
            let (node, result) = (place(hErrorNode_out)?, place(updateResult_out)?);
            let updated = exec::find(hGraphExec)?.update(entry, &*graph::find(hGraph)?);
            // SAFETY: the caller's.
            unsafe {
                node.write(null_mut());
                result.write(updated.err().unwrap_or(CU_GRAPH_EXEC_UPDATE_SUCCESS));
            }
            updated.map_err(|_| CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
        })
    }

    unsafe fn cuGraphUpload(_: u64, hGraphExec: CUgraphExec, hStream: CUstream) -> CUresult {
        Self::returned(|| {
            exec::find(hGraphExec)?;
            context::with(|context| streams::with_any_lane(context, hStream, |_| Ok(())))
        })
    }

    unsafe fn cuGraphLaunch(entry: u64, hGraphExec: CUgraphExec, hStream: CUstream) -> CUresult {
        Self::returned(|| {
            let exec = exec::find(hGraphExec)?;
            if capture::is_any() {
                // Before the stream is looked at: a launch holds both the other way round.
                let graph = exec.as_graph()?;
                if capture::takes(hStream, || Ok(Work::Graph(graph)))? {
                    return Ok(());
                }
            }
            exec.launch(entry, hStream)
        })
    }
}
