//! Text that kernels printed, held until the simulated end of its operation.

use foldhash::HashMap;
use gil_timing::Event;
use std::collections::{BTreeMap, VecDeque};

/// Most bytes kept in all: a program that never takes its text must not take
/// all memory. What exceeds them is dropped.
pub const KEPT_MAX: usize = 64 << 20;
/// Most operations whose text is kept, however short it is.
const TEXTS_MAX: usize = 1 << 18;

/// A session's text.
#[derive(Debug, Default)]
pub struct Printed {
    /// Of operations whose end is not known.
    open: HashMap<Event, Vec<u8>>,
    /// In the order of ends, then of publication.
    placed: BTreeMap<(u64, u64), VecDeque<u8>>,
    next: u64,
    len: usize,
}

impl Printed {
    /// An operation printed this. Whether it is kept.
    pub fn add(&mut self, event: Event, text: Vec<u8>) -> bool {
        if text.is_empty() {
            return true;
        }
        let texts = self.open.len() + self.placed.len();
        if self.len + text.len() > KEPT_MAX || texts >= TEXTS_MAX {
            return false;
        }
        self.len += text.len();
        self.open.insert(event, text);
        true
    }

    /// An operation's end became known.
    pub fn resolve(&mut self, event: Event, end_ns: u64) {
        if let Some(text) = self.open.remove(&event) {
            self.next += 1;
            self.placed.insert((end_ns, self.next), text.into());
        }
    }

    /// All text, whenever it becomes ready, in order.
    pub fn all(&self) -> Vec<u8> {
        self.placed.values().flatten().copied().collect()
    }

    /// With text that is ready at once.
    pub fn restored(text: Vec<u8>) -> Self {
        let mut printed = Self {
            len: text.len(),
            ..Self::default()
        };
        if !text.is_empty() {
            printed.placed.insert((0, 0), text.into());
        }
        printed
    }

    /// Takes at most `room` bytes of the text that is ready by `at_ns`, and
    /// returns whether there is more.
    pub fn take(&mut self, at_ns: u64, room: usize) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        while let Some(mut first) = self.placed.first_entry() {
            if first.key().0 > at_ns || out.len() == room {
                break;
            }
            let count = first.get().len().min(room - out.len());
            out.extend(first.get_mut().drain(..count));
            if first.get().is_empty() {
                first.remove();
            }
        }
        self.len -= out.len();
        let next = self.placed.first_key_value();
        (out, next.is_some_and(|(&(end_ns, _), _)| end_ns <= at_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_in_the_order_of_ends_when_it_is_due() {
        let mut printed = Printed::default();
        for (event, text) in [(1, "one"), (2, "two"), (3, "three")] {
            assert!(printed.add(event, text.into()));
        }
        printed.resolve(3, 20);
        printed.resolve(1, 30);
        printed.resolve(2, 20);
        assert_eq!(printed.take(19, 100), (vec![], false));
        assert_eq!(printed.take(29, 6), (b"threet".to_vec(), true));
        assert_eq!(printed.take(29, 6), (b"wo".to_vec(), false));
        assert_eq!(printed.take(30, 0), (vec![], true));
        assert_eq!(printed.take(30, 3), (b"one".to_vec(), false));
        assert_eq!(printed.len, 0);
    }

    #[test]
    fn what_nobody_takes_is_bounded_in_number() {
        let mut printed = Printed::default();
        let mut add = |event| printed.add(event, vec![b'x']);
        let kept = (0..2 * TEXTS_MAX as u64).filter(|&event| add(event));
        assert_eq!(kept.count(), TEXTS_MAX);
    }

    #[test]
    fn what_nobody_takes_is_bounded() {
        let mut printed = Printed::default();
        assert!(printed.add(1, vec![b'x'; KEPT_MAX]));
        assert!(!printed.add(2, vec![b'y']));
        printed.resolve(1, 0);
        printed.take(0, 1);
        assert!(printed.add(3, vec![b'z']));
    }
}
