//! The guest's data about memory objects. A mapped pointer points to guest memory:
//! the program's own if the object uses it, otherwise a shadow of the whole object,
//! which is created at the first mapping, so that each byte keeps one address.

use super::details::Details;
use crate::generated::manual::Object;
use crate::generated::types::*;
use gil_guest::CallResult;
use gil_opencl_common::image::Layout;
use gil_wire::rows::Rows;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

const ACCESS: cl_mem_flags = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
const HOST_ACCESS: cl_mem_flags =
    CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
const HOST_POINTER: cl_mem_flags =
    CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;

/// What the guest keeps of a memory object.
#[derive(Debug)]
pub struct Memory {
    flags: cl_mem_flags,
    size: usize,
    /// Address of the program's memory, or 0.
    host_ptr: usize,
    /// Where it begins in the memory object that it is a part of.
    origin: Option<usize>,
    /// The image's properties, for an image.
    image: Option<Image>,
    shadow: OnceLock<Shadow>,
    mappings: Mutex<Vec<Mapping>>,
}

/// What the guest keeps of an image.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// Where its elements lie in the program's memory; none if that is not
    /// known for its format.
    pub layout: Option<Layout>,
    /// Whether one number fills it, and not four.
    pub is_depth: bool,
}

/// A part of a memory object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Bytes of a buffer.
    Bytes {
        /// The first.
        offset: usize,
        /// The number of bytes.
        size: usize,
    },
    /// Elements of an image.
    Elements {
        /// The first.
        origin: [u64; 3],
        /// The number of elements in each dimension.
        region: [u64; 3],
        /// Their rows in the program's memory.
        rows: Rows,
    },
}

impl Place {
    fn overlaps(&self, other: &Self) -> bool {
        let meet = |(a, len_a): (u64, u64), (b, len_b): (u64, u64)| {
            a < b.saturating_add(len_b) && b < a.saturating_add(len_a)
        };
        match (self, other) {
            (
                &Self::Bytes { offset, size },
                &Self::Bytes {
                    offset: at,
                    size: len,
                },
            ) => meet((offset as u64, size as u64), (at as u64, len as u64)),
            (
                Self::Elements { origin, region, .. },
                Self::Elements {
                    origin: at,
                    region: len,
                    ..
                },
            ) => (0..3).all(|n| meet((origin[n], region[n]), (at[n], len[n]))),
            _ => false,
        }
    }
}

/// A part of a memory object that the program has mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) address: usize,
    pub(super) place: Place,
    pub(super) writes: bool,
}

impl Memory {
    /// A buffer of `size` bytes.
    pub fn new(flags: cl_mem_flags, size: usize, host_ptr: usize) -> Self {
        Self {
            // As drivers say it: the default only where nothing else is said.
            flags: if flags == 0 { CL_MEM_READ_WRITE } else { flags },
            size,
            host_ptr,
            origin: None,
            image: None,
            shadow: OnceLock::new(),
            mappings: Mutex::default(),
        }
    }

    /// An image.
    pub fn image(flags: cl_mem_flags, image: Image, host_ptr: usize) -> Self {
        Self {
            image: Some(image),
            ..Self::new(flags, image.bytes(), host_ptr)
        }
    }

    /// An image in its memory.
    pub fn image_in(&self, flags: cl_mem_flags, image: Image) -> Self {
        Self {
            image: Some(image),
            ..self.part(flags, 0, image.bytes())
        }
    }

    /// Whether it is a buffer, and no part of another.
    pub(super) fn is_whole(&self) -> bool {
        self.origin.is_none() && self.image.is_none()
    }

    /// The image's properties, for an image.
    pub(super) fn as_image(&self) -> Option<&Image> {
        self.image.as_ref()
    }

    /// A part of it, which inherits what it does not say itself.
    pub fn part(&self, flags: cl_mem_flags, origin: usize, size: usize) -> Self {
        let inherited = |mask| self.flags & if flags & mask == 0 { mask } else { 0 };
        let pointer = self.flags & HOST_POINTER;
        let flags = flags | inherited(ACCESS) | inherited(HOST_ACCESS) | pointer;
        let host_ptr = match self.host_ptr {
            0 => 0,
            host_ptr => host_ptr.wrapping_add(origin),
        };
        Self {
            origin: Some(origin),
            ..Self::new(flags, size, host_ptr)
        }
    }

    /// The flags it was made with.
    pub fn flags(&self) -> cl_mem_flags {
        self.flags
    }

    /// The program's memory that it uses, or 0.
    pub fn host_ptr(&self) -> usize {
        match self.flags & CL_MEM_USE_HOST_PTR {
            0 => 0,
            _ => self.host_ptr,
        }
    }

