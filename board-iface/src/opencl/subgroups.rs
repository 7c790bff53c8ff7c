//! `clGetKernelSubGroupInfo`: sizes in, sizes out.

use super::generated::types::*;
use super::session::Session;
use crate::back_end::{Call, Objects, Refusal, encode, list_ptr, size};
use gil_wire::generated::opencl::{self as wire, Kind};
use std::ptr::null_mut;

/// Most sizes in, and most out.
const WORDS_MAX: usize = 16;

/// Asks the driver.
///
/// # Errors
/// [`Refusal`]; what the driver says is in the reply.
pub fn info(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClGetKernelSubGroupInfoArgs<'_>,
) -> Result<Vec<u8>, Refusal> {
    let kernel: cl_kernel = session.get(Kind::Kernel, args.kernel)?;
    let device: cl_device_id = session.get_optional(Kind::Device, args.device)?;
    let inputs = inputs(call, args)?;
    let mut values = vec![0usize; (args.room as usize).min(WORDS_MAX)];
    let mut bytes = 0;
    let mut result = CL_INVALID_OPERATION;
    if let Some(function) = session.functions().clGetKernelSubGroupInfo {
        let input_size = size_of_val(&inputs[..]);
        let (room, value) = match values.is_empty() {
            true => (0, null_mut()),
            false => (size_of_val(&values[..]), values.as_mut_ptr().cast()),
        };
        let input = list_ptr(&inputs).cast();
        let name = args.param_name;
        // SAFETY: the objects are alive; the arrays are as long as said.
        result = call.timed(|| unsafe {
            function(
                kernel, device, name, input_size, input, room, value, &mut bytes,
            )
        });
    }
    answer(call, args, result, &values, bytes / size_of::<usize>())
}

fn inputs(
    call: &Call,
    args: &wire::ClGetKernelSubGroupInfoArgs<'_>,
) -> Result<Vec<usize>, Refusal> {
    let bytes = call.bytes(&args.inputs)?.unwrap_or_default();
    let words = bytes.as_chunks::<8>().0.iter().take(WORDS_MAX);
    words
        .map(|word| size(u64::from_le_bytes(*word), "input_value"))
        .collect()
}

fn answer(
    call: &mut Call,
    args: &wire::ClGetKernelSubGroupInfoArgs<'_>,
    result: cl_int,
    values: &[usize],
    count: usize,
) -> Result<Vec<u8>, Refusal> {
    let count = count.min(WORDS_MAX);
    let known = values.iter().take(count);
    let bytes: Vec<u8> = known.flat_map(|v| (*v as u64).to_le_bytes()).collect();
    let mut room = call.output(args.values, bytes.len())?;
    room.put(&bytes);
    encode(&wire::ClGetKernelSubGroupInfoReply {
        result,
        count: count as u32,
        values: room.data(call, bytes.len()),
    })
}
