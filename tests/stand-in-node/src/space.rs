//! The address space of an open file, and its buffers' handles. What a job names is found
//! here by the table of mappings.

use crate::buffer::{Buffer, PAGE};
use crate::walk::Addresses;
use gil_address_tables::{Buffer as Number, GpuAddress, Mapping, Mappings};
use nix::errno::Errno;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How far the address spaces of two files begin from each other: what has the address of
/// another file's buffer finds nothing, or something else.
const APART: u64 = 0x0111_0000;
/// So many begin at different addresses.
const DIFFERENT: u64 = 32;

/// An address space.
#[derive(Debug)]
pub struct Space {
    mappings: Mappings,
    handles: BTreeMap<u32, Arc<Buffer>>,
    first: u64,
    end: u64,
}

impl Space {
    /// That of the file of this number, with addresses in a range.
    pub fn new(file: u64, addresses: std::ops::Range<u64>) -> Self {
        Self {
            mappings: Mappings::new(),
            handles: BTreeMap::new(),
            first: addresses.start + file % DIFFERENT * APART,
            end: addresses.end,
        }
    }

    /// The buffer of a handle.
    ///
    /// # Errors
    /// `ENOENT`.
    pub fn buffer(&self, handle: u32) -> Result<&Arc<Buffer>, Errno> {
        self.handles.get(&handle).ok_or(Errno::ENOENT)
    }

    /// Buffers, by where `mmap` finds them.
    pub fn at_place(&self, place: u64) -> Option<&Arc<Buffer>> {
        self.handles.values().find(|it| it.place == place)
    }

    /// A handle for a buffer, which is mapped at a multiple of `align`, across no multiple
    /// of `within`. The same buffer has the same handle.
    ///
    /// # Errors
    /// `ENOSPC`.
    pub fn add(&mut self, buffer: Arc<Buffer>, align: u64, within: u64) -> Result<u32, Errno> {
        let mut known = self.handles.iter();
        if let Some((handle, _)) = known.find(|(_, it)| Arc::ptr_eq(it, &buffer)) {
            return Ok(*handle);
        }
        // The lowest that is free.
        let handle = (1..).find(|handle| !self.handles.contains_key(handle));
        let handle = handle.ok_or(Errno::ENOMEM)?;
        let address = self.gap(buffer.len, align, within).ok_or(Errno::ENOSPC)?;
        let mapping = Mapping {
            address: GpuAddress(address),
            buffer: Number(handle.into()),
            offset: 0,
            len: buffer.len,
        };
        self.mappings.map(mapping).map_err(|_| Errno::ENOSPC)?;
        self.handles.insert(handle, buffer);
        Ok(handle)
    }

    /// The first gap of so many bytes.
    fn gap(&self, len: u64, align: u64, within: u64) -> Option<u64> {
        let fit = |from: u64| {
            let at = from.next_multiple_of(align);
            match at / within == (at + len - 1) / within {
                true => at,
                false => at.next_multiple_of(within).next_multiple_of(align),
            }
        };
        let mut at = fit(self.first);
        for taken in self.mappings.iter() {
            if at + len <= taken.address.0 {
                break;
            }
            // A page between buffers is nobody's: who runs over an end is found.
            at = fit(at.max(taken.address.0 + taken.len + PAGE));
        }
        (at + len <= self.end).then_some(at)
    }

    /// Gives a handle back.
    ///
    /// # Errors
    /// `EINVAL`.
    pub fn remove(&mut self, handle: u32) -> Result<(), Errno> {
        self.handles.remove(&handle).ok_or(Errno::EINVAL)?;
        self.mappings.unmap_buffer(Number(handle.into()));
        Ok(())
    }

    /// Where a buffer is mapped.
    ///
    /// # Errors
    /// `ENOENT`.
    pub fn address(&self, handle: u32) -> Result<u64, Errno> {
        let mut mappings = self.mappings.mappings_of(Number(handle.into()));
        Ok(mappings.next().ok_or(Errno::ENOENT)?.address.0)
    }

