//! A call's memory regions, and a session's bound for them.

use gil_transport::memory::OutOfMemory;
use gil_transport::window::{Kept, Part};
use gil_wire::message::{Direction, RegionDesc};
use std::alloc::Layout;
use std::cell::OnceCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A call that would exceed its session's share of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the call's {asked} bytes of regions exceed the session's bound of {limit} ({used} are held by operations under way): start the agent with a larger --max-memory, or pass less data per call"
)]
pub struct OverBudget {
    /// Bytes of the call's regions; `u64::MAX` if they overflow.
    pub asked: u64,
    /// Bytes held.
    pub used: u64,
    /// The bound.
    pub limit: u64,
}

/// An object that would exceed its session's share of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "its {asked} bytes exceed the session's bound of {limit} for what its objects take of the board's memory ({used} are in use): start the agent with a larger --max-memory, or release what is no longer used"
)]
pub struct NoRoom {
    /// Bytes of the object.
    pub asked: u64,
    /// Bytes of all others.
    pub used: u64,
    /// The bound.
    pub limit: u64,
}

/// How many bytes of regions a session holds, of which each counts what it takes
/// itself at least, and of objects: each up to the bound, so that a program can fill what objects it may have.
#[derive(Clone, Debug)]
pub struct Budget {
    held: Arc<Held>,
    limit: u64,
}

#[derive(Debug, Default)]
struct Held {
    used: AtomicU64,
    objects: AtomicU64,
    spares: Mutex<Spares>,
}

impl Held {
    fn spares(&self) -> MutexGuard<'_, Spares> {
        self.spares.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory of regions that are gone, for the next ones: its pages are there. Its
/// bytes are still the regions'.
#[derive(Debug, Default)]
struct Spares {
    /// The oldest first.
    kept: VecDeque<Vec<u8>>,
    bytes: usize,
}

impl Spares {
    /// The youngest that has this room and not much more: it may be in the
    /// cache, and what a region holds counts by its length.
    fn take(&mut self, len: usize) -> Option<Vec<u8>> {
        let fits = |spare: &Vec<u8>| (len..=len + len / 4).contains(&spare.capacity());
        let at = self.kept.iter().rposition(fits)?;
        let spare = self.kept.remove(at)?;
        self.bytes -= spare.capacity();
        Some(spare)
    }

    /// Keeps it, and the youngest of the others, all together up to `most` bytes.
    fn keep(&mut self, memory: Vec<u8>, most: usize) {
        self.bytes += memory.capacity();
        self.kept.push_back(memory);
        while self.bytes > most || self.kept.len() > SPARES {
            let oldest = self.kept.pop_front();
            self.bytes -= oldest.map_or(0, |oldest| oldest.capacity());
        }
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

/// What a region of so many bytes counts: no less than it takes itself, or
/// regions without bytes would be without bound.
fn counted(len: u64) -> u64 {
    len.max(size_of::<Region>() as u64)
}

/// Regions' memory is kept for the next ones up to this part of the bound.
const SPARE_PART: u64 = 16;
/// Smaller memory is the allocator's business.
const SPARE_LEAST: usize = 128 << 10;
/// So many are kept: a program's calls have regions of a few sizes.
const SPARES: usize = 8;

impl Budget {
    /// A bound of `limit` bytes, or of what this machine can address at all: the
    /// length of a region that is within the bound is a length here.
    pub fn new(limit: u64) -> Self {
        Self {
            held: Arc::default(),
            limit: limit.min(isize::MAX as u64),
        }
    }

    /// Memory with room for `len` bytes; what it holds is of an earlier region,
    /// and no more than that.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn memory(&self, len: usize) -> Result<Vec<u8>, OutOfMemory> {
        if let Some(mut spare) = self.spare(len) {
            spare.truncate(len);
            return Ok(spare);
        }
        let mut memory = Vec::new();
        OutOfMemory::reserve(&mut memory, len)?;
        Ok(memory)
    }

    /// Memory of `len` bytes that hold zeroes or what an earlier region held.
    fn bytes_to_write(&self, len: usize) -> Result<Vec<u8>, OutOfMemory> {
        match self.spare(len) {
            Some(mut spare) => {
                spare.resize(len, 0);
                Ok(spare)
            }
            None => zeroed_bytes(len).ok_or(OutOfMemory(len)),
        }
    }

    /// The memory of a region that is gone, if one had this room.
    fn spare(&self, len: usize) -> Option<Vec<u8>> {
        match len {
            ..SPARE_LEAST => None,
            _ => self.held.spares().take(len),
        }
    }

    /// Takes a region's memory back.
    fn recycle(&self, memory: Vec<u8>) {
        let most = usize::try_from(self.limit / SPARE_PART).unwrap_or(usize::MAX);
        if (SPARE_LEAST..=most).contains(&memory.capacity()) {
            self.held.spares().keep(memory, most);
        }
    }

    /// Bytes held now.
    pub fn used(&self) -> u64 {
        self.held.used.load(Ordering::Relaxed)
    }

    /// Whether regions of these sizes fit.
    ///
    /// # Errors
    /// [`OverBudget`] with the sizes.
    pub fn check(&self, regions: &[RegionDesc]) -> Result<(), OverBudget> {
        let sum = regions
            .iter()
            .try_fold(0u64, |sum, region| sum.checked_add(counted(region.len)));
        let (asked, used) = (sum.unwrap_or(u64::MAX), self.used());
        // What is kept for the next region counts as well, unless it is in
        // the way.
        if asked > (self.limit - self.limit / SPARE_PART).saturating_sub(used) {
            self.held.spares().clear();
        }
        if asked > self.limit.saturating_sub(used) {
            return Err(OverBudget {
                asked,
                used,
                limit: self.limit,
            });
        }
        Ok(())
    }

    fn hold(&self, len: u64) -> Charge {
        let len = counted(len);
        self.held.used.fetch_add(len, Ordering::Relaxed);
        Charge {
            budget: self.clone(),
            len,
        }
    }

    /// Most bytes of objects.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Counts an object of so many bytes.
    ///
    /// # Errors
    /// [`NoRoom`].
    pub fn object(&self, len: u64) -> Result<Counted, NoRoom> {
        let limit = self.limit;
        let more = |used: u64| used.checked_add(len).filter(|sum| *sum <= limit);
        let (order, objects) = (Ordering::Relaxed, &self.held.objects);
        let fits = objects.fetch_update(order, order, more);
        let no_room = |used| NoRoom {
            asked: len,
            used,
            limit,
        };
        fits.map_err(no_room)?;
        Ok(Counted {
            held: self.held.clone(),
            len,
        })
    }
}

/// Bytes of an object, which count until this is dropped.
#[derive(Debug)]
pub struct Counted {
    held: Arc<Held>,
    len: u64,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.held.objects.fetch_sub(self.len, Ordering::Relaxed);
    }
}

/// Bytes that count against a budget until this is dropped.
#[derive(Debug)]
struct Charge {
    budget: Budget,
    len: u64,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.held.used.fetch_sub(self.len, Ordering::Relaxed);
    }
}

