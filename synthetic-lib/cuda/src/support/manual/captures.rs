//! Streams whose work becomes a graph: entry points.

use super::graphs::plain;
use super::*;
use crate::generated::manual::Captures;
use crate::support::{capture, graph};
use std::ptr::{null, null_mut};

/// Where the program wants a captured stream's graph, the nodes before what comes next, and how many.
type Wanted = (*mut CUgraph, *mut *const CUgraphNode, *mut usize);

/// Tells of a stream's capture.
///
/// # Safety
/// As CUDA says of the caller.
unsafe fn told(
    stream: CUstream,
    (status, id): (*mut CUstreamCaptureStatus, *mut cuuint64_t),
    (graph, nodes, count): Wanted,
    edges: *mut *const CUgraphEdgeData,
) -> CUresult {
    Guest::returned(|| {
        let status = place(status)?;
        let info = capture::info(stream)?;
        // SAFETY: the caller's.
        unsafe {
            status.write(info.status);
            if info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE {
                return Ok(());
            }
            write(id, info.id);
            write(graph, info.graph);
            write(nodes, info.behind.0);
            write(count, info.behind.1);
            // All are no more than an order.
            write(edges, null());
        }
        Ok(())
    })
}

/// # Safety
/// `to` is null or has space.
unsafe fn write<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the caller's.
        unsafe { to.write(value) };
    }
}

impl Captures for Guest {
    unsafe fn cuStreamBeginCapture_v2(
        _: u64,
        hStream: CUstream,
        mode: CUstreamCaptureMode,
    ) -> CUresult {
        Self::returned(|| capture::begin(hStream, mode, None))
    }

    unsafe fn cuStreamBeginCapture(_: u64, hStream: CUstream) -> CUresult {
        Self::returned(|| capture::begin(hStream, 0, None))
    }

    unsafe fn cuStreamBeginCaptureToGraph(
        _: u64,
        hStream: CUstream,
        hGraph: CUgraph,
        dependencies: *const CUgraphNode,
        dependencyData: *const CUgraphEdgeData,
        numDependencies: usize,
        mode: CUstreamCaptureMode,
    ) -> CUresult {
        Self::returned(|| {
            let graph = graph::find(hGraph)?;
            // SAFETY: the caller's.
            let nodes = unsafe {
                plain(dependencyData, numDependencies)?;
                graph::named(dependencies, numDependencies)?
            };
            let behind = graph.ids(&nodes)?;
            capture::begin(hStream, mode, Some((graph, behind)))
        })
    }

    unsafe fn cuThreadExchangeStreamCaptureMode(
        _: u64,
        mode: *mut CUstreamCaptureMode,
    ) -> CUresult {
        Self::returned(|| {
            let place = place(mode)?;
            // SAFETY: the caller's.
            unsafe { place.write(capture::exchange_mode(place.read())?) };
            Ok(())
        })
    }

    unsafe fn cuStreamEndCapture(entry: u64, hStream: CUstream, phGraph: *mut CUgraph) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            if let Some(place) = phGraph.as_mut() {
                *place = null_mut();
            }
            put(phGraph, || capture::end(entry, hStream))
        }
    }

    unsafe fn cuStreamGetCaptureInfo_v3(
        _: u64,
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
            told(
                hStream,
                (captureStatus_out, id_out),
                (graph_out, dependencies_out, numDependencies_out),
                edgeData_out,
            )
        }
    }

    unsafe fn cuStreamGetCaptureInfo_v2(
        _: u64,
        hStream: CUstream,
        captureStatus_out: *mut CUstreamCaptureStatus,
        id_out: *mut cuuint64_t,
        graph_out: *mut CUgraph,
        dependencies_out: *mut *const CUgraphNode,
        numDependencies_out: *mut usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            told(
                hStream,
                (captureStatus_out, id_out),
                (graph_out, dependencies_out, numDependencies_out),
                null_mut(),
            )
        }
    }

    unsafe fn cuStreamGetCaptureInfo(
        _: u64,
        hStream: CUstream,
        captureStatus_out: *mut CUstreamCaptureStatus,
        id_out: *mut cuuint64_t,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            told(
                hStream,
                (captureStatus_out, id_out),
                (null_mut(), null_mut(), null_mut()),
                null_mut(),
            )
        }
    }

    unsafe fn cuStreamUpdateCaptureDependencies_v2(
        _: u64,
        hStream: CUstream,
        dependencies: *mut CUgraphNode,
        dependencyData: *const CUgraphEdgeData,
        numDependencies: usize,
        flags: c_uint,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe {
            plain(dependencyData, numDependencies)?;
            let nodes = graph::named(dependencies, numDependencies)?;
            capture::update(hStream, &nodes, flags)
        })
    }

    unsafe fn cuStreamUpdateCaptureDependencies(
        _: u64,
        hStream: CUstream,
        dependencies: *mut CUgraphNode,
        numDependencies: usize,
        flags: c_uint,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe {
            let nodes = graph::named(dependencies, numDependencies)?;
            capture::update(hStream, &nodes, flags)
        })
    }
}
