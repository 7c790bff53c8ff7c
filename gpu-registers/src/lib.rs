//! The registers of two ARM GPUs, for a simulator that has no such GPU: what their drivers
//! (`panfrost`, `lima`) probe, start, stop, reset and handle is here; what a job computes is
//! not. Pure functions of stores: no I/O, no clock, no threads.
//!
//! A simulator hands over each store ([`RegisterModel::write`]) and does what the effects
//! say: it starts jobs, sets interrupt lines. When a job ends, it says so
//! ([`RegisterModel::finish`]). It answers reads from [`RegisterModel::read`], or keeps the
//! registers in RAM of the guest and writes [`RegisterModel::take_changes`] there before the
//! next instruction: no read has a side effect.
//!
//! | module | what is in it |
//! |---|---|
//! | [`midgard`] | Mali T628: job slots, address spaces, power, GPU control |
//! | [`utgard`] | Mali-400: GP, PPs, their MMUs, L2 cache, power |
//!
//! Page tables: [`Tables`]. Checkpoints: [`Model`] is `serde`'s.
//!
//! Offsets, bits and sequences are those that the Linux kernel's drivers use
//! (`drivers/gpu/drm/panfrost/`, `drivers/gpu/drm/lima/`); identification values of T62x are
//! those of gem5's NoMali.
//!
//! Power, resets and MMU commands take no time here.
//!
//! ```
//! use gil_gpu_registers::{Effect, Gpu, GuestMemory, NotMemory, Outcome, RegisterModel};
//!
//! struct NoMemory;
//! impl GuestMemory for NoMemory {
//!     fn read(&self, address: u64, into: &mut [u8]) -> Result<(), NotMemory> {
//!         let bytes = into.len();
//!         Err(NotMemory { address, bytes })
//!     }
//! }
//!
//! let mut gpu = Gpu::MaliT628.model();
//! let mut effects = Vec::new();
//! // Slot 0's head, start, and the mask of its interrupt.
//! for (offset, value) in [(0x1840, 0x2000_0000), (0x1860, 1), (0x1008, 0x1_0001)] {
//!     gpu.write(1_000, offset, value, &NoMemory, &mut effects);
//! }
//! let [Effect::Start(job)] = &effects[..] else {
//!     panic!("{effects:?}");
//! };
//! let id = job.id;
//! effects.clear();
//! gpu.finish(5_000, id, Outcome::Done, &mut effects)?;
//! assert_eq!(effects, [Effect::Interrupt { line: 0, high: true }]);
//! assert_eq!(gpu.read(5_000, 0x1824), 1);
//! # Ok::<(), gil_gpu_registers::NotRunning>(())
//! ```

#![forbid(unsafe_code)]

mod effects;
mod interrupts;
mod memory;
pub mod midgard;
mod model;
mod tables;
pub mod utgard;
mod words;

pub use effects::{
    Effect, Flush, Frame, Job, JobId, Lost, NotRunning, Outcome, Pause, Processor, Range, Reset,
    Space, Stop, Work,
};
pub use memory::{GuestMemory, NotMemory};
pub use model::Model;
pub use tables::{Access, Fault, FaultKind, Mapping, Mappings, Rights, Tables, Translation};
pub use words::{BadState, Change};

/// The GPUs that there are models of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gpu {
    /// Mali T628.
    MaliT628,
    /// Mali-400 MP4.
    Mali400,
}

impl Gpu {
    /// Every GPU.
    pub const ALL: [Self; 2] = [Self::MaliT628, Self::Mali400];

    /// The GPU that `--gpu` names so.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|gpu| gpu.name() == name)
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::MaliT628 => "mali-t628",
            Self::Mali400 => "mali-400",
        }
    }

    /// The kernel's driver of it.
    pub fn driver(self) -> &'static str {
        match self {
            Self::MaliT628 => "panfrost",
            Self::Mali400 => "lima",
        }
    }

    /// The device tree's `compatible`.
    pub fn compatible(self) -> &'static str {
        match self {
            Self::MaliT628 => "arm,mali-t628",
            Self::Mali400 => "arm,mali-400",
        }
    }

    /// Bytes of register space.
    pub fn window(self) -> u32 {
        match self {
            Self::MaliT628 => midgard::WINDOW,
            Self::Mali400 => utgard::WINDOW,
        }
    }

    /// The interrupt lines' names in the device tree (`interrupt-names`), in the order of
    /// their numbers.
    pub fn lines(self) -> &'static [&'static str] {
        match self {
            Self::MaliT628 => &midgard::LINES,
            Self::Mali400 => &utgard::LINES,
        }
    }

    /// The rates that its clock may have, hertz, rising. At the last one jobs take as long
    /// as on the board.
    pub fn rates(self) -> &'static [u64] {
        match self {
            Self::MaliT628 => &midgard::RATES,
            Self::Mali400 => &utgard::RATES,
        }
    }

    /// A model of it, out of reset.
    pub fn model(self) -> Model {
        match self {
            Self::MaliT628 => Model::MaliT628(Box::default()),
            Self::Mali400 => Model::Mali400(Box::default()),
        }
    }
}

/// A GPU's registers. Times are simulated, in nanoseconds, and must not go back.
pub trait RegisterModel {
    /// What a load at `offset` returns at `now_ns`; 0 where there is no register.
    fn read(&self, now_ns: u64, offset: u32) -> u32;

    /// A store of 4 bytes at `offset` at `now_ns`. Appends what it causes, in order. A store
    /// where there is no register, or that is not aligned, does nothing.
    ///
    /// `memory` is read only where a paused job's access is tried again.
    fn write(
        &mut self,
        now_ns: u64,
        offset: u32,
        value: u32,
        memory: &dyn GuestMemory,
        effects: &mut Vec<Effect>,
    );

    /// A running job ended at `now_ns`: sets status and interrupts; the slot's next job may
    /// start.
    ///
    /// # Errors
    ///
    /// [`NotRunning`] if it is over already.
    fn finish(
        &mut self,
        now_ns: u64,
        job: JobId,
        outcome: Outcome,
        effects: &mut Vec<Effect>,
    ) -> Result<(), NotRunning>;

    /// A running job waits for the driver: sets the fault registers and interrupts. It stays
    /// running until it is resumed, lost or finished.
    ///
    /// # Errors
    ///
    /// [`NotRunning`] if it is over already.
    fn pause(
        &mut self,
        job: JobId,
        why: Pause,
        effects: &mut Vec<Effect>,
    ) -> Result<(), NotRunning>;

    /// The interrupt lines' levels, a bit each.
    fn interrupts(&self) -> u32;

    /// Appends the words whose copy in RAM is stale (after a reset, hundreds) and takes them
    /// as written there. The copy begins as all zeros and takes every store as it is.
    fn take_changes(&mut self, changes: &mut Vec<Change>);

    /// All words, as a copy in RAM holds them.
    fn words(&self) -> &[u32];

    /// The jobs that run.
    fn running(&self) -> Vec<JobId>;

    /// An address space's tables.
    fn tables(&self, space: Space) -> Tables;

    /// Translates an address through an address space's tables as they are now.
    ///
    /// # Errors
    ///
    /// The fault that the hardware raises: hand it to [`RegisterModel::pause`].
    fn translate(
        &self,
        space: Space,
        address: u64,
        access: Access,
        memory: &dyn GuestMemory,
    ) -> Result<Translation, Fault> {
        self.tables(space).translate(address, access, memory)
    }
}
