//! Address spaces: commands, faults, jobs that wait for them.

use super::registers::{job, mmu};
use super::slots::Stalled;
use super::{MMU_INTERRUPTS, Midgard, Store, status};
use crate::effects::{Effect, Flush, Lost, Space};
use crate::memory::GuestMemory;
use crate::tables::{Fault, FaultKind, Tables};

/// Where address space `space` has its register `register`.
fn at(space: Space, register: u32) -> u32 {
    mmu::AS0 + u32::from(space.0) * mmu::STRIDE + register
}

/// The cause that a fault raises.
fn cause(space: Space, fault: &Fault) -> u32 {
    let bus = matches!(fault.kind, FaultKind::TableBus(_));
    1 << (u32::from(space.0) + if bus { 16 } else { 0 })
}

/// The tables that ASn_TRANSTAB names.
fn tables(transtab: u64) -> Tables {
    match transtab & 3 {
        2 => Tables::Identity,
        3 => Tables::Lpae {
            root: transtab & !0xfff,
        },
        _ => Tables::Unmapped,
    }
}

impl Midgard {
    pub(super) fn write_mmu(&mut self, offset: u32, store: &Store<'_>, effects: &mut Vec<Effect>) {
        if MMU_INTERRUPTS.write(&mut self.words, offset, store.value) {
            if offset == mmu::INT_CLEAR {
                self.report_waiting();
            }
            return;
        }
        let Some(inside) = offset.checked_sub(mmu::AS0) else {
            return;
        };
        let space = inside / mmu::STRIDE;
        if space >= u32::from(mmu::SPACES) {
            return;
        }
        match inside % mmu::STRIDE {
            mmu::COMMAND => self.mmu_command(Space(space as u8), store, effects),
            0..mmu::COMMAND => self.words.set(offset, store.value),
            _ => {}
        }
    }

    fn mmu_command(&mut self, space: Space, store: &Store<'_>, effects: &mut Vec<Effect>) {
        match store.value {
            mmu::UPDATE => self.update(space, effects),
            mmu::FLUSH_PT | mmu::FLUSH_MEM | mmu::UNLOCK => {
                let (first, last) = self.region(space);
                effects.push(Effect::Flush(Flush::Space {
                    space,
                    first,
                    last,
                    memory: store.value == mmu::FLUSH_MEM,
                }));
                self.retry(space, store.memory, effects);
            }
            _ => {}
        }
    }

    fn update(&mut self, space: Space, effects: &mut Vec<Effect>) {
        let tables = tables(self.words.get64(at(space, mmu::TRANSTAB)));
        self.tables[usize::from(space.0)] = tables;
        effects.push(Effect::Tables { space, tables });
        if tables == Tables::Unmapped {
            self.end_all(space, effects);
        }
    }

    /// The first and last address of ASn_LOCKADDR.
    fn region(&self, space: Space) -> (u64, u64) {
        let region = self.words.get64(at(space, mmu::LOCKADDR));
        let inside = 1_u64
            .checked_shl((region & 0x3f) as u32 + 1)
            .map_or(u64::MAX, |size| size - 1);
        let first = region & !0xfff & !inside;
        (first, first | inside)
    }

    /// An access of the slot's job failed.
    pub(super) fn stall(&mut self, slot: u8, fault: Fault) {
        if let Some(running) = &mut self.slots[usize::from(slot)].running {
            let reported = false;
            running.stalled = Some(Stalled { fault, reported });
        }
        self.report_waiting();
    }

    /// Puts faults into the registers of spaces whose last fault was acknowledged.
    fn report_waiting(&mut self) {
        for slot in 0..usize::from(job::SLOTS) {
            let Some(running) = &mut self.slots[slot].running else {
                continue;
            };
            let Some(stalled) = &mut running.stalled else {
                continue;
            };
            let space = running.space;
            let both = 0x1_0001 << space.0;
            if !stalled.reported && self.words.get(mmu::INT_RAWSTAT) & both == 0 {
                stalled.reported = true;
                let fault = stalled.fault;
                self.report(space, &fault);
            }
        }
    }

    fn report(&mut self, space: Space, fault: &Fault) {
        let status = status::of_access(fault);
        self.words.set(at(space, mmu::FAULTSTATUS), status);
        self.words
            .set64(at(space, mmu::FAULTADDRESS), fault.address);
        MMU_INTERRUPTS.raise(&mut self.words, cause(space, fault));
    }

    /// Tries the failed accesses in `space` again.
    fn retry(&mut self, space: Space, memory: &dyn GuestMemory, effects: &mut Vec<Effect>) {
        let tables = self.tables[usize::from(space.0)];
        for slot in &mut self.slots {
            let Some(running) = &mut slot.running else {
                continue;
            };
            let Some(stalled) = running.stalled.filter(|_| running.space == space) else {
                continue;
            };
            let Fault {
                address, access, ..
            } = stalled.fault;
            let again = tables.translate(address, access, memory);
            running.stalled = again.err().map(|fault| Stalled {
                fault,
                reported: false,
            });
            if running.stalled.is_none() {
                let job = running.id;
                effects.push(Effect::Resume { job, heap: None });
            }
        }
        self.report_waiting();
    }

    /// Ends the jobs of a space without tables: their next access fails for good.
    fn end_all(&mut self, space: Space, effects: &mut Vec<Effect>) {
        for slot in 0..job::SLOTS {
            let Some(running) = self.slots[usize::from(slot)].running else {
                continue;
            };
            if running.space == space {
                let exception = running
                    .stalled
                    .map_or(status::READ_FAULT, |stalled| status::of_job(&stalled.fault));
                self.fail(slot, exception, self.tail(slot));
                effects.push(Effect::Lost {
                    job: running.id,
                    why: Lost::Unmapped,
                });
            }
        }
    }
}
