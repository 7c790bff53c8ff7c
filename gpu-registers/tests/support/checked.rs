//! A machine whose effects must make sense, whatever is done to it.

use super::Machine;
use gil_gpu_registers::{
    Access, Effect, Fault, FaultKind, Gpu, JobId, Lost, NotRunning, Outcome, Pause, Processor,
    Reset, Space, Tables,
};
use std::collections::{BTreeMap, BTreeSet};

/// Something that a guest or a board does.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// A store.
    Write(u32, u32),
    /// An entry of a page table.
    Memory(u64, u64),
    /// A running job ends; the number chooses one, if there is any.
    Finish(u8, Outcome),
    /// A running job waits.
    Pause(u8, Pause),
    /// A checkpoint is taken and restored.
    Restore,
    /// An address is translated.
    Translate(u8, u64, Access),
}

/// Raw, mask and status of each line, as the kernel's headers have them.
fn blocks(gpu: Gpu) -> Vec<[u32; 3]> {
    match gpu {
        Gpu::MaliT628 => vec![
            [0x1000, 0x1008, 0x100c],
            [0x2000, 0x2008, 0x200c],
            [0x20, 0x28, 0x2c],
        ],
        Gpu::Mali400 => {
            let mut blocks = vec![[0x24, 0x2c, 0x30], [0x3014, 0x301c, 0x3020]];
            for n in 0..4 {
                let (pp, mmu) = (0x8000 + n * 0x2000, 0x4000 + n * 0x1000);
                blocks.push([pp + 0x1020, pp + 0x1028, pp + 0x102c]);
                blocks.push([mmu + 0x14, mmu + 0x1c, mmu + 0x20]);
            }
            blocks
        }
    }
}

/// A machine, and what runs on it by its effects.
pub struct Checked {
    machine: Machine,
    gpu: Gpu,
    running: BTreeMap<JobId, (Processor, Space)>,
    paused: BTreeSet<JobId>,
    last: Option<JobId>,
    first_words: Vec<u32>,
}

impl Checked {
    pub fn new(gpu: Gpu) -> Self {
        let machine = Machine::new(gpu);
        let first_words = machine.model.words().to_vec();
        Self {
            machine,
            gpu,
            running: BTreeMap::new(),
            paused: BTreeSet::new(),
            last: None,
            first_words,
        }
    }

    /// Does something, and checks what came of it.
    pub fn act(&mut self, action: Action) {
        match action {
            Action::Write(offset, value) => self.machine.write(offset, value),
            Action::Memory(address, value) => {
                self.machine.memory.put_u64(address & !7, value);
            }
            Action::Finish(which, outcome) => self.finish(which, outcome),
            Action::Pause(which, why) => self.pause(which, why),
            Action::Restore => self.machine.restore(),
            Action::Translate(space, address, access) => self.translate(space, address, access),
        }
        self.follow();
        self.check_lines();
        self.check_jobs();
        self.check_identity();
    }

    /// The model, saved.
    pub fn saved(&self) -> Vec<u8> {
        postcard::to_stdvec(&self.machine.model).expect("it can be saved")
    }

    fn chosen(&self, which: u8) -> Option<JobId> {
        let jobs: Vec<JobId> = self.running.keys().copied().collect();
        let index = usize::from(which).checked_rem(jobs.len())?;
        Some(jobs[index])
    }

    fn finish(&mut self, which: u8, outcome: Outcome) {
        let Some(job) = self.chosen(which) else {
            let job = JobId(which.into());
            assert_eq!(self.machine.finish(job, outcome), Err(NotRunning(job)));
            return;
        };
        self.running.remove(&job);
        assert_eq!(self.machine.finish(job, outcome), Ok(()));
        assert_eq!(self.machine.finish(job, outcome), Err(NotRunning(job)));
    }

    fn pause(&mut self, which: u8, why: Pause) {
        let Some(job) = self.chosen(which) else {
            let job = JobId(which.into());
            assert_eq!(self.machine.pause(job, why), Err(NotRunning(job)));
            return;
        };
        assert_eq!(self.machine.pause(job, why), Ok(()));
        let (processor, _) = self.running[&job];
        if why != Pause::OutOfHeap || processor == Processor::Gp {
            self.paused.insert(job);
        }
    }

    fn translate(&self, space: u8, address: u64, access: Access) {
        let memory = &self.machine.memory;
        let model = &self.machine.model;
        match model.translate(Space(space), address, access, memory) {
            Ok(got) => assert_eq!(got.address & 0xfff, address & 0xfff),
            Err(fault) => assert_eq!((fault.address, fault.access), (address, access)),
        }
    }

