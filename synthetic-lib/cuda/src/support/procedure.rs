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
    let all = || SYMBOLS.iter().chain(EARLIER);
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

/// Names without their version, the version of CUDA from which on each symbol is meant, and
/// the symbol. A test compares them with the description.
const SYMBOLS: &[(&CStr, c_int, &CStr)] = &[
    (c"cuCtxCreate", 3020, c"cuCtxCreate_v2"),
    (c"cuCtxCreate", 12050, c"cuCtxCreate_v4"),
    (c"cuCtxDestroy", 4000, c"cuCtxDestroy_v2"),
    (c"cuCtxDisablePeerAccess", 4000, c"cuCtxDisablePeerAccess"),
    (c"cuCtxEnablePeerAccess", 4000, c"cuCtxEnablePeerAccess"),
    (c"cuCtxGetApiVersion", 3020, c"cuCtxGetApiVersion"),
    (c"cuCtxGetCacheConfig", 3020, c"cuCtxGetCacheConfig"),
    (c"cuCtxGetCurrent", 4000, c"cuCtxGetCurrent"),
    (c"cuCtxGetDevice", 2000, c"cuCtxGetDevice"),
    (c"cuCtxGetFlags", 7000, c"cuCtxGetFlags"),
    (c"cuCtxGetId", 12000, c"cuCtxGetId"),
    (c"cuCtxGetLimit", 3010, c"cuCtxGetLimit"),
    (
        c"cuCtxGetStreamPriorityRange",
        5050,
        c"cuCtxGetStreamPriorityRange",
    ),
    (c"cuCtxPopCurrent", 2000, c"cuCtxPopCurrent"),
    (c"cuCtxPopCurrent", 4000, c"cuCtxPopCurrent_v2"),
    (c"cuCtxPushCurrent", 2000, c"cuCtxPushCurrent"),
    (c"cuCtxPushCurrent", 4000, c"cuCtxPushCurrent_v2"),
    (c"cuCtxSetCacheConfig", 3020, c"cuCtxSetCacheConfig"),
    (c"cuCtxSetCurrent", 4000, c"cuCtxSetCurrent"),
    (c"cuCtxSetLimit", 3010, c"cuCtxSetLimit"),
    (c"cuCtxSynchronize", 2000, c"cuCtxSynchronize"),
    (c"cuDeviceCanAccessPeer", 4000, c"cuDeviceCanAccessPeer"),
    (
        c"cuDeviceComputeCapability",
        2000,
        c"cuDeviceComputeCapability",
    ),
    (c"cuDeviceGet", 2000, c"cuDeviceGet"),
    (c"cuDeviceGetAttribute", 2000, c"cuDeviceGetAttribute"),
    (c"cuDeviceGetByPCIBusId", 4010, c"cuDeviceGetByPCIBusId"),
    (c"cuDeviceGetCount", 2000, c"cuDeviceGetCount"),
    (
        c"cuDeviceGetDefaultMemPool",
        11020,
        c"cuDeviceGetDefaultMemPool",
    ),
    (c"cuDeviceGetMemPool", 11020, c"cuDeviceGetMemPool"),
    (c"cuDeviceGetName", 2000, c"cuDeviceGetName"),
    (c"cuDeviceGetP2PAttribute", 8000, c"cuDeviceGetP2PAttribute"),
    (c"cuDeviceGetPCIBusId", 4010, c"cuDeviceGetPCIBusId"),
    (c"cuDeviceGetUuid", 9020, c"cuDeviceGetUuid"),
    (c"cuDeviceGetUuid", 11040, c"cuDeviceGetUuid_v2"),
    (
        c"cuDevicePrimaryCtxGetState",
        7000,
        c"cuDevicePrimaryCtxGetState",
    ),
    (
        c"cuDevicePrimaryCtxRelease",
        7000,
        c"cuDevicePrimaryCtxRelease",
    ),
    (
        c"cuDevicePrimaryCtxRelease",
        11000,
        c"cuDevicePrimaryCtxRelease_v2",
    ),
    (c"cuDevicePrimaryCtxReset", 7000, c"cuDevicePrimaryCtxReset"),
    (
        c"cuDevicePrimaryCtxReset",
        11000,
        c"cuDevicePrimaryCtxReset_v2",
    ),
    (
        c"cuDevicePrimaryCtxRetain",
        7000,
        c"cuDevicePrimaryCtxRetain",
    ),
    (
        c"cuDevicePrimaryCtxSetFlags",
        7000,
        c"cuDevicePrimaryCtxSetFlags",
    ),
    (
        c"cuDevicePrimaryCtxSetFlags",
        11000,
        c"cuDevicePrimaryCtxSetFlags_v2",
    ),
    (c"cuDeviceSetMemPool", 11020, c"cuDeviceSetMemPool"),
    (c"cuDeviceTotalMem", 3020, c"cuDeviceTotalMem_v2"),
    (c"cuDriverGetVersion", 2020, c"cuDriverGetVersion"),
    (c"cuEventCreate", 2000, c"cuEventCreate"),
    (c"cuEventDestroy", 4000, c"cuEventDestroy_v2"),
    (c"cuEventElapsedTime", 2000, c"cuEventElapsedTime"),
    (c"cuEventElapsedTime", 12080, c"cuEventElapsedTime_v2"),
    (c"cuEventQuery", 2000, c"cuEventQuery"),
    (c"cuEventRecord", 2000, c"cuEventRecord"),
    (c"cuEventRecordWithFlags", 11010, c"cuEventRecordWithFlags"),
    (c"cuEventSynchronize", 2000, c"cuEventSynchronize"),
    (c"cuFuncGetAttribute", 2020, c"cuFuncGetAttribute"),
    (c"cuFuncGetModule", 11000, c"cuFuncGetModule"),
    (c"cuFuncGetName", 12030, c"cuFuncGetName"),
    (c"cuFuncGetParamInfo", 12040, c"cuFuncGetParamInfo"),
    (c"cuFuncIsLoaded", 12040, c"cuFuncIsLoaded"),
    (c"cuFuncLoad", 12040, c"cuFuncLoad"),
    (c"cuFuncSetAttribute", 9000, c"cuFuncSetAttribute"),
    (c"cuFuncSetCacheConfig", 3000, c"cuFuncSetCacheConfig"),
    (c"cuGetErrorName", 6000, c"cuGetErrorName"),
    (c"cuGetErrorString", 6000, c"cuGetErrorString"),
    (c"cuGetExportTable", 3000, c"cuGetExportTable"),
    (c"cuGetProcAddress", 11030, c"cuGetProcAddress"),
    (c"cuGetProcAddress", 12000, c"cuGetProcAddress_v2"),
    (
        c"cuGraphAddChildGraphNode",
        10000,
        c"cuGraphAddChildGraphNode",
    ),
    (c"cuGraphAddDependencies", 10000, c"cuGraphAddDependencies"),
    (
        c"cuGraphAddDependencies",
        12030,
        c"cuGraphAddDependencies_v2",
    ),
    (c"cuGraphAddEmptyNode", 10000, c"cuGraphAddEmptyNode"),
    (
        c"cuGraphAddEventRecordNode",
        11010,
        c"cuGraphAddEventRecordNode",
    ),
    (
        c"cuGraphAddEventWaitNode",
        11010,
        c"cuGraphAddEventWaitNode",
    ),
    (c"cuGraphAddHostNode", 10000, c"cuGraphAddHostNode"),
    (c"cuGraphAddKernelNode", 10000, c"cuGraphAddKernelNode"),
    (c"cuGraphAddKernelNode", 12000, c"cuGraphAddKernelNode_v2"),
    (c"cuGraphAddMemcpyNode", 10000, c"cuGraphAddMemcpyNode"),
    (c"cuGraphAddMemsetNode", 10000, c"cuGraphAddMemsetNode"),
    (
        c"cuGraphChildGraphNodeGetGraph",
        10000,
        c"cuGraphChildGraphNodeGetGraph",
    ),
    (c"cuGraphClone", 10000, c"cuGraphClone"),
    (c"cuGraphCreate", 10000, c"cuGraphCreate"),
    (c"cuGraphDebugDotPrint", 11030, c"cuGraphDebugDotPrint"),
    (c"cuGraphDestroy", 10000, c"cuGraphDestroy"),
    (c"cuGraphDestroyNode", 10000, c"cuGraphDestroyNode"),
    (
        c"cuGraphEventRecordNodeGetEvent",
        11010,
        c"cuGraphEventRecordNodeGetEvent",
    ),
    (
        c"cuGraphEventRecordNodeSetEvent",
        11010,
        c"cuGraphEventRecordNodeSetEvent",
    ),
    (
        c"cuGraphEventWaitNodeGetEvent",
        11010,
        c"cuGraphEventWaitNodeGetEvent",
    ),
    (
        c"cuGraphEventWaitNodeSetEvent",
        11010,
        c"cuGraphEventWaitNodeSetEvent",
    ),
    (
        c"cuGraphExecChildGraphNodeSetParams",
        11010,
        c"cuGraphExecChildGraphNodeSetParams",
    ),
    (c"cuGraphExecDestroy", 10000, c"cuGraphExecDestroy"),
    (
        c"cuGraphExecEventRecordNodeSetEvent",
        11010,
        c"cuGraphExecEventRecordNodeSetEvent",
    ),
    (
        c"cuGraphExecEventWaitNodeSetEvent",
        11010,
        c"cuGraphExecEventWaitNodeSetEvent",
    ),
    (c"cuGraphExecGetFlags", 12000, c"cuGraphExecGetFlags"),
    (
        c"cuGraphExecHostNodeSetParams",
        10020,
        c"cuGraphExecHostNodeSetParams",
    ),
    (
        c"cuGraphExecKernelNodeSetParams",
        10010,
        c"cuGraphExecKernelNodeSetParams",
    ),
    (
        c"cuGraphExecKernelNodeSetParams",
        12000,
        c"cuGraphExecKernelNodeSetParams_v2",
    ),
    (
        c"cuGraphExecMemcpyNodeSetParams",
        10020,
        c"cuGraphExecMemcpyNodeSetParams",
    ),
    (
        c"cuGraphExecMemsetNodeSetParams",
        10020,
        c"cuGraphExecMemsetNodeSetParams",
    ),
    (c"cuGraphExecUpdate", 10020, c"cuGraphExecUpdate"),
    (c"cuGraphExecUpdate", 12000, c"cuGraphExecUpdate_v2"),
    (c"cuGraphGetEdges", 10000, c"cuGraphGetEdges"),
    (c"cuGraphGetEdges", 12030, c"cuGraphGetEdges_v2"),
    (c"cuGraphGetNodes", 10000, c"cuGraphGetNodes"),
    (c"cuGraphGetRootNodes", 10000, c"cuGraphGetRootNodes"),
    (
        c"cuGraphHostNodeGetParams",
        10000,
        c"cuGraphHostNodeGetParams",
    ),
    (
        c"cuGraphHostNodeSetParams",
        10000,
        c"cuGraphHostNodeSetParams",
    ),
    (c"cuGraphInstantiate", 10000, c"cuGraphInstantiate"),
    (c"cuGraphInstantiate", 11000, c"cuGraphInstantiate_v2"),
    (
        c"cuGraphInstantiateWithFlags",
        11040,
        c"cuGraphInstantiateWithFlags",
    ),
    (
        c"cuGraphInstantiateWithParams",
        12000,
        c"cuGraphInstantiateWithParams",
    ),
    (
        c"cuGraphKernelNodeCopyAttributes",
        11000,
        c"cuGraphKernelNodeCopyAttributes",
    ),
    (
        c"cuGraphKernelNodeGetAttribute",
        11000,
        c"cuGraphKernelNodeGetAttribute",
    ),
    (
        c"cuGraphKernelNodeGetParams",
        10000,
        c"cuGraphKernelNodeGetParams",
    ),
    (
        c"cuGraphKernelNodeGetParams",
        12000,
        c"cuGraphKernelNodeGetParams_v2",
    ),
    (
        c"cuGraphKernelNodeSetAttribute",
        11000,
        c"cuGraphKernelNodeSetAttribute",
    ),
    (
        c"cuGraphKernelNodeSetParams",
        10000,
        c"cuGraphKernelNodeSetParams",
    ),
    (
        c"cuGraphKernelNodeSetParams",
        12000,
        c"cuGraphKernelNodeSetParams_v2",
    ),
    (c"cuGraphLaunch", 10000, c"cuGraphLaunch"),
    (
        c"cuGraphMemcpyNodeGetParams",
        10000,
        c"cuGraphMemcpyNodeGetParams",
    ),
    (
        c"cuGraphMemcpyNodeSetParams",
        10000,
        c"cuGraphMemcpyNodeSetParams",
    ),
    (
        c"cuGraphMemsetNodeGetParams",
        10000,
        c"cuGraphMemsetNodeGetParams",
    ),
    (
        c"cuGraphMemsetNodeSetParams",
        10000,
        c"cuGraphMemsetNodeSetParams",
    ),
    (c"cuGraphNodeFindInClone", 10000, c"cuGraphNodeFindInClone"),
    (
        c"cuGraphNodeGetDependencies",
        10000,
        c"cuGraphNodeGetDependencies",
    ),
    (
        c"cuGraphNodeGetDependencies",
        12030,
        c"cuGraphNodeGetDependencies_v2",
    ),
    (
        c"cuGraphNodeGetDependentNodes",
        10000,
        c"cuGraphNodeGetDependentNodes",
    ),
    (
        c"cuGraphNodeGetDependentNodes",
        12030,
        c"cuGraphNodeGetDependentNodes_v2",
    ),
    (c"cuGraphNodeGetEnabled", 11060, c"cuGraphNodeGetEnabled"),
    (c"cuGraphNodeGetType", 10000, c"cuGraphNodeGetType"),
    (c"cuGraphNodeSetEnabled", 11060, c"cuGraphNodeSetEnabled"),
    (
        c"cuGraphReleaseUserObject",
        11030,
        c"cuGraphReleaseUserObject",
    ),
    (
        c"cuGraphRemoveDependencies",
        10000,
        c"cuGraphRemoveDependencies",
    ),
    (
        c"cuGraphRemoveDependencies",
        12030,
        c"cuGraphRemoveDependencies_v2",
    ),
    (
        c"cuGraphRetainUserObject",
        11030,
        c"cuGraphRetainUserObject",
    ),
    (c"cuGraphUpload", 11010, c"cuGraphUpload"),
    (c"cuInit", 2000, c"cuInit"),
    (c"cuKernelGetAttribute", 12000, c"cuKernelGetAttribute"),
    (c"cuKernelGetFunction", 12000, c"cuKernelGetFunction"),
    (c"cuKernelGetLibrary", 12050, c"cuKernelGetLibrary"),
    (c"cuKernelGetName", 12030, c"cuKernelGetName"),
    (c"cuKernelGetParamInfo", 12040, c"cuKernelGetParamInfo"),
    (c"cuKernelSetAttribute", 12000, c"cuKernelSetAttribute"),
    (c"cuKernelSetCacheConfig", 12000, c"cuKernelSetCacheConfig"),
    (
        c"cuLaunchCooperativeKernel",
        9000,
        c"cuLaunchCooperativeKernel",
    ),
    (c"cuLaunchHostFunc", 10000, c"cuLaunchHostFunc"),
    (c"cuLaunchKernel", 4000, c"cuLaunchKernel"),
    (c"cuLaunchKernelEx", 11060, c"cuLaunchKernelEx"),
    (
        c"cuLibraryEnumerateKernels",
        12040,
        c"cuLibraryEnumerateKernels",
    ),
    (c"cuLibraryGetGlobal", 12000, c"cuLibraryGetGlobal"),
    (c"cuLibraryGetKernel", 12000, c"cuLibraryGetKernel"),
    (
        c"cuLibraryGetKernelCount",
        12040,
        c"cuLibraryGetKernelCount",
    ),
    (c"cuLibraryGetManaged", 12000, c"cuLibraryGetManaged"),
    (c"cuLibraryGetModule", 12000, c"cuLibraryGetModule"),
    (
        c"cuLibraryGetUnifiedFunction",
        12000,
        c"cuLibraryGetUnifiedFunction",
    ),
    (c"cuLibraryLoadData", 12000, c"cuLibraryLoadData"),
    (c"cuLibraryLoadFromFile", 12000, c"cuLibraryLoadFromFile"),
    (c"cuLibraryUnload", 12000, c"cuLibraryUnload"),
    (c"cuLinkAddData", 6050, c"cuLinkAddData_v2"),
    (c"cuLinkAddFile", 6050, c"cuLinkAddFile_v2"),
    (c"cuLinkComplete", 5050, c"cuLinkComplete"),
    (c"cuLinkCreate", 6050, c"cuLinkCreate_v2"),
    (c"cuLinkDestroy", 5050, c"cuLinkDestroy"),
    (c"cuMemAlloc", 3020, c"cuMemAlloc_v2"),
    (c"cuMemAllocAsync", 11020, c"cuMemAllocAsync"),
    (
        c"cuMemAllocFromPoolAsync",
        11020,
        c"cuMemAllocFromPoolAsync",
    ),
    (c"cuMemAllocHost", 3020, c"cuMemAllocHost_v2"),
    (c"cuMemAllocPitch", 3020, c"cuMemAllocPitch_v2"),
    (c"cuMemFree", 3020, c"cuMemFree_v2"),
    (c"cuMemFreeAsync", 11020, c"cuMemFreeAsync"),
    (c"cuMemFreeHost", 2000, c"cuMemFreeHost"),
    (c"cuMemGetAddressRange", 3020, c"cuMemGetAddressRange_v2"),
    (c"cuMemGetInfo", 3020, c"cuMemGetInfo_v2"),
    (c"cuMemHostAlloc", 2020, c"cuMemHostAlloc"),
    (c"cuMemHostGetFlags", 2030, c"cuMemHostGetFlags"),
    (c"cuMemHostRegister", 6050, c"cuMemHostRegister_v2"),
    (c"cuMemHostUnregister", 4000, c"cuMemHostUnregister"),
    (c"cuMemPoolCreate", 11020, c"cuMemPoolCreate"),
    (c"cuMemPoolDestroy", 11020, c"cuMemPoolDestroy"),
    (c"cuMemPoolGetAccess", 11020, c"cuMemPoolGetAccess"),
    (c"cuMemPoolGetAttribute", 11020, c"cuMemPoolGetAttribute"),
    (c"cuMemPoolSetAccess", 11020, c"cuMemPoolSetAccess"),
    (c"cuMemPoolSetAttribute", 11020, c"cuMemPoolSetAttribute"),
    (c"cuMemPoolTrimTo", 11020, c"cuMemPoolTrimTo"),
    (c"cuMemPrefetchAsync", 8000, c"cuMemPrefetchAsync"),
    (c"cuMemPrefetchAsync", 12020, c"cuMemPrefetchAsync_v2"),
    (c"cuMemcpy", 4000, c"cuMemcpy"),
    (c"cuMemcpy2D", 3020, c"cuMemcpy2D_v2"),
    (c"cuMemcpy2DAsync", 3020, c"cuMemcpy2DAsync_v2"),
    (c"cuMemcpy2DUnaligned", 3020, c"cuMemcpy2DUnaligned_v2"),
    (c"cuMemcpy3D", 3020, c"cuMemcpy3D_v2"),
    (c"cuMemcpy3DAsync", 3020, c"cuMemcpy3DAsync_v2"),
    (c"cuMemcpyAsync", 4000, c"cuMemcpyAsync"),
    (c"cuMemcpyDtoD", 3020, c"cuMemcpyDtoD_v2"),
    (c"cuMemcpyDtoDAsync", 3020, c"cuMemcpyDtoDAsync_v2"),
    (c"cuMemcpyDtoH", 3020, c"cuMemcpyDtoH_v2"),
    (c"cuMemcpyDtoHAsync", 3020, c"cuMemcpyDtoHAsync_v2"),
    (c"cuMemcpyHtoD", 3020, c"cuMemcpyHtoD_v2"),
    (c"cuMemcpyHtoDAsync", 3020, c"cuMemcpyHtoDAsync_v2"),
    (c"cuMemcpyPeer", 4000, c"cuMemcpyPeer"),
    (c"cuMemcpyPeerAsync", 4000, c"cuMemcpyPeerAsync"),
    (c"cuMemsetD16", 3020, c"cuMemsetD16_v2"),
    (c"cuMemsetD16Async", 3020, c"cuMemsetD16Async"),
    (c"cuMemsetD2D16", 3020, c"cuMemsetD2D16_v2"),
    (c"cuMemsetD2D16Async", 3020, c"cuMemsetD2D16Async"),
    (c"cuMemsetD2D32", 3020, c"cuMemsetD2D32_v2"),
    (c"cuMemsetD2D32Async", 3020, c"cuMemsetD2D32Async"),
    (c"cuMemsetD2D8", 3020, c"cuMemsetD2D8_v2"),
    (c"cuMemsetD2D8Async", 3020, c"cuMemsetD2D8Async"),
    (c"cuMemsetD32", 3020, c"cuMemsetD32_v2"),
    (c"cuMemsetD32Async", 3020, c"cuMemsetD32Async"),
    (c"cuMemsetD8", 3020, c"cuMemsetD8_v2"),
    (c"cuMemsetD8Async", 3020, c"cuMemsetD8Async"),
    (
        c"cuModuleEnumerateFunctions",
        12040,
        c"cuModuleEnumerateFunctions",
    ),
    (c"cuModuleGetFunction", 2000, c"cuModuleGetFunction"),
    (
        c"cuModuleGetFunctionCount",
        12040,
        c"cuModuleGetFunctionCount",
    ),
    (c"cuModuleGetGlobal", 3020, c"cuModuleGetGlobal_v2"),
    (c"cuModuleGetLoadingMode", 11070, c"cuModuleGetLoadingMode"),
    (c"cuModuleLoad", 2000, c"cuModuleLoad"),
    (c"cuModuleLoadData", 2000, c"cuModuleLoadData"),
    (c"cuModuleLoadDataEx", 2010, c"cuModuleLoadDataEx"),
    (c"cuModuleLoadFatBinary", 2000, c"cuModuleLoadFatBinary"),
    (c"cuModuleUnload", 2000, c"cuModuleUnload"),
    (
        c"cuOccupancyAvailableDynamicSMemPerBlock",
        10020,
        c"cuOccupancyAvailableDynamicSMemPerBlock",
    ),
    (
        c"cuOccupancyMaxActiveBlocksPerMultiprocessor",
        6050,
        c"cuOccupancyMaxActiveBlocksPerMultiprocessor",
    ),
    (
        c"cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
        7000,
        c"cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    ),
    (
        c"cuOccupancyMaxActiveClusters",
        11070,
        c"cuOccupancyMaxActiveClusters",
    ),
    (
        c"cuOccupancyMaxPotentialBlockSize",
        6050,
        c"cuOccupancyMaxPotentialBlockSize",
    ),
    (
        c"cuOccupancyMaxPotentialBlockSizeWithFlags",
        7000,
        c"cuOccupancyMaxPotentialBlockSizeWithFlags",
    ),
    (
        c"cuOccupancyMaxPotentialClusterSize",
        11070,
        c"cuOccupancyMaxPotentialClusterSize",
    ),
    (c"cuPointerGetAttribute", 4000, c"cuPointerGetAttribute"),
    (c"cuPointerGetAttributes", 7000, c"cuPointerGetAttributes"),
    (c"cuPointerSetAttribute", 6000, c"cuPointerSetAttribute"),
    (c"cuStreamAddCallback", 5000, c"cuStreamAddCallback"),
    (c"cuStreamBatchMemOp", 8000, c"cuStreamBatchMemOp"),
    (c"cuStreamBatchMemOp", 11070, c"cuStreamBatchMemOp_v2"),
    (c"cuStreamBeginCapture", 10000, c"cuStreamBeginCapture"),
    (c"cuStreamBeginCapture", 10010, c"cuStreamBeginCapture_v2"),
    (
        c"cuStreamBeginCaptureToGraph",
        12030,
        c"cuStreamBeginCaptureToGraph",
    ),
    (c"cuStreamCopyAttributes", 11000, c"cuStreamCopyAttributes"),
    (c"cuStreamCreate", 2000, c"cuStreamCreate"),
    (
        c"cuStreamCreateWithPriority",
        5050,
        c"cuStreamCreateWithPriority",
    ),
    (c"cuStreamDestroy", 4000, c"cuStreamDestroy_v2"),
    (c"cuStreamEndCapture", 10000, c"cuStreamEndCapture"),
    (c"cuStreamGetAttribute", 11000, c"cuStreamGetAttribute"),
    (c"cuStreamGetCaptureInfo", 10010, c"cuStreamGetCaptureInfo"),
    (
        c"cuStreamGetCaptureInfo",
        11030,
        c"cuStreamGetCaptureInfo_v2",
    ),
    (
        c"cuStreamGetCaptureInfo",
        12030,
        c"cuStreamGetCaptureInfo_v3",
    ),
    (c"cuStreamGetCtx", 9020, c"cuStreamGetCtx"),
    (c"cuStreamGetDevice", 12080, c"cuStreamGetDevice"),
    (c"cuStreamGetFlags", 5050, c"cuStreamGetFlags"),
    (c"cuStreamGetId", 12000, c"cuStreamGetId"),
    (c"cuStreamGetPriority", 5050, c"cuStreamGetPriority"),
    (c"cuStreamIsCapturing", 10000, c"cuStreamIsCapturing"),
    (c"cuStreamQuery", 2000, c"cuStreamQuery"),
    (c"cuStreamSetAttribute", 11000, c"cuStreamSetAttribute"),
    (c"cuStreamSynchronize", 2000, c"cuStreamSynchronize"),
    (
        c"cuStreamUpdateCaptureDependencies",
        11030,
        c"cuStreamUpdateCaptureDependencies",
    ),
    (
        c"cuStreamUpdateCaptureDependencies",
        12030,
        c"cuStreamUpdateCaptureDependencies_v2",
    ),
    (c"cuStreamWaitEvent", 3020, c"cuStreamWaitEvent"),
    (c"cuStreamWaitValue32", 8000, c"cuStreamWaitValue32"),
    (c"cuStreamWaitValue32", 11070, c"cuStreamWaitValue32_v2"),
    (c"cuStreamWriteValue32", 8000, c"cuStreamWriteValue32"),
    (c"cuStreamWriteValue32", 11070, c"cuStreamWriteValue32_v2"),
    (
        c"cuThreadExchangeStreamCaptureMode",
        10010,
        c"cuThreadExchangeStreamCaptureMode",
    ),
    (c"cuUserObjectCreate", 11030, c"cuUserObjectCreate"),
    (c"cuUserObjectRelease", 11030, c"cuUserObjectRelease"),
    (c"cuUserObjectRetain", 11030, c"cuUserObjectRetain"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_descriptions() {
        let text = include_str!("../../../../api/cuda.toml");
        let mut described = Vec::new();
        for call in text.split("\n[call.").skip(1) {
            let name = call.split(']').next().unwrap();
            let since = call.split("since = \"").nth(1).unwrap();
            let since = since.split('"').next().unwrap();
            let (major, minor) = since.split_once('.').unwrap();
            let version =
                1000 * major.parse::<c_int>().unwrap() + 10 * minor.parse::<c_int>().unwrap();
            if name.starts_with("cu") && !name.contains("_pt") {
                described.push((name.to_owned(), version));
            }
        }
        described.sort();
        let mut listed: Vec<_> = SYMBOLS
            .iter()
            .map(|(base, since, name)| {
                let (base, name) = (base.to_str().unwrap(), name.to_str().unwrap());
                assert!(name == base || name.starts_with(&format!("{base}_v")));
                (name.to_owned(), *since)
            })
            .collect();
        listed.sort();
        assert_eq!(listed, described);
        let missing = SYMBOLS
            .iter()
            .find(|(.., name)| exports::find(name).is_null());
        assert_eq!(missing, None);
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
        assert_eq!(of(c"cuTexObjectCreate", 13000), Err(none));
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
