//! Job slots: a running chain each, and the registers of the next.

use super::registers::job;
use super::{JOB_INTERRUPTS, Midgard, Store, status};
use crate::effects::{Effect, Job, JobId, NotRunning, Outcome, Processor, Space, Stop, Work};
use crate::tables::Fault;
use serde::{Deserialize, Serialize};

/// What a job slot does.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Slot {
    pub(super) running: Option<Running>,
    /// A job failed; the next one waits until the driver has cleared the cause.
    held: bool,
}

/// A chain that runs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Running {
    pub(super) id: JobId,
    pub(super) space: Space,
    /// How it was last asked to stop.
    stop: Option<Stop>,
    pub(super) stalled: Option<Stalled>,
}

/// A chain that waits for the driver to mend its address space.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Stalled {
    pub(super) fault: Fault,
    /// Whether the fault registers had its fault; those of the space may have another's.
    pub(super) reported: bool,
}

impl Slot {
    pub(super) fn job(&self) -> Option<JobId> {
        self.running.map(|running| running.id)
    }
}

/// Where slot `slot` has its register `register`.
fn at(slot: u8, register: u32) -> u32 {
    job::SLOT0 + u32::from(slot) * job::STRIDE + register
}

/// The causes of a slot: done, and failed.
fn causes(slot: u8) -> (u32, u32) {
    (1 << slot, 1 << (16 + u32::from(slot)))
}

impl Midgard {
    pub(super) fn write_job(&mut self, offset: u32, store: &Store<'_>, effects: &mut Vec<Effect>) {
        if JOB_INTERRUPTS.write(&mut self.words, offset, store.value) {
            if offset == job::INT_CLEAR {
                self.acknowledge(store, effects);
            }
            return;
        }
        match offset {
            job::THROTTLE => self.words.set(offset, store.value),
            job::SLOT0.. => self.write_slot(offset - job::SLOT0, store, effects),
            _ => {}
        }
    }

    /// Causes were cleared: their slots go on, and their states are sampled.
    fn acknowledge(&mut self, store: &Store<'_>, effects: &mut Vec<Effect>) {
        for slot in 0..job::SLOTS {
            let (done, failed) = causes(slot);
            if store.value & failed != 0 {
                self.slots[usize::from(slot)].held = false;
                self.start_next(slot, store.now_ns, effects);
            }
            if store.value & (done | failed) != 0 {
                self.sample(slot);
            }
        }
    }

    fn sample(&mut self, slot: u8) {
        let (current, next) = causes(slot);
        self.words.lower(job::JS_STATE, current | next);
        if self.slots[usize::from(slot)].running.is_some() {
            self.words.raise(job::JS_STATE, current);
        }
        if self.words.get(at(slot, job::COMMAND_NEXT)) == job::START {
            self.words.raise(job::JS_STATE, next);
        }
    }

    fn write_slot(&mut self, inside: u32, store: &Store<'_>, effects: &mut Vec<Effect>) {
        let slot = inside / job::STRIDE;
        if slot >= u32::from(job::SLOTS) {
            return;
        }
        let slot = slot as u8;
        let register = inside % job::STRIDE;
        match register {
            job::COMMAND => self.stop(slot, store.value, effects),
            job::COMMAND_NEXT => {
                self.words.set(at(slot, register), store.value);
                self.start_next(slot, store.now_ns, effects);
            }
            job::HEAD_NEXT
            | job::HEAD_NEXT_HI
            | job::AFFINITY_NEXT
            | job::AFFINITY_NEXT_HI
            | job::CONFIG_NEXT
            | job::FLUSH_ID_NEXT => self.words.set(at(slot, register), store.value),
            _ => {}
        }
    }

    fn stop(&mut self, slot: u8, command: u32, effects: &mut Vec<Effect>) {
        let flag = self.words.get(at(slot, job::CONFIG)) & job::CHAIN_FLAG != 0;
        let how = match (command, flag) {
            (2, _) | (4, false) | (6, true) => Stop::Soft,
            (3, _) | (5, false) | (7, true) => Stop::Hard,
            _ => return,
        };
        let Some(running) = &mut self.slots[usize::from(slot)].running else {
            return;
        };
        if running.stop < Some(how) {
            running.stop = Some(how);
            let job = running.id;
            effects.push(Effect::Stop { job, how });
        }
    }

