//! The memory of a GPU's address space, by windows.

use crate::memory::GuestMemory;
use gil_address_tables::Extents;
use gil_gpu_registers::{Mapping, Tables};
use gil_uapi::{Extent, GuestAddress, GuestLength};
use gil_wire::gpu::{PAGE, WINDOW, Window};
use std::collections::BTreeMap;

/// Most tables of an address space that are read.
const TABLES_MOST: usize = 1 << 14;

/// Most windows of an address space: each is a call of its own.
const WINDOWS_MOST: usize = 4096;

/// A window, and where its mapped pages lie in the guest's RAM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The window.
    pub window: Window,
    /// Its pages.
    pub extents: Extents,
}

/// An address space that cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpaceError {
    /// Its tables are not in memory, or too many.
    #[error("the page tables of a GPU job at {0:#x} cannot be read: no job is executed with them")]
    Tables(u64),
    /// It maps more than the guest has memory.
    #[error("a GPU job's address space maps more than the guest's {0:#x} bytes of memory")]
    Large(u64),
    /// Its pages are too far from each other.
    #[error(
        "a GPU job's address space has pages in more than {WINDOWS_MOST} MiB of addresses: no job is executed with it"
    )]
    Scattered,
}

/// The number of an address space: that of the page which its tables begin with.
pub fn number(tables: Tables) -> u32 {
    match tables {
        Tables::Unmapped | Tables::Identity => 0,
        Tables::Lpae { root } => (root / PAGE) as u32,
        Tables::Directory { root } => root / PAGE as u32,
    }
}

/// All that is mapped and lies in the guest's RAM, by rising addresses.
///
/// # Errors
/// [`SpaceError`].
pub fn parts(
    tables: Tables,
    ram: &dyn gil_gpu_registers::GuestMemory,
    memory: &dyn GuestMemory,
) -> Result<Vec<Part>, SpaceError> {
    let mappings = tables.mappings(TABLES_MOST, ram);
    if !mappings.complete {
        return Err(SpaceError::Tables(u64::from(number(tables)) * PAGE));
    }
    let most = memory.size().0;
    let sum = mappings
        .list
        .iter()
        .fold(0, |sum: u64, it| sum.saturating_add(it.bytes));
    if sum > most {
        return Err(SpaceError::Large(most));
    }
    let mut all: BTreeMap<u64, ([u8; 32], Vec<Extent>)> = BTreeMap::new();
    for page in mappings.list.iter().flat_map(pages) {
        let (address, guest) = page;
        let gpa = GuestAddress(guest);
        let len = GuestLength(PAGE);
        if memory.ram().check(gpa, len).is_err() {
            continue;
        }
        if all.len() >= WINDOWS_MOST && !all.contains_key(&(address / WINDOW)) {
            return Err(SpaceError::Scattered);
        }
        let (bits, extents) = all.entry(address / WINDOW).or_default();
        let n = address % WINDOW / PAGE;
        bits[(n / 8) as usize] |= 1 << (n % 8);
        extents.push(Extent { gpa, len });
    }
    let space = number(tables);
    let part = |(index, (pages, extents)): (u64, ([u8; 32], Vec<Extent>))| {
        let len = GuestLength(extents.len() as u64 * PAGE);
        let address = index * WINDOW;
        let window = Window {
            space,
            address,
            pages,
        };
        // Whole pages of RAM are no empty extents.
        let extents = Extents::new(extents, len).unwrap_or_default();
        Part { window, extents }
    };
    Ok(all.into_iter().map(part).collect())
}

/// GPU and guest address of each page.
fn pages(mapping: &Mapping) -> impl Iterator<Item = (u64, u64)> + use<> {
    let Mapping {
        address,
        guest,
        bytes,
        ..
    } = *mapping;
    (0..bytes / PAGE).map(move |n| (address + n * PAGE, guest + n * PAGE))
}
