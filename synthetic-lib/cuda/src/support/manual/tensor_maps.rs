//! Tensor maps.

use super::*;
use crate::generated::manual::TensorMaps;
use crate::support::tensor_maps::{self, Tensor};

/// Writes a map to its place.
///
/// # Safety
/// `to` is null or has space for one.
unsafe fn put_map(to: *mut CUtensorMap, map: impl FnOnce() -> CallResult<CUtensorMap>) -> CUresult {
    Guest::returned(|| {
        let to = tensor_maps::place(to)?;
        let map = map()?;
        // SAFETY: the caller's.
        unsafe { to.write(map) };
        Ok(())
    })
}

impl TensorMaps for Guest {
    unsafe fn cuTensorMapEncodeTiled(
        entry: u64,
        tensorMap: *mut CUtensorMap,
        tensorDataType: CUtensorMapDataType,
        tensorRank: cuuint32_t,
        globalAddress: *mut c_void,
        globalDim: *const cuuint64_t,
        globalStrides: *const cuuint64_t,
        boxDim: *const cuuint32_t,
        elementStrides: *const cuuint32_t,
        interleave: CUtensorMapInterleave,
        swizzle: CUtensorMapSwizzle,
        l2Promotion: CUtensorMapL2promotion,
        oobFill: CUtensorMapFloatOOBfill,
    ) -> CUresult {
        let address = globalAddress.addr() as u64;
        let sizes = (globalDim, globalStrides);
        // SAFETY: the caller's.
        let encode = || unsafe {
            let tensor = Tensor::read(tensorDataType, tensorRank, address, sizes, elementStrides)?;
            let (order, reading) = ((interleave, swizzle), (l2Promotion, oobFill));
            tensor.tiled(entry, boxDim, order, reading)
        };
        // SAFETY: the caller's.
        unsafe { put_map(tensorMap, encode) }
    }

    unsafe fn cuTensorMapEncodeIm2col(
        entry: u64,
        tensorMap: *mut CUtensorMap,
        tensorDataType: CUtensorMapDataType,
        tensorRank: cuuint32_t,
        globalAddress: *mut c_void,
        globalDim: *const cuuint64_t,
        globalStrides: *const cuuint64_t,
        pixelBoxLowerCorner: *const c_int,
        pixelBoxUpperCorner: *const c_int,
        channelsPerPixel: cuuint32_t,
        pixelsPerColumn: cuuint32_t,
        elementStrides: *const cuuint32_t,
        interleave: CUtensorMapInterleave,
        swizzle: CUtensorMapSwizzle,
        l2Promotion: CUtensorMapL2promotion,
        oobFill: CUtensorMapFloatOOBfill,
    ) -> CUresult {
        let address = globalAddress.addr() as u64;
        let sizes = (globalDim, globalStrides);
        let corners = (pixelBoxLowerCorner, pixelBoxUpperCorner);
        // SAFETY: the caller's.
        let encode = || unsafe {
            let tensor = Tensor::read(tensorDataType, tensorRank, address, sizes, elementStrides)?;
            let columns = (channelsPerPixel, pixelsPerColumn);
            let (order, reading) = ((interleave, swizzle), (l2Promotion, oobFill));
            tensor.columns(entry, corners, columns, order, reading)
        };
        // SAFETY: the caller's.
        unsafe { put_map(tensorMap, encode) }
    }

    unsafe fn cuTensorMapEncodeIm2colWide(
        entry: u64,
        tensorMap: *mut CUtensorMap,
        tensorDataType: CUtensorMapDataType,
        tensorRank: cuuint32_t,
        globalAddress: *mut c_void,
        globalDim: *const cuuint64_t,
        globalStrides: *const cuuint64_t,
        pixelBoxLowerCornerWidth: c_int,
        pixelBoxUpperCornerWidth: c_int,
        channelsPerPixel: cuuint32_t,
        pixelsPerColumn: cuuint32_t,
        elementStrides: *const cuuint32_t,
        interleave: CUtensorMapInterleave,
        mode: CUtensorMapIm2ColWideMode,
        swizzle: CUtensorMapSwizzle,
        l2Promotion: CUtensorMapL2promotion,
        oobFill: CUtensorMapFloatOOBfill,
    ) -> CUresult {
        let address = globalAddress.addr() as u64;
        let sizes = (globalDim, globalStrides);
        let corners = (pixelBoxLowerCornerWidth, pixelBoxUpperCornerWidth);
        // SAFETY: the caller's.
        let encode = || unsafe {
            let tensor = Tensor::read(tensorDataType, tensorRank, address, sizes, elementStrides)?;
            let columns = (channelsPerPixel, pixelsPerColumn);
            let (order, reading) = ((interleave, mode), (l2Promotion, oobFill));
            tensor.wide_columns(entry, corners, columns, order, swizzle, reading)
        };
        // SAFETY: the caller's.
        unsafe { put_map(tensorMap, encode) }
    }

    unsafe fn cuTensorMapReplaceAddress(
        entry: u64,
        tensorMap: *mut CUtensorMap,
        globalAddress: *mut c_void,
    ) -> CUresult {
        let replace = || {
            let map = tensor_maps::place(tensorMap)?;
            // SAFETY: the caller's; such a place is aligned.
            let map = unsafe { &*map };
            tensor_maps::replaced(entry, map, globalAddress.addr() as u64)
        };
        // SAFETY: the caller's.
        unsafe { put_map(tensorMap, replace) }
    }
}
