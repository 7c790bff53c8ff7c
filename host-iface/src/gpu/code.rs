//! Where a GPU's driver is in the guest's memory, for simulators that see its stores, and
//! which instructions they watch for that.

use gil_report::Instrumented;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Where the code of the GPU's driver is.
#[derive(Debug, Default)]
pub struct Code {
    first: AtomicU64,
    len: AtomicU64,
    /// Addresses of the instructions that are watched.
    instrumented: Mutex<BTreeSet<u64>>,
    executed: AtomicU64,
    outside: AtomicU64,
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

    /// The simulator watches the instruction at this address from now on.
    pub fn instrument(&self, address: u64) {
        let all = self.instrumented.lock();
        all.unwrap_or_else(PoisonError::into_inner).insert(address);
    }

    /// One that is watched is executed.
    pub fn execute(&self, address: u64) {
        self.executed.fetch_add(1, Ordering::Relaxed);
        let is_outside = u64::from(!self.has(address));
        self.outside.fetch_add(is_outside, Ordering::Relaxed);
    }

    /// What the report says of it; nothing if none is watched.
    pub fn report(&self) -> Option<Instrumented> {
        let all = self.instrumented.lock();
        let instructions = all.unwrap_or_else(PoisonError::into_inner).len() as u64;
        (instructions > 0).then(|| Instrumented {
            instructions,
            executed: self.executed.load(Ordering::Relaxed),
            outside: self.outside.load(Ordering::Relaxed),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_watched_is_counted_and_whether_it_is_the_drivers() {
        let code = Code::default();
        assert!(!code.has(0));
        assert_eq!(code.report(), None);
        code.set(0x1000, 0x100);
        assert!(code.has(0x1000) && code.has(0x10ff));
        assert!(!code.has(0xfff) && !code.has(0x1100));
        [0x1004, 0x1008, 0x1004]
            .into_iter()
            .for_each(|it| code.instrument(it));
        code.execute(0x1004);
        code.set(0, 0);
        code.execute(0x1004);
        let wanted = Instrumented {
            instructions: 2,
            executed: 2,
            outside: 1,
        };
        assert_eq!(code.report(), Some(wanted));
    }
}
