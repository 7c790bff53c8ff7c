//! Arrays, and copies from and to them.

use super::*;
use crate::generated::manual::Arrays;
use crate::support::arrays;
use crate::support::graph::work::{self, End};

/// One end of a copy of bytes behind each other: an array's from an offset on.
#[derive(Clone, Copy)]
struct InArray(CUarray, usize);

/// Copies bytes from a place to another. The ends that are arrays come in addition.
///
/// # Safety
/// Ends in the program's memory have as many bytes, until the operation ended.
unsafe fn copy(
    of: Of,
    (to, to_array): (End, Option<InArray>),
    (from, from_array): (End, Option<InArray>),
    bytes: usize,
) -> CUresult {
    let mut asked = work::line(to, from, bytes);
    if let Some(InArray(array, offset)) = to_array {
        asked.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        (asked.dstArray, asked.dstXInBytes) = (array, offset);
    }
    if let Some(InArray(array, offset)) = from_array {
        asked.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        (asked.srcArray, asked.srcXInBytes) = (array, offset);
    }
    // SAFETY: the caller's.
    Guest::returned(|| unsafe { rectangles::copy_box(of, &asked) })
}

/// In the place of an end that is an array.
const NONE: End = End::Device(0);

/// Of what an array has only if it is mapped by hand, which no array here is.
fn not_mapped<T>(to: *mut T, find: impl FnOnce() -> CallResult<()>) -> CUresult {
    Guest::returned(|| {
        place(to)?;
        find()?;
        Err(CUDA_ERROR_INVALID_VALUE)
    })
}

