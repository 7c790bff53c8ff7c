//! A GPU that the guest's own kernel drives by its registers. Simulators hand the driver's
//! stores in; what its loads must return afterwards is in the registers' memory, or the
//! simulator has a device and asks ([`Registers::access`]). Jobs that
//! it starts are the board's to execute, and end in simulated time as any operation.

mod calls;
mod clock;
mod code;
mod device;
mod entries;
mod frame;
mod memory;
mod saved;

pub(crate) use calls::fetched;
pub use clock::RateError;
pub(crate) use code::Code;
pub use device::{Access, Pins};
pub use saved::SavedError;

use crate::mailbox::Answer;
use crate::memory::{GuestMemory, MemoryError};
use crate::submission::Submission;
use calls::Calls;
use clock::Clock;
use entries::Entries;
use frame::Frame;
use gil_gpu_registers::{
    Access as To, Change, Effect, Fault, Gpu, Job, JobId, Model, NotMemory, Outcome, Pause,
    Processor, Range, Stop, Work,
};
use gil_uapi::{GuestAddress, Status, VirtualAddress};
use gil_wire::ending::Ending;
use gil_wire::envelope;
use gil_wire::generated::{lima, panfrost};
use gil_wire::gpu;
use memory::{Part, SpaceError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The session of its jobs: a number that no driver in the guest gives.
pub const SESSION: u64 = u64::MAX;
/// Most windows of all address spaces that the board has; beyond it, those of others than
/// the job's go.
const WINDOWS_MOST: usize = 1 << 14;

/// Which GPU, and where its registers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuPlace {
    /// The GPU.
    pub gpu: Gpu,
    /// The first register, where they are the guest's RAM; none: the simulator has a device
    /// for them.
    pub at: Option<GuestAddress>,
}

/// Why a store or a job is not done.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// The registers' memory is no RAM.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A job's memory cannot be sent.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// A clock's rate.
    #[error(transparent)]
    Rate(#[from] RateError),
    /// The board did not take a call.
    #[error("a job of the {gpu} is not executed: the board {what}", gpu = .gpu.name())]
    Board {
        /// The GPU.
        gpu: Gpu,
        /// What it did instead.
        what: &'static str,
    },
}

impl GpuError {
    /// The board executes no job of this GPU any more, or never did: the guest's driver would
    /// give up each, of which programs notice nothing.
    pub fn ends_run(&self) -> bool {
        matches!(self, Self::Board { what, .. } if [GONE, UNSERVED].contains(what))
    }
}

/// What a board does instead of executing jobs.
const GONE: &str = "is gone: start it again, and the run";
const UNSERVED: &str =
    "has no GPU of this kind: give --board one that has, such as the stand-in board";

/// Executes calls of the GPU's session.
pub type Board<'a> = &'a mut dyn FnMut(&Submission) -> Answer;

/// A job that has begun.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Running {
    job: Job,
    /// None: not by itself.
    end: Option<End>,
}

/// How a job ends.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct End {
    /// When, in simulated time.
    at_ns: u64,
    outcome: Outcome,
    /// The access that failed. If that is still so by the tables of then, the driver is
    /// asked for the page, and the job has not ended.
    access: Option<(u64, To)>,
}

/// A GPU.
pub struct Registers {
    place: GpuPlace,
    clock: Clock,
    model: Model,
    effects: Vec<Effect>,
    changes: Vec<Change>,
    /// Where the driver has them; 0: not known.
    registers: u64,
    /// The latest time that is known.
    now_ns: u64,
    calls: Calls,
    entries: Entries,
    running: Vec<Running>,
    /// The windows that the board has, by space and address.
    windows: BTreeMap<(u32, u64), gpu::Window>,
    /// What its last job was of, if that is a frame.
    frame: Option<Frame>,
}

/// The guest's RAM, as the model reads page tables there.
struct Ram<'a>(&'a dyn GuestMemory);

impl gil_gpu_registers::GuestMemory for Ram<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), NotMemory> {
        let bytes = into.len();
        let read = self.0.read(GuestAddress(address), into);
        read.map_err(|_| NotMemory { address, bytes })
    }
}

impl Registers {
    /// One out of reset, whose registers' memory is all zeros.
    pub fn new(place: GpuPlace) -> Self {
        let api = match place.gpu {
            Gpu::MaliT628 => panfrost::API,
            Gpu::Mali400 => lima::API,
        };
        Self {
            place,
            clock: Clock::new(place.gpu),
            model: place.gpu.model(),
            effects: Vec::new(),
            changes: Vec::new(),
            registers: 0,
            now_ns: 0,
            calls: Calls::new(api),
            entries: Entries::default(),
            running: Vec::new(),
            windows: BTreeMap::new(),
            frame: None,
        }
    }

