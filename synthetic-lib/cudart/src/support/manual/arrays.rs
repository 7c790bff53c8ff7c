//! Arrays, and copies from and to them.

use super::*;
use crate::generated::manual::Arrays;
use crate::support::arrays::{self, Bytes, Side};

/// Writes what is not null.
///
/// # Safety
/// `to` is null or has space.
unsafe fn write<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the caller's.
        unsafe { to.write(value) };
    }
}

fn extent(width: usize, height: usize) -> cudaExtent {
    cudaExtent {
        width,
        height,
        depth: 0,
    }
}

impl Arrays for Guest {
    unsafe fn cudaMallocArray(
        _: u64,
        array: *mut cudaArray_t,
        desc: *const cudaChannelFormatDesc,
        width: usize,
        height: usize,
        flags: c_uint,
    ) -> cudaError_t {
        returned(|| {
            let array = place(array)?;
            // SAFETY: the caller's.
            unsafe {
                let asked = arrays::asked(desc, extent(width, height), flags)?;
                driver(cuArray3DCreate_v2(array.cast(), &asked))
            }
        })
    }

    unsafe fn cudaMalloc3DArray(
        _: u64,
        array: *mut cudaArray_t,
        desc: *const cudaChannelFormatDesc,
        extent: cudaExtent,
        flags: c_uint,
    ) -> cudaError_t {
        returned(|| {
            let array = place(array)?;
            // SAFETY: the caller's.
            unsafe {
                let asked = arrays::asked(desc, extent, flags)?;
                driver(cuArray3DCreate_v2(array.cast(), &asked))
            }
        })
    }

    unsafe fn cudaFreeArray(_: u64, array: cudaArray_t) -> cudaError_t {
        match array.is_null() {
            true => returned(|| device::ready().map(|_| ())),
            // SAFETY: it takes a handle.
            false => within(|| unsafe { cuArrayDestroy(array.cast()) }),
        }
    }

    unsafe fn cudaMallocMipmappedArray(
        _: u64,
        mipmappedArray: *mut cudaMipmappedArray_t,
        desc: *const cudaChannelFormatDesc,
        extent: cudaExtent,
        numLevels: c_uint,
        flags: c_uint,
    ) -> cudaError_t {
        returned(|| {
            let array = place(mipmappedArray)?;
            // SAFETY: the caller's.
            unsafe {
                let asked = arrays::asked(desc, extent, flags)?;
                driver(cuMipmappedArrayCreate(array.cast(), &asked, numLevels))
            }
        })
    }

