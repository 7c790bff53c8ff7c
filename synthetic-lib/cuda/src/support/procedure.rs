//! Functions by name: `cuGetProcAddress` chooses the latest symbol of a name that the version
//! of CUDA has for which the program was built.

use crate::generated::exports;
use crate::generated::types::*;
use gil_guest::api::CallResult;
use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// Streams without a name are the thread's own.
const PER_THREAD: u64 = 2;
/// Every flag.
const FLAGS: u64 = 3;

/// The function of this name that a version has, and what is to be said of it.
///
/// # Errors
/// `CUDA_ERROR_NOT_FOUND`, or `CUDA_ERROR_INVALID_VALUE` for null and unknown flags.
///
/// # Safety
/// `symbol` is null or a text.
pub unsafe fn find(
    symbol: *const c_char,
    version: c_int,
    flags: u64,
) -> (CallResult<*mut c_void>, CUdriverProcAddressQueryResult) {
    if symbol.is_null() || flags & !FLAGS != 0 {
        return (
            Err(CUDA_ERROR_INVALID_VALUE),
            CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND,
        );
    }
    // SAFETY: the caller's.
    let symbol = unsafe { CStr::from_ptr(symbol) };
    match chosen(symbol, version) {
        Ok(name) => {
            let of_thread = (flags & PER_THREAD != 0).then(|| of_thread(name));
            let of_thread = of_thread.filter(|function| !function.is_null());
            if flags & PER_THREAD != 0 && of_thread.is_none() && has_default_stream(name) {
                return (
                    Err(CUDA_ERROR_NOT_FOUND),
                    CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND,
                );
            }
            let function = of_thread.unwrap_or_else(|| exports::find(name));
            (Ok(function), CU_GET_PROC_ADDRESS_SUCCESS)
        }
        Err(why) => (Err(CUDA_ERROR_NOT_FOUND), why),
    }
}

/// The symbol that a name stands for.
fn chosen(symbol: &CStr, version: c_int) -> Result<&'static CStr, CUdriverProcAddressQueryResult> {
    let all = || exports::VERSIONS.iter().chain(EARLIER);
    let of_name = || all().filter(|(base, ..)| *base == symbol);
    if of_name().next().is_none() {
        return Err(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    }
    let known = of_name().filter(|(_, since, _)| *since <= version);
    match known.max_by_key(|(_, since, _)| *since) {
        Some((.., name)) => Ok(name),
        None => Err(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT),
    }
}

/// Whether a function works on a default stream, and gil has none for each thread of it yet.
fn has_default_stream(symbol: &CStr) -> bool {
    let begins = |start: &str| symbol.to_bytes().starts_with(start.as_bytes());
    let starts = [
        "cuMemcpy2D",
        "cuMemcpy3D",
        "cuMemcpyAto",
        "cuMemcpyDtoA",
        "cuMemcpyHtoA",
        "cuMemcpyPeer",
        "cuMemsetD2D",
        "cuMemAllocAsync",
        "cuMemAllocFromPoolAsync",
        "cuMemFreeAsync",
    ];
    starts.into_iter().any(begins)
}

/// The function that has the calling thread's own default stream, if it has one; or null.
fn of_thread(name: &CStr) -> *mut c_void {
    let ends = ["_ptds", "_ptsz"].into_iter();
    let names =
        ends.filter_map(|end| CString::new([name.to_bytes(), end.as_bytes()].concat()).ok());
    let mut found = names.map(|name| exports::find(&name));
    found
        .find(|found| !found.is_null())
        .unwrap_or(std::ptr::null_mut())
}

