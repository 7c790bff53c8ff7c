//! What streams have besides flags and a priority. The board's driver keeps it.

use super::context;
use super::streams;
use crate::generated::manual::{Guest, Request};
use crate::generated::types::*;
use gil_cuda_common::attribute::{self, Attribute, Of, Unknown};
use gil_guest::api::{Api, CallResult};
use gil_wire::envelope::Class;
use gil_wire::generated::cuda as wire;
use std::ffi::c_char;

/// The code for an attribute that gil does not pass on.
pub fn refusal(why: Unknown) -> CUresult {
    match why {
        Unknown::NotOffered => CUDA_ERROR_NOT_SUPPORTED,
        Unknown::Invalid => CUDA_ERROR_INVALID_VALUE,
    }
}

/// An attribute in the program's structure; `None` for one that is to be ignored.
///
/// # Errors
/// As [`refusal`].
pub fn read(
    id: CUlaunchAttributeID,
    value: &CUlaunchAttributeValue,
    of: Of,
) -> CallResult<Option<Attribute>> {
    let bytes = value.pad.map(|byte| byte as u8);
    Attribute::read(id, &bytes, of).map_err(refusal)
}

/// An attribute of a stream.
///
/// # Errors
/// The API's code.
pub fn get(
    entry: u64,
    stream: CUstream,
    id: CUlaunchAttributeID,
) -> CallResult<CUlaunchAttributeValue> {
    attribute::len(id, Of::Stream).map_err(refusal)?;
    context::with(|context| {
        streams::with_any_lane(context, stream, |lane| {
            let request = Request::new(wire::CU_STREAM_GET_ATTRIBUTE, Class::Query, entry);
            let args = wire::CuStreamGetAttributeArgs {
                current: context.number,
                hStream: lane.number,
                attr: id,
            };
            request.forward(&args, |reply| {
                let reply: wire::CuStreamGetAttributeReply = reply.decode()?;
                Guest::check(reply.result)?;
                let known = attribute::from_words(&reply.attribute, Of::Stream);
                let [known] = known.ok_or(Guest::GARBLED)?[..] else {
                    return Err(Guest::GARBLED);
                };
                Ok(CUlaunchAttributeValue {
                    pad: known.value().map(|byte| byte as c_char),
                })
            })
        })
    })
}

/// Changes an attribute of a stream.
///
/// # Errors
/// The API's code.
pub fn set(
    entry: u64,
    stream: CUstream,
    id: CUlaunchAttributeID,
    value: &CUlaunchAttributeValue,
) -> CallResult<()> {
    let attribute = read(id, value, Of::Stream)?.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    context::with(|context| {
        streams::with_any_lane(context, stream, |lane| {
            let request = Request::new(wire::CU_STREAM_SET_ATTRIBUTE, Class::Sync, entry);
            let args = wire::CuStreamSetAttributeArgs {
                current: context.number,
                hStream: lane.number,
                attribute: attribute.words().to_vec(),
            };
            request.forward(&args, |reply| {
                let reply: wire::CuStreamSetAttributeReply = reply.decode()?;
                Guest::check(reply.result)
            })
        })
    })
}

/// A stream gets another's attributes.
///
/// # Errors
/// The API's code.
pub fn copy(entry: u64, to: CUstream, from: CUstream) -> CallResult<()> {
    context::with(|context| {
        let number = |stream| streams::with_any_lane(context, stream, |lane| Ok(lane.number));
        let args = wire::CuStreamCopyAttributesArgs {
            current: context.number,
            dst: number(to)?,
            src: number(from)?,
        };
        let request = Request::new(wire::CU_STREAM_COPY_ATTRIBUTES, Class::Sync, entry);
        request.forward(&args, |reply| {
            let reply: wire::CuStreamCopyAttributesReply = reply.decode()?;
            Guest::check(reply.result)
        })
    })
}
