//! Memory that the program and its kernels share: managed memory, and memory of the program's
//! that is mapped. Guest and board have a memory each, in chunks; a chunk of the library's
//! own has the same addresses on both sides. Before an operation that may use a chunk, what the
//! program changed there goes to the device, and behind it, what the device changed is
//! brought back: it is in the program's memory at the operation's simulated end.

pub mod advice;
mod room;

use super::context::{self, Context};
use super::copy::{Of, ended};
use super::{function, launch, memory, streams};
use crate::generated::manual::{Guest, Request};
use crate::generated::types::*;
use advice::Advised;
use gil_guest::Import;
use gil_guest::api::{Api, CallResult};
use gil_guest::pages::Pages;
use gil_wire::Op;
use gil_wire::envelope::{Class, Engine};
use gil_wire::generated::cuda as wire;
use room::Room;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Addresses that the board is asked for before there is no memory.
const ATTEMPTS: usize = 4;
/// Bytes of a chunk for small allocations.
const CHUNK: usize = 2 << 20;
/// Fewest bytes of an allocation that has a chunk of its own.
const LARGE: usize = 1 << 20;
/// Chunks are multiples of this; addresses of them, too, by the board.
const GRAIN: usize = 1 << 16;
/// What is compared ends with a page, if the chunk does not end before.
const PAGE: usize = 4096;

/// One allocation.
#[derive(Debug)]
struct Part {
    len: usize,
    advised: Advised,
}

/// Memory of both sides.
#[derive(Debug)]
struct Chunk {
    context: Arc<Context>,
    /// Where it is for the device.
    device: u64,
    len: usize,
    /// As the driver knows the program's side, if that has pinned it.
    import: Option<Arc<Import>>,
    /// What is free of it; none if the memory is the program's own.
    room: Option<Room>,
    /// What is allocated, by the offset.
    parts: BTreeMap<usize, Part>,
}

impl Chunk {
    /// Bytes that are compared.
    fn used(&self) -> usize {
        let last = self.parts.last_key_value();
        let end = last.map_or(0, |(offset, part)| offset + part.len);
        end.next_multiple_of(PAGE).min(self.len)
    }
}

/// What a call has to know of the part of a chunk that it uses.
#[derive(Clone, Debug)]
struct Place {
    host: usize,
    device: u64,
    part: Range<usize>,
    is_written: bool,
    import: Option<Arc<Import>>,
}

#[derive(Debug)]
struct All {
    pages: Pages,
    /// By the program's address.
    chunks: BTreeMap<usize, Chunk>,
}

static ALL: Mutex<All> = Mutex::new(All {
    pages: Pages::new(),
    chunks: BTreeMap::new(),
});

/// Held by those that use chunks, and alone by one that frees some.
static USE: RwLock<()> = RwLock::new(());

fn in_use() -> RwLockReadGuard<'static, ()> {
    USE.read().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until nobody uses a chunk, and all that may is over; nobody begins to meanwhile.
fn alone(entry: u64, op: Op, owner: &Context) -> CallResult<RwLockWriteGuard<'static, ()>> {
    // Most of it beside the others.
    streams::finish_all(entry, op, owner)?;
    let alone = USE.write().unwrap_or_else(PoisonError::into_inner);
    streams::finish_all(entry, op, owner)?;
    Ok(alone)
}

/// How many chunks there are.
static CHUNKS: AtomicUsize = AtomicUsize::new(0);

fn all() -> MutexGuard<'static, All> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether any memory is shared.
#[inline(always)]
pub fn is_any() -> bool {
    CHUNKS.load(Ordering::Relaxed) > 0
}

impl All {
    /// The chunk that an address of the program's is in, and the offset there.
    fn at(&mut self, address: usize) -> Option<(&mut Chunk, usize)> {
        let (base, chunk) = self.chunks.range_mut(..=address).next_back()?;
        let offset = address - base;
        (offset < chunk.len).then_some((chunk, offset))
    }

    fn add(&mut self, host: usize, chunk: Chunk) {
        self.chunks.insert(host, chunk);
        CHUNKS.store(self.chunks.len(), Ordering::Relaxed);
        // Launches that were the same as others are not any more.
        launch::changed();
    }

    fn remove(&mut self, host: usize) -> Option<Chunk> {
        let chunk = self.chunks.remove(&host)?;
        if chunk.room.is_some() {
            self.pages.abandon(host);
        }
        CHUNKS.store(self.chunks.len(), Ordering::Relaxed);
        Some(chunk)
    }
}

