//! Tensor maps: 128 bytes by which a kernel's own copies find the boxes of a tensor. The board's
//! driver encodes them.

use super::context;
use crate::generated::manual::{Guest, Request};
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult};
use gil_wire::Op;
use gil_wire::call::Handle;
use gil_wire::envelope::Class;
use gil_wire::generated::cuda as wire;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ffi::c_int;

/// Most dimensions of a tensor (`cuTensorMapEncodeTiled`).
const RANK_MAX: u32 = 5;
/// What a map's address is a multiple of.
const ALIGNMENT: usize = 64;

/// What all three kinds of maps have of a tensor.
#[derive(Clone, Debug)]
pub struct Tensor {
    data_type: CUtensorMapDataType,
    address: u64,
    dims: Vec<u64>,
    /// Of every dimension but the first, in bytes.
    strides: Vec<u64>,
    element_strides: Vec<u64>,
}

/// As many words of the program's.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` if there are none.
///
/// # Safety
/// `place` is null or has as many.
unsafe fn words<T: Copy>(
    place: *const T,
    count: u32,
    word: impl Fn(T) -> u64,
) -> CallResult<Vec<u64>> {
    if place.is_null() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller's.
    let words = unsafe { std::slice::from_raw_parts(place, count as usize) };
    Ok(words.iter().map(|it| word(*it)).collect())
}

