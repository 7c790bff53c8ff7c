//! Memory of a GPU's address spaces, as the guest's own kernel driver mapped it: the pages
//! of windows, at the guest's GPU addresses. Each window has a shadow, which has the bytes
//! that guest and board last agreed on.

use super::guest::copied;
use super::node::{GpuMemory, Unmapped};
use super::refusal::Refusal;
use crate::board::Output;
use crate::region::{Budget, Counted, Region};
use gil_address_tables::Differ;
use gil_wire::differences;
use gil_wire::gpu::{PAGE, WINDOW, Window};
use nix::errno::Errno;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

/// A window's mapped pages, one behind the other.
struct Held {
    /// Which they are, as in [`Window`].
    pages: [u8; 32],
    bytes: Vec<u8>,
    shadow: Vec<u8>,
    _counted: Counted,
}

impl Held {
    /// With all of its bytes.
    fn new(window: &Window, bytes: &[u8], budget: &Budget) -> Result<Self, Refusal> {
        let wanted = window.len();
        if bytes.len() != wanted {
            return Err(Refusal::Region { index: 0, wanted });
        }
        Ok(Self {
            // The shadow is as large.
            _counted: budget.object(2 * wanted as u64)?,
            pages: window.pages,
            bytes: copied(bytes)?,
            shadow: copied(bytes)?,
        })
    }

    /// With as many other pages: who sends differences has those of before, one behind the
    /// other, as what was sent last.
    fn moved(mut self, window: &Window, bytes: &[u8]) -> Result<Self, Refusal> {
        for (offset, bytes) in differences::decode(bytes, self.shadow.len())? {
            self.shadow[offset..offset + bytes.len()].copy_from_slice(bytes);
        }
        self.bytes.copy_from_slice(&self.shadow);
        self.pages = window.pages;
        Ok(self)
    }

    /// Where a page of the window is in its bytes, if it is mapped.
    fn offset(&self, page: usize) -> Option<usize> {
        let (before, bits) = (self.pages.get(..page / 8)?, self.pages.get(page / 8)?);
        let bit = 1_u8 << (page % 8);
        if bits & bit == 0 {
            return None;
        }
        let mapped: u32 = before.iter().map(|byte| byte.count_ones()).sum();
        let mapped = mapped + (bits & (bit - 1)).count_ones();
        Some(mapped as usize * PAGE as usize)
    }
}

/// The windows of all address spaces.
pub struct Spaces {
    /// By space and GPU address.
    all: BTreeMap<(u32, u64), Held>,
    differ: Differ,
    /// What differed last.
    changed: Vec<Range<usize>>,
    /// As it travels.
    encoded: Vec<u8>,
    /// Wall time of comparing and writing.
    took: Duration,
    budget: Budget,
}

impl Spaces {
    /// None.
    pub fn new(budget: &Budget) -> Self {
        Self {
            all: BTreeMap::new(),
            differ: Differ::shared(),
            changed: Vec::new(),
            encoded: Vec::new(),
            took: Duration::ZERO,
            budget: budget.clone(),
        }
    }

    /// The guest maps nothing in this window any more.
    pub fn unmap(&mut self, window: &Window) {
        self.all.remove(&(window.space, window.address));
    }

    /// The guest has these bytes in a window: all of them if it is new or another number of
    /// pages is mapped there now, or else differences from what it had.
    ///
    /// # Errors
    /// [`Refusal`]. A window that is new or has other pages is not there then.
    pub fn push(&mut self, window: &Window, bytes: &[u8]) -> Result<(), Refusal> {
        let began = Instant::now();
        let key = (window.space, window.address);
        if self
            .all
            .get(&key)
            .is_some_and(|it| it.pages == window.pages)
        {
            self.update(key, bytes)?;
        } else {
            let before = self.all.remove(&key);
            let before = before.filter(|it| it.bytes.len() == window.len());
            let held = match before {
                Some(before) => before.moved(window, bytes)?,
                None => Held::new(window, bytes, &self.budget)?,
            };
            self.all.insert(key, held);
        }
        self.took += began.elapsed();
        Ok(())
    }

