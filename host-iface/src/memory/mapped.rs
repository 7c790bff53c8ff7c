//! A file that the simulator has mapped as its RAM: mapped here too, where it is
//! shared, or reached where the simulator has it.
//!
//! Other threads of the simulator, and its devices, change these bytes at any time,
//! so there is never a Rust reference to them. They are copied through raw pointers,
//! or passed to the operating system.

use super::own::{self, Mapping};
use super::{GuestMemory, MemoryError};
use gil_address_tables::{Extents, Piece, RamMap, RamRange};
use gil_transport::vectored::Span;
use gil_uapi::{GuestAddress, GuestLength};
use memmap2::{MmapOptions, MmapRaw};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Guest RAM in a mapped file.
#[derive(Debug)]
pub struct Mapped {
    map: Map,
    ram: RamMap,
}

/// Who mapped the file.
#[derive(Debug)]
enum Map {
    /// This object.
    Here(MmapRaw),
    /// The simulator, for as long as this process lives.
    Simulator(Mapping),
}

impl Map {
    fn start(&self) -> *mut u8 {
        match self {
            Self::Here(map) => map.as_mut_ptr(),
            Self::Simulator(mapping) => std::ptr::with_exposed_provenance_mut(mapping.start),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Here(map) => map.len(),
            Self::Simulator(mapping) => mapping.len,
        }
    }
}

impl Mapped {
    /// Maps `path`, whose bytes lie in guest RAM as `ranges` say. Without
    /// ranges the whole file is RAM from `base` on.
    ///
    /// # Errors
    /// [`MemoryError`] names the file.
    pub fn open(
        path: &Path,
        base: GuestAddress,
        ranges: Vec<RamRange>,
    ) -> Result<Self, MemoryError> {
        let failed = |error| MemoryError::File {
            path: PathBuf::from(path),
            error,
        };
        let file = File::options().read(true).write(true).open(path);
        let file = file.map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        let ram = RamMap::new(match ranges.is_empty() {
            true => vec![RamRange {
                gpa: base,
                len: GuestLength(len),
                offset: 0,
            }],
            false => ranges,
        })?;
        let needed = ram.ranges().iter().map(|r| r.offset + r.len.0).max();
        let needed = needed.unwrap_or(0);
        if needed > len {
            let path = path.into();
            return Err(MemoryError::Short { path, len, needed });
        }
        let map = MmapOptions::new().len(len as usize).map_raw(&file);
        Ok(Self {
            map: Map::Here(map.map_err(failed)?),
            ram,
        })
    }

    /// What this process, a simulator, has mapped of the file `path`: all of it,
    /// writable, and until the process ends. It is RAM from `base` on.
    ///
    /// # Errors
    /// [`MemoryError::NotMapped`], or [`MemoryError::File`].
    pub fn by_simulator(path: &Path, base: GuestAddress) -> Result<Self, MemoryError> {
        let mapping = own::mapping_of(path)?;
        let ram = RamMap::new(vec![RamRange {
            gpa: base,
            len: GuestLength(mapping.len as u64),
            offset: 0,
        }])?;
        Ok(Self {
            map: Map::Simulator(mapping),
            ram,
        })
    }

    /// Maps this process's own memory-backend-memfd (QEMU).
    ///
    /// # Errors
    /// [`MemoryError::NoMemfd`], [`MemoryError::ManyMemfds`], or what
    /// [`Mapped::open`] finds.
    pub fn own_memfd(base: GuestAddress) -> Result<Self, MemoryError> {
        Self::open(&own::memory_backend()?, base, Vec::new())
    }

    /// The address of a piece that the RAM table gave.
    fn address(&self, piece: Piece) -> *mut u8 {
        debug_assert!(piece.offset + piece.len <= self.map.len() as u64);
        self.map.start().wrapping_add(piece.offset as usize)
    }
}

impl GuestMemory for Mapped {
    fn ram(&self) -> &RamMap {
        &self.ram
    }

    fn read(&self, gpa: GuestAddress, out: &mut [u8]) -> Result<(), MemoryError> {
        let pieces = self.ram.translate(gpa, GuestLength::of(out))?;
        let mut rest = out;
        for piece in pieces {
            let (now, later) = rest.split_at_mut(piece.len as usize);
            // SAFETY: the table's pieces lie within the mapping (the constructors
            // see to it), which lives as long as `self`; `now` is as long as the
            // piece and no part of the mapping.
            unsafe {
                std::ptr::copy_nonoverlapping(self.address(piece), now.as_mut_ptr(), now.len())
            };
            rest = later;
        }
        Ok(())
    }

    fn write(&self, gpa: GuestAddress, bytes: &[u8]) -> Result<(), MemoryError> {
        let mut rest = bytes;
        for piece in self.ram.translate(gpa, GuestLength::of(bytes))? {
            let (now, later) = rest.split_at(piece.len as usize);
            // SAFETY: as in `read`, the other way round.
            unsafe { std::ptr::copy_nonoverlapping(now.as_ptr(), self.address(piece), now.len()) };
            rest = later;
        }
        Ok(())
    }

