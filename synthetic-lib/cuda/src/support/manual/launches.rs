//! Launches with attributes, functions of the program's on streams, what streams have.

use super::*;
use crate::generated::manual::Launches;
use crate::support::capture;
use crate::support::function::{self, Function};
use crate::support::occupancy::{self, Search, Shared};
use crate::support::stream_attribute;
use gil_cuda_common::attribute::{self, Attribute, COOPERATIVE};

/// A launch as the program has it in a structure.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`, or `CUDA_ERROR_NOT_SUPPORTED` for attributes that gil does
/// not pass on.
///
/// # Safety
/// `config` is null or a structure with as many attributes as it says.
unsafe fn config(
    config: *const CUlaunchConfig,
) -> CallResult<(Geometry, CUstream, Vec<Attribute>)> {
    // SAFETY: the caller's.
    let config = unsafe { config.as_ref() }.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let count = config.numAttrs as usize;
    if count > attribute::MAX || config.attrs.is_null() && count > 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let mut attributes = Vec::new();
    for n in 0..count {
        // SAFETY: the caller's.
        let attribute = unsafe { config.attrs.add(n).read_unaligned() };
        let of = attribute::Of::Launch;
        attributes.extend(stream_attribute::read(attribute.id, &attribute.value, of)?);
    }
    let geometry = Geometry {
        grid: [config.gridDimX, config.gridDimY, config.gridDimZ],
        block: [config.blockDimX, config.blockDimY, config.blockDimZ],
        shared: config.sharedMemBytes,
    };
    Ok((geometry, config.hStream, attributes))
}

impl Launches for Guest {
    unsafe fn cuLaunchKernelEx(
        entry: u64,
        config: *const CUlaunchConfig,
        f: CUfunction,
        kernelParams: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> CUresult {
        Self::returned(|| {
            // SAFETY: the caller's.
            unsafe {
                let (geometry, stream, attributes) = self::config(config)?;
                let values = (kernelParams, extra);
                if attributes.is_empty() {
                    return launch::launch(entry, f, &geometry, stream, values);
                }
                let call = (entry, wire::CU_LAUNCH_KERNEL_EX);
                launch::launch_with(call, f, &geometry, stream, values, &attributes)
            }
        })
    }

    unsafe fn cuLaunchCooperativeKernel(
        entry: u64,
        f: CUfunction,
        gridDimX: c_uint,
        gridDimY: c_uint,
        gridDimZ: c_uint,
        blockDimX: c_uint,
        blockDimY: c_uint,
        blockDimZ: c_uint,
        sharedMemBytes: c_uint,
        hStream: CUstream,
        kernelParams: *mut *mut c_void,
    ) -> CUresult {
        let geometry = Geometry {
            grid: [gridDimX, gridDimY, gridDimZ],
            block: [blockDimX, blockDimY, blockDimZ],
            shared: sharedMemBytes,
        };
        let call = (entry, wire::CU_LAUNCH_COOPERATIVE_KERNEL);
        let values = (kernelParams, std::ptr::null_mut());
        let attributes = [Attribute::number(COOPERATIVE, 1)];
        // SAFETY: the caller's.
        Self::returned(|| unsafe {
            launch::launch_with(call, f, &geometry, hStream, values, &attributes)
        })
    }

    unsafe fn cuModuleEnumerateFunctions(
        entry: u64,
        functions: *mut CUfunction,
        numFunctions: c_uint,
        hmod: CUmodule,
    ) -> CUresult {
        Self::returned(|| {
            let to = place(functions)?;
            let found = module::functions(entry, hmod, numFunctions)?;
            for (n, function) in found.into_iter().enumerate() {
                // SAFETY: the caller's: there are no more than it has space for.
                unsafe { to.add(n).write(function) };
            }
            Ok(())
        })
    }

    unsafe fn cuOccupancyMaxPotentialBlockSize(
        entry: u64,
        minGridSize: *mut c_int,
        blockSize: *mut c_int,
        func: CUfunction,
        blockSizeToDynamicSMemSize: Shared,
        dynamicSMemSize: usize,
        blockSizeLimit: c_int,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            Self::cuOccupancyMaxPotentialBlockSizeWithFlags(
                entry,
                minGridSize,
                blockSize,
                func,
                blockSizeToDynamicSMemSize,
                dynamicSMemSize,
                blockSizeLimit,
                0,
            )
        }
    }

