//! The device's memory, by the ranges that the board gave; and the program's own memory that
//! is pinned, whose pages the driver finds once, and which is memory like any other beside that:
//! the board copies from and to pinned memory of its own what calls name of it.

use super::context::{self, Context};
use super::{large_pages, shared, streams, virtual_memory};
use crate::generated::manual::{Guest, Request};
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult};
use gil_guest::{Error, Import};
use gil_wire::envelope::Class;
use gil_wire::generated::cuda as wire;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A range of the device's memory.
#[derive(Debug)]
struct Range {
    len: u64,
    context: Arc<Context>,
    /// A number that no other memory ever has.
    id: u64,
    /// The pool that it came from, by the program's handle; 0 for none.
    pool: usize,
    /// Whether calls that copy or set it are waited for.
    is_waited_for: bool,
    /// Whether the program has it at the same address.
    is_managed: bool,
    /// Where memory of the program's is that is mapped there.
    host: Option<usize>,
}

/// A number that no other memory ever has.
pub fn new_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Whose memory is at an address.
#[derive(Clone, Copy, Debug)]
pub enum Whose {
    /// The program's, which is pinned.
    Program,
    /// The device's.
    Device {
        /// The pool that it came from, by the program's handle; 0 for none.
        pool: usize,
        /// Whether calls that copy or set it are waited for.
        is_waited_for: bool,
        /// Whether the program has it at the same address.
        is_managed: bool,
    },
}

/// What is known of an address.
#[derive(Debug)]
pub struct Known {
    /// Where its memory begins.
    pub base: u64,
    /// Bytes of it.
    pub len: u64,
    /// The context in which it was allocated or pinned; of what no context has, the one that is
    /// current.
    pub context: Arc<Context>,
    /// Whether a context has it: none has what is mapped by hand.
    pub is_contexts: bool,
    /// A number that no other memory ever has.
    pub id: u64,
    /// Whose it is.
    pub whose: Whose,
    /// Where the address is for the program, if it has it.
    pub host: Option<u64>,
    /// Where it is for the device, if that has it.
    pub device: Option<u64>,
}

/// The ranges of all contexts, by address. A device's addresses are of one space.
static DEVICES: Mutex<BTreeMap<u64, Range>> = Mutex::new(BTreeMap::new());

impl Range {
    fn of(len: u64, context: &Arc<Context>, pool: usize) -> Self {
        Self {
            len,
            context: context.clone(),
            id: new_id(),
            pool,
            is_waited_for: false,
            is_managed: false,
            host: None,
        }
    }
}

fn devices() -> MutexGuard<'static, BTreeMap<u64, Range>> {
    DEVICES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The range that an address is in.
fn range_of(address: u64) -> Option<(u64, u64)> {
    let all = devices();
    let known = all.range(..=address).next_back();
    let known = known.filter(|(base, range)| address - **base < range.len);
    if let Some((base, range)) = known {
        return Some((*base, range.len));
    }
    virtual_memory::mapping(address).map(|(base, len, ..)| (base, len))
}

/// Whether an address is of the device's memory.
pub fn is_devices(address: u64) -> bool {
    range_of(address).is_some()
}

/// Memory that was allocated is there.
fn note(address: u64, len: u64, context: &Arc<Context>) {
    devices().insert(address, Range::of(len, context, 0));
}

/// A variable of a module is there.
pub fn note_variable(address: u64, len: u64, context: &Arc<Context>) {
    let mut all = devices();
    // A variable may be asked for again.
    let known = all.get(&address).filter(|known| known.len == len);
    if known.is_some_and(|known| Arc::ptr_eq(&known.context, context)) {
        return;
    }
    all.insert(address, Range::of(len, context, 0));
}

/// Memory from a pool is there.
pub fn note_pooled(address: u64, len: u64, context: &Arc<Context>, pool: CUmemoryPool) {
    let pool = pool.expose_provenance();
    devices().insert(address, Range::of(len, context, pool));
}

/// Whether an address is of managed memory.
pub fn is_managed(address: u64) -> bool {
    let all = devices();
    let range = all.range(..=address).next_back();
    range.is_some_and(|(base, range)| address - base < range.len && range.is_managed)
}