/// A pointer argument's memory on the board: a copy, or some of the window. Its
/// address never changes while it lives, however often it is moved, until
/// [`bytes_mut`](Self::bytes_mut).
#[derive(Debug)]
pub struct Region {
    dir: Direction,
    /// The window's part, if it is there.
    part: Option<Part>,
    /// The bytes; of a part, what they were when they were first asked for.
    own: OnceCell<Vec<u8>>,
    charge: Charge,
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Some(memory) = self.own.take() {
            self.charge.budget.recycle(memory);
        }
    }
}

impl Region {
    /// A region that the board only writes. Until it does, it holds zeroes or
    /// what an earlier region of this session held: to touch new pages would
    /// take longer than many a transfer.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn to_write(len: usize, budget: &Budget) -> Result<Self, OutOfMemory> {
        let bytes = budget.bytes_to_write(len)?;
        Ok(Self::holding(Direction::Out, bytes, budget))
    }

    /// A region with the guest's bytes.
    pub fn holding(dir: Direction, bytes: Vec<u8>, budget: &Budget) -> Self {
        let charge = budget.hold(bytes.len() as u64);
        Self {
            dir,
            part: None,
            own: OnceCell::from(bytes),
            charge,
        }
    }

    /// A region in the window: a driver may use it during its call only.
    pub fn shared(dir: Direction, part: Part, budget: &Budget) -> Self {
        Self {
            dir,
            charge: budget.hold(part.len() as u64),
            part: Some(part),
            own: OnceCell::new(),
        }
    }

    /// The direction of its bytes.
    pub fn dir(&self) -> Direction {
        self.dir
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        let own = || self.own.get().map_or(0, Vec::len);
        self.part.as_ref().map_or_else(own, Part::len)
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it is in the window.
    pub fn is_shared(&self) -> bool {
        self.part.is_some()
    }

    /// Where in the window it is, if the window's pages stay there.
    pub fn kept(&self) -> Option<Kept> {
        self.part.as_ref()?.kept()
    }

    /// Has it in memory of its own from now on.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn leave_window(&mut self) -> Result<(), OutOfMemory> {
        if self.part.is_some() && self.own.get().is_none() {
            let budget = self.charge.budget.clone();
            let own = match self.dir.is_in() {
                true => {
                    let mut memory = budget.memory(self.len())?;
                    memory.clear();
                    self.part.iter().for_each(|part| part.copy_to(&mut memory));
                    memory
                }
                false => budget.bytes_to_write(self.len())?,
            };
            self.own = OnceCell::from(own);
        }
        self.part = None;
        Ok(())
    }

    /// The bytes. Of a region in the window, a copy that nobody else changes,
    /// made when they are first asked for.
    pub fn bytes(&self) -> &[u8] {
        self.own.get_or_init(|| {
            let mut copy = Vec::new();
            if let Some(part) = &self.part {
                part.copy_to(&mut copy);
            }
            copy
        })
    }

    /// The bytes, to write. A region in the window leaves it.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes();
        self.part = None;
        self.own.get_mut().expect("made by bytes()")
    }

    /// Where a driver reads data: never lengths, which a peer could change
    /// after they were checked.
    pub fn data_ptr(&self) -> *const u8 {
        match &self.part {
            Some(part) => part.as_mut_ptr().cast_const(),
            None => self.bytes().as_ptr(),
        }
    }

    /// The address that a driver writes to.
    pub fn data_mut_ptr(&mut self) -> *mut u8 {
        match &self.part {
            Some(part) => part.as_mut_ptr(),
            None => self.bytes_mut().as_mut_ptr(),
        }
    }
}

