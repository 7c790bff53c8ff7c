//! How tables lie in memory, and a walk through them for one address or for all.

use super::{Access, Fault, FaultKind, Mapping, Mappings, Rights, Translation};
use crate::memory::GuestMemory;

/// Bytes of a table, and of the smallest page.
const TABLE: usize = 4096;

/// An entry of a table.
pub(super) enum Entry {
    /// Nothing.
    None,
    /// The table of the next level, at this guest physical address.
    Table(u64),
    /// A page or block at this guest physical address.
    Page(u64, Rights),
}

/// Tables of 4 KiB each, in levels.
pub(super) struct Format {
    /// Levels; the first is 1.
    pub levels: u8,
    /// Bits of a GPU address that index a table.
    pub index_bits: u32,
    /// Bytes of an entry: 4 or 8, little-endian.
    pub entry_bytes: usize,
    /// What an entry of a level says.
    pub decode: fn(u64, u8) -> Entry,
}

impl Format {
    /// log2 of the bytes that an entry of this level maps.
    fn shift(&self, level: u8) -> u32 {
        12 + self.index_bits * u32::from(self.levels - level)
    }

    fn index(&self, address: u64, level: u8) -> u64 {
        address >> self.shift(level) & ((1 << self.index_bits) - 1)
    }

    /// Translates `address` through the tables at `root`.
    pub fn walk(
        &self,
        root: u64,
        address: u64,
        access: Access,
        memory: &dyn GuestMemory,
    ) -> Result<Translation, Fault> {
        let fault = |kind| Fault::new(kind, address, access);
        if address >> self.shift(0) != 0 {
            return Err(fault(FaultKind::Translation(1)));
        }
        let mut table = root;
        for level in 1..=self.levels {
            let at = table + self.index(address, level) * self.entry_bytes as u64;
            let mut entry = [0; 8];
            memory
                .read(at, &mut entry[..self.entry_bytes])
                .map_err(|_| fault(FaultKind::TableBus(level)))?;
            match (self.decode)(u64::from_le_bytes(entry), level) {
                Entry::None => return Err(fault(FaultKind::Translation(level))),
                Entry::Table(next) => table = next,
                Entry::Page(to, rights) if rights.allow(access) => {
                    return Ok(Translation::at(to, address, 1 << self.shift(level)));
                }
                Entry::Page(..) => return Err(fault(FaultKind::Permission(level))),
            }
        }
        Err(fault(FaultKind::Translation(self.levels)))
    }

    /// What the tables at `root` map. Reads `most` tables, then gives up.
    pub fn mappings(&self, root: u64, most: usize, memory: &dyn GuestMemory) -> Mappings {
        let mut found = Mappings {
            list: Vec::new(),
            complete: true,
        };
        let mut left = most;
        self.visit(root, 1, 0, &mut left, memory, &mut found);
        found
    }

    fn visit(
        &self,
        table: u64,
        level: u8,
        start: u64,
        left: &mut usize,
        memory: &dyn GuestMemory,
        found: &mut Mappings,
    ) {
        let mut entries = [0; TABLE];
        if *left == 0 || memory.read(table, &mut entries).is_err() {
            found.complete = false;
            return;
        }
        *left -= 1;
        for (index, bytes) in (0..).zip(entries.chunks_exact(self.entry_bytes)) {
            let mut entry = [0; 8];
            entry[..bytes.len()].copy_from_slice(bytes);
            let address = start + (index << self.shift(level));
            match (self.decode)(u64::from_le_bytes(entry), level) {
                Entry::None => {}
                Entry::Table(next) => self.visit(next, level + 1, address, left, memory, found),
                Entry::Page(to, rights) => {
                    let bytes = 1 << self.shift(level);
                    found.add(Mapping {
                        address,
                        guest: to & !(bytes - 1),
                        bytes,
                        rights,
                    });
                }
            }
        }
    }
}
