//! What a device and a kernel say of themselves, as structures: each field is an attribute of
//! the driver API's, by its number there.

use super::error::{Answer, driver};
use super::{binary, device};
use crate::generated::types::*;
use gil_cuda::generated::stubs::*;
use gil_cuda::generated::types as cu;
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};

/// What devices said: a program that asks again asks nobody.
static KNOWN: Mutex<Vec<(cu::CUdevice, Box<cudaDeviceProp>)>> = Mutex::new(Vec::new());

/// A device's properties.
///
/// # Errors
/// `cudaErrorInvalidDevice`, or the driver's.
pub fn of_device(device: c_int) -> Answer<cudaDeviceProp> {
    device::initialized()?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, properties)) = known.iter().find(|(it, _)| *it == device) {
        return Ok(**properties);
    }
    let properties = ask(device)?;
    known.push((device, Box::new(properties)));
    Ok(properties)
}

/// An attribute; 0 for one that the board's driver does not know.
fn attribute(device: cu::CUdevice, number: c_int) -> Answer<c_int> {
    let mut value = 0;
    // SAFETY: there is space for a number.
    match unsafe { cuDeviceGetAttribute(&mut value, number, device) } {
        cu::CUDA_ERROR_INVALID_VALUE => Ok(0),
        code => driver(code).map(|()| value),
    }
}

fn several<const N: usize>(device: cu::CUdevice, numbers: [c_int; N]) -> Answer<[c_int; N]> {
    let mut values = [0; N];
    for (value, number) in values.iter_mut().zip(numbers) {
        *value = attribute(device, number)?;
    }
    Ok(values)
}

