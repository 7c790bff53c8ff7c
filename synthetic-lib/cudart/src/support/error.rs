//! Errors. Those of the driver API have the same numbers here.

use crate::generated::types::*;
use gil_cuda::generated::types::CUresult;
use std::cell::Cell;
use std::ffi::CStr;

/// A result, or the runtime's error.
pub type Answer<T = ()> = Result<T, cudaError_t>;

thread_local! {
    static LAST: Cell<cudaError_t> = const { Cell::new(cudaSuccess) };
}

/// The answer of a call, whose error the thread remembers.
#[inline(always)]
pub fn returned(work: impl FnOnce() -> Answer) -> cudaError_t {
    match work() {
        Ok(()) => cudaSuccess,
        Err(code) => failed(code),
    }
}

#[cold]
fn failed(code: cudaError_t) -> cudaError_t {
    // A thread that ends remembers nothing.
    let _ = LAST.try_with(|last| last.set(code));
    code
}

/// The thread's last error.
pub fn last() -> cudaError_t {
    LAST.try_with(Cell::get).unwrap_or(cudaSuccess)
}

/// The same, which is forgotten.
pub fn take_last() -> cudaError_t {
    LAST.try_with(|last| last.replace(cudaSuccess))
        .unwrap_or(cudaSuccess)
}

/// What a call of the driver API answered.
///
/// # Errors
/// Its error.
#[inline(always)]
pub fn driver(code: CUresult) -> Answer {
    match code {
        cudaSuccess => Ok(()),
        code => Err(code),
    }
}

/// A place that may not be null.
///
/// # Errors
/// `cudaErrorInvalidValue` for null.
pub fn place<T>(place: *mut T) -> Answer<*mut T> {
    match place.is_null() {
        true => Err(cudaErrorInvalidValue),
        false => Ok(place),
    }
}

/// For a number that is no error's.
const UNKNOWN: &CStr = c"unrecognized error code";

/// An error's name.
pub fn name(code: cudaError_t) -> &'static CStr {
    let known = NAMES.iter().find(|(known, _)| *known == code);
    known.map_or(UNKNOWN, |(_, name)| name)
}

/// What it says.
pub fn text(code: cudaError_t) -> &'static CStr {
    let own = OWN.iter().find(|(known, _)| *known == code);
    match own {
        Some((_, text)) => text,
        None => gil_cuda::support::error::find(code).map_or(UNKNOWN, |(_, text)| text),
    }
}

/// What those say that the driver API does not have.
const OWN: [(cudaError_t, &CStr); 8] = [
    (
        cudaErrorInvalidConfiguration,
        c"invalid configuration argument",
    ),
    (cudaErrorInvalidPitchValue, c"invalid pitch argument"),
    (cudaErrorInvalidSymbol, c"invalid device symbol"),
    (cudaErrorInvalidDevicePointer, c"invalid device pointer"),
    (
        cudaErrorInvalidMemcpyDirection,
        c"invalid copy direction for memcpy",
    ),
    (
        cudaErrorInsufficientDriver,
        c"CUDA driver version is insufficient for CUDA runtime version",
    ),
    (
        cudaErrorMissingConfiguration,
        c"__global__ function call is not configured",
    ),
    (cudaErrorInvalidDeviceFunction, c"invalid device function"),
];