impl Arrays for Guest {
    unsafe fn cuArrayCreate_v2(
        entry: u64,
        pHandle: *mut CUarray,
        pAllocateArray: *const CUDA_ARRAY_DESCRIPTOR,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            put(pHandle, || {
                let asked = pAllocateArray.as_ref().ok_or(CUDA_ERROR_INVALID_VALUE)?;
                arrays::make((entry, wire::CU_ARRAY_CREATE_V2), arrays::flat(asked))
            })
        }
    }

    unsafe fn cuArray3DCreate_v2(
        entry: u64,
        pHandle: *mut CUarray,
        pAllocateArray: *const CUDA_ARRAY3D_DESCRIPTOR,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            put(pHandle, || {
                let asked = pAllocateArray.as_ref().ok_or(CUDA_ERROR_INVALID_VALUE)?;
                arrays::make((entry, wire::CU_ARRAY3D_CREATE_V2), arrays::layout(asked))
            })
        }
    }

    unsafe fn cuArrayDestroy(entry: u64, hArray: CUarray) -> CUresult {
        Self::returned(|| arrays::destroy(entry, hArray))
    }

    unsafe fn cuMipmappedArrayCreate(
        entry: u64,
        pHandle: *mut CUmipmappedArray,
        pMipmappedArrayDesc: *const CUDA_ARRAY3D_DESCRIPTOR,
        numMipmapLevels: c_uint,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            put(pHandle, || {
                let asked = pMipmappedArrayDesc.as_ref();
                let asked = asked.ok_or(CUDA_ERROR_INVALID_VALUE)?;
                arrays::make_mipmapped(entry, arrays::layout(asked), numMipmapLevels)
            })
        }
    }

    unsafe fn cuMipmappedArrayGetLevel(
        entry: u64,
        pLevelArray: *mut CUarray,
        hMipmappedArray: CUmipmappedArray,
        level: c_uint,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(pLevelArray, || arrays::level(entry, hMipmappedArray, level)) }
    }

    unsafe fn cuMipmappedArrayDestroy(entry: u64, hMipmappedArray: CUmipmappedArray) -> CUresult {
        Self::returned(|| arrays::destroy_mipmapped(entry, hMipmappedArray))
    }

    unsafe fn cuArrayGetDescriptor_v2(
        _: u64,
        pArrayDescriptor: *mut CUDA_ARRAY_DESCRIPTOR,
        hArray: CUarray,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            put(pArrayDescriptor, || {
                let (_, array) = arrays::find(hArray)?;
                Ok(CUDA_ARRAY_DESCRIPTOR {
                    Width: array.layout.width as usize,
                    Height: array.layout.height as usize,
                    Format: array.layout.format,
                    NumChannels: array.layout.channels,
                })
            })
        }
    }

    unsafe fn cuArray3DGetDescriptor_v2(
        _: u64,
        pArrayDescriptor: *mut CUDA_ARRAY3D_DESCRIPTOR,
        hArray: CUarray,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            put(pArrayDescriptor, || {
                let (_, array) = arrays::find(hArray)?;
                Ok(CUDA_ARRAY3D_DESCRIPTOR {
                    Width: array.layout.width as usize,
                    Height: array.layout.height as usize,
                    Depth: array.layout.depth as usize,
                    Format: array.layout.format,
                    NumChannels: array.layout.channels,
                    Flags: array.layout.flags,
                })
            })
        }
    }

    /// No array here has planes.
    unsafe fn cuArrayGetPlane(
        _: u64,
        pPlaneArray: *mut CUarray,
        hArray: CUarray,
        _planeIdx: c_uint,
    ) -> CUresult {
        not_mapped(pPlaneArray, || arrays::find(hArray).map(|_| ()))
    }

    unsafe fn cuArrayGetSparseProperties(
        _: u64,
        sparseProperties: *mut CUDA_ARRAY_SPARSE_PROPERTIES,
        array: CUarray,
    ) -> CUresult {
        not_mapped(sparseProperties, || arrays::find(array).map(|_| ()))
    }

    unsafe fn cuMipmappedArrayGetSparseProperties(
        _: u64,
        sparseProperties: *mut CUDA_ARRAY_SPARSE_PROPERTIES,
        mipmap: CUmipmappedArray,
    ) -> CUresult {
        not_mapped(sparseProperties, || {
            arrays::find_mipmapped(mipmap).map(|_| ())
        })
    }

    unsafe fn cuArrayGetMemoryRequirements(
        _: u64,
        memoryRequirements: *mut CUDA_ARRAY_MEMORY_REQUIREMENTS,
        array: CUarray,
        _device: CUdevice,
    ) -> CUresult {
        not_mapped(memoryRequirements, || arrays::find(array).map(|_| ()))
    }

    unsafe fn cuMipmappedArrayGetMemoryRequirements(
        _: u64,
        memoryRequirements: *mut CUDA_ARRAY_MEMORY_REQUIREMENTS,
        mipmap: CUmipmappedArray,
        _device: CUdevice,
    ) -> CUresult {
        not_mapped(memoryRequirements, || {
            arrays::find_mipmapped(mipmap).map(|_| ())
        })
    }

    unsafe fn cuMemcpyHtoA_v2(
        entry: u64,
        dstArray: CUarray,
        dstOffset: usize,
        srcHost: *const c_void,
        ByteCount: usize,
    ) -> CUresult {
        let of = whole(entry, wire::CU_MEMCPY_HTO_A_V2);
        let to = (NONE, Some(InArray(dstArray, dstOffset)));
        // SAFETY: the caller's.
        unsafe { copy(of, to, (End::Host(srcHost), None), ByteCount) }
    }

    unsafe fn cuMemcpyAtoH_v2(
        entry: u64,
        dstHost: *mut c_void,
        srcArray: CUarray,
        srcOffset: usize,
        ByteCount: usize,
    ) -> CUresult {
        let of = whole(entry, wire::CU_MEMCPY_ATO_H_V2);
        let from = (NONE, Some(InArray(srcArray, srcOffset)));
        // SAFETY: the caller's.
        unsafe { copy(of, (End::Host(dstHost), None), from, ByteCount) }
    }

    unsafe fn cuMemcpyDtoA_v2(
        entry: u64,
        dstArray: CUarray,
        dstOffset: usize,
        srcDevice: CUdeviceptr,
        ByteCount: usize,
    ) -> CUresult {
        let of = whole(entry, wire::CU_MEMCPY_DTO_A_V2);
        let to = (NONE, Some(InArray(dstArray, dstOffset)));
        // SAFETY: both are the device's.
        unsafe { copy(of, to, (End::Device(srcDevice), None), ByteCount) }
    }

    unsafe fn cuMemcpyAtoD_v2(
        entry: u64,
        dstDevice: CUdeviceptr,
        srcArray: CUarray,
        srcOffset: usize,
        ByteCount: usize,
    ) -> CUresult {
        let of = whole(entry, wire::CU_MEMCPY_ATO_D_V2);
        let from = (NONE, Some(InArray(srcArray, srcOffset)));
        // SAFETY: both are the device's.
        unsafe { copy(of, (End::Device(dstDevice), None), from, ByteCount) }
    }

    unsafe fn cuMemcpyAtoA_v2(
        entry: u64,
        dstArray: CUarray,
        dstOffset: usize,
        srcArray: CUarray,
        srcOffset: usize,
        ByteCount: usize,
    ) -> CUresult {
        let of = whole(entry, wire::CU_MEMCPY_ATO_A_V2);
        let to = (NONE, Some(InArray(dstArray, dstOffset)));
        let from = (NONE, Some(InArray(srcArray, srcOffset)));
        // SAFETY: both are the device's.
        unsafe { copy(of, to, from, ByteCount) }
    }

    unsafe fn cuMemcpyHtoAAsync_v2(
        entry: u64,
        dstArray: CUarray,
        dstOffset: usize,
        srcHost: *const c_void,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult {
        let of = on(entry, wire::CU_MEMCPY_HTO_A_ASYNC_V2, hStream);
        let to = (NONE, Some(InArray(dstArray, dstOffset)));
        // SAFETY: the caller's.
        unsafe { copy(of, to, (End::Host(srcHost), None), ByteCount) }
    }

    unsafe fn cuMemcpyAtoHAsync_v2(
        entry: u64,
        dstHost: *mut c_void,
        srcArray: CUarray,
        srcOffset: usize,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult {
        let of = on(entry, wire::CU_MEMCPY_ATO_H_ASYNC_V2, hStream);
        let from = (NONE, Some(InArray(srcArray, srcOffset)));
        // SAFETY: the caller's.
        unsafe { copy(of, (End::Host(dstHost), None), from, ByteCount) }
    }
}
