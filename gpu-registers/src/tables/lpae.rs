//! T6xx's tables: four levels of 512 entries of 8 bytes, 48 bits of GPU address
//! (`io-pgtable-arm.c`, `ARM_MALI_LPAE`).

use super::Rights;
use super::format::{Entry, Format};

const LEVELS: u8 = 4;

pub(super) const LPAE: Format = Format {
    levels: LEVELS,
    index_bits: 9,
    entry_bytes: 8,
    decode,
};

/// The bits of an entry, or of ASn_TRANSTAB, that are an address.
pub(super) const ADDRESS: u64 = ((1 << 48) - 1) & !0xfff;
const TYPE: u64 = 3;
const BLOCK: u64 = 1;
const TABLE: u64 = 3;
const READABLE: u64 = 1 << 6;
const WRITABLE: u64 = 1 << 7;
const NOT_EXECUTABLE: u64 = 1 << 54;

/// Blocks are there at every level but the first.
fn decode(entry: u64, level: u8) -> Entry {
    match entry & TYPE {
        TABLE if level < LEVELS => Entry::Table(entry & ADDRESS),
        BLOCK if level > 1 => Entry::Page(entry & ADDRESS, rights(entry)),
        _ => Entry::None,
    }
}

fn rights(entry: u64) -> Rights {
    let read = entry & READABLE != 0;
    Rights {
        read,
        write: entry & WRITABLE != 0,
        execute: read && entry & NOT_EXECUTABLE == 0,
    }
}