    /// The number of its mappings.
    pub fn map_count(&self) -> cl_uint {
        self.mappings().len() as cl_uint
    }

    /// The program mapped a part of it.
    pub(super) fn map(&self, mapping: Mapping) {
        self.mappings().push(mapping);
    }

    /// The parts mapped for writing that overlap with this one, each once.
    pub(super) fn written_in(&self, place: &Place) -> Vec<Mapping> {
        let mappings = self.mappings();
        let written = mappings
            .iter()
            .filter(|m| m.writes && m.place.overlaps(place));
        each_once(written)
    }

    fn mappings(&self) -> MutexGuard<'_, Vec<Mapping>> {
        self.mappings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a mapping at `address` out, one for reading first: of several, no
    /// unmapping says which it means. Gives the parts for writing that are left
    /// there, each once, too.
    pub(super) fn unmap(&self, address: usize) -> Option<(Mapping, Vec<Mapping>)> {
        let mut mappings = self.mappings();
        let reading = mappings
            .iter()
            .rposition(|m| m.address == address && !m.writes);
        let any = || mappings.iter().rposition(|m| m.address == address);
        let at = reading.or_else(any)?;
        let taken = mappings.remove(at);
        let left = mappings.iter().filter(|m| m.address == address && m.writes);
        Some((taken, each_once(left)))
    }

    /// Whether the host may map any part of it so.
    pub(super) fn check_map(&self, flags: cl_map_flags) -> CallResult<()> {
        const BOTH: cl_map_flags = CL_MAP_READ | CL_MAP_WRITE;
        let known = BOTH | CL_MAP_WRITE_INVALIDATE_REGION;
        let mixed = flags & CL_MAP_WRITE_INVALIDATE_REGION != 0 && flags & BOTH != 0;
        if flags & !known != 0 || mixed {
            return Err(CL_INVALID_VALUE);
        }
        let no_write = self.flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS) != 0;
        if flags & CL_MAP_READ != 0 {
            self.check_read()?;
        }
        match no_write && flags & !CL_MAP_READ != 0 {
            true => Err(CL_INVALID_OPERATION),
            false => Ok(()),
        }
    }

    /// Whether the host may read it.
    pub(super) fn check_read(&self) -> CallResult<()> {
        match self.flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS) {
            0 => Ok(()),
            _ => Err(CL_INVALID_OPERATION),
        }
    }

    /// Whether these bytes are some of it.
    pub(super) fn check_bytes(&self, offset: usize, size: usize) -> CallResult<()> {
        let end = offset.checked_add(size);
        match size != 0 && end.is_some_and(|end| end <= self.size) {
            true => Ok(()),
            false => Err(CL_INVALID_VALUE),
        }
    }

    /// Whether a part of it may have these flags.
    pub(super) fn check_part(&self, flags: cl_mem_flags) -> CallResult<()> {
        let both = |mine, theirs| self.flags & mine != 0 && flags & theirs != 0;
        const READ: cl_mem_flags = CL_MEM_HOST_READ_ONLY;
        const WRITE: cl_mem_flags = CL_MEM_HOST_WRITE_ONLY;
        let more = both(WRITE, READ) || both(READ, WRITE);
        match more || both(CL_MEM_HOST_NO_ACCESS, READ | WRITE) {
            true => Err(CL_INVALID_VALUE),
            false => Ok(()),
        }
    }
}

impl Image {
    /// Bytes in the program's memory.
    fn bytes(&self) -> usize {
        let bytes = self.layout.and_then(|layout| layout.bytes().get());
        bytes.unwrap_or(0)
    }
}

/// Guest memory as large as a buffer; pages come as they are touched.
#[derive(Debug)]
struct Shadow {
    address: usize,
    len: usize,
}

impl Shadow {
    fn new(len: usize) -> CallResult<Self> {
        let (prot, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
        );
        // SAFETY: new memory at an address that the kernel chooses.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), len, prot, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return Err(CL_MAP_FAILURE);
        }
        Ok(Self {
            address: address as usize,
            len,
        })
    }
}

impl Drop for Shadow {
    fn drop(&mut self) {
        // SAFETY: its own memory, which the program may not use after it
        // released the buffer.
        unsafe { libc::munmap(self.address as *mut c_void, self.len) };
    }
}

/// What is kept of a memory object.
///
/// # Errors
/// `CL_INVALID_MEM_OBJECT` for another kind of object.
pub(super) fn memory(object: &Object) -> CallResult<&Memory> {
    match object.details() {
        Details::Memory(memory) => Ok(memory),
        _ => Err(CL_INVALID_MEM_OBJECT),
    }
}

