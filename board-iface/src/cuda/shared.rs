//! Memory that the program and its kernels share: managed and mapped memory. The device has
//! memory of its own for it, and the guest has as much, at the same address if it can. Before
//! an operation that may use it, what the program changed goes to the device; behind it, what
//! the device changed comes back. What changed is what differs from a copy, which both had
//! at last: so each side's changes are told apart, also in neighbouring bytes.

use super::generated::types::*;
use super::manual::call_if;
use super::memory::Owner;
use super::pinned::Staged;
use super::session::{At, Session};
use crate::back_end::call::Memory;
use crate::back_end::{self, Call, Current, Objects, Refusal};
use crate::region::{Budget, Counted};
use gil_address_tables::{exact_changes, joined};
use gil_wire::call::{Handle, InData, OutRoom};
use gil_wire::differences;
use std::collections::BTreeMap;
use std::ops::Range;

/// Addresses are multiples of this: of the size of a page, in every guest.
const ALIGNMENT: u64 = 1 << 16;
/// Bytes between two changes of the program's that go to the device with them: a copy costs more
/// than they do.
const GAP: usize = 64;
/// The same while nothing of the session's is under way that may change them meanwhile.
const GAP_IF_IDLE: usize = 4096;
/// Bytes between two of a kernel's changes that go back with them, if the differences are longer
/// than the memory otherwise.
const GAPS: [usize; 4] = [0, 8, 64, 4096];

/// What the session shares, by the device's address.
#[derive(Debug)]
pub struct Shared {
    blocks: BTreeMap<u64, Block>,
    /// Of which the copies are.
    budget: Budget,
}

/// One allocation.
#[derive(Debug)]
struct Block {
    context: Handle,
    /// Where the driver allocated it.
    base: u64,
    /// What both sides had at last.
    copy: Vec<u8>,
    _counted: Counted,
    /// How many operations are under way that bring back what the device has.
    under_way: usize,
}

/// What the next operation on a stream is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// The program's changes go to the device.
    Up,
    /// The device's come back.
    Down(Snapshot),
}

/// Memory that is shared, or a part of it, as the device has it at an operation's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    address: u64,
    offset: usize,
    len: usize,
}

impl Snapshot {
    fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.len
    }
}

impl Shared {
    /// Nothing yet; copies count against the session's memory.
    pub fn new(budget: Budget) -> Self {
        Self {
            blocks: BTreeMap::new(),
            budget,
        }
    }

    /// Room for a copy, all zero.
    fn copy(&self, len: usize) -> Option<(Vec<u8>, Counted)> {
        let counted = self.budget.object(len as u64).ok()?;
        let mut copy = Vec::new();
        copy.try_reserve_exact(len).ok()?;
        copy.resize(len, 0);
        Some((copy, counted))
    }

    /// A part of what a context shares, if it is one.
    fn part(&mut self, context: Handle, part: &Snapshot) -> Option<(&mut Block, Range<usize>)> {
        let block = self.blocks.get_mut(&part.address)?;
        let end = part.offset.checked_add(part.len)?;
        let is_its = block.context == context && end <= block.copy.len();
        is_its.then_some((block, part.range()))
    }

    /// An operation has begun that brings back what the device has.
    pub fn is_under_way(&mut self, snapshot: &Snapshot) {
        if let Some(block) = self.blocks.get_mut(&snapshot.address) {
            block.under_way += 1;
        }
    }

    /// It ended. Its output becomes what the device changed, if it brought what is there.
    pub fn taken(&mut self, snapshot: &Snapshot, is_done: bool, memory: &mut Memory) {
        let Some(block) = self.blocks.get_mut(&snapshot.address) else {
            return memory.make(|_| Vec::new());
        };
        block.under_way = block.under_way.saturating_sub(1);
        let copy = block.copy.get_mut(snapshot.range());
        memory.make(
            |now| match copy.filter(|copy| is_done && copy.len() == now.len()) {
                Some(copy) => changed(copy, now),
                None => Vec::new(),
            },
        );
    }

    /// A context is gone, and what it shared.
    pub fn forget(&mut self, context: Handle) {
        self.blocks.retain(|_, block| block.context != context);
    }
}

/// Brings a copy up to date; the differences, which are no longer than the memory.
fn changed(copy: &mut [u8], now: &[u8]) -> Vec<u8> {
    let exact = exact_changes(copy, now);
    for range in &exact {
        copy[range.clone()].copy_from_slice(&now[range.clone()]);
    }
    let mut out = Vec::new();
    for gap in GAPS {
        differences::encode(now, &joined(&exact, gap), &mut out);
        if out.len() < now.len() {
            break;
        }
    }
    out
}