    unsafe fn cudaGetMipmappedArrayLevel(
        _: u64,
        levelArray: *mut cudaArray_t,
        mipmappedArray: cudaMipmappedArray_const_t,
        level: c_uint,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe {
            cuMipmappedArrayGetLevel(levelArray.cast(), mipmappedArray.cast(), level)
        })
    }

    unsafe fn cudaFreeMipmappedArray(_: u64, mipmappedArray: cudaMipmappedArray_t) -> cudaError_t {
        match mipmappedArray.is_null() {
            true => returned(|| device::ready().map(|_| ())),
            // SAFETY: it takes a handle.
            false => within(|| unsafe { cuMipmappedArrayDestroy(mipmappedArray.cast()) }),
        }
    }

    unsafe fn cudaArrayGetInfo(
        _: u64,
        desc: *mut cudaChannelFormatDesc,
        extent: *mut cudaExtent,
        flags: *mut c_uint,
        array: cudaArray_t,
    ) -> cudaError_t {
        returned(|| {
            let found = arrays::info(array)?;
            let size = cudaExtent {
                width: found.Width,
                height: found.Height,
                depth: found.Depth,
            };
            // SAFETY: the caller's.
            unsafe {
                write(desc, arrays::described((found.Format, found.NumChannels)));
                write(extent, size);
                write(flags, found.Flags);
            }
            Ok(())
        })
    }

    unsafe fn cudaArrayGetPlane(
        _: u64,
        pPlaneArray: *mut cudaArray_t,
        hArray: cudaArray_t,
        planeIdx: c_uint,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuArrayGetPlane(pPlaneArray.cast(), hArray.cast(), planeIdx) })
    }

    unsafe fn cudaArrayGetSparseProperties(
        _: u64,
        sparseProperties: *mut cudaArraySparseProperties,
        array: cudaArray_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuArrayGetSparseProperties(sparseProperties.cast(), array.cast()) })
    }

    unsafe fn cudaMipmappedArrayGetSparseProperties(
        _: u64,
        sparseProperties: *mut cudaArraySparseProperties,
        mipmap: cudaMipmappedArray_t,
    ) -> cudaError_t {
        let (to, array) = (sparseProperties.cast(), mipmap.cast());
        // SAFETY: the caller's.
        within(|| unsafe { cuMipmappedArrayGetSparseProperties(to, array) })
    }

    unsafe fn cudaArrayGetMemoryRequirements(
        _: u64,
        memoryRequirements: *mut cudaArrayMemoryRequirements,
        array: cudaArray_t,
        device: c_int,
    ) -> cudaError_t {
        let (to, array) = (memoryRequirements.cast(), array.cast());
        // SAFETY: the caller's.
        within(|| unsafe { cuArrayGetMemoryRequirements(to, array, device) })
    }

    unsafe fn cudaMipmappedArrayGetMemoryRequirements(
        _: u64,
        memoryRequirements: *mut cudaArrayMemoryRequirements,
        mipmap: cudaMipmappedArray_t,
        device: c_int,
    ) -> cudaError_t {
        let (to, array) = (memoryRequirements.cast(), mipmap.cast());
        // SAFETY: the caller's.
        within(|| unsafe { cuMipmappedArrayGetMemoryRequirements(to, array, device) })
    }

    unsafe fn cudaGetChannelDesc(
        _: u64,
        desc: *mut cudaChannelFormatDesc,
        array: cudaArray_const_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe {
            put(desc, || {
                let found = arrays::info(array)?;
                Ok(arrays::described((found.Format, found.NumChannels)))
            })
        }
    }

    unsafe fn cudaCreateChannelDesc(
        _: u64,
        x: c_int,
        y: c_int,
        z: c_int,
        w: c_int,
        f: cudaChannelFormatKind,
    ) -> cudaChannelFormatDesc {
        cudaChannelFormatDesc { x, y, z, w, f }
    }

    unsafe fn cudaMemcpy2DToArray(
        _: u64,
        dst: cudaArray_t,
        wOffset: usize,
        hOffset: usize,
        src: *const c_void,
        spitch: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
    ) -> cudaError_t {
        let to = Side::of(dst, [wOffset, hOffset]);
        let from = Side::Memory(src.cast_mut(), spitch);
        // SAFETY: the caller's.
        returned(|| unsafe { arrays::copy((to, from), [width, height], kind, None) })
    }

    unsafe fn cudaMemcpy2DToArrayAsync(
        _: u64,
        dst: cudaArray_t,
        wOffset: usize,
        hOffset: usize,
        src: *const c_void,
        spitch: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
        stream: cudaStream_t,
    ) -> cudaError_t {
        let to = Side::of(dst, [wOffset, hOffset]);
        let from = Side::Memory(src.cast_mut(), spitch);
        // SAFETY: the caller's.
        returned(|| unsafe { arrays::copy((to, from), [width, height], kind, Some(stream)) })
    }

    unsafe fn cudaMemcpy2DFromArray(
        _: u64,
        dst: *mut c_void,
        dpitch: usize,
        src: cudaArray_const_t,
        wOffset: usize,
        hOffset: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
    ) -> cudaError_t {
        let (to, from) = (Side::Memory(dst, dpitch), Side::of(src, [wOffset, hOffset]));
        // SAFETY: the caller's.
        returned(|| unsafe { arrays::copy((to, from), [width, height], kind, None) })
    }

    unsafe fn cudaMemcpy2DFromArrayAsync(
        _: u64,
        dst: *mut c_void,
        dpitch: usize,
        src: cudaArray_const_t,
        wOffset: usize,
        hOffset: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
        stream: cudaStream_t,
    ) -> cudaError_t {
        let (to, from) = (Side::Memory(dst, dpitch), Side::of(src, [wOffset, hOffset]));
        // SAFETY: the caller's.
        returned(|| unsafe { arrays::copy((to, from), [width, height], kind, Some(stream)) })
    }

    unsafe fn cudaMemcpy2DArrayToArray(
        _: u64,
        dst: cudaArray_t,
        wOffsetDst: usize,
        hOffsetDst: usize,
        src: cudaArray_const_t,
        wOffsetSrc: usize,
        hOffsetSrc: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
    ) -> cudaError_t {
        let to = Side::of(dst, [wOffsetDst, hOffsetDst]);
        let from = Side::of(src, [wOffsetSrc, hOffsetSrc]);
        // SAFETY: both are the device's.
        returned(|| unsafe { arrays::copy((to, from), [width, height], kind, None) })
    }

    unsafe fn cudaMemcpyToArray(
        _: u64,
        dst: cudaArray_t,
        wOffset: usize,
        hOffset: usize,
        src: *const c_void,
        count: usize,
        kind: cudaMemcpyKind,
    ) -> cudaError_t {
        let to = Bytes::Array(dst, [wOffset, hOffset]);
        let from = Bytes::Memory(src.cast_mut());
        // SAFETY: the caller's.
        returned(|| unsafe { arrays::copy_bytes((to, from), count, kind, None) })
    }

    unsafe fn cudaMemcpyToArrayAsync(
        _: u64,
        dst: cudaArray_t,
        wOffset: usize,
        hOffset: usize,
        src: *const c_void,
        count: usize,
        kind: cudaMemcpyKind,
        stream: cudaStream_t,
    ) -> cudaError_t {
        let to = Bytes::Array(dst, [wOffset, hOffset]);
        let from = Bytes::Memory(src.cast_mut());
        // SAFETY: the caller's.
        returned(|| unsafe { arrays::copy_bytes((to, from), count, kind, Some(stream)) })
    }

    unsafe fn cudaMemcpyFromArray(
        _: u64,
        dst: *mut c_void,
        src: cudaArray_const_t,
        wOffset: usize,
        hOffset: usize,
        count: usize,
        kind: cudaMemcpyKind,
    ) -> cudaError_t {
        let from = Bytes::Array(src.cast(), [wOffset, hOffset]);
        // SAFETY: the caller's.
        returned(|| unsafe { arrays::copy_bytes((Bytes::Memory(dst), from), count, kind, None) })
    }

    unsafe fn cudaMemcpyFromArrayAsync(
        _: u64,
        dst: *mut c_void,
        src: cudaArray_const_t,
        wOffset: usize,
        hOffset: usize,
        count: usize,
        kind: cudaMemcpyKind,
        stream: cudaStream_t,
    ) -> cudaError_t {
        let from = Bytes::Array(src.cast(), [wOffset, hOffset]);
        let on = Some(stream);
        // SAFETY: the caller's.
        returned(|| unsafe { arrays::copy_bytes((Bytes::Memory(dst), from), count, kind, on) })
    }

    unsafe fn cudaMemcpyArrayToArray(
        _: u64,
        dst: cudaArray_t,
        wOffsetDst: usize,
        hOffsetDst: usize,
        src: cudaArray_const_t,
        wOffsetSrc: usize,
        hOffsetSrc: usize,
        count: usize,
        kind: cudaMemcpyKind,
    ) -> cudaError_t {
        let to = Bytes::Array(dst, [wOffsetDst, hOffsetDst]);
        let from = Bytes::Array(src.cast(), [wOffsetSrc, hOffsetSrc]);
        // SAFETY: both are the device's.
        returned(|| unsafe { arrays::copy_bytes((to, from), count, kind, None) })
    }
}
