//! What a store, or the end of a job, causes outside the registers.

use crate::tables::{Fault, Tables};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A job that the GPU started. Numbers are not reused while a model lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JobId(pub u64);

/// What runs a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Processor {
    /// T628's job slot: 0 fragments, 1 vertices, tiler and compute, 2 compute.
    JobSlot(u8),
    /// Mali-400's geometry processor.
    Gp,
    /// A pixel processor of Mali-400, from 0.
    Pp(u8),
}

/// An address space: T628's ASn; Mali-400's MMU, 0 of the GP, n + 1 of PPn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Space(pub u8);

/// A half-open range of GPU addresses of Mali-400.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Range {
    /// The first byte.
    pub start: u32,
    /// Behind the last byte.
    pub end: u32,
}

/// The registers that describe a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// T628: what JSn_*_NEXT held.
    Chain {
        /// GPU address of the chain's first job descriptor.
        head: u64,
        /// The shader cores that may run it, a bit each.
        affinity: u64,
        /// JSn_CONFIG: address space in bits 0 to 3, flushes, chain flag, priority.
        config: u32,
        /// JSn_FLUSH_ID.
        flush_id: u32,
    },
    /// Mali-400's GP.
    Geometry {
        /// The vertex shader's commands, if it was started.
        vertex: Option<Range>,
        /// The polygon list builder's commands, if it was started.
        plbu: Option<Range>,
        /// The builder's heap.
        heap: Range,
    },
    /// Mali-400's PP.
    Pixels(Box<Frame>),
}

/// Registers of a pixel processor's frame, in the order of their offsets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// From 0x000; word 0 is the GPU address of the polygon list.
    pub frame: [u32; 23],
    /// From 0x100, 0x200 and 0x300: the write-back units.
    pub write_back: [[u32; 12]; 3],
}

/// A job that begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Its number.
    pub id: JobId,
    /// Simulated time of the start, nanoseconds.
    pub start_ns: u64,
    /// What runs it.
    pub processor: Processor,
    /// Its address space.
    pub space: Space,
    /// That space's tables at the start.
    pub tables: Tables,
    /// What it does.
    pub work: Work,
}

/// How a running job is asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stop {
    /// At the next job of the chain; the driver will resume there.
    Soft,
    /// At once.
    Hard,
}

/// Why a job ended without [`RegisterModel::finish`](crate::RegisterModel::finish).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Its processor was reset.
    Reset,
    /// The driver took away its address space; its fault is in the registers.
    Unmapped,
    /// Its processor was powered down.
    Power,
}

/// What is flushed or invalidated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// The GPU's caches.
    Caches,
    /// An address space's cached translations, GPU addresses `first` to `last`; the caches
    /// as well, or the driver waits for its table changes to be seen.
    Space {
        /// Whose.
        space: Space,
        /// The first address.
        first: u64,
        /// The last address.
        last: u64,
        /// Whether data caches are flushed, too.
        memory: bool,
    },
}

/// What is reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// The whole GPU.
    Gpu,
    /// A processor of Mali-400.
    Processor(Processor),
    /// An MMU of Mali-400.
    Mmu(Space),
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A job begins.
    Start(Job),
    /// The driver asks a running job to stop: report
    /// [`Outcome::Stopped`] or [`Outcome::Terminated`], or its end if it came first.
    Stop {
        /// Which.
        job: JobId,
        /// How.
        how: Stop,
    },
    /// A paused job goes on.
    Resume {
        /// Which.
        job: JobId,
        /// Its new heap, if it ran out of heap.
        heap: Option<Range>,
    },
    /// A job ended; [`RegisterModel::finish`](crate::RegisterModel::finish) knows it no
    /// longer.
    Lost {
        /// Which.
        job: JobId,
        /// Why.
        why: Lost,
    },
    /// An interrupt line changed; several changes in one call are one. Or the driver wrote
    /// its clear or mask register and it is still high: who makes interrupts pending by
    /// edges makes one pending again.
    Interrupt {
        /// Its number: an index into [`Gpu::lines`](crate::Gpu::lines).
        line: u8,
        /// Whether it is high now.
        high: bool,
    },
    /// An address space has other tables from now on.
    Tables {
        /// Which.
        space: Space,
        /// Its tables.
        tables: Tables,
    },
    /// Caches or cached translations are flushed.
    Flush(Flush),
    /// Something was reset.
    Reset(Reset),
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// To its end.
    Done,
    /// By a soft stop. Mali-400 has none: the processor goes idle without an interrupt.
    Stopped {
        /// GPU address of the job descriptor to resume at.
        at: u64,
    },
    /// By a hard stop. Mali-400 as for [`Outcome::Stopped`].
    Terminated,
    /// By a fault.
    Fault {
        /// T628: the exception code for JSn_STATUS, as [`midgard::status`](crate::midgard::status)
        /// has them. Mali-400: bits of the processor's raw interrupt status.
        status: u32,
        /// T628: GPU address of the job descriptor that failed.
        at: u64,
    },
}

/// Why a job cannot go on until the driver has done something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pause {
    /// An access failed.
    Fault(Fault),
    /// Mali-400's GP has filled its heap. No pause for any other processor: ignored.
    OutOfHeap,
}

/// A number of no running job.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("job {} is not running: it ended, or was stopped by a reset", .0.0)]
pub struct NotRunning(pub JobId);
