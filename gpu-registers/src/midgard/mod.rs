//! Mali T628: job slots, address spaces, power, GPU control.
//!
//! The driver's protocol (`panfrost_gpu.c`, `panfrost_job.c`, `panfrost_mmu.c`):
//!
//! - a reset ends with a cause in the raw status; power follows a write at once;
//! - a job's registers are written to the slot's next set, then JSn_COMMAND_NEXT = 1. When
//!   the slot is free they move to the running set: the job starts. A failed job holds the
//!   slot until its cause is cleared; a done one does not;
//! - JOB_INT_JS_STATE is sampled when causes are cleared, for their slots;
//! - a fault of an access stalls its job. A flush or an unlock of its address space tries
//!   it again; taking away the tables ends it.

mod gpu;
mod mmu;
mod power;
pub mod registers;
mod slots;
pub mod status;

use crate::RegisterModel;
use crate::effects::{Effect, JobId, NotRunning, Outcome, Pause, Space};
use crate::interrupts::{InterruptBlock, answered, levels, tell};
use crate::memory::GuestMemory;
use crate::tables::Tables;
use crate::words::{BadState, Change, Words, check_numbers};
use gpu::CycleCounter;
use serde::{Deserialize, Serialize};
use slots::Slot;

/// Bytes of register space.
pub const WINDOW: u32 = 0x4000;

/// Interrupt lines, in the order of their numbers.
pub const LINES: [&str; 3] = ["job", "mmu", "gpu"];

const MHZ: u64 = 1_000_000;

/// Rates of its clock, as an Exynos 5422 has them.
pub const RATES: [u64; 7] = [
    177 * MHZ,
    266 * MHZ,
    350 * MHZ,
    420 * MHZ,
    480 * MHZ,
    543 * MHZ,
    600 * MHZ,
];

/// What distinguishes one T6xx from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configuration {
    /// GPU_ID: product and version.
    pub id: u32,
    /// Shader cores, a bit each.
    pub shader_present: u64,
    /// L2 caches, a bit each, at the number of their group's first core.
    pub l2_present: u64,
    /// The GPU's clock, hertz.
    pub clock_hz: u64,
    /// The clock of the timestamp, hertz.
    pub timestamp_hz: u64,
}

impl Configuration {
    /// Four cores, one L2 cache, as gem5's NoMali.
    pub const MP4: Self = Self {
        id: 0x0620_0010,
        shader_present: 0xf,
        l2_present: 0x1,
        clock_hz: 600 * MHZ,
        timestamp_hz: 24_000_000,
    };

    /// Six cores in two groups; Linux uses the first. How the Exynos 5422 numbers them is
    /// not confirmed.
    pub const MP6: Self = Self {
        shader_present: 0x3f,
        l2_present: 0x11,
        ..Self::MP4
    };
}

const GPU_INTERRUPTS: InterruptBlock = InterruptBlock {
    raw: registers::gpu::INT_RAWSTAT,
    clear: registers::gpu::INT_CLEAR,
    mask: registers::gpu::INT_MASK,
    stat: registers::gpu::INT_STAT,
    causes: registers::gpu::cause::ALL,
};
const JOB_INTERRUPTS: InterruptBlock = InterruptBlock {
    raw: registers::job::INT_RAWSTAT,
    clear: registers::job::INT_CLEAR,
    mask: registers::job::INT_MASK,
    stat: registers::job::INT_STAT,
    causes: 0x0007_0007,
};
const MMU_INTERRUPTS: InterruptBlock = InterruptBlock {
    raw: registers::mmu::INT_RAWSTAT,
    clear: registers::mmu::INT_CLEAR,
    mask: registers::mmu::INT_MASK,
    stat: registers::mmu::INT_STAT,
    causes: 0x00ff_00ff,
};

/// In the order of [`LINES`].
const BLOCKS: [InterruptBlock; 3] = [JOB_INTERRUPTS, MMU_INTERRUPTS, GPU_INTERRUPTS];

/// The model.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Midgard {
    configuration: Configuration,
    words: Words,
    slots: [Slot; registers::job::SLOTS as usize],
    tables: [Tables; registers::mmu::SPACES as usize],
    next_job: u64,
    cycles: CycleCounter,
}

