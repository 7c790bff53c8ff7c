//! A guest for tests: RAM, and a driver that reads registers from a copy in RAM, which only
//! its own stores and the model's changes bring up to date.

#![allow(dead_code, missing_docs)]

pub mod checked;

use gil_gpu_registers::{
    Change, Effect, Gpu, GuestMemory, Job, JobId, Model, NotMemory, NotRunning, Outcome, Pause,
};
use std::collections::BTreeMap;

/// RAM: pages that were written; others are no memory.
#[derive(Default, Clone)]
pub struct Ram(BTreeMap<u64, Vec<u8>>);

impl GuestMemory for Ram {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), NotMemory> {
        let bytes = into.len();
        let page = self.0.get(&(address >> 12));
        let at = (address & 0xfff) as usize;
        let from = page.and_then(|page| page.get(at..at + bytes));
        into.copy_from_slice(from.ok_or(NotMemory { address, bytes })?);
        Ok(())
    }
}

impl Ram {
    pub fn page(&mut self, address: u64) {
        self.bytes(address & !0xfff);
    }

    pub fn put(&mut self, address: u64, value: &[u8]) {
        let at = (address & 0xfff) as usize;
        self.bytes(address)[at..at + value.len()].copy_from_slice(value);
    }

    pub fn put_u64(&mut self, address: u64, value: u64) {
        self.put(address, &value.to_le_bytes());
    }

    pub fn put_u32(&mut self, address: u64, value: u32) {
        self.put(address, &value.to_le_bytes());
    }

    fn bytes(&mut self, address: u64) -> &mut Vec<u8> {
        self.0.entry(address >> 12).or_insert_with(|| vec![0; 4096])
    }
}

/// What a driver does to registers.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A store.
    Write(u32, u32),
    /// A load that must give this.
    Read(u32, u32),
    /// A load whose bits of the first value must be the second.
    Poll(u32, u32, u32),
}

pub use Step::{Poll, Read, Write};

/// A model, its copy, and what it caused.
pub struct Machine {
    pub model: Model,
    pub memory: Ram,
    pub now_ns: u64,
    pub lines: u32,
    copy: Vec<u32>,
    effects: Vec<Effect>,
}

impl Machine {
    pub fn new(gpu: Gpu) -> Self {
        Self::of(gpu.model())
    }

    pub fn of(model: Model) -> Self {
        let copy = vec![0; model.words().len()];
        let mut machine = Self {
            model,
            memory: Ram::default(),
            now_ns: 0,
            lines: 0,
            copy,
            effects: Vec::new(),
        };
        machine.settle();
        machine
    }

    pub fn write(&mut self, offset: u32, value: u32) {
        self.now_ns += 100;
        if let (0, Some(word)) = (offset % 4, self.copy.get_mut(offset as usize / 4)) {
            *word = value;
        }
        let (memory, effects) = (&self.memory, &mut self.effects);
        self.model
            .write(self.now_ns, offset, value, memory, effects);
        self.settle();
    }

    pub fn read(&self, offset: u32) -> u32 {
        self.copy[offset as usize / 4]
    }

    pub fn run(&mut self, steps: &[Step]) {
        for (index, step) in steps.iter().enumerate() {
            match *step {
                Write(offset, value) => self.write(offset, value),
                Read(offset, value) => {
                    assert_eq!(self.read(offset), value, "step {index}: {step:x?}");
                }
                Poll(offset, mask, value) => {
                    let read = self.read(offset);
                    assert_eq!(read & mask, value, "step {index}: {step:x?}, {read:#x}");
                }
            }
        }
    }

    pub fn finish(&mut self, job: JobId, outcome: Outcome) -> Result<(), NotRunning> {
        self.now_ns += 100;
        let done = self
            .model
            .finish(self.now_ns, job, outcome, &mut self.effects);
        self.settle();
        done
    }

    pub fn pause(&mut self, job: JobId, why: Pause) -> Result<(), NotRunning> {
        let paused = self.model.pause(job, why, &mut self.effects);
        self.settle();
        paused
    }

    /// Saves the model and goes on with a restored one, and a copy in RAM of any contents.
    pub fn restore(&mut self) {
        let saved = postcard::to_stdvec(&self.model).expect("it can be saved");
        let restored: Model = postcard::from_bytes(&saved).expect("it was saved so");
        assert!(self.model.words() == restored.words());
        assert_eq!(self.model.running(), restored.running());
        assert_eq!(postcard::to_stdvec(&restored), Ok(saved));
        self.model = restored;
        self.copy.fill(0x5555_5555);
        self.settle();
    }

    /// What happened since the last call, without the lines' changes.
    pub fn effects(&mut self) -> Vec<Effect> {
        let all = std::mem::take(&mut self.effects);
        all.into_iter().filter(|effect| !is_line(effect)).collect()
    }

    /// The lines' changes since the last call.
    pub fn lines_told(&mut self) -> Vec<Effect> {
        let all = std::mem::take(&mut self.effects);
        all.into_iter().filter(is_line).collect()
    }

    /// The jobs that started since the last call.
    pub fn started(&mut self) -> Vec<Job> {
        let jobs = self
            .effects()
            .into_iter()
            .filter_map(|effect| match effect {
                Effect::Start(job) => Some(job),
                _ => None,
            });
        jobs.collect()
    }

    /// The one job that started since the last call.
    pub fn job(&mut self) -> Job {
        let mut jobs = self.started();
        assert_eq!(jobs.len(), 1, "{jobs:?}");
        jobs.remove(0)
    }

    /// Follows lines and changes, and compares both with what the model says.
    fn settle(&mut self) {
        let mut changes = Vec::new();
        self.model.take_changes(&mut changes);
        for Change { offset, value } in changes {
            self.copy[offset as usize / 4] = value;
        }
        assert!(self.copy == self.model.words(), "the copy is stale");
        self.lines = self.model.interrupts();
        let told = self.effects.iter().filter_map(|effect| match effect {
            Effect::Interrupt { line, high } => Some((*line, *high)),
            _ => None,
        });
        let last: BTreeMap<u8, bool> = told.collect();
        for (line, high) in last {
            assert_eq!(self.lines >> line & 1 != 0, high, "line {line}");
        }
    }
}

fn is_line(effect: &Effect) -> bool {
    matches!(effect, Effect::Interrupt { .. })
}
