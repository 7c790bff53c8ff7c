//! Green contexts.

use super::*;
use crate::generated::manual::GreenContexts;
use crate::support::green;
use std::ffi::c_ulonglong;

impl GreenContexts for Guest {
    unsafe fn cuDeviceGetDevResource(
        entry: u64,
        device: CUdevice,
        resource: *mut CUdevResource,
        r#type: CUdevResourceType,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(resource, || green::of_device(entry, device, r#type)) }
    }

    unsafe fn cuCtxGetDevResource(
        entry: u64,
        hCtx: CUcontext,
        resource: *mut CUdevResource,
        r#type: CUdevResourceType,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(resource, || green::of_context(entry, hCtx, r#type)) }
    }

    unsafe fn cuGreenCtxGetDevResource(
        entry: u64,
        hCtx: CUgreenCtx,
        resource: *mut CUdevResource,
        r#type: CUdevResourceType,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(resource, || green::of_green(entry, hCtx, r#type)) }
    }

    unsafe fn cuDevSmResourceSplitByCount(
        entry: u64,
        result: *mut CUdevResource,
        nbGroups: *mut c_uint,
        input: *const CUdevResource,
        remaining: *mut CUdevResource,
        useFlags: c_uint,
        minCount: c_uint,
    ) -> CUresult {
        Self::returned(|| {
            let count = place(nbGroups)?;
            // SAFETY: the caller's: there is a number.
            let most = (!result.is_null()).then(|| unsafe { count.read() });
            // SAFETY: the caller's.
            let split = unsafe { green::split(entry, most, input, (useFlags, minCount)) }?;
            for (at, group) in split.groups.into_iter().enumerate() {
                // SAFETY: the caller's: there are no more groups than it has space for.
                unsafe { result.add(at).write(group) };
            }
            // SAFETY: the caller's.
            unsafe {
                count.write(split.count);
                match split.remaining {
                    Some(rest) if !remaining.is_null() => remaining.write(rest),
                    _ => {}
                }
            }
            Ok(())
        })
    }

    unsafe fn cuDevResourceGenerateDesc(
        entry: u64,
        phDesc: *mut CUdevResourceDesc,
        resources: *mut CUdevResource,
        nbResources: c_uint,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(phDesc, || green::describe(entry, resources, nbResources)) }
    }

    unsafe fn cuGreenCtxCreate(
        entry: u64,
        phCtx: *mut CUgreenCtx,
        desc: CUdevResourceDesc,
        dev: CUdevice,
        flags: c_uint,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(phCtx, || green::make(entry, desc, dev, flags)) }
    }

    unsafe fn cuGreenCtxDestroy(entry: u64, hCtx: CUgreenCtx) -> CUresult {
        Self::returned(|| green::destroy(entry, hCtx))
    }

    unsafe fn cuGreenCtxRecordEvent(entry: u64, hCtx: CUgreenCtx, hEvent: CUevent) -> CUresult {
        Self::returned(|| green::record(entry, hCtx, hEvent))
    }

    unsafe fn cuGreenCtxWaitEvent(entry: u64, hCtx: CUgreenCtx, hEvent: CUevent) -> CUresult {
        Self::returned(|| green::wait(entry, hCtx, hEvent))
    }

    unsafe fn cuStreamGetGreenCtx(_: u64, hStream: CUstream, phCtx: *mut CUgreenCtx) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(phCtx, || green::of_stream(hStream)) }
    }

    unsafe fn cuGreenCtxStreamCreate(
        entry: u64,
        phStream: *mut CUstream,
        greenCtx: CUgreenCtx,
        flags: c_uint,
        priority: c_int,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(phStream, || green::stream(entry, greenCtx, flags, priority)) }
    }

    unsafe fn cuGreenCtxGetId(
        _: u64,
        greenCtx: CUgreenCtx,
        greenCtxId: *mut c_ulonglong,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(greenCtxId, || Ok(green::find(greenCtx)?.number)) }
    }

    unsafe fn cuStreamGetCtx_v2(
        entry: u64,
        hStream: CUstream,
        pCtx: *mut CUcontext,
        pGreenCtx: *mut CUgreenCtx,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            match Self::cuStreamGetCtx(entry, hStream, pCtx) {
                CUDA_SUCCESS => put(pGreenCtx, || green::of_stream(hStream)),
                code => code,
            }
        }
    }
}