/// Zeroes that cost nothing until they are touched; `None` instead of an abort.
pub(crate) fn zeroed_bytes(len: usize) -> Option<Vec<u8>> {
    if len == 0 {
        return Some(Vec::new());
    }
    let layout = Layout::array::<u8>(len).ok()?;
    // SAFETY: the layout has a size above 0; a pointer that is not null is of
    // the global allocator, with this layout and `len` initialised bytes.
    unsafe {
        let start = std::alloc::alloc_zeroed(layout);
        (!start.is_null()).then(|| Vec::from_raw_parts(start, len, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(len: u64) -> RegionDesc {
        RegionDesc {
            len,
            dir: Direction::Out,
        }
    }

    #[test]
    fn a_region_counts_until_it_is_dropped() {
        let budget = Budget::new(10_000);
        let region = Region::to_write(6_000, &budget).unwrap();
        assert_eq!(budget.used(), 6_000);
        assert_eq!(budget.check(&[out(4_000)]), Ok(()));
        let over = budget.check(&[out(2_000), out(2_001)]).unwrap_err();
        assert_eq!((over.asked, over.used, over.limit), (4_001, 6_000, 10_000));
        drop(region);
        assert_eq!(budget.used(), 0);
        assert_eq!(budget.check(&[out(10_000)]), Ok(()));
        assert!(budget.check(&[out(u64::MAX), out(2)]).is_err());
    }

    #[test]
    fn a_region_counts_what_it_takes_itself() {
        let own = size_of::<Region>() as u64;
        let budget = Budget::new(3 * own);
        assert_eq!(budget.check(&[out(0), out(1), out(own)]), Ok(()));
        assert!(budget.check(&[out(0); 4]).is_err());
        let empty = Region::holding(Direction::In, Vec::new(), &budget);
        let small = Region::to_write(1, &budget).unwrap();
        assert_eq!(budget.used(), 2 * own);
        assert!(budget.check(&[out(0); 2]).is_err());
        drop((empty, small));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn an_object_counts_until_it_is_dropped() {
        let budget = Budget::new(100);
        let _region = Region::to_write(90, &budget).unwrap();
        let object = budget.object(60).unwrap();
        let over = budget.object(41).unwrap_err();
        assert_eq!((over.asked, over.used, over.limit), (41, 60, 100));
        assert!(budget.object(u64::MAX).is_err());
        drop(object);
        assert!(budget.object(100).is_ok());
    }

    #[test]
    fn the_next_region_has_the_memory_of_the_last() {
        let budget = Budget::new(64 * SPARE_LEAST as u64);
        let mut memory = budget.memory(SPARE_LEAST).unwrap();
        memory.resize(SPARE_LEAST, 1);
        let at = memory.as_ptr();
        drop(Region::holding(Direction::In, memory, &budget));
        let again = Region::to_write(SPARE_LEAST, &budget).unwrap();
        assert_eq!((again.data_ptr(), again.len()), (at, SPARE_LEAST));
        drop(again);
        let again = budget.memory(SPARE_LEAST).unwrap();
        assert_eq!((again.as_ptr(), again.len()), (at, SPARE_LEAST));
        budget.recycle(again);
        let all = out(64 * SPARE_LEAST as u64);
        assert_eq!(budget.check(&[all]), Ok(()));
        assert_eq!(budget.held.spares().kept.len(), 0);
    }

    #[test]
    fn regions_of_several_sizes_have_theirs_again() {
        let budget = Budget::new(64 * SPARE_LEAST as u64);
        let sizes = [SPARE_LEAST, 2 * SPARE_LEAST];
        let made = sizes.map(|len| Region::to_write(len, &budget).unwrap());
        let at = made.each_ref().map(Region::data_ptr);
        drop(made);
        let again = sizes.map(|len| Region::to_write(len, &budget).unwrap());
        assert_eq!(again.each_ref().map(Region::data_ptr), at);
        drop(again);
        // A sixteenth of the bound is kept, the youngest of it.
        drop(Region::to_write(3 * SPARE_LEAST, &budget).unwrap());
        let kept: Vec<_> = budget.held.spares().kept.iter().map(Vec::len).collect();
        assert_eq!(kept, [3 * SPARE_LEAST]);
    }

    #[test]
    fn absurd_lengths_are_errors() {
        let budget = Budget::new(u64::MAX);
        // On a machine of 32 bits, 4 GiB would be no bytes at all.
        assert!(budget.check(&[out(isize::MAX as u64)]).is_ok());
        assert!(budget.check(&[out(isize::MAX as u64 + 1)]).is_err());
        assert!(Region::to_write(usize::MAX / 2 + 1, &budget).is_err());
    }
}