impl Session {
    /// Memory for the program to share, all zero.
    pub(super) fn share(
        &mut self,
        call: &mut Call,
        context: Handle,
        bytes: u64,
    ) -> Result<(CUresult, u64), Refusal> {
        self.make_current(context)?;
        let len = back_end::size(bytes, "bytes")?;
        let copy = self.shared.copy(len).filter(|_| self.ranges.has_room());
        let Some((copy, counted)) = copy else {
            return Ok((CUDA_ERROR_OUT_OF_MEMORY, 0));
        };
        let (result, base, address) = self.allocate_aligned(call, len);
        if result != CUDA_SUCCESS {
            return Ok((result, 0));
        }
        let set = self.functions().cuMemsetD8_v2;
        // SAFETY: it is the session's memory, of as many bytes.
        let result = call_if(call, set, |set| unsafe { set(address, 0, len) });
        if result != CUDA_SUCCESS {
            self.free_base(call, base);
            return Ok((result, 0));
        }
        self.ranges.add(address, bytes, Owner::Shared(context));
        let block = Block {
            context,
            base,
            copy,
            _counted: counted,
            under_way: 0,
        };
        self.shared.blocks.insert(address, block);
        Ok((CUDA_SUCCESS, address))
    }

    /// The device's memory from a multiple of [`ALIGNMENT`] on, and where the driver allocated it.
    fn allocate_aligned(&mut self, call: &mut Call, len: usize) -> (CUresult, u64, u64) {
        let allocate = self.functions().cuMemAlloc_v2;
        // Drivers align what is large by themselves.
        for more in [0, ALIGNMENT as usize] {
            let mut base = 0;
            let result = call_if(call, allocate, |allocate| {
                // SAFETY: there is space for an address.
                unsafe { allocate(&mut base, len.saturating_add(more)) }
            });
            let address = base.next_multiple_of(ALIGNMENT);
            if result != CUDA_SUCCESS || address - base <= more as u64 {
                return (result, base, address);
            }
            self.free_base(call, base);
        }
        (CUDA_ERROR_OUT_OF_MEMORY, 0, 0)
    }

    fn free_base(&mut self, call: &mut Call, base: u64) -> CUresult {
        let free = self.functions().cuMemFree_v2;
        // SAFETY: it is the session's, and was allocated at this address.
        call_if(call, free, |free| unsafe { free(base) })
    }

    /// Memory is shared no more.
    pub(super) fn unshare(
        &mut self,
        call: &mut Call,
        (context, address): (Handle, u64),
    ) -> Result<CUresult, Refusal> {
        self.make_current(context)?;
        let is_its = |block: &Block| block.context == context && block.under_way == 0;
        if !self.shared.blocks.get(&address).is_some_and(is_its) {
            return Ok(CUDA_ERROR_INVALID_VALUE);
        }
        self.ranges.take_shared(address);
        match self.shared.blocks.remove(&address) {
            Some(block) => Ok(self.free_base(call, block.base)),
            None => Ok(CUDA_ERROR_INVALID_VALUE),
        }
    }

