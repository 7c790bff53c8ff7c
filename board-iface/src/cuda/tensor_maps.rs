//! Tensor maps, which the driver encodes (`CUDA Driver API`, tensor map object management). A
//! map has an address and shapes; what a kernel finds there is the kernel's.

use super::generated::manual::TensorMaps;
use super::generated::types::*;
use super::manual::call_if;
use super::session::Session;
use super::support::Board;
use crate::back_end::{Call, Current, Objects, Refusal};
use gil_wire::call::Handle;
use gil_wire::generated::cuda as wire;
use std::ffi::{c_int, c_void};

/// Most dimensions of a tensor.
const RANK_MAX: usize = 5;

/// A map where the driver wants it (`CUtensorMap` of `cuda.h`).
#[repr(C, align(128))]
struct Aligned(CUtensorMap);

/// The words of no map.
const EMPTY: [u64; 16] = [0; 16];

/// Numbers of a tensor's dimensions, and zeros for those that it has not.
type Numbers<T> = [T; RANK_MAX];

/// The words of a list of `len`.
///
/// # Errors
/// [`Refusal::Parameter`] for a list of another length, or a word that is no such number.
fn numbers<T: Copy + Default + TryFrom<N>, N>(
    name: &'static str,
    words: &[u64],
    len: usize,
    number: impl Fn(u64) -> N,
) -> Result<Numbers<T>, Refusal> {
    if words.len() != len || len > RANK_MAX {
        return Err(Refusal::parameter(name, words.len() as u64));
    }
    let mut numbers = Numbers::default();
    for (to, word) in numbers.iter_mut().zip(words) {
        *to = T::try_from(number(*word)).map_err(|_| Refusal::parameter(name, *word))?;
    }
    Ok(numbers)
}

/// What all kinds of maps have of a tensor.
struct Tensor {
    data_type: CUtensorMapDataType,
    rank: u32,
    address: *mut c_void,
    dims: Numbers<cuuint64_t>,
    strides: Numbers<cuuint64_t>,
    element_strides: Numbers<cuuint32_t>,
}

impl Tensor {
    /// # Errors
    /// [`Refusal::Parameter`] if no tensor has such lists.
    fn new(
        (data_type, address): (i32, u64),
        (dims, strides): (&[u64], &[u64]),
        element_strides: &[u64],
    ) -> Result<Self, Refusal> {
        let rank = dims.len();
        if !(1..=RANK_MAX).contains(&rank) {
            return Err(Refusal::parameter("dims", rank as u64));
        }
        let place = usize::try_from(address);
        let place = place.map_err(|_| Refusal::parameter("address", address))?;
        Ok(Self {
            data_type,
            rank: rank as u32,
            address: std::ptr::without_provenance_mut(place),
            dims: numbers("dims", dims, rank, |word| word)?,
            strides: numbers("strides", strides, rank - 1, |word| word)?,
            element_strides: numbers("element_strides", element_strides, rank, |word| word)?,
        })
    }

    /// The corners of a box of pixels, which has no channel and is of one image.
    fn corners(&self, name: &'static str, words: &[u64]) -> Result<Numbers<c_int>, Refusal> {
        let len = (self.rank as usize).saturating_sub(2);
        numbers(name, words, len, u64::cast_signed)
    }
}

impl Session {
    /// What `encode` makes of a map with these words, in a context.
    fn encoded(
        &mut self,
        call: &mut Call,
        context: Handle,
        opaque: [u64; 16],
        encode: Option<impl FnOnce(*mut CUtensorMap) -> CUresult>,
    ) -> Result<(CUresult, Vec<u64>), Refusal> {
        self.make_current(context)?;
        let mut map = Aligned(CUtensorMap { opaque });
        let result = call_if(call, encode, |encode| encode(&mut map.0));
        let words = match result {
            CUDA_SUCCESS => map.0.opaque.to_vec(),
            _ => Vec::new(),
        };
        Ok((result, words))
    }
}