impl Tensor {
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for a rank that no tensor has, or without a description.
    ///
    /// # Safety
    /// The lists are null or have `rank` numbers, `strides` one fewer.
    pub unsafe fn read(
        data_type: CUtensorMapDataType,
        rank: cuuint32_t,
        address: u64,
        (dims, strides): (*const cuuint64_t, *const cuuint64_t),
        element_strides: *const cuuint32_t,
    ) -> CallResult<Self> {
        if !(1..=RANK_MAX).contains(&rank) {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let strides = match rank {
            1 => Vec::new(),
            // SAFETY: the caller's, here and below.
            _ => unsafe { words(strides, rank - 1, u64::from) }?,
        };
        Ok(Self {
            data_type,
            address,
            // SAFETY: as above.
            dims: unsafe { words(dims, rank, u64::from) }?,
            strides,
            // SAFETY: as above.
            element_strides: unsafe { words(element_strides, rank, u64::from) }?,
        })
    }

    /// A map of boxes.
    ///
    /// # Errors
    /// The API's code.
    ///
    /// # Safety
    /// `boxes` is null or has as many numbers as the tensor has dimensions.
    pub unsafe fn tiled(
        self,
        entry: u64,
        boxes: *const cuuint32_t,
        (interleave, swizzle): (CUtensorMapInterleave, CUtensorMapSwizzle),
        (promotion, fill): (CUtensorMapL2promotion, CUtensorMapFloatOOBfill),
    ) -> CallResult<CUtensorMap> {
        // SAFETY: the caller's.
        let box_dims = unsafe { words(boxes, self.dims.len() as u32, u64::from) }?;
        let encode = |current| wire::CuTensorMapEncodeTiledArgs {
            current,
            data_type: self.data_type,
            address: self.address,
            dims: self.dims,
            strides: self.strides,
            box_dims,
            element_strides: self.element_strides,
            interleave,
            swizzle,
            promotion,
            fill,
        };
        let map = |reply: wire::CuTensorMapEncodeTiledReply| (reply.result, reply.map);
        ask(entry, wire::CU_TENSOR_MAP_ENCODE_TILED, encode, map)
    }

    /// A map of the boxes of an image's pixels as columns.
    ///
    /// # Errors
    /// The API's code.
    ///
    /// # Safety
    /// The corners are null or have two numbers fewer than the tensor has dimensions.
    pub unsafe fn columns(
        self,
        entry: u64,
        (lower, upper): (*const c_int, *const c_int),
        (channels, pixels): (cuuint32_t, cuuint32_t),
        (interleave, swizzle): (CUtensorMapInterleave, CUtensorMapSwizzle),
        (promotion, fill): (CUtensorMapL2promotion, CUtensorMapFloatOOBfill),
    ) -> CallResult<CUtensorMap> {
        let corners = (self.dims.len() as u32).saturating_sub(2);
        let word = |it: c_int| i64::from(it).cast_unsigned();
        // SAFETY: the caller's.
        let lower = unsafe { words(lower, corners, word) }?;
        // SAFETY: the caller's.
        let upper = unsafe { words(upper, corners, word) }?;
        let encode = |current| wire::CuTensorMapEncodeIm2colArgs {
            current,
            data_type: self.data_type,
            address: self.address,
            dims: self.dims,
            strides: self.strides,
            lower,
            upper,
            channels,
            pixels,
            element_strides: self.element_strides,
            interleave,
            swizzle,
            promotion,
            fill,
        };
        let map = |reply: wire::CuTensorMapEncodeIm2colReply| (reply.result, reply.map);
        ask(entry, wire::CU_TENSOR_MAP_ENCODE_IM2COL, encode, map)
    }

    /// The same along the width alone.
    ///
    /// # Errors
    /// The API's code.
    pub fn wide_columns(
        self,
        entry: u64,
        (lower_width, upper_width): (c_int, c_int),
        (channels, pixels): (cuuint32_t, cuuint32_t),
        (interleave, mode): (CUtensorMapInterleave, CUtensorMapIm2ColWideMode),
        swizzle: CUtensorMapSwizzle,
        (promotion, fill): (CUtensorMapL2promotion, CUtensorMapFloatOOBfill),
    ) -> CallResult<CUtensorMap> {
        let encode = |current| wire::CuTensorMapEncodeIm2colWideArgs {
            current,
            data_type: self.data_type,
            address: self.address,
            dims: self.dims,
            strides: self.strides,
            lower_width,
            upper_width,
            channels,
            pixels,
            element_strides: self.element_strides,
            interleave,
            mode,
            swizzle,
            promotion,
            fill,
        };
        let map = |reply: wire::CuTensorMapEncodeIm2colWideReply| (reply.result, reply.map);
        ask(entry, wire::CU_TENSOR_MAP_ENCODE_IM2COL_WIDE, encode, map)
    }
}

/// What the board's driver makes of a description, in the current context.
///
/// # Errors
/// The API's code.
fn ask<A: Serialize, R: DeserializeOwned>(
    entry: u64,
    op: Op,
    args: impl FnOnce(Handle) -> A,
    map: impl FnOnce(R) -> (CUresult, Vec<u64>),
) -> CallResult<CUtensorMap> {
    let current = context::with(|context| context.healthy().map(|()| context.number))?;
    Request::new(op, Class::Query, entry).forward(&args(current), |reply| {
        let (result, words) = map(reply.decode()?);
        Guest::check(result)?;
        let opaque = words.try_into().map_err(|_| CUDA_ERROR_UNKNOWN)?;
        Ok(CUtensorMap { opaque })
    })
}

/// Where a map goes, or is.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` if no map may be there.
pub fn place(map: *mut CUtensorMap) -> CallResult<*mut CUtensorMap> {
    match map.is_null() || !map.addr().is_multiple_of(ALIGNMENT) {
        true => Err(CUDA_ERROR_INVALID_VALUE),
        false => Ok(map),
    }
}

/// A map with another address.
///
/// # Errors
/// The API's code.
pub fn replaced(entry: u64, map: &CUtensorMap, address: u64) -> CallResult<CUtensorMap> {
    let replace = |current| wire::CuTensorMapReplaceAddressArgs {
        current,
        map: map.opaque.to_vec(),
        address,
    };
    let map = |reply: wire::CuTensorMapReplaceAddressReply| (reply.result, reply.map);
    ask(entry, wire::CU_TENSOR_MAP_REPLACE_ADDRESS, replace, map)
}