    unsafe fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        _: u64,
        minGridSize: *mut c_int,
        blockSize: *mut c_int,
        func: CUfunction,
        blockSizeToDynamicSMemSize: Shared,
        dynamicSMemSize: usize,
        blockSizeLimit: c_int,
        flags: c_uint,
    ) -> CUresult {
        let search = Search {
            function: func,
            shared: blockSizeToDynamicSMemSize,
            bytes: dynamicSMemSize,
            most: blockSizeLimit,
            flags,
        };
        Self::returned(|| {
            let (blocks, threads) = (place(minGridSize)?, place(blockSize)?);
            let best = search.best()?;
            // SAFETY: the caller's.
            unsafe {
                blocks.write(best.0);
                threads.write(best.1);
            }
            Ok(())
        })
    }

    unsafe fn cuOccupancyMaxPotentialClusterSize(
        entry: u64,
        clusterSize: *mut c_int,
        func: CUfunction,
        config: *const CUlaunchConfig,
    ) -> CUresult {
        let call = (entry, wire::CU_OCCUPANCY_MAX_POTENTIAL_CLUSTER_SIZE);
        // SAFETY: the caller's.
        let found = || unsafe {
            let (geometry, stream, attributes) = self::config(config)?;
            occupancy::clusters(call, func, &geometry, stream, &attributes)
        };
        // SAFETY: the caller's.
        unsafe { put(clusterSize, found) }
    }

    unsafe fn cuOccupancyMaxActiveClusters(
        entry: u64,
        numClusters: *mut c_int,
        func: CUfunction,
        config: *const CUlaunchConfig,
    ) -> CUresult {
        let call = (entry, wire::CU_OCCUPANCY_MAX_ACTIVE_CLUSTERS);
        // SAFETY: the caller's.
        let found = || unsafe {
            let (geometry, stream, attributes) = self::config(config)?;
            occupancy::clusters(call, func, &geometry, stream, &attributes)
        };
        // SAFETY: the caller's.
        unsafe { put(numClusters, found) }
    }

    unsafe fn cuLaunchHostFunc(
        entry: u64,
        hStream: CUstream,
        r#fn: Option<unsafe extern "C" fn(*mut c_void)>,
        userData: *mut c_void,
    ) -> CUresult {
        Self::returned(|| {
            let function = r#fn.ok_or(CUDA_ERROR_INVALID_VALUE)?;
            let function = Function::Host(function, userData);
            function::put(entry, wire::CU_LAUNCH_HOST_FUNC, hStream, function)
        })
    }

    unsafe fn cuStreamAddCallback(
        entry: u64,
        hStream: CUstream,
        callback: Option<unsafe extern "C" fn(CUstream, CUresult, *mut c_void)>,
        userData: *mut c_void,
        flags: c_uint,
    ) -> CUresult {
        Self::returned(|| {
            let callback = callback.filter(|_| flags == 0);
            let callback = callback.ok_or(CUDA_ERROR_INVALID_VALUE)?;
            let function = Function::Callback(callback, hStream, userData);
            function::put(entry, wire::CU_STREAM_ADD_CALLBACK, hStream, function)
        })
    }

    unsafe fn cuStreamGetId(_: u64, hStream: CUstream, streamId: *mut cuuint64_t) -> CUresult {
        let id = || {
            context::with(|context| {
                streams::with_any_lane(context, hStream, |lane| Ok(lane.queue.id))
            })
        };
        // SAFETY: the caller's.
        unsafe { put(streamId, id) }
    }

    unsafe fn cuStreamIsCapturing(
        _: u64,
        hStream: CUstream,
        captureStatus: *mut CUstreamCaptureStatus,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(captureStatus, || Ok(capture::info(hStream)?.status)) }
    }

    unsafe fn cuStreamGetDevice(_: u64, hStream: CUstream, device: *mut CUdevice) -> CUresult {
        let of = || of_stream(hStream, |context| context.device, |it| it.context.device);
        // SAFETY: the caller's.
        unsafe { put(device, of) }
    }

    unsafe fn cuStreamCopyAttributes(entry: u64, dst: CUstream, src: CUstream) -> CUresult {
        Self::returned(|| stream_attribute::copy(entry, dst, src))
    }

    unsafe fn cuStreamGetAttribute(
        entry: u64,
        hStream: CUstream,
        attr: CUlaunchAttributeID,
        value_out: *mut CUlaunchAttributeValue,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(value_out, || stream_attribute::get(entry, hStream, attr)) }
    }

    unsafe fn cuStreamSetAttribute(
        entry: u64,
        hStream: CUstream,
        attr: CUlaunchAttributeID,
        value: *const CUlaunchAttributeValue,
    ) -> CUresult {
        Self::returned(|| {
            // SAFETY: the caller's.
            let value = unsafe { value.as_ref() }.ok_or(CUDA_ERROR_INVALID_VALUE)?;
            stream_attribute::set(entry, hStream, attr, value)
        })
    }

    unsafe fn cuEventRecordWithFlags(
        entry: u64,
        hEvent: CUevent,
        hStream: CUstream,
        flags: c_uint,
    ) -> CUresult {
        Self::returned(|| event::record_with(entry, hEvent, hStream, flags))
    }
}
