//! Pixel processors.

use super::registers::pp::{self, cause};
use super::registers::unit;
use super::{PP_VERSION, Store, Utgard};
use crate::effects::{Effect, Flush, Frame, Lost, Outcome, Processor, Reset, Work};
use crate::interrupts::InterruptBlock;

/// Where pixel processor `pp` has its register `register`.
pub(super) fn at(pp: u8, register: u32) -> u32 {
    unit::PP + u32::from(pp) * unit::PP_STRIDE + register
}

/// Its interrupts.
pub(super) fn interrupts(pp: u8) -> InterruptBlock {
    InterruptBlock {
        raw: at(pp, pp::INT_RAWSTAT),
        clear: at(pp, pp::INT_CLEAR),
        mask: at(pp, pp::INT_MASK),
        stat: at(pp, pp::INT_STAT),
        causes: cause::ALL,
    }
}

impl Utgard {
    pub(super) fn write_pp(
        &mut self,
        pp: u8,
        register: u32,
        store: &Store,
        effects: &mut Vec<Effect>,
    ) {
        let offset = at(pp, register);
        if interrupts(pp).write(&mut self.words, offset, store.value) {
            return;
        }
        match register {
            pp::CTRL => self.pp_command(pp, store, effects),
            pp::PERF_CNT_0_VALUE | pp::PERF_CNT_1_VALUE => {}
            pp::FRAME..pp::FRAME_END
            | pp::WRITE_BOUNDARY_LOW
            | pp::PERF_CNT_0_ENABLE..=pp::PERFMON_BASE => self.words.set(offset, store.value),
            _ => {}
        }
    }

    fn pp_command(&mut self, pp: u8, store: &Store, effects: &mut Vec<Effect>) {
        let has = |bit| store.value & bit != 0;
        if has(pp::FORCE_RESET | pp::SOFT_RESET) {
            return self.reset_pp(pp, effects);
        }
        if has(pp::STOP_BUS) {
            self.words.raise(at(pp, pp::STATUS), pp::BUS_STOPPED);
            interrupts(pp).raise(&mut self.words, cause::BUS_STOP);
        }
        if has(pp::FLUSH_CACHES) {
            effects.push(Effect::Flush(Flush::Caches));
        }
        if has(pp::START_RENDERING) {
            self.start_pp(pp, store, effects);
        }
    }

    /// A start while a frame is rendered, or the bus is stopped, is ignored.
    fn start_pp(&mut self, pp: u8, store: &Store, effects: &mut Vec<Effect>) {
        let status = self.words.get(at(pp, pp::STATUS));
        if self.is_running(pp + 1) || status & pp::BUS_STOPPED != 0 {
            return;
        }
        let work = Work::Pixels(Box::new(self.frame(pp)));
        self.words.raise(at(pp, pp::STATUS), pp::RENDERING_ACTIVE);
        self.start(pp + 1, store.now_ns, work, effects);
    }

    fn frame(&self, pp: u8) -> Frame {
        let word = |register, index: usize| self.words.get(at(pp, register) + index as u32 * 4);
        let unit = |unit: usize| pp::WRITE_BACK + unit as u32 * pp::WRITE_BACK_STRIDE;
        Frame {
            frame: std::array::from_fn(|index| word(pp::FRAME, index)),
            write_back: std::array::from_fn(|of| {
                std::array::from_fn(|index| word(unit(of), index))
            }),
        }
    }

    fn reset_pp(&mut self, pp: u8, effects: &mut Vec<Effect>) {
        self.lose(pp + 1, Lost::Reset, effects);
        for register in (0..unit::PP_STRIDE).step_by(4) {
            self.words.set(at(pp, register), 0);
        }
        self.words.set(at(pp, pp::VERSION), PP_VERSION);
        effects.push(Effect::Reset(Reset::Processor(Processor::Pp(pp))));
        interrupts(pp).raise(&mut self.words, cause::RESET_COMPLETED);
    }

    /// The frame of a pixel processor is over.
    pub(super) fn end_pp(&mut self, pp: u8, outcome: Outcome) {
        self.words.lower(at(pp, pp::STATUS), pp::RENDERING_ACTIVE);
        let causes = match outcome {
            Outcome::Done => cause::END_OF_FRAME,
            Outcome::Fault { status, .. } => failed(status),
            Outcome::Stopped { .. } | Outcome::Terminated => 0,
        };
        interrupts(pp).raise(&mut self.words, causes);
    }
}

/// A fault's causes; at least one.
fn failed(causes: u32) -> u32 {
    match causes & cause::ERRORS {
        0 => cause::BUS_ERROR,
        causes => causes,
    }
}
