//! Addresses and memory apart: ranges of addresses that are reserved, memory that is made and
//! mapped there (`CUDA Driver API`, virtual memory management).

use super::generated::manual::Virtual;
use super::generated::types::*;
use super::manual::call_if;
use super::memory::Owner;
use super::session::Session;
use super::support::Board;
use crate::back_end::{self, Call, Objects, Refusal};
use gil_wire::generated::cuda as wire;
use std::collections::BTreeMap;

/// Most reserved ranges, memories and mappings of a session, of each.
const MAX: usize = 1 << 16;
/// Most descriptions of an access that a call may have.
const ACCESSES_MAX: usize = 1024;

/// What a session has of it.
#[derive(Debug, Default)]
pub struct Spaces {
    /// Bytes of the reserved ranges, by address.
    reserved: BTreeMap<u64, u64>,
    /// The driver's handles of memories, by the guest's numbers.
    memories: BTreeMap<u64, CUmemGenericAllocationHandle>,
    /// Bytes of the mappings, by address.
    mapped: BTreeMap<u64, u64>,
}

/// Whether so many bytes at an address are in a range of the list.
fn is_within(ranges: &BTreeMap<u64, u64>, address: u64, bytes: u64) -> bool {
    let range = ranges.range(..=address).next_back();
    range.is_some_and(|(base, len)| {
        let before = address - base;
        before <= *len && bytes <= len - before
    })
}

/// Memory of a device: with how it is used, as the guest's library packs it.
///
/// # Errors
/// [`Refusal::Parameter`] if there are other bits.
fn property(device: i32, flags: u64) -> Result<CUmemAllocationProp, Refusal> {
    let words = [0, 16, 32, 48].map(|at| (flags >> at) as u16);
    match words {
        [_, _, 0, 0] => Ok(CUmemAllocationProp {
            r#type: CU_MEM_ALLOCATION_TYPE_PINNED,
            requestedHandleTypes: CU_MEM_HANDLE_TYPE_NONE,
            location: CUmemLocation {
                r#type: CU_MEM_LOCATION_TYPE_DEVICE,
                id: device,
            },
            win32HandleMetaData: std::ptr::null_mut(),
            allocFlags: words,
        }),
        _ => Err(Refusal::parameter("flags", flags)),
    }
}

impl Session {
    fn reserve(
        &mut self,
        call: &mut Call,
        (bytes, alignment, hint): (u64, u64, u64),
    ) -> Result<(CUresult, u64), Refusal> {
        let len = back_end::size(bytes, "bytes")?;
        let alignment = back_end::size(alignment, "alignment")?;
        if self.spaces.reserved.len() >= MAX || !self.ranges.has_room() {
            return Ok((CUDA_ERROR_OUT_OF_MEMORY, 0));
        }
        let mut address = 0;
        let reserve = self.functions().cuMemAddressReserve;
        let result = call_if(call, reserve, |reserve| {
            // SAFETY: there is space for an address.
            unsafe { reserve(&mut address, len, alignment, hint, 0) }
        });
        if result == CUDA_SUCCESS && address.checked_add(bytes).is_none() {
            return Ok((CUDA_ERROR_INVALID_VALUE, 0));
        }
        if result == CUDA_SUCCESS {
            self.spaces.reserved.insert(address, bytes);
            self.ranges.add(address, bytes, Owner::Reserved);
        }
        Ok((result, address))
    }

    fn free_addresses(
        &mut self,
        call: &mut Call,
        (address, bytes): (u64, u64),
    ) -> Result<CUresult, Refusal> {
        let len = back_end::size(bytes, "bytes")?;
        if self.spaces.reserved.get(&address) != Some(&bytes) {
            return Ok(CUDA_ERROR_INVALID_VALUE);
        }
        let free = self.functions().cuMemAddressFree;
        // SAFETY: the session reserved it so.
        let result = call_if(call, free, |free| unsafe { free(address, len) });
        if result == CUDA_SUCCESS {
            self.spaces.reserved.remove(&address);
            self.ranges.take_reserved(address);
        }
        Ok(result)
    }

