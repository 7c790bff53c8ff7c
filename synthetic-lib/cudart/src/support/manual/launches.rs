//! Launches with attributes, functions of the program's on streams, what streams have.

use super::*;
use crate::generated::manual::Launches;

/// The driver API's structure of a launch; its attributes are laid out alike.
///
/// # Errors
/// `cudaErrorInvalidValue`.
///
/// # Safety
/// `config` is null or a structure.
unsafe fn config(config: *const cudaLaunchConfig_t) -> Answer<cu::CUlaunchConfig> {
    // SAFETY: the caller's.
    let config = unsafe { config.as_ref() }.ok_or(cudaErrorInvalidValue)?;
    Ok(cu::CUlaunchConfig {
        gridDimX: config.gridDim.x,
        gridDimY: config.gridDim.y,
        gridDimZ: config.gridDim.z,
        blockDimX: config.blockDim.x,
        blockDimY: config.blockDim.y,
        blockDimZ: config.blockDim.z,
        // More than any device has; what this one has is checked on the board.
        sharedMemBytes: u32::try_from(config.dynamicSmemBytes)
            .map_err(|_| cudaErrorInvalidValue)?,
        hStream: config.stream.cast(),
        attrs: config.attrs.cast(),
        numAttrs: config.numAttrs,
    })
}

impl Launches for Guest {
    unsafe fn cudaLaunchKernelExC(
        _: u64,
        config: *const cudaLaunchConfig_t,
        func: *const c_void,
        args: *mut *mut c_void,
    ) -> cudaError_t {
        returned(|| {
            // SAFETY: the caller's.
            let launch = unsafe { self::config(config) }?;
            let function = binary::function(func)?;
            let none = std::ptr::null_mut();
            // SAFETY: the caller's.
            match unsafe { cuLaunchKernelEx(&launch, function, args, none) } {
                cudaErrorInvalidValue => Err(launch::why(
                    dim3 {
                        x: launch.gridDimX,
                        y: launch.gridDimY,
                        z: launch.gridDimZ,
                    },
                    dim3 {
                        x: launch.blockDimX,
                        y: launch.blockDimY,
                        z: launch.blockDimZ,
                    },
                )),
                code => driver(code),
            }
        })
    }

    unsafe fn cudaLaunchCooperativeKernel(
        _: u64,
        func: *const c_void,
        gridDim: dim3,
        blockDim: dim3,
        args: *mut *mut c_void,
        sharedMem: usize,
        stream: cudaStream_t,
    ) -> cudaError_t {
        returned(|| {
            let function = binary::function(func)?;
            let shared = u32::try_from(sharedMem).map_err(|_| cudaErrorInvalidValue)?;
            // SAFETY: the caller's.
            let code = unsafe {
                cuLaunchCooperativeKernel(
                    function,
                    gridDim.x,
                    gridDim.y,
                    gridDim.z,
                    blockDim.x,
                    blockDim.y,
                    blockDim.z,
                    shared,
                    stream.cast(),
                    args,
                )
            };
            match code {
                cudaErrorInvalidValue => Err(launch::why(gridDim, blockDim)),
                code => driver(code),
            }
        })
    }

    unsafe fn cudaOccupancyAvailableDynamicSMemPerBlock(
        _: u64,
        dynamicSmemSize: *mut usize,
        func: *const c_void,
        numBlocks: c_int,
        blockSize: c_int,
    ) -> cudaError_t {
        returned(|| {
            let function = binary::function(func)?;
            // SAFETY: the caller's.
            driver(unsafe {
                cuOccupancyAvailableDynamicSMemPerBlock(
                    dynamicSmemSize,
                    function,
                    numBlocks,
                    blockSize,
                )
            })
        })
    }

    unsafe fn cudaOccupancyMaxPotentialClusterSize(
        _: u64,
        clusterSize: *mut c_int,
        func: *const c_void,
        launchConfig: *const cudaLaunchConfig_t,
    ) -> cudaError_t {
        returned(|| {
            let function = binary::function(func)?;
            // SAFETY: the caller's.
            unsafe {
                let launch = config(launchConfig)?;
                driver(cuOccupancyMaxPotentialClusterSize(
                    clusterSize,
                    function,
                    &launch,
                ))
            }
        })
    }