/// Allocates managed memory.
///
/// # Errors
/// The API's code.
pub fn allocate_managed(entry: u64, bytes: usize) -> CallResult<CUdeviceptr> {
    if bytes == 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    context::with(|context| {
        context.healthy()?;
        let (place, _) = shared::allocate(entry, context, bytes)?;
        let range = Range {
            is_managed: true,
            ..Range::of(bytes as u64, context, 0)
        };
        devices().insert(place as u64, range);
        Ok(place as u64)
    })
}

/// The number of the device's memory that begins at an address.
pub fn beginning(address: u64) -> Option<u64> {
    devices().get(&address).map(|range| range.id)
}

/// The memory of this number at this address is gone. Another thread may have memory there
/// by now.
pub fn is_freed(address: u64, id: u64) {
    let mut all = devices();
    if all.get(&address).is_some_and(|range| range.id == id) {
        all.remove(&address);
    }
}

/// What is known of an address.
pub fn known(address: u64) -> Option<Known> {
    known_of_device(address)
        .or_else(|| known_of_program(address))
        .or_else(|| known_of_mapping(address))
}

fn known_of_mapping(address: u64) -> Option<Known> {
    let (base, len, device, id) = virtual_memory::mapping(address)?;
    let current = context::with(|context| Ok(context.clone())).ok()?;
    (current.device == device).then_some(Known {
        base,
        len,
        context: current,
        is_contexts: false,
        id,
        whose: Whose::Device {
            pool: 0,
            is_waited_for: false,
            is_managed: false,
        },
        host: None,
        device: Some(address),
    })
}

fn known_of_device(address: u64) -> Option<Known> {
    let all = devices();
    let (base, range) = all.range(..=address).next_back()?;
    let offset = address - base;
    (offset < range.len).then(|| Known {
        base: *base,
        len: range.len,
        context: range.context.clone(),
        is_contexts: true,
        id: range.id,
        whose: match range.host {
            Some(_) => Whose::Program,
            None => Whose::Device {
                pool: range.pool,
                is_waited_for: range.is_waited_for,
                is_managed: range.is_managed,
            },
        },
        host: match range.host {
            Some(host) => Some(host as u64 + offset),
            None => range.is_managed.then_some(address),
        },
        device: Some(address),
    })
}

fn known_of_program(address: u64) -> Option<Known> {
    let place = usize::try_from(address).ok()?;
    let all = pinned();
    let (base, known) = all.range(..=place).next_back()?;
    (place - base < known.len).then(|| Known {
        base: *base as u64,
        len: known.len as u64,
        context: known.context.clone(),
        is_contexts: true,
        id: known.id,
        whose: Whose::Program,
        host: Some(address),
        device: shared::mapped(place),
    })
}

/// Whether calls that copy or set the device's memory at an address are waited for.
pub fn is_waited_for(address: u64) -> bool {
    let known = known_of_device(address).map(|known| known.whose);
    matches!(
        known,
        Some(Whose::Device {
            is_waited_for: true,
            ..
        })
    )
}

/// Changes that; whether there is memory of the device's.
pub fn set_waited_for(address: u64, is_waited_for: bool) -> bool {
    let mut all = devices();
    let range = all.range_mut(..=address).next_back();
    let range = range.filter(|(base, range)| address - *base < range.len);
    match range {
        Some((_, range)) => {
            range.is_waited_for = is_waited_for;
            true
        }
        None => false,
    }
}

/// A context is gone, and its memory with it; what it registered is the program's alone again.
pub fn forget(context: &Arc<Context>) {
    devices().retain(|_, range| !Arc::ptr_eq(&range.context, context));
    pinned().retain(|_, known| {
        let is_its = Arc::ptr_eq(&known.context, context);
        if is_its {
            known.import = None;
        }
        !is_its || known.is_own && !known.is_shared
    });
}

/// The range that an address is in: where it begins, and its bytes.
///
/// # Errors
/// `CUDA_ERROR_NOT_FOUND`.
pub fn range(address: u64) -> CallResult<(u64, u64)> {
    context::with(|context| context.healthy())?;
    range_of(address).ok_or(CUDA_ERROR_NOT_FOUND)
}

/// Allocates memory of the device's.
///
/// # Errors
/// The API's code.
pub fn allocate(entry: u64, bytes: usize) -> CallResult<CUdeviceptr> {
    if bytes == 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    context::with(|context| {
        context.healthy()?;
        let args = wire::CuMemAllocV2Args {
            current: context.number,
            bytes: bytes as u64,
        };
        let request = Request::new(wire::CU_MEM_ALLOC_V2, Class::Sync, entry);
        let address = request.forward(&args, |reply| {
            let reply: wire::CuMemAllocV2Reply = reply.decode()?;
            Guest::check(reply.result)?;
            Ok(reply.address)
        });
        let address = address.or_else(|code| context.failed(code))?;
        note(address, bytes as u64, context);
        Ok(address)
    })
}

