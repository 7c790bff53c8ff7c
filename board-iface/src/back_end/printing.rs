//! Kernels that print run one at a time, each to its end, so that the text on the
//! process's standard output belongs to that kernel.

use super::operations::{Operation, Operations};
use crate::board::Ended;
use crate::printed::Turn;
use foldhash::HashMap;
use std::collections::VecDeque;

/// Bytes of text that a session keeps for operations nobody awaits, at most.
const MAX_KEPT: usize = 16 << 20;

/// What a session knows about printing.
#[derive(Debug, Default)]
pub struct Printing {
    /// Operations that may print and wait for the program, in their order.
    blocked: VecDeque<u64>,
    /// Text of operations that are not reported.
    texts: HashMap<u64, Vec<u8>>,
    kept: usize,
}

impl Printing {
    /// Whether operations that may print wait for the program.
    pub fn has_blocked(&self) -> bool {
        !self.blocked.is_empty()
    }

    /// An operation that may print was enqueued, in its turn: keeps its text,
    /// once `wait` has waited for its end. One that is blocked has its turn when
    /// it is not any more.
    pub fn collect(
        &mut self,
        operations: &Operations,
        number: u64,
        turn: &Turn,
        wait: impl Fn(&Operation),
    ) {
        if operations.is_blocked(number) {
            self.blocked.push_back(number);
            return;
        }
        if let Some(operation) = operations.under_way(number) {
            wait(operation);
        }
        self.keep(number, turn.take());
    }

    /// The same for those that were blocked: some may not be any more.
    pub fn collect_blocked(
        &mut self,
        operations: &Operations,
        turn: &Turn,
        wait: impl Fn(&Operation),
    ) {
        for number in std::mem::take(&mut self.blocked) {
            self.collect(operations, number, turn, &wait);
        }
    }

    fn keep(&mut self, number: u64, text: Vec<u8>) {
        if text.is_empty() || self.kept + text.len() > MAX_KEPT {
            return;
        }
        self.kept += text.len();
        self.texts.insert(number, text);
    }

    /// Gives an operation that is reported its text.
    pub fn give(&mut self, ended: &mut Ended) {
        if ended.printed.is_empty() {
            let text = self.texts.remove(&ended.event).unwrap_or_default();
            self.kept -= text.len();
            ended.printed = text;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_wire::ending::Ending;

    #[test]
    fn text_is_the_operations_own_and_bounded() {
        let mut printing = Printing::default();
        printing.keep(1, b"one".to_vec());
        printing.keep(2, vec![b'x'; MAX_KEPT]);
        printing.keep(3, Vec::new());
        let mut text = |number| {
            let mut ended = Ended::bare(number, Ending::Done);
            printing.give(&mut ended);
            ended.printed
        };
        assert_eq!(text(2), b"");
        assert_eq!(text(1), b"one");
        assert_eq!(text(1), b"");
        printing.keep(2, vec![b'x'; MAX_KEPT]);
        let mut ended = Ended::bare(2, Ending::Done);
        printing.give(&mut ended);
        assert_eq!(ended.printed.len(), MAX_KEPT);
    }
}
