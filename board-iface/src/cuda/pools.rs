//! Stream-ordered memory, and the pools that it comes from.

use super::generated::Functions;
use super::generated::types::*;
use super::memory::Owner;
use super::session::{At, Data, Session};
use crate::back_end::{self, Call, Current, Objects, Refusal};
use gil_wire::call::Handle;
use gil_wire::generated::cuda::Kind;
use std::cell::Cell;
use std::ptr::null_mut;

/// Most descriptions of an access that a call may have.
const ACCESSES_MAX: usize = 1024;

/// Runs a function of the driver's; the code for one that it lacks.
fn run<F>(call: &mut Call, function: Option<F>, run: impl FnOnce(F) -> CUresult) -> CUresult {
    function.map_or(CUDA_ERROR_NOT_SUPPORTED, |function| {
        call.timed(|| run(function))
    })
}

/// Whether an attribute's value is an `int`, or a number of bytes; `None` for no attribute.
fn is_short(attribute: CUmemPool_attribute) -> Option<bool> {
    let short = CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES
        ..=CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
    let long = CU_MEMPOOL_ATTR_RELEASE_THRESHOLD..=CU_MEMPOOL_ATTR_USED_MEM_HIGH;
    match (short.contains(&attribute), long.contains(&attribute)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// Memory of a device.
fn location(device: CUdevice) -> CUmemLocation {
    CUmemLocation {
        r#type: CU_MEM_LOCATION_TYPE_DEVICE,
        id: device,
    }
}

impl Session {
    fn pool(&self, pool: Handle) -> Result<CUmemoryPool, Refusal> {
        self.get(Kind::Pool, pool)
    }

    /// Allocates memory in a stream's order, from a pool or, if that is null, from the pool
    /// that the device has; its address.
    pub(super) fn allocate_on(
        &mut self,
        call: &mut Call,
        at: At,
        pool: Handle,
        bytes: u64,
    ) -> Result<(CUresult, u64), Refusal> {
        let len = back_end::size(bytes, "bytes")?;
        let real = match pool.is_null() {
            true => null_mut(),
            false => self.pool(pool)?,
        };
        if !self.ranges.has_room() {
            return Ok((self.refuse(call, CUDA_ERROR_OUT_OF_MEMORY), 0));
        }
        let made = Cell::new(0);
        let work = |functions: &Functions, stream: CUstream| {
            let mut address = 0;
            let result = match real.is_null() {
                // SAFETY: there is space for an address.
                true => functions
                    .cuMemAllocAsync
                    .map(|allocate| unsafe { allocate(&mut address, len, stream) }),
                // SAFETY: likewise, and the pool is alive.
                false => functions
                    .cuMemAllocFromPoolAsync
                    .map(|allocate| unsafe { allocate(&mut address, len, real, stream) }),
            };
            let result = result.unwrap_or(CUDA_ERROR_NOT_SUPPORTED);
            if result == CUDA_SUCCESS {
                made.set(address);
            }
            result
        };
        let result = self.put(call, at, Some(&work))?;
        // It is there, also if something in front of it failed.
        if made.get() != 0 {
            self.ranges
                .add(made.get(), bytes, Owner::Stream(at.context));
        }
        Ok((result, made.get()))
    }

    /// Frees memory in a stream's order.
    pub(super) fn free_on(
        &mut self,
        call: &mut Call,
        at: At,
        address: u64,
    ) -> Result<CUresult, Refusal> {
        if !self.ranges.is_allocated(address) {
            return Ok(self.refuse(call, CUDA_ERROR_INVALID_VALUE));
        }
        let is_freed = Cell::new(false);
        let work = |functions: &Functions, stream: CUstream| {
            let free = functions.cuMemFreeAsync;
            // SAFETY: it is the session's, and was allocated at this address.
            let result = free.map_or(CUDA_ERROR_NOT_SUPPORTED, |free| unsafe {
                free(address, stream)
            });
            is_freed.set(result == CUDA_SUCCESS);
            result
        };
        let result = self.put(call, at, Some(&work))?;
        // It is gone, also if something in front of it failed.
        if is_freed.get() {
            self.ranges.take(address);
        }
        Ok(result)
    }

    /// Makes a pool of a device's memory, for this process alone.
    pub(super) fn make_pool(
        &mut self,
        call: &mut Call,
        new: Handle,
        device: CUdevice,
        bytes: u64,
    ) -> Result<CUresult, Refusal> {
        self.can_bind(new)?;
        let asked = CUmemPoolProps {
            allocType: CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: CU_MEM_HANDLE_TYPE_NONE,
            location: location(device),
            win32SecurityAttributes: null_mut(),
            maxSize: back_end::size(bytes, "bytes")?,
            usage: 0,
            reserved: [0; 54],
        };
        let mut pool = null_mut();
        // SAFETY: there is space for a handle.
        let result = run(call, self.functions().cuMemPoolCreate, |make| unsafe {
            make(&mut pool, &asked)
        });
        if result == CUDA_SUCCESS {
            self.bind_with(Kind::Pool, new, pool, Data::Pool { is_own: true })?;
        }
        Ok(result)
    }

    /// A device's own pool.
    pub(super) fn default_pool(
        &mut self,
        call: &mut Call,
        new: Handle,
        device: CUdevice,
    ) -> Result<CUresult, Refusal> {
        self.can_bind(new)?;
        let mut pool = null_mut();
        let ask = self.functions().cuDeviceGetDefaultMemPool;
        // SAFETY: there is space for a handle.
        let result = run(call, ask, |ask| unsafe { ask(&mut pool, device) });
        if result == CUDA_SUCCESS {
            self.bind_with(Kind::Pool, new, pool, Data::Pool { is_own: false })?;
        }
        Ok(result)
    }

    /// Destroys a pool that the session made. Its memory stays until it is freed.
    pub(super) fn destroy_pool(
        &mut self,
        call: &mut Call,
        pool: Handle,
    ) -> Result<CUresult, Refusal> {
        if !self.made_pool(pool) {
            return Ok(CUDA_ERROR_INVALID_VALUE);
        }
        let real = self.drop_object(Kind::Pool, pool)?.as_ptr();
        let end = self.functions().cuMemPoolDestroy;
        // SAFETY: it is alive, and nothing names it any more.
        Ok(run(call, end, |end| unsafe { end(real.cast()) }))
    }

    /// The pool from which a device's memory comes if a call names none.
    pub(super) fn use_pool(
        &mut self,
        call: &mut Call,
        device: CUdevice,
        pool: Handle,
    ) -> Result<CUresult, Refusal> {
        let pool = self.pool(pool)?;
        let change = self.functions().cuDeviceSetMemPool;
        // SAFETY: the pool is alive.
        Ok(run(call, change, |change| unsafe { change(device, pool) }))
    }

    pub(super) fn set_pool_attribute(
        &mut self,
        call: &mut Call,
        pool: Handle,
        name: CUmemPool_attribute,
        value: u64,
    ) -> Result<CUresult, Refusal> {
        let pool = self.pool(pool)?;
        let mut long = value;
        let mut short = value as i32;
        let place = match is_short(name) {
            Some(true) => (&raw mut short).cast(),
            Some(false) => (&raw mut long).cast(),
            None => return Ok(CUDA_ERROR_INVALID_VALUE),
        };
        let change = self.functions().cuMemPoolSetAttribute;
        // SAFETY: the pool is alive, and the value has the attribute's type.
        Ok(run(call, change, |change| unsafe {
            change(pool, name, place)
        }))
    }

    pub(super) fn pool_attribute(
        &mut self,
        call: &mut Call,
        pool: Handle,
        name: CUmemPool_attribute,
    ) -> Result<(CUresult, u64), Refusal> {
        let pool = self.pool(pool)?;
        let (mut long, mut short) = (0u64, 0i32);
        let is_short = is_short(name);
        let place = match is_short {
            Some(true) => (&raw mut short).cast(),
            Some(false) => (&raw mut long).cast(),
            None => return Ok((CUDA_ERROR_INVALID_VALUE, 0)),
        };
        let ask = self.functions().cuMemPoolGetAttribute;
        // SAFETY: the pool is alive, and there is space for the attribute's type.
        let result = run(call, ask, |ask| unsafe { ask(pool, name, place) });
        let value = match is_short {
            Some(true) => u64::from(short.cast_unsigned()),
            _ => long,
        };
        Ok((result, value))
    }

    pub(super) fn trim_pool(
        &mut self,
        call: &mut Call,
        pool: Handle,
        bytes: u64,
    ) -> Result<CUresult, Refusal> {
        let pool = self.pool(pool)?;
        let bytes = back_end::size(bytes, "bytes")?;
        let trim = self.functions().cuMemPoolTrimTo;
        // SAFETY: the pool is alive.
        Ok(run(call, trim, |trim| unsafe { trim(pool, bytes) }))
    }

    /// Which devices reach a pool's memory: pairs of a device and its access.
    pub(super) fn share_pool(
        &mut self,
        call: &mut Call,
        pool: Handle,
        map: &[u64],
    ) -> Result<CUresult, Refusal> {
        let pool = self.pool(pool)?;
        let (pairs, rest) = map.as_chunks::<2>();
        if !rest.is_empty() || pairs.len() > ACCESSES_MAX {
            return Err(Refusal::parameter("map", map.len() as u64));
        }
        let access = |[device, flags]: &[u64; 2]| CUmemAccessDesc {
            location: location(*device as CUdevice),
            flags: *flags as CUmemAccess_flags,
        };
        let all: Vec<CUmemAccessDesc> = pairs.iter().map(access).collect();
        let share = self.functions().cuMemPoolSetAccess;
        // SAFETY: the pool is alive, and the list has as many entries.
        Ok(run(call, share, |share| unsafe {
            share(pool, all.as_ptr(), all.len())
        }))
    }

    pub(super) fn pool_access(
        &mut self,
        call: &mut Call,
        pool: Handle,
        device: CUdevice,
    ) -> Result<(CUresult, CUmemAccess_flags), Refusal> {
        let pool = self.pool(pool)?;
        let mut flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
        let mut place = location(device);
        let ask = self.functions().cuMemPoolGetAccess;
        // SAFETY: the pool is alive, and there is space for a number.
        let result = run(call, ask, |ask| unsafe {
            ask(&mut flags, pool, &mut place)
        });
        Ok((result, flags))
    }

    /// A context is to be destroyed: what was allocated in the order of its streams goes with
    /// it, which the driver's pools outlive.
    pub(super) fn free_streams_memory(&mut self, context: Handle) {
        let free = self.functions().cuMemFree_v2;
        if self.make_current(context).is_err() {
            return;
        }
        for address in self.ranges.of_streams(context) {
            // SAFETY: it is the session's; nothing uses it any more.
            free.map(|free| unsafe { free(address) });
            self.ranges.take(address);
        }
    }
}