/// Allocates rows of the device's memory; also how far they are apart.
///
/// # Errors
/// The API's code.
pub fn allocate_rows(
    entry: u64,
    width: usize,
    height: usize,
    element: u32,
) -> CallResult<(CUdeviceptr, usize)> {
    if width == 0 || height == 0 || ![4, 8, 16].contains(&element) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    context::with(|context| {
        context.healthy()?;
        let args = wire::CuMemAllocPitchV2Args {
            current: context.number,
            width: width as u64,
            height: height as u64,
            element,
        };
        let request = Request::new(wire::CU_MEM_ALLOC_PITCH_V2, Class::Sync, entry);
        let made = request.forward(&args, |reply| {
            let reply: wire::CuMemAllocPitchV2Reply = reply.decode()?;
            Guest::check(reply.result)?;
            Ok((reply.address, reply.pitch))
        });
        let (address, pitch) = made.or_else(|code| context.failed(code))?;
        let len = pitch.saturating_mul(height as u64);
        note(address, len, context);
        Ok((address, pitch as usize))
    })
}

/// Frees memory of the device's, once all that may use it has ended.
///
/// # Errors
/// The API's code.
pub fn free(entry: u64, address: CUdeviceptr) -> CallResult<()> {
    context::with(|context| {
        context.healthy()?;
        if address == 0 {
            return Ok(());
        }
        let known = |all: &BTreeMap<u64, Range>| {
            let range = all.get(&address)?;
            Some((range.context.clone(), range.id, range.is_managed))
        };
        let (owner, id, is_managed) = known(&devices()).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        if is_managed {
            shared::release(entry, address as usize)?;
            is_freed(address, id);
            return Ok(());
        }
        streams::finish_all(entry, wire::CU_MEM_FREE_V2, &owner)?;
        let args = wire::CuMemFreeV2Args {
            current: owner.number,
            address,
        };
        let request = Request::new(wire::CU_MEM_FREE_V2, Class::Sync, entry);
        let freed = request.forward(&args, |reply| {
            let reply: wire::CuMemFreeV2Reply = reply.decode()?;
            Guest::check(reply.result)
        });
        freed.or_else(|code| context.failed(code))?;
        is_freed(address, id);
        Ok(())
    })
}

/// Memory of the program's that is pinned.
#[derive(Debug)]
struct Pinned {
    len: usize,
    flags: u32,
    /// Whether the library allocated it.
    is_own: bool,
    /// Whether kernels reach it at its own address.
    is_shared: bool,
    /// As the driver knows it, if that has pinned it, and where it begins there.
    import: Option<Arc<Import>>,
    import_at: usize,
    context: Arc<Context>,
    id: u64,
}

static PINNED: Mutex<BTreeMap<usize, Pinned>> = Mutex::new(BTreeMap::new());

fn pinned() -> MutexGuard<'static, BTreeMap<usize, Pinned>> {
    PINNED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Usable by all contexts, with an address for the device, not cached.
const HOST_FLAGS: u32 = 7;
/// With an address for the device.
const MAPPED: u32 = 2;

/// Allocates pinned memory that kernels reach at its own address.
fn allocate_mapped(
    entry: u64,
    context: Arc<Context>,
    (bytes, flags): (usize, u32),
) -> CallResult<*mut c_void> {
    let (place, (import, import_at)) = shared::allocate(entry, &context, bytes)?;
    let known = Pinned {
        len: bytes,
        flags,
        is_own: true,
        is_shared: true,
        import,
        import_at,
        context,
        id: new_id(),
    };
    pinned().insert(place, known);
    Ok(std::ptr::with_exposed_provenance_mut(place))
}