/// A model out of a checkpoint.
#[derive(Deserialize)]
struct Unchecked {
    configuration: Configuration,
    words: Words,
    slots: [Slot; registers::job::SLOTS as usize],
    tables: [Tables; registers::mmu::SPACES as usize],
    next_job: u64,
    cycles: CycleCounter,
}

impl TryFrom<Unchecked> for Midgard {
    type Error = BadState;

    fn try_from(saved: Unchecked) -> Result<Self, BadState> {
        saved.words.expect(WINDOW)?;
        let jobs = saved.slots.iter().filter_map(Slot::job);
        check_numbers(jobs.map(|job| job.0), saved.next_job)?;
        let running = saved.slots.iter().filter_map(|slot| slot.running);
        let mut spaces = running.map(|running| running.space.0);
        if let Some(space) = spaces.find(|space| *space >= registers::mmu::SPACES) {
            return Err(BadState::Space(space));
        }
        let mut gpu = Self {
            configuration: saved.configuration,
            words: saved.words,
            slots: saved.slots,
            tables: saved.tables,
            next_job: saved.next_job,
            cycles: saved.cycles,
        };
        for block in BLOCKS {
            block.raise(&mut gpu.words, 0);
        }
        Ok(gpu)
    }
}

/// What a store comes with.
struct Store<'a> {
    now_ns: u64,
    value: u32,
    memory: &'a dyn GuestMemory,
}

impl Default for Midgard {
    fn default() -> Self {
        Self::new(Configuration::MP4)
    }
}

impl Midgard {
    /// A GPU out of reset.
    pub fn new(configuration: Configuration) -> Self {
        let mut gpu = Self {
            configuration,
            words: Words::new(WINDOW),
            slots: Default::default(),
            tables: Default::default(),
            next_job: 0,
            cycles: CycleCounter::default(),
        };
        gpu.identify();
        gpu
    }

    fn dispatch(&mut self, offset: u32, store: &Store<'_>, effects: &mut Vec<Effect>) {
        match offset {
            0..0x1000 => self.write_gpu(offset, store, effects),
            0x1000..0x2000 => self.write_job(offset, store, effects),
            0x2000..WINDOW => self.write_mmu(offset, store, effects),
            _ => {}
        }
    }
}

impl RegisterModel for Midgard {
    fn read(&self, now_ns: u64, offset: u32) -> u32 {
        self.counter(now_ns, offset)
            .unwrap_or_else(|| self.words.get(offset))
    }

    fn write(
        &mut self,
        now_ns: u64,
        offset: u32,
        value: u32,
        memory: &dyn GuestMemory,
        effects: &mut Vec<Effect>,
    ) {
        if !offset.is_multiple_of(4) {
            return self.words.spoil(offset);
        }
        let before = self.interrupts();
        self.words.store(offset, value);
        let store = Store {
            now_ns,
            value,
            memory,
        };
        self.dispatch(offset, &store, effects);
        let answered = answered(offset, BLOCKS.into_iter());
        tell(before, self.interrupts(), answered, effects);
    }

    fn finish(
        &mut self,
        now_ns: u64,
        job: JobId,
        outcome: Outcome,
        effects: &mut Vec<Effect>,
    ) -> Result<(), NotRunning> {
        let slot = self.slot_of(job)?;
        let before = self.interrupts();
        self.end(slot, outcome);
        self.start_next(slot, now_ns, effects);
        tell(before, self.interrupts(), 0, effects);
        Ok(())
    }

    fn pause(
        &mut self,
        job: JobId,
        why: Pause,
        effects: &mut Vec<Effect>,
    ) -> Result<(), NotRunning> {
        let slot = self.slot_of(job)?;
        let before = self.interrupts();
        if let Pause::Fault(fault) = why {
            self.stall(slot, fault);
        }
        tell(before, self.interrupts(), 0, effects);
        Ok(())
    }

    fn interrupts(&self) -> u32 {
        levels(&self.words, BLOCKS.into_iter())
    }

    fn take_changes(&mut self, changes: &mut Vec<Change>) {
        self.words.take_changes(changes);
    }

    fn words(&self) -> &[u32] {
        self.words.all()
    }

    fn running(&self) -> Vec<JobId> {
        self.slots.iter().filter_map(Slot::job).collect()
    }

    fn tables(&self, space: Space) -> Tables {
        let tables = self.tables.get(usize::from(space.0));
        tables.copied().unwrap_or_default()
    }
}