    /// The GPU's clock has this rate from now on: jobs that begin later last as many of its
    /// cycles as on the board, of the highest of its rates. What runs is not changed.
    ///
    /// # Errors
    /// [`RateError`] for a rate that the GPU does not have; nothing changes.
    pub fn set_frequency(&mut self, hz: u64) -> Result<(), RateError> {
        self.clock.set(hz)
    }

    /// The driver enters a function that starts jobs, at some of these GPU addresses.
    pub fn enter(&mut self, addresses: Vec<u64>) {
        self.entries.enter(addresses);
    }

    /// How many jobs started, and by how many such functions; nothing if none was seen.
    pub fn starts(&self) -> Option<gil_report::Starts> {
        self.entries.report()
    }

    /// The register at a guest physical address.
    pub fn offset(&self, address: u64) -> Option<u32> {
        let offset = address.checked_sub(self.place.at?.0)?;
        let offset = u32::try_from(offset).ok()?;
        (offset < self.place.gpu.window()).then_some(offset)
    }

    /// The driver has a register at this virtual address.
    pub fn seen_at(&mut self, place: VirtualAddress, offset: u32) {
        self.registers = place.0.wrapping_sub(offset.into());
    }

    /// The driver stored a word, which is in the registers' memory, at the latest time that
    /// is known.
    ///
    /// # Errors
    /// [`GpuError`].
    pub fn store(
        &mut self,
        memory: &dyn GuestMemory,
        (offset, value): (u32, u32),
        board: Board<'_>,
    ) -> Result<(), GpuError> {
        let ram = Ram(memory);
        self.model
            .write(self.now_ns, offset, value, &ram, &mut self.effects);
        self.follow(memory, board)
    }

    /// The guest's module tells the time, and perhaps of a store that it holds back.
    ///
    /// # Errors
    /// [`GpuError`].
    pub fn tell(
        &mut self,
        memory: &dyn GuestMemory,
        now_ns: u64,
        store: Option<(u32, u32)>,
        board: Board<'_>,
    ) -> Result<(), GpuError> {
        // Its clock may begin again, while nothing is timed.
        let is_idle = self.running.is_empty();
        self.now_ns = if is_idle {
            now_ns
        } else {
            self.now_ns.max(now_ns)
        };
        self.end_due(memory);
        if let Some((offset, value)) = store.filter(|it| it.0 < self.place.gpu.window()) {
            if let Some(at) = self.place.at {
                let at = GuestAddress(at.0 + u64::from(offset));
                memory.write(at, &value.to_le_bytes())?;
            }
            return self.store(memory, (offset, value), board);
        }
        self.follow(memory, board)
    }

    /// What the guest's module is told.
    pub fn answer(&self) -> Answer {
        let mut released = vec![0; 2];
        released[gil_uapi::gpu::LINES] = self.model.interrupts().into();
        released[gil_uapi::gpu::REGISTERS] = self.registers;
        Answer {
            released,
            attention_ns: self.next_ns(),
            ..Answer::status(Status::Ok)
        }
    }

    /// When the next job ends; 0: none does.
    fn next_ns(&self) -> u64 {
        let ends = self.running.iter().filter_map(|it| it.end);
        let next_ns = ends.map(|end| end.at_ns).min();
        next_ns.map_or(0, |at_ns| at_ns.max(self.now_ns + 1))
    }

    /// Brings the registers' memory up to date, where they have one.
    ///
    /// # Errors
    /// [`MemoryError`] if it is no RAM.
    pub fn publish(&mut self, memory: &dyn GuestMemory) -> Result<(), MemoryError> {
        self.changes.clear();
        self.model.take_changes(&mut self.changes);
        let Some(first) = self.place.at else {
            return Ok(());
        };
        for change in &self.changes {
            let at = GuestAddress(first.0 + u64::from(change.offset));
            memory.write(at, &change.value.to_le_bytes())?;
        }
        Ok(())
    }

    /// Jobs whose time has come end, in the order of their ends.
    fn end_due(&mut self, memory: &dyn GuestMemory) {
        let now_ns = self.now_ns;
        let is_due = |it: &Running| it.end.is_some_and(|end| end.at_ns <= now_ns);
        let (mut due, left): (Vec<_>, Vec<_>) = self.running.drain(..).partition(is_due);
        self.running = left;
        due.sort_by_key(|it| it.end.map(|end| end.at_ns));
        for mut running in due {
            let Some(end) = running.end.take() else {
                continue;
            };
            if let Some(fault) = fault(&running.job, end, memory) {
                let why = Pause::Fault(fault);
                let _ = self.model.pause(running.job.id, why, &mut self.effects);
                self.running.push(running);
                continue;
            }
            // A reset may have taken it away.
            let job = running.job.id;
            let _ = self
                .model
                .finish(end.at_ns, job, end.outcome, &mut self.effects);
        }
    }