    /// Moves the next chain to the free slot, if it was started.
    pub(super) fn start_next(&mut self, slot: u8, now_ns: u64, effects: &mut Vec<Effect>) {
        let state = self.slots[usize::from(slot)];
        let started = self.words.get(at(slot, job::COMMAND_NEXT)) == job::START;
        if state.held || state.running.is_some() || !started {
            return;
        }
        let (head, affinity, config) = self.take_next(slot);
        let Some(space) = self.space_of(config) else {
            return self.fail(slot, status::CONFIG_FAULT, head);
        };
        let id = JobId(self.next_job);
        self.next_job = self.next_job.wrapping_add(1);
        self.words.set(at(slot, job::STATUS), status::ACTIVE);
        self.slots[usize::from(slot)].running = Some(Running {
            id,
            space,
            stop: None,
            stalled: None,
        });
        effects.push(Effect::Start(Job {
            id,
            start_ns: now_ns,
            processor: Processor::JobSlot(slot),
            space,
            tables: self.tables[usize::from(space.0)],
            work: Work::Chain {
                head,
                affinity,
                config,
                flush_id: self.words.get(at(slot, job::FLUSH_ID_NEXT)),
            },
        }));
    }

    /// Copies the next set of registers to the running set; the next head and command
    /// become 0.
    fn take_next(&mut self, slot: u8) -> (u64, u64, u32) {
        let head = self.words.get64(at(slot, job::HEAD_NEXT));
        let affinity = self.words.get64(at(slot, job::AFFINITY_NEXT));
        let config = self.words.get(at(slot, job::CONFIG_NEXT));
        self.words.set64(at(slot, job::HEAD), head);
        self.words.set64(at(slot, job::TAIL), head);
        self.words.set64(at(slot, job::AFFINITY), affinity);
        self.words.set(at(slot, job::CONFIG), config);
        self.words.set64(at(slot, job::HEAD_NEXT), 0);
        self.words.set(at(slot, job::COMMAND_NEXT), 0);
        (head, affinity, config)
    }

    fn space_of(&self, config: u32) -> Option<Space> {
        let space = config & 0xf;
        (space < self.tables.len() as u32).then_some(Space(space as u8))
    }

    /// The slot that runs `job`.
    pub(super) fn slot_of(&self, job: JobId) -> Result<u8, NotRunning> {
        let slots = (0..job::SLOTS).zip(&self.slots);
        let mut runs = slots.filter(|(_, slot)| slot.job() == Some(job));
        runs.next().map(|(slot, _)| slot).ok_or(NotRunning(job))
    }

    /// Ends the running chain.
    pub(super) fn end(&mut self, slot: u8, outcome: Outcome) {
        match outcome {
            Outcome::Done => {
                self.slots[usize::from(slot)].running = None;
                self.words.set(at(slot, job::STATUS), status::DONE);
                JOB_INTERRUPTS.raise(&mut self.words, causes(slot).0);
            }
            Outcome::Stopped { at } => self.fail(slot, status::STOPPED, at),
            Outcome::Terminated => {
                let tail = self.words.get64(at(slot, job::TAIL));
                self.fail(slot, status::TERMINATED, tail);
            }
            Outcome::Fault { status, at } => self.fail(slot, status, at),
        }
    }

    /// Ends the running chain with an exception at the job descriptor `tail`.
    pub(super) fn fail(&mut self, slot: u8, exception: u32, tail: u64) {
        self.slots[usize::from(slot)] = Slot {
            running: None,
            held: true,
        };
        self.words.set(at(slot, job::STATUS), exception);
        self.words.set64(at(slot, job::TAIL), tail);
        JOB_INTERRUPTS.raise(&mut self.words, causes(slot).1);
    }

    /// Where the running chain is.
    pub(super) fn tail(&self, slot: u8) -> u64 {
        self.words.get64(at(slot, job::TAIL))
    }
}