    /// The parts of buffers that a range of addresses has.
    fn pieces(&self, address: u64, len: u64) -> Option<Vec<(&Arc<Buffer>, Mapping)>> {
        let pieces = self.mappings.pieces(GpuAddress(address), len).ok()?;
        let with_buffer = |piece: Mapping| {
            let handle = u32::try_from(piece.buffer.0).ok()?;
            Some((self.handles.get(&handle)?, piece))
        };
        pieces.into_iter().map(with_buffer).collect()
    }
}

impl Addresses for &Space {
    fn has(&self, address: u64, len: u64) -> bool {
        self.pieces(address, len).is_some()
    }

    fn has_code(&self, address: u64, len: u64) -> bool {
        let pieces = self.pieces(address, len).unwrap_or_default();
        !pieces.is_empty() && pieces.iter().all(|(buffer, _)| buffer.is_executable)
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        let Some(pieces) = self.pieces(address, bytes.len() as u64) else {
            return false;
        };
        for (buffer, piece) in pieces {
            let at = (piece.address.0 - address) as usize;
            buffer.read(piece.offset, &mut bytes[at..at + piece.len as usize]);
        }
        true
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> bool {
        let Some(pieces) = self.pieces(address, bytes.len() as u64) else {
            return false;
        };
        for (buffer, piece) in pieces {
            let at = (piece.address.0 - address) as usize;
            buffer.write(piece.offset, &bytes[at..at + piece.len as usize]);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::Walk;

    fn space(file: u64) -> Space {
        Space::new(file, 0x4000_0000..0x8000_0000)
    }

    fn buffer(len: u64) -> Arc<Buffer> {
        Arc::new(Buffer::new(len, false, false, 0))
    }

    #[test]
    fn what_is_written_is_read_and_what_is_beside_is_a_fault() {
        let mut space = space(1);
        let handle = space.add(buffer(PAGE), PAGE, 1 << 32).unwrap();
        let at = space.address(handle).unwrap();
        let mut walk = Walk::new(&space);
        walk.write(at + 8, &[1, 2, 3, 4], "word").unwrap();
        assert_eq!(walk.words(at + 8, 1, "word").unwrap(), [0x0403_0201]);
        assert_eq!(walk.found, 2);
        let beyond = walk.has(at + PAGE - 2, 4, "end").unwrap_err();
        let sentence = format!("no end at GPU address {:#x}", at + PAGE - 2);
        assert_eq!(beyond.to_string(), sentence);
        assert!(walk.has_code(at, 4, "shader").is_err(), "it has none");
        drop(walk);
        space.remove(handle).unwrap();
        assert!(Walk::new(&space).has(at, 1, "it").is_err());
        assert_eq!(space.remove(handle), Err(Errno::EINVAL));
    }

    #[test]
    fn files_have_addresses_of_their_own_which_are_used_again() {
        let (mut one, mut other) = (space(1), space(2));
        let place = |space: &mut Space| {
            let handle = space.add(buffer(3 * PAGE), PAGE, 1 << 32).unwrap();
            (handle, space.address(handle).unwrap())
        };
        let (handle, first) = place(&mut one);
        assert_ne!(place(&mut other).1, first);
        let second = place(&mut one).1;
        assert!(second >= first + 3 * PAGE);
        one.remove(handle).unwrap();
        assert_eq!(place(&mut one), (handle, first));
        let shared = buffer(PAGE);
        let handles = [0; 2].map(|_| one.add(shared.clone(), PAGE, 1 << 32).unwrap());
        assert_eq!(handles[0], handles[1]);
    }

    #[test]
    fn addresses_are_aligned_and_cross_no_border() {
        let mut space = space(1);
        for (len, align, within) in [(3 * PAGE, 1 << 14, 1 << 16), (1 << 16, 1 << 16, 1 << 16)] {
            let handle = space.add(buffer(len), align, within).unwrap();
            let at = space.address(handle).unwrap();
            assert_eq!(at % align, 0);
            assert_eq!(at / within, (at + len - 1) / within);
        }
        let mut small = Space::new(0, 0x1000..0x1800);
        assert_eq!(small.add(buffer(PAGE), PAGE, 1 << 32), Err(Errno::ENOSPC));
    }
}
