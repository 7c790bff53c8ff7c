//! Utgard's tables: a page directory and page tables of 1024 entries of 4 bytes
//! (`lima_vm.c`).

use super::Rights;
use super::format::{Entry, Format};

pub(super) const DIRECTORY: Format = Format {
    levels: 2,
    index_bits: 10,
    entry_bytes: 4,
    decode,
};

/// The bits of an entry, or of DTE_ADDR, that are an address.
pub(super) const ADDRESS: u64 = 0xffff_f000;
const PRESENT: u64 = 1 << 0;
const READABLE: u64 = 1 << 1;
const WRITABLE: u64 = 1 << 2;

fn decode(entry: u64, level: u8) -> Entry {
    match level {
        _ if entry & PRESENT == 0 => Entry::None,
        1 => Entry::Table(entry & ADDRESS),
        _ => Entry::Page(entry & ADDRESS, rights(entry)),
    }
}

fn rights(entry: u64) -> Rights {
    let read = entry & READABLE != 0;
    Rights {
        read,
        write: entry & WRITABLE != 0,
        execute: read,
    }
}
