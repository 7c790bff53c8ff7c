//! Mali-400: a geometry processor, up to four pixel processors, an MMU each, an L2 cache.
//!
//! The driver's protocol (`lima_gp.c`, `lima_pp.c`, `lima_mmu.c`, `lima_sched.c`): before a
//! job the L2 cache is cleared and the MMUs are stalled, given a page directory and
//! released; then a frame's registers are written, and a start bit. After a job its
//! processor is reset. A page fault stalls the job until the processor and its MMU are
//! reset. A GP that has filled its heap goes on when it gets more.
//!
//! There are no broadcast, list balancing or DMA units: Mali-400 has none that `lima` uses.

mod gp;
mod l2;
mod mmu;
mod pmu;
mod pp;
pub mod registers;

use crate::RegisterModel;
use crate::effects::{
    Effect, Job, JobId, Lost, NotRunning, Outcome, Pause, Processor, Range, Space, Work,
};
use crate::interrupts::{InterruptBlock, answered, levels, tell};
use crate::memory::GuestMemory;
use crate::tables::Tables;
use crate::words::{BadState, Change, Words, check_numbers};
use registers::unit;
use serde::{Deserialize, Serialize};

/// Bytes of register space.
pub const WINDOW: u32 = 0x1_0000;

/// Interrupt lines, in the order of their numbers.
pub const LINES: [&str; 10] = [
    "gp", "gpmmu", "pp0", "ppmmu0", "pp1", "ppmmu1", "pp2", "ppmmu2", "pp3", "ppmmu3",
];

const MHZ: u64 = 1_000_000;

/// Rates of its clock, as an Exynos 4412 has them.
pub const RATES: [u64; 4] = [160 * MHZ, 267 * MHZ, 350 * MHZ, 440 * MHZ];

/// Versions of an MP4, revision r1p1.
const GP_VERSION: u32 = 0x0b07_0101;
const PP_VERSION: u32 = 0xcd07_0101;
/// 128 KiB, 4 ways, lines of 64 bytes, a bus of 64 bits.
const L2_SIZE: u32 = 0x0611_0206;

/// The GP and four PPs.
const PROCESSORS: u8 = 5;

/// The model.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Utgard {
    words: Words,
    /// What the GP runs, then the PPs.
    running: [Option<Running>; PROCESSORS as usize],
    next_job: u64,
}

/// A model out of a checkpoint.
#[derive(Deserialize)]
struct Unchecked {
    words: Words,
    running: [Option<Running>; PROCESSORS as usize],
    next_job: u64,
}

impl TryFrom<Unchecked> for Utgard {
    type Error = BadState;

    fn try_from(saved: Unchecked) -> Result<Self, BadState> {
        saved.words.expect(WINDOW)?;
        let running = saved.running.iter().flatten();
        check_numbers(running.map(|running| running.id.0), saved.next_job)?;
        let mut gpu = Self {
            words: saved.words,
            running: saved.running,
            next_job: saved.next_job,
        };
        for block in blocks() {
            block.raise(&mut gpu.words, 0);
        }
        Ok(gpu)
    }
}

/// A job that runs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Running {
    id: JobId,
    /// What it waits for.
    paused: Option<Pause>,
}

/// What a store comes with.
struct Store {
    now_ns: u64,
    value: u32,
}

/// The processor of this number.
fn processor(index: u8) -> Processor {
    index.checked_sub(1).map_or(Processor::Gp, Processor::Pp)
}

/// The blocks of interrupts, in the order of [`LINES`].
fn blocks() -> impl Iterator<Item = InterruptBlock> {
    (0..PROCESSORS).flat_map(|index| {
        let own = match processor(index) {
            Processor::Pp(pp) => pp::interrupts(pp),
            _ => gp::INTERRUPTS,
        };
        [own, mmu::interrupts(Space(index))]
    })
}

impl Default for Utgard {
    fn default() -> Self {
        Self::new()
    }
}

impl Utgard {
    /// An MP4 out of reset, all of it powered.
    pub fn new() -> Self {
        let mut gpu = Self {
            words: Words::new(WINDOW),
            running: [None; PROCESSORS as usize],
            next_job: 0,
        };
        gpu.words.set(unit::L2 + registers::l2::SIZE, L2_SIZE);
        gpu.words.set(registers::gp::VERSION, GP_VERSION);
        for index in 0..PROCESSORS {
            gpu.reset_mmu_registers(Space(index));
        }
        for pp in 0..PROCESSORS - 1 {
            let version = pp::at(pp, registers::pp::VERSION);
            gpu.words.set(version, PP_VERSION);
        }
        gpu
    }

