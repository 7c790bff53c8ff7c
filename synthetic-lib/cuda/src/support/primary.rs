//! A device's primary context, which all its users share. Its handle is the same for as long as
//! the process runs, and may be current in threads while nobody uses the context.

use super::context;
use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult};
use gil_wire::envelope::Class;
use gil_wire::generated::cuda::{self as wire, Kind};
use std::sync::{Mutex, PoisonError};

/// The context that all users of a device may share.
#[derive(Debug)]
struct Primary {
    device: CUdevice,
    flags: u32,
    /// The handle by which programs know its context.
    handle: usize,
    /// The object, with how many references. Without any it is not the program's: see
    /// [`object`].
    context: Option<(usize, u32)>,
}

static PRIMARY: Mutex<Vec<Primary>> = Mutex::new(Vec::new());

/// Does something with what is known of a device's primary context. The device exists if
/// the board says so, which it is asked for once.
fn primary<R>(
    entry: u64,
    device: CUdevice,
    work: impl FnOnce(&mut Primary) -> CallResult<R>,
) -> CallResult<R> {
    context::initialized()?;
    let mut all = PRIMARY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.iter_mut().find(|known| known.device == device) {
        return work(known);
    }
    check_device(entry, device)?;
    all.push(Primary {
        device,
        flags: 0,
        handle: context::stand_in(device)?.expose_provenance(),
        context: None,
    });
    match all.last_mut() {
        Some(new) => work(new),
        None => Err(CUDA_ERROR_INVALID_DEVICE),
    }
}

fn check_device(entry: u64, device: CUdevice) -> CallResult<()> {
    let args = wire::CuDeviceTotalMemV2Args {
        bytes: true,
        dev: device,
    };
    let request = Request::new(wire::CU_DEVICE_TOTAL_MEM_V2, Class::Query, entry);
    request.forward(&args, |reply| {
        let reply: wire::CuDeviceTotalMemV2Reply = reply.decode()?;
        Guest::check(reply.result)
    })
}

fn handle_at(address: usize) -> CUcontext {
    std::ptr::with_exposed_provenance_mut(address)
}

/// The handle of a device's primary context, in use or not: the same for as long as the
/// process runs.
///
/// # Errors
/// The API's code.
pub fn handle(entry: u64, device: CUdevice) -> CallResult<CUcontext> {
    primary(entry, device, |primary| Ok(handle_at(primary.handle)))
}

/// The object of the primary context of this handle, if it is in use.
pub fn in_use(handle: CUcontext) -> Option<Object> {
    let address = {
        let all = PRIMARY.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().find(|known| known.handle == handle.addr())?;
        known.context.filter(|(_, references)| *references > 0)?.0
    };
    Object::find(Kind::Context, handle_at(address)).ok()
}

/// One more user of a device's primary context: its handle.
///
/// # Errors
/// The API's code.
pub fn retain(entry: u64, device: CUdevice) -> CallResult<CUcontext> {
    let (handle, _) = make(entry, device, 1)?;
    Ok(handle)
}

/// The object of a device's primary context, by its own handle. It is made if it has no user, and
/// stays; the program does not see that it is there until it retains it.
///
/// # Errors
/// The API's code.
pub fn object(entry: u64, device: CUdevice) -> CallResult<CUcontext> {
    let (_, object) = make(entry, device, 0)?;
    Ok(object)
}

/// A device's primary context with so many references more: its handle and its object.
fn make(entry: u64, device: CUdevice, more: u32) -> CallResult<(CUcontext, CUcontext)> {
    primary(entry, device, |primary| {
        let handle = handle_at(primary.handle);
        if let Some((address, references)) = &mut primary.context {
            *references += more;
            return Ok((handle, handle_at(*address)));
        }
        let new = gil_guest::api::new_number();
        let args = wire::CuDevicePrimaryCtxRetainArgs { new, dev: device };
        let request = Request::new(wire::CU_DEVICE_PRIMARY_CTX_RETAIN, Class::Sync, entry);
        request.forward(&args, |reply| {
            let reply: wire::CuDevicePrimaryCtxRetainReply = reply.decode()?;
            Guest::check(reply.result)
        })?;
        let object = context::enter_primary(new, device, primary.flags, handle)?;
        primary.context = Some((object.expose_provenance(), more));
        Ok((handle, object))
    })
}

/// One user less; behind the last, or `always`, the context is destroyed.
///
/// # Errors
/// The API's code.
pub fn release(entry: u64, device: CUdevice, always: bool) -> CallResult<()> {
    context::permitted()?;
    let last = primary(entry, device, |primary| match &mut primary.context {
        None | Some((_, 0)) if !always => Err(CUDA_ERROR_INVALID_CONTEXT),
        None => Ok(None),
        Some((_, references)) if *references > 1 && !always => {
            *references -= 1;
            Ok(None)
        }
        Some((address, _)) => {
            let object = handle_at(*address);
            primary.context = None;
            Ok(Some(object))
        }
    })?;
    match last {
        Some(object) => context::destroy(entry, object),
        None => Ok(()),
    }
}

/// Whether this is a device's primary context, which only its users' releases destroy.
pub fn is(handle: CUcontext) -> bool {
    let all = PRIMARY.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().any(|known| known.handle == handle.addr())
}

/// The flags of a device's primary context, and whether it is in use.
///
/// # Errors
/// The API's code.
pub fn state(entry: u64, device: CUdevice) -> CallResult<(u32, bool)> {
    primary(entry, device, |primary| {
        let is_used = |(_, references)| references > 0;
        Ok((primary.flags, primary.context.is_some_and(is_used)))
    })
}

/// Changes them, also those of a context that is in use.
///
/// # Errors
/// The API's code.
pub fn set_flags(entry: u64, device: CUdevice, flags: u32) -> CallResult<()> {
    context::check_flags(flags)?;
    context::permitted()?;
    let (unused, used) = primary(entry, device, |primary| {
        primary.flags = flags;
        // It is made anew, with these.
        let unused = primary.context.take_if(|(_, references)| *references == 0);
        let handle = |(address, _)| handle_at(address);
        Ok((unused.map(handle), primary.context.map(handle)))
    })?;
    if let Some((_, context)) = used.and_then(|used| context::find(used).ok()) {
        context.has_flags(flags);
    }
    unused.map_or(Ok(()), |object| context::destroy(entry, object))
}
