//! What is free of a chunk.

use std::collections::BTreeMap;

/// Allocations begin at multiples of this.
const ALIGNMENT: usize = 256;

/// The free ranges, by offset; no two touch.
#[derive(Debug)]
pub struct Room(BTreeMap<usize, usize>);

/// What an allocation takes.
fn taken(bytes: usize) -> Option<usize> {
    bytes.max(1).checked_next_multiple_of(ALIGNMENT)
}

impl Room {
    /// So many bytes, a multiple of 256.
    pub fn new(len: usize) -> Self {
        Self(BTreeMap::from([(0, len)]))
    }

    /// Takes so many bytes: where they begin; `None` if there is no such room.
    pub fn take(&mut self, bytes: usize) -> Option<usize> {
        let bytes = taken(bytes)?;
        let (offset, len) = self.0.iter().find(|(_, len)| **len >= bytes)?;
        let (offset, len) = (*offset, *len);
        self.0.remove(&offset);
        if len > bytes {
            self.0.insert(offset + bytes, len - bytes);
        }
        Some(offset)
    }

    /// Gives bytes back that were taken.
    pub fn give(&mut self, offset: usize, bytes: usize) {
        let (mut from, mut len) = (offset, taken(bytes).unwrap_or(bytes));
        if let Some(behind) = self.0.remove(&(from + len)) {
            len += behind;
        }
        let before = self.0.range(..from).next_back();
        if let Some((&at, &size)) = before.filter(|(at, size)| **at + **size == from) {
            (from, len) = (at, len + size);
        }
        self.0.insert(from, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_taken_is_apart_and_comes_back(
            asked in prop::collection::vec((1usize..3000, any::<bool>()), 1..40),
        ) {
            let mut room = Room::new(32 << 10);
            let mut all: Vec<(usize, usize)> = Vec::new();
            for (bytes, gives) in asked {
                if let Some(offset) = room.take(bytes) {
                    prop_assert!(offset.is_multiple_of(ALIGNMENT) && offset + bytes <= 32 << 10);
                    let is_apart = |(at, len): &(usize, usize)| {
                        at + len <= offset || offset + bytes <= *at
                    };
                    prop_assert!(all.iter().all(is_apart));
                    all.push((offset, bytes));
                }
                if gives && !all.is_empty() {
                    let (offset, bytes) = all.swap_remove(all.len() / 2);
                    room.give(offset, bytes);
                }
            }
            for (offset, bytes) in all {
                room.give(offset, bytes);
            }
            prop_assert_eq!(room.0, BTreeMap::from([(0, 32 << 10)]));
        }
    }
}
