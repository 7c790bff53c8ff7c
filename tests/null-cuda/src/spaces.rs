//! Addresses that are reserved, and memory that is mapped there by hand.

use super::{Code, INVALID_VALUE, MEMORY, OUT_OF_MEMORY, device, put, run};
use crate::pools::{Access, Location};
use crate::state::State;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};

const NOT_SUPPORTED: Code = 801;
/// Of what sizes and places are multiples; and what is better.
const LEAST: u64 = 64 << 10;
const BETTER: u64 = 2 << 20;
const FIRST: u64 = 0x9_0000_0000;
const BOTH: c_int = 3;

/// `CUmemAllocationProp`.
#[repr(C)]
#[derive(Debug)]
pub struct Asked {
    kind: c_int,
    handles: c_int,
    location: Location,
    security: *mut c_void,
    compression: u8,
    reaches: u8,
    usage: u16,
    reserved: [u8; 4],
}

#[derive(Debug)]
struct Mapping {
    len: u64,
    memory: u64,
    offset: u64,
    access: c_int,
}

/// All of it.
#[derive(Debug)]
pub struct Spaces {
    reserved: BTreeMap<u64, u64>,
    /// By handle: the bytes, and whether there is a handle.
    memories: BTreeMap<u64, (Vec<u8>, bool)>,
    mapped: BTreeMap<u64, Mapping>,
    last: u64,
}

impl Spaces {
    pub const fn new() -> Self {
        Self {
            reserved: BTreeMap::new(),
            memories: BTreeMap::new(),
            mapped: BTreeMap::new(),
            last: 0,
        }
    }

    pub fn used(&self) -> u64 {
        let bytes = self.memories.values().map(|(bytes, _)| bytes.len() as u64);
        bytes.sum()
    }

    /// The bytes of one mapping, if the device may read and write them.
    pub fn bytes(&mut self, address: u64, len: usize) -> Option<&mut [u8]> {
        let (base, mapping) = self.mapped.range(..=address).next_back()?;
        let from = address - base;
        if mapping.access != BOTH || from.checked_add(len as u64)? > mapping.len {
            return None;
        }
        let from = (mapping.offset + from) as usize;
        let (bytes, _) = self.memories.get_mut(&mapping.memory)?;
        bytes.get_mut(from..from + len)
    }

    fn has_reserved(&self, address: u64, len: u64) -> bool {
        let range = self.reserved.range(..=address).next_back();
        range.is_some_and(|(base, size)| address - base + len <= *size)
    }

    fn is_mapped(&self, address: u64, len: u64) -> bool {
        let last = self.mapped.range(..address + len).next_back();
        last.is_some_and(|(base, mapping)| base + mapping.len > address)
    }

    /// What neither a handle nor a mapping has is gone.
    fn sweep(&mut self) {
        let mapped: Vec<u64> = self.mapped.values().map(|it| it.memory).collect();
        self.memories
            .retain(|handle, (_, is_held)| *is_held || mapped.contains(handle));
    }
}

unsafe fn checked<'a>(asked: *const Asked) -> Result<&'a Asked, Code> {
    let asked = unsafe { asked.as_ref() }.ok_or(INVALID_VALUE)?;
    if asked.kind != 1 || asked.reserved != [0; 4] || !asked.security.is_null() {
        return Err(INVALID_VALUE);
    }
    if asked.handles != 0 {
        return Err(NOT_SUPPORTED);
    }
    asked.location.device().and_then(device)?;
    Ok(asked)
}

