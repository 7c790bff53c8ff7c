//! Memory that the program allocates, and pools.

use super::copies::{at, on_memory};
use super::generated::manual::Memory;
use super::generated::types::*;
use super::manual::call_if;
use super::memory::Owner;
use super::session::Session;
use super::support::Board;
use crate::back_end::{self, Call, Current, Objects, Refusal};
use gil_wire::generated::cuda as wire;

impl Memory for Board {
    fn cu_mem_alloc_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemAllocV2Args,
    ) -> Result<wire::CuMemAllocV2Reply, Refusal> {
        session.make_current(args.current)?;
        let bytes = back_end::size(args.bytes, "bytes")?;
        let mut address = 0;
        let mut result = CUDA_ERROR_OUT_OF_MEMORY;
        if session.ranges.has_room() {
            let allocate = session.functions().cuMemAlloc_v2;
            result = call_if(call, allocate, |allocate| {
                // SAFETY: there is space for an address.
                unsafe { allocate(&mut address, bytes) }
            });
        }
        if result == CUDA_SUCCESS {
            let owner = Owner::Context(args.current);
            session.ranges.add(address, args.bytes, owner);
        }
        Ok(wire::CuMemAllocV2Reply { result, address })
    }

    fn cu_mem_alloc_pitch_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemAllocPitchV2Args,
    ) -> Result<wire::CuMemAllocPitchV2Reply, Refusal> {
        session.make_current(args.current)?;
        let width = back_end::size(args.width, "width")?;
        let height = back_end::size(args.height, "height")?;
        let (mut address, mut pitch) = (0, 0);
        let mut result = CUDA_ERROR_OUT_OF_MEMORY;
        if session.ranges.has_room() {
            let allocate = session.functions().cuMemAllocPitch_v2;
            result = call_if(call, allocate, |allocate| {
                // SAFETY: there is space for an address and a size.
                unsafe { allocate(&mut address, &mut pitch, width, height, args.element) }
            });
        }
        let pitch = pitch as u64;
        if result == CUDA_SUCCESS {
            let len = pitch.saturating_mul(args.height);
            session
                .ranges
                .add(address, len, Owner::Context(args.current));
        }
        Ok(wire::CuMemAllocPitchV2Reply {
            result,
            address,
            pitch,
        })
    }

    fn cu_mem_free_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemFreeV2Args,
    ) -> Result<wire::CuMemFreeV2Reply, Refusal> {
        let Some(context) = session.ranges.take(args.address) else {
            let result = CUDA_ERROR_INVALID_VALUE;
            return Ok(wire::CuMemFreeV2Reply { result });
        };
        session.make_current(context)?;
        let free = session.functions().cuMemFree_v2;
        // SAFETY: it is the session's, and was allocated at this address.
        let result = call_if(call, free, |free| unsafe { free(args.address) });
        Ok(wire::CuMemFreeV2Reply { result })
    }

    on_memory! {
        cu_mem_free_async, wire::CuMemFreeAsyncArgs, CuMemFreeAsyncReply, |session, call, at, a|
            session.free_on(call, at, a.address);
    }

    fn cu_mem_alloc_async(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemAllocAsyncArgs,
    ) -> Result<wire::CuMemAllocAsyncReply, Refusal> {
        let at = at(args.current, args.hStream, args.event);
        let (result, address) = session.allocate_on(call, at, args.pool, args.bytes)?;
        Ok(wire::CuMemAllocAsyncReply { result, address })
    }

    fn cu_mem_alloc_from_pool_async(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemAllocFromPoolAsyncArgs,
    ) -> Result<wire::CuMemAllocFromPoolAsyncReply, Refusal> {
        let at = at(args.current, args.hStream, args.event);
        let (result, address) = session.allocate_on(call, at, args.pool, args.bytes)?;
        Ok(wire::CuMemAllocFromPoolAsyncReply { result, address })
    }

    fn cu_mem_pool_create(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemPoolCreateArgs,
    ) -> Result<wire::CuMemPoolCreateReply, Refusal> {
        let result = session.make_pool(call, args.new, args.device, args.bytes)?;
        Ok(wire::CuMemPoolCreateReply { result })
    }

    fn cu_mem_pool_destroy(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemPoolDestroyArgs,
    ) -> Result<wire::CuMemPoolDestroyReply, Refusal> {
        let result = session.destroy_pool(call, args.pool)?;
        Ok(wire::CuMemPoolDestroyReply { result })
    }

    fn cu_mem_pool_set_attribute(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemPoolSetAttributeArgs,
    ) -> Result<wire::CuMemPoolSetAttributeReply, Refusal> {
        let result = session.set_pool_attribute(call, args.pool, args.attr, args.value)?;
        Ok(wire::CuMemPoolSetAttributeReply { result })
    }

    fn cu_mem_pool_trim_to(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemPoolTrimToArgs,
    ) -> Result<wire::CuMemPoolTrimToReply, Refusal> {
        let result = session.trim_pool(call, args.pool, args.bytes)?;
        Ok(wire::CuMemPoolTrimToReply { result })
    }

    fn cu_mem_pool_set_access(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemPoolSetAccessArgs,
    ) -> Result<wire::CuMemPoolSetAccessReply, Refusal> {
        let result = session.share_pool(call, args.pool, &args.map)?;
        Ok(wire::CuMemPoolSetAccessReply { result })
    }

    fn cu_device_get_default_mem_pool(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuDeviceGetDefaultMemPoolArgs,
    ) -> Result<wire::CuDeviceGetDefaultMemPoolReply, Refusal> {
        let result = session.default_pool(call, args.new, args.dev)?;
        Ok(wire::CuDeviceGetDefaultMemPoolReply { result })
    }

    fn cu_device_set_mem_pool(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuDeviceSetMemPoolArgs,
    ) -> Result<wire::CuDeviceSetMemPoolReply, Refusal> {
        let result = session.use_pool(call, args.dev, args.pool)?;
        Ok(wire::CuDeviceSetMemPoolReply { result })
    }

    fn cu_mem_pool_get_attribute(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemPoolGetAttributeArgs,
    ) -> Result<wire::CuMemPoolGetAttributeReply, Refusal> {
        let (result, value) = session.pool_attribute(call, args.pool, args.attr)?;
        Ok(wire::CuMemPoolGetAttributeReply { result, value })
    }

    fn cu_mem_pool_get_access(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemPoolGetAccessArgs,
    ) -> Result<wire::CuMemPoolGetAccessReply, Refusal> {
        let (result, flags) = session.pool_access(call, args.pool, args.device)?;
        Ok(wire::CuMemPoolGetAccessReply { result, flags })
    }
}