/// Allocates pinned memory.
///
/// # Errors
/// The API's code.
pub fn allocate_host(entry: u64, bytes: usize, flags: u32) -> CallResult<*mut c_void> {
    if bytes == 0 || flags & !HOST_FLAGS != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let context = context::with(|context| context.healthy().map(|()| context.clone()))?;
    if flags & MAPPED != 0 {
        return allocate_mapped(entry, context, (bytes, flags));
    }
    let mut place = std::ptr::null_mut();
    // SAFETY: `place` has space for an address.
    let failed = unsafe { libc::posix_memalign(&mut place, large_pages::alignment(bytes), bytes) };
    if failed != 0 || place.is_null() {
        return Err(CUDA_ERROR_OUT_OF_MEMORY);
    }
    // SAFETY: it was allocated.
    unsafe { large_pages::gather(place, bytes) };
    let known = Pinned {
        len: bytes,
        flags,
        is_own: true,
        is_shared: false,
        // SAFETY: it is freed behind its entry.
        import: unsafe { import(place, bytes) },
        import_at: 0,
        context,
        id: new_id(),
    };
    pinned().insert(place.expose_provenance(), known);
    Ok(place)
}

/// Pinned memory of fewer bytes is found at each copy.
const IMPORT_LEAST: usize = 16 << 10;

/// Has the driver pin memory: copies need not name each page then. Where the driver does not, each
/// copy names its pages.
///
/// # Safety
/// As of [`Import::pin`].
unsafe fn import(place: *const c_void, bytes: usize) -> Option<Arc<Import>> {
    if bytes < IMPORT_LEAST {
        return None;
    }
    // SAFETY: the caller's.
    unsafe { Import::pin(place, bytes) }.ok().map(Arc::new)
}

/// Frees pinned memory, once all that may use it has ended.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for other memory.
pub fn free_host(entry: u64, place: *mut c_void) -> CallResult<()> {
    if place.is_null() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    context::with(|context| streams::finish_all(entry, wire::CU_MEM_FREE_HOST, context))?;
    let its = |all: &BTreeMap<usize, Pinned>| {
        let known = all.get(&place.addr()).filter(|it| it.is_own)?;
        Some(known.is_shared)
    };
    let is_shared = its(&pinned()).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    if is_shared {
        shared::release(entry, place.addr())?;
        pinned().remove(&place.addr());
        return Ok(());
    }
    unmap(entry, place.addr())?;
    if pinned().remove(&place.addr()).is_none() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: it was allocated so, and is freed once.
    unsafe { libc::free(place) };
    Ok(())
}

