//! The guest's memory at given addresses: allocations may share their first
//! and last page with their neighbours.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ops::Range;

/// One allocation.
#[derive(Clone, Copy, Debug)]
struct Allocation {
    size: usize,
    /// The board may have given its addresses to another by now.
    doomed: bool,
}

/// Allocations by their first address, each with memory behind it.
#[derive(Debug)]
pub struct Pages {
    allocations: BTreeMap<usize, Allocation>,
}

impl Default for Pages {
    fn default() -> Self {
        Self::new()
    }
}

impl Pages {
    /// No allocation.
    pub const fn new() -> Self {
        Self {
            allocations: BTreeMap::new(),
        }
    }

    /// Whether all of `size` bytes at `address` are in one allocation.
    pub fn contains(&self, address: usize, size: usize) -> bool {
        let around = self.allocations.range(..=address).next_back();
        around.is_some_and(|(base, found)| {
            let inside = address - base;
            inside < found.size && size <= found.size - inside
        })
    }

    /// Puts memory behind `size` bytes at `address`. False if something else is
    /// there.
    pub fn adopt(&mut self, address: usize, size: usize) -> bool {
        let Some(end) = address.checked_add(size).filter(|_| size > 0) else {
            return false;
        };
        self.bury_doomed(address..end);
        if self.overlaps(address..end) || !map(self.own_pages(address..end)) {
            return false;
        }
        let doomed = false;
        self.allocations
            .insert(address, Allocation { size, doomed });
        true
    }

    /// The memory behind an allocation goes; gives its size, or none if there
    /// is no such allocation.
    pub fn abandon(&mut self, address: usize) -> Option<usize> {
        let size = self.allocations.remove(&address)?.size;
        unmap(self.own_pages(address..address + size));
        Some(size)
    }

    /// The board frees an allocation some time from now.
    pub fn doom(&mut self, address: usize) {
        if let Some(allocation) = self.allocations.get_mut(&address) {
            allocation.doomed = true;
        }
    }

    /// As [`abandon`](Self::abandon), if it is still the doomed one.
    pub fn bury(&mut self, address: usize) {
        if self.allocations.get(&address).is_some_and(|a| a.doomed) {
            self.abandon(address);
        }
    }

    fn bury_doomed(&mut self, range: Range<usize>) {
        let doomed = |(base, a): (&usize, &Allocation)| {
            (a.doomed && base + a.size > range.start).then_some(*base)
        };
        let before = self.allocations.range(..range.end);
        let gone: Vec<usize> = before.filter_map(doomed).collect();
        for address in gone {
            self.abandon(address);
        }
    }

    fn overlaps(&self, range: Range<usize>) -> bool {
        let last = self.allocations.range(..range.end).next_back();
        last.is_some_and(|(base, found)| base + found.size > range.start)
    }

    /// The whole pages of a range that no allocation has yet.
    fn own_pages(&self, range: Range<usize>) -> Range<usize> {
        let page = page_size();
        let mut start = range.start / page * page;
        let mut end = range.end.next_multiple_of(page);
        if self.overlaps(start..start + page) {
            start += page;
        }
        if start < end && self.overlaps(end - page..end) {
            end -= page;
        }
        start..end
    }
}

fn page_size() -> usize {
    // SAFETY: asks for a constant of the system.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as usize
}

/// `MAP_FIXED_NOREPLACE` of `linux/mman.h`, which the crate libc does not have for Android.
const FIXED_NOREPLACE: libc::c_int = 0x10_0000;

fn map(range: Range<usize>) -> bool {
    if range.is_empty() {
        return true;
    }
    let (wanted, len) = (range.start as *mut c_void, range.end - range.start);
    let (prot, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | FIXED_NOREPLACE,
    );
    // SAFETY: new memory, only where there is none.
    let found = unsafe { libc::mmap(wanted, len, prot, flags, -1, 0) };
    if found != libc::MAP_FAILED && found != wanted {
        // A kernel that does not know the flag takes the address for a hint.
        // SAFETY: the memory just made.
        unsafe { libc::munmap(found, len) };
    }
    found == wanted
}

fn unmap(range: Range<usize>) {
    if !range.is_empty() {
        let (start, len) = (range.start as *mut c_void, range.end - range.start);
        // SAFETY: pages that `map` made and no allocation uses any more.
        unsafe { libc::munmap(start, len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An address with nothing for some pages around it.
    fn free_address() -> usize {
        let len = 64 * page_size();
        // SAFETY: new memory where the kernel likes, given back at once.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let found = libc::mmap(std::ptr::null_mut(), len, libc::PROT_NONE, flags, -1, 0);
            assert_ne!(found, libc::MAP_FAILED);
            libc::munmap(found, len);
            found as usize
        }
    }

    fn is_mapped(address: usize) -> bool {
        let page = address / page_size() * page_size();
        // SAFETY: asks about a page; writes nothing.
        unsafe { libc::msync(page as *mut c_void, 1, libc::MS_ASYNC) == 0 }
    }

    #[test]
    fn neighbours_share_pages() {
        let (page, base) = (page_size(), free_address());
        let mut pages = Pages::new();
        assert!(pages.adopt(base + 0x100, 0x100));
        assert!(pages.adopt(base + 0x200, 2 * page), "shares the first page");
        assert!(pages.adopt(base + 0x200 + 2 * page, 8));
        assert!(pages.contains(base + 0x1ff, 1) && !pages.contains(base + 0x1ff, 2));
        assert!(pages.contains(base + 0x200, 2 * page));
        assert_eq!(pages.abandon(base + 0x100), Some(0x100));
        assert!(is_mapped(base), "the neighbour is there");
        assert_eq!(pages.abandon(base + 0x200), Some(2 * page));
        assert!(!is_mapped(base) && !is_mapped(base + page));
        assert!(is_mapped(base + 2 * page));
        assert_eq!(pages.abandon(base + 0x200 + 2 * page), Some(8));
        assert!(!is_mapped(base + 2 * page));
        assert_eq!(pages.abandon(base), None);
    }

    #[test]
    fn what_is_there_stays() {
        let mut pages = Pages::new();
        let own = Box::new([7u8; 64]);
        assert!(!pages.adopt(own.as_ptr() as usize, 64));
        assert!(!pages.adopt(usize::MAX - 8, 64));
        assert_eq!(own[63], 7);
    }

    #[test]
    fn the_doomed_give_way() {
        let base = free_address();
        let mut pages = Pages::new();
        assert!(pages.adopt(base, 100));
        assert!(!pages.adopt(base + 50, 100));
        pages.doom(base);
        assert!(pages.adopt(base + 50, 100));
        pages.bury(base + 50);
        assert!(pages.contains(base + 50, 100), "it is not doomed");
        assert!(!pages.contains(base, 1));
        pages.abandon(base + 50);
    }
}