    /// Does what stores and ends have caused.
    fn follow(&mut self, memory: &dyn GuestMemory, board: Board<'_>) -> Result<(), GpuError> {
        let mut result = Ok(());
        while !self.effects.is_empty() {
            for effect in std::mem::take(&mut self.effects) {
                match effect {
                    Effect::Start(job) => {
                        self.entries.start(first_address(&job.work));
                        result = result.and(self.start(memory, job, &mut *board));
                    }
                    Effect::Stop { job, how } => self.stop(job, how),
                    Effect::Lost { job, .. } => self.running.retain(|it| it.job.id != job),
                    Effect::Resume { job, heap } => {
                        result = result.and(self.resume(memory, (job, heap), &mut *board));
                    }
                    Effect::Interrupt { .. }
                    | Effect::Tables { .. }
                    | Effect::Flush(_)
                    | Effect::Reset(_) => {}
                }
            }
        }
        self.publish(memory)?;
        result
    }

    /// The board has executed a job by then, or never will: it ends here at once.
    fn stop(&mut self, job: JobId, how: Stop) {
        let Some(at) = self.running.iter().position(|it| it.job.id == job) else {
            return;
        };
        let running = self.running.remove(at);
        let at = first_address(&running.job.work);
        let outcome = match how {
            Stop::Soft => Outcome::Stopped { at },
            Stop::Hard => Outcome::Terminated,
        };
        let _ = self
            .model
            .finish(self.now_ns, job, outcome, &mut self.effects);
    }

    /// What a job lacked is there now: the board executes it from its beginning.
    fn resume(
        &mut self,
        memory: &dyn GuestMemory,
        (job, new_heap): (JobId, Option<Range>),
        board: Board<'_>,
    ) -> Result<(), GpuError> {
        let Some(at) = self.running.iter().position(|it| it.job.id == job) else {
            return Ok(());
        };
        let Running { mut job, .. } = self.running.remove(at);
        job.tables = self.model.tables(job.space);
        if let (Work::Geometry { heap, .. }, Some(new)) = (&mut job.work, new_heap) {
            *heap = new;
        }
        self.start(memory, job, board)
    }

    fn start(
        &mut self,
        memory: &dyn GuestMemory,
        job: Job,
        board: Board<'_>,
    ) -> Result<(), GpuError> {
        let end = None;
        let id = job.id;
        self.running.push(Running {
            job: job.clone(),
            end,
        });
        let ram = Ram(memory);
        let first = first_address(&job.work);
        if let Err(fault) = job.tables.translate(first, To::Read, &ram) {
            let why = Pause::Fault(fault);
            let _ = self.model.pause(id, why, &mut self.effects);
            return Ok(());
        }
        let parts = memory::parts(job.tables, &ram, memory)?;
        let end = self.execute(&job, &parts, board)?;
        if let Some(running) = self.running.iter_mut().find(|it| it.job.id == id) {
            running.end = end;
        }
        Ok(())
    }

    /// Has the board execute a job: when it ends, and how; none if it does not.
    fn execute(
        &mut self,
        job: &Job,
        parts: &[Part],
        board: Board<'_>,
    ) -> Result<Option<End>, GpuError> {
        let now_ns = self.now_ns;
        let goes_on = |it: Frame| it.goes_on(now_ns, job, parts);
        let is_there = self.frame.take().is_some_and(goes_on);
        let mut all = self.gone(memory::number(job.tables), parts);
        all.extend_from_slice(if is_there { &[] } else { parts });
        let wire = wire_job(job);
        let (first, rest) = self.calls.memory(self.now_ns, &all);
        for submission in &first {
            self.check(board(submission))?;
        }
        let (mut submission, event, mut left) =
            self.calls
                .job(self.now_ns, (&wire, engine(job)), rest, parts);
        submission.pace = self.clock.pace();
        self.check(board(&submission))?;
        while !left.is_empty() {
            let (submission, rest) = self.calls.fetch(self.now_ns, event, left);
            self.check(board(&submission))?;
            left = rest;
        }
        self.frame = Frame::of(now_ns, job, parts);
        let answer = board(&self.calls.wait(self.now_ns, event));
        let answer = self.check(answer)?;
        let read = envelope::Answer::read(&answer.reply).unwrap_or_default();
        let Some(seen) = read.observed.first() else {
            return Ok(None);
        };
        let end = End {
            at_ns: seen.end_ns,
            outcome: Outcome::Done,
            access: None,
        };
        match seen.ending {
            Ending::Done => Ok(Some(end)),
            // No status of the hardware's: it did not end.
            Ending::Failed(status) if status <= 0 => Ok(None),
            Ending::Failed(status) => {
                let asked = board(&self.calls.fault(self.now_ns, event));
                let answer = self.check(asked)?;
                let fault = faulted(&answer.reply);
                let at = fault.map(|fault| fault.descriptor).filter(|at| *at != 0);
                let outcome = Outcome::Fault {
                    status: status.cast_unsigned(),
                    at: at.unwrap_or_else(|| first_address(&job.work)),
                };
                let access =
                    fault.map(|it| (it.address, if it.writes { To::Write } else { To::Read }));
                Ok(Some(End {
                    outcome,
                    access,
                    ..end
                }))
            }
        }
    }