    unsafe fn cudaOccupancyMaxActiveClusters(
        _: u64,
        numClusters: *mut c_int,
        func: *const c_void,
        launchConfig: *const cudaLaunchConfig_t,
    ) -> cudaError_t {
        returned(|| {
            let function = binary::function(func)?;
            // SAFETY: the caller's.
            unsafe {
                let launch = config(launchConfig)?;
                driver(cuOccupancyMaxActiveClusters(numClusters, function, &launch))
            }
        })
    }

    unsafe fn cudaFuncGetName(
        _: u64,
        name: *mut *const c_char,
        func: *const c_void,
    ) -> cudaError_t {
        returned(|| {
            let function = binary::function(func)?;
            // SAFETY: the caller's.
            driver(unsafe { cuFuncGetName(name, function) })
        })
    }

    unsafe fn cudaFuncGetParamInfo(
        _: u64,
        func: *const c_void,
        paramIndex: usize,
        paramOffset: *mut usize,
        paramSize: *mut usize,
    ) -> cudaError_t {
        returned(|| {
            let function = binary::function(func)?;
            // SAFETY: the caller's.
            driver(unsafe { cuFuncGetParamInfo(function, paramIndex, paramOffset, paramSize) })
        })
    }

    unsafe fn cudaLaunchHostFunc(
        _: u64,
        stream: cudaStream_t,
        r#fn: Option<unsafe extern "C" fn(*mut c_void)>,
        userData: *mut c_void,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuLaunchHostFunc(stream.cast(), r#fn, userData) })
    }

    unsafe fn cudaStreamAddCallback(
        _: u64,
        stream: cudaStream_t,
        callback: Option<unsafe extern "C" fn(cudaStream_t, cudaError_t, *mut c_void)>,
        userData: *mut c_void,
        flags: c_uint,
    ) -> cudaError_t {
        type Callback = unsafe extern "C" fn(cu::CUstream, cu::CUresult, *mut c_void);
        // SAFETY: both take the same handle, and a number that means the same.
        let callback = unsafe {
            std::mem::transmute::<
                Option<unsafe extern "C" fn(cudaStream_t, cudaError_t, *mut c_void)>,
                Option<Callback>,
            >(callback)
        };
        // SAFETY: the caller's.
        within(|| unsafe { cuStreamAddCallback(stream.cast(), callback, userData, flags) })
    }

    unsafe fn cudaStreamGetId(_: u64, hStream: cudaStream_t, streamId: *mut u64) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuStreamGetId(hStream.cast(), streamId) })
    }

    unsafe fn cudaStreamIsCapturing(
        _: u64,
        stream: cudaStream_t,
        pCaptureStatus: *mut cudaStreamCaptureStatus,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuStreamIsCapturing(stream.cast(), pCaptureStatus) })
    }

    unsafe fn cudaStreamGetDevice(
        _: u64,
        hStream: cudaStream_t,
        device: *mut c_int,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuStreamGetDevice(hStream.cast(), device) })
    }

    unsafe fn cudaStreamCopyAttributes(
        _: u64,
        dst: cudaStream_t,
        src: cudaStream_t,
    ) -> cudaError_t {
        // SAFETY: it takes handles.
        within(|| unsafe { cuStreamCopyAttributes(dst.cast(), src.cast()) })
    }

    unsafe fn cudaStreamGetAttribute(
        _: u64,
        hStream: cudaStream_t,
        attr: cudaLaunchAttributeID,
        value_out: *mut cudaLaunchAttributeValue,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuStreamGetAttribute(hStream.cast(), attr, value_out.cast()) })
    }

    unsafe fn cudaStreamSetAttribute(
        _: u64,
        hStream: cudaStream_t,
        attr: cudaLaunchAttributeID,
        value: *const cudaLaunchAttributeValue,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuStreamSetAttribute(hStream.cast(), attr, value.cast()) })
    }

    unsafe fn cudaEventRecordWithFlags(
        _: u64,
        event: cudaEvent_t,
        stream: cudaStream_t,
        flags: c_uint,
    ) -> cudaError_t {
        // SAFETY: it takes handles.
        within(|| unsafe { cuEventRecordWithFlags(event.cast(), stream.cast(), flags) })
    }
}