/// Pins memory of the program's.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` if it is not there, `CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED` if any
/// of it is, `CUDA_ERROR_NOT_SUPPORTED` for memory of devices and memory that kernels only read, or the API's code.
///
/// # Safety
/// `place` names as many bytes.
pub unsafe fn register(place: *mut c_void, bytes: usize, flags: u32) -> CallResult<()> {
    const ALL: u32 = 15;
    let end = place.addr().checked_add(bytes);
    if place.is_null() || bytes == 0 || flags & !ALL != 0 || end.is_none() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let context = context::with(|context| context.healthy().map(|()| context.clone()))?;
    if flags & !(1 | MAPPED) != 0 {
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    }
    let (from, end) = (place.addr(), end.unwrap_or(usize::MAX));
    let id = new_id();
    let mut all = pinned();
    let before = all.range(..end).next_back();
    if before.is_some_and(|(base, known)| base + known.len > from) {
        return Err(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    }
    let known = Pinned {
        len: bytes,
        flags,
        is_own: false,
        is_shared: false,
        import: None,
        import_at: 0,
        context,
        id,
    };
    all.insert(from, known);
    // Copies ask what is pinned, and this may take long.
    drop(all);
    // SAFETY: the caller's.
    let import = unsafe {
        large_pages::gather(place, bytes);
        Import::pin(place, bytes)
    };
    let is_there = match import {
        Ok(_) => true,
        Err(Error::Fault) => false,
        // More than the driver pins.
        Err(Error::Driver { errno }) if errno as i32 == libc::ENOMEM => is_mapped(place, bytes),
        // Where nothing can be pinned, as in gem5's system-call emulation, copies find what is there.
        Err(_) => true,
    };
    let mut all = pinned();
    // Another thread may have taken it back meanwhile.
    let known = all.get_mut(&from).filter(|known| known.id == id);
    match (known, is_there) {
        (Some(known), true) => {
            let import = import.ok().filter(|_| bytes >= IMPORT_LEAST);
            known.import = import.map(Arc::new);
            Ok(())
        }
        (None, true) => Ok(()),
        (known, false) => {
            if known.is_some() {
                all.remove(&from);
            }
            Err(CUDA_ERROR_INVALID_VALUE)
        }
    }
}

/// Whether the program has memory at all of these addresses.
fn is_mapped(place: *mut c_void, bytes: usize) -> bool {
    /// As many bytes are asked for at a time; the answer has one for each page.
    const AT_A_TIME: usize = 1 << 30;
    const PAGE: usize = 4096;
    let end = place.addr().saturating_add(bytes);
    let mut pages = vec![0; AT_A_TIME / PAGE];
    let starts = (place.addr() / PAGE * PAGE..end).step_by(AT_A_TIME);
    starts.into_iter().all(|start| {
        let len = AT_A_TIME.min(end - start);
        // SAFETY: it reads no memory there, and there is room for as many pages.
        unsafe { libc::mincore(place.with_addr(start), len, pages.as_mut_ptr()) == 0 }
    })
}

/// Memory of the program's is not pinned any more.
///
/// # Errors
/// `CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED`.
pub fn unregister(entry: u64, place: *mut c_void) -> CallResult<()> {
    if place.is_null() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    context::with(|context| context.healthy())?;
    let is_known = |all: &BTreeMap<usize, Pinned>| {
        let known = all.get(&place.addr());
        known.is_some_and(|known| !known.is_own)
    };
    if !is_known(&pinned()) {
        return Err(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    }
    unmap(entry, place.addr())?;
    pinned().remove(&place.addr());
    Ok(())
}

fn unmap(entry: u64, place: usize) -> CallResult<()> {
    if let Some(device) = shared::unmap(entry, place)? {
        devices().remove(&device);
    }
    Ok(())
}

/// Where pinned memory is for the device; it is mapped now, if it was not.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for other memory, or the API's code.
pub fn device_address(entry: u64, place: *mut c_void) -> CallResult<CUdeviceptr> {
    let context = context::with(|context| context.healthy().map(|()| context.clone()))?;
    let its = |all: &BTreeMap<usize, Pinned>| {
        let (base, known) = all.range(..=place.addr()).next_back()?;
        let is_in = place.addr() - base < known.len;
        is_in.then(|| (*base, known.len, known.import.clone(), known.is_shared))
    };
    let (base, len, import, is_shared) = its(&pinned()).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    if is_shared {
        return Ok(place.addr() as u64);
    }
    // What kernels reach is there for as long as they may.
    let import = match import {
        Some(import) => Some(import),
        None => {
            let place = std::ptr::with_exposed_provenance(base);
            // SAFETY: the memory is the program's, which said that it is there.
            match unsafe { Import::pin(place, len) } {
                Ok(import) => Some(Arc::new(import)),
                Err(Error::Fault) => return Err(CUDA_ERROR_INVALID_VALUE),
                // Where nothing can be pinned, or no more, each operation names its pages.
                Err(_) => None,
            }
        }
    };
    let device = shared::map(entry, &context, (base, len), import)?;
    let range = Range {
        host: Some(base),
        ..Range::of(len as u64, &context, 0)
    };
    devices().entry(device).or_insert(range);
    Ok(device + (place.addr() - base) as u64)
}

/// A part of pinned memory.
pub struct PinnedPart {
    import: Option<Arc<Import>>,
    offset: usize,
}

impl PinnedPart {
    /// The import and the first byte's offset in it, if so many bytes are to be named so.
    pub fn import(&self, bytes: usize) -> Option<(&Import, usize)> {
        let import = self.import.as_deref();
        import
            .filter(|_| bytes >= IMPORT_LEAST)
            .map(|import| (import, self.offset))
    }
}

/// Which part of pinned memory these bytes are, if all are in it.
pub fn pinned_part(place: *const c_void, bytes: usize) -> Option<PinnedPart> {
    let all = pinned();
    let (base, known) = all.range(..=place.addr()).next_back()?;
    let offset = place.addr() - base;
    let is_inside = offset <= known.len && bytes <= known.len - offset;
    is_inside.then(|| PinnedPart {
        import: known.import.clone(),
        offset: known.import_at + offset,
    })
}

/// How pinned memory was allocated.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for other memory.
pub fn host_flags(place: *mut c_void) -> CallResult<u32> {
    context::with(|context| context.healthy())?;
    let all = pinned();
    let known = all.range(..=place.addr()).next_back();
    known
        .filter(|(base, known)| place.addr() - **base < known.len)
        .map(|(_, known)| known.flags)
        .ok_or(CUDA_ERROR_INVALID_VALUE)
}
