//! Exception codes of JSn_STATUS and ASn_FAULTSTATUS (`panfrost_device.h`; those of gem5's
//! NoMali are the same).

use crate::tables::{Access, Fault, FaultKind};

/// Nothing has run.
pub const OK: u32 = 0x00;
/// The chain is done.
pub const DONE: u32 = 0x01;
/// A soft stop; JSn_TAIL is where to resume.
pub const STOPPED: u32 = 0x03;
/// A hard stop.
pub const TERMINATED: u32 = 0x04;
/// The chain runs.
pub const ACTIVE: u32 = 0x08;
/// The slot's configuration cannot work.
pub const CONFIG_FAULT: u32 = 0x40;
/// A read failed.
pub const READ_FAULT: u32 = 0x42;
/// A write failed.
pub const WRITE_FAULT: u32 = 0x43;
/// An access met no memory.
pub const BUS_FAULT: u32 = 0x48;
/// An instruction fetch failed.
pub const INVALID_PC: u32 = 0x50;
/// A descriptor makes no sense.
pub const DATA_INVALID: u32 = 0x58;

const TRANSLATION: u32 = 0xc0;
const PERMISSION: u32 = 0xc8;
const TABLE_BUS: u32 = 0xd0;

/// ASn_FAULTSTATUS of a fault: exception code and access. T6xx counts levels from 1, and
/// has one code for permissions; code 0xC0, an address space without tables, is our choice.
pub fn of_access(fault: &Fault) -> u32 {
    let code = match fault.kind {
        FaultKind::Unmapped => TRANSLATION,
        FaultKind::Translation(level) => TRANSLATION + u32::from(level.min(4)),
        FaultKind::Permission(_) => PERMISSION,
        FaultKind::TableBus(level) => TABLE_BUS + u32::from(level.min(4)),
    };
    code | access_type(fault.access) << 8
}

/// The exception code of the job that such a fault ended.
pub fn of_job(fault: &Fault) -> u32 {
    match fault.access {
        Access::Read => READ_FAULT,
        Access::Write => WRITE_FAULT,
        Access::Execute => INVALID_PC,
    }
}

/// A fault as a board's driver reports it: ASn_FAULTSTATUS and ASn_FAULTADDRESS. Codes
/// that a walk of tables does not give count as a missing entry.
pub fn to_fault(status: u32, address: u64) -> Fault {
    let level = (status & 7) as u8;
    let kind = match status & 0xf8 {
        TRANSLATION if level == 0 => FaultKind::Unmapped,
        PERMISSION => FaultKind::Permission(level),
        TABLE_BUS => FaultKind::TableBus(level),
        _ => FaultKind::Translation(level.clamp(1, 4)),
    };
    let access = match status >> 8 & 3 {
        1 => Access::Execute,
        3 => Access::Write,
        _ => Access::Read,
    };
    Fault::new(kind, address, access)
}

fn access_type(access: Access) -> u32 {
    match access {
        Access::Execute => 1,
        Access::Read => 2,
        Access::Write => 3,
    }
}