/// Memory of the device's to share.
fn ask(entry: u64, context: &Context, bytes: usize) -> CallResult<u64> {
    let args = wire::GilShareMemoryArgs {
        current: context.number,
        bytes: bytes as u64,
    };
    let request = Request::new(wire::GIL_SHARE_MEMORY, Class::Sync, entry);
    let address = request.forward(&args, |reply| {
        let reply: wire::GilShareMemoryReply = reply.decode()?;
        Guest::check(reply.result)?;
        Ok(reply.address)
    });
    address.or_else(|code| context.failed(code))
}

fn give_back(entry: u64, context: &Context, address: u64) -> CallResult<()> {
    let args = wire::GilShareFreeArgs {
        current: context.number,
        address,
    };
    let request = Request::new(wire::GIL_SHARE_FREE, Class::Sync, entry);
    let freed = request.forward(&args, |reply| {
        let reply: wire::GilShareFreeReply = reply.decode()?;
        Guest::check(reply.result)
    });
    freed.or_else(|code| context.failed(code))
}

/// Memory at the same address on both sides.
fn adopt(entry: u64, context: &Arc<Context>, len: usize) -> CallResult<usize> {
    // Addresses that are taken here are kept until another is found.
    let mut taken = Vec::new();
    let mut found = Err(CUDA_ERROR_OUT_OF_MEMORY);
    while found.is_err() && taken.len() < ATTEMPTS {
        let address = match ask(entry, context, len) {
            Ok(address) => address,
            Err(code) => {
                found = Err(code);
                break;
            }
        };
        match usize::try_from(address) {
            Ok(place) if all().pages.adopt(place, len) => found = Ok(place),
            _ => taken.push(address),
        }
    }
    for address in taken {
        give_back(entry, context, address)?;
    }
    found
}

/// Pins the program's side of a chunk; if that cannot be, each operation names its pages.
fn pin(place: usize, len: usize) -> Option<Arc<Import>> {
    let place = std::ptr::with_exposed_provenance::<c_void>(place);
    // SAFETY: the memory is there as long as its chunk is.
    unsafe { Import::pin(place, len) }.ok().map(Arc::new)
}

/// Whether the guest has so much memory: all of a chunk is pinned. Where the system does not say,
/// it may.
fn finds_room(len: usize) -> bool {
    let said = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = said
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kib.is_none_or(|kib| len / 1024 < kib)
}

/// A part of pinned memory: its import, and where it begins there.
pub type Pinned = (Option<Arc<Import>>, usize);

/// Allocates memory that both share.
///
/// # Errors
/// The API's code.
pub fn allocate(entry: u64, context: &Arc<Context>, bytes: usize) -> CallResult<(usize, Pinned)> {
    if bytes < LARGE
        && let Some(found) = from_chunks(context, bytes)
    {
        return Ok(found);
    }
    let len = match bytes < LARGE {
        true => CHUNK,
        false => bytes
            .checked_next_multiple_of(GRAIN)
            .ok_or(CUDA_ERROR_OUT_OF_MEMORY)?,
    };
    if len > LARGE && !finds_room(len) {
        return Err(CUDA_ERROR_OUT_OF_MEMORY);
    }
    let host = adopt(entry, context, len)?;
    let mut room = Room::new(len);
    let offset = room.take(bytes).ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
    let import = pin(host, len);
    let chunk = Chunk {
        context: context.clone(),
        device: host as u64,
        len,
        import: import.clone(),
        room: Some(room),
        parts: BTreeMap::from([(offset, part(bytes))]),
    };
    all().add(host, chunk);
    Ok((host + offset, (import, offset)))
}

fn part(len: usize) -> Part {
    Part {
        len,
        advised: Advised::new(len),
    }
}

fn from_chunks(context: &Arc<Context>, bytes: usize) -> Option<(usize, Pinned)> {
    let mut all = all();
    let its = |chunk: &&mut Chunk| Arc::ptr_eq(&chunk.context, context);
    let chunks = all.chunks.iter_mut().map(|(host, chunk)| (*host, chunk));
    for (host, chunk) in chunks.filter(|(_, chunk)| its(chunk)) {
        let Some(offset) = chunk.room.as_mut().and_then(|room| room.take(bytes)) else {
            continue;
        };
        chunk.parts.insert(offset, part(bytes));
        return Some((host + offset, (chunk.import.clone(), offset)));
    }
    None
}

