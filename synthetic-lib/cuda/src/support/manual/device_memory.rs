//! The device's memory, the program's that is pinned, pools, and what is known of an address.

use super::*;
use crate::generated::manual::Memory;

impl Memory for Guest {
    unsafe fn cuMemAlloc_v2(entry: u64, dptr: *mut CUdeviceptr, bytesize: usize) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(dptr, || memory::allocate(entry, bytesize)) }
    }

    unsafe fn cuMemAllocPitch_v2(
        entry: u64,
        dptr: *mut CUdeviceptr,
        pPitch: *mut usize,
        WidthInBytes: usize,
        Height: usize,
        ElementSizeBytes: c_uint,
    ) -> CUresult {
        let make = || {
            place(dptr)?;
            place(pPitch)?;
            memory::allocate_rows(entry, WidthInBytes, Height, ElementSizeBytes)
        };
        // SAFETY: the caller's.
        unsafe { put_both((dptr, pPitch), make) }
    }

    unsafe fn cuMemFree_v2(entry: u64, dptr: CUdeviceptr) -> CUresult {
        Self::returned(|| memory::free(entry, dptr))
    }

    unsafe fn cuMemGetAddressRange_v2(
        _: u64,
        pbase: *mut CUdeviceptr,
        psize: *mut usize,
        dptr: CUdeviceptr,
    ) -> CUresult {
        let known = || {
            let (base, len) = memory::range(dptr)?;
            Ok((base, len as usize))
        };
        // SAFETY: the caller's.
        unsafe { put_both((pbase, psize), known) }
    }

    unsafe fn cuMemAllocHost_v2(entry: u64, pp: *mut *mut c_void, bytesize: usize) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(pp, || memory::allocate_host(entry, bytesize, 0)) }
    }

    unsafe fn cuMemHostAlloc(
        entry: u64,
        pp: *mut *mut c_void,
        bytesize: usize,
        Flags: c_uint,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(pp, || memory::allocate_host(entry, bytesize, Flags)) }
    }

    unsafe fn cuMemFreeHost(entry: u64, p: *mut c_void) -> CUresult {
        Self::returned(|| memory::free_host(entry, p))
    }

    unsafe fn cuMemHostRegister_v2(
        _: u64,
        p: *mut c_void,
        bytesize: usize,
        Flags: c_uint,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe { memory::register(p, bytesize, Flags) })
    }

    unsafe fn cuMemHostUnregister(entry: u64, p: *mut c_void) -> CUresult {
        Self::returned(|| memory::unregister(entry, p))
    }

    unsafe fn cuMemHostGetFlags(_: u64, pFlags: *mut c_uint, p: *mut c_void) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(pFlags, || memory::host_flags(p)) }
    }

    unsafe fn cuMemAllocAsync(
        entry: u64,
        dptr: *mut CUdeviceptr,
        bytesize: usize,
        hStream: CUstream,
    ) -> CUresult {
        let of = on(entry, wire::CU_MEM_ALLOC_ASYNC, hStream);
        // SAFETY: the caller's.
        unsafe { put(dptr, || pools::allocate(of, bytesize)) }
    }

    unsafe fn cuMemAllocFromPoolAsync(
        entry: u64,
        dptr: *mut CUdeviceptr,
        bytesize: usize,
        pool: CUmemoryPool,
        hStream: CUstream,
    ) -> CUresult {
        let of = on(entry, wire::CU_MEM_ALLOC_FROM_POOL_ASYNC, hStream);
        // SAFETY: the caller's.
        unsafe { put(dptr, || pools::allocate_from(of, bytesize, pool)) }
    }

    unsafe fn cuMemFreeAsync(entry: u64, dptr: CUdeviceptr, hStream: CUstream) -> CUresult {
        let of = on(entry, wire::CU_MEM_FREE_ASYNC, hStream);
        Self::returned(|| pools::free(of, dptr))
    }

    unsafe fn cuMemPoolCreate(
        entry: u64,
        pool: *mut CUmemoryPool,
        poolProps: *const CUmemPoolProps,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(pool, || pools::make(entry, poolProps)) }
    }

    unsafe fn cuMemPoolDestroy(entry: u64, pool: CUmemoryPool) -> CUresult {
        Self::returned(|| pools::destroy(entry, pool))
    }

    unsafe fn cuMemPoolSetAttribute(
        entry: u64,
        pool: CUmemoryPool,
        attr: CUmemPool_attribute,
        value: *mut c_void,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe { pools::set_attribute(entry, pool, attr, value) })
    }

    unsafe fn cuMemPoolGetAttribute(
        entry: u64,
        pool: CUmemoryPool,
        attr: CUmemPool_attribute,
        value: *mut c_void,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe { pools::get_attribute(entry, pool, attr, value) })
    }

    unsafe fn cuMemPoolTrimTo(entry: u64, pool: CUmemoryPool, minBytesToKeep: usize) -> CUresult {
        Self::returned(|| pools::trim(entry, pool, minBytesToKeep))
    }

    unsafe fn cuMemPoolSetAccess(
        entry: u64,
        pool: CUmemoryPool,
        map: *const CUmemAccessDesc,
        count: usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe { pools::set_access(entry, pool, map, count) })
    }

    unsafe fn cuMemPoolGetAccess(
        entry: u64,
        flags: *mut CUmemAccess_flags,
        memPool: CUmemoryPool,
        location: *mut CUmemLocation,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(flags, || pools::access(entry, memPool, location)) }
    }

    unsafe fn cuDeviceGetDefaultMemPool(
        entry: u64,
        pool_out: *mut CUmemoryPool,
        dev: CUdevice,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(pool_out, || pools::default(entry, dev)) }
    }

    unsafe fn cuDeviceGetMemPool(entry: u64, pool: *mut CUmemoryPool, dev: CUdevice) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(pool, || pools::current(entry, dev)) }
    }

    unsafe fn cuDeviceSetMemPool(entry: u64, dev: CUdevice, pool: CUmemoryPool) -> CUresult {
        Self::returned(|| pools::set_current(entry, dev, pool))
    }

    unsafe fn cuPointerGetAttribute(
        _: u64,
        data: *mut c_void,
        attribute: CUpointer_attribute,
        ptr: CUdeviceptr,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe { pointers::get(data, attribute, ptr) })
    }

    unsafe fn cuPointerGetAttributes(
        _: u64,
        numAttributes: c_uint,
        attributes: *mut CUpointer_attribute,
        data: *mut *mut c_void,
        ptr: CUdeviceptr,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe { pointers::get_all(numAttributes, attributes, data, ptr) })
    }

    unsafe fn cuPointerSetAttribute(
        _: u64,
        value: *const c_void,
        attribute: CUpointer_attribute,
        ptr: CUdeviceptr,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe { pointers::set(value, attribute, ptr) })
    }
}
