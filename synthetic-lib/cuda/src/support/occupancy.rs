//! Which blocks fill a device best, and how many clusters do.

use super::launch::Geometry;
use super::{Details, context, streams};
use crate::generated::manual::{Guest, Object, Request};
use crate::generated::stubs::{
    cuDeviceGetAttribute, cuFuncGetAttribute,
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags as active_blocks,
};
use crate::generated::types::*;
use gil_cuda_common::attribute::{self, Attribute};
use gil_guest::api::{Api, CallResult};
use gil_wire::Op;
use gil_wire::envelope::Class;
use gil_wire::generated::cuda::{self as wire, Kind};
use std::ffi::{c_int, c_uint};
use std::sync::Arc;

/// Attributes of a device: threads of a warp, of a multiprocessor; multiprocessors.
const WARP: CUdevice_attribute = 10;
const MULTIPROCESSORS: CUdevice_attribute = 16;
const THREADS: CUdevice_attribute = 39;
/// An attribute of a function: most threads of a block.
const BLOCK: CUfunction_attribute = 0;

/// Bytes of shared memory that a block of so many threads needs besides the function's own.
pub type Shared = Option<unsafe extern "C" fn(c_int) -> usize>;

/// What a launch is searched for.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// The function.
    pub function: CUfunction,
    /// The program's function for a block's shared memory, or else `bytes`.
    pub shared: Shared,
    /// Bytes of shared memory for each block.
    pub bytes: usize,
    /// Most threads; 0 for as many as the function can.
    pub most: c_int,
    /// Those of the occupancy.
    pub flags: c_uint,
}

/// The number that a call of the API writes.
fn number(ask: impl FnOnce(*mut c_int) -> CUresult) -> CallResult<c_int> {
    let mut number = 0;
    Guest::check(ask(&mut number))?;
    Ok(number)
}

impl Search {
    /// Blocks that fill the device, and the threads of each with which most threads are at
    /// work: of equal ones, most threads. All whole warps are tried, the greatest first.
    ///
    /// # Errors
    /// The API's code.
    pub fn best(&self) -> CallResult<(c_int, c_int)> {
        let device = context::with(|context| Ok(context.device))?;
        // SAFETY: there is space for a number.
        let of_device = |name| number(|place| unsafe { cuDeviceGetAttribute(place, name, device) });
        let (warp, threads) = (of_device(WARP)?, of_device(THREADS)?);
        // SAFETY: there is space for a number.
        let most = number(|place| unsafe { cuFuncGetAttribute(place, BLOCK, self.function) })?;
        if warp <= 0 || self.most < 0 {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let limit = match self.most {
            0 => most,
            limit => limit.min(most),
        };
        let (mut at_work, mut best) = (0, (0, 0));
        let mut block = limit.saturating_add(warp - 1) / warp * warp;
        while block > 0 {
            let size = block.min(limit);
            let active = self.active(size)?;
            if active.saturating_mul(size) > at_work {
                at_work = active.saturating_mul(size);
                best = (active, size);
            }
            // There cannot be more.
            if at_work >= threads {
                break;
            }
            block -= warp;
        }
        let blocks = best.0.saturating_mul(of_device(MULTIPROCESSORS)?);
        Ok((blocks, best.1))
    }

    fn active(&self, size: c_int) -> CallResult<c_int> {
        let bytes = match self.shared {
            // SAFETY: the program's function, which takes any number of threads.
            Some(shared) => unsafe { shared(size) },
            None => self.bytes,
        };
        // SAFETY: there is space for a number.
        number(|place| unsafe { active_blocks(place, self.function, size, bytes, self.flags) })
    }
}

/// What the board's driver says of a launch's clusters: the most that run together, or the
/// greatest size.
///
/// # Errors
/// The API's code.
pub fn clusters(
    (entry, op): (u64, Op),
    function: CUfunction,
    geometry: &Geometry,
    stream: CUstream,
    attributes: &[Attribute],
) -> CallResult<c_int> {
    context::with(|context| {
        let object = Object::find(Kind::Function, function)?;
        match object.details() {
            Details::Function(it) if Arc::ptr_eq(&it.context, context) => {}
            _ => return Err(CUDA_ERROR_INVALID_HANDLE),
        }
        let Geometry {
            grid,
            block,
            shared,
        } = *geometry;
        streams::with_any_lane(context, stream, |lane| {
            // Both calls have the same arguments.
            let args = wire::CuOccupancyMaxActiveClustersArgs {
                current: context.number,
                hStream: lane.number,
                f: object.number(),
                grid_x: grid[0],
                grid_y: grid[1],
                grid_z: grid[2],
                block_x: block[0],
                block_y: block[1],
                block_z: block[2],
                shared,
                attributes: attribute::words(attributes),
            };
            let request = Request::new(op, Class::Query, entry);
            request.forward(&args, |reply| {
                let reply: wire::CuOccupancyMaxActiveClustersReply = reply.decode()?;
                Guest::check(reply.result)?;
                Ok(reply.value)
            })
        })
    })
}