/// Frees what was allocated at an address, once all that may use it has ended.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` if nothing was; the API's code.
pub fn release(entry: u64, address: usize) -> CallResult<()> {
    let owner = all().at(address).map(|(chunk, _)| chunk.context.clone());
    let owner = owner.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let _alone = alone(entry, wire::CU_MEM_FREE_V2, &owner)?;
    let mut all = all();
    let (chunk, offset) = all.at(address).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let freed = chunk.parts.remove(&offset);
    let len = freed.ok_or(CUDA_ERROR_INVALID_VALUE)?.len;
    if let Some(room) = &mut chunk.room {
        room.give(offset, len);
    }
    if !chunk.parts.is_empty() {
        return Ok(());
    }
    let gone = all.remove(address - offset);
    drop(all);
    gone.map_or(Ok(()), |chunk| give_back(entry, &owner, chunk.device))
}

/// Maps memory of the program's, which is pinned: where it is for the device. What is mapped
/// already stays where it is.
///
/// # Errors
/// The API's code.
pub fn map(
    entry: u64,
    context: &Arc<Context>,
    (host, len): (usize, usize),
    import: Option<Arc<Import>>,
) -> CallResult<u64> {
    if let Some(device) = mapped(host) {
        return Ok(device);
    }
    let device = ask(entry, context, len)?;
    let chunk = Chunk {
        context: context.clone(),
        device,
        len,
        import,
        room: None,
        parts: BTreeMap::from([(0, part(len))]),
    };
    let mut all = all();
    // Another thread may have mapped it meanwhile.
    if let Some(chunk) = all.chunks.get(&host) {
        let its = chunk.device;
        drop(all);
        return give_back(entry, context, device).map(|()| its);
    }
    all.add(host, chunk);
    Ok(device)
}

/// Where shared memory of the program's is for the device.
pub fn mapped(host: usize) -> Option<u64> {
    let mut all = all();
    let (chunk, offset) = all.at(host)?;
    Some(chunk.device + offset as u64)
}

/// The program's memory at an address is mapped no more, once all that may use it has ended;
/// where it was for the device.
///
/// # Errors
/// The API's code.
pub fn unmap(entry: u64, host: usize) -> CallResult<Option<u64>> {
    let is_its = |chunk: &Chunk| chunk.room.is_none();
    let owner = all()
        .chunks
        .get(&host)
        .filter(|it| is_its(it))
        .map(|it| it.context.clone());
    let Some(owner) = owner else { return Ok(None) };
    let _alone = match owner.is_destroyed() {
        false => Some(alone(entry, wire::CU_MEM_HOST_UNREGISTER, &owner)?),
        true => None,
    };
    let Some(chunk) = all().remove(host) else {
        return Ok(None);
    };
    if !owner.is_destroyed() {
        give_back(entry, &owner, chunk.device)?;
    }
    Ok(Some(chunk.device))
}

/// A context is gone, and what it shared.
pub fn forget(context: &Arc<Context>) {
    let mut all = all();
    let its = all.chunks.iter();
    let its = its.filter(|(_, chunk)| Arc::ptr_eq(&chunk.context, context));
    for host in its.map(|(host, _)| *host).collect::<Vec<_>>() {
        all.remove(host);
    }
}

/// Looks at what is advised of managed memory, or changes it.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` if the bytes are not all of one allocation.
pub fn with_advice<R>(
    address: u64,
    count: usize,
    work: impl FnOnce(&mut Advised, Range<usize>) -> R,
) -> CallResult<R> {
    let is_managed = memory::is_managed(address);
    let place = usize::try_from(address)
        .ok()
        .filter(|_| is_managed && count > 0);
    let mut all = all();
    let found = place.and_then(|place| all.at(place));
    let (chunk, offset) = found.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let part = chunk.parts.range_mut(..=offset).next_back();
    let (base, part) = part.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let from = offset - base;
    let end = from.checked_add(count).filter(|end| *end <= part.len);
    let end = end.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    Ok(work(&mut part.advised, from..end))
}

/// The device's memory that a copy uses, as far as the operation says it.
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    address: CUdeviceptr,
    /// To the chunk's end if nobody counted them.
    len: Option<usize>,
    is_written: bool,
}

impl Bytes {
    /// So many are read.
    pub const fn read(address: CUdeviceptr, len: usize) -> Self {
        Self {
            address,
            len: Some(len),
            is_written: false,
        }
    }

    /// So many are written.
    pub const fn written(address: CUdeviceptr, len: usize) -> Self {
        Self {
            is_written: true,
            ..Self::read(address, len)
        }
    }

    /// As many as there are.
    pub const fn to_the_end(self) -> Self {
        Self { len: None, ..self }
    }

    /// Where they begin.
    pub const fn address(self) -> CUdeviceptr {
        self.address
    }

