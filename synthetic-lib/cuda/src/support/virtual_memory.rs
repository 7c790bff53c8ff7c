//! Addresses and memory apart: what the program reserved, made and mapped. The board's driver
//! judges sizes and places; here is what the guest is asked for without it.

use super::{context, memory, place};
use crate::generated::manual::{Guest, Request};
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult, new_number};
use gil_wire::envelope::Class;
use gil_wire::generated::cuda as wire;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most descriptions of an access that a call may have.
const ACCESSES_MAX: usize = 1024;

/// Memory that was made.
#[derive(Clone, Copy, Debug)]
struct Memory {
    property: Property,
    /// How often the program may release it.
    references: usize,
    /// How many places it is mapped at.
    mappings: usize,
}

/// What memory is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Property {
    device: CUdevice,
    flags: [u16; 4],
}

impl Property {
    /// # Errors
    /// `CUDA_ERROR_NOT_SUPPORTED` for memory of the program's and for other processes,
    /// `CUDA_ERROR_INVALID_VALUE` for what there is not.
    ///
    /// # Safety
    /// `asked` is null or a description.
    unsafe fn new(asked: *const CUmemAllocationProp) -> CallResult<Self> {
        // SAFETY: the caller's.
        let asked = unsafe { asked.as_ref() }.ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let flags = asked.allocFlags;
        if asked.r#type != CU_MEM_ALLOCATION_TYPE_PINNED || flags[2..] != [0, 0] {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let is_devices = asked.location.r#type == CU_MEM_LOCATION_TYPE_DEVICE;
        match is_devices && asked.requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE {
            true => Ok(Self {
                device: asked.location.id,
                flags,
            }),
            false => Err(CUDA_ERROR_NOT_SUPPORTED),
        }
    }

    fn packed(self) -> u64 {
        let words = self.flags.iter().rev();
        words.fold(0, |all, word| all << 16 | u64::from(*word))
    }
}

/// Memory that is mapped.
#[derive(Clone, Copy, Debug)]
struct Mapping {
    len: u64,
    memory: u64,
    /// A number that no other memory ever has.
    id: u64,
}

#[derive(Debug)]
struct All {
    /// Bytes of the reserved ranges, by address.
    reserved: BTreeMap<u64, u64>,
    memories: BTreeMap<u64, Memory>,
    /// By address.
    mapped: BTreeMap<u64, Mapping>,
}

static ALL: Mutex<All> = Mutex::new(All {
    reserved: BTreeMap::new(),
    memories: BTreeMap::new(),
    mapped: BTreeMap::new(),
});

fn all() -> MutexGuard<'static, All> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl All {
    /// The mapping that an address is in, and where that begins.
    fn at(&self, address: u64) -> Option<(u64, Mapping)> {
        let (base, mapping) = self.mapped.range(..=address).next_back()?;
        (address - base < mapping.len).then_some((*base, *mapping))
    }
}

/// What is mapped at an address: where it begins, its bytes, its device and its number.
pub fn mapping(address: u64) -> Option<(u64, u64, CUdevice, u64)> {
    let all = all();
    let (base, Mapping { len, memory, id }) = all.at(address)?;
    let device = all.memories.get(&memory)?.property.device;
    Some((base, len, device, id))
}

/// A call's answer that is its result alone.
fn done(reply: gil_guest::api::Reply<'_, Guest>) -> CallResult<()> {
    let reply: wire::CuMemUnmapReply = reply.decode()?;
    Guest::check(reply.result)
}

/// Reserves addresses.
///
/// # Errors
/// The API's code.
pub fn reserve(
    entry: u64,
    (bytes, alignment): (usize, usize),
    hint: u64,
    flags: u64,
) -> CallResult<CUdeviceptr> {
    context::initialized()?;
    if bytes == 0 || flags != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let args = wire::CuMemAddressReserveArgs {
        bytes: bytes as u64,
        alignment: alignment as u64,
        hint,
    };
    let request = Request::new(wire::CU_MEM_ADDRESS_RESERVE, Class::Sync, entry);
    let address = request.forward(&args, |reply| {
        let reply: wire::CuMemAddressReserveReply = reply.decode()?;
        Guest::check(reply.result)?;
        Ok(reply.address)
    })?;
    all().reserved.insert(address, bytes as u64);
    Ok(address)
}

