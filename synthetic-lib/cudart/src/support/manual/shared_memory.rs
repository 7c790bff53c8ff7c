//! Managed and mapped memory, and what is advised of it.

use super::own_streams::own;
use super::*;
use crate::generated::manual::Shared;

/// A place, as the driver API has it: both structures have the same fields.
fn place_of(location: cudaMemLocation) -> cu::CUmemLocation {
    cu::CUmemLocation {
        r#type: location.r#type,
        id: location.id,
    }
}

impl Shared for Guest {
    unsafe fn cudaMallocManaged(
        _: u64,
        devPtr: *mut *mut c_void,
        size: usize,
        flags: c_uint,
    ) -> cudaError_t {
        let make = || {
            device::ready()?;
            let mut made = 0;
            // SAFETY: there is space for an address.
            driver(unsafe { cuMemAllocManaged(&mut made, size, flags) })?;
            Ok(pointer(made))
        };
        // SAFETY: the caller's.
        unsafe { put(devPtr, make) }
    }

    unsafe fn cudaHostGetDevicePointer(
        _: u64,
        pDevice: *mut *mut c_void,
        pHost: *mut c_void,
        flags: c_uint,
    ) -> cudaError_t {
        let find = || {
            device::ready()?;
            let mut found = 0;
            // SAFETY: there is space for an address.
            driver(unsafe { cuMemHostGetDevicePointer_v2(&mut found, pHost, flags) })?;
            Ok(pointer(found))
        };
        // SAFETY: the caller's.
        unsafe { put(pDevice, find) }
    }

    unsafe fn cudaMemPrefetchAsync(
        _: u64,
        devPtr: *const c_void,
        count: usize,
        location: cudaMemLocation,
        flags: c_uint,
        stream: cudaStream_t,
    ) -> cudaError_t {
        let to = place_of(location);
        // SAFETY: it takes an address and a handle.
        within(|| unsafe {
            cuMemPrefetchAsync_v2(address(devPtr), count, to, flags, stream.cast())
        })
    }

    unsafe fn cudaMemPrefetchAsync_ptsz(
        entry: u64,
        devPtr: *const c_void,
        count: usize,
        location: cudaMemLocation,
        flags: c_uint,
        stream: cudaStream_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaMemPrefetchAsync(entry, devPtr, count, location, flags, own(stream)) }
    }

    unsafe fn cudaMemAdvise(
        _: u64,
        devPtr: *const c_void,
        count: usize,
        advice: cudaMemoryAdvise,
        location: cudaMemLocation,
    ) -> cudaError_t {
        let place = place_of(location);
        // SAFETY: it takes an address.
        within(|| unsafe { cuMemAdvise_v2(address(devPtr), count, advice, place) })
    }

    unsafe fn cudaMemRangeGetAttribute(
        _: u64,
        data: *mut c_void,
        dataSize: usize,
        attribute: cudaMemRangeAttribute,
        devPtr: *const c_void,
        count: usize,
    ) -> cudaError_t {
        let at = address(devPtr);
        // SAFETY: the caller's.
        within(|| unsafe { cuMemRangeGetAttribute(data, dataSize, attribute, at, count) })
    }

    unsafe fn cudaMemRangeGetAttributes(
        _: u64,
        data: *mut *mut c_void,
        dataSizes: *mut usize,
        attributes: *mut cudaMemRangeAttribute,
        numAttributes: usize,
        devPtr: *const c_void,
        count: usize,
    ) -> cudaError_t {
        let at = address(devPtr);
        // SAFETY: the caller's.
        within(|| unsafe {
            cuMemRangeGetAttributes(data, dataSizes, attributes, numAttributes, at, count)
        })
    }

    unsafe fn cudaStreamAttachMemAsync(
        _: u64,
        stream: cudaStream_t,
        devPtr: *mut c_void,
        length: usize,
        flags: c_uint,
    ) -> cudaError_t {
        // SAFETY: it takes an address and a handle.
        within(|| unsafe { cuStreamAttachMemAsync(stream.cast(), address(devPtr), length, flags) })
    }

    unsafe fn cudaStreamAttachMemAsync_ptsz(
        entry: u64,
        stream: cudaStream_t,
        devPtr: *mut c_void,
        length: usize,
        flags: c_uint,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaStreamAttachMemAsync(entry, own(stream), devPtr, length, flags) }
    }
}