    fn make_memory(
        &mut self,
        call: &mut Call,
        (new, bytes): (u64, u64),
        property: &CUmemAllocationProp,
    ) -> Result<CUresult, Refusal> {
        let len = back_end::size(bytes, "bytes")?;
        if self.spaces.memories.contains_key(&new) {
            return Err(Refusal::parameter("new", new));
        }
        if self.spaces.memories.len() >= MAX {
            return Ok(CUDA_ERROR_OUT_OF_MEMORY);
        }
        let mut memory = 0;
        let create = self.functions().cuMemCreate;
        // SAFETY: there is space for a handle.
        let result = call_if(call, create, |create| unsafe {
            create(&mut memory, len, property, 0)
        });
        if result == CUDA_SUCCESS {
            self.spaces.memories.insert(new, memory);
        }
        Ok(result)
    }

    fn release_memory(&mut self, call: &mut Call, number: u64) -> CUresult {
        let Some(memory) = self.spaces.memories.remove(&number) else {
            return CUDA_ERROR_INVALID_VALUE;
        };
        let release = self.functions().cuMemRelease;
        // SAFETY: the session has one reference to it.
        call_if(call, release, |release| unsafe { release(memory) })
    }

    fn map(
        &mut self,
        call: &mut Call,
        (address, bytes, offset): (u64, u64, u64),
        number: u64,
    ) -> Result<CUresult, Refusal> {
        let len = back_end::size(bytes, "bytes")?;
        let offset = back_end::size(offset, "offset")?;
        let memory = self.spaces.memories.get(&number).copied();
        let is_ours = is_within(&self.spaces.reserved, address, bytes);
        let Some(memory) = memory.filter(|_| is_ours) else {
            return Ok(CUDA_ERROR_INVALID_VALUE);
        };
        if self.spaces.mapped.len() >= MAX {
            return Ok(CUDA_ERROR_OUT_OF_MEMORY);
        }
        let map = self.functions().cuMemMap;
        // SAFETY: the session reserved the addresses, and has the memory.
        let result = call_if(call, map, |map| unsafe {
            map(address, len, offset, memory, 0)
        });
        if result == CUDA_SUCCESS {
            self.spaces.mapped.insert(address, bytes);
        }
        Ok(result)
    }

    fn unmap(
        &mut self,
        call: &mut Call,
        (address, bytes): (u64, u64),
    ) -> Result<CUresult, Refusal> {
        let len = back_end::size(bytes, "bytes")?;
        if bytes == 0 || !is_within(&self.spaces.reserved, address, bytes) {
            return Ok(CUDA_ERROR_INVALID_VALUE);
        }
        let unmap = self.functions().cuMemUnmap;
        // SAFETY: the session reserved the addresses.
        let result = call_if(call, unmap, |unmap| unsafe { unmap(address, len) });
        if result == CUDA_SUCCESS {
            let gone = address..address + bytes;
            self.spaces.mapped.retain(|at, _| !gone.contains(at));
        }
        Ok(result)
    }

    fn set_access(
        &mut self,
        call: &mut Call,
        (address, bytes): (u64, u64),
        words: &[u64],
    ) -> Result<CUresult, Refusal> {
        let len = back_end::size(bytes, "bytes")?;
        let (pairs, rest) = words.as_chunks::<2>();
        if pairs.is_empty() || pairs.len() > ACCESSES_MAX || !rest.is_empty() {
            return Err(Refusal::parameter("accesses", words.len() as u64));
        }
        if !is_within(&self.spaces.reserved, address, bytes) {
            return Ok(CUDA_ERROR_INVALID_VALUE);
        }
        let access = |[device, flags]: &[u64; 2]| CUmemAccessDesc {
            location: CUmemLocation {
                r#type: CU_MEM_LOCATION_TYPE_DEVICE,
                id: *device as i32,
            },
            flags: *flags as i32,
        };
        let all: Vec<CUmemAccessDesc> = pairs.iter().map(access).collect();
        let set = self.functions().cuMemSetAccess;
        // SAFETY: the session reserved the addresses; the list has as many entries.
        Ok(call_if(call, set, |set| unsafe {
            set(address, len, all.as_ptr(), all.len())
        }))
    }

    /// The session ends, and all that it has of it.
    pub(super) fn end_spaces(&mut self, call: &mut Call) {
        let spaces = std::mem::take(&mut self.spaces);
        let functions = *self.functions();
        for (address, bytes) in spaces.mapped {
            // SAFETY: the session mapped it; nothing uses it any more.
            call_if(call, functions.cuMemUnmap, |unmap| unsafe {
                unmap(address, bytes as usize)
            });
        }
        for memory in spaces.memories.into_values() {
            // SAFETY: the session has one reference to it.
            call_if(call, functions.cuMemRelease, |release| unsafe {
                release(memory)
            });
        }
        for (address, bytes) in spaces.reserved {
            // SAFETY: the session reserved it so.
            call_if(call, functions.cuMemAddressFree, |free| unsafe {
                free(address, bytes as usize)
            });
        }
    }
}