/// Gives addresses back, of which none is mapped.
///
/// # Errors
/// The API's code.
pub fn free(entry: u64, address: u64, bytes: usize) -> CallResult<()> {
    context::initialized()?;
    let bytes = bytes as u64;
    let is_free = |all: &All| {
        let last = all
            .mapped
            .range(..address.saturating_add(bytes))
            .next_back();
        let is_used = last.is_some_and(|(base, mapping)| base + mapping.len > address);
        all.reserved.get(&address) == Some(&bytes) && !is_used
    };
    if !is_free(&all()) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let args = wire::CuMemAddressFreeArgs { address, bytes };
    Request::new(wire::CU_MEM_ADDRESS_FREE, Class::Sync, entry).forward(&args, done)?;
    all().reserved.remove(&address);
    Ok(())
}

/// Makes memory.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `asked` is null or a description.
pub unsafe fn create(
    entry: u64,
    bytes: usize,
    asked: *const CUmemAllocationProp,
    flags: u64,
) -> CallResult<CUmemGenericAllocationHandle> {
    context::initialized()?;
    // SAFETY: the caller's.
    let property = unsafe { Property::new(asked) }?;
    if bytes == 0 || flags != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let new = new_number().0;
    let args = wire::CuMemCreateArgs {
        new,
        bytes: bytes as u64,
        device: property.device,
        flags: property.packed(),
    };
    Request::new(wire::CU_MEM_CREATE, Class::Sync, entry).forward(&args, done)?;
    let memory = Memory {
        property,
        references: 1,
        mappings: 0,
    };
    all().memories.insert(new, memory);
    Ok(new)
}

/// Memory that neither a handle nor a mapping has any more goes.
fn drop_unused(entry: u64, handle: u64) -> CallResult<()> {
    let mut all = all();
    let known = all.memories.get(&handle);
    if !known.is_some_and(|it| it.references == 0 && it.mappings == 0) {
        return Ok(());
    }
    all.memories.remove(&handle);
    drop(all);
    let args = wire::CuMemReleaseArgs { handle };
    Request::new(wire::CU_MEM_RELEASE, Class::Sync, entry).forward(&args, done)
}

/// The program has one reference to memory less.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` if it has none, or the API's code.
pub fn release(entry: u64, handle: u64) -> CallResult<()> {
    context::initialized()?;
    let held = |all: &mut All| {
        let memory = all.memories.get_mut(&handle)?;
        memory.references = memory.references.checked_sub(1)?;
        Some(())
    };
    held(&mut all()).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    drop_unused(entry, handle)
}

/// Maps memory.
///
/// # Errors
/// The API's code.
pub fn map(
    entry: u64,
    (address, bytes, offset): (u64, usize, usize),
    handle: u64,
    flags: u64,
) -> CallResult<()> {
    context::initialized()?;
    let is_held = |all: &All| {
        let memory = all.memories.get(&handle);
        memory.is_some_and(|memory| memory.references > 0)
    };
    if flags != 0 || bytes == 0 || !is_held(&all()) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let args = wire::CuMemMapArgs {
        address,
        bytes: bytes as u64,
        offset: offset as u64,
        handle,
    };
    Request::new(wire::CU_MEM_MAP, Class::Sync, entry).forward(&args, done)?;
    let mut all = all();
    let mapping = Mapping {
        len: bytes as u64,
        memory: handle,
        id: memory::new_id(),
    };
    all.mapped.insert(address, mapping);
    if let Some(memory) = all.memories.get_mut(&handle) {
        memory.mappings += 1;
    }
    Ok(())
}

/// What is mapped there is not any more.
///
/// # Errors
/// The API's code.
pub fn unmap(entry: u64, address: u64, bytes: usize) -> CallResult<()> {
    context::initialized()?;
    let args = wire::CuMemUnmapArgs {
        address,
        bytes: bytes as u64,
    };
    Request::new(wire::CU_MEM_UNMAP, Class::Sync, entry).forward(&args, done)?;
    let mut gone = Vec::new();
    {
        let mut all = all();
        let end = address.saturating_add(bytes as u64);
        let its = all.mapped.range(address..end).map(|(at, _)| *at);
        for at in its.collect::<Vec<_>>() {
            if let Some(Mapping { memory: handle, .. }) = all.mapped.remove(&at)
                && let Some(memory) = all.memories.get_mut(&handle)
            {
                memory.mappings = memory.mappings.saturating_sub(1);
                gone.push(handle);
            }
        }
    }
    gone.into_iter()
        .try_for_each(|handle| drop_unused(entry, handle))
}