    /// A job starts once, on a processor that is free, and nothing names one that is over.
    fn follow(&mut self) {
        for effect in self.machine.effects() {
            match effect {
                Effect::Start(job) => {
                    assert!(self.last < Some(job.id), "{job:?} had its number before");
                    self.last = Some(job.id);
                    let mut busy = self.running.values();
                    assert!(busy.all(|(busy, _)| *busy != job.processor), "{job:?}");
                    self.running.insert(job.id, (job.processor, job.space));
                }
                Effect::Lost { job, why } => {
                    let lost = self.running.remove(&job);
                    let (_, space) = lost.unwrap_or_else(|| panic!("{job:?} is over"));
                    let unmapped = self.machine.model.tables(space) == Tables::Unmapped;
                    assert!(unmapped || why != Lost::Unmapped, "{job:?}");
                }
                Effect::Reset(Reset::Gpu) => assert!(self.running.is_empty()),
                Effect::Reset(Reset::Processor(idle)) => {
                    assert!(self.running.values().all(|(busy, _)| *busy != idle));
                }
                Effect::Stop { job, .. } => {
                    assert!(self.running.contains_key(&job), "{job:?} is over");
                }
                Effect::Resume { job, .. } => {
                    assert!(self.running.contains_key(&job), "{job:?} is over");
                    assert!(self.paused.remove(&job), "{job:?} was not paused");
                }
                _ => {}
            }
        }
    }

    fn check_jobs(&self) {
        let mut model = self.machine.model.running();
        model.sort();
        assert!(self.running.keys().eq(&model), "{model:?}");
    }

    fn check_lines(&self) {
        for (line, [raw, mask, status]) in blocks(self.gpu).into_iter().enumerate() {
            let masked = self.machine.read(raw) & self.machine.read(mask);
            assert_eq!(self.machine.read(status), masked, "line {line}");
            let level = self.machine.lines >> line & 1 != 0;
            assert_eq!(level, masked != 0, "line {line}");
        }
    }

    /// What a driver probes stays.
    fn check_identity(&self) {
        let fixed: &[u32] = match self.gpu {
            Gpu::MaliT628 => &[0x00, 0x04, 0x14, 0x18, 0x1c, 0x100, 0x110, 0x120],
            Gpu::Mali400 => &[0x6c, 0x1004, 0x9000, 0xb000, 0xd000, 0xf000],
        };
        for offset in fixed {
            let first = self.first_words[*offset as usize / 4];
            assert_eq!(self.machine.read(*offset), first, "{offset:#x}");
        }
    }
}

/// An access, by number.
pub fn access(number: u8) -> Access {
    [Access::Read, Access::Write, Access::Execute][usize::from(number % 3)]
}

/// An outcome, by number.
pub fn outcome(number: u8, status: u32, at: u64) -> Outcome {
    match number % 4 {
        0 => Outcome::Done,
        1 => Outcome::Stopped { at },
        2 => Outcome::Terminated,
        _ => Outcome::Fault { status, at },
    }
}

/// A pause, by number.
pub fn pause(number: u8, level: u8, address: u64) -> Pause {
    let kind = match number / 3 % 5 {
        0 => return Pause::OutOfHeap,
        1 => FaultKind::Unmapped,
        2 => FaultKind::Translation(level),
        3 => FaultKind::Permission(level),
        _ => FaultKind::TableBus(level),
    };
    Pause::Fault(Fault::new(kind, address, access(number)))
}

/// A store that a driver does, by number.
pub fn command(gpu: Gpu, number: u32) -> (u32, u32) {
    let commands: &[(u32, u32)] = match gpu {
        Gpu::MaliT628 => &T628_COMMANDS,
        Gpu::Mali400 => &MALI_400_COMMANDS,
    };
    commands[number as usize % commands.len()]
}

/// Two slots and two address spaces: starts, stops, causes, tables, flushes, resets.
const T628_COMMANDS: [(u32, u32); 32] = [
    (0x1840, 0x1000),
    (0x1858, 0x0000),
    (0x1858, 0x0801),
    (0x1860, 1),
    (0x1860, 1),
    (0x1860, 0),
    (0x1820, 2),
    (0x1820, 3),
    (0x1820, 7),
    (0x18d8, 0x0001),
    (0x18e0, 1),
    (0x18e0, 1),
    (0x18e0, 0),
    (0x18a0, 2),
    (0x1004, 0x7_0007),
    (0x1008, 0x7_0007),
    (0x1008, 0),
    (0x2004, !0),
    (0x2008, !0),
    (0x2400, 0x4000_0003),
    (0x2400, 0),
    (0x2400, 2),
    (0x2418, 1),
    (0x2418, 4),
    (0x2440, 2),
    (0x2440, 0),
    (0x2458, 1),
    (0x2458, 3),
    (0x24, !0),
    (0x28, !0),
    (0x30, 7),
    (0x30, 1),
];

/// The GP and a PP: starts, causes, MMU commands, resets, power.
const MALI_400_COMMANDS: [(u32, u32); 32] = [
    (0x20, 3),
    (0x20, 1),
    (0x20, 0x10),
    (0x20, 0x200),
    (0x20, 0x400),
    (0x28, !0),
    (0x2c, !0),
    (0x2c, 0),
    (0x1010, 1),
    (0x2004, 1),
    (0x2004, 4),
    (0x3000, 0x4000_0000),
    (0x3008, 0),
    (0x3008, 1),
    (0x3008, 2),
    (0x3008, 3),
    (0x3008, 5),
    (0x3008, 6),
    (0x3018, !0),
    (0x301c, !0),
    (0x4000, 0x4000_0000),
    (0x4008, 0),
    (0x4008, 4),
    (0x4008, 5),
    (0x4008, 6),
    (0x401c, 3),
    (0x900c, 0x40),
    (0x900c, 0x40),
    (0x900c, 0x80),
    (0x900c, 0x01),
    (0x9024, !0),
    (0x9028, !0),
];
