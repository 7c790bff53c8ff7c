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
    Registers(Model),
}