    /// What a job wrote beside the differences stays.
    fn update(&mut self, key: (u32, u64), bytes: &[u8]) -> Result<(), Refusal> {
        let held = self.all.get_mut(&key).ok_or(Errno::ENOENT)?;
        let ranges = differences::decode(bytes, held.bytes.len())?;
        if bytes.len() == held.bytes.len() {
            // Of all bytes, those count that the guest did not have before.
            self.differ
                .update(&mut held.shadow, bytes, &mut self.changed);
            for range in &self.changed {
                held.bytes[range.clone()].copy_from_slice(&bytes[range.clone()]);
            }
            return Ok(());
        }
        for (offset, bytes) in ranges {
            let range = offset..offset + bytes.len();
            held.bytes[range.clone()].copy_from_slice(bytes);
            held.shadow[range].copy_from_slice(bytes);
        }
        Ok(())
    }

    /// What the guest does not have yet of a window, as differences, in a region of the
    /// window's length.
    ///
    /// # Errors
    /// `ENOENT` if it is not there, or has other pages.
    pub fn pull(&mut self, window: &Window, mut region: Region) -> Result<Output, Errno> {
        let began = Instant::now();
        let held = self.all.get_mut(&(window.space, window.address));
        let held = held.filter(|it| it.pages == window.pages);
        let held = held.ok_or(Errno::ENOENT)?;
        self.differ
            .update(&mut held.shadow, &held.bytes, &mut self.changed);
        differences::encode(&held.bytes, &self.changed, &mut self.encoded);
        let len = self.encoded.len();
        if len > 0 {
            let bytes = region.bytes_mut().get_mut(..len).ok_or(Errno::EINVAL)?;
            bytes.copy_from_slice(&self.encoded);
        }
        self.took += began.elapsed();
        Ok(match len {
            0 => Output::None,
            _ => Output::Bytes { region, len },
        })
    }

    /// Wall time that windows' memory took since the last look.
    pub fn take_time(&mut self) -> Duration {
        std::mem::take(&mut self.took)
    }

    /// The memory of an address space.
    pub fn memory(&mut self, space: u32) -> Memory<'_> {
        Memory {
            spaces: self,
            space,
        }
    }
}

/// The memory of one address space.
pub struct Memory<'s> {
    spaces: &'s mut Spaces,
    space: u32,
}

impl Memory<'_> {
    /// The window of an address.
    fn key(&self, address: u64) -> (u32, u64) {
        (self.space, address - address % WINDOW)
    }

    /// Where the bytes from an address to the end of its page are in its window.
    fn page(&self, address: u64) -> Result<(&Held, Range<usize>), Unmapped> {
        let held = self.spaces.all.get(&self.key(address));
        let page = (address % WINDOW / PAGE) as usize;
        let found = held.and_then(|held| Some((held, held.offset(page)?)));
        let (held, offset) = found.ok_or(Unmapped(address))?;
        let within = (address % PAGE) as usize;
        Ok((held, offset + within..offset + PAGE as usize))
    }
}