fn ask(device: cu::CUdevice) -> Answer<cudaDeviceProp> {
    let (mut name, mut bytes) = ([0; 256], 0);
    let mut uuid = cu::CUuuid { bytes: [0; 16] };
    // SAFETY: there is space for each.
    unsafe {
        driver(cuDeviceGetName(
            name.as_mut_ptr(),
            name.len() as c_int,
            device,
        ))?;
        driver(cuDeviceGetUuid_v2(&mut uuid, device))?;
        driver(cuDeviceTotalMem_v2(&mut bytes, device))?;
    }
    let one = |number| attribute(device, number);
    let size = |number| one(number).map(|value| usize::try_from(value).unwrap_or(0));
    Ok(cudaDeviceProp {
        name,
        uuid: cudaUUID_t { bytes: uuid.bytes },
        // A device has one on Windows alone.
        luid: [0; 8],
        luidDeviceNodeMask: 0,
        totalGlobalMem: bytes,
        sharedMemPerBlock: size(8)?,
        regsPerBlock: one(12)?,
        warpSize: one(10)?,
        memPitch: size(11)?,
        maxThreadsPerBlock: one(1)?,
        maxThreadsDim: several(device, [2, 3, 4])?,
        maxGridSize: several(device, [5, 6, 7])?,
        totalConstMem: size(9)?,
        major: one(75)?,
        minor: one(76)?,
        textureAlignment: size(14)?,
        texturePitchAlignment: size(51)?,
        multiProcessorCount: one(16)?,
        integrated: one(18)?,
        canMapHostMemory: one(19)?,
        maxTexture1D: one(21)?,
        maxTexture1DMipmap: one(77)?,
        maxTexture2D: several(device, [22, 23])?,
        maxTexture2DMipmap: several(device, [73, 74])?,
        maxTexture2DLinear: several(device, [70, 71, 72])?,
        maxTexture2DGather: several(device, [45, 46])?,
        maxTexture3D: several(device, [24, 25, 26])?,
        maxTexture3DAlt: several(device, [47, 48, 49])?,
        maxTextureCubemap: one(52)?,
        maxTexture1DLayered: several(device, [42, 43])?,
        maxTexture2DLayered: several(device, [27, 28, 29])?,
        maxTextureCubemapLayered: several(device, [53, 54])?,
        maxSurface1D: one(55)?,
        maxSurface2D: several(device, [56, 57])?,
        maxSurface3D: several(device, [58, 59, 60])?,
        maxSurface1DLayered: several(device, [61, 62])?,
        maxSurface2DLayered: several(device, [63, 64, 65])?,
        maxSurfaceCubemap: one(66)?,
        maxSurfaceCubemapLayered: several(device, [67, 68])?,
        surfaceAlignment: size(30)?,
        concurrentKernels: one(31)?,
        ECCEnabled: one(32)?,
        pciBusID: one(33)?,
        pciDeviceID: one(34)?,
        pciDomainID: one(50)?,
        tccDriver: one(35)?,
        asyncEngineCount: one(40)?,
        unifiedAddressing: one(41)?,
        memoryBusWidth: one(37)?,
        l2CacheSize: one(38)?,
        persistingL2CacheMaxSize: one(108)?,
        maxThreadsPerMultiProcessor: one(39)?,
        streamPrioritiesSupported: one(78)?,
        globalL1CacheSupported: one(79)?,
        localL1CacheSupported: one(80)?,
        sharedMemPerMultiprocessor: size(81)?,
        regsPerMultiprocessor: one(82)?,
        managedMemory: one(83)?,
        isMultiGpuBoard: one(84)?,
        multiGpuBoardGroupID: one(85)?,
        hostNativeAtomicSupported: one(86)?,
        pageableMemoryAccess: one(88)?,
        concurrentManagedAccess: one(89)?,
        computePreemptionSupported: one(90)?,
        canUseHostPointerForRegisteredMem: one(91)?,
        cooperativeLaunch: one(95)?,
        sharedMemPerBlockOptin: size(97)?,
        pageableMemoryAccessUsesHostPageTables: one(100)?,
        directManagedMemAccessFromHost: one(101)?,
        maxBlocksPerMultiProcessor: one(106)?,
        accessPolicyMaxWindowSize: one(109)?,
        reservedSharedMemPerBlock: size(111)?,
        hostRegisterSupported: one(99)?,
        sparseCudaArraySupported: one(112)?,
        hostRegisterReadOnlySupported: one(113)?,
        timelineSemaphoreInteropSupported: one(114)?,
        memoryPoolsSupported: one(115)?,
        gpuDirectRDMASupported: one(116)?,
        gpuDirectRDMAFlushWritesOptions: one(117)?.cast_unsigned(),
        gpuDirectRDMAWritesOrdering: one(118)?,
        memoryPoolSupportedHandleTypes: one(119)?.cast_unsigned(),
        deferredMappingCudaArraySupported: one(121)?,
        ipcEventSupported: one(125)?,
        clusterLaunch: one(120)?,
        unifiedFunctionPointers: one(129)?,
        deviceNumaConfig: one(130)?,
        deviceNumaId: one(131)?,
        mpsEnabled: one(133)?,
        hostNumaId: one(134)?,
        gpuPciDeviceID: one(139)?.cast_unsigned(),
        gpuPciSubsystemID: one(140)?.cast_unsigned(),
        hostNumaMultinodeIpcSupported: one(143)?,
        reserved: [0; 56],
    })
}

/// The attributes of functions that older drivers lack begin here.
const OPTIONAL: c_int = 10;

/// A kernel's attributes.
///
/// # Errors
/// `cudaErrorInvalidDeviceFunction`, or the driver's.
pub fn of_function(host: *const c_void) -> Answer<cudaFuncAttributes> {
    let function = binary::function(host)?;
    let one = |number: c_int| {
        let mut value = 0;
        // SAFETY: there is space for a number.
        match unsafe { cuFuncGetAttribute(&mut value, number, function) } {
            cu::CUDA_ERROR_INVALID_VALUE if number >= OPTIONAL => Ok(0),
            code => driver(code).map(|()| value),
        }
    };
    let size = |number| one(number).map(|value| usize::try_from(value).unwrap_or(0));
    Ok(cudaFuncAttributes {
        sharedSizeBytes: size(1)?,
        constSizeBytes: size(2)?,
        localSizeBytes: size(3)?,
        maxThreadsPerBlock: one(0)?,
        numRegs: one(4)?,
        ptxVersion: one(5)?,
        binaryVersion: one(6)?,
        cacheModeCA: one(7)?,
        maxDynamicSharedSizeBytes: one(8)?,
        preferredShmemCarveout: one(9)?,
        clusterDimMustBeSet: one(10)?,
        requiredClusterWidth: one(11)?,
        requiredClusterHeight: one(12)?,
        requiredClusterDepth: one(13)?,
        clusterSchedulingPolicyPreference: one(15)?,
        nonPortableClusterSizeAllowed: one(14)?,
        reserved: [0; 16],
    })
}
