//! The entry point of each operation that has not ended yet.

use gil_wire::Op;
use std::collections::HashMap;

/// Most operations that are known at a time: more are of no entry point.
const OPERATIONS_MAX: usize = 1 << 20;

/// By session and event.
#[derive(Debug, Default)]
pub struct Events(HashMap<(u64, u64), Op>);

impl Events {
    /// A call signals an event.
    pub fn begins(&mut self, session: u64, event: u64, op: Op) {
        if self.0.len() < OPERATIONS_MAX {
            self.0.insert((session, event), op);
        }
    }

    /// Its operation ended; of which entry point it was.
    pub fn ends(&mut self, session: u64, event: u64) -> Option<Op> {
        self.0.remove(&(session, event))
    }
}
