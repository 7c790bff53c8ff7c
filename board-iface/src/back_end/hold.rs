//! Memory that must stay alive while a driver uses it: shared virtual memory under
//! buffers, kernel arguments and operations.

use std::sync::{Arc, Mutex, PoisonError};

/// Keeps one allocation; its clones do the same.
#[derive(Clone, Debug, Default)]
pub struct Hold(Arc<()>);

impl Hold {
    /// Whether no clone is left.
    pub fn is_last(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// An allocation that is freed when an operation ends.
#[derive(Clone, Debug)]
pub struct Leaving {
    /// Its address.
    pub address: u64,
    hold: Hold,
}

impl Leaving {
    /// The allocation at an address, which `hold` keeps.
    pub fn new(address: u64, hold: Hold) -> Self {
        Self { address, hold }
    }

    /// Whether it is still the allocation that `hold` keeps.
    pub fn is_of(&self, hold: &Hold) -> bool {
        self.hold.is(hold)
    }
}

/// Allocations whose operations have ended.
#[derive(Clone, Debug, Default)]
pub struct Left(Arc<Mutex<Vec<Leaving>>>);

impl Left {
    /// All so far.
    pub fn take(&self) -> Vec<Leaving> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What an operation frees as it ends, which is when this is dropped.
#[derive(Debug)]
pub struct Frees {
    which: Vec<Leaving>,
    to: Left,
}

impl Frees {
    /// Frees these.
    pub fn new(which: Vec<Leaving>, to: Left) -> Self {
        Self { which, to }
    }
}

impl Drop for Frees {
    fn drop(&mut self) {
        let mut left = self.to.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.append(&mut self.which);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_hold_knows_that_it_is() {
        let first = Hold::default();
        let second = first.clone();
        assert!(!first.is_last());
        drop(second);
        assert!(first.is_last());
    }

    #[test]
    fn what_an_operation_frees_has_left_when_it_ended() {
        let (hold, other) = (Hold::default(), Hold::default());
        let left = Left::default();
        let frees = Frees::new(vec![Leaving::new(16, hold.clone())], left.clone());
        assert!(left.take().is_empty());
        drop(frees);
        let gone = left.take();
        assert_eq!(gone.len(), 1);
        assert!(gone[0].is_of(&hold) && !gone[0].is_of(&other));
        assert!(left.take().is_empty());
    }
}
