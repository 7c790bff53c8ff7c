//! `clGetKernelSubGroupInfo`: sizes in, sizes out.

use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_guest::{Api, CallResult, Room, info};
use gil_wire::call::{Handle, InData, OutData, OutRoom};
use gil_wire::envelope::Class;
use gil_wire::generated::opencl as wire;
use std::ffi::c_void;

/// Most sizes in, and most out: one a dimension.
const WORDS_MAX: usize = 16;
const SIZE: usize = size_of::<usize>();

/// One query.
#[derive(Debug)]
pub struct Asked<'a> {
    /// About which kernel.
    pub kernel: &'a Object,
    /// On which device; NULL for the kernel's only one.
    pub device: Handle,
    /// The queried name.
    pub param_name: cl_uint,
}

impl Asked<'_> {
    /// Asks the board, and answers in sizes of the guest's width.
    ///
    /// # Errors
    /// The API's code.
    ///
    /// # Safety
    /// `input` is null or names `input_size` bytes; the buffer is as large as it states.
    pub unsafe fn answer(
        &self,
        entry: u64,
        input_size: usize,
        input: *const c_void,
        room: &Room,
    ) -> CallResult<()> {
        // SAFETY: the caller's.
        let inputs = unsafe { words(input, input_size) }?;
        let mut request = Request::new(wire::CL_GET_KERNEL_SUB_GROUP_INFO, Class::Query, entry);
        let has_room = !room.value.is_null();
        let args = wire::ClGetKernelSubGroupInfoArgs {
            kernel: self.kernel.number(),
            device: self.device,
            param_name: self.param_name,
            inputs: match &inputs {
                // SAFETY: the bytes live until the call returned.
                Some(bytes) => unsafe { request.input(bytes.as_ptr().cast(), bytes.len()) },
                None => InData::Null,
            },
            room: if has_room {
                (room.size / SIZE).min(WORDS_MAX) as u32
            } else {
                0
            },
            values: OutRoom::Inline((WORDS_MAX * size_of::<u64>()) as u32),
        };
        request.forward(&args, |reply| {
            let reply: wire::ClGetKernelSubGroupInfoReply<'_> = reply.decode()?;
            Guest::check(reply.result)?;
            let count = reply.count as usize;
            let OutData::Inline(values) = reply.values else {
                return Err(CL_OUT_OF_RESOURCES);
            };
            // SAFETY: the caller's.
            unsafe {
                match has_room {
                    true => info::answer::<Guest>(room, &guest_sizes(values, count)?),
                    false => room.announce::<Guest>(count * SIZE),
                }
            }
        })
    }
}

/// An array of sizes as little-endian `u64`.
///
/// # Safety
/// `input` is null or names `size` bytes.
unsafe fn words(input: *const c_void, size: usize) -> CallResult<Option<Vec<u8>>> {
    if input.is_null() {
        return Ok(None);
    }
    let count = size / SIZE;
    if count > WORDS_MAX || !size.is_multiple_of(SIZE) {
        return Err(CL_INVALID_VALUE);
    }
    let word = |n: usize| {
        // SAFETY: the caller's; the array need not be aligned.
        let size = unsafe { input.cast::<usize>().add(n).read_unaligned() };
        (size as u64).to_le_bytes()
    };
    Ok(Some((0..count).flat_map(word).collect()))
}

fn guest_sizes(values: &[u8], count: usize) -> CallResult<Vec<u8>> {
    let words = values.as_chunks::<8>().0;
    let words = words.get(..count).ok_or(CL_OUT_OF_RESOURCES)?;
    let size = |word: &[u8; 8]| usize::try_from(u64::from_le_bytes(*word));
    let sizes: Result<Vec<usize>, _> = words.iter().map(size).collect();
    let sizes = sizes.map_err(|_| CL_OUT_OF_RESOURCES)?;
    Ok(sizes.iter().flat_map(|size| size.to_ne_bytes()).collect())
}