impl GpuMemory for Memory<'_> {
    fn check(&self, address: u64, len: u64) -> Result<(), Unmapped> {
        if len == 0 {
            return Ok(());
        }
        let last = address.checked_add(len - 1).ok_or(Unmapped(address))?;
        let first = address - address % PAGE;
        let pages = (first..=last).step_by(PAGE as usize);
        pages.map(|page| page.max(address)).try_for_each(|page| {
            self.page(page)?;
            Ok(())
        })
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Unmapped> {
        self.check(address, bytes.len() as u64)?;
        let (mut at, mut rest) = (address, bytes);
        while !rest.is_empty() {
            let (held, range) = self.page(at)?;
            let len = rest.len().min(range.len());
            let (now, later) = rest.split_at_mut(len);
            now.copy_from_slice(&held.bytes[range.start..range.start + len]);
            (at, rest) = (at.wrapping_add(len as u64), later);
        }
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Unmapped> {
        self.check(address, bytes.len() as u64)?;
        let (mut at, mut rest) = (address, bytes);
        while !rest.is_empty() {
            let (_, range) = self.page(at)?;
            let (now, later) = rest.split_at(rest.len().min(range.len()));
            let key = self.key(at);
            let held = self.spaces.all.get_mut(&key).ok_or(Unmapped(at))?;
            held.bytes[range.start..range.start + now.len()].copy_from_slice(now);
            (at, rest) = (at.wrapping_add(now.len() as u64), later);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_wire::message::Direction;
    use proptest::prelude::*;

    const AT: u64 = 5 * WINDOW;

    fn budget() -> Budget {
        Budget::new(8 << 20)
    }

    /// A window of space 1 with these pages.
    fn window(address: u64, pages: &[usize]) -> Window {
        let mut bits = [0; 32];
        pages.iter().for_each(|n| bits[n / 8] |= 1 << (n % 8));
        Window {
            space: 1,
            address,
            pages: bits,
        }
    }

    fn filled(window: &Window, byte: u8) -> Vec<u8> {
        vec![byte; window.len()]
    }

    fn pull(spaces: &mut Spaces, window: &Window) -> Result<Vec<u8>, Errno> {
        let region = Region::holding(Direction::Out, filled(window, 0), &budget());
        Ok(spaces.pull(window, region)?.bytes().to_vec())
    }

    #[test]
    fn pages_are_where_the_guest_mapped_them() {
        let mut spaces = Spaces::new(&budget());
        // The last page of a window and the first of the next.
        let (first, second) = (window(AT, &[3, 255]), window(AT + WINDOW, &[0, 9]));
        spaces.push(&first, &filled(&first, 1)).unwrap();
        spaces.push(&second, &filled(&second, 2)).unwrap();
        let mut memory = spaces.memory(1);
        let border = AT + WINDOW;
        memory.write(border - 2, b"abcd").unwrap();
        let mut bytes = [0; 6];
        memory.read(border - 3, &mut bytes).unwrap();
        assert_eq!(&bytes, b"\x01abcd\x02");
        memory.check(border - PAGE, 2 * PAGE).unwrap();
        let past = memory.check(border - PAGE, 2 * PAGE + 1).unwrap_err();
        assert_eq!(past, Unmapped(border + PAGE));
        let nothing = memory.write(border + PAGE - 1, b"ab").unwrap_err();
        assert_eq!(nothing, Unmapped(border + PAGE));
        memory.read(border + PAGE - 1, &mut bytes[..1]).unwrap();
        assert_eq!(bytes[0], 2, "nothing is written then");
        assert!(spaces.memory(2).check(border, 1).is_err());
    }

    #[test]
    fn differences_go_both_ways() {
        let mut spaces = Spaces::new(&budget());
        let window = window(AT, &[0, 8]);
        spaces.push(&window, &filled(&window, 7)).unwrap();
        assert_eq!(pull(&mut spaces, &window), Ok(Vec::new()));
        let page = AT + 8 * PAGE;
        spaces.memory(1).write(page + 4, &[9]).unwrap();
        // The guest writes elsewhere meanwhile, and sends all of it.
        let mut guest = filled(&window, 7);
        guest[0] = 5;
        spaces.push(&window, &guest).unwrap();
        let news = pull(&mut spaces, &window).unwrap();
        for (offset, bytes) in differences::decode(&news, guest.len()).unwrap() {
            guest[offset..offset + bytes.len()].copy_from_slice(bytes);
        }
        assert_eq!((guest[0], guest[PAGE as usize + 4]), (5, 9));
        let change = [&[1, 0, 0, 0, 2, 0, 0, 0][..], b"hi"].concat();
        spaces.push(&window, &change).unwrap();
        let mut bytes = [0; 4];
        spaces.memory(1).read(AT, &mut bytes).unwrap();
        assert_eq!(&bytes, b"\x05hi\x07");
        assert_eq!(pull(&mut spaces, &window), Ok(Vec::new()));
    }

    #[test]
    fn other_pages_are_another_window() {
        let mut spaces = Spaces::new(&budget());
        let (one, two) = (window(AT, &[1]), window(AT, &[1, 2]));
        spaces.push(&one, &filled(&one, 1)).unwrap();
        assert_eq!(pull(&mut spaces, &two), Err(Errno::ENOENT));
        spaces.push(&two, &filled(&two, 2)).unwrap();
        assert_eq!(pull(&mut spaces, &one), Err(Errno::ENOENT));
        let short = spaces.push(&one, &[]).unwrap_err();
        assert!(matches!(short, Refusal::Region { wanted: 4096, .. }));
        assert_eq!(pull(&mut spaces, &two), Err(Errno::ENOENT), "it is gone");
        spaces.push(&two, &filled(&two, 2)).unwrap();
        spaces.unmap(&two);
        assert!(spaces.memory(1).check(AT + PAGE, 1).is_err());
    }

    #[test]
    fn as_many_other_pages_are_told_by_differences() {
        let mut spaces = Spaces::new(&budget());
        let (one, two) = (window(AT, &[1, 2]), window(AT, &[2, 7]));
        spaces.push(&one, &filled(&one, 1)).unwrap();
        spaces.memory(1).write(AT + PAGE, &[9]).unwrap();
        let change = [&[1, 0, 0, 0, 1, 0, 0, 0][..], &[5]].concat();
        spaces.push(&two, &change).unwrap();
        let mut bytes = [0; 3];
        let memory = spaces.memory(1);
        memory.read(AT + 2 * PAGE, &mut bytes).unwrap();
        assert_eq!(
            bytes,
            [1, 5, 1],
            "what was written to the other pages is gone"
        );
        memory.read(AT + 7 * PAGE, &mut bytes).unwrap();
        assert_eq!(bytes, [1, 1, 1]);
        assert!(memory.check(AT + PAGE, 1).is_err());
        spaces.push(&one, &[1]).unwrap_err();
        assert!(spaces.memory(1).check(AT + 2 * PAGE, 1).is_err());
    }

    #[test]
    fn windows_count_until_they_are_unmapped() {
        let budget = Budget::new(4 * PAGE);
        let mut spaces = Spaces::new(&budget);
        let (one, two, three) = (window(AT, &[1]), window(0, &[1]), window(WINDOW, &[1]));
        spaces.push(&one, &filled(&one, 1)).unwrap();
        spaces.push(&two, &filled(&two, 1)).unwrap();
        let full = spaces.push(&three, &filled(&three, 1)).unwrap_err();
        assert!(matches!(full, Refusal::Errno(Errno::ENOMEM)));
        spaces.unmap(&one);
        spaces.push(&three, &filled(&three, 1)).unwrap();
    }

    proptest! {
        #[test]
        fn any_bytes_and_addresses_are_within_the_windows(
            pages: [u8; 32],
            bytes in prop::collection::vec(any::<u8>(), 0..64),
            address in prop_oneof![any::<u64>(), (u64::MAX - 2 * WINDOW)..=u64::MAX],
            len in 0..3 * WINDOW,
        ) {
            let mut spaces = Spaces::new(&budget());
            let last = Window { space: 1, address: u64::MAX - (WINDOW - 1), pages };
            let _ = spaces.push(&last, &filled(&last, 3));
            let _ = spaces.push(&last, &bytes);
            let mut memory = spaces.memory(1);
            let is_there = memory.check(address, bytes.len() as u64).is_ok();
            prop_assert_eq!(memory.write(address, &bytes).is_ok(), is_there);
            let mut read = vec![0; bytes.len()];
            prop_assert_eq!(memory.read(address, &mut read).is_ok(), is_there);
            prop_assert!(!is_there || read == bytes);
            let _ = memory.check(address, len);
        }
    }
}
