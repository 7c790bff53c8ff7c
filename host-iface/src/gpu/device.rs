//! The GPU as a device of the simulator's own: loads and stores come with their time, and
//! the answer says what its pins show.

use super::{Board, GpuError, Registers};
use crate::memory::GuestMemory;

/// What the simulator's device is asked, or that its time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A load of four bytes at this offset.
    Load(u32),
    /// A store of four bytes: the offset, and the value.
    Store(u32, u32),
    /// None: [`Pins::attention_ns`] has come.
    Tick,
    /// None: the GPU's clock has this rate from now on, in hertz, or the nearest to it that
    /// it can have.
    Clock(u64),
}

/// What the device shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    /// What a load returns; else 0.
    pub value: u32,
    /// The interrupt lines that are high, a bit each.
    pub lines: u32,
    /// When a job ends, in guest nanoseconds: tick then; 0: none does.
    pub attention_ns: u64,
}

impl Registers {
    /// The driver loads or stores, or time has passed, in a simulator that has a device for
    /// the GPU. What it shows then is right whether or not there was an error.
    pub fn access(
        &mut self,
        memory: &dyn GuestMemory,
        now_ns: u64,
        access: Access,
        board: Board<'_>,
    ) -> (Pins, Result<(), GpuError>) {
        let store = match access {
            Access::Store(offset, value) => Some((offset, value)),
            Access::Load(_) | Access::Tick | Access::Clock(_) => None,
        };
        if let Access::Clock(hz) = access {
            self.clock.set_near(hz);
        }
        let told = self.tell(memory, now_ns, store, board);
        let value = match access {
            Access::Load(offset) => self.model.read(self.now_ns, offset),
            Access::Store(..) | Access::Tick | Access::Clock(_) => 0,
        };
        let pins = Pins {
            value,
            lines: self.model.interrupts(),
            attention_ns: self.next_ns(),
        };
        (pins, told)
    }
}
