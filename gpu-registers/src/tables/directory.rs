//! Utgard's tables: a page directory and page tables of 1024 entries of 4 bytes
//! (`lima_vm.c`).

use super::{Access, Fault, FaultKind, Translation};
use crate::memory::{GuestMemory, read_u32};

const PRESENT: u32 = 1 << 0;
const READABLE: u32 = 1 << 1;
const WRITABLE: u32 = 1 << 2;
const PAGE: u32 = !0xfff;

/// Translates `address` through the directory at `root`.
pub(super) fn walk(
    root: u32,
    address: u64,
    access: Access,
    memory: &dyn GuestMemory,
) -> Result<Translation, Fault> {
    let fault = |kind| Fault::new(kind, address, access);
    let at = u32::try_from(address).map_err(|_| fault(FaultKind::Translation(1)))?;
    let entry = |table: u32, index: u32, level| {
        let entry = u64::from(table & PAGE) + u64::from(index) * 4;
        let entry = read_u32(memory, entry).map_err(|_| fault(FaultKind::TableBus(level)))?;
        if entry & PRESENT == 0 {
            return Err(fault(FaultKind::Translation(level)));
        }
        Ok(entry)
    };
    let table = entry(root, at >> 22, 1)?;
    let page = entry(table, at >> 12 & 0x3ff, 2)?;
    let allowed = match access {
        Access::Read | Access::Execute => READABLE,
        Access::Write => WRITABLE,
    };
    if page & allowed == 0 {
        return Err(fault(FaultKind::Permission(2)));
    }
    Ok(Translation::at(u64::from(page & PAGE), address, 4096))
}