    fn spans(
        &self,
        extents: &Extents,
        len: GuestLength,
    ) -> Result<Option<Vec<Span<'_>>>, MemoryError> {
        let list = extents.iter();
        let mut pieces = Vec::with_capacity(list.len());
        let mut left = len;
        for extent in list {
            let now = left.min(extent.len);
            self.ram.translate_into(extent.gpa, now, &mut pieces)?;
            left = left.saturating_sub(now);
        }
        let span = |piece: Piece| {
            // SAFETY: the piece lies within the mapping, which lives as long
            // as `self`, and is memory that nobody holds a reference to.
            unsafe { Span::from_raw(self.address(piece), piece.len as usize) }
        };
        Ok(Some(pieces.into_iter().map(span).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_address_tables::Extent;
    use std::io::Write;

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn reads_and_writes_the_file_across_ranges() {
        let file = file(&[0; 8192]);
        let range = |gpa, offset| RamRange {
            gpa: GuestAddress(gpa),
            len: GuestLength(4096),
            offset,
        };
        let ranges = vec![range(0x1000, 4096), range(0x2000, 0)];
        let memory = Mapped::open(file.path(), GuestAddress(0), ranges).unwrap();
        memory.write(GuestAddress(0x1ffc), b"abcdefgh").unwrap();
        let bytes = std::fs::read(file.path()).unwrap();
        assert_eq!((&bytes[8188..], &bytes[..4]), (&b"abcd"[..], &b"efgh"[..]));
        let mut back = [0; 8];
        memory.read(GuestAddress(0x1ffc), &mut back).unwrap();
        assert_eq!(&back, b"abcdefgh");
        assert!(memory.write(GuestAddress(0x2ffc), b"abcdefgh").is_err());
        let bytes = std::fs::read(file.path()).unwrap();
        assert_eq!(&bytes[4092..4096], [0; 4], "a refused write writes nothing");
    }

    #[test]
    fn the_simulators_own_mapping_is_used() {
        let file = file(&[7; 3 * 4096]);
        let missing = Mapped::by_simulator(file.path(), GuestAddress(0)).unwrap_err();
        assert!(
            matches!(missing, MemoryError::NotMapped { .. }),
            "{missing}"
        );
        // SAFETY: private, and nobody else changes the file.
        let mut simulators = unsafe { MmapOptions::new().map_copy(file.as_file()) }.unwrap();
        let memory = Mapped::by_simulator(file.path(), GuestAddress(0x1000)).unwrap();
        memory.write(GuestAddress(0x2000), b"abcd").unwrap();
        assert_eq!(&simulators[0x1000..0x1004], b"abcd");
        simulators[0] = 9;
        let mut back = [0; 2];
        memory.read(GuestAddress(0x1000), &mut back).unwrap();
        assert_eq!(back, [9, 7]);
        assert!(memory.write(GuestAddress(0x3fff), b"ab").is_err());
        assert_eq!(std::fs::read(file.path()).unwrap(), [7; 3 * 4096]);
    }

    #[test]
    fn a_mapping_in_parts_is_whole() {
        let file = file(&[7; 3 * 4096]);
        // SAFETY: as above.
        let simulators = unsafe { MmapOptions::new().map_copy(file.as_file()) }.unwrap();
        simulators
            .advise_range(memmap2::Advice::DontFork, 4096, 4096)
            .unwrap();
        let memory = Mapped::by_simulator(file.path(), GuestAddress(0)).unwrap();
        assert_eq!(memory.size(), GuestLength(3 * 4096));
    }

    #[test]
    fn half_a_mapping_is_none() {
        let file = file(&[7; 2 * 4096]);
        // SAFETY: private, and nobody else changes the file.
        let _half = unsafe { MmapOptions::new().len(4096).map_copy(file.as_file()) }.unwrap();
        let error = Mapped::by_simulator(file.path(), GuestAddress(0)).unwrap_err();
        assert!(matches!(error, MemoryError::NotMapped { .. }), "{error}");
    }

    #[test]
    fn spans_stop_after_the_wanted_bytes() {
        let file = file(&[0; 4096]);
        let memory = Mapped::open(file.path(), GuestAddress(0), Vec::new()).unwrap();
        let extent = |gpa| Extent {
            gpa: GuestAddress(gpa),
            len: GuestLength(16),
        };
        let list = [extent(0), extent(64), extent(128)];
        let extents = Extents::new(list, GuestLength(48)).unwrap();
        let lens = |len| {
            let spans = memory.spans(&extents, GuestLength(len)).unwrap().unwrap();
            spans.iter().map(Span::len).collect::<Vec<_>>()
        };
        assert_eq!(lens(48), [16, 16, 16]);
        assert_eq!(lens(20), [16, 4]);
    }

    #[test]
    fn a_short_file_is_refused() {
        let file = file(&[0; 10]);
        let ranges = vec![RamRange {
            gpa: GuestAddress(0),
            len: GuestLength(11),
            offset: 0,
        }];
        let error = Mapped::open(file.path(), GuestAddress(0), ranges).unwrap_err();
        assert!(matches!(
            error,
            MemoryError::Short {
                len: 10,
                needed: 11,
                ..
            }
        ));
        let error = Mapped::open(Path::new("/nowhere"), GuestAddress(0), vec![]).unwrap_err();
        assert!(error.to_string().contains("/nowhere"), "{error}");
    }
}
