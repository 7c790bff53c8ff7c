//! The host interface's access to guest RAM.
//!
//! There are two ways: [`Mapped`], a file that the simulator mapped (without a copy:
//! sockets read and write guest RAM in place), and [`Callbacks`], functions of the
//! simulator (gem5 with caches, where a mapped file lacks dirty lines).
//! Every address is checked against the simulator's table of RAM ranges first.

mod callbacks;
mod mapped;
pub(crate) mod own;

pub use callbacks::{Callbacks, ReadGuest, WriteGuest};
pub use mapped::Mapped;

use gil_address_tables::{Extents, RamError, RamMap};
use gil_transport::vectored::Span;
use gil_uapi::{GuestAddress, GuestLength};
use std::path::PathBuf;

/// Guest physical memory.
pub trait GuestMemory: Send + Sync {
    /// The ranges that are RAM.
    fn ram(&self) -> &RamMap;

    /// Copies from guest RAM.
    ///
    /// # Errors
    /// [`MemoryError`] if any of it is not RAM; `out` may have changed.
    fn read(&self, gpa: GuestAddress, out: &mut [u8]) -> Result<(), MemoryError>;

    /// Copies to guest RAM.
    ///
    /// # Errors
    /// [`MemoryError`] if any of it is not RAM; then nothing was written.
    fn write(&self, gpa: GuestAddress, bytes: &[u8]) -> Result<(), MemoryError>;

    /// Where the first `len` bytes of a region lie in this process, if they
    /// do.
    ///
    /// # Errors
    /// [`MemoryError`] if any of it is not RAM.
    fn spans(
        &self,
        extents: &Extents,
        len: GuestLength,
    ) -> Result<Option<Vec<Span<'_>>>, MemoryError>;

    /// Bytes of all RAM.
    fn size(&self) -> GuestLength {
        self.ram().ranges().iter().map(|range| range.len).sum()
    }
}

/// Guest memory that cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// Not RAM.
    #[error(transparent)]
    Ram(#[from] RamError),
    /// The simulator's function refused.
    #[error("the simulator could not access guest physical memory {gpa} (+{len:#x})")]
    Refused {
        /// The address.
        gpa: GuestAddress,
        /// Bytes.
        len: GuestLength,
    },
    /// The file behind guest RAM.
    #[error("guest RAM file {}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// The ranges run past the file's end.
    #[error(
        "guest RAM file {} has {len:#x} bytes, the RAM table needs {needed:#x}: is it the simulator's RAM?",
        path.display()
    )]
    Short {
        /// The file.
        path: PathBuf,
        /// Its bytes.
        len: u64,
        /// End of the last range.
        needed: u64,
    },
    /// No memory backend among the process's files.
    #[error(
        "this process has no shared guest RAM: start QEMU with -object memory-backend-memfd,id=ram,size=SIZE,share=on -machine memory-backend=ram, or give ram=PATH"
    )]
    NoMemfd,
    /// The simulator has no such mapping.
    #[error(
        "this process has not mapped all of {} for writing: ram-mapped=PATH names the file that is QEMU's guest RAM (-object memory-backend-file,…,share=off)",
        path.display()
    )]
    NotMapped {
        /// The file.
        path: PathBuf,
    },
    /// Several.
    #[error("this process has {0} memory backends: give ram=PATH to say which is guest RAM")]
    ManyMemfds(usize),
}

/// Copies the first bytes of a region out of guest RAM.
///
/// # Errors
/// As [`GuestMemory::read`].
pub fn read_region(memory: &dyn GuestMemory, extents: &Extents) -> Result<Vec<u8>, MemoryError> {
    let mut bytes = Vec::new();
    read_region_into(memory, extents, &mut bytes)?;
    Ok(bytes)
}

/// The same, into memory that is used again.
///
/// # Errors
/// As [`GuestMemory::read`]; `bytes` may have changed.
pub fn read_region_into(
    memory: &dyn GuestMemory,
    extents: &Extents,
    bytes: &mut Vec<u8>,
) -> Result<(), MemoryError> {
    bytes.resize(extents.len().to_usize(), 0);
    let mut at = 0;
    for extent in extents.iter() {
        let next = at + extent.len.to_usize();
        memory.read(extent.gpa, &mut bytes[at..next])?;
        at = next;
    }
    Ok(())
}

