//! Where a GPU's driver is in the guest's memory, for simulators that see its stores.

use std::sync::atomic::{AtomicU64, Ordering};

/// Where the code of the GPU's driver is.
#[derive(Debug, Default)]
pub struct Code {
    first: AtomicU64,
    len: AtomicU64,
}

impl Code {
    /// It is there from now on.
    pub fn set(&self, first: u64, len: u64) {
        self.len.store(0, Ordering::Relaxed);
        self.first.store(first, Ordering::Relaxed);
        self.len.store(len, Ordering::Relaxed);
    }

    /// Whether this address is of it.
    pub fn has(&self, address: u64) -> bool {
        let offset = address.wrapping_sub(self.first.load(Ordering::Relaxed));
        offset < self.len.load(Ordering::Relaxed)
    }
}