impl TensorMaps for Board {
    fn cu_tensor_map_encode_tiled(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuTensorMapEncodeTiledArgs,
    ) -> Result<wire::CuTensorMapEncodeTiledReply, Refusal> {
        let what = (args.data_type, args.address);
        let it = Tensor::new(what, (&args.dims, &args.strides), &args.element_strides)?;
        let boxes = numbers("box_dims", &args.box_dims, it.rank as usize, |word| word)?;
        let function = session.functions().cuTensorMapEncodeTiled;
        let encode = function.map(|encode| {
            // SAFETY: each list has as many numbers as a tensor has dimensions at most, and the
            // map is where maps are.
            move |map: *mut CUtensorMap| unsafe {
                encode(
                    map,
                    it.data_type,
                    it.rank,
                    it.address,
                    it.dims.as_ptr(),
                    it.strides.as_ptr(),
                    boxes.as_ptr(),
                    it.element_strides.as_ptr(),
                    args.interleave,
                    args.swizzle,
                    args.promotion,
                    args.fill,
                )
            }
        });
        let (result, map) = session.encoded(call, args.current, EMPTY, encode)?;
        Ok(wire::CuTensorMapEncodeTiledReply { result, map })
    }

    fn cu_tensor_map_encode_im2col(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuTensorMapEncodeIm2colArgs,
    ) -> Result<wire::CuTensorMapEncodeIm2colReply, Refusal> {
        let what = (args.data_type, args.address);
        let it = Tensor::new(what, (&args.dims, &args.strides), &args.element_strides)?;
        let lower = it.corners("lower", &args.lower)?;
        let upper = it.corners("upper", &args.upper)?;
        let function = session.functions().cuTensorMapEncodeIm2col;
        let encode = function.map(|encode| {
            // SAFETY: as of tiled maps.
            move |map: *mut CUtensorMap| unsafe {
                encode(
                    map,
                    it.data_type,
                    it.rank,
                    it.address,
                    it.dims.as_ptr(),
                    it.strides.as_ptr(),
                    lower.as_ptr(),
                    upper.as_ptr(),
                    args.channels,
                    args.pixels,
                    it.element_strides.as_ptr(),
                    args.interleave,
                    args.swizzle,
                    args.promotion,
                    args.fill,
                )
            }
        });
        let (result, map) = session.encoded(call, args.current, EMPTY, encode)?;
        Ok(wire::CuTensorMapEncodeIm2colReply { result, map })
    }

    fn cu_tensor_map_encode_im2col_wide(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuTensorMapEncodeIm2colWideArgs,
    ) -> Result<wire::CuTensorMapEncodeIm2colWideReply, Refusal> {
        let what = (args.data_type, args.address);
        let it = Tensor::new(what, (&args.dims, &args.strides), &args.element_strides)?;
        let function = session.functions().cuTensorMapEncodeIm2colWide;
        let encode = function.map(|encode| {
            // SAFETY: as of tiled maps.
            move |map: *mut CUtensorMap| unsafe {
                encode(
                    map,
                    it.data_type,
                    it.rank,
                    it.address,
                    it.dims.as_ptr(),
                    it.strides.as_ptr(),
                    args.lower_width,
                    args.upper_width,
                    args.channels,
                    args.pixels,
                    it.element_strides.as_ptr(),
                    args.interleave,
                    args.mode,
                    args.swizzle,
                    args.promotion,
                    args.fill,
                )
            }
        });
        let (result, map) = session.encoded(call, args.current, EMPTY, encode)?;
        Ok(wire::CuTensorMapEncodeIm2colWideReply { result, map })
    }

    fn cu_tensor_map_replace_address(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuTensorMapReplaceAddressArgs,
    ) -> Result<wire::CuTensorMapReplaceAddressReply, Refusal> {
        let len = args.map.len() as u64;
        let opaque = args.map.try_into();
        let opaque = opaque.map_err(|_| Refusal::parameter("map", len))?;
        let place = usize::try_from(args.address);
        let place = place.map_err(|_| Refusal::parameter("address", args.address))?;
        let function = session.functions().cuTensorMapReplaceAddress;
        let replace = function.map(|replace| {
            // SAFETY: the map is where maps are; its words are the guest's, of which the
            // driver reads no address.
            move |map: *mut CUtensorMap| unsafe {
                replace(map, std::ptr::without_provenance_mut(place))
            }
        });
        let (result, map) = session.encoded(call, args.current, opaque, replace)?;
        Ok(wire::CuTensorMapReplaceAddressReply { result, map })
    }
}