    /// Whole pages of a chunk that has them.
    fn part_of(self, chunk: &Chunk) -> Option<Range<usize>> {
        let offset = self.address.checked_sub(chunk.device)?;
        let offset = usize::try_from(offset).ok().filter(|at| *at < chunk.len)?;
        let end = self
            .len
            .map_or(usize::MAX, |len| offset.saturating_add(len));
        let end = end.checked_next_multiple_of(PAGE).unwrap_or(usize::MAX);
        let end = end.min(chunk.used());
        Some((offset / PAGE * PAGE).min(end)..end)
    }
}

/// What an operation may use.
#[derive(Clone, Copy, Debug)]
pub enum Uses<'a> {
    /// All that its context shares: a kernel has addresses of it anywhere.
    All,
    /// These bytes.
    Of(&'a [Bytes]),
}

impl Uses<'_> {
    /// The part of a chunk, if it is of use, and whether it is written.
    fn part_of(self, chunk: &Chunk, context: &Arc<Context>) -> Option<(Range<usize>, bool)> {
        match self {
            Self::All => Arc::ptr_eq(&chunk.context, context).then(|| (0..chunk.used(), true)),
            Self::Of(all) => {
                let parts = all.iter().filter_map(|bytes| {
                    let part = bytes.part_of(chunk)?;
                    Some((part, bytes.is_written))
                });
                parts.reduce(|(one, is_written), (other, is_other_written)| {
                    let both = one.start.min(other.start)..one.end.max(other.end);
                    (both, is_written || is_other_written)
                })
            }
        }
    }
}

fn used(uses: Uses<'_>) -> CallResult<Vec<Place>> {
    context::with(|context| {
        let all = all();
        let places = all.chunks.iter().filter_map(|(host, chunk)| {
            let (part, is_written) = uses.part_of(chunk, context)?;
            (!part.is_empty()).then(|| Place {
                host: *host,
                device: chunk.device,
                part,
                is_written,
                import: chunk.import.clone(),
            })
        });
        Ok(places.collect())
    })
}

/// Does something on a stream (the default stream for `None`, whose end is waited for) that
/// uses shared memory.
///
/// # Errors
/// The API's code.
pub fn around(
    (entry, stream): (u64, Option<CUstream>),
    uses: Uses<'_>,
    work: impl FnOnce() -> CallResult<()>,
) -> CallResult<()> {
    if !is_any() {
        return work();
    }
    let _in_use = in_use();
    let places = used(uses)?;
    for place in &places {
        up((entry, stream.unwrap_or(std::ptr::null_mut())), place)?;
    }
    work()?;
    for place in places.iter().filter(|place| place.is_written) {
        down((entry, stream), place)?;
    }
    Ok(())
}

/// The program's changes go to the device, by a stream.
///
/// # Errors
/// The API's code.
pub fn prefetch((entry, stream): (u64, CUstream), bytes: Bytes) -> CallResult<()> {
    let _in_use = in_use();
    used(Uses::Of(&[bytes]))?
        .iter()
        .try_for_each(|place| up((entry, stream), place))
}

fn up((entry, stream): (u64, CUstream), place: &Place) -> CallResult<()> {
    let of = Of {
        entry,
        op: wire::GIL_SHARE_UP,
        stream: Some(stream),
    };
    let (offset, len) = (place.part.start, place.part.len());
    of.on(Engine::COPY_IN, |context, lane, mut request, event| {
        // The bytes leave now, and functions of the program's before it may write them.
        function::settle(lane);
        let args = wire::GilShareUpArgs {
            current: context.number,
            hStream: lane.number,
            address: place.device,
            offset: offset as u64,
            data: match place.import.as_deref() {
                Some(import) => request.input_in(import, offset, len),
                None => {
                    let host = std::ptr::with_exposed_provenance(place.host + offset);
                    // SAFETY: it is there as long as its chunk is.
                    unsafe { request.input(host, len) }
                }
            },
            bytes: len as u64,
            event,
        };
        request.forward(&args, ended)
    })
}

fn down((entry, stream): (u64, Option<CUstream>), place: &Place) -> CallResult<()> {
    let of = Of {
        entry,
        op: wire::GIL_SHARE_DOWN,
        stream,
    };
    let (offset, len) = (place.part.start, place.part.len());
    of.on(Engine::NONE, |context, lane, mut request, event| {
        let args = wire::GilShareDownArgs {
            current: context.number,
            hStream: lane.number,
            address: place.device,
            offset: offset as u64,
            data: match place.import.as_deref() {
                Some(import) => request.output_in(import, offset, len),
                None => {
                    let host = std::ptr::with_exposed_provenance_mut(place.host + offset);
                    // SAFETY: it is there as long as its chunk is, which ends behind all that uses it.
                    unsafe { request.output_region(host, len) }
                }
            },
            bytes: len as u64,
            event,
        };
        request.forward(&args, ended)
    })
}