/// The guest address of a memory object's first byte.
pub(super) fn base(buffer: &Object) -> CallResult<usize> {
    let memory = memory(buffer)?;
    if memory.host_ptr() != 0 {
        return Ok(memory.host_ptr());
    }
    if let (Some(origin), Some(whole)) = (memory.origin, buffer.parent()) {
        return Ok(base(&whole)? + origin);
    }
    if let Some(shadow) = memory.shadow.get() {
        return Ok(shadow.address);
    }
    let shadow = Shadow::new(memory.size)?;
    Ok(memory.shadow.get_or_init(|| shadow).address)
}

/// Programs map the same part many times: its bytes travel once.
fn each_once<'a>(mappings: impl Iterator<Item = &'a Mapping>) -> Vec<Mapping> {
    let mut found: Vec<Mapping> = Vec::new();
    for mapping in mappings {
        if !found.iter().any(|one| one.place == mapping.place) {
            found.push(*mapping);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_mapped_is_refused() {
        let memory = Memory::new(CL_MEM_HOST_READ_ONLY, 100, 0);
        assert_eq!(memory.check_map(CL_MAP_READ), Ok(()));
        assert_eq!(memory.check_bytes(0, 100), Ok(()));
        for (offset, size) in [(0, 0), (1, 100), (usize::MAX, 2)] {
            let result = memory.check_bytes(offset, size);
            assert_eq!(result, Err(CL_INVALID_VALUE), "{offset} {size}");
        }
        for flags in [8, CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION] {
            assert_eq!(memory.check_map(flags), Err(CL_INVALID_VALUE), "{flags}");
        }
        let write = memory.check_map(CL_MAP_WRITE);
        assert_eq!(write, Err(CL_INVALID_OPERATION));
        let hidden = Memory::new(CL_MEM_HOST_NO_ACCESS, 100, 0);
        assert_eq!(hidden.check_map(CL_MAP_READ), Err(CL_INVALID_OPERATION));
    }

    #[test]
    fn what_is_mapped_for_writing_is_known_where_it_overlaps() {
        let memory = Memory::new(0, 100, 0);
        let bytes = |offset, size| Place::Bytes { offset, size };
        let mapping = |place, writes| Mapping {
            address: 0,
            place,
            writes,
        };
        memory.map(mapping(bytes(10, 10), true));
        memory.map(mapping(bytes(10, 10), true));
        memory.map(mapping(bytes(15, 10), false));
        assert_eq!(memory.written_in(&bytes(0, 10)), []);
        assert_eq!(memory.written_in(&bytes(20, 10)), []);
        let found = memory.written_in(&bytes(19, 1));
        assert_eq!(found, [mapping(bytes(10, 10), true)]);
        let elements = |origin, region| Place::Elements {
            origin,
            region,
            rows: Rows::default(),
        };
        let one = elements([2, 2, 0], [4, 4, 1]);
        assert!(one.overlaps(&elements([5, 5, 0], [9, 9, 1])));
        assert!(!one.overlaps(&elements([6, 2, 0], [9, 9, 1])));
    }

    #[test]
    fn of_mappings_at_one_address_those_for_reading_end_first() {
        let memory = Memory::new(0, 100, 0);
        let mapping = |size, writes| Mapping {
            address: 1000,
            place: Place::Bytes { offset: 0, size },
            writes,
        };
        let (reads, writes) = (mapping(10, false), mapping(20, true));
        memory.map(reads);
        memory.map(writes);
        assert_eq!(memory.unmap(1001), None);
        assert_eq!(memory.unmap(1000), Some((reads, vec![writes])));
        assert_eq!(memory.unmap(1000), Some((writes, vec![])));
        assert_eq!(memory.unmap(1000), None);
    }

    #[test]
    fn a_part_has_no_more_access_than_the_whole() {
        let check = |whole, part| Memory::new(whole, 100, 0).check_part(part);
        let (read, write) = (CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY);
        assert_eq!(check(0, read), Ok(()));
        assert_eq!(check(read, read | CL_MEM_READ_ONLY), Ok(()));
        assert_eq!(check(read, write), Err(CL_INVALID_VALUE));
        assert_eq!(check(write, read), Err(CL_INVALID_VALUE));
        assert_eq!(check(CL_MEM_HOST_NO_ACCESS, read), Err(CL_INVALID_VALUE));
    }

    #[test]
    fn a_part_inherits_what_it_does_not_say() {
        let whole = Memory::new(CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, 100, 0x1000);
        let part = whole.part(0, 16, 8);
        assert_eq!(part.flags(), CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR);
        assert_eq!(part.host_ptr(), 0x1010);
        assert_eq!(
            whole.part(CL_MEM_WRITE_ONLY, 0, 8).flags() & ACCESS,
            CL_MEM_WRITE_ONLY
        );
        assert_eq!(Memory::new(0, 1, 0).flags(), CL_MEM_READ_WRITE);
    }
}