const NAMES: &[(cudaError_t, &CStr)] = &[
    (cudaSuccess, c"cudaSuccess"),
    (cudaErrorInvalidValue, c"cudaErrorInvalidValue"),
    (cudaErrorMemoryAllocation, c"cudaErrorMemoryAllocation"),
    (
        cudaErrorInitializationError,
        c"cudaErrorInitializationError",
    ),
    (cudaErrorCudartUnloading, c"cudaErrorCudartUnloading"),
    (cudaErrorProfilerDisabled, c"cudaErrorProfilerDisabled"),
    (
        cudaErrorInvalidConfiguration,
        c"cudaErrorInvalidConfiguration",
    ),
    (cudaErrorInvalidPitchValue, c"cudaErrorInvalidPitchValue"),
    (cudaErrorInvalidSymbol, c"cudaErrorInvalidSymbol"),
    (
        cudaErrorInvalidDevicePointer,
        c"cudaErrorInvalidDevicePointer",
    ),
    (
        cudaErrorInvalidMemcpyDirection,
        c"cudaErrorInvalidMemcpyDirection",
    ),
    (cudaErrorStubLibrary, c"cudaErrorStubLibrary"),
    (cudaErrorInsufficientDriver, c"cudaErrorInsufficientDriver"),
    (cudaErrorDevicesUnavailable, c"cudaErrorDevicesUnavailable"),
    (
        cudaErrorMissingConfiguration,
        c"cudaErrorMissingConfiguration",
    ),
    (
        cudaErrorInvalidDeviceFunction,
        c"cudaErrorInvalidDeviceFunction",
    ),
    (cudaErrorNoDevice, c"cudaErrorNoDevice"),
    (cudaErrorInvalidDevice, c"cudaErrorInvalidDevice"),
    (cudaErrorDeviceNotLicensed, c"cudaErrorDeviceNotLicensed"),
    (cudaErrorInvalidKernelImage, c"cudaErrorInvalidKernelImage"),
    (
        cudaErrorDeviceUninitialized,
        c"cudaErrorDeviceUninitialized",
    ),
    (
        cudaErrorMapBufferObjectFailed,
        c"cudaErrorMapBufferObjectFailed",
    ),
    (
        cudaErrorUnmapBufferObjectFailed,
        c"cudaErrorUnmapBufferObjectFailed",
    ),
    (cudaErrorAlreadyMapped, c"cudaErrorAlreadyMapped"),
    (
        cudaErrorNoKernelImageForDevice,
        c"cudaErrorNoKernelImageForDevice",
    ),
    (cudaErrorECCUncorrectable, c"cudaErrorECCUncorrectable"),
    (cudaErrorUnsupportedLimit, c"cudaErrorUnsupportedLimit"),
    (cudaErrorDeviceAlreadyInUse, c"cudaErrorDeviceAlreadyInUse"),
    (
        cudaErrorPeerAccessUnsupported,
        c"cudaErrorPeerAccessUnsupported",
    ),
    (cudaErrorInvalidPtx, c"cudaErrorInvalidPtx"),
    (
        cudaErrorNvlinkUncorrectable,
        c"cudaErrorNvlinkUncorrectable",
    ),
    (
        cudaErrorJitCompilerNotFound,
        c"cudaErrorJitCompilerNotFound",
    ),
    (
        cudaErrorUnsupportedPtxVersion,
        c"cudaErrorUnsupportedPtxVersion",
    ),
    (
        cudaErrorJitCompilationDisabled,
        c"cudaErrorJitCompilationDisabled",
    ),
    (cudaErrorInvalidSource, c"cudaErrorInvalidSource"),
    (cudaErrorFileNotFound, c"cudaErrorFileNotFound"),
    (
        cudaErrorSharedObjectSymbolNotFound,
        c"cudaErrorSharedObjectSymbolNotFound",
    ),
    (
        cudaErrorSharedObjectInitFailed,
        c"cudaErrorSharedObjectInitFailed",
    ),
    (cudaErrorOperatingSystem, c"cudaErrorOperatingSystem"),
    (
        cudaErrorInvalidResourceHandle,
        c"cudaErrorInvalidResourceHandle",
    ),
    (cudaErrorIllegalState, c"cudaErrorIllegalState"),
    (cudaErrorSymbolNotFound, c"cudaErrorSymbolNotFound"),
    (cudaErrorNotReady, c"cudaErrorNotReady"),
    (cudaErrorIllegalAddress, c"cudaErrorIllegalAddress"),
    (
        cudaErrorLaunchOutOfResources,
        c"cudaErrorLaunchOutOfResources",
    ),
    (cudaErrorLaunchTimeout, c"cudaErrorLaunchTimeout"),
    (
        cudaErrorPeerAccessAlreadyEnabled,
        c"cudaErrorPeerAccessAlreadyEnabled",
    ),
    (
        cudaErrorPeerAccessNotEnabled,
        c"cudaErrorPeerAccessNotEnabled",
    ),
    (cudaErrorTooManyPeers, c"cudaErrorTooManyPeers"),
    (cudaErrorSetOnActiveProcess, c"cudaErrorSetOnActiveProcess"),
    (cudaErrorContextIsDestroyed, c"cudaErrorContextIsDestroyed"),
    (cudaErrorAssert, c"cudaErrorAssert"),
    (
        cudaErrorHostMemoryAlreadyRegistered,
        c"cudaErrorHostMemoryAlreadyRegistered",
    ),
    (
        cudaErrorHostMemoryNotRegistered,
        c"cudaErrorHostMemoryNotRegistered",
    ),
    (cudaErrorHardwareStackError, c"cudaErrorHardwareStackError"),
    (cudaErrorIllegalInstruction, c"cudaErrorIllegalInstruction"),
    (cudaErrorMisalignedAddress, c"cudaErrorMisalignedAddress"),
    (
        cudaErrorInvalidAddressSpace,
        c"cudaErrorInvalidAddressSpace",
    ),
    (cudaErrorInvalidPc, c"cudaErrorInvalidPc"),
    (cudaErrorLaunchFailure, c"cudaErrorLaunchFailure"),
    (
        cudaErrorCooperativeLaunchTooLarge,
        c"cudaErrorCooperativeLaunchTooLarge",
    ),
    (cudaErrorNotPermitted, c"cudaErrorNotPermitted"),
    (cudaErrorNotSupported, c"cudaErrorNotSupported"),
    (cudaErrorSystemNotReady, c"cudaErrorSystemNotReady"),
    (
        cudaErrorSystemDriverMismatch,
        c"cudaErrorSystemDriverMismatch",
    ),
    (
        cudaErrorStreamCaptureUnsupported,
        c"cudaErrorStreamCaptureUnsupported",
    ),
    (
        cudaErrorStreamCaptureInvalidated,
        c"cudaErrorStreamCaptureInvalidated",
    ),
    (cudaErrorStreamCaptureMerge, c"cudaErrorStreamCaptureMerge"),
    (
        cudaErrorStreamCaptureUnmatched,
        c"cudaErrorStreamCaptureUnmatched",
    ),
    (
        cudaErrorStreamCaptureUnjoined,
        c"cudaErrorStreamCaptureUnjoined",
    ),
    (
        cudaErrorStreamCaptureIsolation,
        c"cudaErrorStreamCaptureIsolation",
    ),
    (
        cudaErrorStreamCaptureImplicit,
        c"cudaErrorStreamCaptureImplicit",
    ),
    (cudaErrorCapturedEvent, c"cudaErrorCapturedEvent"),
    (
        cudaErrorStreamCaptureWrongThread,
        c"cudaErrorStreamCaptureWrongThread",
    ),
    (
        cudaErrorGraphExecUpdateFailure,
        c"cudaErrorGraphExecUpdateFailure",
    ),
    (cudaErrorInvalidClusterSize, c"cudaErrorInvalidClusterSize"),
    (cudaErrorUnknown, c"cudaErrorUnknown"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_a_name_and_a_text() {
        for &(code, name) in NAMES {
            assert_eq!(super::name(code), name);
            assert_ne!(text(code), UNKNOWN, "{name:?}");
        }
        assert_eq!(name(12345), UNKNOWN);
        assert_eq!(text(12345), UNKNOWN);
    }

    #[test]
    fn a_thread_remembers_its_last_error() {
        assert_eq!(
            returned(|| Err(cudaErrorInvalidValue)),
            cudaErrorInvalidValue
        );
        assert_eq!(returned(|| Ok(())), cudaSuccess);
        assert_eq!(std::thread::spawn(last).join().unwrap(), cudaSuccess);
        assert_eq!(last(), cudaErrorInvalidValue);
        assert_eq!(take_last(), cudaErrorInvalidValue);
        assert_eq!(last(), cudaSuccess);
    }
}
