//! Memory: the device's, the program's that is pinned, pools, copies, and memory that is set.

use super::*;
use crate::generated::manual::Memory;

impl Memory for Guest {
    unsafe fn cudaMalloc(_: u64, devPtr: *mut *mut c_void, size: usize) -> cudaError_t {
        let make = || {
            device::ready()?;
            let mut made = 0;
            if size > 0 {
                // SAFETY: there is space for an address.
                driver(unsafe { cuMemAlloc_v2(&mut made, size) })?;
            }
            Ok(pointer(made))
        };
        // SAFETY: the caller's.
        unsafe { put(devPtr, make) }
    }

    unsafe fn cudaMallocPitch(
        _: u64,
        devPtr: *mut *mut c_void,
        pitch: *mut usize,
        width: usize,
        height: usize,
    ) -> cudaError_t {
        let make = || {
            let pitch = place(pitch)?;
            device::ready()?;
            let (mut made, mut apart) = (0, 0);
            if width > 0 && height > 0 {
                // SAFETY: there is space for both.
                let code =
                    unsafe { cuMemAllocPitch_v2(&mut made, &mut apart, width, height, ELEMENT) };
                driver(code)?;
            }
            // SAFETY: the caller's.
            unsafe { pitch.write(apart) };
            Ok(pointer(made))
        };
        // SAFETY: the caller's.
        unsafe { put(devPtr, make) }
    }

    unsafe fn cudaFree(_: u64, devPtr: *mut c_void) -> cudaError_t {
        // SAFETY: it takes a number.
        within(|| unsafe { cuMemFree_v2(address(devPtr)) })
    }

