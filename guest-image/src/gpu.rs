//! The GPU that a guest has, if Debian's Mesa draws in it.

/// A GPU whose registers are gil's.
pub use gil_gpu_registers::Gpu as Model;

/// A GPU that Debian's Mesa draws on by a driver of the guest's kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gpu {
    /// The board's: gil's module answers as the driver of this name.
    Board(String),
    /// The simulator's own, with the kernel's own driver.
    Simulators,
    /// One whose registers are gil's, with the kernel's own driver.
    Registers {
        /// The GPU.
        model: Model,
        /// Who has its registers.
        place: Place,
    },
}

/// Where the registers of a GPU are that are gil's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a device of the simulator's: gem5.
    Device,
    /// In the guest's RAM; gil's module watches them and makes interrupts: QEMU.
    Ram,
}
