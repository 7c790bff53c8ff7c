//! T6xx's tables: four levels of 512 entries of 8 bytes, 48 bits of GPU address
//! (`io-pgtable-arm.c`, `ARM_MALI_LPAE`).

use super::{Access, Fault, FaultKind, Translation};
use crate::memory::{GuestMemory, read_u64};

const LEVELS: u8 = 4;
const ADDRESS_BITS: u32 = 48;
const OUTPUT: u64 = ((1 << ADDRESS_BITS) - 1) & !0xfff;
const TYPE: u64 = 3;
const BLOCK: u64 = 1;
const TABLE: u64 = 3;
const READABLE: u64 = 1 << 6;
const WRITABLE: u64 = 1 << 7;
const NOT_EXECUTABLE: u64 = 1 << 54;

/// Translates `address` through the tables at `root`.
pub(super) fn walk(
    root: u64,
    address: u64,
    access: Access,
    memory: &dyn GuestMemory,
) -> Result<Translation, Fault> {
    let fault = |kind| Fault::new(kind, address, access);
    if address >> ADDRESS_BITS != 0 {
        return Err(fault(FaultKind::Translation(1)));
    }
    let mut table = root & OUTPUT;
    for level in 1..=LEVELS {
        let shift = 12 + 9 * u32::from(LEVELS - level);
        let entry = table + (address >> shift & 511) * 8;
        let entry = read_u64(memory, entry).map_err(|_| fault(FaultKind::TableBus(level)))?;
        match entry & TYPE {
            TABLE if level < LEVELS => table = entry & OUTPUT,
            BLOCK if level > 1 && allows(entry, access) => {
                return Ok(Translation::at(entry & OUTPUT, address, 1 << shift));
            }
            BLOCK if level > 1 => return Err(fault(FaultKind::Permission(level))),
            _ => return Err(fault(FaultKind::Translation(level))),
        }
    }
    Err(fault(FaultKind::Translation(LEVELS)))
}

fn allows(entry: u64, access: Access) -> bool {
    match access {
        Access::Read => entry & READABLE != 0,
        Access::Write => entry & WRITABLE != 0,
        Access::Execute => entry & READABLE != 0 && entry & NOT_EXECUTABLE == 0,
    }
}
