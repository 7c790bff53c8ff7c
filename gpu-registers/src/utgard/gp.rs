//! The geometry processor: vertex shader and polygon list builder.

use super::registers::gp::{self, cause};
use super::{GP_VERSION, Store, Utgard};
use crate::effects::{Effect, Lost, Outcome, Processor, Reset, Work};
use crate::interrupts::InterruptBlock;

pub(super) const INTERRUPTS: InterruptBlock = InterruptBlock {
    raw: gp::INT_RAWSTAT,
    clear: gp::INT_CLEAR,
    mask: gp::INT_MASK,
    stat: gp::INT_STAT,
    causes: cause::ALL,
};

/// Behind the last of the registers that a reset sets.
const END: u32 = 0x100;
const STARTS: u32 = gp::START_VS | gp::START_PLBU;

impl Utgard {
    pub(super) fn write_gp(&mut self, offset: u32, store: &Store, effects: &mut Vec<Effect>) {
        if INTERRUPTS.write(&mut self.words, offset, store.value) {
            return;
        }
        match offset {
            gp::CMD => self.gp_command(store, effects),
            gp::PERF_CNT_0_VALUE | gp::PERF_CNT_1_VALUE => {}
            gp::VSCL..gp::CMD
            | gp::WRITE_BOUND_LOW
            | gp::PERF_CNT_0_ENABLE..=gp::PERF_CNT_0_LIMIT => self.words.set(offset, store.value),
            _ => {}
        }
    }

    fn gp_command(&mut self, store: &Store, effects: &mut Vec<Effect>) {
        let has = |bit| store.value & bit != 0;
        if has(gp::RESET | gp::SOFT_RESET) {
            return self.reset_gp(effects);
        }
        if has(gp::STOP_BUS) {
            self.words.raise(gp::STATUS, gp::BUS_STOPPED);
            INTERRUPTS.raise(&mut self.words, cause::AXI_BUS_STOPPED);
        }
        if has(gp::UPDATE_PLBU_ALLOC) {
            let heap = self.range(gp::PLBU_ALLOC);
            self.resume(0, Some(heap), effects);
        }
        if has(STARTS) {
            self.start_gp(store, effects);
        }
    }

    /// One job is both parts of a command; a start while one runs is ignored.
    fn start_gp(&mut self, store: &Store, effects: &mut Vec<Effect>) {
        let stopped = self.words.get(gp::STATUS) & gp::BUS_STOPPED != 0;
        if stopped || self.is_running(0) {
            return;
        }
        let vertex = store.value & gp::START_VS != 0;
        let plbu = store.value & gp::START_PLBU != 0;
        let work = Work::Geometry {
            vertex: vertex.then(|| self.range(gp::VSCL)),
            plbu: plbu.then(|| self.range(gp::PLBUCL)),
            heap: self.range(gp::PLBU_ALLOC),
        };
        if vertex {
            self.words.raise(gp::STATUS, gp::VS_ACTIVE);
        }
        if plbu {
            self.words.raise(gp::STATUS, gp::PLBU_ACTIVE);
        }
        self.start(0, store.now_ns, work, effects);
    }

    fn reset_gp(&mut self, effects: &mut Vec<Effect>) {
        self.lose(0, Lost::Reset, effects);
        for offset in (0..END).step_by(4) {
            self.words.set(offset, 0);
        }
        self.words.set(gp::VERSION, GP_VERSION);
        effects.push(Effect::Reset(Reset::Processor(Processor::Gp)));
        INTERRUPTS.raise(&mut self.words, cause::RESET_COMPLETED);
    }

    /// The GP's job is over.
    pub(super) fn end_gp(&mut self, outcome: Outcome) {
        let status = self.words.get(gp::STATUS);
        self.words
            .lower(gp::STATUS, gp::VS_ACTIVE | gp::PLBU_ACTIVE);
        let causes = match outcome {
            Outcome::Done => done(status),
            Outcome::Fault { status, .. } => failed(status),
            Outcome::Stopped { .. } | Outcome::Terminated => 0,
        };
        if causes & cause::AXI_BUS_ERROR != 0 {
            self.words.raise(gp::STATUS, gp::BUS_ERROR);
        }
        INTERRUPTS.raise(&mut self.words, causes);
    }

    /// The builder has filled its heap, and waits.
    pub(super) fn out_of_heap(&mut self) {
        INTERRUPTS.raise(&mut self.words, cause::PLBU_OUT_OF_MEMORY);
    }
}

/// The causes of parts that were active.
fn done(status: u32) -> u32 {
    let of = |active, cause| if status & active != 0 { cause } else { 0 };
    of(gp::VS_ACTIVE, cause::VS_END) | of(gp::PLBU_ACTIVE, cause::PLBU_END)
}

/// A fault's causes; at least one.
fn failed(causes: u32) -> u32 {
    match causes & cause::ERRORS {
        0 => cause::AXI_BUS_ERROR,
        causes => causes,
    }
}
