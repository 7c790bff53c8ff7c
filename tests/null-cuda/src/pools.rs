//! Stream-ordered memory, and the pools that it comes from. A pool's memory is the context's
//! that allocates it, and stays with the pool's numbers until it is freed.

use super::{Code, INVALID_DEVICE, INVALID_VALUE, OUT_OF_MEMORY, Object, device, put, run};
use crate::state::{Pool, State, Work};
use std::ffi::{c_int, c_void};

const NOT_SUPPORTED: Code = 801;

/// `CUmemLocation`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Location {
    kind: c_int,
    number: c_int,
}

impl Location {
    /// The device that it is.
    pub fn device(self) -> Result<c_int, Code> {
        match self.kind {
            ON_DEVICE => Ok(self.number),
            _ => Err(NOT_SUPPORTED),
        }
    }
}

/// `CUmemPoolProps`.
#[repr(C)]
#[derive(Debug)]
pub struct Asked {
    allocations: c_int,
    handles: c_int,
    location: Location,
    security: *mut c_void,
    max: usize,
    usage: u16,
    reserved: [u8; 54],
}

/// `CUmemAccessDesc`.
#[repr(C)]
#[derive(Debug)]
pub struct Access {
    location: Location,
    flags: c_int,
}

impl Access {
    /// Whose it is, and what it allows.
    pub fn parts(&self) -> Result<(c_int, c_int), Code> {
        Ok((self.location.device()?, self.flags))
    }
}

const ON_DEVICE: c_int = 1;
const PINNED: c_int = 1;

impl State {
    /// The device's own pool, which is made at its first use.
    fn default_pool(&mut self) -> Object {
        if self.default_pool == 0 {
            self.default_pool = self.pools.add(Pool::new(0)).expose_provenance();
        }
        std::ptr::with_exposed_provenance_mut(self.default_pool)
    }

    fn current_pool(&mut self) -> Object {
        let current = std::ptr::with_exposed_provenance_mut(self.current_pool);
        match self.pools.get(current) {
            Some(_) => current,
            None => self.default_pool(),
        }
    }

    fn allocate_from(&mut self, pool: Object, bytes: usize) -> Result<u64, Code> {
        let context = self.current_handle()?;
        let known = self.pools.get_mut(pool).ok_or(INVALID_VALUE)?;
        let used = known.used + bytes as u64;
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        if known.max != 0 && used > known.max {
            return Err(OUT_OF_MEMORY);
        }
        let address = self.allocate(context, bytes as u64)?;
        let known = self.pools.get_mut(pool).ok_or(INVALID_VALUE)?;
        known.used = used;
        known.high = known.high.max(used);
        known.reserved = known.reserved.max(used);
        self.pooled.insert(address, pool.expose_provenance());
        Ok(address)
    }

