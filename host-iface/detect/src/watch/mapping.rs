//! Executable mappings of a process, from the argument of the kernel's
//! `perf_event_mmap`, which is called for every new mapping once it is set up.

use super::Guest;
use super::arguments::Convention;
use crate::btf::Btf;
use gil_uapi::VirtualAddress;

/// The kernel's function that reports mappings.
pub const TOLD_BY: &str = "perf_event_mmap";
/// `VM_EXEC`.
const EXECUTABLE: u64 = 4;
/// The unit of `vm_pgoff`.
const PAGE: u64 = 4096;

/// Offsets in `struct vm_area_struct`, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Mappings {
    start: u64,
    end: u64,
    page: u64,
    file: u64,
    flags: u64,
}

/// A part of a file in a process's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: VirtualAddress,
    /// Address behind it.
    pub end: VirtualAddress,
    /// Where in the file it begins, in bytes.
    pub offset: u64,
}

impl Mapping {
    /// Where in memory the file's byte at `offset` lies.
    pub fn address(&self, offset: u64) -> Option<VirtualAddress> {
        let address = self.start.checked_add(offset.checked_sub(self.offset)?)?;
        (address < self.end).then_some(address)
    }
}

impl Mappings {
    /// By the kernel's own description of its structures.
    pub fn new(types: &Btf) -> Option<Self> {
        let offset = |member| types.offset("vm_area_struct", member);
        Some(Self {
            start: offset("vm_start")?,
            end: offset("vm_end")?,
            page: offset("vm_pgoff")?,
            file: offset("vm_file")?,
            flags: offset("vm_flags")?,
        })
    }

    /// The mapping that is the first argument, if it is of a file, to be
    /// executed.
    pub fn mapping(&self, guest: &dyn Guest) -> Option<Mapping> {
        let area = VirtualAddress(guest.register(0, Convention::Aarch64)?);
        let field = |offset: u64| guest.word(area.checked_add(offset)?);
        let is_code = field(self.file)? != 0 && field(self.flags)? & EXECUTABLE != 0;
        is_code.then_some(())?;
        Some(Mapping {
            start: VirtualAddress(field(self.start)?),
            end: VirtualAddress(field(self.end)?),
            offset: field(self.page)?.checked_mul(PAGE)?,
        })
    }
}