/// Functions that programs ask for by another name or an earlier version than those of their symbol here,
/// whose arguments are the same: the linker's for 64 bits, and what CUDA 12 calls by the short name.
const EARLIER: &[(&CStr, c_int, &CStr)] = &[
    (c"cuGraphInstantiate", 12000, c"cuGraphInstantiateWithFlags"),
    (c"cuLinkCreate", 5050, c"cuLinkCreate_v2"),
    (c"cuLinkAddData", 5050, c"cuLinkAddData_v2"),
    (c"cuLinkAddFile", 5050, c"cuLinkAddFile_v2"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_symbol_of_the_table_is_exported() {
        let all = exports::VERSIONS;
        for (base, since, name) in all {
            let (base, name) = (base.to_str().unwrap(), name.to_str().unwrap());
            assert!(name == base || name.starts_with(&format!("{base}_v")));
            assert!((2000..14_000).contains(since), "{name}: {since}");
        }
        let missing = all.iter().find(|(.., name)| exports::find(name).is_null());
        assert_eq!(missing, None);
        assert!(all.contains(&(c"cuStreamBeginCapture", 10010, c"cuStreamBeginCapture_v2")));
        assert!(all.iter().all(|(.., name)| *name != c"cuLaunchKernel_ptsz"));
    }

    /// What NVIDIA's cuBLAS 13.0.2 looks for when its handle is made, as seen by the dynamic linker; without
    /// all of them it makes none.
    #[test]
    fn what_cublas_looks_for_is_there() {
        let names = [
            c"cuCtxDisablePeerAccess",
            c"cuCtxEnablePeerAccess",
            c"cuCtxGetCurrent",
            c"cuCtxGetDevice",
            c"cuCtxGetLimit",
            c"cuCtxPopCurrent",
            c"cuCtxPopCurrent_v2",
            c"cuCtxPushCurrent",
            c"cuCtxPushCurrent_v2",
            c"cuCtxSetCurrent",
            c"cuCtxSynchronize",
            c"cuDeviceCanAccessPeer",
            c"cuDeviceGet",
            c"cuDeviceGetAttribute",
            c"cuDeviceGetName",
            c"cuDevicePrimaryCtxRelease",
            c"cuDevicePrimaryCtxReset",
            c"cuDevicePrimaryCtxRetain",
            c"cuDeviceTotalMem_v2",
            c"cuDriverGetVersion",
            c"cuEventCreate",
            c"cuEventDestroy_v2",
            c"cuEventElapsedTime",
            c"cuEventQuery",
            c"cuEventRecord",
            c"cuEventSynchronize",
            c"cuFuncGetAttribute",
            c"cuFuncSetAttribute",
            c"cuFuncSetCacheConfig",
            c"cuGetErrorName",
            c"cuGetErrorString",
            c"cuGetExportTable",
            c"cuGetProcAddress_v2",
            c"cuGraphDestroy",
            c"cuGraphExecDestroy",
            c"cuGraphExecKernelNodeSetParams",
            c"cuGraphGetNodes",
            c"cuGraphInstantiate",
            c"cuGraphKernelNodeGetParams",
            c"cuGraphLaunch",
            c"cuGraphNodeGetType",
            c"cuInit",
            c"cuKernelGetAttribute",
            c"cuKernelGetFunction",
            c"cuKernelGetLibrary",
            c"cuKernelSetAttribute",
            c"cuLaunchKernel",
            c"cuLaunchKernelEx",
            c"cuLibraryGetKernel",
            c"cuLibraryLoadData",
            c"cuLibraryUnload",
            c"cuLinkAddData_v2",
            c"cuLinkAddFile_v2",
            c"cuLinkComplete",
            c"cuLinkCreate_v2",
            c"cuLinkDestroy",
            c"cuMemAlloc_v2",
            c"cuMemFree_v2",
            c"cuMemGetInfo_v2",
            c"cuMemPrefetchAsync",
            c"cuMemcpy",
            c"cuMemcpy2DAsync_v2",
            c"cuMemcpyAsync",
            c"cuMemcpyDtoDAsync_v2",
            c"cuMemcpyDtoH_v2",
            c"cuMemcpyHtoD_v2",
            c"cuMemsetD8_v2",
            c"cuModuleGetFunction",
            c"cuModuleGetGlobal_v2",
            c"cuModuleLoadData",
            c"cuModuleLoadDataEx",
            c"cuModuleLoadFatBinary",
            c"cuModuleUnload",
            c"cuOccupancyMaxActiveBlocksPerMultiprocessor",
            c"cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
            c"cuPointerGetAttribute",
            c"cuPointerGetAttributes",
            c"cuStreamBatchMemOp",
            c"cuStreamBeginCapture_v2",
            c"cuStreamCreate",
            c"cuStreamDestroy_v2",
            c"cuStreamEndCapture",
            c"cuStreamGetCaptureInfo_v2",
            c"cuStreamGetCtx",
            c"cuStreamIsCapturing",
            c"cuStreamSynchronize",
            c"cuStreamWaitEvent",
            c"cuStreamWaitValue32",
            c"cuThreadExchangeStreamCaptureMode",
        ];
        let missing = names.into_iter().find(|name| exports::find(name).is_null());
        assert_eq!(missing, None);
    }

    #[test]
    fn a_version_has_its_own_symbol() {
        let of = chosen;
        assert_eq!(of(c"cuMemAlloc", 13000), Ok(c"cuMemAlloc_v2"));
        let new = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        assert_eq!(of(c"cuMemAlloc", 3010), Err(new));
        assert_eq!(of(c"cuEventElapsedTime", 12000), Ok(c"cuEventElapsedTime"));
        assert_eq!(
            of(c"cuEventElapsedTime", 13000),
            Ok(c"cuEventElapsedTime_v2")
        );
        let reset = of(c"cuDevicePrimaryCtxReset", 7000);
        assert_eq!(reset, Ok(c"cuDevicePrimaryCtxReset"));
        assert_eq!(
            of(c"cuDevicePrimaryCtxReset", 13000),
            Ok(c"cuDevicePrimaryCtxReset_v2")
        );
        let none = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
        assert_eq!(of(c"cuTexRefCreate", 13000), Err(none));
        assert_eq!(of(c"cuArrayCreate", 13000), Ok(c"cuArrayCreate_v2"));
        let made = of(c"cuGraphInstantiate", 13000);
        assert_eq!(made, Ok(c"cuGraphInstantiateWithFlags"));
        assert_eq!(of(c"cuMemAlloc_v2", 13000), Err(none));
        let with = |name: &CStr, flags| {
            // SAFETY: a text.
            let (found, _) = unsafe { find(name.as_ptr(), 13000, flags) };
            found.unwrap()
        };
        let launch = with(c"cuLaunchKernel", PER_THREAD);
        assert_eq!(launch, exports::find(c"cuLaunchKernel_ptsz"));
        let copy = with(c"cuMemcpyHtoD", PER_THREAD);
        assert_eq!(copy, exports::find(c"cuMemcpyHtoD_v2_ptds"));
        assert_eq!(with(c"cuMemAlloc", PER_THREAD), with(c"cuMemAlloc", 0));
    }
}