fn all(work: impl FnOnce(&mut Spaces) -> Result<(), Code>) -> Code {
    run(|state: &mut State| work(&mut state.spaces))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAddressReserve(
    place: *mut u64,
    size: usize,
    alignment: usize,
    hint: u64,
    flags: u64,
) -> Code {
    all(|spaces| {
        let size = size as u64;
        let is_aligned = alignment == 0 || alignment.is_power_of_two();
        if size == 0 || !size.is_multiple_of(LEAST) || !is_aligned || flags != 0 {
            return Err(INVALID_VALUE);
        }
        let end = spaces.reserved.last_key_value();
        let end = end.map_or(FIRST, |(at, len)| at + len);
        let wanted = hint.max(end);
        let address = wanted.next_multiple_of(LEAST.max(alignment as u64));
        spaces.reserved.insert(address, size);
        unsafe { put(place, address) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAddressFree(address: u64, size: usize) -> Code {
    all(|spaces| {
        let size = size as u64;
        if spaces.reserved.get(&address) != Some(&size) || spaces.is_mapped(address, size) {
            return Err(INVALID_VALUE);
        }
        spaces.reserved.remove(&address);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemCreate(
    place: *mut u64,
    size: usize,
    asked: *const Asked,
    flags: u64,
) -> Code {
    run(|state| {
        unsafe { checked(asked) }?;
        if size == 0 || !(size as u64).is_multiple_of(LEAST) || flags != 0 {
            return Err(INVALID_VALUE);
        }
        if size as u64 > MEMORY - state.used() {
            return Err(OUT_OF_MEMORY);
        }
        let spaces = &mut state.spaces;
        spaces.last += 1;
        let handle = spaces.last;
        spaces.memories.insert(handle, (vec![0; size], true));
        unsafe { put(place, handle) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemRelease(handle: u64) -> Code {
    all(|spaces| {
        let memory = spaces.memories.get_mut(&handle);
        let memory = memory.filter(|(_, is_held)| *is_held);
        memory.ok_or(INVALID_VALUE)?.1 = false;
        spaces.sweep();
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemMap(
    address: u64,
    size: usize,
    offset: usize,
    handle: u64,
    flags: u64,
) -> Code {
    all(|spaces| {
        let (len, offset) = (size as u64, offset as u64);
        let known = spaces.memories.get(&handle).ok_or(INVALID_VALUE)?;
        let is_inside = offset + len <= known.0.len() as u64;
        let is_aligned = [address, len, offset]
            .iter()
            .all(|it| it.is_multiple_of(LEAST));
        let is_free = spaces.has_reserved(address, len) && !spaces.is_mapped(address, len);
        if !is_inside || !is_aligned || !is_free || flags != 0 {
            return Err(INVALID_VALUE);
        }
        let mapping = Mapping {
            len,
            memory: handle,
            offset,
            access: 0,
        };
        spaces.mapped.insert(address, mapping);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemUnmap(address: u64, size: usize) -> Code {
    all(|spaces| {
        let range = address..address + size as u64;
        let its = spaces.mapped.range(range.clone());
        let len: u64 = its.map(|(_, mapping)| mapping.len).sum();
        if size == 0 || len != size as u64 {
            return Err(INVALID_VALUE);
        }
        spaces.mapped.retain(|at, _| !range.contains(at));
        spaces.sweep();
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemSetAccess(
    address: u64,
    size: usize,
    accesses: *const Access,
    count: usize,
) -> Code {
    all(|spaces| {
        if accesses.is_null() || count != 1 {
            return Err(INVALID_VALUE);
        }
        let (number, flags) = unsafe { (*accesses).parts() }?;
        device(number)?;
        let range = address..address + size as u64;
        let its = spaces.mapped.range_mut(range).collect::<Vec<_>>();
        let len: u64 = its.iter().map(|(_, mapping)| mapping.len).sum();
        if size == 0 || len != size as u64 || ![0, 1, BOTH].contains(&flags) {
            return Err(INVALID_VALUE);
        }
        for (_, mapping) in its {
            mapping.access = flags;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetAccess(
    flags: *mut u64,
    location: *const Location,
    address: u64,
) -> Code {
    all(|spaces| {
        let location = unsafe { location.as_ref() }.ok_or(INVALID_VALUE)?;
        location.device().and_then(device)?;
        let mapping = spaces.mapped.range(..=address).next_back();
        let mapping = mapping.filter(|(at, mapping)| address - **at < mapping.len);
        let (_, mapping) = mapping.ok_or(INVALID_VALUE)?;
        unsafe { put(flags, mapping.access as u64) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetAllocationGranularity(
    place: *mut usize,
    asked: *const Asked,
    option: c_int,
) -> Code {
    all(|_| {
        let asked = unsafe { checked(asked) }?;
        let value = match option {
            // What is compressed is in larger pieces, and what others reach in larger ones yet.
            0 => LEAST << asked.compression << (2 * asked.reaches) << (4 * asked.usage),
            1 => BETTER,
            _ => return Err(INVALID_VALUE),
        };
        unsafe { put(place, value as usize) }
    })
}
