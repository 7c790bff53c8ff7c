//! Stream-ordered memory, and the pools that it comes from. A pool is a device's, not a
//! context's. Memory is known to be there from the call that allocates it, and gone from the
//! call that frees it: what comes behind them on their stream is ordered by the board.

use super::copy::Of;
use super::{Details, context, create, memory, place};
use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult, Reply, new_number};
use gil_wire::call::Handle;
use gil_wire::envelope::{Class, Engine};
use gil_wire::generated::cuda::{self as wire, Kind};
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most descriptions of an access that a call may have.
const ACCESSES_MAX: usize = 1024;

/// A pool.
#[derive(Debug)]
pub struct Pool {
    device: CUdevice,
    /// Whether it is the device's own, which nobody destroys.
    is_default: bool,
}

/// The pools of a device, by the program's handles.
#[derive(Clone, Copy, Debug)]
struct OfDevice {
    device: CUdevice,
    default: usize,
    current: usize,
}

static DEVICES: Mutex<Vec<OfDevice>> = Mutex::new(Vec::new());

fn devices() -> MutexGuard<'static, Vec<OfDevice>> {
    DEVICES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn handle(address: usize) -> CUmemoryPool {
    std::ptr::with_exposed_provenance_mut(address)
}

/// Does something with the pool behind a handle.
fn with<R>(pool: CUmemoryPool, work: impl FnOnce(Handle, &Pool) -> CallResult<R>) -> CallResult<R> {
    context::initialized()?;
    let object = Object::find(Kind::Pool, pool)?;
    match object.details() {
        Details::Pool(pool) => work(object.number(), pool),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

/// Every reply without more is its result.
fn done(reply: Reply<'_, Guest>) -> CallResult<()> {
    let reply: wire::CuMemPoolDestroyReply = reply.decode()?;
    Guest::check(reply.result)
}

/// What a device has; its own pool is asked for once.
fn of_device(entry: u64, device: CUdevice) -> CallResult<OfDevice> {
    context::initialized()?;
    let mut all = devices();
    if let Some(known) = all.iter().find(|known| known.device == device) {
        return Ok(*known);
    }
    let new = new_number();
    let args = wire::CuDeviceGetDefaultMemPoolArgs { new, dev: device };
    let request = Request::new(wire::CU_DEVICE_GET_DEFAULT_MEM_POOL, Class::Sync, entry);
    request.forward(&args, done)?;
    let pool = Pool {
        device,
        is_default: true,
    };
    let made: *mut c_void = create(Kind::Pool, new, Details::Pool(pool))?;
    let default = made.expose_provenance();
    let known = OfDevice {
        device,
        default,
        current: default,
    };
    all.push(known);
    Ok(known)
}

/// A device's own pool.
///
/// # Errors
/// The API's code.
pub fn default(entry: u64, device: CUdevice) -> CallResult<CUmemoryPool> {
    Ok(handle(of_device(entry, device)?.default))
}

/// The pool from which a device's memory comes if a call names none.
///
/// # Errors
/// The API's code.
pub fn current(entry: u64, device: CUdevice) -> CallResult<CUmemoryPool> {
    Ok(handle(of_device(entry, device)?.current))
}

/// Changes it.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for another device's pool, or the API's code.
pub fn set_current(entry: u64, device: CUdevice, pool: CUmemoryPool) -> CallResult<()> {
    of_device(entry, device)?;
    let number = with(pool, |number, known| match known.device == device {
        true => Ok(number),
        false => Err(CUDA_ERROR_INVALID_VALUE),
    })?;
    let args = wire::CuDeviceSetMemPoolArgs {
        dev: device,
        pool: number,
    };
    let request = Request::new(wire::CU_DEVICE_SET_MEM_POOL, Class::Sync, entry);
    request.forward(&args, done)?;
    let mut all = devices();
    let known = all.iter_mut().find(|known| known.device == device);
    if let Some(known) = known {
        known.current = pool.expose_provenance();
    }
    Ok(())
}

/// Makes a pool of a device's memory, which no other process can open.
///
/// # Errors
/// `CUDA_ERROR_NOT_SUPPORTED` for pools of other memory and for other processes, or the API's
/// code.
///
/// # Safety
/// `asked` is null or a description.
pub unsafe fn make(entry: u64, asked: *const CUmemPoolProps) -> CallResult<CUmemoryPool> {
    context::initialized()?;
    // SAFETY: the caller's.
    let asked = unsafe { asked.as_ref() }.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    check(asked)?;
    let device = asked.location.id;
    let new = new_number();
    let args = wire::CuMemPoolCreateArgs {
        new,
        device,
        bytes: asked.maxSize as u64,
    };
    let request = Request::new(wire::CU_MEM_POOL_CREATE, Class::Sync, entry);
    request.forward(&args, done)?;
    let pool = Pool {
        device,
        is_default: false,
    };
    create(Kind::Pool, new, Details::Pool(pool))
}

fn check(asked: &CUmemPoolProps) -> CallResult<()> {
    let is_reserved = asked.reserved.iter().any(|byte| *byte != 0);
    if is_reserved || !asked.win32SecurityAttributes.is_null() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    match (asked.allocType, asked.location.r#type) {
        (CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE) => {}
        (CU_MEM_ALLOCATION_TYPE_MANAGED, _)
        | (
            CU_MEM_ALLOCATION_TYPE_PINNED,
            CU_MEM_LOCATION_TYPE_HOST | CU_MEM_LOCATION_TYPE_HOST_NUMA,
        ) => return Err(CUDA_ERROR_NOT_SUPPORTED),
        _ => return Err(CUDA_ERROR_INVALID_VALUE),
    }
    match asked.handleTypes == CU_MEM_HANDLE_TYPE_NONE && asked.usage == 0 {
        true => Ok(()),
        false => Err(CUDA_ERROR_NOT_SUPPORTED),
    }
}

/// Destroys a pool. Its memory stays until it is freed.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for a device's own, or the API's code.
pub fn destroy(entry: u64, pool: CUmemoryPool) -> CallResult<()> {
    let number = with(pool, |number, known| match known.is_default {
        true => Err(CUDA_ERROR_INVALID_VALUE),
        false => Ok(number),
    })?;
    Object::release(Kind::Pool, pool, entry)?;
    for known in devices().iter_mut() {
        if known.current == pool.addr() {
            known.current = known.default;
        }
    }
    let args = wire::CuMemPoolDestroyArgs { pool: number };
    let request = Request::new(wire::CU_MEM_POOL_DESTROY, Class::Sync, entry);
    request.forward(&args, done)
}

/// How many bytes an attribute's value has, and whether programs may change it.
fn attribute(name: CUmemPool_attribute) -> CallResult<(usize, bool)> {
    match name {
        CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES
            ..=CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES => Ok((4, true)),
        CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT | CU_MEMPOOL_ATTR_USED_MEM_CURRENT => Ok((8, false)),
        CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        | CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH
        | CU_MEMPOOL_ATTR_USED_MEM_HIGH => Ok((8, true)),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

/// Changes an attribute.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for one that only the driver changes, or the API's code.
///
/// # Safety
/// `value` is null or a value of the attribute's type.
pub unsafe fn set_attribute(
    entry: u64,
    pool: CUmemoryPool,
    name: CUmemPool_attribute,
    value: *const c_void,
) -> CallResult<()> {
    with(pool, |pool, _| {
        let (bytes, is_open) = attribute(name)?;
        if value.is_null() || !is_open {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: the caller's.
        let value = unsafe {
            match bytes {
                4 => u64::from(value.cast::<u32>().read()),
                _ => value.cast::<u64>().read(),
            }
        };
        let args = wire::CuMemPoolSetAttributeArgs {
            pool,
            attr: name,
            value,
        };
        let request = Request::new(wire::CU_MEM_POOL_SET_ATTRIBUTE, Class::Sync, entry);
        request.forward(&args, done)
    })
}

/// Writes an attribute.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `value` is null or has space for the attribute's type.
pub unsafe fn get_attribute(
    entry: u64,
    pool: CUmemoryPool,
    name: CUmemPool_attribute,
    value: *mut c_void,
) -> CallResult<()> {
    with(pool, |pool, _| {
        let (bytes, _) = attribute(name)?;
        let value = place(value)?;
        let args = wire::CuMemPoolGetAttributeArgs { pool, attr: name };
        let request = Request::new(wire::CU_MEM_POOL_GET_ATTRIBUTE, Class::Query, entry);
        let known = request.forward(&args, |reply| {
            let reply: wire::CuMemPoolGetAttributeReply = reply.decode()?;
            Guest::check(reply.result)?;
            Ok(reply.value)
        })?;
        // SAFETY: the caller's.
        unsafe {
            match bytes {
                4 => value.cast::<u32>().write(known as u32),
                _ => value.cast::<u64>().write(known),
            }
        }
        Ok(())
    })
}

/// Gives memory that nothing uses back to the device.
///
/// # Errors
/// The API's code.
pub fn trim(entry: u64, pool: CUmemoryPool, bytes: usize) -> CallResult<()> {
    with(pool, |pool, _| {
        let args = wire::CuMemPoolTrimToArgs {
            pool,
            bytes: bytes as u64,
        };
        let request = Request::new(wire::CU_MEM_POOL_TRIM_TO, Class::Sync, entry);
        request.forward(&args, done)
    })
}

/// Says which devices reach a pool's memory.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for what is no device, or the API's code.
///
/// # Safety
/// `map` is null or has as many entries.
pub unsafe fn set_access(
    entry: u64,
    pool: CUmemoryPool,
    map: *const CUmemAccessDesc,
    count: usize,
) -> CallResult<()> {
    with(pool, |pool, _| {
        if map.is_null() || count > ACCESSES_MAX {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: the caller's.
        let all = unsafe { std::slice::from_raw_parts(map, count) };
        let is_device = |it: &CUmemAccessDesc| it.location.r#type == CU_MEM_LOCATION_TYPE_DEVICE;
        if !all.iter().all(is_device) {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let pair = |it: &CUmemAccessDesc| {
            let (device, flags) = (it.location.id, it.flags);
            [device, flags].map(|word| u64::from(word.cast_unsigned()))
        };
        let args = wire::CuMemPoolSetAccessArgs {
            pool,
            map: all.iter().flat_map(pair).collect(),
        };
        let request = Request::new(wire::CU_MEM_POOL_SET_ACCESS, Class::Sync, entry);
        request.forward(&args, done)
    })
}

/// Whether a device reaches a pool's memory.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for what is no device, or the API's code.
///
/// # Safety
/// `location` is null or a location.
pub unsafe fn access(
    entry: u64,
    pool: CUmemoryPool,
    location: *const CUmemLocation,
) -> CallResult<CUmemAccess_flags> {
    with(pool, |pool, _| {
        // SAFETY: the caller's.
        let location = unsafe { location.as_ref() }.ok_or(CUDA_ERROR_INVALID_VALUE)?;
        if location.r#type != CU_MEM_LOCATION_TYPE_DEVICE {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let args = wire::CuMemPoolGetAccessArgs {
            pool,
            device: location.id,
        };
        let request = Request::new(wire::CU_MEM_POOL_GET_ACCESS, Class::Query, entry);
        request.forward(&args, |reply| {
            let reply: wire::CuMemPoolGetAccessReply = reply.decode()?;
            Guest::check(reply.result)?;
            Ok(reply.flags)
        })
    })
}

/// Allocates memory in a stream's order, from the pool that the stream's device has.
///
/// # Errors
/// The API's code.
pub fn allocate(of: Of, bytes: usize) -> CallResult<CUdeviceptr> {
    context::with(|context| context.healthy())?;
    let device = context::with(|context| Ok(context.device))?;
    let pool = current(of.entry, device)?;
    allocate_from(of, bytes, pool)
}

/// Allocates memory in a stream's order, from a pool.
///
/// # Errors
/// The API's code.
pub fn allocate_from(of: Of, bytes: usize, pool: CUmemoryPool) -> CallResult<CUdeviceptr> {
    let number = with(pool, |number, _| Ok(number))?;
    if bytes == 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let mut made = 0;
    of.on(Engine::NONE, |context, lane, request, event| {
        let args = wire::CuMemAllocFromPoolAsyncArgs {
            current: context.number,
            hStream: lane.number,
            pool: number,
            bytes: bytes as u64,
            event,
        };
        made = request.forward(&args, |reply| {
            let reply: wire::CuMemAllocFromPoolAsyncReply = reply.decode()?;
            Guest::check(reply.result)?;
            Ok(reply.address)
        })?;
        memory::note_pooled(made, bytes as u64, context, pool);
        Ok(())
    })?;
    Ok(made)
}

/// Frees memory in a stream's order.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for what was not allocated, or the API's code.
pub fn free(of: Of, address: CUdeviceptr) -> CallResult<()> {
    context::with(|context| context.healthy())?;
    let id = memory::beginning(address).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    of.on(Engine::NONE, |context, lane, request, event| {
        let args = wire::CuMemFreeAsyncArgs {
            current: context.number,
            hStream: lane.number,
            address,
            event,
        };
        request.forward(&args, |reply| {
            let reply: wire::CuMemFreeAsyncReply = reply.decode()?;
            Guest::check(reply.result)
        })?;
        memory::is_freed(address, id);
        Ok(())
    })
}
