//! The GPU that a guest has, if Debian's Mesa draws in it.

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

/// A GPU whose registers are gil's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Mali-T628, which the kernel's panfrost drives.
    MaliT628,
    /// Mali-400 with four pixel processors, which the kernel's lima drives.
    Mali400,
}