/// Which devices reach what is mapped there.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `accesses` is null or names as many descriptions.
pub unsafe fn set_access(
    entry: u64,
    (address, bytes): (u64, usize),
    accesses: *const CUmemAccessDesc,
    count: usize,
) -> CallResult<()> {
    context::initialized()?;
    if accesses.is_null() || count == 0 || count > ACCESSES_MAX {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller's.
    let accesses = unsafe { std::slice::from_raw_parts(accesses, count) };
    if accesses
        .iter()
        .any(|it| it.location.r#type != CU_MEM_LOCATION_TYPE_DEVICE)
    {
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    }
    let words = accesses
        .iter()
        .flat_map(|it| [it.location.id as u64, it.flags as u64]);
    let words: Vec<u64> = words.collect();
    let args = wire::CuMemSetAccessArgs {
        address,
        bytes: bytes as u64,
        accesses: words,
    };
    Request::new(wire::CU_MEM_SET_ACCESS, Class::Sync, entry).forward(&args, done)
}

/// How a device reaches what is mapped at an address.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `location` is null or a place.
pub unsafe fn access(entry: u64, location: *const CUmemLocation, address: u64) -> CallResult<u64> {
    context::initialized()?;
    // SAFETY: the caller's.
    let location = unsafe { location.as_ref() }.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    if location.r#type != CU_MEM_LOCATION_TYPE_DEVICE || all().at(address).is_none() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let args = wire::CuMemGetAccessArgs {
        address,
        device: location.id,
    };
    let request = Request::new(wire::CU_MEM_GET_ACCESS, Class::Query, entry);
    request.forward(&args, |reply| {
        let reply: wire::CuMemGetAccessReply = reply.decode()?;
        Guest::check(reply.result)?;
        Ok(reply.flags)
    })
}

/// Of what sizes and places have to be multiples.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `asked` is null or a description.
pub unsafe fn granularity(
    entry: u64,
    asked: *const CUmemAllocationProp,
    option: CUmemAllocationGranularity_flags,
) -> CallResult<usize> {
    context::initialized()?;
    // SAFETY: the caller's.
    let property = unsafe { Property::new(asked) }?;
    let all = CU_MEM_ALLOC_GRANULARITY_MINIMUM..=CU_MEM_ALLOC_GRANULARITY_RECOMMENDED;
    if !all.contains(&option) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let args = wire::CuMemGetAllocationGranularityArgs {
        device: property.device,
        flags: property.packed(),
        option,
    };
    let request = Request::new(wire::CU_MEM_GET_ALLOCATION_GRANULARITY, Class::Query, entry);
    request.forward(&args, |reply| {
        let reply: wire::CuMemGetAllocationGranularityReply = reply.decode()?;
        Guest::check(reply.result)?;
        usize::try_from(reply.value).map_err(|_| CUDA_ERROR_INVALID_VALUE)
    })
}

/// What memory was made of.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for what is none.
///
/// # Safety
/// `to` is null or has space for a description.
pub unsafe fn property(to: *mut CUmemAllocationProp, handle: u64) -> CallResult<()> {
    context::initialized()?;
    let to = place(to)?;
    let memory = all().memories.get(&handle).copied();
    let memory = memory.filter(|memory| memory.references > 0);
    let property = memory.ok_or(CUDA_ERROR_INVALID_VALUE)?.property;
    // SAFETY: the caller's.
    unsafe {
        to.write(CUmemAllocationProp {
            r#type: CU_MEM_ALLOCATION_TYPE_PINNED,
            requestedHandleTypes: CU_MEM_HANDLE_TYPE_NONE,
            location: CUmemLocation {
                r#type: CU_MEM_LOCATION_TYPE_DEVICE,
                id: property.device,
            },
            win32HandleMetaData: std::ptr::null_mut(),
            allocFlags: property.flags,
        });
    }
    Ok(())
}

/// The memory that is mapped at an address, to which the program has one more reference.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` if there is none.
pub fn retain(address: u64) -> CallResult<u64> {
    context::initialized()?;
    let mut all = all();
    let (_, mapping) = all.at(address).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let handle = mapping.memory;
    let memory = all.memories.get_mut(&handle);
    memory.ok_or(CUDA_ERROR_INVALID_VALUE)?.references += 1;
    Ok(handle)
}