    unsafe fn cudaMallocHost(entry: u64, ptr: *mut *mut c_void, size: usize) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { Self::cudaHostAlloc(entry, ptr, size, 0) }
    }

    unsafe fn cudaHostAlloc(
        _: u64,
        pHost: *mut *mut c_void,
        size: usize,
        flags: c_uint,
    ) -> cudaError_t {
        let make = || {
            device::ready()?;
            let mut made = std::ptr::null_mut();
            if size > 0 {
                // SAFETY: there is space for an address.
                driver(unsafe { cuMemHostAlloc(&mut made, size, flags) })?;
            }
            Ok(made)
        };
        // SAFETY: the caller's.
        unsafe { put(pHost, make) }
    }

    unsafe fn cudaFreeHost(_: u64, ptr: *mut c_void) -> cudaError_t {
        within(|| match ptr.is_null() {
            true => cu::CUDA_SUCCESS,
            // SAFETY: the caller's.
            false => unsafe { cuMemFreeHost(ptr) },
        })
    }

    unsafe fn cudaHostRegister(
        _: u64,
        ptr: *mut c_void,
        size: usize,
        flags: c_uint,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuMemHostRegister_v2(ptr, size, flags) })
    }

    unsafe fn cudaHostUnregister(_: u64, ptr: *mut c_void) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuMemHostUnregister(ptr) })
    }

    unsafe fn cudaMemGetInfo(_: u64, free: *mut usize, total: *mut usize) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuMemGetInfo_v2(free, total) })
    }

    unsafe fn cudaMemcpy(
        _: u64,
        dst: *mut c_void,
        src: *const c_void,
        count: usize,
        kind: cudaMemcpyKind,
    ) -> cudaError_t {
        let way = Way {
            to: dst,
            from: src,
            kind,
        };
        // SAFETY: the caller's.
        returned(|| unsafe { copy::bytes(way, count, None) })
    }

    unsafe fn cudaMemcpyAsync(
        _: u64,
        dst: *mut c_void,
        src: *const c_void,
        count: usize,
        kind: cudaMemcpyKind,
        stream: cudaStream_t,
    ) -> cudaError_t {
        let way = Way {
            to: dst,
            from: src,
            kind,
        };
        // SAFETY: the caller's.
        returned(|| unsafe { copy::bytes(way, count, Some(stream)) })
    }

    unsafe fn cudaMemcpy2D(
        _: u64,
        dst: *mut c_void,
        dpitch: usize,
        src: *const c_void,
        spitch: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
    ) -> cudaError_t {
        let (way, rows) = rows((dst, dpitch), (src, spitch), (width, height), kind);
        // SAFETY: the caller's.
        returned(|| unsafe { rectangles::copy(way, rows, None) })
    }

    unsafe fn cudaMemcpy2DAsync(
        _: u64,
        dst: *mut c_void,
        dpitch: usize,
        src: *const c_void,
        spitch: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
        stream: cudaStream_t,
    ) -> cudaError_t {
        let (way, rows) = rows((dst, dpitch), (src, spitch), (width, height), kind);
        // SAFETY: the caller's.
        returned(|| unsafe { rectangles::copy(way, rows, Some(stream)) })
    }

    unsafe fn cudaMemcpyToSymbol(
        _: u64,
        symbol: *const c_void,
        src: *const c_void,
        count: usize,
        offset: usize,
        kind: cudaMemcpyKind,
    ) -> cudaError_t {
        let part = Part {
            symbol,
            count,
            offset,
        };
        // SAFETY: the caller's.
        returned(|| unsafe { copy::to_symbol(part, src, kind, None) })
    }

    unsafe fn cudaMemcpyFromSymbol(
        _: u64,
        dst: *mut c_void,
        symbol: *const c_void,
        count: usize,
        offset: usize,
        kind: cudaMemcpyKind,
    ) -> cudaError_t {
        let part = Part {
            symbol,
            count,
            offset,
        };
        // SAFETY: the caller's.
        returned(|| unsafe { copy::from_symbol(part, dst, kind, None) })
    }

    unsafe fn cudaMemcpyToSymbolAsync(
        _: u64,
        symbol: *const c_void,
        src: *const c_void,
        count: usize,
        offset: usize,
        kind: cudaMemcpyKind,
        stream: cudaStream_t,
    ) -> cudaError_t {
        let part = Part {
            symbol,
            count,
            offset,
        };
        // SAFETY: the caller's.
        returned(|| unsafe { copy::to_symbol(part, src, kind, Some(stream)) })
    }

    unsafe fn cudaMemcpyFromSymbolAsync(
        _: u64,
        dst: *mut c_void,
        symbol: *const c_void,
        count: usize,
        offset: usize,
        kind: cudaMemcpyKind,
        stream: cudaStream_t,
    ) -> cudaError_t {
        let part = Part {
            symbol,
            count,
            offset,
        };
        // SAFETY: the caller's.
        returned(|| unsafe { copy::from_symbol(part, dst, kind, Some(stream)) })
    }

    unsafe fn cudaGetSymbolAddress(
        _: u64,
        devPtr: *mut *mut c_void,
        symbol: *const c_void,
    ) -> cudaError_t {
        let found = || binary::variable(symbol).map(|(address, _)| pointer(address));
        // SAFETY: the caller's.
        unsafe { put(devPtr, found) }
    }

    unsafe fn cudaGetSymbolSize(_: u64, size: *mut usize, symbol: *const c_void) -> cudaError_t {
        let found = || binary::variable(symbol).map(|(_, bytes)| bytes);
        // SAFETY: the caller's.
        unsafe { put(size, found) }
    }

    unsafe fn cudaMemset(_: u64, devPtr: *mut c_void, value: c_int, count: usize) -> cudaError_t {
        // SAFETY: it takes numbers.
        within(|| unsafe { cuMemsetD8_v2(address(devPtr), byte(value), count) })
    }

    unsafe fn cudaMemsetAsync(
        _: u64,
        devPtr: *mut c_void,
        value: c_int,
        count: usize,
        stream: cudaStream_t,
    ) -> cudaError_t {
        // SAFETY: it takes numbers and a handle.
        within(|| unsafe { cuMemsetD8Async(address(devPtr), byte(value), count, stream.cast()) })
    }

    unsafe fn cudaMalloc3D(
        _: u64,
        pitchedDevPtr: *mut cudaPitchedPtr,
        extent: cudaExtent,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { put(pitchedDevPtr, || rectangles::allocate(extent, ELEMENT)) }
    }

    unsafe fn cudaMemcpy3D(_: u64, p: *const cudaMemcpy3DParms) -> cudaError_t {
        // SAFETY: the caller's.
        returned(|| unsafe { rectangles::copy_box(p, None) })
    }

    unsafe fn cudaMemcpy3DAsync(
        _: u64,
        p: *const cudaMemcpy3DParms,
        stream: cudaStream_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        returned(|| unsafe { rectangles::copy_box(p, Some(stream)) })
    }

    unsafe fn cudaMemset2D(
        _: u64,
        devPtr: *mut c_void,
        pitch: usize,
        value: c_int,
        width: usize,
        height: usize,
    ) -> cudaError_t {
        let filled = Filled::rows((devPtr, pitch), value, (width, height));
        returned(|| filled.set(None))
    }

    unsafe fn cudaMemset2DAsync(
        _: u64,
        devPtr: *mut c_void,
        pitch: usize,
        value: c_int,
        width: usize,
        height: usize,
        stream: cudaStream_t,
    ) -> cudaError_t {
        let filled = Filled::rows((devPtr, pitch), value, (width, height));
        returned(|| filled.set(Some(stream)))
    }

    unsafe fn cudaMemset3D(
        _: u64,
        pitchedDevPtr: cudaPitchedPtr,
        value: c_int,
        extent: cudaExtent,
    ) -> cudaError_t {
        returned(|| Filled::slices(&pitchedDevPtr, value, extent).set(None))
    }

    unsafe fn cudaMemset3DAsync(
        _: u64,
        pitchedDevPtr: cudaPitchedPtr,
        value: c_int,
        extent: cudaExtent,
        stream: cudaStream_t,
    ) -> cudaError_t {
        returned(|| Filled::slices(&pitchedDevPtr, value, extent).set(Some(stream)))
    }

    unsafe fn cudaMallocAsync(
        _: u64,
        devPtr: *mut *mut c_void,
        size: usize,
        hStream: cudaStream_t,
    ) -> cudaError_t {
        let make = || {
            device::ready()?;
            let mut made = 0;
            if size > 0 {
                // SAFETY: there is space for an address.
                driver(unsafe { cuMemAllocAsync(&mut made, size, hStream.cast()) })?;
            }
            Ok(pointer(made))
        };
        // SAFETY: the caller's.
        unsafe { put(devPtr, make) }
    }

    unsafe fn cudaMallocFromPoolAsync(
        _: u64,
        ptr: *mut *mut c_void,
        size: usize,
        memPool: cudaMemPool_t,
        stream: cudaStream_t,
    ) -> cudaError_t {
        let make = || {
            device::ready()?;
            let mut made = 0;
            let (pool, stream) = (memPool.cast(), stream.cast());
            if size > 0 {
                // SAFETY: there is space for an address.
                driver(unsafe { cuMemAllocFromPoolAsync(&mut made, size, pool, stream) })?;
            }
            Ok(pointer(made))
        };
        // SAFETY: the caller's.
        unsafe { put(ptr, make) }
    }

    unsafe fn cudaFreeAsync(_: u64, devPtr: *mut c_void, hStream: cudaStream_t) -> cudaError_t {
        // SAFETY: it takes a number and a handle.
        within(|| unsafe { cuMemFreeAsync(address(devPtr), hStream.cast()) })
    }

    unsafe fn cudaMemPoolCreate(
        _: u64,
        memPool: *mut cudaMemPool_t,
        poolProps: *const cudaMemPoolProps,
    ) -> cudaError_t {
        // SAFETY: the caller's; both structures have the same fields.
        outside(|| unsafe { cuMemPoolCreate(memPool.cast(), poolProps.cast()) })
    }

    unsafe fn cudaMemPoolDestroy(_: u64, memPool: cudaMemPool_t) -> cudaError_t {
        // SAFETY: it takes a handle.
        outside(|| unsafe { cuMemPoolDestroy(memPool.cast()) })
    }

    unsafe fn cudaMemPoolTrimTo(
        _: u64,
        memPool: cudaMemPool_t,
        minBytesToKeep: usize,
    ) -> cudaError_t {
        // SAFETY: it takes a handle and a number.
        outside(|| unsafe { cuMemPoolTrimTo(memPool.cast(), minBytesToKeep) })
    }

    unsafe fn cudaMemPoolSetAttribute(
        _: u64,
        memPool: cudaMemPool_t,
        attr: cudaMemPoolAttr,
        value: *mut c_void,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        outside(|| unsafe { cuMemPoolSetAttribute(memPool.cast(), attr, value) })
    }

    unsafe fn cudaMemPoolGetAttribute(
        _: u64,
        memPool: cudaMemPool_t,
        attr: cudaMemPoolAttr,
        value: *mut c_void,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        outside(|| unsafe { cuMemPoolGetAttribute(memPool.cast(), attr, value) })
    }

    unsafe fn cudaMemPoolSetAccess(
        _: u64,
        memPool: cudaMemPool_t,
        descList: *const cudaMemAccessDesc,
        count: usize,
    ) -> cudaError_t {
        // SAFETY: the caller's; both structures have the same fields.
        outside(|| unsafe { cuMemPoolSetAccess(memPool.cast(), descList.cast(), count) })
    }

    unsafe fn cudaMemPoolGetAccess(
        _: u64,
        flags: *mut cudaMemAccessFlags,
        memPool: cudaMemPool_t,
        location: *mut cudaMemLocation,
    ) -> cudaError_t {
        // SAFETY: the caller's; both structures have the same fields.
        outside(|| unsafe { cuMemPoolGetAccess(flags, memPool.cast(), location.cast()) })
    }

    unsafe fn cudaDeviceGetDefaultMemPool(
        _: u64,
        memPool: *mut cudaMemPool_t,
        device: c_int,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        outside(|| unsafe { cuDeviceGetDefaultMemPool(memPool.cast(), device) })
    }

    unsafe fn cudaDeviceGetMemPool(
        _: u64,
        memPool: *mut cudaMemPool_t,
        device: c_int,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        outside(|| unsafe { cuDeviceGetMemPool(memPool.cast(), device) })
    }

    unsafe fn cudaDeviceSetMemPool(_: u64, device: c_int, memPool: cudaMemPool_t) -> cudaError_t {
        // SAFETY: it takes a number and a handle.
        outside(|| unsafe { cuDeviceSetMemPool(device, memPool.cast()) })
    }

    unsafe fn cudaPointerGetAttributes(
        _: u64,
        attributes: *mut cudaPointerAttributes,
        ptr: *const c_void,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { put(attributes, || pointers::attributes(ptr.cast_mut())) }
    }

    unsafe fn cudaHostGetFlags(_: u64, pFlags: *mut c_uint, pHost: *mut c_void) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuMemHostGetFlags(pFlags, pHost) })
    }

    unsafe fn cudaMemcpyPeer(
        _: u64,
        dst: *mut c_void,
        dstDevice: c_int,
        src: *const c_void,
        srcDevice: c_int,
        count: usize,
    ) -> cudaError_t {
        let way = Way {
            to: dst,
            from: src,
            kind: cudaMemcpyDeviceToDevice,
        };
        let devices = [dstDevice, srcDevice];
        // SAFETY: the caller's.
        returned(|| unsafe { peers::copy(way, devices, count, None) })
    }

    unsafe fn cudaMemcpyPeerAsync(
        _: u64,
        dst: *mut c_void,
        dstDevice: c_int,
        src: *const c_void,
        srcDevice: c_int,
        count: usize,
        stream: cudaStream_t,
    ) -> cudaError_t {
        let way = Way {
            to: dst,
            from: src,
            kind: cudaMemcpyDeviceToDevice,
        };
        let devices = [dstDevice, srcDevice];
        // SAFETY: the caller's.
        returned(|| unsafe { peers::copy(way, devices, count, Some(stream)) })
    }
}
