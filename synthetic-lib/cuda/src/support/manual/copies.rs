//! Copies, and memory that is set: bytes, rectangles, boxes, between devices.

use super::*;
use crate::generated::manual::Copies;

impl Copies for Guest {
    unsafe fn cuMemcpyHtoD_v2(
        entry: u64,
        dstDevice: CUdeviceptr,
        srcHost: *const c_void,
        ByteCount: usize,
    ) -> CUresult {
        let of = whole(entry, wire::CU_MEMCPY_HTO_D_V2);
        // SAFETY: the caller's.
        Self::returned(|| unsafe { copy::up(of, dstDevice, srcHost, ByteCount) })
    }

    unsafe fn cuMemcpyDtoH_v2(
        entry: u64,
        dstHost: *mut c_void,
        srcDevice: CUdeviceptr,
        ByteCount: usize,
    ) -> CUresult {
        let of = whole(entry, wire::CU_MEMCPY_DTO_H_V2);
        // SAFETY: the caller's.
        Self::returned(|| unsafe { copy::down(of, dstHost, srcDevice, ByteCount) })
    }

    unsafe fn cuMemcpyDtoD_v2(
        entry: u64,
        dstDevice: CUdeviceptr,
        srcDevice: CUdeviceptr,
        ByteCount: usize,
    ) -> CUresult {
        let of = whole(entry, wire::CU_MEMCPY_DTO_D_V2);
        Self::returned(|| copy::across(of, dstDevice, srcDevice, ByteCount))
    }