    /// What the program changed goes to the device.
    pub(super) fn share_up(
        &mut self,
        call: &mut Call,
        at: At,
        (part, data): (Snapshot, &InData<'_>),
    ) -> Result<CUresult, Refusal> {
        let gap = match self.operations.is_empty() {
            true => GAP_IF_IDLE,
            false => GAP,
        };
        // What comes back is compared with what went up before: the host asks for it first.
        let found = self.shared.part(at.context, &part);
        let Some((block, range)) = found.filter(|(block, _)| block.under_way == 0) else {
            return Ok(self.refuse(call, CUDA_ERROR_INVALID_VALUE));
        };
        let now = call.bytes(data)?.unwrap_or_default();
        if now.len() != part.len {
            return Ok(self.refuse(call, CUDA_ERROR_INVALID_VALUE));
        }
        let copy = &mut block.copy[range];
        let exact = exact_changes(copy, now);
        let ranges = joined(&exact, gap);
        for range in &exact {
            copy[range.clone()].copy_from_slice(&now[range.clone()]);
        }
        if ranges.is_empty() {
            return self.put(call, at, None);
        }
        let all: usize = ranges.iter().map(Range::len).sum();
        let pieces = || ranges.iter().map(|range| &now[range.clone()]);
        let places = match self.pinned(at.context, all)? {
            Some(block) => {
                let places = block.gather(pieces());
                self.staged = Some(Staged::up(block));
                places
            }
            None => pieces().map(|piece| piece.as_ptr().cast()).collect(),
        };
        self.sharing = Some(Sharing::Up);
        let first = part.address + part.offset as u64;
        let put = self.put(
            call,
            at,
            Some(&|functions, stream| {
                let Some(copy) = functions.cuMemcpyHtoDAsync_v2 else {
                    return CUDA_ERROR_NOT_SUPPORTED;
                };
                for (range, place) in ranges.iter().zip(&places) {
                    let to = first + range.start as u64;
                    // SAFETY: both have as many bytes; those that are not pinned are taken before
                    // the driver returns.
                    let result = unsafe { copy(to, *place, range.len(), stream) };
                    if result != CUDA_SUCCESS {
                        return result;
                    }
                }
                CUDA_SUCCESS
            }),
        );
        self.unstage(at.context);
        put
    }

    /// What the device changed comes back.
    pub(super) fn share_down(
        &mut self,
        call: &mut Call,
        at: At,
        (part, room): (Snapshot, OutRoom),
    ) -> Result<CUresult, Refusal> {
        if self.shared.part(at.context, &part).is_none() {
            return Ok(self.refuse(call, CUDA_ERROR_INVALID_VALUE));
        }
        let is_region = matches!(room, OutRoom::Region(_));
        let mut room = call.output(room, part.len)?;
        if !is_region || room.room() != part.len {
            return Ok(self.refuse(call, CUDA_ERROR_INVALID_VALUE));
        }
        let mut to = room.as_mut_ptr();
        if let Some(block) = self.pinned(at.context, part.len)? {
            let place = std::mem::replace(&mut to, block.address());
            self.staged = Some(Staged::down(block, place, part.len));
        }
        self.sharing = Some(Sharing::Down(part));
        let from = part.address + part.offset as u64;
        let put = self.put(
            call,
            at,
            Some(&|functions, stream| {
                let copy = functions.cuMemcpyDtoHAsync_v2;
                // SAFETY: both have as many bytes, until the operation ends.
                copy.map_or(CUDA_ERROR_NOT_SUPPORTED, |copy| unsafe {
                    copy(to, from, part.len, stream)
                })
            }),
        );
        self.unstage(at.context);
        put
    }
}

/// A part of memory that is shared, as a call names it.
///
/// # Errors
/// [`Refusal`] for numbers that are no sizes here.
pub fn part(address: u64, offset: u64, bytes: u64) -> Result<Snapshot, Refusal> {
    Ok(Snapshot {
        address,
        offset: back_end::size(offset, "offset")?,
        len: back_end::size(bytes, "bytes")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_what_changed_stay_as_long_as_that_fits() {
        let (mut copy, mut now) = (vec![0; 4096], vec![0; 4096]);
        for at in (0..1024).step_by(16) {
            now[at] = 1;
        }
        let out = changed(&mut copy, &now);
        assert_eq!(copy, now);
        let ranges = differences::decode(&out, now.len()).unwrap();
        assert_eq!(ranges.len(), 64, "each by itself");
        // Each second byte: nine bytes for one.
        for at in (0..1024).step_by(2) {
            now[at] = 2;
        }
        let out = changed(&mut copy, &now);
        let ranges = differences::decode(&out, now.len()).unwrap();
        assert_eq!((ranges[0].0, ranges[0].1.len()), (0, 1023));
        assert!(changed(&mut copy, &now).is_empty());
    }

    /// A hundred bytes at an address, of a context.
    fn shared(address: u64, context: Handle) -> Shared {
        let mut shared = Shared::new(Budget::new(1000));
        let (copy, counted) = shared.copy(100).unwrap();
        let block = Block {
            context,
            base: address,
            copy,
            _counted: counted,
            under_way: 0,
        };
        shared.blocks.insert(address, block);
        shared
    }

    #[test]
    fn only_what_a_context_shares_is_named() {
        let (one, other) = (Handle(1), Handle(2));
        let mut shared = shared(1 << 16, one);
        let mut has = |context, address, offset, len| {
            // Narrow boards have no such sizes at all.
            part(address, offset, len).is_ok_and(|part| shared.part(context, &part).is_some())
        };
        assert!(has(one, 1 << 16, 0, 100) && has(one, 1 << 16, 100, 0));
        assert!(!has(other, 1 << 16, 0, 1) && !has(one, 1, 0, 1));
        for (offset, len) in [(0, 101), (99, 2), (101, 0), (u64::MAX, 2), (2, u64::MAX)] {
            assert!(!has(one, 1 << 16, offset, len), "{offset}, {len}");
        }
        shared.forget(one);
        assert!(shared.blocks.is_empty());
    }

    #[test]
    fn copies_count_against_the_sessions_memory() {
        let shared = shared(1 << 16, Handle(1));
        assert!(shared.copy(901).is_none());
        assert!(shared.copy(900).is_some());
        assert!(shared.copy(usize::MAX).is_none());
    }

    #[test]
    fn what_was_not_brought_is_no_change() {
        let mut shared = shared(1 << 16, Handle(1));
        let snapshot = part(1 << 16, 0, 100).unwrap();
        for is_done in [false, true] {
            shared.is_under_way(&snapshot);
            // There is no output to compare.
            shared.taken(&snapshot, is_done, &mut Memory::default());
            assert_eq!(shared.blocks[&(1 << 16)].under_way, 0);
        }
        shared.taken(&part(7, 0, 1).unwrap(), true, &mut Memory::default());
    }
}