    /// Memory is freed; its pool has as much less in use.
    pub fn free(&mut self, address: u64) -> Result<(), Code> {
        let (_, bytes) = self.memory.remove(&address).ok_or(INVALID_VALUE)?;
        if let Some(pool) = self.pooled.remove(&address) {
            let pool = std::ptr::with_exposed_provenance_mut(pool);
            if let Some(pool) = self.pools.get_mut(pool) {
                pool.used -= bytes.len() as u64;
            }
        }
        Ok(())
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocAsync(place: *mut u64, bytes: usize, stream: Object) -> Code {
    run(|state| {
        let pool = state.current_pool();
        let address = state.allocate_from(pool, bytes)?;
        state.work(stream, Work::Bytes(0))?;
        unsafe { put(place, address) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocFromPoolAsync(
    place: *mut u64,
    bytes: usize,
    pool: Object,
    stream: Object,
) -> Code {
    run(|state| {
        let address = state.allocate_from(pool, bytes)?;
        state.work(stream, Work::Bytes(0))?;
        unsafe { put(place, address) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemFreeAsync(address: u64, stream: Object) -> Code {
    run(|state| {
        state.work(stream, Work::Bytes(0))?;
        state.free(address)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolCreate(place: *mut Object, asked: *const Asked) -> Code {
    run(|state| {
        let asked = unsafe { asked.as_ref() }.ok_or(INVALID_VALUE)?;
        let is_plain = asked.security.is_null() && asked.usage == 0 && asked.reserved == [0; 54];
        if !is_plain || asked.allocations != PINNED || asked.location.kind != ON_DEVICE {
            return Err(INVALID_VALUE);
        }
        if asked.handles != 0 {
            return Err(NOT_SUPPORTED);
        }
        device(asked.location.number)?;
        let pool = state.pools.add(Pool::new(asked.max as u64));
        unsafe { put(place, pool) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolDestroy(pool: Object) -> Code {
    run(|state| match pool == state.default_pool() {
        true => Err(INVALID_VALUE),
        false => state.pools.remove(pool).map(drop).ok_or(INVALID_VALUE),
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolSetAttribute(
    pool: Object,
    name: c_int,
    value: *mut c_void,
) -> Code {
    run(|state| {
        let pool = state.pools.get_mut(pool).ok_or(INVALID_VALUE)?;
        match name {
            1..=3 => pool.reuse[name as usize - 1] = unsafe { value.cast::<c_int>().read() },
            4 => pool.threshold = unsafe { value.cast::<u64>().read() },
            6 | 8 if unsafe { value.cast::<u64>().read() } != 0 => return Err(INVALID_VALUE),
            6 => pool.reserved = pool.used,
            8 => pool.high = pool.used,
            _ => return Err(INVALID_VALUE),
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolGetAttribute(
    pool: Object,
    name: c_int,
    value: *mut c_void,
) -> Code {
    run(|state| {
        let pool = state.pools.get(pool).ok_or(INVALID_VALUE)?;
        let long = match name {
            1..=3 => return unsafe { put(value.cast(), pool.reuse[name as usize - 1]) },
            4 => pool.threshold,
            5 | 6 => pool.reserved,
            7 => pool.used,
            8 => pool.high,
            _ => return Err(INVALID_VALUE),
        };
        unsafe { put(value.cast(), long) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolTrimTo(pool: Object, bytes: usize) -> Code {
    run(|state| {
        let pool = state.pools.get_mut(pool).ok_or(INVALID_VALUE)?;
        pool.reserved = pool.reserved.min(pool.used.max(bytes as u64));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolSetAccess(
    pool: Object,
    map: *const Access,
    count: usize,
) -> Code {
    run(|state| {
        let pool = state.pools.get_mut(pool).ok_or(INVALID_VALUE)?;
        for access in unsafe { std::slice::from_raw_parts(map, count) } {
            if access.location.kind != ON_DEVICE || access.location.number != 0 {
                return Err(INVALID_DEVICE);
            }
            // A device always reaches its own memory.
            if access.flags != 3 {
                return Err(INVALID_VALUE);
            }
            pool.access = access.flags;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolGetAccess(
    flags: *mut c_int,
    pool: Object,
    location: *mut Location,
) -> Code {
    run(|state| {
        let location = unsafe { location.as_ref() }.ok_or(INVALID_VALUE)?;
        let pool = state.pools.get(pool).ok_or(INVALID_VALUE)?;
        match (location.kind, location.number) {
            (ON_DEVICE, 0) => unsafe { put(flags, pool.access) },
            _ => Err(INVALID_VALUE),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetDefaultMemPool(place: *mut Object, number: c_int) -> Code {
    run(|state| {
        device(number)?;
        unsafe { put(place, state.default_pool()) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceSetMemPool(number: c_int, pool: Object) -> Code {
    run(|state| {
        device(number)?;
        state.pools.get(pool).ok_or(INVALID_VALUE)?;
        state.current_pool = pool.expose_provenance();
        Ok(())
    })
}
