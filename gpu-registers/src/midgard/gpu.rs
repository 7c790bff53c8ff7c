//! GPU control: identification, commands, resets, counters.

use super::registers::gpu::{self, cause, command};
use super::registers::power;
use super::{GPU_INTERRUPTS, Midgard, Store, WINDOW};
use crate::effects::{Effect, Flush, Lost, Reset};
use serde::{Deserialize, Serialize};

/// What NoMali's T62x identifies itself with, but for version and cores.
const IDENTITY: [(u32, u32); 16] = [
    (gpu::L2_FEATURES, 0x0610_0206),
    (gpu::TILER_FEATURES, 0x0000_0809),
    (gpu::MEM_FEATURES, 0x0000_0001),
    (gpu::MMU_FEATURES, 0x0000_2830),
    (gpu::AS_PRESENT, 0x0000_00ff),
    (gpu::JS_PRESENT, 0x0000_0007),
    (gpu::THREAD_MAX_THREADS, 0x100),
    (gpu::THREAD_MAX_WORKGROUP_SIZE, 0x100),
    (gpu::THREAD_MAX_BARRIER_SIZE, 0x100),
    (gpu::THREAD_FEATURES, 0x0a04_0400),
    (gpu::TEXTURE_FEATURES_0, 0x00fe_001e),
    (gpu::TEXTURE_FEATURES_0 + 4, 0x0000_ffff),
    (gpu::TEXTURE_FEATURES_0 + 8, 0x9f81_ffff),
    (gpu::JS0_FEATURES, 0x20e),
    (gpu::JS0_FEATURES + 4, 0x1fe),
    (gpu::JS0_FEATURES + 8, 0x07e),
];

const TILER_PRESENT: u64 = 1;

/// GPU_CYCLE_COUNT: what it counted, and since when it counts on.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct CycleCounter {
    counted: u64,
    since_ns: Option<u64>,
}

impl Midgard {
    /// Sets the registers that tell what this GPU is.
    pub(super) fn identify(&mut self) {
        for (offset, value) in IDENTITY {
            self.words.set(offset, value);
        }
        let of = self.configuration;
        self.words.set(gpu::ID, of.id);
        let present = [of.shader_present, TILER_PRESENT, of.l2_present];
        for (offset, cores) in (power::PRESENT..).step_by(0x10).zip(present) {
            self.words.set64(offset, cores);
        }
    }

    pub(super) fn write_gpu(&mut self, offset: u32, store: &Store<'_>, effects: &mut Vec<Effect>) {
        if GPU_INTERRUPTS.write(&mut self.words, offset, store.value) {
            return;
        }
        match offset {
            gpu::CMD => self.gpu_command(store, effects),
            gpu::PWR_OVERRIDE0
            | gpu::PWR_OVERRIDE1
            | gpu::PERFCNT_BASE_LO..=gpu::PERFCNT_MMU_L2_EN
            | gpu::JM_CONFIG..=gpu::L2_MMU_CONFIG => self.words.set(offset, store.value),
            power::ON..power::TRANSITION => self.write_power(offset, store.value),
            _ => {}
        }
    }

    fn gpu_command(&mut self, store: &Store<'_>, effects: &mut Vec<Effect>) {
        match store.value {
            command::SOFT_RESET | command::HARD_RESET => self.reset(effects),
            command::PERFCNT_SAMPLE => self.raise_gpu(cause::PERFCNT_SAMPLE_COMPLETED),
            command::CYCLE_COUNT_START => self.start_cycles(store.now_ns),
            command::CYCLE_COUNT_STOP => self.stop_cycles(store.now_ns),
            command::CLEAN_CACHES | command::CLEAN_INV_CACHES => {
                effects.push(Effect::Flush(Flush::Caches));
                self.raise_gpu(cause::CLEAN_CACHES_COMPLETED);
            }
            _ => {}
        }
    }

    pub(super) fn raise_gpu(&mut self, causes: u32) {
        GPU_INTERRUPTS.raise(&mut self.words, causes);
    }

    fn reset(&mut self, effects: &mut Vec<Effect>) {
        for slot in &mut self.slots {
            if let Some(job) = slot.job() {
                let why = Lost::Reset;
                effects.push(Effect::Lost { job, why });
            }
            *slot = Default::default();
        }
        self.tables = Default::default();
        self.cycles = CycleCounter::default();
        for offset in (0..WINDOW).step_by(4) {
            self.words.set(offset, 0);
        }
        self.identify();
        effects.push(Effect::Reset(Reset::Gpu));
        self.raise_gpu(cause::RESET_COMPLETED);
    }

    fn start_cycles(&mut self, now_ns: u64) {
        self.cycles.since_ns.get_or_insert(now_ns);
    }

    fn stop_cycles(&mut self, now_ns: u64) {
        let counted = self.cycles_at(now_ns);
        self.cycles = CycleCounter {
            counted,
            since_ns: None,
        };
        self.words.set64(gpu::CYCLE_COUNT_LO, counted);
        let timestamp = ticks(now_ns, self.configuration.timestamp_hz);
        self.words.set64(gpu::TIMESTAMP_LO, timestamp);
    }

    fn cycles_at(&self, now_ns: u64) -> u64 {
        let since = self.cycles.since_ns.unwrap_or(now_ns);
        let elapsed = ticks(now_ns.saturating_sub(since), self.configuration.clock_hz);
        self.cycles.counted.wrapping_add(elapsed)
    }

    /// The counters' registers, which a copy in RAM has as they were when last stopped.
    pub(super) fn counter(&self, now_ns: u64, offset: u32) -> Option<u32> {
        let timestamp = ticks(now_ns, self.configuration.timestamp_hz);
        let cycles = self.cycles_at(now_ns);
        let (value, high) = match offset.checked_sub(gpu::CYCLE_COUNT_LO)? {
            0 => (cycles, false),
            4 => (cycles, true),
            8 => (timestamp, false),
            12 => (timestamp, true),
            _ => return None,
        };
        Some(if high { value >> 32 } else { value } as u32)
    }
}

fn ticks(ns: u64, hz: u64) -> u64 {
    (u128::from(ns) * u128::from(hz) / 1_000_000_000) as u64
}