    fn dispatch(&mut self, offset: u32, store: &Store, effects: &mut Vec<Effect>) {
        let inside = offset & (unit::MMU_STRIDE - 1);
        match offset & !(unit::MMU_STRIDE - 1) {
            unit::GP => self.write_gp(inside, store, effects),
            unit::L2 => self.write_l2(inside, store, effects),
            unit::PMU => self.write_pmu(inside, store, effects),
            page @ unit::MMU..unit::PP => {
                let index = (page - unit::MMU) / unit::MMU_STRIDE;
                self.write_mmu(Space(index as u8), inside, store, effects);
            }
            unit::PP..WINDOW => {
                let index = (offset - unit::PP) / unit::PP_STRIDE;
                let inside = offset & (unit::PP_STRIDE - 1);
                self.write_pp(index as u8, inside, store, effects);
            }
            _ => {}
        }
    }

    /// Starts a job on a processor that runs none.
    fn start(&mut self, index: u8, now_ns: u64, work: Work, effects: &mut Vec<Effect>) {
        let id = JobId(self.next_job);
        self.next_job = self.next_job.wrapping_add(1);
        self.running[usize::from(index)] = Some(Running { id, paused: None });
        let space = Space(index);
        effects.push(Effect::Start(Job {
            id,
            start_ns: now_ns,
            processor: processor(index),
            space,
            tables: self.tables(space),
            work,
        }));
    }

    fn is_running(&self, index: u8) -> bool {
        self.running[usize::from(index)].is_some()
    }

    /// Takes away what a processor runs.
    fn lose(&mut self, index: u8, why: Lost, effects: &mut Vec<Effect>) {
        if let Some(running) = self.running[usize::from(index)].take() {
            let job = running.id;
            effects.push(Effect::Lost { job, why });
        }
    }

    fn processor_of(&self, job: JobId) -> Result<u8, NotRunning> {
        let mut all = (0..).zip(&self.running);
        let runs = all.find(|(_, running)| running.is_some_and(|running| running.id == job));
        runs.map(|(index, _)| index).ok_or(NotRunning(job))
    }

    /// Lets a paused job go on, if it waits for this.
    fn resume(&mut self, index: u8, heap: Option<Range>, effects: &mut Vec<Effect>) {
        let Some(running) = &mut self.running[usize::from(index)] else {
            return;
        };
        let waits_for_heap = running.paused == Some(Pause::OutOfHeap);
        if running.paused.is_some() && waits_for_heap == heap.is_some() {
            running.paused = None;
            let job = running.id;
            effects.push(Effect::Resume { job, heap });
        }
    }

    fn range(&self, offset: u32) -> Range {
        Range {
            start: self.words.get(offset),
            end: self.words.get(offset + 4),
        }
    }
}

impl RegisterModel for Utgard {
    fn read(&self, _now_ns: u64, offset: u32) -> u32 {
        self.words.get(offset)
    }

    fn write(
        &mut self,
        now_ns: u64,
        offset: u32,
        value: u32,
        _memory: &dyn GuestMemory,
        effects: &mut Vec<Effect>,
    ) {
        if !offset.is_multiple_of(4) {
            return self.words.spoil(offset);
        }
        let before = self.interrupts();
        self.words.store(offset, value);
        self.dispatch(offset, &Store { now_ns, value }, effects);
        let answered = answered(offset, blocks());
        tell(before, self.interrupts(), answered, effects);
    }

    fn finish(
        &mut self,
        _now_ns: u64,
        job: JobId,
        outcome: Outcome,
        effects: &mut Vec<Effect>,
    ) -> Result<(), NotRunning> {
        let index = self.processor_of(job)?;
        let before = self.interrupts();
        self.running[usize::from(index)] = None;
        match processor(index) {
            Processor::Pp(pp) => self.end_pp(pp, outcome),
            _ => self.end_gp(outcome),
        }
        tell(before, self.interrupts(), 0, effects);
        Ok(())
    }

    fn pause(
        &mut self,
        job: JobId,
        why: Pause,
        effects: &mut Vec<Effect>,
    ) -> Result<(), NotRunning> {
        let index = self.processor_of(job)?;
        let before = self.interrupts();
        if why == Pause::OutOfHeap && index != 0 {
            return Ok(());
        }
        if let Some(running) = &mut self.running[usize::from(index)] {
            running.paused = Some(why);
        }
        match why {
            Pause::Fault(fault) => self.fault(Space(index), &fault),
            Pause::OutOfHeap => self.out_of_heap(),
        }
        tell(before, self.interrupts(), 0, effects);
        Ok(())
    }

    fn interrupts(&self) -> u32 {
        levels(&self.words, blocks())
    }

    fn take_changes(&mut self, changes: &mut Vec<Change>) {
        self.words.take_changes(changes);
    }

    fn words(&self) -> &[u32] {
        self.words.all()
    }

    fn running(&self) -> Vec<JobId> {
        let running = self.running.iter().flatten();
        running.map(|running| running.id).collect()
    }

    fn tables(&self, space: Space) -> Tables {
        if space.0 < PROCESSORS {
            self.mmu_tables(space)
        } else {
            Tables::Unmapped
        }
    }
}

impl Utgard {
    /// A processor's job went without a cause.
    fn settle_idle(&mut self, index: u8) {
        match processor(index) {
            Processor::Pp(pp) => self.end_pp(pp, Outcome::Terminated),
            _ => self.end_gp(Outcome::Terminated),
        }
    }
}
