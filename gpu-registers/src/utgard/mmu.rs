//! The processors' MMUs.

use super::registers::mmu::{self, command};
use super::registers::unit;
use super::{PROCESSORS, Store, Utgard};
use crate::effects::{Effect, Flush, Reset, Space};
use crate::interrupts::InterruptBlock;
use crate::tables::{Access, Fault, FaultKind, Tables};

/// Where the MMU of `space` has its register `register`.
fn at(space: Space, register: u32) -> u32 {
    unit::MMU + u32::from(space.0) * unit::MMU_STRIDE + register
}

/// Its interrupts.
pub(super) fn interrupts(space: Space) -> InterruptBlock {
    InterruptBlock {
        raw: at(space, mmu::INT_RAWSTAT),
        clear: at(space, mmu::INT_CLEAR),
        mask: at(space, mmu::INT_MASK),
        stat: at(space, mmu::INT_STATUS),
        causes: mmu::PAGE_FAULT | mmu::READ_BUS_ERROR,
    }
}

impl Utgard {
    pub(super) fn write_mmu(
        &mut self,
        space: Space,
        register: u32,
        store: &Store,
        effects: &mut Vec<Effect>,
    ) {
        let offset = at(space, register);
        let is_known = space.0 < PROCESSORS;
        if !is_known || interrupts(space).write(&mut self.words, offset, store.value) {
            return;
        }
        match register {
            mmu::DTE_ADDR => {
                self.words.set(offset, store.value & !0xfff);
                self.tell_tables(space, effects);
            }
            mmu::COMMAND => self.mmu_command(space, store.value, effects),
            mmu::ZAP_ONE_LINE => {
                let first = u64::from(store.value & !0xfff);
                zap(space, first, first | 0xfff, effects);
            }
            _ => {}
        }
    }

    fn mmu_command(&mut self, space: Space, value: u32, effects: &mut Vec<Effect>) {
        let status = at(space, mmu::STATUS);
        let faulty = self.words.get(status) & mmu::PAGE_FAULT_ACTIVE != 0;
        match value {
            command::ENABLE_PAGING => {
                self.words.raise(status, mmu::PAGING_ENABLED);
                self.tell_tables(space, effects);
            }
            command::DISABLE_PAGING => {
                self.words.lower(status, mmu::PAGING_ENABLED);
                self.tell_tables(space, effects);
            }
            command::ENABLE_STALL if !faulty => self.words.raise(status, mmu::STALL_ACTIVE),
            command::DISABLE_STALL => self.words.lower(status, mmu::STALL_ACTIVE),
            command::ZAP_CACHE => zap(space, 0, u32::MAX.into(), effects),
            command::PAGE_FAULT_DONE => self.page_fault_done(space, effects),
            command::HARD_RESET => {
                self.reset_mmu_registers(space);
                effects.push(Effect::Reset(Reset::Mmu(space)));
                self.tell_tables(space, effects);
            }
            _ => {}
        }
    }

    fn page_fault_done(&mut self, space: Space, effects: &mut Vec<Effect>) {
        let fault = mmu::PAGE_FAULT_ACTIVE | mmu::PAGE_FAULT_IS_WRITE;
        self.words.lower(at(space, mmu::STATUS), fault);
        self.words.raise(at(space, mmu::STATUS), mmu::IDLE);
        self.resume(space.0, None, effects);
    }

    fn tell_tables(&self, space: Space, effects: &mut Vec<Effect>) {
        let tables = self.mmu_tables(space);
        effects.push(Effect::Tables { space, tables });
    }

    /// The registers out of reset: no paging.
    pub(super) fn reset_mmu_registers(&mut self, space: Space) {
        for register in (0..=mmu::INT_STATUS).step_by(4) {
            self.words.set(at(space, register), 0);
        }
        let idle = mmu::IDLE | mmu::REPLAY_BUFFER_EMPTY;
        self.words.set(at(space, mmu::STATUS), idle);
    }

    /// An access failed: the MMU holds its processor.
    pub(super) fn fault(&mut self, space: Space, fault: &Fault) {
        let bus = matches!(fault.kind, FaultKind::TableBus(_));
        let cause = if bus {
            mmu::READ_BUS_ERROR
        } else {
            self.page_fault(space, fault);
            mmu::PAGE_FAULT
        };
        interrupts(space).raise(&mut self.words, cause);
    }

    fn page_fault(&mut self, space: Space, fault: &Fault) {
        let address = fault.address as u32;
        self.words.set(at(space, mmu::PAGE_FAULT_ADDR), address);
        let status = at(space, mmu::STATUS);
        self.words
            .lower(status, mmu::IDLE | mmu::PAGE_FAULT_IS_WRITE);
        self.words.raise(status, mmu::PAGE_FAULT_ACTIVE);
        if fault.access == Access::Write {
            self.words.raise(status, mmu::PAGE_FAULT_IS_WRITE);
        }
    }

    /// The tables as the registers have them.
    pub(super) fn mmu_tables(&self, space: Space) -> Tables {
        if self.words.get(at(space, mmu::STATUS)) & mmu::PAGING_ENABLED == 0 {
            return Tables::Identity;
        }
        let root = self.words.get(at(space, mmu::DTE_ADDR));
        Tables::Directory { root }
    }
}

fn zap(space: Space, first: u64, last: u64, effects: &mut Vec<Effect>) {
    effects.push(Effect::Flush(Flush::Space {
        space,
        first,
        last,
        memory: false,
    }));
}