impl Virtual for Board {
    fn cu_mem_address_reserve(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemAddressReserveArgs,
    ) -> Result<wire::CuMemAddressReserveReply, Refusal> {
        let asked = (args.bytes, args.alignment, args.hint);
        let (result, address) = session.reserve(call, asked)?;
        Ok(wire::CuMemAddressReserveReply { result, address })
    }

    fn cu_mem_address_free(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemAddressFreeArgs,
    ) -> Result<wire::CuMemAddressFreeReply, Refusal> {
        let result = session.free_addresses(call, (args.address, args.bytes))?;
        Ok(wire::CuMemAddressFreeReply { result })
    }

    fn cu_mem_create(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemCreateArgs,
    ) -> Result<wire::CuMemCreateReply, Refusal> {
        let property = property(args.device, args.flags)?;
        let result = session.make_memory(call, (args.new, args.bytes), &property)?;
        Ok(wire::CuMemCreateReply { result })
    }

    fn cu_mem_release(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemReleaseArgs,
    ) -> Result<wire::CuMemReleaseReply, Refusal> {
        let result = session.release_memory(call, args.handle);
        Ok(wire::CuMemReleaseReply { result })
    }

    fn cu_mem_map(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemMapArgs,
    ) -> Result<wire::CuMemMapReply, Refusal> {
        let range = (args.address, args.bytes, args.offset);
        let result = session.map(call, range, args.handle)?;
        Ok(wire::CuMemMapReply { result })
    }

    fn cu_mem_unmap(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemUnmapArgs,
    ) -> Result<wire::CuMemUnmapReply, Refusal> {
        let result = session.unmap(call, (args.address, args.bytes))?;
        Ok(wire::CuMemUnmapReply { result })
    }

    fn cu_mem_set_access(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemSetAccessArgs,
    ) -> Result<wire::CuMemSetAccessReply, Refusal> {
        let range = (args.address, args.bytes);
        let result = session.set_access(call, range, &args.accesses)?;
        Ok(wire::CuMemSetAccessReply { result })
    }

    fn cu_mem_get_access(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemGetAccessArgs,
    ) -> Result<wire::CuMemGetAccessReply, Refusal> {
        let mut flags = 0;
        if !is_within(&session.spaces.mapped, args.address, 1) {
            let result = CUDA_ERROR_INVALID_VALUE;
            return Ok(wire::CuMemGetAccessReply { result, flags });
        }
        let location = CUmemLocation {
            r#type: CU_MEM_LOCATION_TYPE_DEVICE,
            id: args.device,
        };
        let get = session.functions().cuMemGetAccess;
        // SAFETY: there is space for the flags.
        let result = call_if(call, get, |get| unsafe {
            get(&mut flags, &location, args.address)
        });
        Ok(wire::CuMemGetAccessReply { result, flags })
    }

    fn cu_mem_get_allocation_granularity(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMemGetAllocationGranularityArgs,
    ) -> Result<wire::CuMemGetAllocationGranularityReply, Refusal> {
        let property = property(args.device, args.flags)?;
        let mut value = 0;
        let get = session.functions().cuMemGetAllocationGranularity;
        // SAFETY: there is space for a size.
        let result = call_if(call, get, |get| unsafe {
            get(&mut value, &property, args.option)
        });
        let value = value as u64;
        Ok(wire::CuMemGetAllocationGranularityReply { result, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_within_one_that_there_is() {
        let ranges = BTreeMap::from([(100, 50), (150, 10)]);
        assert!(is_within(&ranges, 100, 50) && is_within(&ranges, 149, 1));
        assert!(is_within(&ranges, 150, 10));
        for (address, bytes) in [(99, 1), (100, 51), (140, 20), (161, 0), (120, u64::MAX)] {
            assert!(!is_within(&ranges, address, bytes), "{address}, {bytes}");
        }
    }

    #[test]
    fn only_what_the_header_has_is_asked_for() {
        assert_eq!(property(2, 0x1_0001).unwrap().allocFlags, [1, 1, 0, 0]);
        assert!(property(0, 1 << 32).is_err());
    }
}
