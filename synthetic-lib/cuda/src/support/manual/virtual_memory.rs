//! Virtual memory management.

use super::*;
use crate::generated::manual::Virtual;
use crate::support::virtual_memory as spaces;

impl Virtual for Guest {
    unsafe fn cuMemAddressReserve(
        entry: u64,
        ptr: *mut CUdeviceptr,
        size: usize,
        alignment: usize,
        addr: CUdeviceptr,
        flags: u64,
    ) -> CUresult {
        let reserve = || spaces::reserve(entry, (size, alignment), addr, flags);
        // SAFETY: the caller's.
        unsafe { put(ptr, reserve) }
    }

    unsafe fn cuMemAddressFree(entry: u64, ptr: CUdeviceptr, size: usize) -> CUresult {
        Self::returned(|| spaces::free(entry, ptr, size))
    }

    unsafe fn cuMemCreate(
        entry: u64,
        handle: *mut CUmemGenericAllocationHandle,
        size: usize,
        prop: *const CUmemAllocationProp,
        flags: u64,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(handle, || spaces::create(entry, size, prop, flags)) }
    }

    unsafe fn cuMemRelease(entry: u64, handle: CUmemGenericAllocationHandle) -> CUresult {
        Self::returned(|| spaces::release(entry, handle))
    }

    unsafe fn cuMemMap(
        entry: u64,
        ptr: CUdeviceptr,
        size: usize,
        offset: usize,
        handle: CUmemGenericAllocationHandle,
        flags: u64,
    ) -> CUresult {
        Self::returned(|| spaces::map(entry, (ptr, size, offset), handle, flags))
    }

    unsafe fn cuMemUnmap(entry: u64, ptr: CUdeviceptr, size: usize) -> CUresult {
        Self::returned(|| spaces::unmap(entry, ptr, size))
    }

    unsafe fn cuMemSetAccess(
        entry: u64,
        ptr: CUdeviceptr,
        size: usize,
        desc: *const CUmemAccessDesc,
        count: usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe { spaces::set_access(entry, (ptr, size), desc, count) })
    }

    unsafe fn cuMemGetAccess(
        entry: u64,
        flags: *mut u64,
        location: *const CUmemLocation,
        ptr: CUdeviceptr,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(flags, || spaces::access(entry, location, ptr)) }
    }

    unsafe fn cuMemGetAllocationGranularity(
        entry: u64,
        granularity: *mut usize,
        prop: *const CUmemAllocationProp,
        option: CUmemAllocationGranularity_flags,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(granularity, || spaces::granularity(entry, prop, option)) }
    }

    unsafe fn cuMemGetAllocationPropertiesFromHandle(
        _: u64,
        prop: *mut CUmemAllocationProp,
        handle: CUmemGenericAllocationHandle,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe { spaces::property(prop, handle) })
    }

    unsafe fn cuMemRetainAllocationHandle(
        _: u64,
        handle: *mut CUmemGenericAllocationHandle,
        addr: *mut c_void,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(handle, || spaces::retain(addr.addr() as u64)) }
    }
}
