//! Jobs of the guest's own kernel driver, as registers describe them, in memory at the
//! guest's GPU addresses.
//!
//! Causes of Mali-400's interrupts: Linux's `drivers/gpu/drm/lima/lima_regs.h`.

use crate::device::JobFence;
use crate::file::log;
use crate::midgard;
use crate::node::{Driver, StandIn};
use crate::utgard::{self, GpFrame, PpFrame};
use crate::walk::{Addresses, Fault, Kind, Walk};
use gil_board::drivers::node::{Executes, GpuMemory, Started, Unmapped};
use gil_wire::gpu::{self, Job, Work};
use std::cell::Cell;
use std::rc::Rc;

/// panfrost's processors, by number: vertices and tiler, fragments.
const SLOTS: [&str; 2] = ["slot1", "slot0"];
/// Mali-400's.
const PIXEL_PROCESSORS: [&str; 4] = ["pp0", "pp1", "pp2", "pp3"];

/// What stops a processor of Mali-400, in its raw interrupt status: the bus met an error,
/// it was forced to hang, a command is none.
struct Causes {
    bus: u32,
    hang: u32,
    command: u32,
}

const GEOMETRY: Causes = Causes {
    bus: 1 << 11,
    hang: 1 << 6,
    command: 1 << 13,
};
const PIXELS: Causes = Causes {
    bus: 1 << 4,
    hang: 1 << 3,
    command: 1 << 9,
};

impl Causes {
    fn of(&self, fault: &Fault) -> u32 {
        match fault.kind {
            Kind::Reads | Kind::Writes => self.bus,
            Kind::NoEnd => self.hang,
            Kind::NoType => self.command,
        }
    }
}

/// The pages that the guest's driver mapped, and the first address that was looked for last
/// and is not there.
struct Pages<'m>(&'m mut dyn GpuMemory, Rc<Cell<Option<u64>>>);

impl Pages<'_> {
    fn is_there(&self, found: Result<(), Unmapped>) -> bool {
        found
            .map_err(|Unmapped(address)| self.1.set(Some(address)))
            .is_ok()
    }
}

impl Addresses for Pages<'_> {
    fn has(&self, address: u64, len: u64) -> bool {
        self.is_there(self.0.check(address, len))
    }

    /// A driver maps a heap's pages when the GPU first touches them, and nothing does here.
    fn has_heap(&self, _address: u64, _len: u64) -> bool {
        true
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        self.is_there(self.0.read(address, bytes))
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> bool {
        let written = self.0.write(address, bytes);
        self.is_there(written)
    }
}

impl Executes for StandIn {
    fn execute(&self, job: &Job, submitted_ns: u64, memory: &mut dyn GpuMemory) -> Started {
        let missing = Rc::new(Cell::new(None));
        let mut walk = Walk::new(Pages(memory, missing.clone()));
        let processor = processor(job);
        let first = first(&job.work);
        tracing::info!("registers start {processor} at {first:#x}");
        let executed = work(self.driver, &job.work, &mut walk);
        self.device.restart(processor);
        let started = self.device.start(processor, submitted_ns, 0);
        let descriptor = walk.descriptor;
        let (found, status) = match executed {
            Ok(()) => (Ok(walk.found), 0),
            Err((fault, status)) => (Err(fault), status),
        };
        let fault = found.as_ref().err().map(|fault| gpu::Fault {
            address: match fault.kind {
                Kind::Reads | Kind::Writes => missing.get().unwrap_or(fault.address),
                Kind::NoEnd | Kind::NoType => fault.address,
            },
            writes: fault.kind == Kind::Writes,
            descriptor,
        });
        let name = self.device.name(processor);
        log(self.driver.name(), (name, started.number), found);
        let fence = JobFence {
            end_ns: started.end_ns,
            status: 0,
        };
        Started {
            fence: Box::new(fence),
            status: status.cast_signed(),
            fault,
        }
    }
}

fn processor(job: &Job) -> &'static str {
    match job.work {
        Work::Chain { .. } => SLOTS.get(usize::from(job.processor)).unwrap_or(&SLOTS[0]),
        Work::Geometry { .. } => "gp",
        Work::Pixels { processor, .. } => {
            let named = PIXEL_PROCESSORS.get(usize::from(processor));
            named.unwrap_or(&"pp")
        }
    }
}

/// The GPU address of what a job reads first.
fn first(work: &Work) -> u64 {
    match work {
        Work::Chain { head, .. } => *head,
        Work::Geometry { vertex, plbu, .. } => {
            let range = vertex.as_ref().or(plbu.as_ref());
            range.map_or(0, |(start, _)| u64::from(*start))
        }
        Work::Pixels { frame, .. } => frame.first().copied().unwrap_or_default().into(),
    }
}

/// Reads what a job names, and executes what needs no shader: why it fails, and its status.
fn work(driver: Driver, work: &Work, walk: &mut Walk<'_>) -> Result<(), (Fault, u32)> {
    match (driver, work) {
        (Driver::Panfrost, Work::Chain { head, .. }) => {
            midgard::chain(walk, *head).map_err(|fault| (fault, midgard::status(&fault)))
        }
        (Driver::Lima, Work::Geometry { vertex, plbu, heap }) => {
            let frame = GpFrame::of_registers(*vertex, *plbu, *heap);
            utgard::geometry(walk, &frame).map_err(|fault| (fault, GEOMETRY.of(&fault)))
        }
        (
            Driver::Lima,
            Work::Pixels {
                frame, write_back, ..
            },
        ) => {
            let frame = PpFrame::of_registers(frame, write_back).ok_or(NO_WORK);
            let pixels = frame.and_then(|frame| utgard::pixels(walk, &frame));
            pixels.map_err(|fault| (fault, PIXELS.of(&fault)))
        }
        (Driver::Panfrost, _) => Err((NO_WORK, midgard::status(&NO_WORK))),
        (Driver::Lima | Driver::SampleGpu, _) => Err((NO_WORK, GEOMETRY.of(&NO_WORK))),
    }
}

/// Registers that describe no job of the driver's GPU.
const NO_WORK: Fault = Fault {
    address: 0,
    what: "job of that GPU",
    kind: Kind::NoType,
};
