//! Why a simulator cannot run a guest.

use super::gem5::Gem5Error;
use super::qemu::QemuError;
use super::qemu::qmp::QmpError;
use crate::kernel_command::KernelError;
use crate::watch;
use gil_guest_image::apt::AptError;
use gil_guest_image::memory::MemoryError;
use gil_guest_image::sysroot::SysrootError;
use gil_run_support::cache::CacheError;

/// Why a simulator cannot run a guest.
#[derive(Debug, thiserror::Error)]
pub enum SimulatorError {
    /// QEMU.
    #[error(transparent)]
    Qemu(#[from] QemuError),
    /// Commands to QEMU.
    #[error("{0}: run it again with --boot, which boots the guest anew")]
    Qmp(#[from] QmpError),
    /// gem5.
    #[error(transparent)]
    Gem5(#[from] Gem5Error),
    /// Options that do not go together.
    #[error("{option} is an option of {of}: {mend}")]
    Options {
        /// The option.
        option: &'static str,
        /// Whose it is.
        of: &'static str,
        /// The remedy.
        mend: &'static str,
    },
    /// A display with a driver that has none.
    #[error(
        "{option} is not for {driver}: its GPUs have no outputs, displays are another driver's; leave out one of the two"
    )]
    Outputs {
        /// The option.
        option: &'static str,
        /// The driver.
        driver: String,
    },
    /// Packages, the kernel, the driver.
    #[error(transparent)]
    Apt(#[from] AptError),
    /// Files.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The guest's files as a folder.
    #[error(transparent)]
    Sysroot(#[from] SysrootError),
    /// The kernel's symbols.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The guest's memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A function to watch.
    #[error(transparent)]
    Watch(#[from] watch::Error),
}