    fn check(&self, answer: Answer) -> Result<Answer, GpuError> {
        let what = match answer.status {
            Status::Ok => return Ok(answer),
            Status::Unserved => UNSERVED,
            Status::Lost => GONE,
            _ => "refused it",
        };
        let gpu = self.place.gpu;
        Err(GpuError::Board { gpu, what })
    }

    /// Windows that the board has and that are mapped no longer; and notes those that are.
    fn gone(&mut self, space: u32, parts: &[Part]) -> Vec<Part> {
        // They rise.
        let is_there = |window: &gpu::Window| {
            let found = parts.binary_search_by_key(&window.address, |it| it.window.address);
            window.space == space && found.is_ok()
        };
        let is_full = self.windows.len() + parts.len() > WINDOWS_MOST;
        let goes = |window: &gpu::Window| match window.space == space {
            true => !is_there(window),
            false => is_full,
        };
        let gone: Vec<_> = self
            .windows
            .values()
            .filter(|it| goes(it))
            .copied()
            .collect();
        for window in &gone {
            self.windows.remove(&(window.space, window.address));
        }
        for Part { window, .. } in parts {
            self.windows.insert((space, window.address), *window);
        }
        let empty = |window: gpu::Window| Part {
            window: gpu::Window {
                pages: [0; 32],
                ..window
            },
            extents: Default::default(),
        };
        gone.into_iter().map(empty).collect()
    }
}

/// The fault of a job whose access still fails when it ends.
fn fault(job: &Job, end: End, memory: &dyn GuestMemory) -> Option<Fault> {
    let (address, access) = end.access?;
    job.tables.translate(address, access, &Ram(memory)).err()
}

/// Where a job failed, by the board's answer, if that says so.
fn faulted(reply: &[u8]) -> Option<gpu::Fault> {
    let answer = envelope::Answer::read(reply).ok()?;
    postcard::from_bytes(answer.result).ok()?
}

/// The GPU address of what a job reads first.
fn first_address(work: &Work) -> u64 {
    match work {
        Work::Chain { head, .. } => *head,
        Work::Geometry { vertex, plbu, .. } => {
            let first = vertex.as_ref().or(plbu.as_ref());
            first.map_or(0, |range| range.start.into())
        }
        Work::Pixels(frame) => frame.frame[0].into(),
    }
}

/// Of what executes jobs at the same time as others, which one does: the driver's
/// processors first, of which Mali-400's pixel processors are one.
fn engine(job: &Job) -> u8 {
    match job.processor {
        Processor::JobSlot(0) => 1,
        Processor::JobSlot(1) | Processor::Gp => 0,
        Processor::JobSlot(n) => n,
        Processor::Pp(n) => 1 + n.min(3),
    }
}

/// A job as the board gets it: its processor as the driver's table counts them.
fn wire_job(job: &Job) -> gpu::Job {
    let range = |it: &gil_gpu_registers::Range| (it.start, it.end);
    let processor = match job.processor {
        Processor::JobSlot(0) => 1,
        Processor::JobSlot(_) | Processor::Gp => 0,
        Processor::Pp(_) => 1,
    };
    let work = match &job.work {
        Work::Chain {
            head,
            affinity,
            config,
            ..
        } => gpu::Work::Chain {
            head: *head,
            affinity: *affinity,
            config: *config,
        },
        Work::Geometry { vertex, plbu, heap } => gpu::Work::Geometry {
            vertex: vertex.as_ref().map(range),
            plbu: plbu.as_ref().map(range),
            heap: range(heap),
        },
        Work::Pixels(frame) => gpu::Work::Pixels {
            processor: match job.processor {
                Processor::Pp(n) => n,
                _ => 0,
            },
            frame: frame.frame.to_vec(),
            write_back: frame.write_back.as_flattened().to_vec(),
        },
    };
    gpu::Job {
        space: memory::number(job.tables),
        processor,
        work,
    }
}