    unsafe fn cuMemcpyHtoDAsync_v2(
        entry: u64,
        dstDevice: CUdeviceptr,
        srcHost: *const c_void,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult {
        let of = on(entry, wire::CU_MEMCPY_HTO_D_ASYNC_V2, hStream);
        // SAFETY: the caller's.
        Self::returned(|| unsafe { copy::up(of, dstDevice, srcHost, ByteCount) })
    }

    unsafe fn cuMemcpyDtoHAsync_v2(
        entry: u64,
        dstHost: *mut c_void,
        srcDevice: CUdeviceptr,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult {
        let of = on(entry, wire::CU_MEMCPY_DTO_H_ASYNC_V2, hStream);
        // SAFETY: the caller's.
        Self::returned(|| unsafe { copy::down(of, dstHost, srcDevice, ByteCount) })
    }

    unsafe fn cuMemcpyDtoDAsync_v2(
        entry: u64,
        dstDevice: CUdeviceptr,
        srcDevice: CUdeviceptr,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult {
        let of = on(entry, wire::CU_MEMCPY_DTO_D_ASYNC_V2, hStream);
        Self::returned(|| copy::across(of, dstDevice, srcDevice, ByteCount))
    }

    unsafe fn cuMemcpy(
        entry: u64,
        dst: CUdeviceptr,
        src: CUdeviceptr,
        ByteCount: usize,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe { copy::any(entry, None, dst, src, ByteCount) })
    }

    unsafe fn cuMemcpyAsync(
        entry: u64,
        dst: CUdeviceptr,
        src: CUdeviceptr,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult {
        // SAFETY: the caller's.
        Self::returned(|| unsafe { copy::any(entry, Some(hStream), dst, src, ByteCount) })
    }

    unsafe fn cuMemsetD8_v2(entry: u64, dstDevice: CUdeviceptr, uc: u8, N: usize) -> CUresult {
        let of = whole(entry, wire::CU_MEMSET_D8_V2);
        Self::returned(|| copy::set(of, dstDevice, uc.into(), N))
    }

    unsafe fn cuMemsetD16_v2(entry: u64, dstDevice: CUdeviceptr, us: u16, N: usize) -> CUresult {
        let of = whole(entry, wire::CU_MEMSET_D16_V2);
        Self::returned(|| copy::set(of, dstDevice, us.into(), N))
    }

    unsafe fn cuMemsetD32_v2(entry: u64, dstDevice: CUdeviceptr, ui: c_uint, N: usize) -> CUresult {
        let of = whole(entry, wire::CU_MEMSET_D32_V2);
        Self::returned(|| copy::set(of, dstDevice, ui, N))
    }

    unsafe fn cuMemsetD8Async(
        entry: u64,
        dstDevice: CUdeviceptr,
        uc: u8,
        N: usize,
        hStream: CUstream,
    ) -> CUresult {
        let of = on(entry, wire::CU_MEMSET_D8ASYNC, hStream);
        Self::returned(|| copy::set(of, dstDevice, uc.into(), N))
    }

    unsafe fn cuMemsetD16Async(
        entry: u64,
        dstDevice: CUdeviceptr,
        us: u16,
        N: usize,
        hStream: CUstream,
    ) -> CUresult {
        let of = on(entry, wire::CU_MEMSET_D16ASYNC, hStream);
        Self::returned(|| copy::set(of, dstDevice, us.into(), N))
    }

    unsafe fn cuMemsetD32Async(
        entry: u64,
        dstDevice: CUdeviceptr,
        ui: c_uint,
        N: usize,
        hStream: CUstream,
    ) -> CUresult {
        let of = on(entry, wire::CU_MEMSET_D32ASYNC, hStream);
        Self::returned(|| copy::set(of, dstDevice, ui, N))
    }

    unsafe fn cuMemcpy2D_v2(entry: u64, pCopy: *const CUDA_MEMCPY2D) -> CUresult {
        let of = whole(entry, wire::CU_MEMCPY2D_V2);
        // SAFETY: the caller's.
        Self::returned(|| unsafe { rectangles::copy_rectangle(of, pCopy) })
    }

    unsafe fn cuMemcpy2DUnaligned_v2(entry: u64, pCopy: *const CUDA_MEMCPY2D) -> CUresult {
        let of = whole(entry, wire::CU_MEMCPY2D_UNALIGNED_V2);
        // SAFETY: the caller's.
        Self::returned(|| unsafe { rectangles::copy_rectangle(of, pCopy) })
    }

    unsafe fn cuMemcpy2DAsync_v2(
        entry: u64,
        pCopy: *const CUDA_MEMCPY2D,
        hStream: CUstream,
    ) -> CUresult {
        let of = on(entry, wire::CU_MEMCPY2D_ASYNC_V2, hStream);
        // SAFETY: the caller's.
        Self::returned(|| unsafe { rectangles::copy_rectangle(of, pCopy) })
    }

    unsafe fn cuMemcpy3D_v2(entry: u64, pCopy: *const CUDA_MEMCPY3D) -> CUresult {
        let of = whole(entry, wire::CU_MEMCPY3D_V2);
        // SAFETY: the caller's.
        Self::returned(|| unsafe { rectangles::copy_box(of, pCopy) })
    }

    unsafe fn cuMemcpy3DAsync_v2(
        entry: u64,
        pCopy: *const CUDA_MEMCPY3D,
        hStream: CUstream,
    ) -> CUresult {
        let of = on(entry, wire::CU_MEMCPY3D_ASYNC_V2, hStream);
        // SAFETY: the caller's.
        Self::returned(|| unsafe { rectangles::copy_box(of, pCopy) })
    }

    unsafe fn cuMemsetD2D8_v2(
        entry: u64,
        dstDevice: CUdeviceptr,
        dstPitch: usize,
        uc: u8,
        Width: usize,
        Height: usize,
    ) -> CUresult {
        let of = whole(entry, wire::CU_MEMSET_D2D8_V2);
        let filled = rectangles::Filled {
            to: dstDevice,
            pitch: dstPitch,
            value: uc.into(),
            width: Width,
            height: Height,
        };
        Self::returned(|| rectangles::set(of, filled))
    }

    unsafe fn cuMemsetD2D8Async(
        entry: u64,
        dstDevice: CUdeviceptr,
        dstPitch: usize,
        uc: u8,
        Width: usize,
        Height: usize,
        hStream: CUstream,
    ) -> CUresult {
        let of = on(entry, wire::CU_MEMSET_D2D8ASYNC, hStream);
        let filled = rectangles::Filled {
            to: dstDevice,
            pitch: dstPitch,
            value: uc.into(),
            width: Width,
            height: Height,
        };
        Self::returned(|| rectangles::set(of, filled))
    }

    unsafe fn cuMemsetD2D16_v2(
        entry: u64,
        dstDevice: CUdeviceptr,
        dstPitch: usize,
        us: u16,
        Width: usize,
        Height: usize,
    ) -> CUresult {
        let of = whole(entry, wire::CU_MEMSET_D2D16_V2);
        let filled = rectangles::Filled {
            to: dstDevice,
            pitch: dstPitch,
            value: us.into(),
            width: Width,
            height: Height,
        };
        Self::returned(|| rectangles::set(of, filled))
    }

    unsafe fn cuMemsetD2D16Async(
        entry: u64,
        dstDevice: CUdeviceptr,
        dstPitch: usize,
        us: u16,
        Width: usize,
        Height: usize,
        hStream: CUstream,
    ) -> CUresult {
        let of = on(entry, wire::CU_MEMSET_D2D16ASYNC, hStream);
        let filled = rectangles::Filled {
            to: dstDevice,
            pitch: dstPitch,
            value: us.into(),
            width: Width,
            height: Height,
        };
        Self::returned(|| rectangles::set(of, filled))
    }

    unsafe fn cuMemsetD2D32_v2(
        entry: u64,
        dstDevice: CUdeviceptr,
        dstPitch: usize,
        ui: c_uint,
        Width: usize,
        Height: usize,
    ) -> CUresult {
        let of = whole(entry, wire::CU_MEMSET_D2D32_V2);
        let filled = rectangles::Filled {
            to: dstDevice,
            pitch: dstPitch,
            value: ui,
            width: Width,
            height: Height,
        };
        Self::returned(|| rectangles::set(of, filled))
    }

    unsafe fn cuMemsetD2D32Async(
        entry: u64,
        dstDevice: CUdeviceptr,
        dstPitch: usize,
        ui: c_uint,
        Width: usize,
        Height: usize,
        hStream: CUstream,
    ) -> CUresult {
        let of = on(entry, wire::CU_MEMSET_D2D32ASYNC, hStream);
        let filled = rectangles::Filled {
            to: dstDevice,
            pitch: dstPitch,
            value: ui,
            width: Width,
            height: Height,
        };
        Self::returned(|| rectangles::set(of, filled))
    }

    unsafe fn cuMemcpyPeer(
        entry: u64,
        dstDevice: CUdeviceptr,
        dstContext: CUcontext,
        srcDevice: CUdeviceptr,
        srcContext: CUcontext,
        ByteCount: usize,
    ) -> CUresult {
        let of = whole(entry, wire::CU_MEMCPY_DTO_D_V2);
        let ends = (dstContext, srcContext);
        Self::returned(|| copy::between(of, ends, dstDevice, srcDevice, ByteCount))
    }

    unsafe fn cuMemcpyPeerAsync(
        entry: u64,
        dstDevice: CUdeviceptr,
        dstContext: CUcontext,
        srcDevice: CUdeviceptr,
        srcContext: CUcontext,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult {
        let of = on(entry, wire::CU_MEMCPY_DTO_D_ASYNC_V2, hStream);
        let ends = (dstContext, srcContext);
        Self::returned(|| copy::between(of, ends, dstDevice, srcDevice, ByteCount))
    }
}
