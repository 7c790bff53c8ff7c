//! The names of errors, and what they say.

use crate::generated::types::*;
use std::ffi::CStr;

/// The name of an error, and a sentence.
pub fn find(code: CUresult) -> Option<(&'static CStr, &'static CStr)> {
    let known = ERRORS.iter().find(|(known, ..)| *known == code)?;
    Some((known.1, known.2))
}

const ERRORS: &[(CUresult, &CStr, &CStr)] = &[
    (CUDA_SUCCESS, c"CUDA_SUCCESS", c"no error"),
    (
        CUDA_ERROR_INVALID_VALUE,
        c"CUDA_ERROR_INVALID_VALUE",
        c"invalid argument",
    ),
    (
        CUDA_ERROR_OUT_OF_MEMORY,
        c"CUDA_ERROR_OUT_OF_MEMORY",
        c"out of memory",
    ),
    (
        CUDA_ERROR_NOT_INITIALIZED,
        c"CUDA_ERROR_NOT_INITIALIZED",
        c"initialization error",
    ),
    (
        CUDA_ERROR_DEINITIALIZED,
        c"CUDA_ERROR_DEINITIALIZED",
        c"driver shutting down",
    ),
    (
        CUDA_ERROR_PROFILER_DISABLED,
        c"CUDA_ERROR_PROFILER_DISABLED",
        c"profiling is disabled",
    ),
    (
        CUDA_ERROR_STUB_LIBRARY,
        c"CUDA_ERROR_STUB_LIBRARY",
        c"the library is a stub",
    ),
    (
        CUDA_ERROR_DEVICE_UNAVAILABLE,
        c"CUDA_ERROR_DEVICE_UNAVAILABLE",
        c"the device is busy or cannot be used",
    ),
    (
        CUDA_ERROR_NO_DEVICE,
        c"CUDA_ERROR_NO_DEVICE",
        c"no CUDA-capable device is detected",
    ),
    (
        CUDA_ERROR_INVALID_DEVICE,
        c"CUDA_ERROR_INVALID_DEVICE",
        c"invalid device ordinal",
    ),
    (
        CUDA_ERROR_DEVICE_NOT_LICENSED,
        c"CUDA_ERROR_DEVICE_NOT_LICENSED",
        c"the device has no licence",
    ),
    (
        CUDA_ERROR_INVALID_IMAGE,
        c"CUDA_ERROR_INVALID_IMAGE",
        c"the module image is invalid",
    ),
    (
        CUDA_ERROR_INVALID_CONTEXT,
        c"CUDA_ERROR_INVALID_CONTEXT",
        c"invalid device context",
    ),
    (
        CUDA_ERROR_CONTEXT_ALREADY_CURRENT,
        c"CUDA_ERROR_CONTEXT_ALREADY_CURRENT",
        c"the context is current already",
    ),
    (
        CUDA_ERROR_MAP_FAILED,
        c"CUDA_ERROR_MAP_FAILED",
        c"mapping failed",
    ),
    (
        CUDA_ERROR_UNMAP_FAILED,
        c"CUDA_ERROR_UNMAP_FAILED",
        c"unmapping failed",
    ),
    (
        CUDA_ERROR_ALREADY_MAPPED,
        c"CUDA_ERROR_ALREADY_MAPPED",
        c"the resource is mapped already",
    ),
    (
        CUDA_ERROR_NO_BINARY_FOR_GPU,
        c"CUDA_ERROR_NO_BINARY_FOR_GPU",
        c"no kernel image is available for execution on the device",
    ),
    (
        CUDA_ERROR_ECC_UNCORRECTABLE,
        c"CUDA_ERROR_ECC_UNCORRECTABLE",
        c"uncorrectable ECC error encountered",
    ),
    (
        CUDA_ERROR_UNSUPPORTED_LIMIT,
        c"CUDA_ERROR_UNSUPPORTED_LIMIT",
        c"the limit is not supported",
    ),
    (
        CUDA_ERROR_CONTEXT_ALREADY_IN_USE,
        c"CUDA_ERROR_CONTEXT_ALREADY_IN_USE",
        c"the context is in exclusive use",
    ),
    (
        CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
        c"CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
        c"peer access is not supported between these devices",
    ),
    (
        CUDA_ERROR_INVALID_PTX,
        c"CUDA_ERROR_INVALID_PTX",
        c"PTX compilation failed",
    ),
    (
        CUDA_ERROR_NVLINK_UNCORRECTABLE,
        c"CUDA_ERROR_NVLINK_UNCORRECTABLE",
        c"uncorrectable NVLink error detected",
    ),
    (
        CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
        c"CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
        c"PTX compiler library not found",
    ),
    (
        CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
        c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        c"the PTX has a version that the driver does not know",
    ),
    (
        CUDA_ERROR_JIT_COMPILATION_DISABLED,
        c"CUDA_ERROR_JIT_COMPILATION_DISABLED",
        c"PTX compilation is disabled",
    ),
    (
        CUDA_ERROR_INVALID_SOURCE,
        c"CUDA_ERROR_INVALID_SOURCE",
        c"the kernel source is invalid",
    ),
    (
        CUDA_ERROR_FILE_NOT_FOUND,
        c"CUDA_ERROR_FILE_NOT_FOUND",
        c"file not found",
    ),
    (
        CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
        c"CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND",
        c"shared object symbol not found",
    ),
    (
        CUDA_ERROR_SHARED_OBJECT_INIT_FAILED,
        c"CUDA_ERROR_SHARED_OBJECT_INIT_FAILED",
        c"shared object initialization failed",
    ),
    (
        CUDA_ERROR_OPERATING_SYSTEM,
        c"CUDA_ERROR_OPERATING_SYSTEM",
        c"an operating system call failed",
    ),
    (
        CUDA_ERROR_INVALID_HANDLE,
        c"CUDA_ERROR_INVALID_HANDLE",
        c"invalid resource handle",
    ),
    (
        CUDA_ERROR_ILLEGAL_STATE,
        c"CUDA_ERROR_ILLEGAL_STATE",
        c"the operation cannot be done in this state",
    ),
    (
        CUDA_ERROR_NOT_FOUND,
        c"CUDA_ERROR_NOT_FOUND",
        c"named symbol not found",
    ),
    (
        CUDA_ERROR_NOT_READY,
        c"CUDA_ERROR_NOT_READY",
        c"device not ready",
    ),
    (
        CUDA_ERROR_ILLEGAL_ADDRESS,
        c"CUDA_ERROR_ILLEGAL_ADDRESS",
        c"an illegal memory access was encountered",
    ),
    (
        CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
        c"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
        c"too many resources requested for launch",
    ),
    (
        CUDA_ERROR_LAUNCH_TIMEOUT,
        c"CUDA_ERROR_LAUNCH_TIMEOUT",
        c"the launch timed out and was terminated",
    ),
    (
        CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
        c"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
        c"peer access is already enabled",
    ),
    (
        CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
        c"CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
        c"peer access has not been enabled",
    ),
    (
        CUDA_ERROR_TOO_MANY_PEERS,
        c"CUDA_ERROR_TOO_MANY_PEERS",
        c"peer access needs more than the device has left",
    ),
    (
        CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE,
        c"CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE",
        c"the primary context is active",
    ),
    (
        CUDA_ERROR_CONTEXT_IS_DESTROYED,
        c"CUDA_ERROR_CONTEXT_IS_DESTROYED",
        c"the context is destroyed",
    ),
    (
        CUDA_ERROR_ASSERT,
        c"CUDA_ERROR_ASSERT",
        c"device-side assert triggered",
    ),
    (
        CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
        c"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
        c"the host memory is registered already",
    ),
    (
        CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
        c"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
        c"the host memory is not registered",
    ),
    (
        CUDA_ERROR_HARDWARE_STACK_ERROR,
        c"CUDA_ERROR_HARDWARE_STACK_ERROR",
        c"hardware stack error",
    ),
    (
        CUDA_ERROR_ILLEGAL_INSTRUCTION,
        c"CUDA_ERROR_ILLEGAL_INSTRUCTION",
        c"an illegal instruction was encountered",
    ),
    (
        CUDA_ERROR_MISALIGNED_ADDRESS,
        c"CUDA_ERROR_MISALIGNED_ADDRESS",
        c"misaligned address",
    ),
    (
        CUDA_ERROR_INVALID_ADDRESS_SPACE,
        c"CUDA_ERROR_INVALID_ADDRESS_SPACE",
        c"operation not supported on this address space",
    ),
    (
        CUDA_ERROR_INVALID_PC,
        c"CUDA_ERROR_INVALID_PC",
        c"invalid program counter",
    ),
    (
        CUDA_ERROR_LAUNCH_FAILED,
        c"CUDA_ERROR_LAUNCH_FAILED",
        c"unspecified launch failure",
    ),
    (
        CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
        c"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
        c"too many blocks in cooperative launch",
    ),
    (
        CUDA_ERROR_NOT_PERMITTED,
        c"CUDA_ERROR_NOT_PERMITTED",
        c"operation not permitted",
    ),
    (
        CUDA_ERROR_NOT_SUPPORTED,
        c"CUDA_ERROR_NOT_SUPPORTED",
        c"operation not supported",
    ),
    (
        CUDA_ERROR_SYSTEM_NOT_READY,
        c"CUDA_ERROR_SYSTEM_NOT_READY",
        c"the system is not ready",
    ),
    (
        CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
        c"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        c"the driver and the library are of different versions",
    ),
    (
        CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
        c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        c"the operation is not permitted while the stream is captured",
    ),
    (
        CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
        c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
        c"the capture failed by an earlier error",
    ),
    (
        CUDA_ERROR_STREAM_CAPTURE_MERGE,
        c"CUDA_ERROR_STREAM_CAPTURE_MERGE",
        c"two captures would be one by this wait",
    ),
    (
        CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
        c"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
        c"the capture did not begin in this stream",
    ),
    (
        CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
        c"CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
        c"the capture has a stream that does not come back to the first",
    ),
    (
        CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
        c"CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
        c"a node would come behind work that is not captured",
    ),
    (
        CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
        c"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
        c"the default stream would wait for captured work",
    ),
    (
        CUDA_ERROR_CAPTURED_EVENT,
        c"CUDA_ERROR_CAPTURED_EVENT",
        c"the event was last recorded in a captured stream",
    ),
    (
        CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
        c"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
        c"another thread began the capture",
    ),
    (
        CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
        c"CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
        c"the graph's nodes or edges are others",
    ),
    (
        CUDA_ERROR_INVALID_CLUSTER_SIZE,
        c"CUDA_ERROR_INVALID_CLUSTER_SIZE",
        c"the size of clusters is invalid",
    ),
    (CUDA_ERROR_UNKNOWN, c"CUDA_ERROR_UNKNOWN", c"unknown error"),
];