/// Copies `bytes` to the beginning of a region in guest RAM.
///
/// # Errors
/// As [`GuestMemory::write`]; earlier extents may have been written.
pub fn write_region(
    memory: &dyn GuestMemory,
    extents: &Extents,
    mut bytes: &[u8],
) -> Result<(), MemoryError> {
    for extent in extents.iter() {
        let len = bytes.len().min(extent.len.to_usize());
        let (now, rest) = bytes.split_at(len);
        memory.write(extent.gpa, now)?;
        bytes = rest;
        if bytes.is_empty() {
            break;
        }
    }
    Ok(())
}

/// Copies bytes into a region in guest RAM, each at its offset; the offsets rise, and all
/// lies in the region.
///
/// # Errors
/// As [`GuestMemory::write`]; earlier bytes may have been written.
pub fn write_ranges(
    memory: &dyn GuestMemory,
    extents: &Extents,
    ranges: &[(usize, &[u8])],
) -> Result<(), MemoryError> {
    let mut extents = extents.iter();
    // The extent, and where it begins in the region.
    let mut current = extents.next().map(|extent| (extent, 0));
    for &(mut offset, mut bytes) in ranges {
        while let (false, Some((extent, start))) = (bytes.is_empty(), current) {
            let end = start + extent.len.to_usize();
            if offset >= end {
                current = extents.next().map(|extent| (extent, end));
                continue;
            }
            let (now, rest) = bytes.split_at(bytes.len().min(end - offset));
            memory.write(GuestAddress(extent.gpa.0 + (offset - start) as u64), now)?;
            (offset, bytes) = (offset + now.len(), rest);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_uapi::Extent;
    use proptest::prelude::*;
    use std::sync::Mutex;

    /// RAM from address 0 on.
    struct Ram(RamMap, Mutex<Vec<u8>>);

    impl GuestMemory for Ram {
        fn ram(&self) -> &RamMap {
            &self.0
        }

        fn read(&self, gpa: GuestAddress, out: &mut [u8]) -> Result<(), MemoryError> {
            let ram = self.1.lock().unwrap();
            out.copy_from_slice(&ram[gpa.0 as usize..][..out.len()]);
            Ok(())
        }

        fn write(&self, gpa: GuestAddress, bytes: &[u8]) -> Result<(), MemoryError> {
            let mut ram = self.1.lock().unwrap();
            ram[gpa.0 as usize..][..bytes.len()].copy_from_slice(bytes);
            Ok(())
        }

        fn spans(&self, _: &Extents, _: GuestLength) -> Result<Option<Vec<Span<'_>>>, MemoryError> {
            Ok(None)
        }
    }

    proptest! {
        #[test]
        fn ranges_go_where_the_region_lies(
            pages in prop::collection::vec(1..9_u64, 1..6),
            cuts in prop::collection::btree_set(0..24_usize, 0..10),
        ) {
            // Extents of these lengths, with a gap before each.
            let mut gpa = 0;
            let mut list = Vec::new();
            for len in pages {
                list.push(Extent { gpa: GuestAddress(gpa + 1), len: GuestLength(len) });
                gpa += len + 1;
            }
            let total: u64 = list.iter().map(|extent| extent.len.0).sum();
            let extents = Extents::new(list, GuestLength(total)).unwrap();
            let ram = Ram(RamMap::new(Vec::new()).unwrap(), Mutex::new(vec![0; gpa as usize + 1]));
            let mut expected = vec![0; total as usize];
            let cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= expected.len()).collect();
            let mut pieces = Vec::new();
            for cut in cuts.chunks_exact(2) {
                let piece: Vec<u8> = (cut[0]..cut[1]).map(|at| at as u8 + 1).collect();
                expected[cut[0]..cut[1]].copy_from_slice(&piece);
                pieces.push((cut[0], piece));
            }
            let ranges: Vec<_> = pieces.iter().map(|(at, piece)| (*at, piece.as_slice())).collect();
            write_ranges(&ram, &extents, &ranges).unwrap();
            prop_assert_eq!(read_region(&ram, &extents).unwrap(), expected);
            let whole = ram.1.lock().unwrap();
            let outside: usize = whole.iter().map(|byte| usize::from(*byte != 0)).sum();
            prop_assert_eq!(outside, pieces.iter().map(|(_, piece)| piece.len()).sum::<usize>());
        }
    }
}
