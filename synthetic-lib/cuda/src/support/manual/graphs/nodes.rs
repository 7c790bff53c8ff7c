//! Nodes of graphs: what each kind has, in a graph and in one that is launched.

use super::*;
use crate::generated::manual::GraphNodes;

impl GraphNodes for Guest {
    unsafe fn cuGraphAddKernelNode_v2(
        _: u64,
        phGraphNode: *mut CUgraphNode,
        hGraph: CUgraph,
        dependencies: *const CUgraphNode,
        numDependencies: usize,
        nodeParams: *const CUDA_KERNEL_NODE_PARAMS_v2,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            added(phGraphNode, hGraph, (dependencies, numDependencies), || {
                launched_v2(nodeParams)
            })
        }
    }

    unsafe fn cuGraphKernelNodeGetParams_v2(
        _: u64,
        hNode: CUgraphNode,
        nodeParams: *mut CUDA_KERNEL_NODE_PARAMS_v2,
    ) -> CUresult {
        let node = |node: &mut Node| {
            let to = place(nodeParams)?;
            work::of_kernel(node, |kernel| {
                // SAFETY: the caller's.
                unsafe { to.write(described_v2(kernel)) };
                Ok(())
            })
        };
        Self::returned(|| graph::with_node(hNode, node))
    }

    unsafe fn cuGraphKernelNodeSetParams_v2(
        _: u64,
        hNode: CUgraphNode,
        nodeParams: *const CUDA_KERNEL_NODE_PARAMS_v2,
    ) -> CUresult {
        // SAFETY: the caller's.
        let work = || unsafe { launched_v2(nodeParams) };
        Self::returned(|| changed(hNode, work()?))
    }

    unsafe fn cuGraphExecKernelNodeSetParams_v2(
        _: u64,
        hGraphExec: CUgraphExec,
        hNode: CUgraphNode,
        nodeParams: *const CUDA_KERNEL_NODE_PARAMS_v2,
    ) -> CUresult {
        // SAFETY: the caller's.
        let work = || unsafe { launched_v2(nodeParams) };
        Self::returned(|| changed_in(hGraphExec, hNode, work()?))
    }

    unsafe fn cuGraphAddKernelNode(
        _: u64,
        phGraphNode: *mut CUgraphNode,
        hGraph: CUgraph,
        dependencies: *const CUgraphNode,
        numDependencies: usize,
        nodeParams: *const CUDA_KERNEL_NODE_PARAMS_v1,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            added(phGraphNode, hGraph, (dependencies, numDependencies), || {
                launched(nodeParams)
            })
        }
    }

    unsafe fn cuGraphKernelNodeGetParams(
        _: u64,
        hNode: CUgraphNode,
        nodeParams: *mut CUDA_KERNEL_NODE_PARAMS_v1,
    ) -> CUresult {
        let node = |node: &mut Node| {
            let to = place(nodeParams)?;
            work::of_kernel(node, |kernel| {
                // SAFETY: the caller's.
                unsafe { to.write(described(kernel)) };
                Ok(())
            })
        };
        Self::returned(|| graph::with_node(hNode, node))
    }

    unsafe fn cuGraphKernelNodeSetParams(
        _: u64,
        hNode: CUgraphNode,
        nodeParams: *const CUDA_KERNEL_NODE_PARAMS_v1,
    ) -> CUresult {
        // SAFETY: the caller's.
        let work = || unsafe { launched(nodeParams) };
        Self::returned(|| changed(hNode, work()?))
    }

    unsafe fn cuGraphExecKernelNodeSetParams(
        _: u64,
        hGraphExec: CUgraphExec,
        hNode: CUgraphNode,
        nodeParams: *const CUDA_KERNEL_NODE_PARAMS_v1,
    ) -> CUresult {
        // SAFETY: the caller's.
        let work = || unsafe { launched(nodeParams) };
        Self::returned(|| changed_in(hGraphExec, hNode, work()?))
    }

    unsafe fn cuGraphAddMemcpyNode(
        _: u64,
        phGraphNode: *mut CUgraphNode,
        hGraph: CUgraph,
        dependencies: *const CUgraphNode,
        numDependencies: usize,
        copyParams: *const CUDA_MEMCPY3D,
        ctx: CUcontext,
    ) -> CUresult {
        let _ = ctx;
        // SAFETY: the caller's.
        unsafe {
            added(phGraphNode, hGraph, (dependencies, numDependencies), || {
                copied(copyParams)
            })
        }
    }

    unsafe fn cuGraphMemcpyNodeGetParams(
        _: u64,
        hNode: CUgraphNode,
        nodeParams: *mut CUDA_MEMCPY3D,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            read(hNode, nodeParams, |work| match work {
                Work::Copy(copy) => Some(**copy),
                _ => None,
            })
        }
    }

    unsafe fn cuGraphMemcpyNodeSetParams(
        _: u64,
        hNode: CUgraphNode,
        nodeParams: *const CUDA_MEMCPY3D,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| changed(hNode, unsafe { copied(nodeParams) }?))
    }

    unsafe fn cuGraphAddMemsetNode(
        _: u64,
        phGraphNode: *mut CUgraphNode,
        hGraph: CUgraph,
        dependencies: *const CUgraphNode,
        numDependencies: usize,
        memsetParams: *const CUDA_MEMSET_NODE_PARAMS_v1,
        ctx: CUcontext,
    ) -> CUresult {
        let _ = ctx;
        // SAFETY: the caller's.
        unsafe {
            added(phGraphNode, hGraph, (dependencies, numDependencies), || {
                set(memsetParams)
            })
        }
    }

    unsafe fn cuGraphMemsetNodeGetParams(
        _: u64,
        hNode: CUgraphNode,
        nodeParams: *mut CUDA_MEMSET_NODE_PARAMS_v1,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            read(hNode, nodeParams, |work| match work {
                Work::Set(set) => Some(CUDA_MEMSET_NODE_PARAMS_v1 {
                    dst: set.to,
                    pitch: set.pitch,
                    value: set.value,
                    elementSize: set.element,
                    width: set.width,
                    height: set.height,
                }),
                _ => None,
            })
        }
    }

    unsafe fn cuGraphMemsetNodeSetParams(
        _: u64,
        hNode: CUgraphNode,
        nodeParams: *const CUDA_MEMSET_NODE_PARAMS_v1,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| changed(hNode, unsafe { set(nodeParams) }?))
    }

    unsafe fn cuGraphAddHostNode(
        _: u64,
        phGraphNode: *mut CUgraphNode,
        hGraph: CUgraph,
        dependencies: *const CUgraphNode,
        numDependencies: usize,
        nodeParams: *const CUDA_HOST_NODE_PARAMS_v1,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            added(phGraphNode, hGraph, (dependencies, numDependencies), || {
                called(nodeParams)
            })
        }
    }

    unsafe fn cuGraphHostNodeGetParams(
        _: u64,
        hNode: CUgraphNode,
        nodeParams: *mut CUDA_HOST_NODE_PARAMS_v1,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            read(hNode, nodeParams, |work| match work {
                Work::Call(call) => Some(CUDA_HOST_NODE_PARAMS_v1 {
                    r#fn: Some(call.function),
                    userData: call.data,
                }),
                _ => None,
            })
        }
    }

    unsafe fn cuGraphHostNodeSetParams(
        _: u64,
        hNode: CUgraphNode,
        nodeParams: *const CUDA_HOST_NODE_PARAMS_v1,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| changed(hNode, unsafe { called(nodeParams) }?))
    }

    unsafe fn cuGraphAddChildGraphNode(
        _: u64,
        phGraphNode: *mut CUgraphNode,
        hGraph: CUgraph,
        dependencies: *const CUgraphNode,
        numDependencies: usize,
        childGraph: CUgraph,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            added(phGraphNode, hGraph, (dependencies, numDependencies), || {
                graph::find(childGraph)?.copied(true).map(Work::Graph)
            })
        }
    }

    unsafe fn cuGraphChildGraphNodeGetGraph(
        _: u64,
        hNode: CUgraphNode,
        phGraph: *mut CUgraph,
    ) -> CUresult {
        let inside = || {
            graph::with_node(hNode, |node| match &node.work {
                Work::Graph(inside) => graph::shown(inside),
                _ => Err(CUDA_ERROR_INVALID_VALUE),
            })
        };
        // SAFETY: the caller's.
        unsafe { put(phGraph, inside) }
    }

    unsafe fn cuGraphAddEmptyNode(
        _: u64,
        phGraphNode: *mut CUgraphNode,
        hGraph: CUgraph,
        dependencies: *const CUgraphNode,
        numDependencies: usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            added(phGraphNode, hGraph, (dependencies, numDependencies), || {
                Ok(Work::Empty)
            })
        }
    }

    unsafe fn cuGraphAddEventRecordNode(
        _: u64,
        phGraphNode: *mut CUgraphNode,
        hGraph: CUgraph,
        dependencies: *const CUgraphNode,
        numDependencies: usize,
        event: CUevent,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            added(phGraphNode, hGraph, (dependencies, numDependencies), || {
                work::checked_event(event).map(Work::Record)
            })
        }
    }

    unsafe fn cuGraphEventRecordNodeGetEvent(
        _: u64,
        hNode: CUgraphNode,
        event_out: *mut CUevent,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            read(hNode, event_out, |work| match work {
                Work::Record(event) => Some(event.address().cast()),
                _ => None,
            })
        }
    }

    unsafe fn cuGraphEventRecordNodeSetEvent(
        _: u64,
        hNode: CUgraphNode,
        event: CUevent,
    ) -> CUresult {
        Self::returned(|| changed(hNode, Work::Record(work::checked_event(event)?)))
    }

    unsafe fn cuGraphAddEventWaitNode(
        _: u64,
        phGraphNode: *mut CUgraphNode,
        hGraph: CUgraph,
        dependencies: *const CUgraphNode,
        numDependencies: usize,
        event: CUevent,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            added(phGraphNode, hGraph, (dependencies, numDependencies), || {
                work::checked_event(event).map(Work::Wait)
            })
        }
    }

    unsafe fn cuGraphEventWaitNodeGetEvent(
        _: u64,
        hNode: CUgraphNode,
        event_out: *mut CUevent,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            read(hNode, event_out, |work| match work {
                Work::Wait(event) => Some(event.address().cast()),
                _ => None,
            })
        }
    }

    unsafe fn cuGraphEventWaitNodeSetEvent(_: u64, hNode: CUgraphNode, event: CUevent) -> CUresult {
        Self::returned(|| changed(hNode, Work::Wait(work::checked_event(event)?)))
    }

    unsafe fn cuGraphExecMemcpyNodeSetParams(
        _: u64,
        hGraphExec: CUgraphExec,
        hNode: CUgraphNode,
        copyParams: *const CUDA_MEMCPY3D,
        ctx: CUcontext,
    ) -> CUresult {
        let _ = ctx;
        // SAFETY: the caller's.
        Self::returned(|| changed_in(hGraphExec, hNode, unsafe { copied(copyParams) }?))
    }

    unsafe fn cuGraphExecMemsetNodeSetParams(
        _: u64,
        hGraphExec: CUgraphExec,
        hNode: CUgraphNode,
        memsetParams: *const CUDA_MEMSET_NODE_PARAMS_v1,
        ctx: CUcontext,
    ) -> CUresult {
        let _ = ctx;
        // SAFETY: the caller's.
        Self::returned(|| changed_in(hGraphExec, hNode, unsafe { set(memsetParams) }?))
    }

    unsafe fn cuGraphExecHostNodeSetParams(
        _: u64,
        hGraphExec: CUgraphExec,
        hNode: CUgraphNode,
        nodeParams: *const CUDA_HOST_NODE_PARAMS_v1,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| changed_in(hGraphExec, hNode, unsafe { called(nodeParams) }?))
    }

    unsafe fn cuGraphExecChildGraphNodeSetParams(
        _: u64,
        hGraphExec: CUgraphExec,
        hNode: CUgraphNode,
        childGraph: CUgraph,
    ) -> CUresult {
        Self::returned(|| {
            let inside = Work::Graph(graph::find(childGraph)?);
            changed_in(hGraphExec, hNode, inside)
        })
    }

    unsafe fn cuGraphExecEventRecordNodeSetEvent(
        _: u64,
        hGraphExec: CUgraphExec,
        hNode: CUgraphNode,
        event: CUevent,
    ) -> CUresult {
        Self::returned(|| changed_in(hGraphExec, hNode, Work::Record(work::checked_event(event)?)))
    }

    unsafe fn cuGraphExecEventWaitNodeSetEvent(
        _: u64,
        hGraphExec: CUgraphExec,
        hNode: CUgraphNode,
        event: CUevent,
    ) -> CUresult {
        Self::returned(|| changed_in(hGraphExec, hNode, Work::Wait(work::checked_event(event)?)))
    }

    unsafe fn cuGraphKernelNodeCopyAttributes(
        _: u64,
        dst: CUgraphNode,
        src: CUgraphNode,
    ) -> CUresult {
        Self::returned(|| {
            let attributes = graph::with_node(src, |node| {
                work::of_kernel(node, |kernel| Ok(kernel.attributes.clone()))
            })?;
            graph::with_node(dst, |node| match &mut node.work {
                Work::Kernel(kernel) => {
                    kernel.attributes = attributes;
                    Ok(())
                }
                _ => Err(CUDA_ERROR_INVALID_VALUE),
            })
        })
    }

    unsafe fn cuGraphKernelNodeGetAttribute(
        _: u64,
        hNode: CUgraphNode,
        attr: CUlaunchAttributeID,
        value_out: *mut CUlaunchAttributeValue,
    ) -> CUresult {
        let known = || {
            attribute::len(attr, attribute::Of::Launch).map_err(stream_attribute::refusal)?;
            graph::with_node(hNode, |node| {
                work::of_kernel(node, |kernel| {
                    let mut all = kernel.attributes.iter();
                    let known = all.find(|known| known.id() == attr);
                    let value = known.map_or([0; attribute::VALUE_LEN], Attribute::value);
                    Ok(CUlaunchAttributeValue {
                        pad: value.map(|byte| byte as c_char),
                    })
                })
            })
        };
        // SAFETY: the caller's.
        unsafe { put(value_out, known) }
    }

    unsafe fn cuGraphKernelNodeSetAttribute(
        _: u64,
        hNode: CUgraphNode,
        attr: CUlaunchAttributeID,
        value: *const CUlaunchAttributeValue,
    ) -> CUresult {
        Self::returned(|| {
            // SAFETY: the caller's.
            let value = unsafe { value.as_ref() }.ok_or(CUDA_ERROR_INVALID_VALUE)?;
            let new = stream_attribute::read(attr, value, attribute::Of::Launch)?;
            graph::with_node(hNode, |node| match &mut node.work {
                Work::Kernel(kernel) => {
                    kernel.attributes.retain(|known| known.id() != attr);
                    kernel.attributes.extend(new);
                    Ok(())
                }
                _ => Err(CUDA_ERROR_INVALID_VALUE),
            })
        })
    }
}
